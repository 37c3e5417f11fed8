package operator_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

func TestTwoWorkersCarryEachOfTwoHundredIntentsOutOnce(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		other := w.Again(t, nil)
		const jobs = 200
		for n := range jobs {
			w.Record(t, note(fmt.Sprintf("Note %d", n)))
		}
		var mu sync.Mutex
		done := map[int64]int{}
		handlers := map[string]operator.Handler{"note": {Run: func(_ context.Context, job operator.Job) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			done[job.Intent.ID]++
			return "noted", nil
		}}}
		errs := together(4, func(i int) error {
			op, name := w.Operator, fmt.Sprintf("w%d", i)
			if i%2 == 1 {
				op = other
			}
			p, err := op.LocalWorker(ctx, "", "", name)
			if err != nil {
				return err
			}
			return op.Work(ctx, p, handlers, &operator.WorkOptions{Once: true})
		})
		for _, err := range errs {
			mustHave(t, err)
		}
		if len(done) != jobs {
			t.Errorf("%d of %d were carried out", len(done), jobs)
		}
		for id, n := range done {
			if n != 1 {
				t.Errorf("intent %d was carried out %d times", id, n)
			}
		}
		db := operatortest.Database(t, w.Where)
		if n := count(t, db, `select count(*) from reeve_intents where status = 'succeeded' and fencing_token = 1`); n != jobs {
			t.Errorf("%d succeeded under their first token", n)
		}
	})
}

func TestAClaimPassesOverWhatSomebodyElseHolds(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		if store == "sqlite" {
			t.Skip("one writer holds the whole file")
		}
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		first, second := w.Record(t, note("First")), w.Record(t, note("Second"))
		db := operatortest.Database(t, w.Where)
		tx, err := db.Begin()
		mustHave(t, err)
		defer tx.Rollback()
		_, err = tx.Exec(`select id from reeve_intents where id = $1 for update`, first.ID)
		mustHave(t, err)
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		got, err := w.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"note"}})
		if err != nil || got.Job == nil || got.Job.Intent.ID != second.ID {
			t.Fatalf("%+v, %v", got.Job, err)
		}
	})
}

func TestTheOldestThatIsReadyIsClaimedWithItsWholePayload(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		a := gate.Action{Type: "spend", Title: "Desks", AmountCents: cents(9007199254740991), Body: "line\nline", Labels: []string{"x"}, Data: []byte(`{"n":1.5}`)}
		in := w.Approved(t, operator.RecordIntentInput{Action: a})
		w.Record(t, note("Not of its types"))
		w.Approved(t, renewal())
		got, err := w.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"spend", "send"}})
		mustHave(t, err)
		job := got.Job
		if job == nil || job.Intent.ID != in.ID || job.Intent.Payload == nil || job.FencingToken != 1 || job.IdempotencyKey != in.IdempotencyKey ||
			job.ExecutionKey == job.IdempotencyKey || job.Intent.Status != gate.StatusExecuting {
			t.Fatalf("%+v", job)
		}
		p := *job.Intent.Payload
		if *p.AmountCents != 9007199254740991 || p.Body != a.Body || p.Currency != "USD" || string(p.Data) != `{"n":1.5}` || p.Labels[0] != "x" {
			t.Errorf("the payload: %+v", p)
		}
		if digest, err := gate.Digest("default", "default", p); err != nil || digest != in.Digest {
			t.Errorf("what is carried out has the digest %s, what was approved %s (%v)", digest, in.Digest, err)
		}
		if job.Intent.ExpiresAt != nil {
			t.Errorf("what is being carried out lapses at %v", job.Intent.ExpiresAt)
		}
	})
}

func TestALapsedLeaseIsUnknownUnlessTheHandlerMayRunTwice(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		other := w.Again(t, nil)
		second, err := other.LocalWorker(ctx, "", "", "second")
		mustHave(t, err)
		db := operatortest.Database(t, w.Where)
		once, twice := w.Approved(t, spend("Once", 1)), w.Record(t, note("Twice"))
		claim := func(op *operator.Operator, p operator.Principal, word string) *operator.Job {
			got, err := op.Claim(ctx, p, operator.ClaimInput{Types: []string{word}, Idempotent: []string{"note"}, LeaseSeconds: number(1)})
			mustHave(t, err)
			return got.Job
		}
		held := []*operator.Job{claim(w.Operator, w.Worker, "spend"), claim(w.Operator, w.Worker, "note")}
		if held[0] == nil || held[1] == nil {
			t.Fatal("nothing was claimed")
		}
		if job := claim(other, second, "note"); job != nil {
			t.Fatalf("held by two: %+v", job)
		}
		// The lease is by the database's clock; the Operator's stands still.
		var again *operator.Job
		eventually(t, "the lease lapses", func() bool { again = claim(other, second, "note"); return again != nil })
		if again.Intent.ID != twice.ID || again.FencingToken != 2 || again.ExecutionKey != held[1].ExecutionKey {
			t.Errorf("%+v", again)
		}
		if now := statusOf(t, db, once.ID); now != "unknown" {
			t.Errorf("what may have been carried out is %s", now)
		}
		if job := claim(other, second, "spend"); job != nil {
			t.Errorf("an unknown one was claimed: %+v", job)
		}
		for _, stale := range held {
			_, err := w.Report(ctx, w.Worker, operator.ReportInput{ID: stale.Intent.ID, FencingToken: stale.FencingToken, Status: "succeeded"})
			mustBe(t, err, operator.ErrStaleToken)
			_, err = w.Extend(ctx, w.Worker, operator.ExtendInput{ID: stale.Intent.ID, FencingToken: stale.FencingToken})
			mustBe(t, err, operator.ErrStaleToken)
		}
		// The new token in the old holder's hands is worth nothing either.
		_, err = w.Report(ctx, w.Worker, operator.ReportInput{ID: twice.ID, FencingToken: 2, Status: "failed"})
		mustBe(t, err, operator.ErrStaleToken)
		if out, err := other.Report(ctx, second, operator.ReportInput{ID: twice.ID, FencingToken: 2, Status: "succeeded"}); err != nil || out.Status != gate.StatusSucceeded {
			t.Errorf("the holder's report: %+v, %v", out, err)
		}
		out, err := w.Settle(ctx, w.Owner, operator.SettleInput{ID: once.ID, Status: "failed", Note: "The vendor has nothing."})
		if err != nil || out.Status != gate.StatusFailed || *out.Outcome != "The vendor has nothing." || *out.SettledBy != "human:owner" {
			t.Errorf("settle: %+v, %v", out, err)
		}
	})
}

func TestALeaseThatIsExtendedDoesNotLapse(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		w.Record(t, note("Long"))
		got, err := w.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"note"}, LeaseSeconds: number(1)})
		mustHave(t, err)
		extended, err := w.Extend(ctx, w.Worker, operator.ExtendInput{ID: got.Job.Intent.ID, FencingToken: got.Job.FencingToken, LeaseSeconds: number(3600)})
		if err != nil || extended.LeaseUntil.Sub(got.Job.LeaseUntil) < 3500*time.Second {
			t.Fatalf("%v to %v, %v", got.Job.LeaseUntil, extended.LeaseUntil, err)
		}
		_, err = w.Extend(ctx, w.Worker, operator.ExtendInput{ID: got.Job.Intent.ID, FencingToken: 2})
		mustBe(t, err, operator.ErrStaleToken)
	})
}

func TestALeaseIsAtLeastASecondAndAtMostAnHour(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		for _, seconds := range []int64{-5, 0, 1 << 62} {
			in := w.Record(t, note(fmt.Sprintf("Lease of %d", seconds)))
			got, err := w.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"note"}, LeaseSeconds: &seconds})
			if err != nil || got.Job == nil || got.Job.Intent.ID != in.ID {
				t.Fatalf("a lease of %d: %+v, %v", seconds, got.Job, err)
			}
			extended, err := w.Extend(ctx, w.Worker, operator.ExtendInput{ID: in.ID, FencingToken: 1, LeaseSeconds: &seconds})
			if err != nil || time.Until(extended.LeaseUntil) > time.Hour+time.Minute {
				t.Errorf("a lease of %d lasts until %v, %v", seconds, extended.LeaseUntil, err)
			}
		}
	})
}

func TestTheSameReportAgainAnswersTheSameRow(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		in, token := (&makers{w: w, db: db}).at(t, gate.StatusExecuting)
		report := operator.ReportInput{ID: in.ID, FencingToken: token, Status: "succeeded", Outcome: "Done"}
		first, err := w.Report(ctx, w.Worker, report)
		mustHave(t, err)
		before := operatortest.Fingerprint(t, db)
		again, err := w.Report(ctx, w.Worker, report)
		if err != nil || again.Status != first.Status || *again.Outcome != "Done" || !again.SettledAt.Equal(*first.SettledAt) {
			t.Errorf("%+v, %v", again, err)
		}
		for what, r := range map[string]operator.ReportInput{
			"the opposite": {ID: in.ID, FencingToken: token, Status: "failed"}, "another token": {ID: in.ID, FencingToken: token + 1, Status: "succeeded"},
		} {
			if _, err := w.Report(ctx, w.Worker, r); !errors.Is(err, operator.ErrStaleToken) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if operatortest.Fingerprint(t, db) != before {
			t.Error("something was written")
		}
	})
}

const denySpending = `
version: 1
extends: default
rules:
  - id: hard-stop
    match: {types: [spend]}
    effect: deny
    reason: No more spending.
`

func TestAPolicyThatHasHardenedWinsOverAnApproval(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		denied, still := w.Approved(t, renewal()), w.Record(t, note("Still fine"))
		hard := w.Again(t, &operator.Options{Policy: policy(t, denySpending)})
		got, err := hard.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"note", "spend"}})
		if err != nil || got.Job == nil || got.Job.Intent.ID != still.ID {
			t.Fatalf("%+v, %v", got.Job, err)
		}
		out, err := w.ShowIntent(ctx, w.Owner, denied.ID)
		if err != nil || out.Status != gate.StatusCancelled || out.SettledBy == nil || *out.SettledBy != "store" || out.Outcome == nil {
			t.Fatalf("%+v, %v", out, err)
		}
		line := operatortest.Rows(t, db, `select principal, outcome from reeve_audit where intent_id = $1 order by id desc limit 1`, denied.ID)
		if len(line) != 1 || line[0] != "store|approved -> cancelled" {
			t.Errorf("the record: %v", line)
		}
		if _, err := w.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"spend"}}); err != nil {
			t.Error(err)
		}
	})
}

func TestAClaimWithNoTypesIsRefusedAsInput(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		w.Record(t, note("x"))
		for _, types := range [][]string{nil, {}, {"a\x00b"}, {"note') --"}} {
			_, err := w.Claim(ctx, w.Worker, operator.ClaimInput{Types: types})
			if r := mustBe(t, err, err); r.Info().Layer != "input" {
				t.Errorf("%q: %v", types, err)
			}
		}
	})
}

func TestASweepCountsEverythingThatItMoved(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		m := &makers{w: w, db: db}
		held, _ := m.at(t, gate.StatusExecuting)
		lapse(t, db, held.ID)
		if n, err := w.Sweep(ctx); err != nil || n != 1 {
			t.Errorf("a lapsed lease: %d, %v", n, err)
		}
		for n := range 205 { // more than one batch
			w.Record(t, note(fmt.Sprintf("Note %d", n)))
		}
		w.Clock.Advance(24 * time.Hour)
		if n, err := w.Sweep(ctx); err != nil || n != 205 {
			t.Errorf("windows that passed: %d, %v", n, err)
		}
		if n, err := w.Sweep(ctx); err != nil || n != 0 {
			t.Errorf("nothing: %d, %v", n, err)
		}
	})
}

// TestIdsBeyondThirtyTwoBitsWork stands where a database that has been in use
// for long would be.
func TestIdsBeyondThirtyTwoBitsWork(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		const far = 5_000_000_000
		w.Record(t, note("first"))
		if store == "sqlite" {
			execute(t, db, `update sqlite_sequence set seq = $1 where name in ('reeve_intents', 'reeve_audit')`, far)
		} else {
			execute(t, db, `alter table reeve_intents alter column id restart with 5000000000`)
			execute(t, db, `alter table reeve_audit alter column id restart with 5000000000`)
		}
		in := w.Record(t, renewal())
		if in.ID < far {
			t.Fatalf("id %d", in.ID)
		}
		edited, err := w.Edit(ctx, w.Owner, operator.EditInput{ID: in.ID, Digest: in.Digest, Action: spend("Smaller", 1).Action})
		if err != nil || *edited.Supersedes != in.ID {
			t.Fatalf("%+v, %v", edited, err)
		}
		got, err := w.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"spend"}})
		if err != nil || got.Job == nil {
			t.Fatalf("%v", err)
		}
		_, err = w.Report(ctx, w.Worker, operator.ReportInput{ID: edited.ID, FencingToken: 1, Status: "succeeded"})
		mustHave(t, err)
		state, err := w.State(ctx, w.Agent, operator.StateInput{IntentID: &edited.ID})
		if err != nil || len(state.Audit) == 0 {
			t.Fatalf("%+v, %v", state, err)
		}
	})
}

// TestWhatWasHeldBeforeGoesOnlyToAHandlerThatMayRunTwice: one worker said that its
// handler may, and lost its lease; whoever comes next must say so of its own.
func TestWhatWasHeldBeforeGoesOnlyToAHandlerThatMayRunTwice(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		in := w.Approved(t, renewal())
		once := operator.ClaimInput{Types: []string{"spend"}}
		twice := operator.ClaimInput{Types: []string{"spend"}, Idempotent: []string{"spend"}}
		if got, err := w.Claim(ctx, w.Worker, twice); err != nil || got.Job == nil {
			t.Fatalf("%+v, %v", got, err)
		}
		lapse(t, db, in.ID)
		_, err := w.Sweep(ctx)
		mustHave(t, err)
		if got, err := w.Claim(ctx, w.Worker, once); err != nil || got.Job != nil {
			t.Errorf("a handler that must not run twice got it: %+v, %v", got, err)
		}
		if got, err := w.Claim(ctx, w.Worker, twice); err != nil || got.Job == nil {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestToExtendWhatIsElsewhereIsToExtendNothing(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		in := w.Approved(t, renewal())
		_, err := w.AddProject(ctx, "", "second")
		mustHave(t, err)
		stranger, err := w.LocalWorker(ctx, "", "second", "test")
		mustHave(t, err)
		_, there := w.Extend(ctx, stranger, operator.ExtendInput{ID: in.ID, FencingToken: 1})
		_, nowhere := w.Extend(ctx, stranger, operator.ExtendInput{ID: in.ID + 999, FencingToken: 1})
		if mustBe(t, there, operator.ErrNotFound).Message != mustBe(t, nowhere, operator.ErrNotFound).Message {
			t.Errorf("%v, %v", there, nowhere)
		}
	})
}
