package gate

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

// rewritten writes a policy, reads it again and demands the same policy.
func rewritten(t *testing.T, p *Policy) []byte {
	t.Helper()
	out := p.YAML()
	again, err := LoadPolicy("again.yaml", out)
	if err != nil {
		t.Fatalf("it does not load again:\n%v\n%s", err, out)
	}
	if again.Digest() != p.Digest() {
		t.Fatalf("another policy comes back:\n%+v\n%+v\n%s", p.rules, again.rules, out)
	}
	if !bytes.Equal(again.YAML(), out) {
		t.Fatalf("it is written in two ways:\n%s\n%s", out, again.YAML())
	}
	return out
}

var oddTexts = []string{
	"plain", "Two words.", "yes", "No", "null", "~", "1", "1.5", "0x1f", "0o17", "1e3", ".inf", "NaN", "2026-03-03", "12:30",
	"a: b", "a #b", "#a", "- a", "? a", "* a", "&a", "!a", "%a", "@a", "`a`", "[a]", "{a}", "a, b", "|", ">", "'a'", `"a"`, `a\b`, `\u0041`,
	"Grüße", "日本語", "שלום", "🎉 ✔️", "می\u200cخواهم", "👩\u200d💻", "\ufffd", "a\u00a0b", " a", "a ", "a  b", "x:", ":x", "---", "...", "=", "<<", "true", "Off",
}

func TestAPolicyWrittenOutIsTheSamePolicy(t *testing.T) {
	rewritten(t, DefaultPolicy())
	rewritten(t, mustLoad(t, ownPolicy))
	rewritten(t, mustLoad(t, loosenBase))
	r := random{seeded(t)}
	for range 1000 {
		s := r.changed(r.source())
		for i := range s.Rules {
			rule := &s.Rules[i]
			rule.Reason = "R " + r.pick(oddTexts...)
			if r.IntN(2) == 0 {
				rule.Reason = r.pick(oddTexts...)
			}
			if r.IntN(2) == 0 {
				rule.Match.Labels = []string{r.pick(oddTexts...), r.pick(oddTexts...) + "2"}
				rule.Match.Principals = []string{r.pick(oddTexts...)}
				rule.Match.Recipients = []string{"a" + r.pick("+b", " b", "🎉", "'", "") + "@x.example", "*", "#ops", "domain:x.example"}
				rule.Notify = []string{r.pick(oddTexts...)}
			}
			if rule.Effect == RequiresApproval && r.IntN(2) == 0 {
				rule.Approval.Expires = time.Duration(1+r.IntN(int(MaxExpiry.Seconds())))*time.Second + time.Duration(r.IntN(3))
			}
			if rule.Effect == Allow && r.IntN(2) == 0 {
				rule.Until = time.Unix(int64(r.IntN(1<<31)), int64(r.IntN(2)*r.IntN(1e9))).UTC()
			}
			if r.IntN(4) == 0 {
				rule.Match.Hours = &Hours{From: r.IntN(1440), To: r.IntN(1441)}
				if rule.Match.Hours.From == rule.Match.Hours.To {
					rule.Match.Hours = nil
				}
			}
		}
		if repaired(s); len(s.Rules) > 0 {
			rewritten(t, mustCompile(t, s))
		}
	}
}

func TestALongListIsWrittenOneEntryALine(t *testing.T) {
	var types []string
	for i := range 40 {
		types = append(types, fmt.Sprintf("kind_%d", i))
	}
	s := &Source{File: "code", Version: 1, Rules: []Rule{{ID: "long", Match: Match{Types: types}, Effect: Deny, Reason: "No."}}}
	if out := rewritten(t, mustCompile(t, s)); !strings.Contains(string(out), "      types:\n        - kind_0\n") {
		t.Errorf("%s", out)
	}
}

func TestAPolicyIsWrittenForPeople(t *testing.T) {
	got := string(mustLoad(t, `{"version": 1, "caps": [{"currency": "USD", "max": 100, "window": "day", "each": "principal"}], "rules": [
{"id": "ask", "match": {}, "effect": "requires_approval", "reason": "Ask: always.", "approval": {"quorum": 2, "from": ["owner"], "expires": "48h"}},
{"id": "small", "match": {"types": ["spend"], "amount": {"currency": "USD", "max": 20}, "hours": {"from": "07:00", "to": "24:00"}, "tainted": false},
 "effect": "allow", "instead_of": ["ask"], "reason": "Small sums are settled", "budget": {"window": "day", "currency": "USD", "max": 50}, "until": "2027-01-31T00:00:00+02:00"}]}`).YAML())
	const want = `version: 1
caps:
  - {currency: USD, max: 100, window: day, each: principal}
rules:
  - id: ask
    match: {}
    effect: requires_approval
    reason: "Ask: always."
    approval: {quorum: 2, from: [owner], expires: 48h}

  - id: small
    match:
      types: [spend]
      amount: {currency: USD, max: 20}
      tainted: false
      hours: {from: "07:00", to: "24:00"}
    effect: allow
    instead_of: [ask]
    reason: Small sums are settled
    budget: {currency: USD, max: 50, window: day}
    until: 2027-01-30T22:00:00Z
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var none *Policy
	if none.YAML() != nil || (&Policy{}).YAML() != nil {
		t.Error("a policy that is none is written")
	}
}

func FuzzAPolicyWrittenOut(f *testing.F) {
	f.Add(string(DefaultYAML()))
	f.Add(ownPolicy)
	f.Add(loosenBase)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := LoadPolicy("f.yaml", []byte(text))
		if err != nil {
			return
		}
		if out := p.YAML(); len(out) <= MaxPolicySize {
			rewritten(t, p)
		}
	})
}
