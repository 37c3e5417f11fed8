package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator/internal/core"
	"github.com/reeve-go/reeve/operator/operatortest"
)

// lost is a database's word that another transaction came first.
type lost struct{ state string }

func (e lost) Error() string    { return "lost " + e.state }
func (e lost) SQLState() string { return e.state }

// busy is SQLite's, in its extended spelling.
type busy struct{ code int }

func (e busy) Error() string { return fmt.Sprint("busy ", e.code) }
func (e busy) Code() int     { return e.code }

var (
	errLost   = &core.Refusal{Reason: core.ReasonVersionRace}
	errOutage = &core.Refusal{Reason: core.ReasonUnavailable}
)

func addAccount(ctx context.Context, tx core.Tx, slug string) error {
	_, err := tx.Exec(ctx, `insert into reeve_accounts (slug, zone, currency, created_at) values ($1, 'UTC', 'USD', 1)`, slug)
	return err
}

func TestARaceThatIsLostEveryTimeIsReportedAndNothingIsKept(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		db := mustOpen(t, operatortest.Where(t, store))
		for cause, want := range map[error]error{lost{"40001"}: errLost, lost{"40P01"}: errLost, busy{517}: errLost,
			fmt.Errorf("wrapped: %w", lost{"40001"}): errLost, busy{5}: errOutage, busy{6}: errOutage, busy{261}: errOutage} {
			tries, after := 0, 0
			err := db.InTx(ctx, func(tx core.Tx) error {
				tries++
				tx.AfterCommit(func() { after++ })
				if err := addAccount(ctx, tx, "a"); err != nil {
					return err
				}
				return cause
			})
			if !errors.Is(err, want) || !errors.Is(err, cause) || errors.Is(err, core.ErrBusy) != (want == errOutage) || tries < 3 || after != 0 {
				t.Errorf("%v: %v after %d tries, %d woken", cause, err, tries, after)
			}
			var r *core.Refusal
			if !errors.As(err, &r) || r.Info().Verdict != core.VerdictUnavailable {
				t.Errorf("%v: %v", cause, err)
			}
		}
		if n := get(t, db, `select count(*) from reeve_accounts`); n != 0 {
			t.Errorf("%d rows were kept", n)
		}
	})
}

func TestARaceThatIsLostOnceIsNobodysBusiness(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		db := mustOpen(t, operatortest.Where(t, store))
		tries, after := 0, 0
		err := db.InTx(ctx, func(tx core.Tx) error {
			tries++
			tx.AfterCommit(func() { after++ })
			if err := addAccount(ctx, tx, "a"); err != nil || tries > 1 {
				return err
			}
			return lost{"40001"}
		})
		if err != nil || tries != 2 || after != 1 {
			t.Errorf("%v, %d tries, %d woken", err, tries, after)
		}
	})
}

func TestAnyOtherErrorIsReturnedAsItIsAtOnce(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		db := mustOpen(t, operatortest.Where(t, store))
		for _, cause := range []error{errors.New("no"), lost{"23505"}, busy{1}, core.Refuse(core.ReasonNotFound, "x"), context.Canceled} {
			tries := 0
			err := db.InTx(ctx, func(tx core.Tx) error {
				tries++
				if err := addAccount(ctx, tx, "a"); err != nil {
					return err
				}
				return cause
			})
			if !errors.Is(err, cause) || tries != 1 {
				t.Errorf("%v: %v after %d tries", cause, err, tries)
			}
		}
		if n := get(t, db, `select count(*) from reeve_accounts`); n != 0 {
			t.Errorf("%d rows were kept", n)
		}
	})
}

func TestAPanicInATransactionRollsItBack(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		db := mustOpen(t, operatortest.Where(t, store))
		for range 20 { // more than the pool holds: a leaked connection would hang here
			func() {
				defer func() {
					if recover() != "in the middle" {
						t.Error("the panic was swallowed")
					}
				}()
				_ = db.InTx(ctx, func(tx core.Tx) error {
					if err := addAccount(ctx, tx, "a"); err != nil {
						t.Error(err)
					}
					panic("in the middle")
				})
			}()
		}
		if n := get(t, db, `select count(*) from reeve_accounts`); n != 0 {
			t.Errorf("%d rows were kept", n)
		}
		if err := db.InTx(ctx, func(tx core.Tx) error { return addAccount(ctx, tx, "a") }); err != nil {
			t.Error(err)
		}
	})
}

func TestATransactionHasOneMoment(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		db := mustOpen(t, operatortest.Where(t, store))
		err := db.InTx(ctx, func(tx core.Tx) error {
			first := tx.Micros()
			time.Sleep(2 * time.Millisecond)
			if tx.Micros() != first || tx.Now().Nanosecond()%1000 != 0 {
				t.Errorf("%d, then %d", first, tx.Micros())
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestTheDatabasesOwnClockIsNearTheMachines(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		db := mustOpen(t, operatortest.Where(t, store))
		now := get(t, db, `select `+db.Dialect.NowMicros)
		if d := time.Since(core.FromMicros(now)).Abs(); d > time.Minute {
			t.Errorf("it is %v away", d)
		}
	})
}

func TestALookSeesOneStateAndWritesNothing(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		db := mustOpen(t, operatortest.Where(t, store))
		err := db.InView(ctx, func(tx core.Tx) error {
			var before, after int64
			if err := tx.Get(ctx, &before, `select count(*) from reeve_accounts`); err != nil {
				return err
			}
			if err := db.InTx(ctx, func(tx core.Tx) error { return addAccount(ctx, tx, "a") }); err != nil {
				return err
			}
			if err := tx.Get(ctx, &after, `select count(*) from reeve_accounts`); err != nil {
				return err
			}
			if before != after {
				t.Errorf("%d rows, then %d", before, after)
			}
			if err := addAccount(ctx, tx, "b"); err == nil {
				t.Error("a look wrote something")
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestARowThatIsNotThereIsNoRows(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		db := mustOpen(t, operatortest.Where(t, store))
		var n int64
		if err := db.View().Get(ctx, &n, `select id from reeve_accounts`); !errors.Is(err, sql.ErrNoRows) {
			t.Errorf("%v", err)
		}
	})
}

func TestAUniqueViolationIsToldFromOthers(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		db := mustOpen(t, operatortest.Where(t, store))
		add := func() error {
			return db.InTx(ctx, func(tx core.Tx) error { return addAccount(ctx, tx, "a") })
		}
		if err := add(); err != nil {
			t.Fatal(err)
		}
		if err := add(); !core.IsUnique(err) || core.IsRace(err) {
			t.Errorf("%v", err)
		}
		_, err := db.Write.Exec(`insert into reeve_accounts (slug) values ('b')`)
		if err == nil || core.IsUnique(err) || core.IsRace(err) {
			t.Errorf("%v", err)
		}
	})
}
