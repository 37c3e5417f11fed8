package operator_test

import (
	"context"
	"testing"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

// carryOut claims what is ready of a type until it holds the intent, and reports.
func carryOut(t *testing.T, w *operatortest.World, in operator.Intent, status string) {
	t.Helper()
	ctx := context.Background()
	got, err := w.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{in.ActionType}})
	if err != nil || got.Job == nil || got.Job.Intent.ID != in.ID {
		t.Fatalf("claim %d: %+v, %v", in.ID, got, err)
	}
	_, err = w.Report(ctx, w.Worker, operator.ReportInput{ID: in.ID, FencingToken: got.Job.FencingToken, Status: status})
	mustHave(t, err)
}

func TestAnEditIntoWhatWasDoneTodayIsRefusedHoweverItIsLabelled(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		for name, c := range map[string]struct{ asked, edited func(*gate.Action) }{
			"the very same":                   {func(*gate.Action) {}, func(*gate.Action) {}},
			"what was asked for is tainted":   {func(a *gate.Action) { a.TaintedBy = []string{"observation:1"} }, func(*gate.Action) {}},
			"the edit has a label":            {func(*gate.Action) {}, func(a *gate.Action) { a.Labels = []string{"again"} }},
			"its amount is stated once again": {func(*gate.Action) {}, func(a *gate.Action) { a.Amount = "49.00 USD" }},
		} {
			t.Run(name, func(t *testing.T) {
				w := operatortest.New(t, store, nil)
				carryOut(t, w, w.Approved(t, renewal()), "succeeded")
				asked := spend("Anual plan renewal", 4900) // a slip that the person mends
				c.asked(&asked.Action)
				in := w.Record(t, asked)
				edited := renewal().Action
				c.edited(&edited)
				_, err := w.Edit(ctx, w.Owner, operator.EditInput{ID: in.ID, Digest: in.Digest, Action: edited})
				mustBe(t, err, operator.ErrTwin)
			})
		}
		t.Run("other data is another thing", func(t *testing.T) {
			w := operatortest.New(t, store, nil)
			carryOut(t, w, w.Approved(t, renewal()), "succeeded")
			in := w.Record(t, spend("Anual plan renewal", 4900))
			edited := renewal().Action
			edited.Data = []byte(`{"seat":2}`)
			if _, err := w.Edit(ctx, w.Owner, operator.EditInput{ID: in.ID, Digest: in.Digest, Action: edited}); err != nil {
				t.Error(err)
			}
		})
	})
}

func TestWhatWasRecordedYesterdayAndDoneTodayWasDoneToday(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		w.Clock.Set(time.Date(2026, 3, 3, 23, 50, 0, 0, time.UTC))
		done := w.Approved(t, renewal())
		w.Clock.Advance(20 * time.Minute)
		carryOut(t, w, done, "succeeded")
		other := w.Record(t, spend("Chairs", 4900))
		edit := operator.EditInput{ID: other.ID, Digest: other.Digest, Action: renewal().Action}
		_, err := w.Edit(ctx, w.Owner, edit)
		mustBe(t, err, operator.ErrTwin)
		w.Clock.Set(time.Date(2026, 3, 4, 23, 59, 59, 0, time.UTC))
		_, err = w.Edit(ctx, w.Owner, edit)
		mustBe(t, err, operator.ErrTwin)
		w.Clock.Advance(time.Second)
		if _, err = w.Edit(ctx, w.Owner, edit); err != nil {
			t.Error("tomorrow it may be done again:", err)
		}
	})
}

// TestAnEditAtTheEndOfAWindowDecidesItForEverybody has two processes whose clocks
// differ: what one of them takes for lapsed must not be claimed by the other.
func TestAnEditAtTheEndOfAWindowDecidesItForEverybody(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		ahead := operatortest.NewClock(w.Clock.Now())
		other := operatortest.Open(t, w.Where, &operator.Options{Clock: ahead})
		first := w.Approved(t, renewal())
		w.Clock.Advance(24*time.Hour - time.Second)
		ahead.Set(w.Clock.Now().Add(2 * time.Second))
		asked := w.Record(t, spend("Chairs", 4900))
		edited, err := other.Edit(ctx, w.Owner, operator.EditInput{ID: asked.ID, Digest: asked.Digest, Action: renewal().Action})
		mustHave(t, err)
		carryOut(t, w, edited, "succeeded")
		got, err := w.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"spend"}})
		if err != nil || got.Job != nil || statusOf(t, operatortest.Database(t, w.Where), first.ID) != "expired" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// TestAnEditWaitsForAClaimThatIsUnderWay: the claim is not committed yet when the
// edit looks, and it must not look past it.
func TestAnEditWaitsForAClaimThatIsUnderWay(t *testing.T) {
	ctx := context.Background()
	w := operatortest.New(t, "postgres", nil)
	first := w.Approved(t, renewal())
	w.Clock.Advance(24*time.Hour - time.Millisecond)
	asked := w.Record(t, spend("Chairs", 4900))
	db := operatortest.Database(t, w.Where)
	tx, err := db.BeginTx(ctx, nil)
	mustHave(t, err)
	defer tx.Rollback()
	now := w.Clock.Now().UnixMicro()
	_, err = tx.Exec(`update reeve_intents set status = 'executing', claimed_from = status, lease_holder = 'worker:x',
		lease_until = $1, lease_retries = 0, fencing_token = fencing_token + 1 where id = $2`, now+int64(time.Hour/time.Microsecond), first.ID)
	mustHave(t, err)
	w.Clock.Advance(2 * time.Millisecond)
	done := make(chan error, 1)
	go func() {
		_, err := w.Edit(ctx, w.Owner, operator.EditInput{ID: asked.ID, Digest: asked.Digest, Action: renewal().Action})
		done <- err
	}()
	eventually(t, "the edit waits for the claim", func() bool {
		return count(t, db, `select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%reeve_intents%'`) > 0
	})
	mustHave(t, tx.Commit())
	mustBe(t, <-done, operator.ErrTwin)
}

func TestAReSendAnswersTheNewestOfWhatBecameOfTheSameWish(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		yesterdays := w.Record(t, renewal())
		_, err := w.Reject(ctx, w.Owner, act(yesterdays))
		mustHave(t, err)
		w.Clock.Advance(24 * time.Hour)
		todays := w.Record(t, renewal())
		_, err = w.Reject(ctx, w.Owner, act(todays))
		mustHave(t, err)
		chance, err := w.Reissue(ctx, w.Owner, operator.ReissueInput{ID: yesterdays.ID})
		mustHave(t, err)
		if again := w.Record(t, renewal()); again.ID != chance.ID || again.Created {
			t.Errorf("%d, created %v; want %d", again.ID, again.Created, chance.ID)
		}
	})
}

// TestEveryLinkOfAChainOfEditsIsTheSameWish: whichever of them is sent again, it is
// known, also where labels alone told them apart, and where midnight came between.
func TestEveryLinkOfAChainOfEditsIsTheSameWish(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		for _, pause := range []time.Duration{0, 13 * time.Hour} {
			w := operatortest.New(t, store, &operator.Options{Policy: policy(t, twoPeople)})
			chain := []operator.RecordIntentInput{spend("Desks", 200000)}
			last := w.Record(t, chain[0])
			for _, label := range []string{"one", "two", "three"} {
				w.Clock.Advance(pause)
				pause = 0
				next := spend("Desks", 200000)
				next.Action.Labels = []string{label}
				edited, err := w.Edit(ctx, w.Owner, operator.EditInput{ID: last.ID, Digest: last.Digest, Action: next.Action})
				mustHave(t, err)
				chain, last = append(chain, next), edited
			}
			for i, link := range chain {
				if again := w.Record(t, link); again.ID != last.ID || again.Created {
					t.Errorf("link %d answers %d, created %v; want %d", i, again.ID, again.Created, last.ID)
				}
			}
			strange := spend("Desks", 200000)
			strange.Action.Labels = []string{"never seen"}
			_, err := w.RecordIntent(ctx, w.Agent, strange)
			mustBe(t, err, operator.ErrIdempotencyMismatch)
		}
	})
}

func TestWhatLapsedIsSaidToHaveLapsedBeforeAnySweep(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		w.Clock.Set(time.Date(2026, 3, 3, 0, 0, 0, 0, time.UTC))
		w.SetPolicy(t, `
version: 1
extends: default
rules:
  - {id: quick, match: {types: [spend]}, effect: requires_approval, reason: Quickly., approval: {expires: 1h}}
`)
		first, second := w.Record(t, spend("First", 1)), w.Record(t, spend("Second", 1))
		w.Clock.Advance(time.Hour)
		if again := w.Record(t, spend("First", 1)); again.ID != first.ID || again.Status != gate.StatusExpired || len(again.Affordances) != 0 {
			t.Errorf("%+v", again)
		}
		if chance, err := w.Reissue(ctx, w.Owner, operator.ReissueInput{ID: second.ID}); err != nil || chance.Status != gate.StatusPendingApproval {
			t.Errorf("%+v, %v", chance, err)
		}
	})
}
