package gate

import (
	"slices"
	"strings"
)

// answer is what a condition says about an action: the facts may not tell.
type answer uint8

const (
	no answer = iota
	unsure
	yes
)

func answerOf(b bool) answer {
	if b {
		return yes
	}
	return no
}

// subject is one action under judgement, with what is computed once about it.
type subject struct {
	action  *Action
	facts   *Facts
	money   money
	outside bool
	secrets answer // unsure until somebody asks
}

func newSubject(a *Action, f *Facts) subject {
	return subject{action: a, facts: f, money: a.money(f.Currency), outside: f.outside(a), secrets: unsure}
}

// applies reports whether a rule speaks about the subject. What the facts leave
// open counts against the action: an allow needs a yes, all else needs no no.
func (r *Rule) applies(s *subject) bool {
	strict := r.Effect != Allow
	got := r.Match.holds(s)
	if !strict && !r.Until.IsZero() {
		got = min(got, s.before(r))
	}
	return got == yes || (strict && got == unsure)
}

func (s *subject) before(r *Rule) answer {
	if s.facts.Now.IsZero() {
		return unsure
	}
	return answerOf(s.facts.Now.Before(r.Until))
}

// holds is the weakest answer of all conditions. The cheap ones come first, and
// the scan of the text for credentials last. Unknown and OverBudget are settled
// by the caller, since they depend on which other rules match.
func (m *Match) holds(s *subject) answer {
	a, f := s.action, s.facts
	got := yes
	if len(m.Types) > 0 && !slices.Contains(m.Types, a.Type) {
		return no
	}
	if m.Tainted != nil && *m.Tainted != (len(a.TaintedBy) > 0) {
		return no
	}
	if m.Outward != nil && *m.Outward != Outward(a.Type) {
		return no
	}
	if m.Outside != nil && *m.Outside != s.outside {
		return no
	}
	if len(m.Labels) > 0 && !anyIn(m.Labels, a.Labels) {
		return no
	}
	if m.AmountInvalid && s.money.stated && s.money.valid {
		return no
	}
	if len(m.Principals) > 0 {
		got = min(got, matchPrincipal(m.Principals, f.Principal))
	}
	if m.Amount != nil {
		got = min(got, m.Amount.holds(s.money))
	}
	if m.Hours != nil {
		got = min(got, m.Hours.holds(f))
	}
	if len(m.Recipients) > 0 {
		got = min(got, matchRecipients(m.Recipients, a.Recipient))
	}
	if got != no && m.Secrets {
		got = min(got, s.carriesSecret())
	}
	return got
}

// anyIn reports whether the two lists share an entry.
func anyIn(wanted, given []string) bool {
	for _, g := range given {
		if slices.Contains(wanted, g) {
			return true
		}
	}
	return false
}

func matchPrincipal(wanted []string, principal string) answer {
	if principal == "" {
		return unsure
	}
	return answerOf(slices.Contains(wanted, principal))
}

// holds compares within one currency only. Money that is stated badly, or in no
// currency that anybody named, cannot be compared. Where no money is stated
// there is nothing to compare.
func (r *AmountRange) holds(m money) answer {
	switch {
	case !m.stated:
		return no
	case !m.valid, m.currency == "":
		return unsure
	case m.currency != r.Currency:
		return no
	}
	return answerOf((r.Min == nil || m.cents >= *r.Min) && (r.Max == nil || m.cents <= *r.Max))
}

// holds reads the wall clock of the account.
func (h *Hours) holds(f *Facts) answer {
	if f.Zone == nil || f.Now.IsZero() {
		return unsure
	}
	hour, minute, _ := f.Now.In(f.Zone).Clock()
	at := hour*60 + minute
	if h.From < h.To {
		return answerOf(at >= h.From && at < h.To)
	}
	return answerOf(at >= h.From || at < h.To)
}

// matchRecipients answers the strongest of all patterns.
func matchRecipients(patterns []string, recipient string) answer {
	best := no
	for _, p := range patterns {
		best = max(best, matchRecipient(p, recipient))
		if best == yes {
			break
		}
	}
	return best
}

const domainPrefix = "domain:"

// matchRecipient compares one pattern. It is unsure about a recipient that can
// be read in several ways, and about an address that differs only by the case
// of what is before the @ (RFC 5321 §2.4 leaves that to the far side).
func matchRecipient(pattern, recipient string) answer {
	if recipient == "" {
		// Nobody is named: the executor may pick anybody.
		return unsure
	}
	if pattern == recipient {
		return yes
	}
	if !singleAddress(recipient) {
		return unsure
	}
	if domain, ok := strings.CutPrefix(pattern, domainPrefix); ok {
		if strings.IndexByte(domainOf(recipient), '/') >= 0 {
			return unsure // an URL or a path: which host it reaches is not ours to parse
		}
		return answerOf(equalASCIIFold(domain, domainOf(recipient)))
	}
	if !globFold(pattern, recipient) {
		return no
	}
	at := strings.LastIndexByte(pattern, '@')
	rat := strings.LastIndexByte(recipient, '@')
	if at >= 0 && rat >= 0 && glob(pattern[:at], recipient[:rat], false) {
		return yes
	}
	if glob(pattern, recipient, false) {
		return yes
	}
	return unsure
}

func globFold(pattern, s string) bool { return glob(pattern, s, true) }

// glob matches * against any run of characters but @. It backtracks only to the
// last star, so it takes at most len(pattern) × len(s) steps.
func glob(pattern, s string, fold bool) bool {
	p, i := 0, 0
	star, mark := -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && sameByte(pattern[p], s[i], fold):
			p++
			i++
		case star >= 0 && s[mark] != '@':
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

func sameByte(a, b byte, fold bool) bool {
	return a == b || (fold && lowerASCII(a) == lowerASCII(b))
}

// carriesSecret scans the text once per action, however many rules ask.
func (s *subject) carriesSecret() answer {
	if s.secrets == unsure {
		a := s.action
		s.secrets = answerOf(hasSecret(a.Title) || hasSecret(a.Body) || dataHasSecret(a.Data))
	}
	return s.secrets
}
