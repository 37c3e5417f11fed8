package operator_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

// unreported are all the ways in which an intent ends without a report, once a worker
// may have claimed it.
var unreported = map[string]struct {
	to  gate.Status
	end func(t *testing.T, w *operatortest.World, in operator.Intent)
}{
	"withdrawn by whoever recorded it": {gate.StatusCancelled, func(t *testing.T, w *operatortest.World, in operator.Intent) {
		_, err := w.UpdateIntent(t.Context(), w.Agent, operator.UpdateIntentInput{ID: in.ID, Status: "cancelled"})
		mustHave(t, err)
	}},
	"withdrawn in somebody's own transaction": {gate.StatusCancelled, func(t *testing.T, w *operatortest.World, in operator.Intent) {
		tx, err := operatortest.Database(t, w.Where).BeginTx(t.Context(), nil)
		mustHave(t, err)
		_, err = w.CancelTx(t.Context(), tx, w.Agent, in.ID, "Not needed.")
		mustHave(t, err)
		mustHave(t, tx.Commit())
	}},
	"revoked by a person": {gate.StatusCancelled, func(t *testing.T, w *operatortest.World, in operator.Intent) {
		_, err := w.Revoke(t.Context(), w.Owner, act(in))
		mustHave(t, err)
	}},
	"denied by a harder policy": {gate.StatusCancelled, func(t *testing.T, w *operatortest.World, in operator.Intent) {
		hard := operatortest.Open(t, w.Where, &operator.Options{Clock: w.Clock, Policy: policy(t, dailyCap+
			"  - {id: no-more, match: {types: [spend]}, effect: deny, reason: Nothing is spent any more.}\n")})
		got, err := hard.Claim(t.Context(), w.Worker, operator.ClaimInput{Types: []string{"spend"}, Idempotent: []string{"spend"}})
		if err != nil || got.Job != nil {
			t.Fatalf("%+v, %v", got, err)
		}
	}},
	"lapsed in a sweep": {gate.StatusExpired, func(t *testing.T, w *operatortest.World, in operator.Intent) {
		execute(t, operatortest.Database(t, w.Where), `update reeve_intents set expires_at = 1 where id = $1`, in.ID)
		_, err := w.Sweep(t.Context())
		mustHave(t, err)
	}},
	"lapsed before an act": {gate.StatusExpired, func(t *testing.T, w *operatortest.World, in operator.Intent) {
		execute(t, operatortest.Database(t, w.Where), `update reeve_intents set expires_at = 1 where id = $1`, in.ID)
		_, err := w.Revoke(t.Context(), w.Owner, act(in))
		mustBe(t, err, operator.ErrLapsed)
	}},
}

// handedBack has a worker claim an intent and never report, with a handler that may
// run twice: it is ready again.
func handedBack(t *testing.T, w *operatortest.World, in operator.Intent) {
	t.Helper()
	got, err := w.Claim(t.Context(), w.Worker, operator.ClaimInput{Types: []string{"spend"}, Idempotent: []string{"spend"}})
	if err != nil || got.Job == nil || got.Job.Intent.ID != in.ID {
		t.Fatalf("%+v, %v", got, err)
	}
	db := operatortest.Database(t, w.Where)
	lapse(t, db, in.ID)
	_, err = w.Sweep(t.Context())
	mustHave(t, err)
	if got := statusOf(t, db, in.ID); got != string(in.Status) {
		t.Fatalf("it went back to %s, from %s", got, in.Status)
	}
}

func TestMoneyThatMayHaveBeenSpentIsNotGivenBack(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		for name, c := range unreported {
			for _, amount := range []int64{10, 20} { // allowed, and approved by a person
				for _, held := range []bool{false, true} {
					t.Run(name+map[bool]string{true: ", once a worker held it", false: ", with no worker near"}[held]+", "+itoa(amount), func(t *testing.T) {
						w := operatortest.New(t, store, &operator.Options{Policy: policy(t, dailyCap)})
						db := operatortest.Database(t, w.Where)
						in := w.Record(t, spend("Thing", amount))
						if amount == 20 {
							var err error
							in, err = w.Approve(t.Context(), w.Owner, act(in))
							mustHave(t, err)
						}
						left := int64(0)
						if held {
							handedBack(t, w, in)
							left = amount
						}
						c.end(t, w, in)
						out, err := w.ShowIntent(t.Context(), w.Owner, in.ID)
						mustHave(t, err)
						if got := used(t, w, "", gate.PerDay); got != left || out.Status != c.to {
							t.Errorf("it is %s, and %d is used, want %d", out.Status, got, left)
						}
						sameBudgets(t, db)
						words := ""
						if out.Outcome != nil {
							words = *out.Outcome
						}
						if strings.Contains(words, "may have been carried out. What it took of a budget stays taken.") != held || words != strings.TrimSpace(words) {
							t.Errorf("its outcome is %q", words)
						}
					})
				}
			}
		}
	})
}

// What the attacker did: three payments of 90 within 100 a month.
func TestAnAgentMakesNoRoomByWithdrawingWhatMayHaveBeenPaid(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, &operator.Options{Policy: policy(t, `
version: 1
extends: default
rules:
  - id: small
    match: {types: [spend], amount: {currency: USD, max: 100}}
    effect: allow
    instead_of: [spending]
    reason: A dollar a month is settled.
    budget: {window: month, currency: USD, max: 100}
`)})
		first := w.Record(t, spend("First", 90))
		handedBack(t, w, first)
		unreported["withdrawn by whoever recorded it"].end(t, w, first)
		if in := w.Record(t, spend("Second", 90)); in.Status != gate.StatusPendingApproval {
			t.Errorf("it is %s: %q", in.Status, in.PolicyReasons)
		}
	})
}

func TestAnotherChanceOfWhatMayHaveRunTakesAPersonsWord(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, &operator.Options{Policy: policy(t, dailyCap)})
		db := operatortest.Database(t, w.Where)
		in := w.Record(t, spend("Thing", 10))
		handedBack(t, w, in)
		w.Clock.Advance(25 * time.Hour) // no sweep has seen it yet
		before := operatortest.Fingerprint(t, db)
		_, err := w.Reissue(ctx, w.Owner, operator.ReissueInput{ID: in.ID})
		if r := mustBe(t, err, operator.ErrMayHaveRun); !strings.Contains(r.Message, "not_done") || r.Details["intent_id"] != in.ID {
			t.Errorf("%+v", r)
		}
		if operatortest.Fingerprint(t, db) != before {
			t.Error("a refusal wrote something")
		}
		_, err = w.Sweep(ctx)
		mustHave(t, err)
		_, err = w.Reissue(ctx, w.Owner, operator.ReissueInput{ID: in.ID})
		mustBe(t, err, operator.ErrMayHaveRun)
		if n := heldOf(t, db, in.ID); n != 10 {
			t.Fatalf("%d is held", n)
		}
		fresh, err := w.Reissue(ctx, w.Owner, operator.ReissueInput{ID: in.ID, NotDone: true})
		if err != nil || fresh.Status != gate.StatusAllowed || heldOf(t, db, in.ID) != 0 || heldOf(t, db, fresh.ID) != 10 {
			t.Fatalf("%+v, %v", fresh, err)
		}
		sameBudgets(t, db)
		if n := count(t, db, `select count(*) from reeve_audit where intent_id = $1 and principal = 'human:owner' and outcome like 'looked up, and not carried out%' and verdict = 'done'`, in.ID); n != 1 {
			t.Errorf("%d rows of the record say who looked it up", n)
		}
		_, err = w.Reissue(ctx, w.Owner, operator.ReissueInput{ID: in.ID, NotDone: true})
		mustBe(t, err, operator.ErrTransition)
	})
}

// TestAWordThatWasSpokenInVainGivesNothingBack: the chance that is refused is refused
// whole.
func TestAWordThatWasSpokenInVainGivesNothingBack(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, &operator.Options{Policy: policy(t, dailyCap)})
		db := operatortest.Database(t, w.Where)
		in := w.Record(t, spend("Thing", 10))
		handedBack(t, w, in)
		unreported["lapsed in a sweep"].end(t, w, in)
		hard := operatortest.Open(t, w.Where, &operator.Options{Clock: w.Clock, Policy: policy(t, dailyCap+
			"  - {id: no-more, match: {types: [spend]}, effect: deny, reason: Nothing is spent any more.}\n")})
		before := operatortest.Fingerprint(t, db)
		_, err := hard.Reissue(t.Context(), w.Owner, operator.ReissueInput{ID: in.ID, NotDone: true})
		mustBe(t, err, operator.ErrDenied)
		if operatortest.Fingerprint(t, db) != before {
			t.Error("something was kept")
		}
	})
}

func TestSixteenWordsAtOnceGiveMoneyBackOnce(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		opts := &operator.Options{Policy: policy(t, dailyCap)}
		w := operatortest.New(t, store, opts)
		other := w.Again(t, opts)
		db := operatortest.Database(t, w.Where)
		in := w.Record(t, spend("Thing", 10))
		handedBack(t, w, in)
		unreported["lapsed in a sweep"].end(t, w, in)
		won := 0
		for _, err := range together(16, func(i int) error {
			_, err := []*operator.Operator{w.Operator, other}[i%2].Reissue(t.Context(), w.Owner, operator.ReissueInput{ID: in.ID, NotDone: true})
			return err
		}) {
			if err == nil {
				won++
			} else {
				mustBe(t, err, operator.ErrTransition)
			}
		}
		if got := used(t, w, "", gate.PerDay); won != 1 || got != 10 {
			t.Errorf("%d won, %d used", won, got)
		}
		sameBudgets(t, db)
	})
}

// heldOf is what an intent holds of budgets.
func heldOf(t *testing.T, db *sql.DB, id int64) int64 {
	t.Helper()
	return count(t, db, `select coalesce(sum(cents), 0) from reeve_reservations where intent_id = $1 and state <> 'released'`, id)
}
