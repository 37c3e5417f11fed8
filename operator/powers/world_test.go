package powers_test

import (
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

// world is an installed Operator, its schedule, and a look past both into the
// database, which is what the tests believe.
type world struct {
	*operatortest.World
	*powers.Schedule
	t      testing.TB
	store  string
	raw    *sql.DB
	tables []string
	looks  map[string]*sql.Stmt
	count  int
	minted map[string]operator.Minted
}

func newWorld(t testing.TB, store string, opts *operator.Options) *world {
	t.Helper()
	w := &world{World: operatortest.New(t, store, opts), t: t, store: store, minted: map[string]operator.Minted{}, looks: map[string]*sql.Stmt{}}
	var err error
	if w.Schedule, err = powers.New(w.Operator); err != nil {
		t.Fatal(err)
	}
	w.look()
	return w
}

// look opens the database beside the Operator and lists its tables.
func (w *world) look() {
	w.t.Helper()
	driver, where := "postgres", w.Where
	list := `select table_name from information_schema.tables where table_schema = current_schema() and table_name like 'reeve\_%' order by 1`
	if w.store == "sqlite" {
		driver, where = "sqlite", "file:"+filepath.Join(w.Where, "reeve.db")+"?_pragma=busy_timeout(10000)"
		list = `select name from sqlite_master where type = 'table' and name like 'reeve\_%' escape '\' order by 1`
	}
	var err error
	if w.raw, err = sql.Open(driver, where); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { w.raw.Close() })
	for _, row := range w.query(list) {
		w.tables = append(w.tables, row[0])
	}
	if len(w.tables) < 10 || !slices.Contains(w.tables, "reeve_audit") {
		w.t.Fatalf("the tables could not be listed: %v", w.tables)
	}
}

func (w *world) query(query string, args ...any) [][]string {
	w.t.Helper()
	look, err := w.looks[query], error(nil)
	if look == nil {
		if look, err = w.raw.Prepare(query); err != nil {
			w.t.Fatalf("%s: %v", query, err)
		}
		w.looks[query] = look
	}
	rows, err := look.Query(args...)
	if err != nil {
		w.t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		w.t.Fatal(err)
	}
	var out [][]string
	for rows.Next() {
		cells, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			w.t.Fatal(err)
		}
		row := make([]string, len(columns))
		for i, c := range cells {
			if columns[i] == "last_used_at" {
				continue
			}
			if b, ok := c.([]byte); ok {
				c = string(b)
			}
			row[i] = fmt.Sprint(c)
		}
		out = append(out, row)
	}
	if err := rows.Err(); err != nil {
		w.t.Fatal(err)
	}
	return out
}

// digest tells whether anything changed but the record and the time that a
// credential was last used.
func (w *world) digest() string {
	w.t.Helper()
	sum := sha256.New()
	for _, table := range w.tables {
		if table != "reeve_audit" {
			fmt.Fprintf(sum, "%s %q\n", table, w.query(`select * from `+table+` order by 1`))
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// line is a row of the record.
type line struct {
	account, principal, kind, via, action, argsDigest, verdict, reason, layer, outcome, requestID string
}

// since lists the rows of the record after the first n.
func (w *world) since(n int) []line {
	w.t.Helper()
	var out []line
	for _, r := range w.query(`select coalesce(account_id, 0), principal, kind, via, action, args_digest, verdict, reason, layer, outcome, request_id
		from reeve_audit order by id limit 1000000 offset $1`, n) {
		out = append(out, line{r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10]})
	}
	return out
}

// lines counts the rows of the record.
func (w *world) lines() int {
	w.t.Helper()
	n, err := strconv.Atoi(w.query(`select count(*) from reeve_audit`)[0][0])
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// token mints a credential of a kind, the same one for the same wish.
func (w *world) token(kind operator.Kind, scopes ...operator.Scope) string {
	w.t.Helper()
	wish := fmt.Sprint(kind, scopes)
	if m, ok := w.minted[wish]; ok {
		return m.Token
	}
	w.count++
	in := operator.NewCredential{Kind: kind, Name: fmt.Sprintf("t%d", w.count), Scopes: scopes}
	if kind == operator.KindHuman {
		in.Person, in.Interactive = "owner", true
	}
	w.minted[wish] = w.Mint(w.t, in)
	return w.minted[wish].Token
}

// as is a caller with a real credential of that kind and exactly those scopes.
func (w *world) as(kind operator.Kind, scopes ...operator.Scope) powers.Caller {
	w.t.Helper()
	c, refused := w.Authenticate(w.t.Context(), powers.Presented{Authorization: []string{"Bearer " + w.token(kind, scopes...)},
		Face: powers.FaceREST, RequestID: "req-1", Action: "test"})
	if refused != nil {
		w.t.Fatalf("authenticate a %s: %s", kind, refused.JSON)
	}
	return c
}

// full is a caller of that kind with every scope there is.
func (w *world) full(kind operator.Kind) powers.Caller { return w.as(kind, operator.Scopes()...) }

func kinds() []operator.Kind {
	return []operator.Kind{operator.KindHuman, operator.KindAgent, operator.KindWorker, operator.KindChannel}
}

// row finds a tool by one of its routes, so that no test spells a tool's name.
func (w *world) row(method, path string) *powers.Tool {
	w.t.Helper()
	for _, tool := range w.Tools() {
		if slices.ContainsFunc(tool.Routes, func(r powers.Route) bool { return r.Method == method && r.Path == path }) {
			return tool
		}
	}
	w.t.Fatalf("no tool answers %s %s", method, path)
	return nil
}

func (w *world) recording() *powers.Tool { return w.row("POST", "/v1/intents") }
func (w *world) moving() *powers.Tool    { return w.row("PATCH", "/v1/intents/{id}") }
func (w *world) looking() *powers.Tool   { return w.row("GET", "/v1/state") }

// act finds an act by the end of its address.
func (w *world) act(end string) *powers.Act {
	w.t.Helper()
	for _, a := range w.Acts() {
		if strings.HasSuffix(a.Path, end) {
			return a
		}
	}
	w.t.Fatalf("no act answers …%s", end)
	return nil
}

// call runs a tool and reads what it answered.
func (w *world) call(c powers.Caller, tool *powers.Tool, raw string) reply {
	w.t.Helper()
	return read(w.t, w.Call(w.t.Context(), c, tool.Name, []byte(raw)))
}

func (w *world) do(c powers.Caller, act *powers.Act, raw string) reply {
	w.t.Helper()
	return read(w.t, w.CallAct(w.t.Context(), c, act, []byte(raw)))
}

// intent records a new action that waits for a person.
func (w *world) intent(c powers.Caller) operator.Intent {
	w.t.Helper()
	w.count++
	r := w.call(c, w.recording(), fmt.Sprintf(`{"action":{"type":"spend","title":"Plan %d","amount_cents":4900}}`, w.count))
	var in operator.Intent
	if err := json.Unmarshal(r.JSON, &in); err != nil || !r.OK || in.Status != "pending_approval" {
		w.t.Fatalf("an intent: %s", r.JSON)
	}
	return in
}

// question puts a decision on the board.
func (w *world) question() operator.Decision {
	w.t.Helper()
	d, err := w.OpenDecision(w.t.Context(), w.Agent, "Which vendor?")
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}
