package sqlstore_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/reeve-go/reeve/operator/internal/core"
	"github.com/reeve-go/reeve/operator/internal/sqlstore"
	"github.com/reeve-go/reeve/operator/operatortest"
)

// files are this program's own migrations and some more.
func files(t *testing.T, more map[string]string) fs.FS {
	t.Helper()
	out := fstest.MapFS{}
	names, err := fs.Glob(os.DirFS("."), "migrations/*.sql")
	if err != nil || len(names) == 0 {
		t.Fatalf("%v, %v", names, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = &fstest.MapFile{Data: text}
	}
	for name, text := range more {
		out["migrations/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

// numbered is the number that comes n after the last one.
func numbered(t *testing.T, n int64) string {
	return fmt.Sprintf("%04d", sqlstore.Newest(t)+n)
}

func TestALaterMigrationIsAddedOnceAndAFailedOneLeavesNothing(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		where := operatortest.Where(t, store)
		db := mustOpen(t, where)
		handle := operatortest.Database(t, where)
		before := operatortest.Fingerprint(t, handle)
		number := numbered(t, 1)
		bad := files(t, map[string]string{number + "_bad.sql": `create table reeve_half (n {{int}}){{strict}}; create nonsense;`})
		if err := sqlstore.Migrate(ctx, db, bad); err == nil || !strings.Contains(err.Error(), number+"_bad.sql") {
			t.Errorf("a migration that cannot be run: %v", err)
		}
		if operatortest.Fingerprint(t, handle) != before {
			t.Error("a failed migration left something")
		}
		good := files(t, map[string]string{number + "_good.sql": `create table reeve_more (n {{int}}){{strict}}; insert into reeve_more values (1);`})
		for range 2 {
			if err := sqlstore.Migrate(ctx, db, good); err != nil {
				t.Fatal(err)
			}
		}
		if n := get(t, db, `select count(*) from reeve_more`); n != 1 {
			t.Errorf("it ran %d times", n)
		}
	})
}

func TestMigrationsAreNumberedWithoutAHole(t *testing.T) {
	ctx := context.Background()
	db := mustOpen(t, t.TempDir())
	for _, name := range []string{numbered(t, 2) + "_hole.sql", "0001_again.sql", "x_two.sql", "two.sql"} {
		if err := sqlstore.Migrate(ctx, db, files(t, map[string]string{name: `select 1`})); err == nil || !strings.Contains(err.Error(), name) && !strings.Contains(err.Error(), "want number") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestATransactionThatLosesARaceIsRunAgainWhole(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		where := operatortest.Where(t, store)
		if store == "postgres" {
			where += "&default_transaction_isolation=serializable"
		}
		one, two := mustOpen(t, where), mustOpen(t, where)
		if _, err := one.Write.Exec(`create table reeve_counter (n bigint not null)`); err != nil {
			t.Fatal(err)
		}
		if _, err := one.Write.Exec(`insert into reeve_counter values (0)`); err != nil {
			t.Fatal(err)
		}
		const each = 10
		tries, done := make(chan int, 100000), make(chan error, 2)
		for _, db := range []*core.DB{one, two} {
			go func() {
				for range each {
					err := db.InTx(ctx, func(tx core.Tx) error {
						tries <- 1
						if store == "postgres" { // so that reading first and writing later is found out
							if _, err := tx.Exec(ctx, `set transaction isolation level serializable`); err != nil {
								return err
							}
						}
						var n int64
						if err := tx.Get(ctx, &n, `select n from reeve_counter`); err != nil {
							return err
						}
						_, err := tx.Exec(ctx, `update reeve_counter set n = $1`, n+1)
						return err
					})
					if err != nil {
						done <- err
						return
					}
				}
				done <- nil
			}()
		}
		for range 2 {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		if n := get(t, one, `select n from reeve_counter`); n != 2*each {
			t.Errorf("%d increments of %d were kept", n, 2*each)
		}
		if store == "postgres" && len(tries) == 2*each {
			t.Log("no race was met this time")
		}
	})
}
