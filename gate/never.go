package gate

import "slices"

// neverMatches reports, with the reason, that no action and no facts let the rule
// take part in a verdict. A budget of a rule that holds back may still refuse.
func (r *Rule) neverMatches() (why string, never bool) {
	m := &r.Match
	switch {
	case m.Outward != nil && m.alwaysOutward(flipped(m.Outward)):
		if *m.Outward {
			return "none of its types reaches the outside, and it asks for outward: true", true
		}
		return "all of its types may reach the outside, and it asks for outward: false", true
	case m.Unknown && m.Outward != nil && !*m.Outward:
		return "an unknown type is always outward, and it asks for outward: false", true
	case r.Effect != Allow:
		return "", false
	case m.AmountInvalid && m.Amount != nil:
		return "it asks for an amount within bounds, and for one that cannot be read", true
	case m.AmountInvalid && r.Budget != nil:
		return "its budget needs an amount that can be counted, and it asks for one that cannot be read", true
	case r.Budget != nil && m.Amount != nil && m.Amount.Currency != r.Budget.Currency:
		return "its budget is in " + r.Budget.Currency + ", and the amounts that it is about are in " + m.Amount.Currency, true
	case r.Budget != nil && m.Amount != nil && m.Amount.Min != nil && *m.Amount.Min > r.Budget.Max:
		return "the least amount that it is about is more than its budget", true
	}
	return "", false
}

// isOfDefault reports whether the rule came with extends: default.
func (r *Rule) isOfDefault() bool {
	return r.Pos.File == defaultFile && slices.ContainsFunc(DefaultPolicy().rules, func(d Rule) bool {
		return d.ID == r.ID && d.Pos == r.Pos
	})
}
