package operator_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

// eachDriver runs f on a caller's own handle: SQLite's, and PostgreSQL's by both
// drivers that are in use.
func eachDriver(t *testing.T, f func(t *testing.T, w *operatortest.World, db *sql.DB)) {
	t.Helper()
	for _, driver := range []string{"sqlite", "postgres", "pgx"} {
		t.Run(driver, func(t *testing.T) {
			store := strings.Replace(driver, "pgx", "postgres", 1)
			w := operatortest.New(t, store, &operator.Options{Policy: policy(t, twoPeople)})
			db := operatortest.Database(t, w.Where)
			if driver == "pgx" {
				var err error
				if db, err = sql.Open("pgx", w.Where); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { db.Close() })
			}
			execute(t, db, `create table orders (name text primary key)`)
			f(t, w, db)
		})
	}
}

func TestAnIntentStandsIfAndOnlyIfItsCallersTransactionDoes(t *testing.T) {
	eachDriver(t, func(t *testing.T, w *operatortest.World, db *sql.DB) {
		ctx := context.Background()
		before := operatortest.Fingerprint(t, db)
		inTx := func(commit bool, f func(*sql.Tx)) {
			tx, err := db.BeginTx(ctx, nil)
			mustHave(t, err)
			defer tx.Rollback()
			f(tx)
			if commit {
				mustHave(t, tx.Commit())
			}
		}
		all := func(title string, commit bool) (ids []int64) {
			inTx(commit, func(tx *sql.Tx) {
				_, err := tx.Exec(`insert into orders (name) values ($1)`, title)
				mustHave(t, err)
				record := func(name string) operator.Intent {
					in, err := w.RecordIntentTx(ctx, tx, w.Agent, spend(title+" "+name, 100))
					if err != nil || !in.Created || in.Status != gate.StatusPendingApproval {
						t.Fatalf("record: %+v, %v", in, err)
					}
					ids = append(ids, in.ID)
					return in
				}
				out, err := w.ApproveTx(ctx, tx, w.Owner, act(record("approved")))
				if err != nil || out.Status != gate.StatusApproved || out.ApprovalDecisionID == nil {
					t.Fatalf("approve: %+v, %v", out, err)
				}
				out, err = w.RejectTx(ctx, tx, w.Owner, act(record("rejected")))
				if err != nil || out.Status != gate.StatusRejected {
					t.Fatalf("reject: %+v, %v", out, err)
				}
				out, err = w.CancelTx(ctx, tx, w.Agent, record("withdrawn").ID, "not needed")
				if err != nil || out.Status != gate.StatusCancelled || *out.Outcome != "not needed" {
					t.Fatalf("withdraw: %+v, %v", out, err)
				}
			})
			return ids
		}
		for _, id := range all("Rolled back", false) {
			_, err := w.ShowIntent(ctx, w.Owner, id)
			mustBe(t, err, operator.ErrNotFound)
		}
		if operatortest.Fingerprint(t, db) != before {
			t.Error("a transaction that was rolled back left something")
		}
		want := []gate.Status{gate.StatusApproved, gate.StatusRejected, gate.StatusCancelled}
		for i, id := range all("Kept", true) {
			out, err := w.ShowIntent(ctx, w.Owner, id)
			if err != nil || out.Status != want[i] {
				t.Errorf("intent %d: %s, %v; want %s", id, out.Status, err, want[i])
			}
		}
		if n := count(t, db, `select count(*) from orders`); n != 1 {
			t.Errorf("%d orders", n)
		}
	})
}

func TestADuplicateOrARefusalDoesNotSpoilItsCallersTransaction(t *testing.T) {
	eachDriver(t, func(t *testing.T, w *operatortest.World, db *sql.DB) {
		ctx := context.Background()
		before := w.Record(t, renewal())
		large := w.Record(t, spend("Large", 100000))
		if _, err := w.Approve(ctx, w.Owner, act(large)); err != nil {
			t.Fatal(err)
		}
		tx, err := db.BeginTx(ctx, nil)
		mustHave(t, err)
		defer tx.Rollback()
		again, err := w.RecordIntentTx(ctx, tx, w.Agent, renewal())
		if err != nil || again.ID != before.ID || again.Created {
			t.Fatalf("a duplicate of what was there: %+v, %v", again, err)
		}
		fresh, err := w.RecordIntentTx(ctx, tx, w.Agent, note("fresh"))
		mustHave(t, err)
		if twice, err := w.RecordIntentTx(ctx, tx, w.Agent, note("fresh")); err != nil || twice.ID != fresh.ID || twice.Created {
			t.Fatalf("a duplicate of what the transaction made: %+v, %v", twice, err)
		}
		other := renewal()
		other.Action.Labels = []string{"x"}
		refusals := map[string]error{
			"another payload":     errOf(w.RecordIntentTx(ctx, tx, w.Agent, other)),
			"not well-formed":     errOf(w.RecordIntentTx(ctx, tx, w.Agent, spend("", 1))),
			"a stale digest":      errOf(w.ApproveTx(ctx, tx, w.Owner, operator.ActInput{ID: before.ID, Digest: "x"})),
			"an unknown id":       errOf(w.RejectTx(ctx, tx, w.Owner, operator.ActInput{ID: 999})),
			"the same vote twice": errOf(w.ApproveTx(ctx, tx, w.Owner, act(large))),
			"nobody":              errOf(w.ApproveTx(ctx, tx, operator.Person{}, act(before))),
			"somebody else's":     errOf(w.CancelTx(ctx, tx, w.Worker, before.ID, "")),
		}
		for what, err := range refusals {
			var r *operator.Refusal
			if !errors.As(err, &r) {
				t.Errorf("%s: %v", what, err)
			}
		}
		_, err = tx.Exec(`insert into orders (name) values ('after all that')`)
		mustHave(t, err)
		mustHave(t, tx.Commit())
		if n := count(t, db, `select count(*) from orders`); n != 1 {
			t.Errorf("%d orders", n)
		}
		if out, err := w.ShowIntent(ctx, w.Owner, fresh.ID); err != nil || out.Status != gate.StatusAllowed {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

// brittle is a caller's transaction that panics at its n-th statement.
type brittle struct {
	*sql.Tx
	left int
}

func (b *brittle) step() {
	if b.left--; b.left < 0 {
		panic("in the middle")
	}
}

func (b *brittle) ExecContext(ctx context.Context, q string, args ...any) (sql.Result, error) {
	b.step()
	return b.Tx.ExecContext(ctx, q, args...)
}

func (b *brittle) QueryContext(ctx context.Context, q string, args ...any) (*sql.Rows, error) {
	b.step()
	return b.Tx.QueryContext(ctx, q, args...)
}

func TestAPanicAtAnyStatementLeavesNothingBehind(t *testing.T) {
	eachDriver(t, func(t *testing.T, w *operatortest.World, db *sql.DB) {
		ctx := context.Background()
		in := w.Record(t, renewal())
		before := operatortest.Fingerprint(t, db)
		work := map[string]func(operator.Querier) error{
			"record":  func(q operator.Querier) error { return errOf(w.RecordIntentTx(ctx, q, w.Agent, spend("New", 1))) },
			"approve": func(q operator.Querier) error { return errOf(w.ApproveTx(ctx, q, w.Owner, act(in))) },
			"reject":  func(q operator.Querier) error { return errOf(w.RejectTx(ctx, q, w.Owner, act(in))) },
		}
		for name, f := range work {
			reached := 0
			for n := range 30 {
				finished := func() (finished bool) {
					tx, err := db.BeginTx(ctx, nil)
					mustHave(t, err)
					defer tx.Rollback()
					defer func() { recover() }()
					mustHave(t, f(&brittle{tx, n}))
					return true
				}()
				if finished {
					break
				}
				reached++
				if operatortest.Fingerprint(t, db) != before {
					t.Fatalf("%s: a panic at statement %d left something", name, n)
				}
			}
			if reached < 4 || reached == 30 {
				t.Errorf("%s: %d statements: this test sees nothing", name, reached)
			}
		}
	})
}

// bomb is a clock that panics once it is armed: it is read inside the Operator's
// own transaction.
type bomb struct{ armed atomic.Bool }

func (b *bomb) Now() time.Time {
	if b.armed.Load() {
		panic("no time")
	}
	return operatortest.Start
}

func TestAPanicInATransactionOfTheOperatorsOwnFreesItsConnection(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, nil)
		ctx := context.Background()
		clock := &bomb{}
		hurt := w.Again(t, &operator.Options{Clock: clock})
		clock.armed.Store(true)
		for range 40 { // more than the pool holds
			func() {
				defer func() {
					if recover() == nil {
						t.Error("it did not panic")
					}
				}()
				_, _ = hurt.RecordIntent(ctx, w.Agent, renewal())
			}()
		}
		clock.armed.Store(false)
		if _, err := hurt.RecordIntent(ctx, w.Agent, renewal()); err != nil {
			t.Error(err)
		}
	})
}
