package gate

import (
	"slices"
	"time"
)

// Explanation is a verdict, with the part that every rule and cap had in it.
// As JSON its lists are never null.
type Explanation struct {
	// Verdict is what [Policy.Evaluate] says.
	Verdict Verdict `json:"verdict"`
	// Rules holds every rule of the policy in order, standing approvals last.
	Rules []RulePart `json:"rules"`
	// Caps holds every cap of the policy in order.
	Caps []BudgetPart `json:"caps"`
}

// Part is what a rule had to do with a verdict. The list below is closed.
type Part string

// Every part.
const (
	// PartDecides: it matches, and the verdict is what it says.
	PartDecides Part = "decides"
	// PartStandsIn: an allow that decides, in the place of the rules in InsteadOf.
	PartStandsIn Part = "stands_in"
	// PartStoodInFor: it would ask a person, and the rules in By take its place.
	PartStoodInFor Part = "stood_in_for"
	// PartOutranked: it matches, and those in By are stricter.
	PartOutranked Part = "outranked"
	// PartBudgetUsedUp: an allow that would match, had its budget room; or the
	// amount cannot be counted against it.
	PartBudgetUsedUp Part = "budget_used_up"
	// PartNothingToAnswer: a standing approval that would match, but nothing that
	// it names asks.
	PartNothingToAnswer Part = "nothing_to_answer"
	// PartNoMatch: the conditions in Failed do not hold, or, of an allow, those in
	// Undecided cannot be decided.
	PartNoMatch Part = "no_match"
)

// Parts returns every part, in the order of the constants.
func Parts() []Part {
	return []Part{PartDecides, PartStandsIn, PartStoodInFor, PartOutranked, PartBudgetUsedUp, PartNothingToAnswer, PartNoMatch}
}

// RulePart is the part of one rule.
type RulePart struct {
	Rule   string `json:"rule"`
	Effect Effect `json:"effect"` // what the rule says by itself
	Part   Part   `json:"part"`
	Reason string `json:"reason"` // the sentence of the rule
	// Standing says that it is a standing approval, and no rule of the policy.
	Standing bool `json:"standing"`
	// By names who took the place of the rule, or who outranks it; it may be a
	// word of the gate itself, such as "budget".
	By []string `json:"by"`
	// InsteadOf names the matching rules that an allow takes the place of.
	InsteadOf []string `json:"instead_of"`
	// Failed holds every condition that does not hold.
	Failed []ConditionPart `json:"failed"`
	// Undecided holds every condition that a missing fact leaves open. An allow
	// does not match on it; a rule that holds back does.
	Undecided []ConditionPart `json:"undecided"`
	// Budget says how its budget stands, where the conditions hold.
	Budget *BudgetPart `json:"budget,omitzero"`
	// Pos is where the rule stands in its file.
	Pos Pos `json:"-"`
}

// ConditionPart is one condition that did not hold. Text of the action in it has
// its credentials redacted, is cut, and may be shown on a terminal.
type ConditionPart struct {
	Condition string `json:"condition"` // the key of the match, or "until"
	Asks      string `json:"asks"`      // what the rule asks for
	Has       string `json:"has"`       // what the action or the facts have
	// Missing says why the condition could not be decided; else it is empty.
	Missing string `json:"missing,omitzero"`
}

// BudgetState says how a budget or a cap stands to an amount. The list below is
// closed.
type BudgetState string

// Every state.
const (
	BudgetWithin        BudgetState = "within"         // there is room
	BudgetPassed        BudgetState = "passed"         // the amount would pass it
	BudgetUncounted     BudgetState = "uncounted"      // what is committed, or the amount, is not known: counts as passed
	BudgetNoMoney       BudgetState = "no_money"       // the action states no amount; the budget of an allow is closed to it
	BudgetOtherCurrency BudgetState = "other_currency" // the amount is in another; a rule's budget counts as passed
	BudgetNotCovered    BudgetState = "not_covered"    // a cap, and none of the policy names the currency: counts as passed
)

// BudgetPart is how one budget or cap stands.
type BudgetPart struct {
	Currency string      `json:"currency"`
	Max      Cents       `json:"max"` // minor units
	Window   Window      `json:"window,omitzero"`
	Each     Each        `json:"each,omitzero"`
	State    BudgetState `json:"state"`
	// Passed says that it counts as passed, in whatever state.
	Passed bool `json:"passed"`
	// Used is what is committed in the window; nil where nobody knows, and for a
	// single act.
	Used *Cents `json:"used,omitzero"`
}

// Explain judges an action as [Policy.Evaluate] does, and says of every rule and
// cap what part it had. It is slower than judging, and reads nothing else.
func (p *Policy) Explain(a Action, f Facts) Explanation {
	e := Explanation{Verdict: p.Evaluate(a, f), Rules: []RulePart{}, Caps: []BudgetPart{}}
	if p.empty() {
		return e
	}
	x := explainer{policy: p, verdict: &e.Verdict, s: newSubject(&a, &f)}
	x.matched, x.over = p.matching(nil, &x.s)
	for i := range p.rules {
		e.Rules = append(e.Rules, x.part(&p.rules[i], false))
	}
	for i := range f.Standing {
		e.Rules = append(e.Rules, x.part(&f.Standing[i], true))
	}
	for _, c := range p.caps {
		e.Caps = append(e.Caps, x.cap(c))
	}
	return e
}

// explainer holds one judgement, to be asked about rule by rule.
type explainer struct {
	policy  *Policy
	verdict *Verdict
	s       subject
	matched []*Rule
	over    bool
}

func (x *explainer) part(r *Rule, standing bool) RulePart {
	part := RulePart{
		Rule: r.ID, Effect: r.Effect.strict(), Part: PartNoMatch, Reason: r.Reason, Standing: standing, Pos: r.Pos,
		By: []string{}, InsteadOf: []string{}, Failed: []ConditionPart{}, Undecided: []ConditionPart{},
	}
	x.conditions(r, &part)
	applies := r.applies(&x.s) && (!standing || r.stands())
	if applies && r.Budget != nil {
		part.Budget = x.budget(r)
	}
	switch {
	case slices.Contains(x.matched, r):
		x.place(r, &part)
	case applies && r.exhausted(&x.s):
		part.Part = PartBudgetUsedUp
	case applies && standing && !r.answers(x.own()):
		part.Part = PartNothingToAnswer
	}
	return part
}

// own returns the rules of the policy that a standing approval is held against.
func (x *explainer) own() (out []*Rule) {
	for i := range x.policy.rules {
		r := &x.policy.rules[i]
		if r.applies(&x.s) && !r.exhausted(&x.s) && !(r.Match.Unknown && x.settled("unknown") == no) {
			out = append(out, r)
		}
	}
	return out
}

// place says what a matching rule did.
func (x *explainer) place(r *Rule, part *RulePart) {
	part.Part = PartOutranked
	switch part.Effect {
	case Allow:
		part.InsteadOf = append(part.InsteadOf, standsInFor(r, x.matched)...)
		if x.verdict.Effect == Allow {
			part.Part = PartDecides
			if len(part.InsteadOf) > 0 {
				part.Part = PartStandsIn
			}
		}
	case RequiresApproval:
		part.Part = x.asking(r)
	default:
		part.Part = PartDecides
	}
	switch part.Part {
	case PartStoodInFor:
		for _, other := range x.matched {
			if other.Effect == Allow && slices.Contains(other.InsteadOf, r.ID) {
				part.By = append(part.By, other.ID)
			}
		}
	case PartOutranked:
		part.By = append(part.By, x.deciders()...)
	}
}

// asking is the part of a rule that requires approval, and matches.
func (x *explainer) asking(r *Rule) Part {
	switch {
	case r.Budget != nil && r.overBudget(&x.s):
		return PartDecides
	case stoodIn(r, x.matched):
		return PartStoodInFor
	case x.verdict.Effect == RequiresApproval:
		return PartDecides
	case len(r.Approval.From) > 0 && x.nobodyCan():
		return PartDecides
	}
	return PartOutranked
}

// nobodyCan reports whether the verdict is a refusal only because the rules that
// ask name no role in common.
func (x *explainer) nobodyCan() bool {
	_, possible := approvers(x.matched)
	return !possible && !x.over && !slices.ContainsFunc(x.matched, func(m *Rule) bool { return m.Effect.strict() == Deny })
}

// deciders names the reasons that the verdict follows from.
func (x *explainer) deciders() (ids []string) {
	for _, reason := range x.verdict.Reasons {
		standsBack := slices.ContainsFunc(x.matched, func(m *Rule) bool {
			return m.ID == reason.Rule && m.Effect == RequiresApproval && stoodIn(m, x.matched)
		})
		if reason.Effect == x.verdict.Effect && !standsBack {
			ids = append(ids, reason.Rule)
		}
	}
	for _, b := range x.verdict.Passed {
		if b.Rule != "" && !slices.Contains(ids, b.Rule) {
			ids = append(ids, b.Rule)
		}
	}
	return ids
}

// conditions sorts what does not hold from what nobody can tell.
func (x *explainer) conditions(r *Rule, part *RulePart) {
	for i := range conditions {
		c := &conditions[i]
		if !c.given(&r.Match) {
			continue
		}
		got, has := x.settled(c.name), ""
		if c.answer != nil {
			got, has = c.answer(&r.Match, &x.s), c.has(&x.s)
		} else {
			has = x.against(c.name)
		}
		x.note(part, got, ConditionPart{Condition: c.name, Asks: c.asks(&r.Match), Has: has}, c.missing)
	}
	if r.Effect != Allow {
		return
	}
	switch {
	case !r.Until.IsZero():
		now := "nothing"
		if !x.s.facts.Now.IsZero() {
			now = x.s.facts.Now.UTC().Format(time.RFC3339)
		}
		x.note(part, x.s.before(r), ConditionPart{Condition: "until", Asks: "before " + r.Until.UTC().Format(time.RFC3339), Has: now}, missingClock)
	case part.Standing:
		x.note(part, no, ConditionPart{Condition: "until", Asks: "an end of the standing approval", Has: "none"}, nil)
	}
}

func (x *explainer) note(part *RulePart, got answer, c ConditionPart, missing func(*subject) string) {
	switch got {
	case no:
		part.Failed = append(part.Failed, c)
	case unsure:
		c.Missing = missing(&x.s)
		part.Undecided = append(part.Undecided, c)
	}
}

// settled answers the two conditions that depend on the other rules.
func (x *explainer) settled(name string) answer {
	if name == "over_budget" {
		return answerOf(x.over)
	}
	return answerOf(!x.policy.known[x.s.action.Type] && x.namedBy() == "")
}

// against says why one of those two does not hold.
func (x *explainer) against(name string) string {
	by := x.namedBy()
	switch {
	case name == "over_budget":
		return "none"
	case x.policy.known[x.s.action.Type]:
		return shown(x.s.action.Type) + ", which the default policy knows"
	case by != "":
		return shown(x.s.action.Type) + ", which rule " + by + " names"
	}
	return orNone(x.s.action.Type)
}

// namedBy finds a matching allow of the policy that makes the type known.
func (x *explainer) namedBy() string {
	for i := range x.policy.rules {
		r := &x.policy.rules[i]
		if r.Effect == Allow && len(r.Match.Types) > 0 && slices.Contains(x.matched, r) {
			return r.ID
		}
	}
	return ""
}

func (x *explainer) budget(r *Rule) *BudgetPart {
	b := *r.Budget
	b.Rule = r.ID
	part := x.counted(b)
	part.Passed = r.overBudget(&x.s)
	return &part
}

func (x *explainer) cap(c Cap) BudgetPart {
	part := x.counted(c.budget())
	if part.State == BudgetOtherCurrency && !slices.ContainsFunc(x.policy.caps, func(c Cap) bool { return c.Currency == x.s.money.currency }) {
		part.State = BudgetNotCovered
	}
	switch part.State {
	case BudgetPassed, BudgetUncounted, BudgetNotCovered:
		part.Passed = true
	}
	return part
}

// counted puts the amount beside what is committed.
func (x *explainer) counted(b Budget) BudgetPart {
	part := BudgetPart{Currency: b.Currency, Max: b.Max, Window: b.Window, Each: b.Each, State: BudgetWithin}
	used, known := x.s.facts.committed(b)
	if known && b.Window != PerAct {
		part.Used = &used
	}
	m := x.s.money
	switch {
	case !m.stated:
		part.State = BudgetNoMoney
	case m.currency != b.Currency:
		part.State = BudgetOtherCurrency
	case !m.valid, m.cents <= b.Max && b.Window != PerAct && !known:
		part.State = BudgetUncounted
	case x.s.passes(b):
		part.State = BudgetPassed
	}
	return part
}
