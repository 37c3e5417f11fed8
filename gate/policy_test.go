package gate

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// aRule is a policy of one rule, with a change to its text.
func aRule(old, replacement string) string {
	const text = `version: 1
extends: default
rules:
  - id: mine
    match: {types: [spend], amount: {currency: USD, max: 2000}}
    effect: allow
    instead_of: [spending]
    reason: Small sums are settled.
`
	return strings.Replace(text, old, replacement, 1)
}

func TestABadPolicyIsRefusedWithItsPlace(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"an empty file":               {"", "p.yaml: the file is empty"},
		"only a comment":              {"# nothing\n", "p.yaml: the file is empty"},
		"a list":                      {"- 1\n", "p.yaml:1:1: a policy must be a mapping"},
		"a scalar":                    {"hello\n", "p.yaml:1:1: a policy must be a mapping"},
		"no version":                  {"extends: default\n", "p.yaml:1:1: the policy states no version"},
		"another version":             {aRule("version: 1", "version: 2"), "p.yaml:1:10: version must be 1"},
		"a version in words":          {aRule("version: 1", "version: one"), "p.yaml:1:10: version must be a plain integer"},
		"a version in hex":            {aRule("version: 1", "version: 0x1"), "p.yaml:1:10: version must be a plain decimal"},
		"no rules":                    {"version: 1\n", "p.yaml: the policy has no rule"},
		"an empty list of rules":      {"version: 1\nrules: []\n", "p.yaml:2:8: rules is an empty list"},
		"rules that are a mapping":    {"version: 1\nrules: {a: 1}\n", "p.yaml:2:8: rules must be a list"},
		"a rule that is a word":       {"version: 1\nrules: [allow]\n", "p.yaml:2:9: a rule must be a mapping"},
		"an unknown base":             {aRule("default", "company"), `p.yaml:2:10: extends: "company" is not a policy`},
		"an unknown key on top":       {aRule("extends:", "extend:"), `p.yaml:2:1: unknown key "extend" in a policy`},
		"an unknown key in a rule":    {aRule("reason:", "reasons:"), `p.yaml:8:5: rule mine: unknown key "reasons" in a rule`},
		"an unknown key in a match":   {aRule("types:", "type:"), `p.yaml:5:13: rule mine: unknown key "type" in a match`},
		"an unknown key in an amount": {aRule("max:", "maximum:"), `p.yaml:5:53: rule mine: unknown key "maximum" in amount`},
		"a key in capitals":           {aRule("effect:", "Effect:"), `p.yaml:6:5: rule mine: unknown key "Effect"`},
		"a merge key":                 {aRule("effect:", "<<:"), `p.yaml:6:5: rule mine: unknown key "<<"`},
		"a key that is a list":        {aRule("effect:", "? [a]\n    :"), "p.yaml:6:7: rule mine: unknown key"},
		"a key that stands twice":     {aRule("effect: allow", "effect: allow\n    effect: deny"), "p.yaml:7:5: rule mine: the key effect stands twice"},
		"no id":                       {aRule("id: mine\n    ", ""), "p.yaml:4:5: the rule has no id"},
		"an id with a space":          {aRule("id: mine", "id: my rule"), "p.yaml:4:5: an id is made of"},
		"an id of the gate":           {aRule("id: mine", "id: no-rule"), "p.yaml:4:5: rule no-rule: this id is a word of the gate itself"},
		"an id that is taken":         {aRule("id: mine", "id: tainted"), "p.yaml:4:5: rule tainted: the id is taken by the rule at default.yaml:"},
		"an id that is a number":      {aRule("id: mine", "id: 7"), "p.yaml:4:9: rule 7: id must be a text"},
		"no match":                    {aRule("match: {types: [spend], amount: {currency: USD, max: 2000}}\n    ", ""), "p.yaml:4:5: rule mine: the rule has no match"},
		"an allow of everything":      {aRule("{types: [spend], amount: {currency: USD, max: 2000}}", "{}"), "p.yaml:4:5: rule mine: an allow must say what it allows"},
		"no effect":                   {aRule("effect: allow\n    instead_of: [spending]\n    ", ""), "p.yaml:4:5: rule mine: the rule has no effect"},
		"an effect that is none":      {aRule("effect: allow", "effect: Allow"), "p.yaml:6:13: rule mine: effect must be allow"},
		"a null effect":               {aRule("effect: allow", "effect:"), "p.yaml:6:12: rule mine: effect must be a text"},
		"no reason":                   {aRule("    reason: Small sums are settled.\n", ""), "p.yaml:4:5: rule mine: the rule has no reason"},
		"a long reason":               {aRule("Small", strings.Repeat("long ", 80)), "rule mine: reason is limited to 300"},
		"a reason that hides":         {aRule("Small sums are settled.", `"a\u202eb"`), "rule mine: reason: remove the hidden or control character U+202E"},
		"a type that is none":         {aRule("[spend]", "[Spend]"), `rule mine: types: "Spend" is not a lower_snake name`},
		"no types":                    {aRule("[spend]", "[]"), "p.yaml:5:20: rule mine: types is an empty list"},
		"a type twice":                {aRule("[spend]", "[spend, spend]"), `p.yaml:5:28: rule mine: types names "spend" twice`},
		"types that are a word":       {aRule("[spend]", "spend"), "p.yaml:5:20: rule mine: types must be a list"},
		"a type that is a number":     {aRule("[spend]", "[1]"), "p.yaml:5:21: rule mine: types must be a text"},
		"a currency in small":         {aRule("USD", "usd"), "rule mine: amount: give the currency"},
		"no currency":                 {aRule("currency: USD, ", ""), "rule mine: amount: give the currency"},
		"an amount without ends":      {aRule(", max: 2000", ""), "rule mine: amount: give min, max or both"},
		"ends the wrong way round":    {aRule("max: 2000", "max: 2000, min: 3000"), "rule mine: amount: min is above max"},
		"a fraction of a cent":        {aRule("2000", "20.5"), "p.yaml:5:58: rule mine: max must be a plain integer"},
		"a quoted amount":             {aRule("2000", `"2000"`), "p.yaml:5:58: rule mine: max must be a plain integer"},
		"an amount of nothing":        {aRule("2000", "0"), "p.yaml:5:58: rule mine: max must be at least 1"},
		"too large an amount":         {aRule("2000", "9007199254740992"), "p.yaml:5:58: rule mine: max must be a plain decimal integer of at most"},
		"an octal amount":             {aRule("2000", "02000"), "p.yaml:5:58: rule mine: max must be a plain decimal"},
		"an unknown instead_of":       {aRule("[spending]", "[spendings]"), `rule mine: instead_of names "spendings", and there is no such rule`},
		"instead of a deny":           {aRule("[spending]", "[secrets]"), `rule mine: instead_of names "secrets", which denies`},
		"instead of an allow":         {aRule("[spending]", "[internal]"), `rule mine: instead_of names "internal", which does not require approval`},
		"instead_of in a deny":        {aRule("effect: allow", "effect: deny"), "rule mine: instead_of belongs to an allow"},
		"a pattern with a path":       {aRule("{types", `{recipients: ["domain:x.example/pay"], types`), "rule mine: recipients: write domain:x.example"},
		"a pattern for all domains":   {aRule("{types", `{recipients: ["domain:*"], types`), "rule mine: recipients: write domain:x.example"},
		"a pattern that hides":        {aRule("{types", `{recipients: ["a\u200b@x.example"], types`), "rule mine: recipients: remove the hidden"},
		"a long pattern":              {aRule("{types", `{recipients: ["`+strings.Repeat("a", 321)+`"], types`), "rule mine: recipients: a pattern has 1 to 320"},
		"an empty pattern":            {aRule("{types", `{recipients: [""], types`), "rule mine: recipients must not be empty"},
		"a label that hides":          {aRule("{types", `{labels: ["a\u200b"], types`), "rule mine: match: remove the hidden"},
		"tainted: yes":                {aRule("{types", "{tainted: yes, types"), "rule mine: tainted must be true or false"},
		"tainted: True":               {aRule("{types", "{tainted: True, types"), "rule mine: tainted must be true or false"},
		"secrets: false":              {aRule("{types", "{secrets: false, types"), "rule mine: secrets can only be true"},
		"over_budget in an allow":     {aRule("{types", "{over_budget: true, types"), "rule mine: over_budget belongs to a rule that denies"},
		"unknown in an allow":         {aRule("{types: [spend]", "{unknown: true"), "rule mine: unknown types cannot be allowed"},
		"unknown with types":          {aRule("{types", "{unknown: true, types"), "rule mine: a rule that names types cannot"},
		"hours without an end":        {aRule("{types", `{hours: {from: "22:00"}, types`), "rule mine: hours: give from"},
		"hours without a length":      {aRule("{types", `{hours: {from: "22:00", to: "22:00"}, types`), "rule mine: hours: from and to are the same"},
		"an hour that is none":        {aRule("{types", `{hours: {from: "25:00", to: "07:00"}, types`), "rule mine: from must be a time of day"},
		"an hour after the last":      {aRule("{types", `{hours: {from: "24:00", to: "07:00"}, types`), "rule mine: hours: give from"},
		"hours as numbers":            {aRule("{types", `{hours: {from: 22, to: 7}, types`), "rule mine: from must be a text"},
		"a quorum of nobody":          {aRule("effect: allow\n    instead_of: [spending]", "effect: requires_approval\n    approval: {quorum: 0}"), "p.yaml:7:24: rule mine: quorum must be at least 1"},
		"a quorum of too many":        {aRule("effect: allow\n    instead_of: [spending]", "effect: requires_approval\n    approval: {quorum: 101}"), "rule mine: quorum lies between 1 and 100"},
		"approval of a stranger":      {aRule("effect: allow\n    instead_of: [spending]", "effect: requires_approval\n    approval: {from: [boss]}"), `rule mine: approval: "boss" is no role`},
		"approval of nobody":          {aRule("effect: allow\n    instead_of: [spending]", "effect: requires_approval\n    approval: {from: []}"), "rule mine: from is an empty list"},
		"an expiry in words":          {aRule("effect: allow\n    instead_of: [spending]", "effect: requires_approval\n    approval: {expires: soon}"), "rule mine: expires must be a duration"},
		"an expiry in the past":       {aRule("effect: allow\n    instead_of: [spending]", "effect: requires_approval\n    approval: {expires: -1h}"), "rule mine: expires must be a duration"},
		"an expiry next year":         {aRule("effect: allow\n    instead_of: [spending]", "effect: requires_approval\n    approval: {expires: 9000h}"), "rule mine: expires is at most 2160 hours"},
		"approval in an allow":        {aRule("effect: allow", "effect: allow\n    approval: {quorum: 2}"), "rule mine: approval belongs to a rule whose effect is requires_approval"},
		"a budget with no window":     {aRule("effect: allow", "effect: allow\n    budget: {currency: USD, max: 1}"), "rule mine: budget: window must be"},
		"an id of standing approvals": {strings.Replace(aRule("effect: allow", "effect: allow"), "id: mine", "id: standing-1", 1), "ids that begin with standing-"},
		"a budget of a fortnight":     {aRule("effect: allow", "effect: allow\n    budget: {window: fortnight, currency: USD, max: 1}"), "rule mine: window must be day"},
		"a budget with no bound":      {aRule("effect: allow", "effect: allow\n    budget: {window: day, currency: USD}"), "rule mine: budget: max lies between"},
		"a budget with no currency":   {aRule("effect: allow", "effect: allow\n    budget: {window: day, max: 1}"), "rule mine: budget: give the currency"},
		"nobody to notify":            {aRule("effect: allow", `effect: allow`+"\n"+`    notify: ["a\u200b"]`), "rule mine: notify: a name must be plain text"},
		"an end that is no time":      {aRule("effect: allow", "effect: allow\n    until: tomorrow"), "p.yaml:7:12: rule mine: until must be a time"},
		"a deny that lapses":          {aRule("effect: allow\n    instead_of: [spending]", "effect: deny\n    until: 2030-01-01T00:00:00Z"), "rule mine: only an allow may have an until"},
		"a cap without a bound":       {"version: 1\nextends: default\ncaps: [{currency: USD}]\n", "p.yaml:3:8: caps: max lies between"},
		"a cap without a currency":    {"version: 1\nextends: default\ncaps: [{max: 1}]\n", "p.yaml:3:8: caps: give the currency"},
		"two caps for one thing":      {"version: 1\nextends: default\ncaps: [{currency: USD, max: 1}, {currency: USD, max: 2}]\n", "p.yaml:3:33: caps: USD has two caps"},
		"a tab":                       {aRule("    reason", "\treason"), "p.yaml:8:1: there is a tab"},
		"an anchor":                   {aRule("[spend]", "&a [spend]"), "p.yaml:5:20: anchors are refused"},
		"an alias":                    {aRule("id: mine", "id: &a mine") + "    notify: [*a]\n", "p.yaml:9:14: aliases are refused"},
		"a tag":                       {aRule("id: mine", "id: !!str mine"), "p.yaml:4:9: tags are refused"},
		"a tag of one's own":          {aRule("id: mine", "id: !secret mine"), "tags are refused"},
		"a second document":           {aRule("", "") + "---\nversion: 1\n", "there is a second document"},
		"broken YAML":                 {"version: 1\nrules: [\n", "p.yaml:3:1: not valid YAML"},
		"broken YAML in the second":   {aRule("", "") + "---\n[\n", "not valid YAML"},
		"too deep":                    {"version: " + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "\n", "the file nests too deep"},
		"far too deep":                {strings.Repeat("[", 20_000), "not valid YAML"},
		"no UTF-8":                    {"version: 1 # \xff\n", "p.yaml: the file is not valid UTF-8"},
		"too large":                   {"#" + strings.Repeat("x", MaxPolicySize), "p.yaml: the file is larger than"},
		"broken JSON":                 {"{\"version\": 1,\n \"rules\": }", "p.yaml:2:11: the file is not valid JSON"},
		"JSON that ends early":        {"{\"version\": 1,\n", "p.yaml:2:1: the file is not valid JSON"},
		"JSON with a key twice":       {"{\"version\": 1,\n\"version\": 1}", "p.yaml:2:1: the file is not valid JSON: duplicate"},
		"JSON with more behind it":    {"{\"version\": 1}\n{}", "there is something behind the JSON object"},
		"a rule of JSON":              {"{\"version\": 1,\n\t\"rules\": [{\"id\": \"x\", \"math\": {}}]}", `p.yaml:2:24: rule x: unknown key "math"`},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := LoadPolicy("p.yaml", []byte(c.text))
			if err == nil || p != nil {
				t.Fatal("it loads")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			all, ok := errors.AsType[PolicyErrors](err)
			one, ok2 := errors.AsType[*PolicyError](err)
			if !ok || !ok2 || one != all[0] || one.File != "p.yaml" {
				t.Errorf("the error cannot be taken apart: %v", err)
			}
		})
	}
}

func TestEveryFaultOfAFileIsReportedAtOnce(t *testing.T) {
	_, err := LoadPolicy("p.yaml", []byte(`version: 3
rules:
  - {id: a, match: {typos: [x]}, effect: permit, reason: R.}
  - {id: b, match: {hours: {from: never, to: "07:00"}}, effect: deny, reason: R., quorum: 1}
`))
	all, _ := errors.AsType[PolicyErrors](err)
	if len(all) != 5 {
		t.Errorf("%d faults:\n%v", len(all), err)
	}
}

func TestJSONAndYAMLSayTheSame(t *testing.T) {
	yaml := mustLoad(t, ownPolicy)
	p, err := LoadPolicy("p.json", []byte(`
{	"version": 1, "extends": "default",
	"rules": [
		{"id": "small-subscriptions", "match": {"types": ["spend"], "recipients": ["domain:vendor.example"], "amount": {"currency": "USD", "max": 2000}},
		 "effect": "allow", "instead_of": ["spending"], "reason": "Subscriptions at this vendor up to 20 dollars are settled.",
		 "budget": {"window": "month", "currency": "USD", "max": 10000}, "notify": ["finance"]},
		{"id": "large-spend", "match": {"types": ["spend"], "amount": {"currency": "USD", "min": 100000}}, "effect": "requires_approval",
		 "reason": "Spending of 1,000 dollars and more needs two people.", "approval": {"quorum": 2, "from": ["owner", "admin"], "expires": "48h"}, "notify": ["finance", "owner"]},
		{"id": "night", "match": {"types": ["send", "publish"], "hours": {"from": "22:00", "to": "07:00"}}, "effect": "requires_approval",
		 "reason": "Nothing goes out at night without a person\u002e"}
	]
}`))
	if err != nil {
		t.Fatal(err)
	}
	if p.Digest() != yaml.Digest() || len(p.Digest()) != 64 || p.Version() != yaml.Version() {
		t.Errorf("the digests differ: %s %s", p.Digest(), yaml.Digest())
	}
	reason := `{"version":1,"rules":[{"id":"x","match":{},"effect":"deny","reason":"\ud83d\ude00 \\ud83d \"\/\" \u00e9"}]}`
	p, err = LoadPolicy("p.json", []byte(reason))
	if err != nil || p.Rules()[0].Reason != `😀 \ud83d "/" é` {
		t.Errorf("%v %+v", err, p.Rules())
	}
}

func TestTheDigestIsOfTheMeaningAndNotOfTheLayout(t *testing.T) {
	base := mustLoad(t, ownPolicy)
	if again := mustLoad(t, "# a comment\n"+strings.ReplaceAll(ownPolicy, "effect: ", "effect:   ")); again.Digest() != base.Digest() {
		t.Error("a comment changes the digest")
	}
	for name, text := range map[string]string{
		"an effect": ownPolicy + "  - {id: z, match: {}, effect: deny, reason: Z.}\n",
		"a bound":   strings.Replace(ownPolicy, "max: 2000", "max: 2001", 1),
		"a quorum":  strings.Replace(ownPolicy, "quorum: 2", "quorum: 3", 1),
		"an expiry": strings.Replace(ownPolicy, "48h", "49h", 1),
		"hours":     strings.Replace(ownPolicy, "07:00", "07:01", 1),
		"a budget":  strings.Replace(ownPolicy, "max: 10000", "max: 10001", 1),
		"a reason":  strings.Replace(ownPolicy, "settled", "fine", 1),
		"a cap":     "caps: [{currency: USD, max: 1}]" + ownPolicy,
	} {
		if mustLoad(t, text).Digest() == base.Digest() {
			t.Errorf("%s does not change the digest", name)
		}
	}
	if !strings.HasPrefix(base.Version(), "1-") || !strings.HasPrefix(base.Digest(), base.Version()[2:]) {
		t.Errorf("version %s of %s", base.Version(), base.Digest())
	}
}

func TestAPolicySharesNothingWithWhatItWasMadeFrom(t *testing.T) {
	s, err := ParsePolicy("p.yaml", []byte(ownPolicy))
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Compile()
	if err != nil {
		t.Fatal(err)
	}
	before := fmt.Sprintf("%+v", p.Evaluate(spendAt("bill@vendor.example", 2000, "USD"), spent(0)))
	*s.Rules[0].Match.Amount.Max = 1
	s.Rules[0].InsteadOf[0] = "tainted"
	got := p.Rules()
	got[15].Match.Types[0] = "note"
	got[15].Budget.Max = 1
	if after := fmt.Sprintf("%+v", p.Evaluate(spendAt("bill@vendor.example", 2000, "USD"), spent(0))); after != before {
		t.Errorf("before %s\nafter  %s", before, after)
	}
}

func TestRulesBuiltInCodeAreHeldToTheSame(t *testing.T) {
	good := Rule{ID: "a", Match: Match{Types: []string{"x"}}, Effect: Deny, Reason: "R."}
	compile := func(version int, extends string, rules ...Rule) error {
		_, err := (&Source{File: "code", Version: version, Extends: extends, Rules: rules}).Compile()
		return err
	}
	if err := compile(1, "", good); err != nil {
		t.Fatal(err)
	}
	change := func(f func(*Rule)) Rule { r := good; f(&r); return r }
	for want, err := range map[string]error{
		"version must be 1":                      compile(0, "", good),
		"is not a policy":                        compile(1, "other", good),
		"the id is taken by the rule at an unkn": compile(1, "", good, good),
		"the rule has no effect":                 compile(1, "", change(func(r *Rule) { r.Effect = 9 })),
		"quorum lies between":                    compile(1, "", change(func(r *Rule) { r.Approval.Quorum = -1 })),
		"hours: give from":                       compile(1, "", change(func(r *Rule) { r.Match.Hours = &Hours{From: -1, To: 7} })),
		"amount: min and max lie between":        compile(1, "", change(func(r *Rule) { r.Match.Amount = &AmountRange{Currency: "USD", Min: cents(-5)} })),
		"expires is at most":                     compile(1, "", change(func(r *Rule) { r.Effect, r.Approval.Expires = RequiresApproval, -time.Hour })),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	_, err := (&Source{File: "code", Version: 1, Extends: "default", Caps: []Cap{{Currency: "USD", Max: 1, Window: "eon"}}}).Compile()
	if err == nil || !strings.Contains(err.Error(), "caps: window must be") {
		t.Errorf("got %v", err)
	}
}

func TestAPolicyCanExtendTheDefaultWithNothing(t *testing.T) {
	p := mustLoad(t, "version: 1\nextends: default\n")
	if p.Digest() != DefaultPolicy().Digest() {
		t.Error("it is not the default")
	}
}

func TestAnAllowEndsWithItsUntil(t *testing.T) {
	p := mustLoad(t, aRule("effect: allow", "effect: allow\n    until: 2026-03-03T12:00:01Z"))
	f := atHome()
	a := spendAt("v", 1, "USD")
	if got := p.Decide(a, f); got != Allow {
		t.Errorf("before the end: %s", got)
	}
	f.Now = f.Now.Add(time.Second)
	if got := p.Decide(a, f); got != RequiresApproval {
		t.Errorf("at the end: %s", got)
	}
	f.Now = time.Time{}
	if got := p.Decide(a, f); got != RequiresApproval {
		t.Errorf("with no clock: %s", got)
	}
}

func TestAVerdictAsJSONSpeaksInWords(t *testing.T) {
	out, err := json.Marshal(mustLoad(t, ownPolicy).Evaluate(spendAt("v.example", 100_000, "USD"), atHome()))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"effect":"requires_approval"`, `"rule":"large-spend"`,
		`"approval":{"quorum":2,"from":["owner","admin"],"expires":"48h0m0s"}`, `"policy_version":"1-`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %s in %s", want, out)
		}
	}
}
