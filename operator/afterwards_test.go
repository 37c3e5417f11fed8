package operator_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

func TestAVoteOfSomebodyWhoIsGoneCountsNoMore(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, &operator.Options{Policy: policy(t, twoPeople)})
		ana, _ := w.NewPerson(t, "ana", operator.RoleAdmin)
		bea, _ := w.NewPerson(t, "bea", operator.RoleAdmin)
		in := w.Record(t, spend("Desks", 100000))
		if _, err := w.Approve(ctx, ana, act(in)); err != nil {
			t.Fatal(err)
		}
		mustHave(t, w.RemovePerson(ctx, "", "ana"))
		out, err := w.Approve(ctx, bea, act(in))
		if err != nil || out.Status != gate.StatusPendingApproval {
			t.Fatalf("one live vote of two: %s, %v", out.Status, err)
		}
		out, err = w.Approve(ctx, w.Owner, act(in))
		if err != nil || out.Status != gate.StatusApproved {
			t.Fatalf("two live votes: %s, %v", out.Status, err)
		}
	})
}

func TestWhatAWorkerHeldIsNotClosedAsIfNothingHadHappened(t *testing.T) {
	ends := map[string]func(ctx context.Context, w *operatortest.World, in operator.Intent) error{
		"withdrawn by the agent": func(ctx context.Context, w *operatortest.World, in operator.Intent) error {
			_, err := w.UpdateIntent(ctx, w.Agent, operator.UpdateIntentInput{ID: in.ID, Status: "cancelled"})
			return err
		},
		"revoked by a person": func(ctx context.Context, w *operatortest.World, in operator.Intent) error {
			_, err := w.Revoke(ctx, w.Owner, act(in))
			return err
		},
		"lapsed": func(ctx context.Context, w *operatortest.World, in operator.Intent) error {
			w.Clock.Advance(48 * time.Hour)
			_, err := w.Sweep(ctx)
			return err
		},
	}
	operatortest.EachStore(t, func(t *testing.T, store string) {
		for name, end := range ends {
			t.Run(name, func(t *testing.T) {
				ctx := context.Background()
				w := operatortest.New(t, store, nil)
				in := heldAndTakenBack(t, w)
				mustHave(t, end(ctx, w, in))
				out, err := w.ShowIntent(ctx, w.Owner, in.ID)
				if err != nil || !out.Status.Terminal() || out.Outcome == nil || !strings.Contains(*out.Outcome, "may have been carried out") {
					t.Errorf("%+v, %v", out, err)
				}
			})
		}
	})
}

// heldAndTakenBack is an approved intent that a worker held and never reported,
// with a handler that may run twice.
func heldAndTakenBack(t *testing.T, w *operatortest.World) operator.Intent {
	t.Helper()
	ctx := context.Background()
	in := w.Approved(t, renewal())
	got, err := w.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"spend"}, Idempotent: []string{"spend"}})
	if err != nil || got.Job == nil {
		t.Fatalf("%+v, %v", got, err)
	}
	lapse(t, operatortest.Database(t, w.Where), in.ID)
	if _, err := w.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	out, err := w.ShowIntent(ctx, w.Owner, in.ID)
	if err != nil || out.Status != gate.StatusApproved {
		t.Fatalf("taken back: %s, %v", out.Status, err)
	}
	return out
}

func TestALapsedLeaseBehindAClosedWindowIsUnknownAlsoWhenItMayRunTwice(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		in := w.Approved(t, renewal())
		got, err := w.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"spend"}, Idempotent: []string{"spend"}})
		if err != nil || got.Job == nil {
			t.Fatalf("%+v, %v", got, err)
		}
		w.Clock.Advance(25 * time.Hour)
		lapse(t, operatortest.Database(t, w.Where), in.ID)
		if _, err := w.Sweep(ctx); err != nil {
			t.Fatal(err)
		}
		out, err := w.ShowIntent(ctx, w.Owner, in.ID)
		if err != nil || out.Status != gate.StatusUnknown {
			t.Errorf("there is no time left to run it again, and it may have acted: %s, %v", out.Status, err)
		}
	})
}

func TestTheEditedPayloadRecordedByTheAgentIsTheEdit(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		in := w.Record(t, renewal())
		edited := renewal().Action
		edited.Labels = []string{"yearly"}
		edit, err := w.Edit(ctx, w.Owner, operator.EditInput{ID: in.ID, Digest: in.Digest, Action: edited})
		mustHave(t, err)
		for _, again := range []gate.Action{renewal().Action, edited} {
			out, err := w.RecordIntent(ctx, w.Agent, operator.RecordIntentInput{Action: again})
			if err != nil || out.ID != edit.ID || out.Created {
				t.Errorf("%+v, %v", out, err)
			}
		}
		other := renewal().Action
		other.Labels = []string{"monthly"}
		_, err = w.RecordIntent(ctx, w.Agent, operator.RecordIntentInput{Action: other})
		mustBe(t, err, operator.ErrIdempotencyMismatch)
	})
}

func TestAStoreThatIsGoneIsAnOutageAndNoBareError(t *testing.T) {
	w := operatortest.New(t, "sqlite", nil)
	mustHave(t, w.Close())
	_, err := w.RecordIntent(context.Background(), w.Agent, renewal())
	mustBe(t, err, operator.ErrUnavailable)
	if errors.Unwrap(err) == nil {
		t.Error("what lay beneath cannot be found")
	}
}

func TestAWorkersCredentialCannotTakeTheNameOfALocalOne(t *testing.T) {
	w := operatortest.New(t, "sqlite", nil)
	_, err := w.CreateCredential(context.Background(), operator.NewCredential{Kind: operator.KindWorker, Name: "local-test"})
	mustBe(t, err, reason("invalid_value"))
}

func TestASpendWithACredentialInItsTitleShowsItOnlyInThePayload(t *testing.T) {
	w := operatortest.New(t, "sqlite", nil)
	ctx := context.Background()
	secret := w.First.Agent.Token
	in := w.Record(t, note("the key is "+secret))
	st, err := w.State(ctx, w.Agent, operator.StateInput{})
	mustHave(t, err)
	for _, shown := range []operator.Intent{in, st.Intents[0]} {
		if strings.Contains(shown.Title, secret) {
			t.Errorf("%q", shown.Title)
		}
	}
	one, err := w.ShowIntent(ctx, w.Owner, in.ID)
	mustHave(t, err)
	if one.Payload.Title != "the key is "+secret || strings.Contains(one.Title, secret) {
		t.Errorf("%q beside %q", one.Title, one.Payload.Title)
	}
}
