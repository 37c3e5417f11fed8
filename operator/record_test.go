package operator_test

import (
	"context"
	"errors"
	"testing"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

func TestAnActionRecordedTwiceOnOneDayIsOneIntent(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		first, err := w.RecordIntent(ctx, w.Agent, renewal())
		if err != nil {
			t.Fatal(err)
		}
		if first.Status != gate.StatusPendingApproval || !first.Created || len(first.PolicyReasons) == 0 || len(first.IdempotencyKey) != 32 {
			t.Fatalf("first: %+v", first)
		}
		again, err := w.RecordIntent(ctx, w.Agent, renewal())
		if err != nil || again.ID != first.ID || again.Created {
			t.Fatalf("again: %+v, %v", again, err)
		}
		approved, err := w.Approve(ctx, w.Owner, operator.ActInput{ID: first.ID, Digest: first.Digest})
		if err != nil || approved.Status != gate.StatusApproved {
			t.Fatalf("approve: %+v, %v", approved, err)
		}
		_, err = w.Reject(ctx, w.Owner, operator.ActInput{ID: first.ID, Digest: first.Digest})
		if !errors.Is(err, operator.ErrAlreadySettled) {
			t.Fatalf("reject after approve: %v", err)
		}
		got, err := w.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"spend"}})
		if err != nil || got.Job == nil {
			t.Fatalf("claim: %+v, %v", got, err)
		}
		done, err := w.Report(ctx, w.Worker, operator.ReportInput{ID: first.ID, FencingToken: got.Job.FencingToken, Status: "succeeded"})
		if err != nil || done.Status != gate.StatusSucceeded {
			t.Fatalf("report: %+v, %v", done, err)
		}
		st, err := w.State(ctx, w.Agent, operator.StateInput{})
		if err != nil || len(st.Intents) != 1 || len(st.Audit) == 0 {
			t.Fatalf("state: %+v, %v", st, err)
		}
	})
}
