package gate

import (
	"strings"
	"testing"
	"time"
)

// ruleSays runs one rule by itself, as an allow and as a deny.
func ruleSays(m Match, a Action, f Facts) (asAllow, asDeny bool) {
	s := newSubject(&a, &f)
	allow, deny := Rule{ID: "r", Effect: Allow, Match: m}, Rule{ID: "r", Effect: Deny, Match: m}
	return allow.applies(&s), deny.applies(&s)
}

func TestARecipientPatternMatchesWhatItSays(t *testing.T) {
	for _, c := range []struct {
		pattern, recipient string
		asAllow, asDeny    bool
	}{
		{"a@x.example", "a@x.example", true, true},
		{"a@x.example", "a@X.EXAMPLE", true, true},
		{"a@x.example", "A@x.example", false, true}, // the far side decides whether A is a
		{"a@x.example", "b@x.example", false, false},
		{"a@x.example", "a@x.example.evil", false, false},
		{"*@x.example", "anybody@x.example", true, true},
		{"*@x.example", "@x.example", true, true},
		{"*@x.example", "a@b@x.example", false, true}, // may be read in two ways
		{"*@x.example", "a@sub.x.example", false, false},
		{"*@x.example", "evil@y.example,a@x.example", false, true},
		{"*@x.example", "a@x.example ", false, true},
		{"*@x.example", "<a@x.example>", false, true},
		{"*@x.example", "a@x.example.", false, true},
		{"*@*.x.example", "a@b.x.example", true, true},
		{"bill-*@x.example", "bill-7@x.example", true, true},
		{"bill-*@x.example", "BILL-7@x.example", false, true},
		{"domain:x.example", "a@x.example", true, true},
		{"domain:x.example", "a@X.Example", true, true},
		{"domain:x.example", "x.example", true, true},
		{"domain:x.example", "a@sub.x.example", false, false},
		{"domain:x.example", "a@xx.example", false, false},
		{"domain:x.example", "https://x.example/pay", false, true},
		{"domain:x.example", "a@x.example;b@y.example", false, true},
		{"domain:x.example", "a@х.example", false, false},
		{"domain:x.example", "a@ｘ.example", false, false},
		{"https://x.example/*", "https://x.example/pay", true, true},
		{"https://x.example/*", "https://x.example@evil.example/", false, true},
		{"domain:x.example", "https://evil.example/@x.example", false, true},
		{"*@x.example", "evil.example?@x.example", false, true},
		{"#ops-*", "#ops-de", true, true},
		{"Team, Ops", "Team, Ops", true, true}, // exact is exact
		{"*", "", false, true},
		{"a@x.example", "", false, true},
	} {
		allow, deny := ruleSays(Match{Recipients: []string{"other.example", c.pattern}}, Action{Recipient: c.recipient}, Facts{})
		if allow != c.asAllow || deny != c.asDeny {
			t.Errorf("%q on %q: as an allow %v, as a deny %v", c.pattern, c.recipient, allow, deny)
		}
	}
}

func TestAGlobMatchesLikeThePlainDefinition(t *testing.T) {
	rnd := seeded(t)
	var plain func(p, s string) bool
	plain = func(p, s string) bool {
		if p == "" {
			return s == ""
		}
		if p[0] == '*' {
			return plain(p[1:], s) || (s != "" && s[0] != '@' && plain(p, s[1:]))
		}
		return s != "" && s[0] == p[0] && plain(p[1:], s[1:])
	}
	text := func(letters string, n int) string {
		b := make([]byte, rnd.IntN(n))
		for i := range b {
			b[i] = letters[rnd.IntN(len(letters))]
		}
		return string(b)
	}
	for range 50_000 {
		p, s := text("ab@*", 7), text("ab@", 9)
		if got := glob(p, s, false); got != plain(p, s) {
			t.Fatalf("glob(%q, %q) = %v", p, s, got)
		}
	}
}

func TestHoursAreReadFromTheWallClockOfTheAccount(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zone data: ", err)
	}
	night := Match{Hours: &Hours{From: 22 * 60, To: 7 * 60}}
	early := Match{Hours: &Hours{From: 2 * 60, To: 3 * 60}}
	late := Match{Hours: &Hours{From: 20 * 60, To: 24 * 60}}
	for _, c := range []struct {
		name  string
		match Match
		utc   string
		want  bool
	}{
		{"a minute before ten is day", night, "2026-01-10T20:59:59Z", false},
		{"ten is night", night, "2026-01-10T21:00:00Z", true},
		{"midnight is night", night, "2026-01-10T23:00:00Z", true},
		{"a minute before seven is night", night, "2026-01-11T05:59:59Z", true},
		{"seven is day", night, "2026-01-11T06:00:00Z", false},
		{"ten in summer is an hour earlier in UTC", night, "2026-07-10T20:00:00Z", true},
		{"seven in summer too", night, "2026-07-10T05:00:00Z", false},
		{"the hour that is skipped never comes", early, "2026-03-29T01:00:00Z", false},
		{"the minute before it was one o'clock", early, "2026-03-29T00:59:00Z", false},
		{"the hour that comes twice counts once", early, "2026-10-25T00:30:00Z", true},
		{"and again", early, "2026-10-25T01:30:00Z", true},
		{"and is over then", early, "2026-10-25T02:00:00Z", false},
		{"the end of the day is midnight", late, "2026-01-10T22:59:00Z", true},
		{"which belongs to the next", late, "2026-01-10T23:00:00Z", false},
	} {
		now, err := time.Parse(time.RFC3339, c.utc)
		if err != nil {
			t.Fatal(err)
		}
		allow, deny := ruleSays(c.match, Action{}, Facts{Now: now, Zone: berlin})
		if allow != c.want || deny != c.want {
			t.Errorf("%s: %v, %v", c.name, allow, deny)
		}
	}
}

func TestAFactThatIsMissingCountsAgainstTheAction(t *testing.T) {
	now := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	day := Match{Hours: &Hours{From: 0, To: 24 * 60}}
	usd := Match{Amount: &AmountRange{Currency: "USD", Max: cents(100)}}
	for name, c := range map[string]struct {
		match  Match
		action Action
		facts  Facts
	}{
		"the time":               {day, Action{}, Facts{Zone: time.UTC}},
		"the zone":               {day, Action{}, Facts{Now: now}},
		"the principal":          {Match{Principals: []string{"p"}}, Action{}, Facts{}},
		"the currency":           {usd, Action{AmountCents: cents(1)}, Facts{}},
		"a positive amount":      {usd, Action{AmountCents: cents(-1), Currency: "USD"}, Facts{}},
		"an amount within range": {usd, Action{AmountCents: cents(MaxCents + 1), Currency: "USD"}, Facts{}},
		"one reading of it":      {usd, Action{AmountCents: cents(1), Amount: "2.00 USD"}, Facts{}},
	} {
		if allow, deny := ruleSays(c.match, c.action, c.facts); allow || !deny {
			t.Errorf("without %s: as an allow %v, as a deny %v", name, allow, deny)
		}
	}
}

func TestTheOtherConditionsHoldOrNot(t *testing.T) {
	yesFlag, noFlag := true, false
	for name, c := range map[string]struct {
		match  Match
		action Action
		want   bool
	}{
		"a label":                   {Match{Labels: []string{"a", "b"}}, Action{Labels: []string{"x", "b"}}, true},
		"no such label":             {Match{Labels: []string{"a"}}, Action{Labels: []string{"A"}}, false},
		"the principal":             {Match{Principals: []string{"agent-1"}}, Action{}, true},
		"another principal":         {Match{Principals: []string{"agent-2"}}, Action{}, false},
		"clean":                     {Match{Tainted: &noFlag}, Action{}, true},
		"not clean":                 {Match{Tainted: &noFlag}, Action{TaintedBy: []string{"o"}}, false},
		"inside":                    {Match{Outside: &noFlag}, Action{Type: "send", Recipient: "a@own.example"}, true},
		"not inside, being nobody":  {Match{Outside: &noFlag}, Action{Type: "send"}, false},
		"internal work has no side": {Match{Outside: &noFlag}, Action{Type: "note"}, true},
		"outward":                   {Match{Outward: &yesFlag}, Action{Type: "send"}, true},
		"not outward":               {Match{Outward: &noFlag}, Action{Type: "send"}, false},
		"within the amount":         {Match{Amount: &AmountRange{Currency: "USD", Min: cents(5), Max: cents(9)}}, Action{AmountCents: cents(9)}, true},
		"below the amount":          {Match{Amount: &AmountRange{Currency: "USD", Min: cents(5)}}, Action{AmountCents: cents(4)}, false},
		"of no amount":              {Match{Amount: &AmountRange{Currency: "USD", Min: cents(5)}}, Action{}, false},
		"all that is asked":         {Match{Types: []string{"send"}, Labels: []string{"a"}}, Action{Type: "send"}, false},
		"nothing is asked":          {Match{}, Action{}, true},
	} {
		if allow, deny := ruleSays(c.match, c.action, atHome()); allow != c.want || deny != c.want {
			t.Errorf("%s: %v, %v", name, allow, deny)
		}
	}
}

func TestAStandingApprovalIsABoundedAllow(t *testing.T) {
	f := atHome()
	f.Standing = []Rule{{
		ID: "standing-7", Effect: Allow, InsteadOf: []string{"spending"}, Reason: "Ada settled hosting until April.",
		Match:  Match{Types: []string{"spend"}, Recipients: []string{"domain:host.example"}, Amount: &AmountRange{Currency: "USD", Max: cents(2000)}},
		Budget: &Budget{Window: PerMonth, Currency: "USD", Max: 3000}, Until: f.Now.Add(time.Hour),
	}}
	used := func(c Cents) Facts {
		g := f
		g.Committed = []Commitment{{Rule: "standing-7", Window: PerMonth, Currency: "USD", Cents: c}}
		return g
	}
	changed := func(change func(*Rule)) Facts {
		g := used(0)
		r := g.Standing[0]
		change(&r)
		g.Standing = []Rule{r}
		return g
	}
	spend := spendAt("bill@host.example", 2000, "USD")
	for sentence, c := range map[string]struct {
		facts Facts
		want  string
	}{
		"it stands in while it lasts":          {used(0), "allow: spending, standing-7"},
		"it stands in up to its window":        {used(1000), "allow: spending, standing-7"},
		"it is silent beyond its window":       {used(1001), "requires_approval: spending"},
		"it is silent where nobody counted":    {f, "requires_approval: spending"},
		"it is silent at its end":              {changed(func(r *Rule) { r.Until = f.Now }), "requires_approval: spending"},
		"it is silent with no end":             {changed(func(r *Rule) { r.Until = time.Time{} }), "requires_approval: spending"},
		"it is silent about other amounts":     {changed(func(r *Rule) { r.Match.Amount = &AmountRange{Currency: "USD", Max: cents(1999)} }), "requires_approval: spending"},
		"one with no effect at all refuses":    {changed(func(r *Rule) { r.Effect = 0 }), "deny: spending, standing-7"},
		"one that holds back is heard as well": {changed(func(r *Rule) { r.Effect = Deny }), "deny: spending, standing-7"},
	} {
		if got := judged(DefaultPolicy().Evaluate(spend, c.facts)); got != c.want {
			t.Errorf("%s: got %s, want %s", sentence, got, c.want)
		}
	}
	noClock := used(0)
	noClock.Now = time.Time{}
	if got := DefaultPolicy().Decide(spend, noClock); got != RequiresApproval {
		t.Errorf("with no clock it still stands in: %s", got)
	}
	nameless := changed(func(r *Rule) { r.Reason = "" })
	v := DefaultPolicy().Evaluate(spend, nameless)
	if text := v.Reasons[len(v.Reasons)-1].Text; text != "Rule standing-7 says allow." {
		t.Errorf("a rule with no reason gives %q", text)
	}
	if v := DefaultPolicy().Evaluate(spend, f); len(v.Exhausted) != 1 || v.Exhausted[0] != "standing-7" {
		t.Errorf("nothing says that it is used up: %+v", v)
	}
	if len(v.Budgets) != 1 || v.Budgets[0].Rule != "standing-7" {
		t.Errorf("reserve in %+v", v.Budgets)
	}
}

func TestAStandingApprovalIsCheckedLikeARuleAndNeedsBounds(t *testing.T) {
	good := Rule{ID: "s", Effect: Allow, Reason: "Ada settled it.", Match: Match{Types: []string{"spend"}}, Until: atHome().Now}
	if err := CheckStanding(good); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Rule){
		"is an allow":          func(r *Rule) { r.Effect = RequiresApproval },
		"names the types":      func(r *Rule) { r.Match = Match{Labels: []string{"l"}} },
		"has an end":           func(r *Rule) { r.Until = time.Time{} },
		"has no reason":        func(r *Rule) { r.Reason = "" },
		"an id is made of":     func(r *Rule) { r.ID = strings.Repeat("a", 65) },
		"budget: max lies":     func(r *Rule) { r.Budget = &Budget{Window: PerDay, Currency: "USD"} },
		"give the currency as": func(r *Rule) { r.Match.Amount = &AmountRange{Max: cents(1)} },
	} {
		r := good
		change(&r)
		if err := CheckStanding(r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestWindowsAreThoseOfTheLocalCalendar(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zone data: ", err)
	}
	now := time.Date(2026, 3, 29, 22, 30, 0, 0, time.UTC) // Monday 00:30 in Berlin, after the clocks went forward
	for w, want := range map[Window][2]string{
		PerDay:   {"2026-03-30T00:00:00+02:00", "2026-03-31T00:00:00+02:00"},
		PerWeek:  {"2026-03-30T00:00:00+02:00", "2026-04-06T00:00:00+02:00"},
		PerMonth: {"2026-03-01T00:00:00+01:00", "2026-04-01T00:00:00+02:00"},
		PerYear:  {"2026-01-01T00:00:00+01:00", "2027-01-01T00:00:00+01:00"},
	} {
		from, to := w.Bounds(now, berlin)
		if got := [2]string{from.Format(time.RFC3339), to.Format(time.RFC3339)}; got != want {
			t.Errorf("%s: %v", w, got)
		}
	}
	sunday := time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC)
	if from, _ := PerWeek.Bounds(sunday, berlin); from.Day() != 23 {
		t.Errorf("a Sunday belongs to the week of %v", from)
	}
	for _, w := range []Window{PerAct, "fortnight"} {
		if from, to := w.Bounds(now, berlin); !from.IsZero() || !to.IsZero() {
			t.Errorf("%q has bounds", w)
		}
	}
	if from, _ := PerDay.Bounds(now, nil); !from.IsZero() {
		t.Error("a window with no zone has bounds")
	}
}

func TestOwnAddressesAreComparedExactly(t *testing.T) {
	f := Facts{Inside: []string{"own.example", "Me@mail.example", ""}}
	for recipient, inside := range map[string]bool{
		"own.example": true, "a@own.example": true, "a@OWN.example": true, "Me@mail.example": true, "Me@MAIL.example": true,
		"me@mail.example": false, "you@mail.example": false, "mail.example": false, "a@own.example.evil": false,
		"a@own.example@evil.example": false, "a@evil.example@own.example": false, `"x@evil" <a@own.example>`: false,
		"a@own.example,b@evil.example": false, "a@own.example.": false, "a@оwn.example": false, " a@own.example": false,
		"https://own.example": false, "a%evil.example@own.example": false, "evil.example!a@own.example": false, "https://evil.example/@own.example": false,
		"evil.example?a@own.example": false, "evil.example#@own.example": false, "ssh:evil.example:@own.example": false,
	} {
		a := Action{Type: "send", Recipient: recipient}
		if got := !f.outside(&a); got != inside {
			t.Errorf("%q counts as inside: %v", recipient, got)
		}
	}
}
