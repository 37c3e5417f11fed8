package operator_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

func TestOfTwoEditsIntoOneThingAtOnceOneStands(t *testing.T) {
	operatortest.EachLevel(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		a, b := w.Again(t, nil), w.Again(t, nil)
		db := operatortest.Database(t, w.Where)
		ana, _ := w.NewPerson(t, "ana", operator.RoleAdmin)
		for round := range 10 {
			title := fmt.Sprintf("Pay %d", round)
			taken := w.Record(t, spend(title, 500)) // has the key, so that theirs have no row in common
			_, err := w.Reject(ctx, w.Owner, act(taken))
			mustHave(t, err)
			one, two := w.Record(t, spend(title+" a", 500)), w.Record(t, spend(title+" b", 500))
			errs := together(2, func(i int) error {
				op, p, in := a, w.Owner, one
				if i == 1 {
					op, p, in = b, ana, two
				}
				return errOf(op.Edit(ctx, p, operator.EditInput{ID: in.ID, Digest: in.Digest, Action: spend(title, 500).Action}))
			})
			if n := count(t, db, `select count(*) from reeve_intents where title = $1 and status = 'approved'`, title); n != 1 {
				t.Errorf("%s: %d stand: %v", title, n, errs)
			}
		}
	})
}

// A claim that waits for a freeze sees it, whatever the database was set to.
func TestAClaimThatWaitedForAFreezeSeesIt(t *testing.T) {
	operatortest.EachLevel(t, func(t *testing.T, store string) {
		if store == "sqlite" {
			t.Skip("one writer")
		}
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		other := w.Again(t, nil)
		db := operatortest.Database(t, w.Where)
		w.Approved(t, renewal())
		tx, err := db.BeginTx(ctx, nil)
		mustHave(t, err)
		defer tx.Rollback()
		_, err = tx.Exec(`select pg_advisory_xact_lock(hashtextextended('reeve claims', 1))`)
		mustHave(t, err)
		_, err = tx.Exec(`insert into reeve_freezes (account_id, project_id, reason, frozen_by, frozen_at) values (1, null, 'stop', 'human:owner', 1)`)
		mustHave(t, err)
		done := make(chan operator.ClaimOutput, 1)
		go func() {
			out, err := other.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"spend"}})
			if err != nil {
				t.Error(err)
			}
			done <- out
		}()
		eventually(t, "the claim waits", func() bool { return waitsForALock(t, db) })
		mustHave(t, tx.Commit())
		if out := <-done; !out.Frozen || out.Job != nil {
			t.Errorf("frozen %v, and handed out: %v", out.Frozen, out.Job)
		}
	})
}

// waitsForALock says whether somebody of this database does.
func waitsForALock(t *testing.T, db *sql.DB) bool {
	t.Helper()
	return count(t, db, `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`) > 0
}

func TestATransactionOfItsCallerMustBeReadCommitted(t *testing.T) {
	eachDriver(t, func(t *testing.T, w *operatortest.World, db *sql.DB) {
		ctx := context.Background()
		waits, withdrawn := w.Record(t, spend("Waits", 200000)), w.Record(t, note("Withdrawn"))
		before := operatortest.Fingerprint(t, db)
		for level, allowed := range map[sql.IsolationLevel]bool{
			sql.LevelDefault: true, sql.LevelReadCommitted: true, sql.LevelRepeatableRead: false, sql.LevelSerializable: false,
		} {
			tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
			if err != nil && w.Database() == "sqlite" {
				continue // the driver knows no levels
			}
			mustHave(t, err)
			for _, err := range []error{
				errOf(w.RecordIntentTx(ctx, tx, w.Agent, note("Level"))),
				errOf(w.ApproveTx(ctx, tx, w.Owner, act(waits))),
				errOf(w.RejectTx(ctx, tx, w.Owner, act(waits))),
				errOf(w.CancelTx(ctx, tx, w.Agent, withdrawn.ID, "")),
			} {
				if allowed || w.Database() == "sqlite" {
					mustHave(t, err)
				} else if !errors.Is(err, operator.ErrIsolation) {
					t.Errorf("%s: %v", level, err)
				}
			}
			mustHave(t, tx.Rollback())
		}
		if operatortest.Fingerprint(t, db) != before {
			t.Error("something was written")
		}
	})
}
