package gate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// warned joins the warnings of a policy, one a line.
func warned(p *Policy) string {
	var out []string
	for _, w := range p.Warnings() {
		out = append(out, fmt.Sprintf("%s %s: %s", w.Rule, w.Code, w.Message))
	}
	return strings.Join(out, "\n")
}

func TestWhatIsValidAndSurelyNotMeantIsWarnedOf(t *testing.T) {
	const (
		deny  = "  - {id: no-casino, match: {types: [spend], recipients: [\"domain:casino.example\"]}, effect: deny, reason: Never.}\n"
		usual = "types: [spend], recipients: [\"a@x.example\"]"
	)
	rule := func(text string) string { return "version: 1\nextends: default\nrules:\n" + text }
	one := func(match, rest string) string {
		return rule("  - {id: mine, match: {" + match + "}, reason: Because., " + rest + "}\n")
	}
	said := func(reason, amount string) string {
		return rule("  - {id: mine, match: {types: [spend], amount: {" + amount + "}}, effect: allow, instead_of: [spending], reason: \"" + reason + "\"}\n")
	}
	for name, c := range map[string]struct {
		text string
		want string // of each line a beginning and a part, with … between; empty for none
	}{
		"outward is asked of what is internal":         {one("types: [note, draft], outward: true", "effect: deny"), "mine never_matches: …none of its types reaches the outside"},
		"internal is asked of what is outward":         {one("types: [send], outward: false", "effect: deny"), "mine never_matches: …may reach the outside"},
		"an unknown type that is internal":             {one("unknown: true, outward: false", "effect: deny"), "mine never_matches: …an unknown type is always outward"},
		"an amount that is good and bad":               {one("types: [spend], amount: {currency: USD, max: 2000}, amount_invalid: true", "effect: allow, instead_of: [spending]"), "mine never_matches: …cannot be read"},
		"a budget in another currency":                 {one("types: [spend], amount: {currency: USD, max: 2000}", "effect: allow, instead_of: [spending], budget: {window: day, currency: EUR, max: 1000}"), "mine never_matches: …its budget is in EUR"},
		"a budget below the least amount":              {one("types: [spend], amount: {currency: USD, min: 2000}", "effect: allow, instead_of: [spending], budget: {window: day, currency: USD, max: 1000}"), "mine never_matches: …is more than its budget"},
		"a question whose budget refuses it all":       {one("types: [spend], amount: {currency: USD, min: 2000}", "effect: requires_approval, budget: {window: day, currency: USD, max: 1000}"), "mine budget_refuses: …10.00 USD a day"},
		"an allow that forgets instead_of":             {one(usual, "effect: allow"), "mine never_decides: …rule spending asks a person whenever it matches; write instead_of: [spending] if"},
		"an allow with a budget that forgets it":       {one(usual, "effect: allow, budget: {window: day, currency: USD, max: 1000}"), "mine never_decides: …its budget is never used"},
		"an allow that forgets one of two":             {one(usual+", tainted: true, outward: true", "effect: allow, instead_of: [spending]"), "mine never_decides: …rule tainted …write instead_of: [spending, tainted]"},
		"an allow that forgets none":                   {one(usual+", tainted: true, outward: true", "effect: allow, instead_of: [spending, tainted]"), ""},
		"an allow of a message":                        {one("types: [send], recipients: [\"a@x.example\"]", "effect: allow"), ""},
		"an allow under a deny":                        {rule(deny + "  - {id: mine, match: {types: [spend], recipients: [\"bob@casino.example\"]}, effect: allow, instead_of: [spending], reason: R.}\n"), "mine shadowed: rule no-casino (line 4) denies"},
		"a question under a deny":                      {rule(deny + "  - {id: mine, match: {types: [spend], recipients: [\"domain:casino.example\"]}, effect: requires_approval, reason: R.}\n"), "mine shadowed: rule no-casino (line 4) denies whatever it asks about"},
		"a question under a deny that tells somebody":  {rule(deny + "  - {id: mine, match: {types: [spend], recipients: [\"domain:casino.example\"]}, effect: requires_approval, notify: [finance], reason: R.}\n"), ""},
		"a deny under a deny":                          {rule(deny + "  - {id: mine, match: {types: [spend], recipients: [\"bob@casino.example\"]}, effect: deny, reason: R.}\n"), ""},
		"a deny twice":                                 {rule(deny + strings.Replace(deny, "no-casino", "mine", 1)), "mine duplicate: …rule no-casino (line 4)"},
		"an allow under a wider one":                   {rule("  - {id: all, match: {types: [spend]}, effect: allow, instead_of: [spending], reason: R.}\n  - {id: mine, match: {" + usual + "}, effect: allow, instead_of: [spending], reason: R., budget: {window: day, currency: USD, max: 1000}}\n"), "mine shadowed: rule all (line 4) allows all of this"},
		"an allow that stands in for more":             {rule("  - {id: all, match: {types: [spend]}, effect: allow, instead_of: [spending], reason: R.}\n  - {id: mine, match: {" + usual + "}, effect: allow, instead_of: [spending, tainted], reason: R.}\n"), ""},
		"a question that is asked anyway":              {one("types: [publish]", "effect: requires_approval, approval: {quorum: 2}"), ""},
		"roles that nobody has":                        {rule("  - {id: all, match: {types: [spend]}, effect: requires_approval, approval: {from: [owner]}, reason: R.}\n  - {id: mine, match: {" + usual + "}, effect: requires_approval, approval: {from: [member]}, reason: R.}\n"), "mine nobody_approves: rule all (line 4) "},
		"it stands in for what never matches with it":  {one("types: [publish]", "effect: allow, instead_of: [publishing, spending]"), "mine instead_of: instead_of names spending, which never"},
		"it stands in for unknown, and names its type": {one("types: [water_plants]", "effect: allow, instead_of: [unknown]"), "mine instead_of: instead_of names unknown, which is silent about types that an allow names"},
		"a label stands in for unknown":                {one("labels: [garden]", "effect: allow, instead_of: [unknown]"), ""},
		"a deny with a budget":                         {one(usual, "effect: deny, budget: {window: day, currency: USD, max: 1000}"), "mine budget_unused: …"},
		"a question with a budget":                     {one(usual, "effect: requires_approval, budget: {window: day, currency: USD, max: 1000}"), ""},
		"a domain without the word":                    {one("types: [spend], recipients: [x.example]", "effect: deny"), `mine recipient: …write domain:x.example for both`},
		"a domain behind an @":                         {one("types: [spend], recipients: [\"@x.example\"]", "effect: deny"), `mine recipient: …write domain:x.example for every`},
		"a star for everybody":                         {one("types: [send], recipients: [\"*\"]", "effect: deny"), "mine recipient: …* stops at @"},
		"a channel, a path and a glob":                 {one("types: [send], recipients: [\"#ops\", \"git/main\", \"*.x.example\", ops, \"*@x.example\"]", "effect: deny"), ""},
		"20 dollars in cents":                          {said("Up to 20 dollars.", "currency: USD, max: 2000"), ""},
		"20 dollars in dollars":                        {said("Up to 20 dollars.", "currency: USD, max: 20"), "mine minor_units: amount: max is 0.20 USD; …write 2000 for 20.00 USD"},
		"$2,000 in dollars":                            {said("Up to $2,000.", "currency: USD, max: 2000"), "mine minor_units: amount: max is 20.00 USD; …write 200000"},
		"2.000 euros in euros":                         {said("Bis 2.000 EUR.", "currency: EUR, max: 2000"), "mine minor_units: …write 200000 for 2000.00 EUR"},
		"2.000 euros in cents":                         {said("Bis 2.000 EUR.", "currency: EUR, max: 200000"), ""},
		"20.00 in dollars":                             {said("Up to 20.00 USD.", "currency: USD, max: 20"), "mine minor_units: …"},
		"two sums in cents":                            {said("From 20 to 2000 dollars.", "currency: USD, min: 2000, max: 200000"), ""},
		"half a dollar that is said":                   {said("Up to 0.50 USD.", "currency: USD, max: 50"), ""},
		"50 cents":                                     {said("Up to 50 cents.", "currency: USD, max: 50"), ""},
		"50 of nothing said":                           {said("Small sums.", "currency: USD, max: 50"), "mine minor_units: amount: max is 0.50 USD"},
		"any amount at all":                            {said("Any sum.", "currency: USD, min: 1"), ""},
		"2000 yen":                                     {said("Up to JPY 2000.", "currency: JPY, max: 2000"), ""},
		"20 dinars of a thousand fils":                 {said("Up to 20 KWD.", "currency: KWD, max: 20"), "mine minor_units: amount: max is 0.020 KWD; …write 20000 for 20.000 KWD"},
		"a number that is no sum":                      {said("At most 2000 people a day.", "currency: USD, max: 2000"), ""},
		"a budget in dollars":                          {one("types: [spend], amount: {currency: USD, max: 2000}", "effect: allow, instead_of: [spending], budget: {window: month, currency: USD, max: 50}"), "mine minor_units: budget: max is 0.50 USD"},
		"a cap in dollars":                             {"version: 1\nextends: default\ncaps: [{currency: USD, max: 50, window: day}]\n", " minor_units: caps: max is 0.50 USD; …write 5000"},
		"an amount beyond the cap":                     {"version: 1\nextends: default\ncaps: [{currency: USD, max: 50000}]\nrules:\n  - {id: mine, match: {types: [spend], amount: {currency: USD, min: 100000}}, effect: requires_approval, approval: {quorum: 2}, reason: R.}\n", "mine beyond_caps: the cap of 500.00 USD for a single act refuses everything"},
		"a currency that no cap names":                 {"version: 1\nextends: default\ncaps: [{currency: USD, max: 50000}]\nrules:\n  - {id: mine, match: {types: [spend], amount: {currency: EUR, max: 1000}}, effect: allow, instead_of: [spending], reason: R.}\n", "mine beyond_caps: no cap names EUR"},
		"everything is denied":                         {rule("  - {id: stop, match: {}, effect: deny, reason: Stop.}\n"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := warned(mustLoad(t, c.text))
			if (c.want == "") != (got == "") || strings.Contains(got, "\n") {
				t.Fatalf("got  %s\nwant %s", got, c.want)
			}
			for i, part := range strings.Split(c.want, "…") {
				if (i == 0 && !strings.HasPrefix(got, part)) || !strings.Contains(got, part) {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
			}
		})
	}
}

func TestTheDefaultPolicyHasNoWarningsEvenAsAFileOfItsOwn(t *testing.T) {
	if got := warned(DefaultPolicy()); got != "" {
		t.Error(got)
	}
	for _, text := range []string{string(DefaultYAML()), string(DefaultPolicy().YAML()), ownPolicy} {
		if got := warned(mustLoad(t, text)); got != "" {
			t.Error(got)
		}
	}
	var none *Policy
	if none.Warnings() != nil || none.Quorums() != nil {
		t.Error("a policy that is none warns")
	}
}

func TestAWarningHasItsPlace(t *testing.T) {
	w := mustLoad(t, "version: 1\nextends: default\nrules:\n  - {id: mine, match: {types: [note], outward: true}, effect: deny, reason: R.}\n").Warnings()
	if len(w) != 1 || w[0].String() != "test.yaml:4:5: rule mine: the rule never matches: none of its types reaches the outside, and it asks for outward: true" {
		t.Errorf("%v", w)
	}
}

func TestQuorumsAreListedForWhoKnowsThePeople(t *testing.T) {
	q := mustLoad(t, ownPolicy).Quorums()
	if len(q) != 1 || q[0].Rule != "large-spend" || q[0].Quorum != 2 || !slices.Equal(q[0].From, []string{"owner", "admin"}) || q[0].Pos.Line == 0 {
		t.Errorf("%+v", q)
	}
}

// crowded makes a policy whose rules are often about the same actions.
func (r random) crowded() *Source {
	s := r.source()
	for i := range s.Rules {
		if r.IntN(3) == 0 {
			s.Rules[i].Notify = nil
		}
	}
	for i := range 1 + r.IntN(3) {
		near := s.Rules[r.IntN(len(s.Rules))].clone()
		if s.Extends != "" && r.IntN(2) == 0 {
			near = DefaultPolicy().rules[r.IntN(len(DefaultPolicy().rules))].clone()
			near.Pos = Pos{}
		}
		near.ID = fmt.Sprintf("n%d", i)
		if r.IntN(2) == 0 {
			near.Effect = Effect(1 + r.IntN(3))
		}
		for range r.IntN(3) {
			r.narrow(&near.Match)
		}
		if r.IntN(4) == 0 {
			near.Match.Types = []string{"note"}
		}
		if near.Match.Amount != nil && near.Match.Amount.Max == nil {
			near.Match.Amount.Max = cents(5)
		}
		if near.Effect == RequiresApproval && r.IntN(4) == 0 {
			near.Approval = Approval{From: []string{r.pick("owner", "member")}}
		}
		s.Rules = append(s.Rules, near)
	}
	return repaired(s)
}

// less takes a rule out, with every mention of it.
func less(s *Source, id string) *Source {
	out := copied(s)
	out.Rules = slices.DeleteFunc(out.Rules, func(r Rule) bool { return r.ID == id })
	return repaired(out)
}

func TestAWarningIsNeverAFalseAlarm(t *testing.T) {
	r := random{seeded(t)}
	seen := make(map[WarningCode]int)
	for range 2000 {
		s := r.crowded()
		p := mustCompile(t, s)
		for _, w := range p.Warnings() {
			seen[w.Code]++
			rest := p
			if left := less(s, w.Rule); len(left.Rules) > 0 || s.Extends != "" {
				rest = mustCompile(t, left)
			}
			for range 40 {
				a, f := r.action(), r.facts()
				f.Standing = nil
				if rule, _ := p.Rule(w.Rule); len(rule.Match.Types) > 0 && r.IntN(2) == 0 {
					a.Type = r.pick(rule.Match.Types...)
				}
				v, u := p.Evaluate(a, f), rest.Evaluate(a, f)
				wrong := false
				switch w.Code {
				case WarnNeverMatches:
					wrong = v.Matched(w.Rule)
				case WarnShadowed, WarnDuplicate:
					wrong = v.Effect != u.Effect || fmt.Sprint(v.Approval) != fmt.Sprint(u.Approval)
				case WarnNeverDecides:
					wrong = v.Matched(w.Rule) && v.Effect == Allow
				case WarnBeyondCaps, WarnBudgetRefuses, WarnNobodyCan:
					wrong = v.Matched(w.Rule) && v.Effect != Deny
				case WarnInsteadOf:
					for _, reason := range v.Reasons {
						wrong = wrong || reason.Rule == w.Rule && slices.ContainsFunc(reason.StoodInFor, func(id string) bool {
							return strings.Contains(w.Message, "names "+id+",")
						})
					}
				}
				if wrong {
					t.Fatalf("%s\n%+v\n%+v\nof %+v\n%+v\n%+v", w, v, u, a, f, s.Rules)
				}
			}
		}
	}
	t.Logf("%v", seen)
	for _, code := range []WarningCode{WarnNeverMatches, WarnNeverDecides, WarnShadowed, WarnDuplicate, WarnInsteadOf, WarnBudgetRefuses, WarnBeyondCaps, WarnNobodyCan} {
		if seen[code] < 5 {
			t.Errorf("%s came %d times: the test shows little", code, seen[code])
		}
	}
}

// What covers says is held against what rules do.
func TestAPatternCoversOnlyWhatItMatches(t *testing.T) {
	patterns := []string{"a@x.example", "A@x.example", "*@x.example", "*@X.example", "a*@x.example", "domain:x.example", "domain:X.example",
		"x.example", "*", "*.example", "a@y.example", "*@*", "b*", "a@x.example,b@x.example", "x.example/pay", "https://x.example/a", "https://*", "@x.example", "a b@x.example"}
	recipients := append([]string{"", "a@X.EXAMPLE", "ab@x.example", "AB@x.example", "a@x.example.", "x.example/a", "b", "B", "u@s.x.example", "HTTPS://x.example/a"}, patterns...)
	covered := 0
	for _, wide := range patterns {
		for _, narrow := range patterns {
			if !coversPattern(wide, narrow) {
				continue
			}
			covered++
			for _, to := range recipients {
				if matchRecipient(wide, to) < matchRecipient(narrow, to) {
					t.Errorf("%q is said to cover %q, and not for %q", wide, narrow, to)
				}
			}
		}
	}
	if covered < len(patterns)+10 {
		t.Errorf("only %d pairs are covered", covered)
	}
}

func TestAMatchCoversOnlyWhatItHolds(t *testing.T) {
	r := random{seeded(t)}
	covered, apart := 0, 0
	for range 8000 {
		wide := r.match()
		narrow := wide
		if r.IntN(2) == 0 {
			narrow = Rule{Match: wide}.clone().Match
			for range 1 + r.IntN(3) {
				r.narrow(&narrow)
			}
		} else {
			wide = r.match()
			wide.Principals, wide.Labels = nil, nil
		}
		covers, overlaps := wide.covers(&narrow), narrow.overlaps(&wide)
		for range 5 {
			a, f := r.action(), r.facts()
			s := newSubject(&a, &f)
			w, n := wide.holds(&s), narrow.holds(&s)
			if covers && w < n {
				t.Fatalf("%+v is said to cover %+v, and not for %+v", wide, narrow, a)
			}
			if !overlaps && n == yes && w != no {
				t.Fatalf("%+v and %+v are said to be apart, and not for %+v", wide, narrow, a)
			}
		}
		if covers {
			covered++
		}
		if !overlaps {
			apart++
		}
	}
	if covered < 800 || apart < 400 {
		t.Errorf("%d covered and %d apart: the test shows little", covered, apart)
	}
}
