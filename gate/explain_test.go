package gate

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAnExplanationHasTheVerdictAndEveryRule(t *testing.T) {
	r := random{seeded(t)}
	seen := make(map[Part]int)
	for range 5000 {
		p := mustCompile(t, r.source())
		for range 5 {
			a, f := r.action(), r.facts()
			e := p.Explain(a, f)
			if v := p.Evaluate(a, f); !reflect.DeepEqual(v, e.Verdict) {
				t.Fatalf("two verdicts:\n%+v\n%+v", v, e.Verdict)
			}
			if len(e.Rules) != len(p.rules)+len(f.Standing) || len(e.Caps) != len(p.caps) {
				t.Fatalf("%d rules and %d caps are explained", len(e.Rules), len(e.Caps))
			}
			follows(t, e)
			for i, part := range e.Rules {
				if i < len(p.rules) && part.Rule != p.rules[i].ID {
					t.Fatalf("rule %d is %s", i, part.Rule)
				}
				seen[part.Part]++
			}
		}
	}
	for _, part := range Parts() {
		if seen[part] < 50 {
			t.Errorf("%s came %d times: the test shows little", part, seen[part])
		}
	}
}

// follows checks that the parts are those of this verdict.
func follows(t *testing.T, e Explanation) {
	t.Helper()
	for _, part := range e.Rules {
		matched := e.Verdict.Matched(part.Rule)
		speaks := part.Part != PartNoMatch && part.Part != PartBudgetUsedUp && part.Part != PartNothingToAnswer
		if matched != speaks {
			t.Fatalf("rule %s matches: %v, and its part is %s\n%+v", part.Rule, matched, part.Part, e)
		}
		var fault string
		switch part.Part {
		case PartDecides:
			passed := part.Budget != nil && part.Budget.Passed
			if part.Effect != e.Verdict.Effect && !passed && !e.Verdict.Matched(ReasonApprovers) {
				fault = "decides, and says something else"
			}
		case PartStandsIn:
			if e.Verdict.Effect != Allow || len(part.InsteadOf) == 0 {
				fault = "stands in for nothing"
			}
		case PartStoodInFor:
			if part.Effect != RequiresApproval || len(part.By) == 0 {
				fault = "nobody took its place"
			}
		case PartOutranked:
			if part.Effect >= e.Verdict.Effect || len(part.By) == 0 {
				fault = "is outranked by nobody"
			}
		case PartBudgetUsedUp:
			if part.Budget == nil || !part.Budget.Passed || !slices.Contains(e.Verdict.Exhausted, part.Rule) {
				fault = "has a budget with room"
			}
		case PartNothingToAnswer:
			if !part.Standing {
				fault = "is no standing approval"
			}
		case PartNoMatch:
			if len(part.Failed) == 0 && (part.Effect != Allow || len(part.Undecided) == 0) {
				fault = "does not match, and nobody knows why"
			}
		default:
			fault = "has a part that is none"
		}
		if speaks && (len(part.Failed) > 0 || part.Effect == Allow && len(part.Undecided) > 0) {
			fault = "matches, with conditions that do not"
		}
		if fault != "" {
			t.Fatalf("rule %s %s\n%+v\n%+v", part.Rule, fault, part, e.Verdict)
		}
	}
}

func TestTheConditionsInWordsAnswerAsTheMatchDoes(t *testing.T) {
	r := random{seeded(t)}
	for range 8000 {
		m, a, f := r.match(), r.action(), r.facts()
		m.Secrets, m.AmountInvalid = r.IntN(4) == 0, r.IntN(4) == 0
		s := newSubject(&a, &f)
		want, got := m.holds(&s), yes
		for _, c := range conditions {
			if c.given(&m) && c.answer != nil {
				answer := c.answer(&m, &s)
				if answer == unsure && c.missing == nil {
					t.Fatalf("%s is unsure and cannot say why", c.name)
				}
				got = min(got, answer)
			}
		}
		if got != want {
			t.Fatalf("the match says %d and its conditions %d: %+v of %+v", want, got, m, a)
		}
	}
	keys := reflect.TypeFor[Match]()
	if len(conditions) != keys.NumField() {
		t.Fatalf("%d conditions, and a match has %d", len(conditions), keys.NumField())
	}
	for i, c := range conditions {
		if tag, _, _ := strings.Cut(keys.Field(i).Tag.Get("json"), ","); tag != c.name {
			t.Errorf("condition %d is %s in words and %s in the match", i, c.name, tag)
		}
	}
}

func TestAnExplanationSays(t *testing.T) {
	p := mustLoad(t, ownPolicy)
	standing := Rule{ID: "standing-1", Effect: Allow, Match: Match{Types: []string{"spend"}}, InsteadOf: []string{"messages"}}
	for sentence, c := range map[string]struct {
		action Action
		facts  func(*Facts)
		rule   string
		want   string
	}{
		"an allow stands in for the rule that it names": {spendAt("bill@vendor.example", 2000, "USD"), nil,
			"small-subscriptions", "stands_in instead of spending; budget within"},
		"and that rule says by whom": {spendAt("bill@vendor.example", 2000, "USD"), nil, "spending", "stood_in_for by small-subscriptions"},
		"a larger amount is named in money": {spendAt("bill@vendor.example", 2001, "USD"), nil,
			"small-subscriptions", "no_match; amount asks at most 20.00 USD has 20.01 USD"},
		"every condition that fails is named": {spendAt("bill@other.example", 2001, "USD"), nil, "small-subscriptions",
			"no_match; recipients asks domain:vendor.example has bill@other.example; amount asks at most 20.00 USD has 20.01 USD"},
		"a budget that is used up": {spendAt("bill@vendor.example", 2000, "USD"), func(f *Facts) { f.Committed[0].Cents = 9000 },
			"small-subscriptions", "budget_used_up; budget passed"},
		"a budget that nobody has counted": {spendAt("bill@vendor.example", 2000, "USD"), func(f *Facts) { f.Committed = nil },
			"small-subscriptions", "budget_used_up; budget uncounted"},
		"a recipient that nobody names": {spendAt("", 2000, "USD"), nil, "small-subscriptions",
			"no_match; recipients asks domain:vendor.example has nothing (the action names no recipient, so it may reach anybody)"},
		"a time that nobody knows holds back": {Action{Type: "send", Title: "x", Recipient: "a@x.example"}, func(f *Facts) { f.Now = time.Time{} },
			"night", "decides; hours asks 22:00 to 07:00 has nothing (the time is not known)"},
		"by day the night is silent": {Action{Type: "send", Title: "x", Recipient: "a@x.example"}, nil,
			"night", "no_match; hours asks 22:00 to 07:00 has 12:00"},
		"what a deny outranks": {Action{Type: "spend", Title: "x"}, nil, "spending", "outranked by amount"},
		"what denies decides":  {Action{Type: "spend", Title: "x"}, nil, "amount", "decides"},
		"a type that is known": {Action{Type: "note", Title: "x"}, nil,
			"unknown", "no_match; unknown asks a type that nobody knows has note, which the default policy knows"},
		"a standing approval with no end": {spendAt("v", 1, "USD"), func(f *Facts) { f.Standing = []Rule{standing} },
			"standing-1", "no_match; until asks an end of the standing approval has none"},
		"a standing approval with nothing to answer": {spendAt("v", 1, "USD"), func(f *Facts) {
			f.Standing = []Rule{standing}
			f.Standing[0].Until = f.Now.Add(time.Hour)
		}, "standing-1", "nothing_to_answer"},
	} {
		t.Run(sentence, func(t *testing.T) {
			f := spent(0)
			if c.facts != nil {
				c.facts(&f)
			}
			for _, part := range p.Explain(c.action, f).Rules {
				if part.Rule == c.rule {
					if got := partInWords(part); got != c.want {
						t.Errorf("got  %s\nwant %s", got, c.want)
					}
					return
				}
			}
			t.Error("the rule is not explained")
		})
	}
}

func partInWords(p RulePart) string {
	var b strings.Builder
	b.WriteString(string(p.Part))
	if len(p.By) > 0 {
		b.WriteString(" by " + strings.Join(p.By, ", "))
	}
	if len(p.InsteadOf) > 0 {
		b.WriteString(" instead of " + strings.Join(p.InsteadOf, ", "))
	}
	for _, c := range slices.Concat(p.Failed, p.Undecided) {
		b.WriteString("; " + c.Condition + " asks " + c.Asks + " has " + c.Has)
		if c.Missing != "" {
			b.WriteString(" (" + c.Missing + ")")
		}
	}
	if p.Budget != nil {
		b.WriteString("; budget " + string(p.Budget.State))
	}
	return b.String()
}

func TestCapsAreExplained(t *testing.T) {
	p := mustLoad(t, `version: 1
extends: default
caps:
  - {currency: USD, max: 5000}
  - {currency: USD, max: 10000, window: day}
  - {currency: EUR, max: 100}
`)
	spentToday := func(c Cents) Facts {
		f := atHome()
		f.Committed = []Commitment{{Window: PerDay, Currency: "USD", Cents: c}}
		return f
	}
	for sentence, c := range map[string]struct {
		action Action
		facts  Facts
		want   string
	}{
		"there is room":               {spendAt("v", 5000, "USD"), spentToday(5000), "within, within, other_currency"},
		"one act is too large":        {spendAt("v", 5001, "USD"), spentToday(0), "passed!, within, other_currency"},
		"the day is full":             {spendAt("v", 5000, "USD"), spentToday(5001), "within, passed!, other_currency"},
		"nobody knows the day":        {spendAt("v", 5000, "USD"), atHome(), "within, uncounted!, other_currency"},
		"a currency that none names":  {spendAt("v", 1, "JPY"), spentToday(0), "not_covered!, not_covered!, not_covered!"},
		"a note costs nothing":        {Action{Type: "note", Title: "x"}, spentToday(0), "no_money, no_money, no_money"},
		"an amount that is none":      {spendAt("v", -1, "USD"), spentToday(0), "uncounted!, uncounted!, other_currency"},
		"a sum in the account's coin": {Action{Type: "spend", Title: "x", AmountCents: cents(1)}, spentToday(0), "within, within, other_currency"},
	} {
		t.Run(sentence, func(t *testing.T) {
			e := p.Explain(c.action, c.facts)
			var states []string
			passed := false
			for _, cp := range e.Caps {
				word := string(cp.State)
				if cp.Passed {
					word, passed = word+"!", true
				}
				states = append(states, word)
			}
			if got := strings.Join(states, ", "); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if passed != e.Verdict.Matched("caps") {
				t.Errorf("a cap is passed: %v, and the verdict is %+v", passed, e.Verdict)
			}
		})
	}
}

func TestAnExplanationGivesNoSecretAwayAndSteersNoTerminal(t *testing.T) {
	const secret = "AKIAIOSFODNN7EXAMPLE"
	p := mustLoad(t, ownPolicy+`  - id: odd
    match: {types: [send], recipients: ["a@x.example"], labels: [l], principals: [p]}
    effect: deny
    reason: No.
`)
	f := spent(0)
	f.Principal = secret
	a := Action{Type: "spend " + secret + "\x1b[2J", Title: secret, Recipient: secret + "\u202e" + strings.Repeat("x", 500), Labels: []string{secret}, Body: secret}
	e := p.Explain(a, f)
	raw, err := json.Marshal(e.Rules)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), secret) {
		t.Errorf("the secret is in %s", raw)
	}
	for _, part := range e.Rules {
		for _, c := range slices.Concat(part.Failed, part.Undecided) {
			if CheckText(c.Has, Line) != nil || len(c.Has) > 1000 {
				t.Errorf("%s has %q", c.Condition, c.Has)
			}
		}
	}
	if strings.Contains(string(raw), "null") {
		t.Errorf("there is a null in %s", raw)
	}
}

func TestNoPolicyIsExplained(t *testing.T) {
	var none *Policy
	for _, p := range []*Policy{none, {}} {
		e := p.Explain(Action{Type: "note", Title: "x"}, atHome())
		raw, err := json.Marshal(e)
		if err != nil || e.Verdict.Effect != Deny || !strings.Contains(string(raw), `"rules":[],"caps":[]`) {
			t.Errorf("%s, %v", raw, err)
		}
	}
}
