package main

import (
	"strings"
	"testing"
)

func TestAPersonGivesAndTakesBackASpendingGrantInATerminal(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	person := s.personIn(t, p)
	if r := person.run(t, "grant", "give", "--for", "24h", "--limit-cents", "5000", "agent:agent", "A day of small things"); r.code != 0 ||
		!strings.Contains(r.out, "agent:agent, 0.00 USD of 50.00 USD; until ") || !strings.Contains(r.out, "human:owner: A day of small things") {
		t.Fatalf("%+v", r)
	}
	if r := person.run(t, "grant", "give", "--for", "9000h", "agent:agent", "More than a year"); r.code != 1 || !strings.Contains(r.err, "366 days") {
		t.Errorf("%+v", r)
	}
	if r := person.run(t, "grant", "revoke", "1"); r.code != 0 || !strings.Contains(r.out, "human:owner took it back") {
		t.Errorf("%+v", r)
	}
	if r := person.run(t, "grant", "list"); r.code != 0 || !strings.Contains(r.out, "1  agent:agent") {
		t.Errorf("%+v", r)
	}
	if r := p.run(t, "grant", "list"); r.code == 0 {
		t.Errorf("without a person's credential: %+v", r)
	}
}
