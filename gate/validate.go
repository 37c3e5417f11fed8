package gate

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// MaxExpiry is the longest that a rule may leave an approval open.
const MaxExpiry = 90 * 24 * time.Hour

const (
	maxID     = 64
	maxReason = 300
)

// validator checks what rules mean, of files and of code alike.
type validator struct {
	file     string
	standing bool // it is no policy, but one standing approval
	errs     PolicyErrors
}

// standingPrefix is what the ids of standing approvals begin with. They share the
// names of budgets with the rules of a policy.
const standingPrefix = "standing-"

func (v *validator) fail(pos Pos, rule, format string, args ...any) {
	if pos.File == "" {
		pos.File = v.file
	}
	v.errs = append(v.errs, &PolicyError{
		File: pos.File, Line: pos.Line, Column: pos.Column, Rule: rule, Message: Redact(fmt.Sprintf(format, args...)),
	})
}

// policy checks the rules of s, and how they sit with everything in p.
func (v *validator) policy(s *Source, p *Policy) {
	if s.Version != formatVersion {
		v.fail(Pos{}, "", "version must be %d", formatVersion)
	}
	if len(p.rules) == 0 {
		v.fail(Pos{}, "", "the policy has no rule; write one, or extends: default")
	}
	for _, c := range s.Caps {
		v.cap(c)
	}
	v.uniqueCaps(s, p)
	first := make(map[string]int, len(p.rules))
	own := len(p.rules) - len(s.Rules)
	for i := range p.rules {
		r := &p.rules[i]
		at, twice := first[r.ID]
		if !twice {
			first[r.ID] = i
		}
		if i < own {
			continue
		}
		if twice && r.ID != "" {
			v.fail(r.Pos, r.ID, "the id is taken by the rule at %s; choose another", place(p.rules[at].Pos))
		}
		v.rule(r)
	}
	for i := own; i < len(p.rules); i++ {
		v.insteadOf(&p.rules[i], p.rules, first)
	}
}

// CheckStanding reports, as [PolicyErrors], what keeps a rule from being a
// standing approval. On top of what holds for every rule it must be an allow
// that names its types and has an end; which rules it stands in for is looked
// up when it is judged.
func CheckStanding(r Rule) error {
	v := validator{file: "standing approval", standing: true}
	v.rule(&r)
	if r.Effect != Allow {
		v.fail(r.Pos, r.ID, "a standing approval is an allow")
	}
	if len(r.Match.Types) == 0 {
		v.fail(r.Pos, r.ID, "a standing approval names the types that it allows")
	}
	if r.Until.IsZero() {
		v.fail(r.Pos, r.ID, "a standing approval has an end; set until")
	}
	if len(v.errs) == 0 {
		return nil
	}
	return v.errs
}

// place writes a position for a message.
func place(pos Pos) string {
	if pos.Line == 0 {
		return "an unknown place"
	}
	return fmt.Sprintf("%s:%d", pos.File, pos.Line)
}

func (v *validator) rule(r *Rule) {
	v.id(r)
	if !r.Effect.Valid() {
		v.fail(r.Pos, r.ID, "the rule has no effect; write allow, requires_approval or deny")
	}
	v.line(r, "reason", r.Reason, maxReason)
	v.match(r)
	v.obligations(r)
	if r.Effect == Allow && isEmptyMatch(&r.Match) {
		v.fail(r.Pos, r.ID, "an allow must say what it allows; give its match a condition")
	}
	if r.Effect != Allow && !r.Until.IsZero() {
		v.fail(r.Pos, r.ID, "only an allow may have an until; a rule that holds back does not lapse by itself")
	}
}

func (v *validator) id(r *Rule) {
	if strings.HasPrefix(r.ID, standingPrefix) && !v.standing {
		v.fail(r.Pos, r.ID, "ids that begin with %s are those of standing approvals; choose another", standingPrefix)
	}
	reserved := []string{ReasonNoPolicy, ReasonNoRule, ReasonBudget, ReasonApprovers}
	switch {
	case r.ID == "":
		v.fail(r.Pos, r.ID, "the rule has no id")
	case !isRuleID(r.ID):
		v.fail(r.Pos, "", "an id is made of a to z, 0 to 9, - and _, at most %d of them, and begins with a letter or digit", maxID)
	case slices.Contains(reserved, r.ID):
		v.fail(r.Pos, r.ID, "this id is a word of the gate itself; choose another")
	}
}

func isRuleID(id string) bool {
	if id == "" || len(id) > maxID {
		return false
	}
	for i := range len(id) {
		c := id[i]
		word := (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')
		if !word && (i == 0 || (c != '-' && c != '_')) {
			return false
		}
	}
	return true
}

// line checks a text that people will read.
func (v *validator) line(r *Rule, what, s string, limit int) {
	switch {
	case s == "":
		v.fail(r.Pos, r.ID, "the rule has no %s; write one sentence for people", what)
	case utf8.RuneCountInString(s) > limit:
		v.fail(r.Pos, r.ID, "%s is limited to %d characters", what, limit)
	default:
		if err := unhygienicLine(s); err != "" {
			v.fail(r.Pos, r.ID, "%s: %s", what, err)
		}
	}
}

func unhygienicLine(s string) string {
	if ferr := unhygienic(s, Line); ferr != nil {
		return ferr.Message
	}
	return ""
}

func isEmptyMatch(m *Match) bool {
	return len(m.Types) == 0 && len(m.Recipients) == 0 && m.Amount == nil && len(m.Labels) == 0 &&
		m.Tainted == nil && len(m.Principals) == 0 && m.Hours == nil && m.Outward == nil && m.Outside == nil &&
		!m.Secrets && !m.AmountInvalid && !m.OverBudget && !m.Unknown
}

func (v *validator) match(r *Rule) {
	m := &r.Match
	for _, t := range m.Types {
		if len(t) > MaxType || !isTypeName(t) {
			v.fail(r.Pos, r.ID, "types: %q is not a lower_snake name of at most %d characters", t, MaxType)
		}
	}
	for _, pattern := range m.Recipients {
		v.pattern(r, pattern)
	}
	if m.Amount != nil {
		v.amount(r, m.Amount)
	}
	if m.Hours != nil {
		v.hours(r, m.Hours)
	}
	for _, list := range [][]string{m.Labels, m.Principals} {
		for _, entry := range list {
			if problem := unhygienicLine(entry); problem != "" {
				v.fail(r.Pos, r.ID, "match: %s", problem)
			}
		}
	}
	if m.OverBudget && r.Effect != Deny {
		v.fail(r.Pos, r.ID, "over_budget belongs to a rule that denies: a budget that can be passed is none")
	}
	if m.Unknown && r.Effect == Allow {
		v.fail(r.Pos, r.ID, "unknown types cannot be allowed; name the types")
	}
	if m.Unknown && len(m.Types) > 0 {
		v.fail(r.Pos, r.ID, "a rule that names types cannot be about unknown ones")
	}
}

func (v *validator) pattern(r *Rule, pattern string) {
	domain, isDomain := strings.CutPrefix(pattern, domainPrefix)
	switch {
	case pattern == "" || utf8.RuneCountInString(pattern) > MaxRecipient:
		v.fail(r.Pos, r.ID, "recipients: a pattern has 1 to %d characters", MaxRecipient)
	case unhygienicLine(pattern) != "":
		v.fail(r.Pos, r.ID, "recipients: %s", unhygienicLine(pattern))
	case isDomain && (domain == "" || strings.ContainsAny(domain, "@*/: ") || strings.HasSuffix(domain, ".")):
		v.fail(r.Pos, r.ID, "recipients: write domain:x.example, without @, *, path, port or final dot")
	case regexHint(pattern) != "":
		v.fail(r.Pos, r.ID, "recipients: %q is a regular expression, and patterns only know * for any run of characters but @; %s", pattern, regexHint(pattern))
	}
}

func (v *validator) amount(r *Rule, a *AmountRange) {
	v.currency(r.Pos, r.ID, "amount", a.Currency)
	if a.Min == nil && a.Max == nil {
		v.fail(r.Pos, r.ID, "amount: give min, max or both, in minor units")
	}
	for _, end := range []*Cents{a.Min, a.Max} {
		if end != nil && (*end < 1 || *end > MaxCents) {
			v.fail(r.Pos, r.ID, "amount: min and max lie between 1 and %d minor units", MaxCents)
		}
	}
	if a.Min != nil && a.Max != nil && *a.Min > *a.Max {
		v.fail(r.Pos, r.ID, "amount: min is above max, so the rule would never match")
	}
}

func (v *validator) currency(pos Pos, rule, what, code string) {
	if _, ok := Exponent(code); !ok {
		v.fail(pos, rule, "%s: give the currency as an upper-case ISO 4217 code, such as USD", what)
	}
}

func (v *validator) hours(r *Rule, h *Hours) {
	switch {
	case h.From < 0 || h.From >= 24*60 || h.To < 0 || h.To > 24*60:
		v.fail(r.Pos, r.ID, "hours: give from (00:00 to 23:59) and to (00:00 to 24:00)")
	case h.From == h.To:
		v.fail(r.Pos, r.ID, "hours: from and to are the same; leave hours out for the whole day")
	}
}

func (v *validator) obligations(r *Rule) {
	a := r.Approval
	if !a.IsZero() && r.Effect != RequiresApproval {
		v.fail(r.Pos, r.ID, "approval belongs to a rule whose effect is requires_approval")
	}
	if a.Quorum < 0 || a.Quorum > MaxQuorum {
		v.fail(r.Pos, r.ID, "quorum lies between 1 and %d", MaxQuorum)
	}
	for _, name := range a.From {
		if !slices.Contains(roleNames[:], name) {
			v.fail(r.Pos, r.ID, "approval: %q is no role; write owner, admin or member", name)
		}
	}
	if a.Expires < 0 || a.Expires > MaxExpiry {
		v.fail(r.Pos, r.ID, "expires is at most %d hours", int(MaxExpiry.Hours()))
	}
	for _, who := range r.Notify {
		if who == "" || unhygienicLine(who) != "" {
			v.fail(r.Pos, r.ID, "notify: a name must be plain text")
		}
	}
	if b := r.Budget; b != nil {
		v.currency(r.Pos, r.ID, "budget", b.Currency)
		if b.Window == PerAct || !b.Window.Valid() {
			v.fail(r.Pos, r.ID, "budget: window must be day, week, month or year")
		}
		if !b.Each.Valid() {
			v.fail(r.Pos, r.ID, "budget: each must be principal, or left out")
		}
		if b.Max < 1 || b.Max > MaxCents {
			v.fail(r.Pos, r.ID, "budget: max lies between 1 and %d minor units", MaxCents)
		}
	}
}

func (v *validator) cap(c Cap) {
	v.currency(c.Pos, "", "caps", c.Currency)
	if !c.Window.Valid() {
		v.fail(c.Pos, "", "caps: window must be day, week, month or year, or left out for a single act")
	}
	if !c.Each.Valid() {
		v.fail(c.Pos, "", "caps: each must be principal, or left out")
	}
	if c.Each != EachAccount && c.Window == PerAct {
		v.fail(c.Pos, "", "caps: a cap of a single act counts nobody's money together; leave each out")
	}
	if c.Max < 1 || c.Max > MaxCents {
		v.fail(c.Pos, "", "caps: max lies between 1 and %d minor units", MaxCents)
	}
}

// uniqueCaps refuses two caps for one currency and window in one file. A file
// may tighten a cap of what it extends.
func (v *validator) uniqueCaps(s *Source, p *Policy) {
	for i, c := range s.Caps {
		for _, other := range s.Caps[:i] {
			if other.Currency == c.Currency && other.Window == c.Window && other.Each == c.Each {
				v.fail(c.Pos, "", "caps: %s has two caps for the same window", c.Currency)
			}
		}
	}
}

func (v *validator) insteadOf(r *Rule, rules []Rule, first map[string]int) {
	if len(r.InsteadOf) > 0 && r.Effect != Allow {
		v.fail(r.Pos, r.ID, "instead_of belongs to an allow")
		return
	}
	for _, id := range r.InsteadOf {
		at, found := first[id]
		switch {
		case !found:
			v.fail(r.Pos, r.ID, "instead_of names %q, and there is no such rule", id)
		case rules[at].Effect == Deny:
			v.fail(r.Pos, r.ID, "instead_of names %q, which denies; nothing stands in for a deny", id)
		case rules[at].Effect != RequiresApproval:
			v.fail(r.Pos, r.ID, "instead_of names %q, which does not require approval", id)
		}
	}
}
