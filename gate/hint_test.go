package gate

import (
	"errors"
	"strings"
	"testing"
)

// Each is a file that a person might write, with the place that is named and what
// the message says to do.
func TestAFaultSaysWhatToWriteInstead(t *testing.T) {
	allow := "effect: allow\n    instead_of: [spending]"
	recipients := func(pattern string) string { return aRule("{types", `{recipients: ['`+pattern+`'], types`) }
	for name, c := range map[string]struct {
		text         string
		line, column int
		rule         string
		want         string
	}{
		"a regular expression for a domain": {recipients(`.*@x\.example`), 4, 5, "mine", `write "*@x.example", or "domain:x.example" for`},
		"anchors":                           {recipients(`^bill@x.example$`), 4, 5, "mine", `write "bill@x.example"`},
		"anchors around a run":              {recipients(`^.+@x\.example$`), 4, 5, "mine", `write "*@x.example"`},
		"a class of characters":             {recipients(`[a-z]+@x.example`), 4, 5, "mine", `write "*@x.example"`},
		"a class that excludes":             {recipients(`[^@]+@x.example`), 4, 5, "mine", `write "*@x.example"`},
		"alternatives":                      {recipients(`(ann|bob)@x.example`), 4, 5, "mine", `write an entry for each: "ann@x.example", "bob@x.example"`},
		"alternative domains":               {recipients(`.*@(x|y)\.example`), 4, 5, "mine", `write an entry for each: "*@x.example", "*@y.example"`},
		"words of a class":                  {recipients(`\w+@x.example`), 4, 5, "mine", `write "*@x.example"`},
		"a misspelt key of a rule":          {aRule("reason:", "raeson:"), 8, 5, "mine", `unknown key "raeson" in a rule; did you mean reason?`},
		"a misspelt key of a match":         {aRule("types:", "type:"), 5, 13, "mine", `did you mean types?`},
		"a key in capitals":                 {aRule("effect:", "Effect:"), 6, 5, "mine", `did you mean effect?`},
		"a key with a dash":                 {aRule("instead_of:", "instead-of:"), 7, 5, "mine", `did you mean instead_of?`},
		"a key that is like no other":       {aRule("reason:", "xyzzy:"), 8, 5, "mine", `unknown key "xyzzy" in a rule; it may hold approval, `},
		"a misspelt effect":                 {aRule("effect: allow", "effect: alow"), 6, 13, "mine", "did you mean allow?"},
		"an effect with a dash":             {aRule(allow, "effect: require-approval"), 6, 13, "mine", "did you mean requires_approval?"},
		"another word for an effect":        {aRule(allow, "effect: forbid"), 6, 13, "mine", "did you mean deny?"},
		"asking":                            {aRule(allow, "effect: ask"), 6, 13, "mine", "did you mean requires_approval?"},
		"no effect":                         {aRule(allow+"\n    ", ""), 4, 5, "mine", "the rule has no effect; write allow, requires_approval or deny"},
		"a window in other words":           {aRule(allow, allow+"\n    budget: {window: months, currency: USD, max: 1}"), 8, 22, "mine", "did you mean month?"},
		"an amount in quotes":               {aRule("2000", `"2000"`), 5, 58, "mine", "minor units, without quotes, point or sign: write 2000, which for a currency with cents is 20.00"},
		"an amount in decimals":             {aRule("2000", "20.00"), 5, 58, "mine", "for 20.00 of a currency with cents write 2000"},
		"an amount in quoted decimals":      {aRule("2000", `"20.00"`), 5, 58, "mine", "for 20.00 of a currency with cents write 2000"},
		"an amount with a sign":             {aRule("2000", `"$20"`), 5, 58, "mine", "for 20 of a currency with cents write 2000"},
		"an amount with its currency":       {aRule("2000", "20.00 USD"), 5, 58, "mine", "for 20.00 of a currency with cents write 2000"},
		"an amount with an exponent":        {aRule("2000", "2e3"), 5, 58, "mine", "max must be a plain integer of minor units"},
		"a quorum of 0":                     {aRule(allow, "effect: requires_approval\n    approval: {quorum: 0}"), 7, 24, "mine", "quorum must be at least 1"},
		"an expiry of 0":                    {aRule(allow, "effect: requires_approval\n    approval: {expires: 0}"), 7, 25, "mine", "a duration such as 30m, 24h or 48h, and longer than nothing"},
		"an expiry of no hours":             {aRule(allow, "effect: requires_approval\n    approval: {expires: 0h}"), 7, 25, "mine", "longer than nothing; leave the key out for the usual 24 hours"},
		"an expiry in days":                 {aRule(allow, "effect: requires_approval\n    approval: {expires: 2d}"), 7, 25, "mine", "for 2d write 48h"},
		"an expiry without a unit":          {aRule(allow, "effect: requires_approval\n    approval: {expires: 48}"), 7, 25, "mine", "a duration such as 30m, 24h or 48h"},
		"a truth of YAML 1.1":               {aRule("{types", "{tainted: no, types"), 5, 22, "mine", "tainted must be true or false"},
		"a truth that is off":               {aRule("{types", "{outside: off, types"), 5, 22, "mine", "outside must be true or false"},
		"an id twice": {aRule("", "") + "  - {id: mine, match: {types: [x]}, effect: deny, reason: R.}\n",
			9, 5, "mine", "the id is taken by the rule at p.yaml:4; choose another"},
		"a tab":           {aRule("    reason", "\treason"), 8, 1, "", "there is a tab; indent with spaces"},
		"a file of 10 MB": {aRule("", "") + strings.Repeat("# filler\n", 10<<20/9), 0, 0, "", "the file is larger than 1048576 bytes"},
		"anchors that explode": {"version: 1\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n" +
			"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n", 2, 4, "", "anchors are refused; write the value out"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadPolicy("p.yaml", []byte(c.text))
			one, ok := errors.AsType[*PolicyError](err)
			if !ok {
				t.Fatalf("it loads: %v", err)
			}
			if one.File != "p.yaml" || one.Line != c.line || one.Column != c.column || one.Rule != c.rule || !strings.Contains(one.Message, c.want) {
				t.Errorf("got  %v\nwant %d:%d %s: %s", one, c.line, c.column, c.rule, c.want)
			}
		})
	}
}

func TestARecipientThatIsNoRegularExpressionIsLetBe(t *testing.T) {
	for _, pattern := range []string{
		"a@x.example", "*@x.example", "bot.*@x.example", "a+b@x.example", "#general", "Ana (work) <ana@x.example>", "user@[192.0.2.1]",
		`CORP\dave`, "https://x.example/a?b=c", "domain:x.example", "*", "x.*", "+49 30 1234", "a|b", "ops [eu]", "$team",
	} {
		if hint := regexHint(pattern); hint != "" {
			t.Errorf("%s: %s", pattern, hint)
		}
	}
}

func TestTheNearestWordIsNear(t *testing.T) {
	keys := []string{"types", "recipients", "amount", "labels", "hours"}
	for word, want := range map[string]string{
		"type": "types", "recipient": "recipients", "Recipients": "recipients", "amounts": "amount", "lable": "labels", "hour": "hours",
		"": "", "x": "", "currency": "", strings.Repeat("a", 1000): "",
	} {
		if got := nearest(word, keys); got != want {
			t.Errorf("%.20q: got %q, want %q", word, got, want)
		}
	}
}

func FuzzRegexHint(f *testing.F) {
	for _, s := range []string{`^.*@(x|y)\.example$`, `[a-z]+@x`, `\w{2,3}@x`, "a@b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if near := nearest(s, []string{"types"}); near != "" && distance(strings.ToLower(s), near) > 1 && !strings.Contains(s, "-") {
			t.Fatalf("%q is near %q", s, near)
		}
		if hint := regexHint(s); hint != "" && !strings.HasPrefix(hint, "write ") {
			t.Fatalf("%q: %q", s, hint)
		}
	})
}
