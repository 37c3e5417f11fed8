package gate

import (
	"testing"
	"time"
)

func TestAWindowHasAName(t *testing.T) {
	madrid, err := time.LoadLocation("Europe/Madrid")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at   string
		zone *time.Location
		want map[Window]string
	}{
		{"2026-03-03T12:00:00Z", time.UTC, map[Window]string{PerDay: "2026-03-03", PerWeek: "2026-W10", PerMonth: "2026-03", PerYear: "2026", PerAct: "", "fortnight": ""}},
		{"2026-12-31T23:30:00Z", madrid, map[Window]string{PerDay: "2027-01-01", PerWeek: "2026-W53", PerMonth: "2027-01", PerYear: "2027"}},
		{"2027-01-03T12:00:00Z", time.UTC, map[Window]string{PerWeek: "2026-W53", PerYear: "2027"}},
		{"2027-01-04T00:00:00Z", time.UTC, map[Window]string{PerWeek: "2027-W01"}},
		{"2026-03-03T12:00:00Z", nil, map[Window]string{PerDay: "", PerYear: ""}},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		for w, want := range c.want {
			if got := w.Name(at, c.zone); got != want {
				t.Errorf("the %s of %s in %v is %q, want %q", w, c.at, c.zone, got, want)
			}
		}
	}
}

// TestAWindowsNameChangesWhereItsBoundsDo walks over two years of a zone that moves
// its clocks at midnight.
func TestAWindowsNameChangesWhereItsBoundsDo(t *testing.T) {
	for _, name := range []string{"America/Havana", "Africa/Cairo", "Asia/Beirut", "America/Asuncion", "Australia/Lord_Howe", "Pacific/Apia", "UTC"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for at := time.Date(2011, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() < 2028; at = at.Add(7*time.Hour + 20*time.Minute) {
			for _, w := range []Window{PerDay, PerWeek, PerMonth, PerYear} {
				from, to := w.Bounds(at, zone)
				if from.After(at) || !to.After(at) {
					t.Fatalf("%s, %s: %v is not within %v to %v", name, w, at, from, to)
				}
				here := w.Name(at, zone)
				if w.Name(from, zone) != here || w.Name(to.Add(-time.Microsecond), zone) != here || w.Name(to, zone) == here || w.Name(from.Add(-time.Microsecond), zone) == here {
					t.Fatalf("%s, %s of %v: the name %s does not change with the bounds %v to %v", name, w, at, here, from, to)
				}
			}
		}
	}
}

func TestEachPrincipalsBudgetIsCountedByItself(t *testing.T) {
	p, err := LoadPolicy("test.yaml", []byte(`
version: 1
caps: [{currency: USD, max: 100, window: day, each: principal}]
rules:
  - {id: all, match: {types: [spend]}, effect: allow, reason: Settled.}
`))
	if err != nil {
		t.Fatal(err)
	}
	amount := Cents(60)
	spend := Action{Type: "spend", Title: "t", AmountCents: &amount, Currency: "USD"}
	facts := func(principal string, each Each, used Cents) Facts {
		return Facts{Principal: principal, Currency: "USD", Committed: []Commitment{{Window: PerDay, Currency: "USD", Each: each, Cents: used}}}
	}
	for name, c := range map[string]struct {
		f    Facts
		want Effect
	}{
		"within its own":                   {facts("agent:a", EachPrincipal, 40), Allow},
		"beyond its own":                   {facts("agent:a", EachPrincipal, 41), Deny},
		"what the account used is not it":  {facts("agent:a", EachAccount, 0), Deny},
		"nobody has a budget of their own": {facts("", EachPrincipal, 0), Deny},
	} {
		v := p.Evaluate(spend, c.f)
		if v.Effect != c.want || (len(v.Passed) == 1) != (c.want == Deny) {
			t.Errorf("%s: %s, passed %+v", name, v.Effect, v.Passed)
		}
	}
}
