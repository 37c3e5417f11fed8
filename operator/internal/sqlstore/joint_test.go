package sqlstore_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/reeve-go/reeve/operator/internal/core"
	"github.com/reeve-go/reeve/operator/operatortest"
)

// eachJoint runs f on both databases, with a way to count the accounts.
func eachJoint(t *testing.T, f func(*testing.T, context.Context, *core.DB, func() int64)) {
	t.Helper()
	operatortest.EachStore(t, func(t *testing.T, store string) {
		db := mustOpen(t, operatortest.Where(t, store))
		f(t, context.Background(), db, func() int64 { return get(t, db, `select count(*) from reeve_accounts`) })
	})
}

func TestPartsOfOneTransactionStandTogetherAndWakeAfterItsCommit(t *testing.T) {
	eachJoint(t, func(t *testing.T, ctx context.Context, db *core.DB, accounts func() int64) {
		var order []string
		err := db.InJointTx(ctx, func(ctx context.Context, outer core.Tx) error {
			for _, slug := range []string{"a", "b"} {
				err := db.InTx(ctx, func(tx core.Tx) error {
					tx.AfterCommit(func() { order = append(order, "woken by "+slug) })
					if tx.Now() != outer.Now() {
						t.Error("a part has a moment of its own")
					}
					return addAccount(ctx, tx, slug)
				})
				if err != nil {
					return err
				}
				if accounts() != 0 {
					t.Error("a part is seen from outside before the commit")
				}
			}
			order = append(order, "the end")
			return nil
		})
		if err != nil || accounts() != 2 || !slices.Equal(order, []string{"the end", "woken by a", "woken by b"}) {
			t.Errorf("%v, %d accounts, %v", err, accounts(), order)
		}
	})
}

func TestAPartThatFailsTakesTheWholeWithIt(t *testing.T) {
	eachJoint(t, func(t *testing.T, ctx context.Context, db *core.DB, accounts func() int64) {
		cause := errors.New("no")
		for name, f := range map[string]func(context.Context, core.Tx) error{
			"with its error passed on": func(ctx context.Context, tx core.Tx) error {
				return db.InTx(ctx, func(tx core.Tx) error { return errors.Join(addAccount(ctx, tx, "a"), cause) })
			},
			"with its error left aside": func(ctx context.Context, tx core.Tx) error {
				_ = db.InTx(ctx, func(tx core.Tx) error { return errors.Join(addAccount(ctx, tx, "a"), cause) })
				return db.InTx(ctx, func(tx core.Tx) error { return addAccount(ctx, tx, "b") })
			},
			"after one that worked": func(ctx context.Context, tx core.Tx) error {
				return errors.Join(db.InTx(ctx, func(tx core.Tx) error { return addAccount(ctx, tx, "a") }), cause)
			},
		} {
			woken := false
			err := db.InJointTx(ctx, func(ctx context.Context, tx core.Tx) error {
				tx.AfterCommit(func() { woken = true })
				return f(ctx, tx)
			})
			if !errors.Is(err, cause) || accounts() != 0 || woken {
				t.Errorf("%s: %v, %d accounts, woken %v", name, err, accounts(), woken)
			}
		}
		err := db.InJointTx(ctx, func(ctx context.Context, _ core.Tx) error {
			defer func() { _ = recover() }()
			return db.InTx(ctx, func(tx core.Tx) error {
				if err := addAccount(ctx, tx, "a"); err != nil {
					return err
				}
				panic("in the middle")
			})
		})
		if err == nil || accounts() != 0 {
			t.Errorf("a panic that somebody caught: %v, %d accounts", err, accounts())
		}
	})
}

func TestALostRaceOfAPartRunsTheWholeAgain(t *testing.T) {
	eachJoint(t, func(t *testing.T, ctx context.Context, db *core.DB, accounts func() int64) {
		tries, parts := 0, 0
		err := db.InJointTx(ctx, func(ctx context.Context, tx core.Tx) error {
			tries++
			if err := addAccount(ctx, tx, "a"); err != nil {
				return err
			}
			return db.InTx(ctx, func(core.Tx) error {
				if parts++; parts == 1 {
					return lost{"40001"}
				}
				return nil
			})
		})
		if err != nil || tries != 2 || parts != 2 || accounts() != 1 {
			t.Errorf("%v, %d tries, %d parts, %d accounts", err, tries, parts, accounts())
		}
	})
}

// Another database's transaction is no part of this one's.
func TestATransactionIsOfItsOwnDatabaseAlone(t *testing.T) {
	eachJoint(t, func(t *testing.T, ctx context.Context, db *core.DB, accounts func() int64) {
		other := mustOpen(t, operatortest.Where(t, "sqlite"))
		err := db.InJointTx(ctx, func(ctx context.Context, _ core.Tx) error {
			if err := other.InTx(ctx, func(tx core.Tx) error { return addAccount(ctx, tx, "a") }); err != nil {
				return err
			}
			return errors.New("no")
		})
		if n := get(t, other, `select count(*) from reeve_accounts`); err == nil || n != 1 || accounts() != 0 {
			t.Errorf("%v, %d there, %d here", err, n, accounts())
		}
	})
}
