package gate

import (
	"strings"
	"testing"
)

const loosenBase = `version: 1
extends: default
caps:
  - {currency: USD, max: 50000}
  - {currency: USD, max: 200000, window: month}
rules:
  - id: small
    match: {types: [spend], recipients: ["domain:vendor.example"], amount: {currency: USD, max: 2000}}
    effect: allow
    instead_of: [spending]
    reason: Small sums are settled.
    until: 2027-01-31T00:00:00Z
    budget: {window: month, currency: USD, max: 10000}
  - id: large
    match: {types: [spend], amount: {currency: USD, min: 20000}}
    effect: requires_approval
    reason: Large sums need two people.
    approval: {quorum: 2, from: [owner, admin], expires: 12h}
    budget: {window: day, currency: USD, max: 40000}
  - id: no-casino
    match: {types: [spend], recipients: ["domain:casino.example", "domain:bets.example"]}
    effect: deny
    reason: Never.
`

func TestWhatLoosensIsNamedWithItsFigures(t *testing.T) {
	const added = "  - {id: mine, match: {types: [publish]}, effect: %, reason: R.}\n"
	for name, c := range map[string]struct {
		old, new string
		want     string // the whole list, one a line; empty for none
	}{
		"nothing":                       {"", "", ""},
		"a reason":                      {"Never.", "Not ever.", ""},
		"a lower cap":                   {"USD, max: 50000}", "USD, max: 40000}", ""},
		"a cap for each":                {"rules:", "  - {currency: USD, max: 100, window: day, each: principal}\nrules:", ""},
		"a lower budget":                {"max: 10000}", "max: 9000}", ""},
		"an earlier end":                {"2027-01-31", "2026-01-31", ""},
		"a narrower allow":              {"domain:vendor.example", "*@vendor.example", ""},
		"an allow in fewer hours":       {"{types: [spend], recipients: [\"domain:vendor", "{hours: {from: \"08:00\", to: \"18:00\"}, types: [spend], recipients: [\"domain:vendor", ""},
		"a wider deny":                  {`"domain:casino.example", `, `"domain:casino.example", "domain:dice.example", `, ""},
		"a larger quorum":               {"quorum: 2", "quorum: 3", ""},
		"fewer roles":                   {"[owner, admin]", "[owner]", ""},
		"a question that is denied now": {"effect: requires_approval\n    reason: Large sums need two people.\n    approval: {quorum: 2, from: [owner, admin], expires: 12h}", "effect: deny\n    reason: R.", ""},
		"a new deny":                    {"rules:\n", "rules:\n" + strings.Replace(added, "%", "deny", 1), ""},
		"a new question":                {"rules:\n", "rules:\n" + strings.Replace(added, "%", "requires_approval", 1), ""},
		"a renamed deny":                {"no-casino", "no-bets", ""},
		"no cap in a currency any more": {"  - {currency: USD, max: 50000}\n  - {currency: USD, max: 200000, window: month}", "  - {currency: EUR, max: 50000}",
			"cap-eur-act: The caps: money in EUR was beyond them, and may be spent up to 500.00 EUR for a single act."},

		"a larger amount": {"max: 2000}", "max: 5000}",
			"small: Rule small: it allows more (amount at most 50.00 USD, was at most 20.00 USD)."},
		"two ways at once": {"max: 2000}}\n    effect: allow\n    instead_of: [spending]", "max: 5000}}\n    effect: allow\n    instead_of: [spending, tainted]",
			"small: Rule small: it allows more (amount at most 50.00 USD, was at most 20.00 USD); it now stands in for tainted."},
		"one more rule it stands in for": {"[spending]", "[spending, large]", "small: Rule small: it now stands in for large."},
		"no end":                         {"    until: 2027-01-31T00:00:00Z\n", "", "small: Rule small: it ends never, and ended 2027-01-31T00:00:00Z."},
		"a larger budget":                {"max: 10000}", "max: 20000}", "small: Rule small: its budget is 200.00 USD a month, was 100.00 USD a month."},
		"a budget in another window":     {"{window: month, currency: USD, max: 10000}", "{window: week, currency: USD, max: 100}", "small: Rule small: its budget is counted anew (1.00 USD a week, was 100.00 USD a month)."},
		"no budget":                      {"    budget: {window: month, currency: USD, max: 10000}\n", "", "small: Rule small: it has no budget, and had 100.00 USD a month."},
		"a new allow": {"rules:\n", "rules:\n" + strings.Replace(added, "%", "allow, instead_of: [publishing]", 1),
			"mine: Rule mine: it is new, and allows what has types publish, instead of publishing."},
		"a smaller quorum":     {"quorum: 2", "quorum: 1", "large: Rule large: it takes 1 person, and took 2 people."},
		"more roles":           {"[owner, admin]", "[owner, member]", "large: Rule large: it may be approved by owner, member, and was by owner, admin."},
		"any role":             {"from: [owner, admin], ", "", "large: Rule large: it may be approved by anybody, and was by owner, admin."},
		"more time":            {"expires: 12h", "expires: 48h", "large: Rule large: it waits 48h, and waited 12h."},
		"no time of its own":   {", expires: 12h", "", "large: Rule large: it waits as long as the other rules say, mostly 24h, and waited 12h."},
		"a budget that denied": {"    budget: {window: day, currency: USD, max: 40000}\n", "", "large: Rule large: it has no budget, and had 400.00 USD a day."},
		"a deny that asks": {"effect: deny", "effect: requires_approval",
			"no-casino: Rule no-casino: its effect is requires_approval, was deny."},
		"a narrower deny": {`"domain:casino.example", `, "",
			"no-casino: Rule no-casino: it holds back less (recipients domain:bets.example, was domain:casino.example, domain:bets.example)."},
		"a removed deny": {"  - id: no-casino\n    match: {types: [spend], recipients: [\"domain:casino.example\", \"domain:bets.example\"]}\n    effect: deny\n    reason: Never.\n", "",
			"no-casino: Rule no-casino: it is removed, and denied what has types spend, recipients domain:casino.example, domain:bets.example."},
		"a larger cap":  {"USD, max: 50000}", "USD, max: 60000}", "cap-usd-act: The caps: 600.00 USD for a single act, was 500.00 USD for a single act."},
		"a removed cap": {"  - {currency: USD, max: 200000, window: month}\n", "", "cap-usd-month: The caps: 2000.00 USD a month is no longer a bound."},
		"a cap in another currency": {"rules:", "  - {currency: EUR, max: 100, window: week}\nrules:",
			"cap-eur-week: The caps: money in EUR was beyond them, and may be spent up to 1.00 EUR a week."},
		"no caps": {"caps:\n  - {currency: USD, max: 50000}\n  - {currency: USD, max: 200000, window: month}\n", "",
			"cap-usd-act: The caps: 500.00 USD for a single act is no longer a bound.\ncap-usd-month: The caps: 2000.00 USD a month is no longer a bound."},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(loosenBase, c.old, c.new, 1)
			if c.old != "" && text == loosenBase {
				t.Fatal("the text to replace is not there")
			}
			var got []string
			for _, l := range Loosenings(mustLoad(t, loosenBase), mustLoad(t, text)) {
				got = append(got, l.ID+": "+l.What)
			}
			if joined := strings.Join(got, "\n"); joined != c.want {
				t.Errorf("got\n%s\nwant\n%s", joined, c.want)
			}
		})
	}
}

func TestAnAllowThatMakesATypeKnownLoosens(t *testing.T) {
	const before = "version: 1\nextends: default\nrules:\n  - {id: mine, match: {labels: [l]}, effect: allow, reason: R.}\n"
	found := Loosenings(mustLoad(t, before), mustLoad(t, strings.Replace(before, "{labels", "{types: [water_plants], labels", 1)))
	if len(found) != 1 || found[0].Kind != LoosensKnown {
		t.Errorf("got %+v", found)
	}
	found = Loosenings(mustLoad(t, before), mustLoad(t, strings.Replace(before, "{labels", "{types: [send], labels", 1)))
	if len(found) != 0 {
		t.Errorf("a type that is known anyway is reported: %+v", found)
	}
}

func TestAFirstCapTightens(t *testing.T) {
	p := mustLoad(t, "version: 1\nextends: default\n")
	q := mustLoad(t, "version: 1\nextends: default\ncaps: [{currency: USD, max: 1}, {currency: EUR, max: 1}]\n")
	if found := Loosenings(p, q); len(found) != 0 {
		t.Errorf("%+v", found)
	}
	if found := Loosenings(q, p); len(found) != 2 {
		t.Errorf("%+v", found)
	}
}

func TestFromNothingEverythingThatDoesNotDenyLoosens(t *testing.T) {
	var none *Policy
	for _, old := range []*Policy{none, {}} {
		found := Loosenings(old, DefaultPolicy())
		if len(found) != 12 || found[0].ID != ReasonNoPolicy {
			t.Errorf("%d loosenings: %+v", len(found), found)
		}
		onlyDenies := mustLoad(t, "version: 1\nrules: [{id: a, match: {types: [x]}, effect: deny, reason: R.}]\n")
		if found := Loosenings(old, onlyDenies); len(found) != 1 {
			t.Errorf("%+v", found)
		}
		if Loosenings(DefaultPolicy(), old) != nil || Loosenings(old, none) != nil {
			t.Error("a policy that denies everything loosens")
		}
	}
}

func TestACapsNameKeepsOutOfTheWayOfARule(t *testing.T) {
	text := strings.Replace(loosenBase, "no-casino", "cap-usd-act", 1)
	next := strings.Replace(strings.Replace(text, "max: 50000", "max: 60000", 1), "effect: deny", "effect: requires_approval", 1)
	found := Loosenings(mustLoad(t, text), mustLoad(t, next))
	if len(found) != 2 || found[0].ID != "cap-usd-act" || found[1].ID != "cap-usd-act-of-caps" {
		t.Errorf("%+v", found)
	}
}

// A standing approval goes by ids: it must not answer another rule than the one
// that its giver meant.
func TestRulesThatTradeTheirIdsAreReported(t *testing.T) {
	const text = `version: 1
rules:
  - {id: a, match: {types: [send]}, effect: requires_approval, reason: R.}
  - {id: b, match: {types: [publish]}, effect: requires_approval, reason: R.}
  - {id: c, match: {types: [send, publish]}, effect: requires_approval, reason: R.}
`
	p := mustLoad(t, text)
	q := mustLoad(t, strings.NewReplacer("id: a", "id: b", "id: b", "id: a").Replace(text))
	f := atHome()
	f.Standing = []Rule{{ID: "standing-1", Match: Match{Types: []string{"send"}}, Effect: Allow, InsteadOf: []string{"b", "c"}, Until: f.Now.Add(1)}}
	send := Action{Type: "send", Title: "x"}
	if p.Decide(send, f) != RequiresApproval || q.Decide(send, f) != Allow {
		t.Fatal("the example shows nothing")
	}
	if found := Loosenings(p, q); len(found) != 2 {
		t.Errorf("%+v", found)
	}
	if found := Loosenings(p, mustLoad(t, strings.Replace(text, "id: a", "id: z", 1))); len(found) != 0 {
		t.Errorf("a new id alone is reported: %+v", found)
	}
}

// A rule that never speaks can still have a budget that refuses.
func TestTheBudgetOfARuleThatNeverMatchesIsNotForgotten(t *testing.T) {
	const text = `version: 1
extends: default
rules:
  - {id: odd, match: {unknown: true, outward: false}, effect: deny, reason: R., budget: {window: day, currency: USD, max: 1000}}
`
	p, q := mustLoad(t, text), mustLoad(t, "version: 1\nextends: default\n")
	note := Action{Type: "note", Title: "x", AmountCents: cents(2000), Currency: "USD"}
	if before, after := p.Decide(note, atHome()), q.Decide(note, atHome()); before > after && len(Loosenings(p, q)) == 0 {
		t.Errorf("%s becomes %s, and nothing is reported", before, after)
	}
}
