package gate

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// YAML writes the whole policy, extended rules included, as a file that stands
// alone: block YAML, the version first, each rule opening with its id. Read again
// it gives a policy with the same [Policy.Digest]. Comments of the file that it was
// read from are lost. A zero Policy writes nothing.
//
// A policy that was built in code comes back the same where its times are UTC and
// its lists are nil or hold entries that are not empty and differ, as those of a
// file are.
func (p *Policy) YAML() []byte {
	if p.empty() {
		return nil
	}
	w := &yamlWriter{}
	w.line(0, "version: %d", formatVersion)
	if len(p.caps) > 0 {
		w.line(0, "caps:")
		for _, c := range p.caps {
			w.line(1, "- %s", flowBudget(c.budget()))
		}
	}
	w.line(0, "rules:")
	for i := range p.rules {
		if i > 0 {
			w.out.WriteByte('\n')
		}
		w.rule(&p.rules[i])
	}
	return w.out.Bytes()
}

// yamlWriter writes lines. The format is small enough to be written by hand, in
// the layout of the default policy.
type yamlWriter struct{ out bytes.Buffer }

func (w *yamlWriter) line(depth int, format string, args ...any) {
	w.out.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(&w.out, format, args...)
	w.out.WriteByte('\n')
}

func (w *yamlWriter) rule(r *Rule) {
	w.line(1, "- id: %s", scalar(r.ID))
	w.match(&r.Match)
	w.line(2, "effect: %s", r.Effect)
	w.list(2, "instead_of", r.InsteadOf)
	w.line(2, "reason: %s", sentence(r.Reason))
	if !r.Approval.IsZero() {
		w.line(2, "approval: {%s}", flowApproval(r.Approval))
	}
	if r.Budget != nil {
		w.line(2, "budget: %s", flowBudget(*r.Budget))
	}
	w.list(2, "notify", r.Notify)
	if !r.Until.IsZero() {
		w.line(2, "until: %s", r.Until.UTC().Format(time.RFC3339Nano))
	}
}

func (w *yamlWriter) match(m *Match) {
	if isEmptyMatch(m) {
		w.line(2, "match: {}")
		return
	}
	w.line(2, "match:")
	w.list(3, "types", m.Types)
	w.list(3, "recipients", m.Recipients)
	if m.Amount != nil {
		w.line(3, "amount: %s", flowAmount(*m.Amount))
	}
	w.list(3, "labels", m.Labels)
	w.flag("tainted", m.Tainted)
	w.list(3, "principals", m.Principals)
	if m.Hours != nil {
		w.line(3, "hours: {from: %q, to: %q}", clockText(m.Hours.From), clockText(m.Hours.To))
	}
	w.flag("outward", m.Outward)
	w.flag("outside", m.Outside)
	w.only("secrets", m.Secrets)
	w.only("amount_invalid", m.AmountInvalid)
	w.only("over_budget", m.OverBudget)
	w.only("unknown", m.Unknown)
}

func (w *yamlWriter) flag(key string, b *bool) {
	if b != nil {
		w.line(3, "%s: %t", key, *b)
	}
}

func (w *yamlWriter) only(key string, b bool) {
	if b {
		w.line(3, "%s: true", key)
	}
}

// wide is how long a line may become before a list is written one entry a line.
const wide = 160

func (w *yamlWriter) list(depth int, key string, entries []string) {
	if len(entries) == 0 {
		return
	}
	texts := make([]string, len(entries))
	for i, e := range entries {
		texts[i] = scalar(e)
	}
	if joined := strings.Join(texts, ", "); len(joined) <= wide {
		w.line(depth, "%s: [%s]", key, joined)
		return
	}
	w.line(depth, "%s:", key)
	for _, text := range texts {
		w.line(depth+1, "- %s", text)
	}
}

func flowAmount(a AmountRange) string {
	out := "{currency: " + scalar(a.Currency)
	if a.Min != nil {
		out += fmt.Sprintf(", min: %d", *a.Min)
	}
	if a.Max != nil {
		out += fmt.Sprintf(", max: %d", *a.Max)
	}
	return out + "}"
}

func flowBudget(b Budget) string {
	out := fmt.Sprintf("{currency: %s, max: %d", scalar(b.Currency), b.Max)
	if b.Window != PerAct {
		out += ", window: " + string(b.Window)
	}
	if b.Each != EachAccount {
		out += ", each: " + string(b.Each)
	}
	return out + "}"
}

func flowApproval(a Approval) string {
	var parts []string
	if a.Quorum > 0 {
		parts = append(parts, fmt.Sprintf("quorum: %d", a.Quorum))
	}
	if len(a.From) > 0 {
		parts = append(parts, "from: ["+strings.Join(a.From, ", ")+"]")
	}
	if a.Expires > 0 {
		parts = append(parts, "expires: "+hours(a.Expires))
	}
	return strings.Join(parts, ", ")
}

// scalar writes a text plainly where every reader of YAML takes it for just that
// text, in a list too, and in double quotes otherwise.
func scalar(s string) string {
	if plainScalar(s, "-_./@'") {
		return s
	}
	return quoted(s)
}

// sentence is scalar for a text that stands on a line of its own.
func sentence(s string) string {
	if plainScalar(s, "-_./@',;()") {
		return s
	}
	return quoted(s)
}

func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r <= 0xFFFF && !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\u%04X`, r)
		case !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// plainScalar is narrow on purpose: words of letters, digits and a few signs that
// mean nothing to YAML in that place. One word that a reader may take for a number
// or a truth value is none.
func plainScalar(s, signs string) bool {
	if s == "" || !asciiLetter(s[0]) || s[len(s)-1] == ' ' {
		return false
	}
	spaces := false
	for i := range len(s) {
		switch c := s[i]; {
		case asciiLetter(c), c >= '0' && c <= '9', strings.IndexByte(signs, c) >= 0:
		case c == ' ' && s[i-1] != ' ':
			spaces = true
		default:
			return false
		}
	}
	return spaces || !readsOtherwise(s)
}

func asciiLetter(c byte) bool { c = lowerASCII(c); return c >= 'a' && c <= 'z' }

// readsOtherwise knows the words that YAML 1.1 or 1.2 take for something else.
func readsOtherwise(s string) bool {
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", "inf", "infinity":
		return true
	}
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}
