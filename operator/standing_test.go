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

// vendor is a standing approval of small spends at one vendor.
func vendor(until time.Time) operator.StandingInput {
	return operator.StandingInput{Types: []string{"spend"}, Recipients: []string{"domain:vendor.example"}, MaxCents: cents(100),
		Window: "month", WindowMax: cents(250), InsteadOf: []string{"spending"}, Until: until, Reason: "Small things there are settled"}
}

func at(recipient, title string, amount int64) operator.RecordIntentInput {
	in := spend(title, amount)
	in.Action.Recipient = recipient
	return in
}

func TestAStandingApprovalAllowsWithinItsBoundsAndIsNamed(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		made, err := w.StandingApproval(ctx, w.Owner, vendor(w.Clock.Now().Add(48*time.Hour)))
		mustHave(t, err)
		tainted := at("shop@vendor.example", "Tainted", 10)
		tainted.Action.TaintedBy = []string{"observation:1"}
		for _, c := range []struct {
			name string
			in   operator.RecordIntentInput
			want gate.Status
		}{
			{"within all bounds", at("shop@vendor.example", "First", 100), gate.StatusAllowed},
			{"beyond what one act may spend", at("shop@vendor.example", "Dear", 101), gate.StatusPendingApproval},
			{"to somebody else", at("shop@other.example", "Elsewhere", 100), gate.StatusPendingApproval},
			{"a rule that it does not name still asks", tainted, gate.StatusPendingApproval},
			{"the second", at("shop@vendor.example", "Second", 100), gate.StatusAllowed},
			{"beyond the window", at("shop@vendor.example", "Third", 100), gate.StatusPendingApproval},
			{"what is left of the window", at("shop@vendor.example", "Fourth", 50), gate.StatusAllowed},
		} {
			in := w.Record(t, c.in)
			if in.Status != c.want {
				t.Errorf("%s: %s, %q", c.name, in.Status, in.PolicyReasons)
			}
			if named := strings.Contains(strings.Join(in.PolicyReasons, "\n"), "Standing approval of human:owner: Small things"); named != (c.want == gate.StatusAllowed || c.name == "a rule that it does not name still asks") {
				t.Errorf("%s: named: %v: %q", c.name, named, in.PolicyReasons)
			}
		}
		w.Clock.Advance(48 * time.Hour)
		if in := w.Record(t, at("shop@vendor.example", "After its end", 1)); in.Status != gate.StatusPendingApproval {
			t.Errorf("after its end: %s", in.Status)
		}
		list, err := w.StandingApprovals(ctx, w.Owner)
		if err != nil || len(list.Standing) != 1 || list.Standing[0].Rule != made.Rule || *list.Standing[0].WindowCents != 250 {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

func TestAStandingApprovalEndsWithWhoeverGaveIt(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		until := w.Clock.Now().Add(48 * time.Hour)
		ana, _ := w.NewPerson(t, "ana", operator.RoleMember)
		_, err := w.StandingApproval(ctx, ana, vendor(until))
		mustHave(t, err)
		status := func(title string) gate.Status { return w.Record(t, at("shop@vendor.example", title, 1)).Status }
		if got := status("while she is on the list"); got != gate.StatusAllowed {
			t.Fatal(got)
		}
		mustHave(t, w.RemovePerson(ctx, "", "ana"))
		if got := status("after she left"); got != gate.StatusPendingApproval {
			t.Error(got)
		}
		second, err := w.StandingApproval(ctx, w.Owner, vendor(until))
		mustHave(t, err)
		if got := status("the owner's"); got != gate.StatusAllowed {
			t.Error(got)
		}
		bea, _ := w.NewPerson(t, "bea", operator.RoleMember)
		if _, err := w.RevokeStanding(ctx, bea, operator.StandingRef{ID: second.ID}); err != nil {
			t.Error("anybody may take it back:", err)
		}
		if got := status("after it was taken back"); got != gate.StatusPendingApproval {
			t.Error(got)
		}
		_, err = w.RevokeStanding(ctx, w.Owner, operator.StandingRef{ID: second.ID})
		if r := mustBe(t, err, operator.ErrAlreadySettled); !strings.Contains(r.Message, "human:bea") {
			t.Error(r.Message)
		}
	})
}

func TestNoStandingApprovalOfOneAnswersForSeveral(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		w.SetPolicy(t, twoPeople)
		until := w.Clock.Now().Add(48 * time.Hour)
		in := vendor(until)
		in.InsteadOf = []string{"spending", "large"}
		_, err := w.StandingApproval(ctx, w.Owner, in)
		mustBe(t, err, operator.ErrApproverNotAllowed)

		// One that was given while the rule asked for one person answers it no more
		// once the rule asks for two, or for another role.
		member, _ := w.NewPerson(t, "ana", operator.RoleMember)
		_, err = w.StandingApproval(ctx, member, vendor(until))
		mustHave(t, err)
		if got := w.Record(t, at("shop@vendor.example", "One person's", 1)).Status; got != gate.StatusAllowed {
			t.Fatal(got)
		}
		for name, approval := range map[string]string{"two people": "quorum: 2", "another role": "from: [owner]"} {
			w.SetPolicy(t, `
version: 1
rules:
  - {id: spending, match: {types: [spend]}, effect: requires_approval, reason: Ask., approval: {`+approval+`}}
`)
			if got := w.Record(t, at("shop@vendor.example", name, 1)).Status; got != gate.StatusPendingApproval {
				t.Errorf("%s: %s", name, got)
			}
		}
	})
}

func TestAStandingApprovalThatIsNoBoundIsRefused(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		now := w.Clock.Now()
		for name, change := range map[string]func(*operator.StandingInput){
			"money without a sum":        func(in *operator.StandingInput) { in.MaxCents, in.Window, in.WindowMax = nil, "", nil },
			"a window without its sum":   func(in *operator.StandingInput) { in.WindowMax = nil },
			"a sum without its window":   func(in *operator.StandingInput) { in.Window = "" },
			"no end":                     func(in *operator.StandingInput) { in.Until = time.Time{} },
			"an end that has passed":     func(in *operator.StandingInput) { in.Until = now },
			"an end in two years":        func(in *operator.StandingInput) { in.Until = now.Add(2 * operator.MaxStanding) },
			"no type":                    func(in *operator.StandingInput) { in.Types = nil },
			"a type that is no word":     func(in *operator.StandingInput) { in.Types = []string{"Spend"} },
			"a rule that does not exist": func(in *operator.StandingInput) { in.InsteadOf = []string{"nothing"} },
			"a rule that denies":         func(in *operator.StandingInput) { in.InsteadOf = []string{"secrets"} },
			"a currency that is none":    func(in *operator.StandingInput) { in.Currency = "usd" },
			"a pattern that is none":     func(in *operator.StandingInput) { in.Recipients = []string{"domain:@x"} },
			"a window of a fortnight":    func(in *operator.StandingInput) { in.Window = "fortnight" },
			"a reason with a credential": func(in *operator.StandingInput) { in.Reason = "as with rv_agent_" + strings.Repeat("A", 43) },
		} {
			in := vendor(now.Add(time.Hour))
			change(&in)
			_, err := w.StandingApproval(ctx, w.Owner, in)
			var r *operator.Refusal
			if r = refusalOf(err); r == nil {
				t.Errorf("%s: %v", name, err)
			} else if r.Info().Status != 400 {
				t.Errorf("%s: %v", name, r)
			}
		}
		if n := count(t, db, `select count(*) from reeve_standing`); n != 0 {
			t.Errorf("%d rows", n)
		}
	})
}

func TestAFreezeStopsOutwardClaimsAtOnceAndNothingElse(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		other := w.Again(t, nil)
		types := operator.ClaimInput{Types: []string{"spend", "note"}}
		member, _ := w.NewPerson(t, "ana", operator.RoleMember)
		for _, scope := range []string{"project", "account"} {
			approved := w.Approved(t, spend("Frozen "+scope, 100))
			f, err := w.Freeze(ctx, member, operator.FreezeInput{Scope: scope, Reason: "Something is wrong"})
			if err != nil || !f.Created {
				t.Fatalf("%+v, %v", f, err)
			}
			if again, err := other.Freeze(ctx, w.Owner, operator.FreezeInput{Scope: scope, Reason: "Once more"}); err != nil || again.Created || again.FrozenBy != "human:ana" {
				t.Errorf("a second freeze: %+v, %v", again, err)
			}
			if got, err := other.Claim(ctx, w.Worker, types); err != nil || got.Job != nil || !got.Frozen {
				t.Errorf("%s: %+v, %v", scope, got, err)
			}
			inside := w.Record(t, note("Inside "+scope))
			if got, err := other.Claim(ctx, w.Worker, types); err != nil || got.Job == nil || got.Job.Intent.ID != inside.ID {
				t.Errorf("what stays inside goes on: %+v, %v", got, err)
			}
			waiting := w.Record(t, spend("Judged while frozen "+scope, 100))
			if _, err := w.Reject(ctx, w.Owner, act(waiting)); err != nil {
				t.Error("judging goes on:", err)
			}
			_, err = w.Unfreeze(ctx, member, operator.UnfreezeInput{Scope: scope})
			mustBe(t, err, reason("role_not_allowed"))
			if _, err := w.Unfreeze(ctx, w.Owner, operator.UnfreezeInput{Scope: scope}); err != nil {
				t.Fatal(err)
			}
			_, err = w.Unfreeze(ctx, w.Owner, operator.UnfreezeInput{Scope: scope})
			mustBe(t, err, operator.ErrNotFound)
			if got, err := other.Claim(ctx, w.Worker, types); err != nil || got.Job == nil || got.Job.Intent.ID != approved.ID || got.Frozen {
				t.Errorf("once it is lifted: %+v, %v", got, err)
			}
		}
	})
}

func TestAFreezeOfOneProjectLeavesTheOthersAlone(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		_, err := w.AddProject(ctx, "", "second")
		mustHave(t, err)
		worker, err := w.LocalWorker(ctx, "", "second", "test")
		mustHave(t, err)
		_, err = w.Freeze(ctx, w.Owner, operator.FreezeInput{Scope: "project", Reason: "Here only"})
		mustHave(t, err)
		if got, err := w.Claim(ctx, worker, operator.ClaimInput{Types: []string{"spend"}}); err != nil || got.Frozen {
			t.Errorf("%+v, %v", got, err)
		}
		if all, err := w.Freezes(ctx, ""); err != nil || len(all) != 1 || all[0].Scope != "project" {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

// TestNoClaimIsGivenOnceAFreezeHasAnswered races claims with a freeze: what was
// claimed was claimed before the freeze answered.
func TestNoClaimIsGivenOnceAFreezeHasAnswered(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		for round := range 10 {
			for i := range 8 {
				w.Approved(t, spend("Round "+itoa(int64(round))+" "+itoa(int64(i)), 1))
			}
			var held int64
			together(9, func(i int) error {
				if i == 0 {
					if _, err := w.Freeze(ctx, w.Owner, operator.FreezeInput{Scope: "project", Reason: "Now"}); err != nil {
						t.Error(err)
					}
					held = count(t, db, `select count(*) from reeve_intents where status = 'executing'`)
					return nil
				}
				_, err := w.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"spend"}, LeaseSeconds: number(3600)})
				return err
			})
			if after := count(t, db, `select count(*) from reeve_intents where status = 'executing'`); after != held {
				t.Errorf("%d were held when the freeze answered, and %d afterwards", held, after)
			}
			_, err := w.Unfreeze(ctx, w.Owner, operator.UnfreezeInput{Scope: "project"})
			mustHave(t, err)
		}
	})
}

func TestAWindowThatWasSaidToBeOverStaysOverWhenTheClockGoesBack(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		in := w.Record(t, renewal())
		w.Clock.Set(*in.ExpiresAt)
		_, err := w.Approve(ctx, w.Owner, act(in))
		mustBe(t, err, operator.ErrLapsed)
		w.Clock.Advance(-time.Hour)
		_, err = w.Approve(ctx, w.Owner, act(in))
		if r := mustBe(t, err, operator.ErrAlreadySettled); !strings.Contains(r.Message, "expired") {
			t.Error(r.Message)
		}
		// One microsecond before its end it is still open.
		again := w.Record(t, spend("Just in time", 1))
		w.Clock.Set(again.ExpiresAt.Add(-time.Microsecond))
		if _, err := w.Approve(ctx, w.Owner, act(again)); err != nil {
			t.Error(err)
		}
	})
}
