package operator_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

type run = func(context.Context, operator.Job) (string, error)

func handler(f run) map[string]operator.Handler {
	return map[string]operator.Handler{"note": {Run: f}, "spend": {Run: f}}
}

func idempotent(f run) map[string]operator.Handler {
	return map[string]operator.Handler{"note": {Run: f, Idempotent: true}}
}

func TestWorkReportsWhatTheHandlerSaid(t *testing.T) {
	cases := []struct {
		name    string
		run     run
		status  gate.Status
		outcome string
	}{
		{"success", func(context.Context, operator.Job) (string, error) { return "Paid.", nil }, gate.StatusSucceeded, "Paid."},
		{"success without a word", func(context.Context, operator.Job) (string, error) { return "", nil }, gate.StatusSucceeded, ""},
		{"an error says that nothing was done", func(context.Context, operator.Job) (string, error) { return "", errors.New("no such vendor") }, gate.StatusFailed, "no such vendor"},
		{"nobody knows", func(context.Context, operator.Job) (string, error) {
			return "", fmt.Errorf("hung up: %w", operator.ErrOutcomeUnknown)
		}, gate.StatusUnknown, "hung up: it cannot be told whether the action was carried out"},
		{"a panic", func(context.Context, operator.Job) (string, error) { panic("token rv_agent_x") }, gate.StatusUnknown,
			"it cannot be told whether the action was carried out: the handler panicked"},
		{"words that steer a terminal", func(context.Context, operator.Job) (string, error) { return "a\x1b[2Jb\x00\xff", nil }, gate.StatusSucceeded, "a\ufffd[2Jb\ufffd\ufffd"},
		{"words without end", func(context.Context, operator.Job) (string, error) { return string(make([]byte, 1<<20)), nil }, gate.StatusSucceeded, "*"},
	}
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		for _, c := range cases {
			in := w.Record(t, note(c.name))
			mustHave(t, w.Work(ctx, w.Worker, handler(c.run), &operator.WorkOptions{Once: true}))
			out, err := w.ShowIntent(ctx, w.Owner, in.ID)
			mustHave(t, err)
			outcome := ""
			if out.Outcome != nil {
				outcome = *out.Outcome
			}
			if out.Status != c.status || c.outcome != "*" && outcome != c.outcome {
				t.Errorf("%s: %s, %q", c.name, out.Status, outcome)
			}
		}
	})
}

func TestAHandlerThatFailsOrPanicsHoldsUpNoOther(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		w := operatortest.New(t, store, nil)
		bad, good := w.Record(t, note("bad")), w.Record(t, note("good"))
		var tries atomic.Int64
		run := func(_ context.Context, job operator.Job) (string, error) {
			if job.Intent.ID != bad.ID {
				return "", nil
			}
			if tries.Add(1) > 50 {
				cancel()
			}
			panic("always")
		}
		// Declared idempotent: it may be run again, but not at once and for ever.
		mustHave(t, w.Work(ctx, w.Worker, idempotent(run), &operator.WorkOptions{Once: true}))
		if n := tries.Load(); n != 1 {
			t.Errorf("one pass tried it %d times", n)
		}
		out, err := w.ShowIntent(context.Background(), w.Owner, good.ID)
		if err != nil || out.Status != gate.StatusSucceeded {
			t.Errorf("the other one is %s, %v", out.Status, err)
		}
	})
}

func TestAnIdempotentHandlerIsRunAgainWithTheSameKeyOnceItsLeaseLapses(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		w := operatortest.New(t, store, nil)
		in := w.Record(t, note("flaky"))
		keys := []string{}
		err := w.Work(ctx, w.Worker, idempotent(func(_ context.Context, job operator.Job) (string, error) {
			if keys = append(keys, job.ExecutionKey); len(keys) < 2 {
				return "", operator.ErrOutcomeUnknown
			}
			cancel()
			return "second time", nil
		}), &operator.WorkOptions{Lease: time.Second, Poll: 50 * time.Millisecond})
		mustHave(t, err)
		out, err := w.ShowIntent(context.Background(), w.Owner, in.ID)
		if err != nil || out.Status != gate.StatusSucceeded || len(keys) != 2 || keys[0] != keys[1] {
			t.Errorf("%s, keys %v, %v", out.Status, keys, err)
		}
	})
}

func TestAWorkerThatIsStoppedInTheMiddleLeavesNothingInDoubt(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, nil)
		told, deaf, twice := w.Record(t, note("told")), w.Record(t, note("deaf")), w.Record(t, note("twice"))
		stopWithin := func(handlers func(run) map[string]operator.Handler, f run) {
			ctx, cancel := context.WithCancel(context.Background())
			mustHave(t, w.Work(ctx, w.Worker, handlers(func(inner context.Context, job operator.Job) (string, error) {
				cancel()
				return f(inner, job)
			}), nil))
		}
		stopWithin(handler, func(ctx context.Context, _ operator.Job) (string, error) { <-ctx.Done(); return "", ctx.Err() })
		stopWithin(handler, func(context.Context, operator.Job) (string, error) { return "finished all the same", nil })
		stopWithin(idempotent, func(ctx context.Context, _ operator.Job) (string, error) { <-ctx.Done(); return "", ctx.Err() })
		for id, want := range map[int64]gate.Status{told.ID: gate.StatusUnknown, deaf.ID: gate.StatusSucceeded, twice.ID: gate.StatusAllowed} {
			out, err := w.ShowIntent(context.Background(), w.Owner, id)
			if err != nil || out.Status != want {
				t.Errorf("intent %d is %s, want %s (%v)", id, out.Status, want, err)
			}
		}
	})
}

func TestALongHandlerKeepsItsLease(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		in := w.Record(t, note("long"))
		err := w.Work(ctx, w.Worker, handler(func(ctx context.Context, job operator.Job) (string, error) {
			var first, now int64
			first = count(t, db, `select lease_until from reeve_intents where id = $1`, job.Intent.ID)
			eventually(t, "the lease is extended", func() bool {
				now = count(t, db, `select lease_until from reeve_intents where id = $1`, job.Intent.ID)
				return now > first || ctx.Err() != nil
			})
			return "", ctx.Err()
		}), &operator.WorkOptions{Lease: time.Second, Once: true})
		mustHave(t, err)
		if now := statusOf(t, db, in.ID); now != "succeeded" {
			t.Errorf("it is %s", now)
		}
	})
}

func TestAHandlerWhoseLeaseWasLostIsStopped(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		in := w.Record(t, note("lost"))
		err := w.Work(ctx, w.Worker, handler(func(ctx context.Context, job operator.Job) (string, error) {
			lapse(t, db, job.Intent.ID)
			if _, err := w.Sweep(context.Background()); err != nil {
				t.Error(err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(10 * time.Second):
				t.Error("it was never told")
			}
			return "", ctx.Err()
		}), &operator.WorkOptions{Lease: time.Second, Once: true})
		mustHave(t, err)
		if now := statusOf(t, db, in.ID); now != "unknown" {
			t.Errorf("it is %s", now)
		}
	})
}

// countingClock says how often anybody looked at the database.
type countingClock struct{ looks atomic.Int64 }

func (c *countingClock) Now() time.Time { c.looks.Add(1); return operatortest.Start }

func TestAWorkerWithNothingToDoIsQuiet(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		clock := &countingClock{}
		w := operatortest.New(t, store, &operator.Options{Clock: clock})
		ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
		defer cancel()
		before := clock.looks.Load()
		mustHave(t, w.Work(ctx, w.Worker, handler(nothing), &operator.WorkOptions{Poll: 200 * time.Millisecond}))
		if n := clock.looks.Load() - before; n > 20 {
			t.Errorf("it looked %d times in half a second", n)
		}
	})
}

func nothing(context.Context, operator.Job) (string, error) { return "", nil }

func TestAWorkerIsWokenByAnApprovalInItsOwnProcess(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		w := operatortest.New(t, store, nil)
		done := make(chan struct{})
		started := make(chan struct{})
		go func() {
			close(started)
			_ = w.Work(ctx, w.Worker, handler(func(context.Context, operator.Job) (string, error) { close(done); return "", nil }),
				&operator.WorkOptions{Poll: time.Hour})
		}()
		<-started
		w.Approved(t, renewal())
		select {
		case <-done:
		case <-ctx.Done():
			t.Error("it slept through")
		}
	})
}

func TestAWorkerOutlivesAStoreThatDoesNotAnswer(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		execute(t, db, `alter table reeve_intents rename to reeve_away`)
		ended := make(chan error, 1)
		go func() {
			ended <- w.Work(ctx, w.Worker, handler(func(context.Context, operator.Job) (string, error) { cancel(); return "", nil }),
				&operator.WorkOptions{Poll: 20 * time.Millisecond})
		}()
		select {
		case err := <-ended:
			t.Fatalf("it gave up: %v", err)
		case <-time.After(150 * time.Millisecond):
		}
		execute(t, db, `alter table reeve_away rename to reeve_intents`)
		in := w.Record(t, note("after the outage"))
		mustHave(t, <-ended)
		if now := statusOf(t, db, in.ID); now != "succeeded" {
			t.Errorf("it is %s", now)
		}
	})
}

func TestAWorkersHandlersAreCheckedBeforeAnythingIsClaimed(t *testing.T) {
	w := operatortest.New(t, "sqlite", nil)
	ctx := context.Background()
	w.Record(t, note("x"))
	for name, handlers := range map[string]map[string]operator.Handler{"none": nil, "one without Run": {"note": {}}} {
		if err := w.Work(ctx, w.Worker, handlers, &operator.WorkOptions{Once: true}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	state, err := w.State(ctx, w.Agent, operator.StateInput{})
	if err != nil || state.Intents[0].Status != gate.StatusAllowed {
		t.Errorf("%+v, %v", state.Intents, err)
	}
}

func TestAGraceLetsARunningHandlerFinishAndNoLonger(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, nil)
		work := func(grace time.Duration, f run) {
			ctx, cancel := context.WithCancel(context.Background())
			mustHave(t, w.Work(ctx, w.Worker, handler(func(inner context.Context, job operator.Job) (string, error) {
				cancel()
				return f(inner, job)
			}), &operator.WorkOptions{Grace: grace}))
		}
		said, late, next := w.Record(t, note("says no in time")), w.Record(t, note("takes too long")), w.Record(t, note("is not begun"))
		work(10*time.Second, func(ctx context.Context, _ operator.Job) (string, error) {
			select {
			case <-ctx.Done():
				t.Error("it was stopped at once")
			case <-time.After(50 * time.Millisecond):
			}
			return "", errors.New("no")
		})
		work(50*time.Millisecond, func(ctx context.Context, _ operator.Job) (string, error) { <-ctx.Done(); return "", ctx.Err() })
		for id, want := range map[int64]gate.Status{said.ID: gate.StatusFailed, late.ID: gate.StatusUnknown, next.ID: gate.StatusAllowed} {
			out, err := w.ShowIntent(context.Background(), w.Owner, id)
			if err != nil || out.Status != want {
				t.Errorf("intent %d is %s, want %s (%v)", id, out.Status, want, err)
			}
		}
	})
}
