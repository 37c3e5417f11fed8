package gate

import (
	"slices"
	"strings"
)

// Loosening is one rule or cap by which a policy may be milder than the one that
// it follows. A person who answers for it accepts it by its ID.
type Loosening struct {
	// ID is short, stable and unique among the loosenings of a pair: the id of the
	// rule, or for a cap cap-usd-month, cap-usd-act, cap-usd-day-principal.
	ID string `json:"id"`
	// Rule is the id of the rule; empty for a cap.
	Rule string `json:"rule,omitzero"`
	// Kind is the first way in which it is milder, for programs.
	Kind LooseningKind `json:"kind"`
	// What is a sentence that names every way, with the old and the new figures.
	What string `json:"what"`
}

// LooseningKind is a way of being milder. The list below is closed.
type LooseningKind string

// Every kind.
const (
	LoosensFromNothing  LooseningKind = "from_nothing"   // there was no policy, which denies everything
	LoosensRuleRemoved  LooseningKind = "rule_removed"   // a rule that held back is gone
	LoosensEffect       LooseningKind = "effect"         // the rule says something milder
	LoosensHeldNarrowed LooseningKind = "match_narrowed" // a rule that holds back matches less
	LoosensNewAllow     LooseningKind = "new_allow"      // an allow that was not there
	LoosensAllowWidened LooseningKind = "match_widened"  // an allow matches more
	LoosensInsteadOf    LooseningKind = "instead_of"     // an allow takes the place of one more rule
	LoosensUntil        LooseningKind = "until"          // an allow ends later, or never
	LoosensBudget       LooseningKind = "budget"         // a budget is raised, dropped, or counted anew
	LoosensApproval     LooseningKind = "approval"       // fewer people, other roles, or more time
	LoosensKnown        LooseningKind = "known"          // an allow makes a type known, which silences a rule about unknown ones
	LoosensCapRaised    LooseningKind = "cap_raised"     // a cap is higher
	LoosensCapRemoved   LooseningKind = "cap_removed"    // a cap is gone
	LoosensCurrency     LooseningKind = "cap_currency"   // a currency was beyond the caps, and is no longer
)

// Loosenings lists everything by which next could be milder than old: let through
// what old left with a person or refused, ask where old refused, or ask for fewer
// people, other roles or more time. It is empty where next is at least as strict
// about every action and all facts. It errs on the side of caution: what it lists
// may turn out to change nothing.
//
// Adding a rule that does not allow, adding an obligation, narrowing or removing an
// allow, lowering a cap or a budget, a first cap, another order, reason or notify
// give none. Two things are taken as they are: a rule that gives its first expires
// may leave longer than [DefaultExpiry], and a standing approval that names a rule
// answers it too where that rule begins to ask.
//
// A nil or zero old policy denies everything; a nil or zero next one does so too.
func Loosenings(old, next *Policy) []Loosening {
	if next.empty() {
		return nil
	}
	c := newComparison(old, next)
	if old.empty() {
		c.fromNothing()
		return c.list()
	}
	for i := range next.rules {
		if r := &next.rules[i]; r.Effect == Allow {
			c.allow(r)
		}
	}
	for i := range old.rules {
		if r := &old.rules[i]; r.Effect != Allow {
			c.restraint(r)
		}
	}
	c.caps()
	return c.list()
}

// way is one way of being milder.
type way struct {
	kind LooseningKind
	text string
}

// comparison collects the ways by id, in the order that they are found in.
type comparison struct {
	old, next *Policy
	was, is   map[string]*Rule   // by id
	standIns  map[string][]*Rule // of next, by the id that they name
	ids       []string
	rules     map[string]string
	ways      map[string][]way
}

func newComparison(old, next *Policy) *comparison {
	c := &comparison{old: old, next: next, was: byID(old), is: byID(next),
		standIns: make(map[string][]*Rule), rules: make(map[string]string), ways: make(map[string][]way)}
	for i := range next.rules {
		r := &next.rules[i]
		if r.Effect != Allow {
			continue
		}
		for _, id := range r.InsteadOf {
			c.standIns[id] = append(c.standIns[id], r)
		}
	}
	return c
}

func byID(p *Policy) map[string]*Rule {
	out := make(map[string]*Rule)
	if p == nil {
		return out
	}
	for i := range p.rules {
		out[p.rules[i].ID] = &p.rules[i]
	}
	return out
}

func (c *comparison) add(id, rule string, ways ...way) {
	if len(ways) == 0 {
		return
	}
	if _, found := c.ways[id]; !found {
		c.ids = append(c.ids, id)
		c.rules[id] = rule
	}
	for _, w := range ways {
		if !slices.Contains(c.ways[id], w) {
			c.ways[id] = append(c.ways[id], w)
		}
	}
}

func (c *comparison) list() []Loosening {
	var out []Loosening
	for _, id := range c.ids {
		ways := c.ways[id]
		texts := make([]string, len(ways))
		for i, w := range ways {
			texts[i] = w.text
		}
		subject := "Rule " + c.rules[id]
		if c.rules[id] == "" {
			subject = "The caps"
		}
		if id == ReasonNoPolicy {
			subject = "The policy"
		}
		out = append(out, Loosening{ID: id, Rule: c.rules[id], Kind: ways[0].kind, What: subject + ": " + strings.Join(texts, "; ") + "."})
	}
	return out
}

// fromNothing lists all that does not deny.
func (c *comparison) fromNothing() {
	c.add(ReasonNoPolicy, "", way{LoosensFromNothing,
		"there was none, which denies everything, and now a person is asked where no rule matches"})
	for i := range c.next.rules {
		r := &c.next.rules[i]
		if r.Effect.strict() != Deny {
			c.add(r.ID, r.ID, way{LoosensFromNothing, "it " + says(r.Effect) + " " + r.Match.summary() + ", and everything was denied"})
		}
	}
}

// restraint looks for a rule of next that holds back everything that r did. It is
// mostly the one with its id.
func (c *comparison) restraint(r *Rule) {
	if r.Match.OverBudget && r.Budget == nil {
		return // what is over a budget is denied without such a rule as well
	}
	if _, never := r.neverMatches(); never && r.Budget == nil {
		return
	}
	same := c.is[r.ID]
	if same != nil && len(milder(r, same)) == 0 && len(c.letGo(r, same)) == 0 {
		return
	}
	for i := range c.next.rules {
		other := &c.next.rules[i]
		if _, taken := c.was[other.ID]; taken || other.Effect == Allow {
			continue // a standing approval may name it, and mean another rule
		}
		if other.Match.covers(&r.Match) && len(milder(r, other)) == 0 && len(c.letGo(r, other)) == 0 {
			return
		}
	}
	if same == nil {
		c.add(r.ID, r.ID, way{LoosensRuleRemoved, "it is removed, and " + did(r.Effect) + " " + r.Match.summary()})
		return
	}
	c.add(r.ID, r.ID, milder(r, same)...)
	for _, allow := range c.letGo(r, same) {
		if !c.told(allow, same.ID) {
			c.add(allow.ID, allow.ID, way{LoosensInsteadOf, "it now stands in for " + same.ID})
		}
	}
}

// told reports whether what is said of an allow already covers that it stands in
// for a rule: a new one is listed with all that it names, and a widened one stood in
// for it before.
func (c *comparison) told(allow *Rule, id string) bool {
	was := c.was[allow.ID]
	return len(c.ways[allow.ID]) > 0 && (was == nil || slices.Contains(was.InsteadOf, id))
}

// letGo lists the allows of next that stand in for kept, and that no allow of old
// which stood in for r accounts for.
func (c *comparison) letGo(r, kept *Rule) (out []*Rule) {
	if r.Effect.strict() == Deny || kept.Effect.strict() == Deny {
		return nil
	}
	for _, allow := range c.standIns[kept.ID] {
		if !c.accounted(allow, func(was *Rule) bool { return slices.Contains(was.InsteadOf, r.ID) }) {
			out = append(out, allow)
		}
	}
	return out
}

// accounted reports whether old had an allow that spoke whenever this one does,
// and that is as wanted.
func (c *comparison) accounted(allow *Rule, wanted func(*Rule) bool) bool {
	fits := func(was *Rule) bool {
		return was != nil && was.Effect == Allow && wanted(was) && was.Match.covers(&allow.Match) && len(widened(was, allow)) == 0
	}
	if _, never := allow.neverMatches(); never || fits(c.was[allow.ID]) {
		return true
	}
	for i := range c.old.rules {
		if fits(&c.old.rules[i]) {
			return true
		}
	}
	return false
}

// allow looks for what old had in the place of an allow of next.
func (c *comparison) allow(r *Rule) {
	if c.accounted(r, func(*Rule) bool { return true }) {
		if c.makesKnown(r) && !c.accounted(r, func(was *Rule) bool { return len(was.Match.Types) > 0 }) {
			c.add(r.ID, r.ID, way{LoosensKnown, "it names its types now (" + listed(r.Match.Types) + "), which makes them known"})
		}
		return
	}
	was := c.was[r.ID]
	switch {
	case was == nil:
		text := "it is new, and allows " + r.Match.summary()
		if len(r.InsteadOf) > 0 {
			text += ", instead of " + listed(r.InsteadOf)
		}
		if r.Budget != nil {
			text += ", up to " + r.Budget.text()
		}
		c.add(r.ID, r.ID, way{LoosensNewAllow, text})
	case was.Effect != Allow:
		c.add(r.ID, r.ID, way{LoosensEffect, "it is an allow now, and was " + was.Effect.String()})
	default:
		c.add(r.ID, r.ID, widened(was, r)...)
	}
}

// makesKnown reports whether a matching allow silences rules about unknown types.
func (c *comparison) makesKnown(r *Rule) bool {
	asksUnknown := slices.ContainsFunc(c.old.rules, func(r Rule) bool { return r.Match.Unknown })
	return asksUnknown && slices.ContainsFunc(r.Match.Types, func(t string) bool { return !c.next.known[t] })
}

// caps compares what all money together may not pass. An old policy without caps
// bounded nothing.
func (c *comparison) caps() {
	covered := func(p *Policy, code string) bool {
		return slices.ContainsFunc(p.caps, func(cap Cap) bool { return cap.Currency == code })
	}
	for _, was := range c.old.caps {
		if len(c.next.caps) > 0 && !covered(c.next, was.Currency) {
			continue // money in it is beyond the caps altogether
		}
		c.cap(was)
	}
	for _, is := range c.next.caps {
		if len(c.old.caps) > 0 && !covered(c.old, is.Currency) {
			c.add(c.capID(is), "", way{LoosensCurrency, "money in " + is.Currency + " was beyond them, and may be spent up to " + is.text()})
		}
	}
}

func (c *comparison) cap(was Cap) {
	kind, text := LoosensCapRemoved, was.text()+" is no longer a bound"
	for _, is := range c.next.caps {
		same := is.Window == was.Window && is.Each == was.Each
		if is.Currency != was.Currency || (!same && was.Window != PerAct) {
			continue
		}
		if is.Max <= was.Max {
			return // what passes a single act passes every window that is no larger
		}
		if same {
			kind, text = LoosensCapRaised, is.text()+", was "+was.text()
		}
	}
	c.add(c.capID(was), "", way{kind, text})
}

// capID names a cap, and keeps out of the way of a rule that is called so.
func (c *comparison) capID(cap Cap) string {
	window := string(cap.Window)
	if cap.Window == PerAct {
		window = "act"
	}
	id := "cap-" + strings.ToLower(cap.Currency) + "-" + window
	if cap.Each != EachAccount {
		id += "-" + string(cap.Each)
	}
	for c.was[id] != nil || c.is[id] != nil {
		id += "-of-caps"
	}
	return id
}
