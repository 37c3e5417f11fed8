package operator

import (
	"context"
	"slices"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// judgement is the gate's verdict on an action, and the budgets that it was
// counted against, which are held until the transaction ends.
type judgement struct {
	verdict gate.Verdict
	holding holding
	at      time.Time
	zone    *time.Location
}

// evaluate asks the gate about an action by what holds at the transaction's
// moment: the policy, the standing approvals, the budgets. intent is the row that
// the action stands in, whose own reservations do not count against it; 0 where it
// is not recorded yet.
func (op *Operator) evaluate(ctx context.Context, tx core.Tx, ws workspace, principal string, a gate.Action, intent int64) (judgement, error) {
	return op.evaluateAfter(ctx, tx, ws, principal, a, intent, nil)
}

// evaluateAfter is evaluate for an action that comes after others, whose money no
// budget holds yet.
func (op *Operator) evaluateAfter(ctx context.Context, tx core.Tx, ws workspace, principal string, a gate.Action, intent int64, before ahead) (judgement, error) {
	policy, err := op.policies.at(ctx, tx, ws.AccountID)
	if err != nil {
		return judgement{}, err
	}
	f, bounds, err := factsOf(ctx, tx, ws, policy, principal, a, tx.Now())
	if err != nil {
		return judgement{}, err
	}
	j := judgement{at: f.Now, zone: f.Zone, holding: holding{bounds: bounds}}
	if len(j.holding.bounds) > 0 {
		if j.holding.rows, err = count(ctx, tx, ws.AccountID, j.holding.bounds); err != nil {
			return judgement{}, err
		}
		before.addTo(j.holding)
		if intent != 0 {
			if j.holding.own, err = reservations(ctx, tx, intent); err != nil {
				return judgement{}, err
			}
		}
		f.Committed = committed(j.holding.bounds, j.holding.rows, j.holding.own)
	}
	j.verdict = policy.Evaluate(a, f)
	return j, nil
}

// factsOf is what the gate has to know of an action at a moment, but for what is
// committed in the budgets that it counts in.
func factsOf(ctx context.Context, tx core.Tx, ws workspace, policy *gate.Policy, principal string, a gate.Action, now time.Time) (gate.Facts, []bound, error) {
	zone, err := core.LoadZone(ws.Zone)
	if err != nil {
		return gate.Facts{}, nil, err
	}
	f := gate.Facts{Now: now, Zone: zone, Inside: stored(ws.Inside), Currency: ws.Currency, Principal: principal}
	if f.Standing, err = standingOf(ctx, tx, ws, policy); err != nil {
		return f, nil, err
	}
	// One that names no sum was not given for money, whatever the type is called.
	f.Standing = slices.DeleteFunc(f.Standing, func(r gate.Rule) bool { return a.AmountCents != nil && r.Match.Amount == nil })
	return f, boundsOf(withStanding(policy.Budgets(), f.Standing), a, principal, now, zone), nil
}

// reserve takes the amount of an intent out of every budget that the verdict names.
func (j judgement) reserve(ctx context.Context, tx core.Tx, intent int64, a gate.Action) error {
	if a.AmountCents == nil || len(j.verdict.Budgets) == 0 {
		return nil
	}
	return j.holding.reserve(ctx, tx, intent, *a.AmountCents, j.verdict.Budgets)
}

// refusal is what somebody is told who would set going what the policy of now
// denies. Where money is the reason it says which bound, and how much is left; else
// it is said in the words denied.
func (j judgement) refusal(denied string) *Refusal {
	infos := j.passed()
	if len(infos) == 0 {
		return core.Refuse(core.ReasonDenied, "%s", denied).With("policy_reasons", j.verdict.Texts())
	}
	return core.Refuse(core.ReasonBudget, "%s", infos[0].sentence()).With("budgets", infos).With("policy_reasons", j.verdict.Texts())
}

// passed tells of the bounds that the amount would pass.
func (j judgement) passed() []BudgetInfo {
	infos := make([]BudgetInfo, 0, len(j.verdict.Passed))
	for _, b := range j.verdict.Passed {
		info := BudgetInfo{Rule: b.Rule, Window: b.Window, Currency: b.Currency, Max: int64(b.Max)}
		for i, have := range j.holding.bounds {
			if have.Rule == b.Rule && have.Window == b.Window && have.Currency == b.Currency && have.Each == b.Each {
				info.Holder, info.Starts, info.Used = have.holder, have.starts, j.holding.rows[i].Used
			}
		}
		if _, ends := b.Window.Bounds(j.at, j.zone); !ends.IsZero() {
			info.Ends = ends.UTC()
		}
		infos = append(infos, info)
	}
	return infos
}

// texts are the reasons as they are stored and shown: the rules' own sentences,
// and what they cannot know, which is how much of a budget is left.
func (j judgement) texts() []string {
	out := j.verdict.Texts()
	for _, info := range j.passed() {
		out = append(out, info.sentence())
	}
	for _, id := range j.verdict.Exhausted {
		out = append(out, j.exhausted(id))
	}
	return out
}

// exhausted says why a rule that would allow this is silent.
func (j judgement) exhausted(id string) string {
	said := "The rule " + id + " would allow this, and its budget has not enough left"
	for i, b := range j.holding.bounds {
		if b.Rule != id {
			continue
		}
		said += ": of " + money(int64(b.Max), b.Currency) + " a " + string(b.Window) + ", " + money(max(0, int64(b.Max)-j.holding.rows[i].Used), b.Currency) + " is left"
		if _, ends := b.Window.Bounds(j.at, j.zone); !ends.IsZero() {
			said += " until " + ends.UTC().Format("2006-01-02 15:04Z")
		}
	}
	return said + "."
}

// nowDenied is the words on what the policy denies as it is.
const nowDenied = "The policy of now denies it."

// denials are the sentences of what denies.
func (j judgement) denials() []string {
	var out []string
	for _, r := range j.verdict.Reasons {
		if r.Effect == gate.Deny {
			out = append(out, r.Text)
		}
	}
	for _, info := range j.passed() {
		out = append(out, info.sentence())
	}
	return out
}

// sentence says why an amount does not fit, and when there is room again.
func (b BudgetInfo) sentence() string {
	whose := "a cap of the policy"
	if b.Rule != "" {
		whose = "the budget of the rule " + b.Rule
	}
	if b.Window == gate.PerAct {
		return "It is beyond " + whose + ": " + money(b.Max, b.Currency) + " for one act."
	}
	return "It would pass " + whose + ": of " + money(b.Max, b.Currency) + " a " + string(b.Window) + ", " +
		money(max(0, b.Max-b.Used), b.Currency) + " is left until " + b.Ends.Format("2006-01-02 15:04Z") + "."
}

// money is for sums of a policy, whose currencies are known ones.
func money(cents int64, currency string) string {
	text, _ := gate.Money(gate.Cents(cents), currency)
	return text
}
