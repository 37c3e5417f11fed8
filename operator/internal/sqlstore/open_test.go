package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator/internal/core"
	"github.com/reeve-go/reeve/operator/internal/sqlstore"
	"github.com/reeve-go/reeve/operator/operatortest"
)

func open(where string) (*core.DB, error) {
	ctx := context.Background()
	if strings.Contains(where, "://") {
		return sqlstore.OpenPostgres(ctx, where, core.SystemClock{}, 0)
	}
	return sqlstore.OpenSQLite(ctx, where, core.SystemClock{}, 0)
}

func mustOpen(t *testing.T, where string) *core.DB {
	t.Helper()
	db, err := open(where)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func get(t *testing.T, db *core.DB, query string, args ...any) (n int64) {
	t.Helper()
	if err := db.View().Get(context.Background(), &n, query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func TestEightThatOpenAnEmptyDatabaseAtOnceMigrateItOnce(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		for range 3 {
			where := operatortest.Where(t, store)
			var all sync.WaitGroup
			start := make(chan struct{})
			for range 8 {
				all.Go(func() {
					<-start
					db, err := open(where)
					if err != nil {
						t.Error(err)
						return
					}
					defer db.Close()
					var n int64
					if err := db.View().Get(context.Background(), &n, `select count(*) from reeve_intents`); err != nil {
						t.Errorf("opened, and the schema is not there: %v", err)
					}
				})
			}
			close(start)
			all.Wait()
			db := mustOpen(t, where)
			if n := get(t, db, `select count(*) from reeve_schema`); n != sqlstore.Newest(t) {
				t.Errorf("%d migrations on record", n)
			}
		}
	})
}

func TestOpeningAgainChangesNothing(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		where := operatortest.Where(t, store)
		mustOpen(t, where)
		handle := operatortest.Database(t, where)
		before := operatortest.Fingerprint(t, handle)
		mustOpen(t, where)
		if operatortest.Fingerprint(t, handle) != before {
			t.Error("opening wrote something")
		}
	})
}

func TestADatabaseOfANewerProgramIsRefused(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		where := operatortest.Where(t, store)
		mustOpen(t, where)
		handle := operatortest.Database(t, where)
		if _, err := handle.Exec(`insert into reeve_schema (version, name, applied_at) values ($1, 'later.sql', 1)`, sqlstore.Newest(t)+1); err != nil {
			t.Fatal(err)
		}
		before := operatortest.Fingerprint(t, handle)
		db, err := open(where)
		if !errors.Is(err, sqlstore.ErrNewerSchema) || db != nil {
			t.Fatalf("%v, %v", db, err)
		}
		if !strings.Contains(err.Error(), "newer reeve") {
			t.Errorf("it does not say what to do: %v", err)
		}
		if operatortest.Fingerprint(t, handle) != before {
			t.Error("something was written")
		}
	})
}

func TestTheFilesAreReadableByTheirOwnerAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "er")
	db := mustOpen(t, dir)
	// The log and its index appear with the first write.
	if err := db.InTx(context.Background(), func(tx core.Tx) error {
		_, err := tx.Exec(context.Background(), `insert into reeve_accounts (slug, zone, currency, created_at) values ('a', 'UTC', 'USD', 1)`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{dir, filepath.Dir(dir)} {
		if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", folder, info.Mode(), err)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 3 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f.Name(), info.Mode(), err)
		}
	}
}

func TestAFolderOfAnyNameCanHoldADatabase(t *testing.T) {
	for _, name := range []string{"with space", "q?mark", "h#sh", "per%41cent", "am&p=ersand", "ünïcode", "semi;colon", "plus+sign"} {
		dir := filepath.Join(t.TempDir(), name)
		db, err := open(dir)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		db.Close()
		if _, err := os.Stat(filepath.Join(dir, sqlstore.FileName)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		files, _ := os.ReadDir(filepath.Dir(dir))
		if len(files) != 1 {
			t.Errorf("%s: beside it lies %v", name, files)
		}
	}
}

func TestEveryPooledConnectionHasItsPragmas(t *testing.T) {
	ctx := context.Background()
	db := mustOpen(t, t.TempDir())
	pragmas := map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "5000"}
	check := func(pool string, c *sql.Conn, more map[string]string) {
		t.Helper()
		for _, all := range []map[string]string{pragmas, more} {
			for name, want := range all {
				var got string
				if err := c.QueryRowContext(ctx, `pragma `+name).Scan(&got); err != nil || got != want {
					t.Errorf("%s: %s is %q, want %q (%v)", pool, name, got, want, err)
				}
			}
		}
	}
	held := []*sql.Conn{}
	for range 8 { // all at once, so that each is another one
		c, err := db.Read.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
		check("reading", c, map[string]string{"query_only": "1"})
		if _, err := c.ExecContext(ctx, `delete from reeve_accounts`); err == nil {
			t.Error("a reading connection writes")
		}
	}
	for _, c := range held {
		c.Close()
	}
	c, err := db.Write.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	check("writing", c, map[string]string{"query_only": "0"})
}

func TestAPasswordInAURLIsNeverRepeated(t *testing.T) {
	for _, url := range []string{
		"postgres://u:s3cret@127.0.0.1:1/db?sslmode=disable",
		"postgres://u:s3cret@host:port/db",
		"postgres://u:s3cret@[::1/db",
		"postgres://u:s3cret%zz@host/db",
		"postgres://u:s3cret\x01@host/db",
		"postgres://u:s3cret\"@host:x/db",
		"postgres://u:s3cret@127.0.0.1:1/db?sslmode=nonsense",
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		db, err := sqlstore.OpenPostgres(ctx, url, core.SystemClock{}, 0)
		cancel()
		if err == nil {
			db.Close()
			t.Errorf("opened")
		} else if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the error tells the password: %v", err)
		}
	}
}

func TestADatabaseThatIsALinkIsOpenedWhereItLeads(t *testing.T) {
	real, dir := t.TempDir(), t.TempDir()
	mustOpen(t, real)
	if err := os.Symlink(filepath.Join(real, sqlstore.FileName), filepath.Join(dir, sqlstore.FileName)); err != nil {
		t.Skip(err)
	}
	db, err := sqlstore.OpenSQLite(t.Context(), dir, core.SystemClock{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

// Whoever opens the database next makes a new log where the old one was removed;
// what is then acknowledged by those who hold the old one would be lost.
func TestALogThatWasMadeAnewIsNotTheOneThatIsWrittenTo(t *testing.T) {
	dir := t.TempDir()
	db, err := sqlstore.OpenSQLite(t.Context(), dir, core.SystemClock{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, end := range []string{"-wal", "-shm"} {
		if err := os.Remove(filepath.Join(dir, sqlstore.FileName+end)); err != nil {
			t.Fatal(err)
		}
	}
	other, err := sqlstore.OpenSQLite(t.Context(), dir, core.SystemClock{}, 0)
	if err == nil {
		defer other.Close()
	}
	if db.Ping(t.Context()) == nil {
		t.Error("it says that it is ready")
	}
	if db.InTx(t.Context(), func(core.Tx) error { return nil }) == nil {
		t.Error("it acknowledges")
	}
}

func TestTheLogStaysWhileADatabaseIsOpen(t *testing.T) {
	dir := t.TempDir()
	db, err := sqlstore.OpenSQLite(t.Context(), dir, core.SystemClock{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for range 3 {
		other, err := sqlstore.OpenSQLite(t.Context(), dir, core.SystemClock{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		if err := db.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := db.Write.ExecContext(t.Context(), `pragma wal_checkpoint(truncate)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Ping(t.Context()); err != nil {
		t.Errorf("after a checkpoint: %v", err)
	}
}

func TestALinkThatIsTurnedElsewhereIsNoticed(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	link := filepath.Join(t.TempDir(), "current")
	if err := os.Symlink(first, link); err != nil {
		t.Skip(err)
	}
	db, err := sqlstore.OpenSQLite(t.Context(), link, core.SystemClock{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	mustOpen(t, second)
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(second, link); err != nil {
		t.Fatal(err)
	}
	if db.Ping(t.Context()) == nil {
		t.Error("it says that it is ready")
	}
}

func TestADatabaseMayBeClosedTwice(t *testing.T) {
	db, err := sqlstore.OpenSQLite(t.Context(), t.TempDir(), core.SystemClock{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
