package restadapter

import (
	"crypto/sha256"
	"database/sql"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/lib/pq"
	_ "modernc.org/sqlite"

	"github.com/reeve-go/reeve/operator/operatortest"
)

// record is the table that a refusal may write to, and usage the column that any
// proved call may.
const (
	auditTable = "reeve_audit"
	usage      = "reeve_credentials.last_used_at"
)

// witness looks at the database from outside, by a connection of its own.
type witness struct {
	t  *testing.T
	db *sql.DB
	pg bool
}

func watch(t *testing.T, w *operatortest.World) *witness {
	t.Helper()
	pg := w.Database() == "postgres"
	driver, dsn := "sqlite", "file:"+filepath.Join(w.Where, "reeve.db")+"?mode=ro"
	if pg {
		driver, dsn = "postgres", w.Where
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return &witness{t, db, pg}
}

func (w *witness) strings(query string) []string {
	w.t.Helper()
	rows, err := w.db.Query(query)
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			w.t.Fatal(err)
		}
		out = append(out, s)
	}
	if err := rows.Err(); err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *witness) tables() []string {
	if w.pg {
		return w.strings(`select table_name from information_schema.tables where table_schema = current_schema() and table_name like 'reeve%' order by 1`)
	}
	return w.strings(`select name from sqlite_master where type = 'table' and name like 'reeve%' order by 1`)
}

func (w *witness) columns(table string) []string {
	if w.pg {
		return w.strings(`select column_name from information_schema.columns where table_schema = current_schema() and table_name = '` + table + `' order by 1`)
	}
	return w.strings(`select name from pragma_table_info('` + table + `') order by 1`)
}

// snapshot is a digest of every table but the record.
func (w *witness) snapshot() map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for _, table := range w.tables() {
		if table == auditTable {
			continue
		}
		columns := slices.DeleteFunc(w.columns(table), func(c string) bool { return table+"."+c == usage })
		for i, c := range columns {
			columns[i] = `coalesce(cast(` + c + ` as text), '~')`
		}
		rows := w.strings(`select ` + strings.Join(columns, ` || '|' || `) + ` from ` + table + ` order by 1`)
		out[table] = fmt.Sprintf("%d rows, %x", len(rows), sha256.Sum256([]byte(strings.Join(rows, "\n"))))
	}
	if len(out) < 8 {
		w.t.Fatalf("only %d tables were found: the witness is blind", len(out))
	}
	return out
}

func (w *witness) audits() int { return len(w.strings(`select cast(id as text) from ` + auditTable)) }

// onlyRefused runs f and demands that it left one more row in the record, and
// nothing else.
func (w *witness) onlyRefused(t *testing.T, f func()) {
	t.Helper()
	tables, rows := w.snapshot(), w.audits()
	f()
	if now := w.snapshot(); !maps.Equal(tables, now) {
		t.Errorf("a refusal changed the database:\n%v\n%v", tables, now)
	}
	if now := w.audits(); now != rows+1 {
		t.Errorf("%d rows of the record were written, want 1", now-rows)
	}
}

func TestTheWitnessSeesAChange(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		w := watch(t, h.world)
		before := w.snapshot()
		h.record(renewal)
		if maps.Equal(before, w.snapshot()) {
			t.Error("an intent was recorded, and the witness saw nothing")
		}
	})
}
