package gate

import (
	"slices"
	"strings"
)

// covers reports whether wide answers at least as much as narrow does, whatever
// the action and the facts. It compares condition by condition, so it may say no
// where a cleverer comparison would say yes, and never the other way round.
//
// What is settled between rules is compared like the rest: unknown and over_budget
// hold for wide only where narrow asks for them too.
func (wide *Match) covers(narrow *Match) bool {
	// The types tell most pairs of a long policy apart.
	return coversList(wide.Types, narrow.Types) && len(wide.notCovering(narrow)) == 0
}

// notCovering names the conditions of wide that narrow does not see to.
func (wide *Match) notCovering(narrow *Match) (names []string) {
	checks := [...]struct {
		name    string
		covered bool
	}{
		{"types", coversList(wide.Types, narrow.Types)},
		{"recipients", coversRecipients(wide.Recipients, narrow.Recipients)},
		{"amount", wide.Amount.covers(narrow.Amount)},
		{"labels", coversList(wide.Labels, narrow.Labels)},
		{"tainted", coversFlag(wide.Tainted, narrow.Tainted)},
		{"principals", coversList(wide.Principals, narrow.Principals)},
		{"hours", wide.Hours.covers(narrow.Hours)},
		{"outward", coversFlag(wide.Outward, narrow.Outward) || narrow.alwaysOutward(wide.Outward)},
		{"outside", coversFlag(wide.Outside, narrow.Outside)},
		{"secrets", !wide.Secrets || narrow.Secrets},
		{"amount_invalid", !wide.AmountInvalid || narrow.AmountInvalid},
		{"over_budget", !wide.OverBudget || narrow.OverBudget},
		{"unknown", !wide.Unknown || narrow.Unknown},
	}
	for _, c := range checks {
		if !c.covered {
			names = append(names, c.name)
		}
	}
	return names
}

func coversList(wide, narrow []string) bool {
	if len(wide) == 0 {
		return true
	}
	for _, entry := range narrow {
		if !slices.Contains(wide, entry) {
			return false
		}
	}
	return len(narrow) > 0
}

func coversFlag(wide, narrow *bool) bool {
	return wide == nil || (narrow != nil && *narrow == *wide)
}

// alwaysOutward reports whether the types alone settle that they are outward, or
// that they are not, as wanted.
func (m *Match) alwaysOutward(wanted *bool) bool {
	for _, t := range m.Types {
		if Outward(t) != *wanted {
			return false
		}
	}
	return len(m.Types) > 0
}

func (wide *AmountRange) covers(narrow *AmountRange) bool {
	if wide == nil || narrow == nil {
		return wide == nil
	}
	low := wide.Min == nil || *wide.Min <= 1 || (narrow.Min != nil && *narrow.Min >= *wide.Min)
	high := wide.Max == nil || (narrow.Max != nil && *narrow.Max <= *wide.Max)
	return wide.Currency == narrow.Currency && low && high
}

func (wide *Hours) covers(narrow *Hours) bool {
	if wide == nil || narrow == nil {
		return wide == nil
	}
	for at := range 24 * 60 {
		if narrow.hold(at) && !wide.hold(at) {
			return false
		}
	}
	return true
}

// hold reports whether a minute after midnight is inside.
func (h *Hours) hold(at int) bool {
	if h.From < h.To {
		return at >= h.From && at < h.To
	}
	return at >= h.From || at < h.To
}

func coversRecipients(wide, narrow []string) bool {
	if len(wide) == 0 {
		return true
	}
	for _, n := range narrow {
		if !slices.ContainsFunc(wide, func(w string) bool { return coversPattern(w, n) }) {
			return false
		}
	}
	return len(narrow) > 0
}

// coversPattern knows the plain cases: the same pattern, a domain around
// addresses of it, and a glob around a whole address.
func coversPattern(wide, narrow string) bool {
	if wide == narrow {
		return true
	}
	if strings.HasPrefix(narrow, domainPrefix) || !singleAddress(narrow) {
		return false
	}
	_, host, isAddress := strings.Cut(narrow, "@")
	if domain, ok := strings.CutPrefix(wide, domainPrefix); ok {
		return isAddress && !strings.Contains(host, "*") && equalASCIIFold(domain, host)
	}
	return !strings.Contains(narrow, "*") && glob(wide, narrow, false)
}

// overlaps reports whether an allow with this match may match together with a rule
// that holds back. Where it says no they never do; a yes is only that nothing plain
// keeps them apart. An allow has every fact that it asks for.
func (m *Match) overlaps(held *Match) bool {
	a, b := m, held
	switch {
	case len(a.Types) > 0 && len(b.Types) > 0 && !anyIn(a.Types, b.Types):
		return false
	case len(a.Types) > 0 && b.Unknown, a.Amount != nil && b.AmountInvalid:
		return false
	case len(a.Principals) > 0 && len(b.Principals) > 0 && !anyIn(a.Principals, b.Principals):
		return false
	case apart(a.Tainted, b.Tainted), apart(a.Outward, b.Outward), apart(a.Outside, b.Outside):
		return false
	case a.Outward != nil && b.alwaysOutward(flipped(a.Outward)), b.Outward != nil && a.alwaysOutward(flipped(b.Outward)):
		return false
	case a.Amount != nil && b.Amount != nil && !a.Amount.overlaps(b.Amount):
		return false
	case a.Hours != nil && b.Hours != nil && !a.Hours.overlaps(b.Hours):
		return false
	}
	return true
}

func apart(a, b *bool) bool { return a != nil && b != nil && *a != *b }

func flipped(b *bool) *bool { f := !*b; return &f }

func (r *AmountRange) overlaps(other *AmountRange) bool {
	below := func(max, min *Cents) bool { return max != nil && min != nil && *max < *min }
	return r.Currency == other.Currency && !below(r.Max, other.Min) && !below(other.Max, r.Min)
}

func (h *Hours) overlaps(other *Hours) bool {
	for at := range 24 * 60 {
		if h.hold(at) && other.hold(at) {
			return true
		}
	}
	return false
}
