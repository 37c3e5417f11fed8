package gate

import (
	"fmt"
	"slices"
)

// Evaluate judges an action. It reads nothing but its arguments: the same
// policy, action and facts give the same verdict, always. A nil or zero Policy
// denies.
//
// It judges any action, malformed ones too, and counts what it cannot read
// against them. Refusing bad form with a helpful message is [Action.Check].
func (p *Policy) Evaluate(a Action, f Facts) Verdict {
	if p.empty() {
		return Verdict{
			Effect:  Deny,
			Reasons: []Reason{{Rule: ReasonNoPolicy, Effect: Deny, Text: "There is no policy to judge by."}},
		}
	}
	var buf [room]*Rule
	s := newSubject(&a, &f)
	matched, over := p.matching(buf[:0], &s)
	v := Verdict{Effect: settle(matched, over), PolicyVersion: p.version, Reasons: reasons(matched)}
	switch {
	case len(matched) == 0 && !over:
		v.Reasons = append(v.Reasons, Reason{Rule: ReasonNoRule, Effect: RequiresApproval,
			Text: "No rule of the policy speaks about this, so a person decides."})
	case over && !slices.ContainsFunc(matched, func(r *Rule) bool { return r.Match.OverBudget }):
		v.Reasons = append(v.Reasons, Reason{Rule: ReasonBudget, Effect: Deny,
			Text: "The amount would pass a budget of this policy, or cannot be counted against it."})
	}
	if _, possible := approvers(matched); !possible {
		v.Reasons = append(v.Reasons, Reason{Rule: ReasonApprovers, Effect: Deny,
			Text: "The rules that ask for approval name no role in common, so nobody can give it."})
	}
	if v.Effect == RequiresApproval {
		v.Approval = approval(matched)
	}
	if v.Effect != Deny {
		v.Budgets = p.reservations(matched, &s)
	}
	if over {
		v.Passed = p.passed(matched, &s)
	}
	v.Exhausted = p.exhausted(&s)
	v.Notify = notify(matched)
	return v
}

// Decide is the effect of [Policy.Evaluate] without its reasons. It allocates
// nothing in the ordinary case.
func (p *Policy) Decide(a Action, f Facts) Effect {
	if p.empty() {
		return Deny
	}
	var buf [room]*Rule
	s := newSubject(&a, &f)
	return settle(p.matching(buf[:0], &s))
}

// room is how many matching rules are held without allocating.
const room = 32

func (p *Policy) empty() bool { return p == nil || len(p.rules) == 0 }

// matching appends every rule that speaks about the subject, in rule order, and
// reports whether a cap or a budget would be passed.
func (p *Policy) matching(matched []*Rule, s *subject) ([]*Rule, bool) {
	for _, i := range p.candidates(s.action.Type) {
		if r := &p.rules[i]; r.applies(s) && !r.exhausted(s) {
			matched = append(matched, r)
		}
	}
	named := p.known[s.action.Type] || slices.ContainsFunc(matched, (*Rule).names)
	if named { // before anything answers such a rule, or counts by it
		matched = slices.DeleteFunc(matched, func(r *Rule) bool { return r.Match.Unknown })
	}
	own := matched
	for i := range s.facts.Standing {
		r := &s.facts.Standing[i]
		if !(named && r.Match.Unknown) && r.stands() && r.applies(s) && !r.exhausted(s) && r.answers(own) {
			matched = append(matched, r)
		}
	}
	over := p.overCaps(s) || slices.ContainsFunc(matched, func(r *Rule) bool { return r.Budget != nil && r.overBudget(s) })
	if !over {
		matched = slices.DeleteFunc(matched, func(r *Rule) bool { return r.Match.OverBudget })
	}
	return matched, over
}

// names reports whether a rule makes the types that it names known. A standing
// approval makes none known: it answers what it names.
func (r *Rule) names() bool { return r.Effect == Allow && len(r.Match.Types) > 0 }

// candidates returns the rules that may speak about a type, in rule order.
func (p *Policy) candidates(actionType string) []int {
	if index, named := p.byType[actionType]; named {
		return index
	}
	return p.untyped
}

// answers reports whether a standing approval has something to stand in for. It is
// a yes to what would be asked, and never a rule of its own: where nothing that it
// names asks, it is silent.
func (r *Rule) answers(matched []*Rule) bool {
	return r.Effect != Allow || slices.ContainsFunc(matched, func(m *Rule) bool {
		return m.Effect == RequiresApproval && slices.Contains(r.InsteadOf, m.ID)
	})
}

// stands refuses a standing allow that has no end: it would be no bounded one.
func (r *Rule) stands() bool { return r.Effect != Allow || !r.Until.IsZero() }

// exhausted reports whether an allow has used up its budget, or could not count
// the action against it. Such an allow is silent, as if its match were
// narrower: the action goes to the rules that are left, mostly to a person. If
// it refused instead, then taking the allow away would loosen the policy.
func (r *Rule) exhausted(s *subject) bool {
	return r.Effect == Allow && r.Budget != nil && r.overBudget(s)
}

// settle finds the strictest effect: nothing stands in for a deny, an allow
// stands in for what it names, and silence means a person.
func settle(matched []*Rule, over bool) Effect {
	if over {
		return Deny
	}
	allowed, held := false, false
	for _, r := range matched {
		switch r.Effect {
		case Allow:
			allowed = true
		case RequiresApproval:
			held = held || !stoodIn(r, matched)
		default:
			return Deny
		}
	}
	if _, possible := approvers(matched); !possible {
		return Deny
	}
	if allowed && !held {
		return Allow
	}
	return RequiresApproval
}

// stoodIn reports whether a matching allow takes the place of r.
func stoodIn(r *Rule, matched []*Rule) bool {
	for _, other := range matched {
		if other.Effect == Allow && slices.Contains(other.InsteadOf, r.ID) {
			return true
		}
	}
	return false
}

// asks reports whether r is an approval that still has to be given.
func asks(r *Rule, matched []*Rule) bool {
	return r.Effect == RequiresApproval && !stoodIn(r, matched)
}

// overBudget reports whether the action would pass the rule's budget, or cannot
// be counted against it. With no money stated there is nothing to count: an
// allow settles bounded money only, and any other rule has its say without it.
func (r *Rule) overBudget(s *subject) bool {
	if !s.money.stated {
		return r.Effect == Allow
	}
	b := *r.Budget
	b.Rule = r.ID
	return s.money.currency != b.Currency || s.passes(b)
}

// passes compares without overflow. A budget that the facts say nothing about
// counts as used up.
func (s *subject) passes(b Budget) bool {
	if !s.money.valid || s.money.cents > b.Max {
		return true
	}
	if b.Window == PerAct {
		return false
	}
	used, known := s.facts.committed(b)
	return !known || used > b.Max-s.money.cents
}

// overCaps reports whether the action passes a cap of the policy. Where there
// are caps, they name the currencies that may be spent.
func (p *Policy) overCaps(s *subject) bool {
	if len(p.caps) == 0 || !s.money.stated {
		return false
	}
	covered := false
	for _, c := range p.caps {
		if c.Currency != s.money.currency {
			continue
		}
		covered = true
		if s.passes(c.budget()) {
			return true
		}
	}
	return !covered
}

func (c Cap) budget() Budget {
	return Budget{Window: c.Window, Currency: c.Currency, Max: c.Max, Each: c.Each}
}

// reasons names every matching rule, and what it took the place of.
func reasons(matched []*Rule) []Reason {
	out := make([]Reason, 0, len(matched)+1)
	for _, r := range matched {
		reason := Reason{Rule: r.ID, Effect: r.Effect.strict(), Text: r.Reason, Pos: r.Pos}
		if r.Effect == Allow && len(r.InsteadOf) > 0 {
			reason.StoodInFor = standsInFor(r, matched)
		}
		if reason.Text == "" {
			reason.Text = fmt.Sprintf("Rule %s says %s.", r.ID, reason.Effect)
		}
		out = append(out, reason)
	}
	return out
}

func standsInFor(allow *Rule, matched []*Rule) []string {
	var out []string
	for _, r := range matched {
		if r.Effect == RequiresApproval && slices.Contains(allow.InsteadOf, r.ID) {
			out = append(out, r.ID)
		}
	}
	return out
}

// exhausted names the allow rules that only their budget keeps from matching.
func (p *Policy) exhausted(s *subject) (ids []string) {
	for _, i := range p.candidates(s.action.Type) {
		if r := &p.rules[i]; r.Budget != nil && r.exhausted(s) && r.applies(s) {
			ids = append(ids, r.ID)
		}
	}
	for i := range s.facts.Standing {
		if r := &s.facts.Standing[i]; r.Budget != nil && r.stands() && r.exhausted(s) && r.applies(s) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// notify joins the lists of every matching rule, each name once.
func notify(matched []*Rule) []string {
	var out []string
	for _, r := range matched {
		for _, who := range r.Notify {
			if !slices.Contains(out, who) {
				out = append(out, who)
			}
		}
	}
	return out
}

// passed lists the bounds that the amount does not fit.
func (p *Policy) passed(matched []*Rule, s *subject) []Budget {
	var out []Budget
	for _, c := range p.caps {
		if c.Currency == s.money.currency && s.passes(c.budget()) {
			out = append(out, c.budget())
		}
	}
	for _, r := range matched {
		if r.Budget != nil && r.overBudget(s) {
			b := *r.Budget
			b.Rule = r.ID
			out = append(out, b)
		}
	}
	return out
}

// reservations lists every window that the amount counts against.
func (p *Policy) reservations(matched []*Rule, s *subject) []Budget {
	if !s.money.stated {
		return nil
	}
	var out []Budget
	for _, c := range p.caps {
		if c.Window != PerAct && c.Currency == s.money.currency {
			out = append(out, c.budget())
		}
	}
	for _, r := range matched {
		if r.Budget != nil {
			b := *r.Budget
			b.Rule = r.ID
			out = append(out, b)
		}
	}
	return out
}
