package operator_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

// beside runs f while workers claim without a pause, and fails where it does not come
// through: who stops something must not wait for a moment in which nobody claims.
func beside(t *testing.T, w *operatortest.World, f func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	stop := make(chan struct{})
	var workers sync.WaitGroup
	for range 16 {
		workers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if _, err := w.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"spend"}}); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	err := f(ctx)
	close(stop)
	workers.Wait()
	mustHave(t, err)
}

func TestWhoeverStopsSomethingComesThroughBesideBusyWorkers(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, nil)
		w.NewPerson(t, "ana", operator.RoleAdmin)
		beside(t, w, func(ctx context.Context) error { return w.RemovePerson(ctx, "", "ana") })
		beside(t, w, func(ctx context.Context) error {
			_, err := w.Freeze(ctx, w.Owner, operator.FreezeInput{Scope: "account", Reason: "Now"})
			return err
		})
	})
}

func TestAStandingApprovalAnswersOnlyWhatItNames(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		give := func(p operator.Person, types, insteadOf []string, most *gate.Cents) error {
			_, err := w.StandingApproval(ctx, p, operator.StandingInput{Types: types, InsteadOf: insteadOf, MaxCents: most, Until: w.Clock.Now().Add(time.Hour), Reason: "for the test"})
			return err
		}
		status := func(kind, title string, amount *gate.Cents) gate.Status {
			return w.Record(t, operator.RecordIntentInput{Action: gate.Action{Type: kind, Title: title, Recipient: "a@x.example", AmountCents: amount}}).Status
		}
		for _, kind := range []string{"spend", "transfer", "tip"} {
			if err := give(w.Owner, []string{kind}, []string{"spending"}, nil); err == nil {
				t.Errorf("%s is allowed without a sum", kind)
			}
		}
		mustHave(t, give(w.Owner, []string{"send", "sign_contract", "wire_money"}, []string{"messages", "legal", "unknown"}, nil))
		for _, kind := range []string{"send", "sign_contract", "wire_money"} {
			if got := status(kind, "With money", cents(900_000_000)); got != gate.StatusPendingApproval {
				t.Errorf("%s of nine million dollars is %s: it was not given for money", kind, got)
			}
			if got := status(kind, "Without money", nil); got != gate.StatusAllowed {
				t.Errorf("%s without money is %s", kind, got)
			}
		}
		mustHave(t, give(w.Owner, []string{"teleport"}, []string{"calendars"}, nil))
		if got := status("teleport", "Unknown to the policy", nil); got != gate.StatusPendingApproval {
			t.Errorf("what nobody knows is %s by an approval that does not name that rule", got)
		}
	})
}

func TestAStandingApprovalFallsSilentWithTheRuleThatItNames(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		_, err := w.StandingApproval(ctx, w.Owner, operator.StandingInput{Types: []string{"send"}, InsteadOf: []string{"messages"}, Until: w.Clock.Now().Add(time.Hour), Reason: "for the test"})
		mustHave(t, err)
		w.SetPolicy(t, "version: 1\nrules: [{id: notes, match: {types: [note]}, effect: allow, reason: Inside.}]\n")
		in := w.Record(t, operator.RecordIntentInput{Action: gate.Action{Type: "send", Title: "Hello", Recipient: "a@x.example"}})
		if in.Status != gate.StatusPendingApproval {
			t.Errorf("the policy is silent on it, and it is %s", in.Status)
		}
	})
}

func TestWhoComesBackByTheSameHandleComesBackWithNothing(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		w.SetPolicy(t, twoPeople)
		ana, _ := w.NewPerson(t, "ana", operator.RoleAdmin)
		_, err := w.StandingApproval(ctx, ana, vendor(w.Clock.Now().Add(48*time.Hour)))
		mustHave(t, err)
		large := w.Record(t, spend("Desks", 200000))
		_, err = w.Approve(ctx, ana, act(large))
		mustHave(t, err)
		mustHave(t, w.RemovePerson(ctx, "", "ana"))
		mustHave(t, w.AddPerson(ctx, operator.NewPerson{Handle: "ana", Name: "Another Ana", Role: operator.RoleAdmin}))
		if got := w.Record(t, at("shop@vendor.example", "After she came back", 1)).Status; got != gate.StatusPendingApproval {
			t.Errorf("what she gave before holds again: %s", got)
		}
		if out, err := w.Approve(ctx, w.Owner, act(large)); err != nil || out.Status != gate.StatusPendingApproval {
			t.Errorf("her old vote counts again: %s, %v", out.Status, err)
		}
	})
}

// TestBudgetsOfDifferentWindowsAreTakenInOneOrder: a new day's row is younger than the
// month's, and must not be taken after it here and before it there.
func TestBudgetsOfDifferentWindowsAreTakenInOneOrder(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, &operator.Options{Policy: policy(t, `
version: 1
extends: default
caps: [{currency: USD, max: 1000000, window: month}]
rules:
  - {id: a, match: {types: [spend]}, effect: allow, instead_of: [spending], reason: A., budget: {window: day, currency: USD, max: 1000000}}
  - {id: z, match: {types: [spend]}, effect: allow, reason: Z., budget: {window: day, currency: USD, max: 1000000}}
`)})
		w.Record(t, spend("The first day", 1))
		w.Clock.Advance(24 * time.Hour)
		for _, err := range together(8, func(i int) error {
			for n := range 12 {
				in, err := w.RecordIntent(ctx, w.Agent, spend(fmt.Sprintf("Thing %d of %d", n, i), 1))
				if err == nil {
					_, err = w.UpdateIntent(ctx, w.Agent, operator.UpdateIntentInput{ID: in.ID, Status: "cancelled"})
				}
				if err != nil {
					return err
				}
			}
			return nil
		}) {
			if err != nil {
				t.Error(err)
			}
		}
		sameBudgets(t, operatortest.Database(t, w.Where))
	})
}

func TestWhatWasChangedInTheDatabaseAfterItsApprovalIsNotHandedOut(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		for _, change := range []string{`recipient = 'thief@x.example'`, `amount_cents = 490000`, `title = 'Something else'`, `data = '{"to":"thief"}'`, `currency = 'EUR'`} {
			w := operatortest.New(t, store, nil)
			db := operatortest.Database(t, w.Where)
			in := w.Approved(t, renewal())
			execute(t, db, `update reeve_intents set `+change+` where id = $1`, in.ID)
			got, err := w.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"spend"}})
			if err != nil || got.Job != nil || statusOf(t, db, in.ID) != "cancelled" {
				t.Errorf("%s: %+v, %v, %s", change, got, err, statusOf(t, db, in.ID))
			}
		}
	})
}

func TestATwinThatMayHaveRunIsATwin(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		for name, end := range map[string]func(*operatortest.World, operator.Intent){
			"revoked": func(w *operatortest.World, in operator.Intent) {
				_, err := w.Revoke(ctx, w.Owner, act(in))
				mustHave(t, err)
			},
			"withdrawn": func(w *operatortest.World, in operator.Intent) {
				_, err := w.UpdateIntent(ctx, w.Agent, operator.UpdateIntentInput{ID: in.ID, Status: "cancelled"})
				mustHave(t, err)
			},
		} {
			w := operatortest.New(t, store, nil)
			db := operatortest.Database(t, w.Where)
			first := w.Approved(t, renewal())
			_, err := w.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"spend"}, Idempotent: []string{"spend"}})
			mustHave(t, err)
			lapse(t, db, first.ID)
			_, err = w.Sweep(ctx)
			mustHave(t, err)
			end(w, first)
			asked := w.Record(t, spend("Chairs", 4900))
			_, err = w.Edit(ctx, w.Owner, operator.EditInput{ID: asked.ID, Digest: asked.Digest, Action: renewal().Action})
			if r := refusalOf(err); r == nil || !strings.Contains(r.Message, "does exactly this already") {
				t.Errorf("%s after a worker had held it: %v", name, err)
			}
		}
	})
}

// TestAFreezeDoesNotWaitForAClaimThatWaitsForABudget: a program holds a budget in a
// transaction of its own, a claim waits for it, and a person freezes.
func TestAFreezeDoesNotWaitForAClaimThatWaitsForABudget(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	w := operatortest.New(t, "postgres", &operator.Options{Policy: policy(t, dailyCap)})
	db := operatortest.Database(t, w.Where)
	w.Record(t, spend("Ready", 1))
	tx, err := db.BeginTx(ctx, nil)
	mustHave(t, err)
	defer tx.Rollback()
	_, err = w.RecordIntentTx(ctx, tx, w.Agent, spend("Held open", 1))
	mustHave(t, err)
	claimed := make(chan error, 1)
	go func() {
		_, err := w.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"spend"}})
		claimed <- err
	}()
	eventually(t, "the claim waits for the budget", func() bool {
		return count(t, db, `select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%reeve_budgets%'`) > 0
	})
	if _, err := w.Freeze(ctx, w.Owner, operator.FreezeInput{Scope: "account", Reason: "Now"}); err != nil {
		t.Fatal(err)
	}
	mustHave(t, tx.Rollback())
	mustHave(t, <-claimed)
}

func TestOnePrincipalsWaitsLeaveRoomForOthers(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx, cancel := context.WithCancel(context.Background())
		w := operatortest.New(t, store, nil)
		in := w.Record(t, renewal())
		wait := operator.StateInput{IntentID: &in.ID, WaitSeconds: number(60)}
		var waiting sync.WaitGroup
		for range 40 {
			waiting.Go(func() {
				for ctx.Err() == nil { // whoever is answered at once asks again
					_, _ = w.State(ctx, w.Agent, wait)
				}
			})
		}
		// One that is made before all of the others wait would wait itself, so it gives up
		// after a while and is made again.
		eventually(t, "a call is answered although it asked to wait", func() bool {
			soon, done := context.WithTimeout(ctx, 300*time.Millisecond)
			defer done()
			_, err := w.State(soon, w.Agent, wait)
			return err == nil
		})
		cancel()
		waiting.Wait()
	})
}
