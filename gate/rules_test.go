package gate

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// judged is a verdict in two words: what holds, and which rules said so.
func judged(v Verdict) string {
	ids := make([]string, len(v.Reasons))
	for i, r := range v.Reasons {
		ids[i] = r.Rule
	}
	return v.Effect.String() + ": " + strings.Join(ids, ", ")
}

func TestTheDefaultPolicyHasItsFifteenRulesInOrder(t *testing.T) {
	want := []string{"spending requires_approval", "messages requires_approval", "publishing requires_approval",
		"legal requires_approval", "destructive requires_approval", "access requires_approval",
		"production requires_approval", "calendars requires_approval", "tainted requires_approval", "amount deny",
		"caps deny", "self-governance deny", "secrets deny", "internal allow", "unknown requires_approval"}
	var got []string
	for _, r := range DefaultPolicy().Rules() {
		got = append(got, r.ID+" "+r.Effect.String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %s", strings.Join(got, "; "))
	}
	if len(DefaultPolicy().Caps()) != 0 || len(DefaultPolicy().Budgets()) != 0 {
		t.Error("the default policy brings caps of its own")
	}
	if !strings.Contains(string(DefaultYAML()), "\n  - id: spending\n") {
		t.Error("the text of the default policy is not block YAML that opens rules with their id")
	}
}

// Each line is a sentence about the default policy.
func TestTheDefaultPolicySays(t *testing.T) {
	const token = "AKIAIOSFODNN7EXAMPLE"
	usd := func(c Cents) Action { return Action{AmountCents: cents(c), Currency: "USD"} }
	with := func(a Action, typ string) Action { a.Type, a.Title = typ, "x"; return a }
	to := func(typ, who string) Action { return Action{Type: typ, Title: "x", Recipient: who} }
	for sentence, c := range map[string]struct {
		action Action
		want   string
	}{
		"money needs a person":                         {with(usd(4900), "spend"), "requires_approval: spending"},
		"a subscription needs a person":                {with(usd(4900), "subscribe"), "requires_approval: spending"},
		"a purchase needs a person":                    {with(usd(4900), "purchase"), "requires_approval: spending"},
		"a transfer of an asset needs no amount":       {to("transfer", ""), "requires_approval: spending"},
		"a spend with no amount is refused":            {to("spend", "v.example"), "deny: spending, amount"},
		"a spend of nothing is refused":                {with(usd(0), "spend"), "deny: spending, amount"},
		"a negative spend is refused":                  {with(usd(-1), "spend"), "deny: spending, amount"},
		"a spend beyond 2^53 is refused":               {with(usd(MaxCents+1), "spend"), "deny: spending, amount"},
		"a spend in no currency there is, is refused":  {Action{Type: "spend", Title: "x", AmountCents: cents(1), Currency: "usd"}, "deny: spending, amount"},
		"a spend stated in two ways is refused":        {Action{Type: "spend", Title: "x", AmountCents: cents(4900), Amount: "4.90 USD"}, "deny: spending, amount"},
		"a spend stated badly is refused":              {Action{Type: "spend", Title: "x", Amount: "49.00 JPY"}, "deny: spending, amount"},
		"a spend stated as a decimal needs a person":   {Action{Type: "spend", Title: "x", Amount: "49.00 USD"}, "requires_approval: spending"},
		"a message outside needs a person":             {to("send", "you@x.example"), "requires_approval: messages"},
		"a message to nobody counts as outside":        {to("send", ""), "requires_approval: messages"},
		"a message to a look-alike is outside":         {to("send", "me@оwn.example"), "requires_approval: messages"},
		"a message to a subdomain is outside":          {to("send", "me@sub.own.example"), "requires_approval: messages"},
		"a message to two people is outside":           {to("send", "me@own.example,you@x.example"), "requires_approval: messages"},
		"a message to oneself is not about messages":   {to("send", "me@mail.example"), "requires_approval: no-rule"},
		"a message inside is not about messages":       {to("send", "any@OWN.example"), "requires_approval: no-rule"},
		"publishing needs a person":                    {to("publish", ""), "requires_approval: publishing"},
		"agreeing to terms needs a person":             {to("commit_legal", ""), "requires_approval: legal"},
		"deleting needs a person":                      {to("delete", ""), "requires_approval: destructive"},
		"overwriting needs a person":                   {to("overwrite", ""), "requires_approval: destructive"},
		"changing access needs a person":               {to("access", ""), "requires_approval: access"},
		"deploying needs a person":                     {to("deploy", ""), "requires_approval: production"},
		"another's calendar needs a person":            {to("schedule", "you@x.example"), "requires_approval: calendars"},
		"one's own calendar is not about calendars":    {to("schedule", "me@own.example"), "requires_approval: no-rule"},
		"tainted content going out needs a person":     {Action{Type: "send", Title: "x", Recipient: "me@own.example", TaintedBy: []string{"o"}}, "requires_approval: tainted"},
		"a taint adds to the other reasons":            {Action{Type: "publish", Title: "x", TaintedBy: []string{"o"}}, "requires_approval: publishing, tainted"},
		"a tainted note stays inside":                  {Action{Type: "note", Title: "x", TaintedBy: []string{"o"}}, "allow: internal"},
		"the agent does not change the policy":         {to("policy_change", ""), "deny: self-governance"},
		"the agent does not add people":                {to("add_person", ""), "deny: self-governance"},
		"the agent does not raise a budget":            {to("raise_budget", ""), "deny: self-governance"},
		"the agent does not touch the gate":            {to("disable_gate", ""), "deny: self-governance"},
		"the agent does not approve":                   {to("approve", ""), "deny: self-governance"},
		"a credential in a body stays inside":          {Action{Type: "send", Title: "x", Recipient: "you@x.example", Body: "key " + token}, "deny: messages, secrets"},
		"a credential in a title stays inside":         {Action{Type: "publish", Title: token}, "deny: publishing, secrets"},
		"a credential in the data stays inside":        {Action{Type: "publish", Title: "x", Data: jsontext.Value(`{"k":"\u0041KIAIOSFODNN7EXAMPLE"}`)}, "deny: publishing, secrets"},
		"a credential may be sent to oneself":          {Action{Type: "send", Title: "x", Recipient: "me@own.example", Body: token}, "requires_approval: no-rule"},
		"a note about a credential is internal":        {Action{Type: "note", Title: "x", Body: token}, "allow: internal"},
		"a draft of it to somebody outside is not":     {Action{Type: "draft", Title: "x", Recipient: "you@x.example", Body: token}, "deny: secrets, internal"},
		"a note is free":                               {to("note", ""), "allow: internal"},
		"a draft is free":                              {to("draft", "you@x.example"), "allow: internal"},
		"research is free":                             {to("research", ""), "allow: internal"},
		"a plan is free":                               {to("plan", ""), "allow: internal"},
		"reading is free":                              {to("read", ""), "allow: internal"},
		"an unknown type needs a person":               {to("water_plants", ""), "requires_approval: unknown"},
		"an unknown type that is tainted has two":      {Action{Type: "water_plants", Title: "x", TaintedBy: []string{"o"}}, "requires_approval: tainted, unknown"},
		"no type at all needs a person":                {Action{}, "requires_approval: unknown"},
		"a type in capitals is no internal type":       {to("Note", ""), "requires_approval: unknown"},
		"a spend, tainted, with a key, with no amount": {Action{Type: "spend", Title: token, TaintedBy: []string{"o"}}, "deny: spending, tainted, amount, secrets"},
	} {
		t.Run(sentence, func(t *testing.T) {
			v := DefaultPolicy().Evaluate(c.action, atHome())
			if got := judged(v); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if v.PolicyVersion != DefaultPolicy().Version() {
				t.Errorf("the version is %q", v.PolicyVersion)
			}
			for _, text := range v.Texts() {
				if !strings.HasSuffix(text, ".") || len(text) < 20 {
					t.Errorf("%q is no sentence", text)
				}
			}
		})
	}
}

const ownPolicy = `
version: 1
extends: default
rules:
  - id: small-subscriptions
    match: {types: [spend], recipients: ["domain:vendor.example"], amount: {currency: USD, max: 2000}}
    effect: allow
    instead_of: [spending]
    reason: Subscriptions at this vendor up to 20 dollars are settled.
    budget: {window: month, currency: USD, max: 10000}
    notify: [finance]
  - id: large-spend
    match: {types: [spend], amount: {currency: USD, min: 100000}}
    effect: requires_approval
    reason: Spending of 1,000 dollars and more needs two people.
    approval: {quorum: 2, from: [owner, admin], expires: 48h}
    notify: [finance, owner]
  - id: night
    match: {types: [send, publish], hours: {from: "22:00", to: "07:00"}}
    effect: requires_approval
    reason: Nothing goes out at night without a person.
`

func spendAt(vendor string, c Cents, currency string) Action {
	return Action{Type: "spend", Title: "Seats", Recipient: vendor, AmountCents: cents(c), Currency: currency}
}

// spent are facts in which the vendor's month already holds so much.
func spent(c Cents) Facts {
	f := atHome()
	f.Committed = []Commitment{{Rule: "small-subscriptions", Window: PerMonth, Currency: "USD", Cents: c}}
	return f
}

func TestAnAllowStandsInForWhatItNamesAndForNothingElse(t *testing.T) {
	p := mustLoad(t, ownPolicy)
	tainted := spendAt("bill@vendor.example", 2000, "USD")
	tainted.TaintedBy = []string{"o"}
	for sentence, c := range map[string]struct {
		action Action
		facts  Facts
		want   string
	}{
		"a small one is settled":                {spendAt("bill@vendor.example", 2000, "USD"), spent(0), "allow: spending, small-subscriptions"},
		"the domain itself is the vendor":       {spendAt("Vendor.example", 2000, "USD"), spent(0), "allow: spending, small-subscriptions"},
		"one cent more needs a person":          {spendAt("bill@vendor.example", 2001, "USD"), spent(0), "requires_approval: spending"},
		"another currency needs a person":       {spendAt("bill@vendor.example", 1, "EUR"), spent(0), "requires_approval: spending"},
		"yen are not dollars":                   {spendAt("bill@vendor.example", 2000, "JPY"), spent(0), "requires_approval: spending"},
		"the account's currency is dollars":     {spendAt("bill@vendor.example", 2000, ""), spent(0), "allow: spending, small-subscriptions"},
		"another vendor needs a person":         {spendAt("bill@vendor.example.evil", 1, "USD"), spent(0), "requires_approval: spending"},
		"a subdomain needs a person":            {spendAt("bill@eu.vendor.example", 1, "USD"), spent(0), "requires_approval: spending"},
		"two recipients need a person":          {spendAt("x@evil.example,bill@vendor.example", 1, "USD"), spent(0), "requires_approval: spending"},
		"nobody named needs a person":           {spendAt("", 1, "USD"), spent(0), "requires_approval: spending"},
		"a tainted one needs a person":          {tainted, spent(0), "requires_approval: spending, tainted, small-subscriptions"},
		"the last of the month is settled":      {spendAt("bill@vendor.example", 2000, "USD"), spent(8000), "allow: spending, small-subscriptions"},
		"beyond the month needs a person":       {spendAt("bill@vendor.example", 2000, "USD"), spent(8001), "requires_approval: spending"},
		"a month nobody counted needs a person": {spendAt("bill@vendor.example", 1, "USD"), atHome(), "requires_approval: spending"},
		"a month that is negative as well":      {spendAt("bill@vendor.example", 1, "USD"), spent(-1), "requires_approval: spending"},
		"a large one needs two people":          {spendAt("bill@vendor.example", 100_000, "USD"), spent(0), "requires_approval: spending, large-spend"},
		"no amount is refused all the same":     {Action{Type: "spend", Title: "x", Recipient: "bill@vendor.example"}, spent(0), "deny: spending, amount"},
		"another type is nothing to do with it": {Action{Type: "buy", Title: "x", Recipient: "bill@vendor.example", AmountCents: cents(1), Currency: "USD"}, spent(0), "requires_approval: spending"},
	} {
		if got := judged(p.Evaluate(c.action, c.facts)); got != c.want {
			t.Errorf("%s: got %s, want %s", sentence, got, c.want)
		}
	}
}

func TestTheReasonsSayWhatStoodInForWhat(t *testing.T) {
	v := mustLoad(t, ownPolicy).Evaluate(spendAt("bill@vendor.example", 2000, "USD"), spent(0))
	allow := v.Reasons[1]
	if !slices.Equal(allow.StoodInFor, []string{"spending"}) || allow.Pos.File != "test.yaml" || allow.Pos.Line != 5 {
		t.Errorf("got %+v", allow)
	}
	if v.Reasons[0].Effect != RequiresApproval || v.Reasons[0].Pos.File != "default.yaml" || !v.Matched("spending") || v.Matched("tainted") {
		t.Errorf("got %+v", v.Reasons[0])
	}
	want := []Budget{{Rule: "small-subscriptions", Window: PerMonth, Currency: "USD", Max: 10000}}
	if !slices.Equal(v.Budgets, want) || !slices.Equal(v.Notify, []string{"finance"}) || !v.Approval.IsZero() {
		t.Errorf("got %+v", v)
	}
}

func TestWhatApprovingTakesIsTheSumOfAllThatAsk(t *testing.T) {
	p := mustLoad(t, ownPolicy+`
  - id: quick
    match: {types: [spend], labels: [quick]}
    effect: requires_approval
    reason: A quick one is decided quickly, by an owner.
    approval: {from: [owner, member], expires: 1h}
  - id: members
    match: {types: [spend], labels: [members]}
    effect: requires_approval
    reason: Members decide about this.
    approval: {from: [member]}
`)
	large := spendAt("v.example", 100_000, "USD")
	a := p.Evaluate(large, spent(0)).Approval
	if a.Quorum != 2 || !slices.Equal(a.From, []string{"owner", "admin"}) || a.Expires != 2*DefaultExpiry {
		t.Errorf("large: %+v", a)
	}
	large.Labels = []string{"quick"}
	v := p.Evaluate(large, spent(0))
	if a := v.Approval; a.Quorum != 2 || !slices.Equal(a.From, []string{"owner"}) || a.Expires.Hours() != 1 {
		t.Errorf("large and quick: %+v", a)
	}
	if !slices.Equal(v.Notify, []string{"finance", "owner"}) {
		t.Errorf("notify %v", v.Notify)
	}
	a = p.Evaluate(spendAt("v.example", 5000, "USD"), spent(0)).Approval
	if a.Quorum != 1 || a.From != nil || a.Expires != DefaultExpiry {
		t.Errorf("an ordinary one: %+v", a)
	}
	large.Labels = []string{"members"}
	if got := judged(p.Evaluate(large, spent(0))); got != "deny: spending, large-spend, members, approvers" {
		t.Errorf("owner and admin against member: %s", got)
	}
}

func TestCapsBoundEverythingAndNameTheCurrenciesThereAre(t *testing.T) {
	p := mustLoad(t, `
version: 1
extends: default
caps:
  - {currency: USD, max: 5000}
  - {currency: USD, max: 8000, window: day}
  - {currency: JPY, max: 700}
rules:
  - {id: tips, match: {types: [tip], amount: {currency: USD, max: 9000}}, effect: allow, instead_of: [spending], reason: Tips are settled.}
`)
	day := func(c Cents) Facts {
		f := atHome()
		f.Committed = []Commitment{{Window: PerDay, Currency: "USD", Cents: c}}
		return f
	}
	tip := func(c Cents, currency string) Action {
		return Action{Type: "tip", Title: "x", AmountCents: cents(c), Currency: currency}
	}
	for sentence, c := range map[string]struct {
		action Action
		facts  Facts
		want   string
	}{
		"up to the cap":               {tip(5000, "USD"), day(0), "allow: spending, tips"},
		"beyond the cap":              {tip(5001, "USD"), day(0), "deny: spending, caps, tips"},
		"up to the day":               {tip(5000, "USD"), day(3000), "allow: spending, tips"},
		"beyond the day":              {tip(5000, "USD"), day(3001), "deny: spending, caps, tips"},
		"a day nobody counted":        {tip(1, "USD"), atHome(), "deny: spending, caps, tips"},
		"another currency's cap":      {tip(700, "JPY"), atHome(), "requires_approval: spending"},
		"beyond that one":             {tip(701, "JPY"), atHome(), "deny: spending, caps"},
		"a currency without a cap":    {tip(1, "EUR"), day(0), "deny: spending, caps"},
		"money of any type is capped": {Action{Type: "send", Title: "x", AmountCents: cents(5001), Currency: "USD"}, day(0), "deny: messages, caps"},
		"no money passes no cap":      {Action{Type: "note", Title: "x"}, Facts{}, "allow: internal"},
		"the largest sum is no wrap":  {tip(5000, "USD"), day(1<<63 - 1), "deny: spending, caps, tips"},
	} {
		if got := judged(p.Evaluate(c.action, c.facts)); got != c.want {
			t.Errorf("%s: got %s, want %s", sentence, got, c.want)
		}
	}
	want := []Budget{{Window: PerDay, Currency: "USD", Max: 8000}}
	if got := p.Evaluate(tip(1, "USD"), day(0)).Budgets; !slices.Equal(got, want) || !slices.Equal(p.Budgets(), want) {
		t.Errorf("reserve in %+v", got)
	}
}

func TestAnAllowBeyondItsBudgetIsSilentAndAnyOtherRuleRefuses(t *testing.T) {
	const rules = `
version: 1
rules:
  - {id: tips, match: {types: [tip]}, effect: allow, reason: Tips are settled., budget: {window: week, currency: USD, max: 100}}
  - {id: gifts, match: {types: [gift]}, effect: requires_approval, reason: Gifts are asked for., budget: {window: year, currency: USD, max: 100}}
`
	p := mustLoad(t, rules)
	f := Facts{Committed: []Commitment{
		{Rule: "tips", Window: PerWeek, Currency: "USD", Cents: 60}, {Rule: "gifts", Window: PerYear, Currency: "USD", Cents: 60},
		{Rule: "tips", Window: PerDay, Currency: "USD", Cents: 0}, {Rule: "tips", Window: PerWeek, Currency: "EUR", Cents: 0},
	}}
	money := func(typ string, c Cents, currency string) Action {
		return Action{Type: typ, Title: "x", AmountCents: cents(c), Currency: currency}
	}
	for sentence, c := range map[string]struct {
		action    Action
		want      string
		exhausted bool
	}{
		"an allow within":                       {money("tip", 40, "USD"), "allow: tips", false},
		"an allow beyond":                       {money("tip", 41, "USD"), "requires_approval: no-rule", true},
		"an allow in another currency":          {money("tip", 1, "EUR"), "requires_approval: no-rule", true},
		"an allow in no currency that is known": {money("tip", 1, ""), "requires_approval: no-rule", true},
		"an allow with no amount to count":      {Action{Type: "tip", Title: "x"}, "requires_approval: no-rule", true},
		"an allow of an amount that is none":    {money("tip", 0, "USD"), "requires_approval: no-rule", true},
		"an approval within":                    {money("gift", 40, "USD"), "requires_approval: gifts", false},
		"an approval beyond":                    {money("gift", 41, "USD"), "deny: gifts, budget", false},
		"an approval in another currency":       {money("gift", 1, "EUR"), "deny: gifts, budget", false},
		"an approval with nothing to count":     {Action{Type: "gift", Title: "x"}, "requires_approval: gifts", false},
	} {
		v := p.Evaluate(c.action, f)
		if got := judged(v); got != c.want || slices.Equal(v.Exhausted, []string{"tips"}) != c.exhausted {
			t.Errorf("%s: got %s (exhausted %v), want %s", sentence, got, v.Exhausted, c.want)
		}
	}
	p = mustLoad(t, strings.Replace(rules, "rules:", "extends: default\nrules:", 1))
	if got := judged(p.Evaluate(money("gift", 41, "USD"), f)); got != "deny: caps, unknown, gifts" {
		t.Errorf("with the default policy the rule about caps says so: %s", got)
	}
}

func TestAnAllowReachesAnUnknownTypeOnlyByNamingIt(t *testing.T) {
	p := mustLoad(t, `
version: 1
extends: default
rules:
  - {id: garden, match: {types: [water_plants]}, effect: allow, reason: The garden is the agent's.}
  - {id: routine, match: {labels: [routine]}, effect: allow, reason: Routine is settled.}
  - {id: heat, match: {types: [heat], labels: [hot]}, effect: requires_approval, reason: Heat is asked for.}
`)
	for name, c := range map[string]struct {
		action Action
		want   string
	}{
		"a type that an allow names":     {Action{Type: "water_plants", Title: "x"}, "allow: garden"},
		"two allows, one of them naming": {Action{Type: "water_plants", Title: "x", Labels: []string{"routine"}}, "allow: garden, routine"},
		"an allow that names no type":    {Action{Type: "mow", Title: "x", Labels: []string{"routine"}}, "requires_approval: unknown, routine"},
		"a rule that names and holds":    {Action{Type: "heat", Title: "x", Labels: []string{"hot"}}, "requires_approval: unknown, heat"},
		"one that names and matches not": {Action{Type: "heat", Title: "x"}, "requires_approval: unknown"},
	} {
		if got := judged(p.Evaluate(c.action, atHome())); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
	// A rule that names a type without matching must not open it to others.
	heat := Action{Type: "heat", Title: "x", Labels: []string{"routine"}}
	if got := p.Evaluate(heat, atHome()); got.Effect != RequiresApproval || !got.Matched("unknown") {
		t.Errorf("a rule that does not match opened a type: %s", judged(got))
	}
}

// A rule about unknown types has no part in a type that somebody knows: nothing is
// answered by it, and nothing is counted against its budget.
func TestARuleAboutUnknownTypesHasNoPartInKnownOnes(t *testing.T) {
	standing := Rule{ID: "standing-1", Match: Match{Types: []string{"send"}}, Effect: Allow, InsteadOf: []string{"unknown"},
		Reason: "Fine.", Until: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)}
	f := Facts{Now: time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC), Zone: time.UTC, Inside: []string{"x.example"}, Standing: []Rule{standing}}
	v := DefaultPolicy().Evaluate(Action{Type: "send", Title: "x", Recipient: "ana@x.example"}, f)
	if v.Effect != RequiresApproval || v.Matched("standing-1") {
		t.Errorf("a standing approval for unknown types answered a known one: %+v", v)
	}
	p := mustLoad(t, `
version: 1
extends: default
rules:
  - {id: odd, match: {unknown: true}, effect: requires_approval, reason: Odd., budget: {window: day, currency: USD, max: 2000}}
`)
	cents := Cents(3000)
	if v := p.Evaluate(Action{Type: "note", Title: "x", AmountCents: &cents, Currency: "USD"}, f); v.Effect != Allow {
		t.Errorf("a note was counted against the budget of unknown types: %+v", v)
	}
}
