package gate

import (
	"fmt"
	"slices"
	"strings"
)

// PolicyWarning is something in a policy that is valid, and surely not meant.
type PolicyWarning struct {
	File    string      `json:"file"`
	Line    int         `json:"line"`          // from 1; 0 where the place is not known
	Column  int         `json:"column"`        // from 1; 0 where the place is not known
	Rule    string      `json:"rule,omitzero"` // empty for a cap
	Code    WarningCode `json:"code"`
	Message string      `json:"message"` // one sentence: what is odd, and what to write
}

// WarningCode is the machine-readable name of a warning. The list below is closed.
type WarningCode string

// Every code.
const (
	WarnNeverMatches  WarningCode = "never_matches"   // no action lets the rule take part
	WarnNeverDecides  WarningCode = "never_decides"   // an allow, and a rule that it does not stand in for asks or is passed whenever it matches
	WarnShadowed      WarningCode = "shadowed"        // without the rule every verdict would be the same
	WarnDuplicate     WarningCode = "duplicate"       // it says what another rule says
	WarnInsteadOf     WarningCode = "instead_of"      // it stands in for a rule that never matches together with it
	WarnBudgetUnused  WarningCode = "budget_unused"   // the budget of a deny
	WarnBudgetRefuses WarningCode = "budget_refuses"  // the budget refuses everything that the rule is about
	WarnBeyondCaps    WarningCode = "beyond_caps"     // the caps refuse everything that the rule is about
	WarnRecipient     WarningCode = "recipient"       // a pattern that matches less than it seems
	WarnMinorUnits    WarningCode = "minor_units"     // an amount that looks like whole units
	WarnNobodyCan     WarningCode = "nobody_approves" // with another rule that always matches, no role is left to approve
)

// String returns "file:line:column: rule id: message".
func (w PolicyWarning) String() string {
	return (&PolicyError{File: w.File, Line: w.Line, Column: w.Column, Rule: w.Rule, Message: w.Message}).Error()
}

// Warnings lists what is valid in a policy and surely not meant, rule by rule. The
// rules that came with extends: default are taken as they are. A policy with
// warnings judges like any other.
//
// Standing approvals are not thought of: one that answers a rule by name can make
// an allow decide that never does by itself.
func (p *Policy) Warnings() []PolicyWarning {
	if p.empty() {
		return nil
	}
	w := &warner{policy: p}
	for i := range p.caps {
		w.cap(&p.caps[i])
	}
	for i := range p.rules {
		if r := &p.rules[i]; !r.isOfDefault() {
			w.rule(i, r)
		}
	}
	return w.found
}

// Quorum is what one rule asks of people. Whether there are so many, only a caller
// knows who knows the people.
type Quorum struct {
	Rule   string   // id of the rule
	Quorum int      // at least 1
	From   []string // roles that may approve; empty for anybody
	Pos    Pos      // where the rule stands
}

// Quorums lists, in rule order, what every rule with an approval asks of people.
func (p *Policy) Quorums() (out []Quorum) {
	if p.empty() {
		return nil
	}
	for _, r := range p.rules {
		if r.Effect == RequiresApproval && (r.Approval.Quorum > 0 || len(r.Approval.From) > 0) {
			out = append(out, Quorum{Rule: r.ID, Quorum: max(1, r.Approval.Quorum), From: slices.Clone(r.Approval.From), Pos: r.Pos})
		}
	}
	return out
}

type warner struct {
	policy *Policy
	found  []PolicyWarning
}

func (w *warner) warn(pos Pos, rule string, code WarningCode, format string, args ...any) {
	w.found = append(w.found, PolicyWarning{
		File: pos.File, Line: pos.Line, Column: pos.Column, Rule: rule, Code: code, Message: Redact(fmt.Sprintf(format, args...)),
	})
}

// rule says the gravest of what makes a rule idle, and then what looks odd in it.
func (w *warner) rule(i int, r *Rule) {
	if why, never := r.neverMatches(); never {
		w.warn(r.Pos, r.ID, WarnNeverMatches, "the rule never matches: %s", why)
	} else if !w.refused(r) && !w.idle(i, r) {
		w.nobodyCan(i, r)
	}
	w.insteadOf(r)
	if r.Effect.strict() == Deny && r.Budget != nil {
		w.warn(r.Pos, r.ID, WarnBudgetUnused, "the rule denies whatever is left of its budget; take the budget out, or write requires_approval")
	}
	for _, pattern := range r.Match.Recipients {
		w.pattern(r, pattern)
	}
	w.units(r)
}

// refused reports an amount that the rule's own budget or the caps always refuse.
func (w *warner) refused(r *Rule) bool {
	a := r.Match.Amount
	if a == nil || r.Effect.strict() == Deny {
		return false
	}
	if b := r.Budget; b != nil && (b.Currency != a.Currency || (a.Min != nil && *a.Min > b.Max)) {
		w.warn(r.Pos, r.ID, WarnBudgetRefuses, "its budget of %s refuses everything that it is about (%s); bring the two together", b.text(), a.text())
		return true
	}
	covered := len(w.policy.caps) == 0
	for _, c := range w.policy.caps {
		if c.Currency != a.Currency {
			continue
		}
		covered = true
		if a.Min != nil && *a.Min > c.Max {
			w.warn(r.Pos, r.ID, WarnBeyondCaps, "the cap of %s refuses everything that it is about (%s)", c.text(), a.text())
			return true
		}
	}
	if !covered {
		w.warn(r.Pos, r.ID, WarnBeyondCaps, "no cap names %s, and once there are caps, money in any other currency is refused; add a cap for it", a.Currency)
	}
	return !covered
}

// idle reports a rule that another one leaves nothing to say.
func (w *warner) idle(i int, r *Rule) bool {
	for j := range w.policy.rules {
		other := &w.policy.rules[j]
		if i == j || !other.Match.covers(&r.Match) || other.Match.OverBudget != r.Match.OverBudget {
			continue
		}
		if w.says(r, other, j < i) {
			return true
		}
	}
	return false
}

// says compares a rule with one that matches whenever it does.
func (w *warner) says(r, other *Rule, earlier bool) bool {
	switch {
	case other.Effect.strict() == Deny && r.Effect < Deny && !other.Match.OverBudget:
		return w.denied(r, other)
	case r.Effect == Allow && other.Effect == RequiresApproval:
		return w.asked(r, other)
	case r.Effect == other.Effect && r.Match.covers(&other.Match) && w.addsNothing(r, other) && (earlier || !w.addsNothing(other, r)):
		w.warn(r.Pos, r.ID, WarnDuplicate, "the rule says what %s says; take one of the two out", w.name(other))
		return true
	case r.Effect == Allow && other.Effect == Allow && !r.Match.covers(&other.Match) && w.addsNothing(r, other):
		w.warn(r.Pos, r.ID, WarnShadowed, "%s allows all of this without it, whatever its budget and end; narrow that rule, or take this one out", w.name(other))
		return true
	}
	return false
}

// denied is about a rule that a deny covers. Who is told may be why it is there.
func (w *warner) denied(r, deny *Rule) bool {
	if r.Effect == Allow {
		w.warn(r.Pos, r.ID, WarnShadowed, "%s denies whatever it allows, and nothing stands in for a deny; narrow that rule", w.name(deny))
		return true
	}
	if !subset(r.Notify, deny.Notify) {
		return false
	}
	w.warn(r.Pos, r.ID, WarnShadowed, "%s denies whatever it asks about, so nobody is ever asked; narrow that rule, or take this one out", w.name(deny))
	return true
}

// asked is about an allow and a rule that asks whenever it matches. Another allow
// may stand in for that rule, and leave to this one what only it stands in for.
func (w *warner) asked(r, asks *Rule) bool {
	if slices.Contains(r.InsteadOf, asks.ID) {
		return false
	}
	for i := range w.policy.rules {
		if other := &w.policy.rules[i]; other.Effect == Allow && slices.Contains(other.InsteadOf, asks.ID) && other.Match.overlaps(&r.Match) {
			return false
		}
	}
	budget := ""
	if r.Budget != nil {
		budget = " and its budget is never used"
	}
	w.warn(r.Pos, r.ID, WarnNeverDecides, "the allow never decides%s, since %s asks a person whenever it matches; write instead_of: [%s] if it is meant to take its place",
		budget, w.name(asks), strings.Join(append(slices.Clone(r.InsteadOf), asks.ID), ", "))
	return true
}

// addsNothing compares the rest of a rule with one that has its effect, and matches
// whenever it does.
func (w *warner) addsNothing(r, other *Rule) bool {
	if r.Effect != Allow && r.Budget != nil || !subset(r.Notify, other.Notify) {
		return false
	}
	switch r.Effect {
	case Allow:
		knows := len(other.Match.Types) > 0 || !slices.ContainsFunc(r.Match.Types, func(t string) bool { return !w.policy.known[t] })
		lasts := other.Until.IsZero() || (!r.Until.IsZero() && !r.Until.After(other.Until))
		return knows && lasts && other.Budget == nil && subset(r.InsteadOf, other.InsteadOf)
	case RequiresApproval:
		return len(easier(r.Approval, other.Approval)) == 0 && w.letGoTogether(r, other)
	}
	return true
}

// letGoTogether reports whether every allow that stands in for other stands in for
// r as well: else r still asks where other does not.
func (w *warner) letGoTogether(r, other *Rule) bool {
	return !slices.ContainsFunc(w.policy.rules, func(a Rule) bool {
		return slices.Contains(a.InsteadOf, other.ID) && !slices.Contains(a.InsteadOf, r.ID)
	})
}

// nobodyCan is about two rules that ask different roles, always together.
func (w *warner) nobodyCan(i int, r *Rule) {
	if r.Effect != RequiresApproval || len(r.Approval.From) == 0 {
		return
	}
	for j := range w.policy.rules {
		other := &w.policy.rules[j]
		if i == j || other.Effect != RequiresApproval || rolesOf(r.Approval.From)&rolesOf(other.Approval.From) != 0 || !other.Match.covers(&r.Match) {
			continue
		}
		if !slices.ContainsFunc(w.policy.rules, func(a Rule) bool { return anyIn(a.InsteadOf, []string{r.ID, other.ID}) }) {
			w.warn(r.Pos, r.ID, WarnNobodyCan, "%s matches whenever this rule does, and the two name no role in common, so all of it is refused; name one in both", w.name(other))
			return
		}
	}
}

func (w *warner) insteadOf(r *Rule) {
	for _, id := range r.InsteadOf {
		i := slices.IndexFunc(w.policy.rules, func(other Rule) bool { return other.ID == id })
		if other := &w.policy.rules[i]; !r.Match.overlaps(&other.Match) {
			why := "never matches together with it"
			if other.Match.Unknown {
				why = "is silent about types that an allow names"
			}
			w.warn(r.Pos, r.ID, WarnInsteadOf, "instead_of names %s, which %s; take it out", id, why)
		}
	}
}

// name says which rule is meant, and where it stands.
func (w *warner) name(r *Rule) string {
	if r.Pos.Line == 0 || r.isOfDefault() {
		return "rule " + r.ID
	}
	return fmt.Sprintf("rule %s (line %d)", r.ID, r.Pos.Line)
}

func subset(few, many []string) bool {
	return !slices.ContainsFunc(few, func(s string) bool { return !slices.Contains(many, s) })
}
