package gate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// condition is one key of a match: what it asks in words, and what it says
// about a subject. Together the answers are [Match.holds], which a test compares;
// this form is for explaining, that one is for judging.
type condition struct {
	name  string
	given func(*Match) bool
	asks  func(*Match) string
	// answer is nil where other rules have a say: over_budget and unknown.
	answer func(*Match, *subject) answer
	has    func(*subject) string
	// missing says, of an answer that is unsure, why.
	missing func(*subject) string
}

// conditions stand in the order that a policy file is written in.
var conditions = []condition{
	{"types", func(m *Match) bool { return len(m.Types) > 0 },
		func(m *Match) string { return listed(m.Types) },
		func(m *Match, s *subject) answer { return answerOf(slices.Contains(m.Types, s.action.Type)) },
		func(s *subject) string { return orNone(s.action.Type) }, nil},
	{"recipients", func(m *Match) bool { return len(m.Recipients) > 0 },
		func(m *Match) string { return listed(m.Recipients) },
		func(m *Match, s *subject) answer { return matchRecipients(m.Recipients, s.action.Recipient) },
		func(s *subject) string { return orNone(s.action.Recipient) }, missingRecipient},
	{"amount", func(m *Match) bool { return m.Amount != nil },
		func(m *Match) string { return m.Amount.text() },
		func(m *Match, s *subject) answer { return m.Amount.holds(s.money) },
		func(s *subject) string { return s.money.text() }, missingMoney},
	{"labels", func(m *Match) bool { return len(m.Labels) > 0 },
		func(m *Match) string { return listed(m.Labels) },
		func(m *Match, s *subject) answer { return answerOf(anyIn(m.Labels, s.action.Labels)) },
		func(s *subject) string { return listed(s.action.Labels) }, nil},
	{"tainted", func(m *Match) bool { return m.Tainted != nil },
		func(m *Match) string { return strconv.FormatBool(*m.Tainted) },
		func(m *Match, s *subject) answer { return answerOf(*m.Tainted == s.action.Tainted()) },
		func(s *subject) string { return strconv.FormatBool(s.action.Tainted()) }, nil},
	{"principals", func(m *Match) bool { return len(m.Principals) > 0 },
		func(m *Match) string { return listed(m.Principals) },
		func(m *Match, s *subject) answer { return matchPrincipal(m.Principals, s.facts.Principal) },
		func(s *subject) string { return orNone(s.facts.Principal) },
		func(*subject) string { return "who asks is not known" }},
	{"hours", func(m *Match) bool { return m.Hours != nil },
		func(m *Match) string { return m.Hours.text() },
		func(m *Match, s *subject) answer { return m.Hours.holds(s.facts) },
		func(s *subject) string { return s.facts.clock() }, missingClock},
	{"outward", func(m *Match) bool { return m.Outward != nil },
		func(m *Match) string { return strconv.FormatBool(*m.Outward) },
		func(m *Match, s *subject) answer { return answerOf(*m.Outward == Outward(s.action.Type)) },
		func(s *subject) string { return strconv.FormatBool(Outward(s.action.Type)) }, nil},
	{"outside", func(m *Match) bool { return m.Outside != nil },
		func(m *Match) string { return strconv.FormatBool(*m.Outside) },
		func(m *Match, s *subject) answer { return answerOf(*m.Outside == s.outside) },
		func(s *subject) string { return strconv.FormatBool(s.outside) }, nil},
	{"secrets", func(m *Match) bool { return m.Secrets },
		func(*Match) string { return "a credential in title, body or data" },
		func(_ *Match, s *subject) answer { return s.carriesSecret() },
		func(*subject) string { return "none that is recognised" }, nil},
	{"amount_invalid", func(m *Match) bool { return m.AmountInvalid },
		func(*Match) string { return "no amount, or one that cannot be right" },
		func(_ *Match, s *subject) answer { return answerOf(!s.money.stated || !s.money.valid) },
		func(s *subject) string { return s.money.text() }, nil},
	{"over_budget", func(m *Match) bool { return m.OverBudget },
		func(*Match) string { return "a cap or a budget that would be passed" }, nil, nil, nil},
	{"unknown", func(m *Match) bool { return m.Unknown },
		func(*Match) string { return "a type that nobody knows" }, nil, nil, nil},
}

func missingRecipient(s *subject) string {
	switch {
	case s.action.Recipient == "":
		return "the action names no recipient, so it may reach anybody"
	case !singleAddress(s.action.Recipient):
		return "the recipient can be read in more than one way"
	}
	return "the recipient differs by case alone, or is an URL or a path, and may be somebody else"
}

func missingMoney(s *subject) string {
	if s.money.valid {
		return "neither the action nor the account names a currency"
	}
	return "the amount cannot be read"
}

func missingClock(s *subject) string {
	if s.facts.Now.IsZero() {
		return "the time is not known"
	}
	return "the account's zone is not known"
}

func (m money) text() string {
	switch {
	case !m.stated:
		return "no amount"
	case !m.valid:
		return "an amount that is not positive, out of range, or stated in two ways"
	}
	return moneyText(m.cents, m.currency)
}

// moneyText is [Money], and says the minor units where there is no currency.
func moneyText(c Cents, code string) string {
	if text, err := Money(c, code); err == nil {
		return text
	}
	return fmt.Sprintf("%d minor units of no currency", c)
}

func (r *AmountRange) text() string {
	switch {
	case r.Min == nil && r.Max == nil:
		return "any amount of " + shown(r.Currency)
	case r.Min == nil:
		return "at most " + moneyText(*r.Max, r.Currency)
	case r.Max == nil:
		return "at least " + moneyText(*r.Min, r.Currency)
	}
	return moneyText(*r.Min, r.Currency) + " to " + moneyText(*r.Max, r.Currency)
}

func (h *Hours) text() string { return clockText(h.From) + " to " + clockText(h.To) }

func clockText(minutes int) string { return fmt.Sprintf("%02d:%02d", minutes/60, minutes%60) }

// clock is the time of day on the account's wall.
func (f *Facts) clock() string {
	if f.Zone == nil || f.Now.IsZero() {
		return "nothing"
	}
	return f.Now.In(f.Zone).Format("15:04")
}

const (
	maxShown  = 80   // code points of one text
	maxScan   = 4096 // bytes that are looked through for credentials
	maxListed = 6    // entries of one list
)

// shown makes text of an action or a rule fit to be read by anybody: without
// credentials, without what would steer a terminal, and short.
func shown(s string) string {
	s = Redact(s[:min(len(s), maxScan)])
	if utf8.RuneCountInString(s) > maxShown {
		s = string([]rune(s)[:maxShown]) + "…"
	}
	for _, r := range s {
		if !strconv.IsPrint(r) || r == utf8.RuneError {
			return strconv.Quote(s)
		}
	}
	return s
}

func orNone(s string) string {
	if s == "" {
		return "nothing"
	}
	return shown(s)
}

// listed joins a list for a sentence.
func listed(words []string) string {
	if len(words) == 0 {
		return "nothing"
	}
	out := make([]string, 0, maxListed+1)
	for _, w := range words[:min(len(words), maxListed)] {
		out = append(out, shown(w))
	}
	text := strings.Join(out, ", ")
	if more := len(words) - maxListed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
