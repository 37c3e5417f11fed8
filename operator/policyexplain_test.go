package operator_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

func TestAnExplanationHasTheFactsOfTheAccountAndRecordsNothing(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		w.SetPolicy(t, smallAllowed)
		ink := spend("Ink", 2000).Action
		ask := func(in operator.ExplainInput) operator.PolicyExplanation {
			t.Helper()
			out, err := w.ExplainPolicy(ctx, w.Owner, in)
			mustHave(t, err)
			return out
		}
		if out := ask(operator.ExplainInput{Action: ink}); out.Verdict != operator.ExplainedAllow || partOf(out, "small") != "stands_in" || partOf(out, "spending") != "stood_in_for" {
			t.Errorf("%+v", out)
		}
		w.Record(t, spend("One", 2000))
		w.Record(t, spend("Two", 2000))
		before := operatortest.Fingerprint(t, db)
		out := ask(operator.ExplainInput{Action: ink})
		if out.Verdict != operator.ExplainedPark || partOf(out, "small") != "budget_used_up" || out.Approval.Quorum != 1 || len(out.Rules) != 16 {
			t.Errorf("the budget is used: %+v", out)
		}
		next := w.Clock.Now().Add(31 * 24 * time.Hour)
		if out := ask(operator.ExplainInput{Action: ink, At: &next}); out.Verdict != operator.ExplainedAllow {
			t.Errorf("next month: %+v", out)
		}
		if out := ask(operator.ExplainInput{Action: ink, Policy: noSpending}); out.Verdict != operator.ExplainedDeny || partOf(out, "no-spending") != "decides" {
			t.Errorf("another policy: %+v", out)
		}
		if out, err := w.ExplainAction(ctx, "", "", operator.ExplainInput{Action: gate.Action{Type: "note", Title: "x"}}); err != nil || out.Verdict != operator.ExplainedAllow {
			t.Errorf("%+v, %v", out, err)
		}
		if operatortest.Fingerprint(t, db) != before {
			t.Error("something was recorded")
		}
		_, err := w.ExplainPolicy(ctx, w.Owner, operator.ExplainInput{Action: ink, Policy: "version: 9"})
		mustBe(t, err, operator.ErrPolicyInvalid)
		_, err = w.ExplainPolicy(ctx, w.Owner, operator.ExplainInput{Action: gate.Action{Type: "spend", Title: strings.Repeat("x", 5000)}})
		mustBe(t, err, operator.ErrInvalidValue)
		_, err = w.ExplainPolicy(ctx, operator.Person{}, operator.ExplainInput{Action: ink})
		mustBe(t, err, operator.ErrUnauthenticated)
	})
}

func TestAStandingApprovalHasItsPartInAnExplanation(t *testing.T) {
	ctx := context.Background()
	w := operatortest.New(t, "sqlite", nil)
	_, err := w.StandingApproval(ctx, w.Owner, operator.StandingInput{Types: []string{"send"}, InsteadOf: []string{"messages"}, Until: w.Clock.Now().Add(time.Hour), Reason: "Mail is fine."})
	mustHave(t, err)
	out, err := w.ExplainPolicy(ctx, w.Owner, operator.ExplainInput{Action: gate.Action{Type: "send", Title: "Hi", Recipient: "bo@elsewhere.example"}})
	if last := out.Rules[len(out.Rules)-1]; err != nil || out.Verdict != operator.ExplainedAllow || !last.Standing || last.Part != "stands_in" {
		t.Errorf("%+v, %v", out, err)
	}
}

func partOf(e operator.PolicyExplanation, rule string) string {
	for _, r := range e.Rules {
		if r.Rule == rule {
			return r.Part
		}
	}
	return ""
}
