package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator/operatortest"
)

// there says whether a file stands in the place.
func there(p place, name string) bool {
	_, err := os.Stat(filepath.Join(p.dir, name))
	return err == nil
}

func TestAPersonFreezesAndLiftsItInATerminal(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	person := s.personIn(t, p)
	for _, scope := range [][]string{{}, {"--account"}} {
		s.approve(t, person, `{"type":"spend","title":"Frozen`+strings.Join(scope, "")+`","amount_cents":5}`)
		if r := person.run(t, append([]string{"freeze", "Something is wrong"}, scope...)...); r.code != 0 || !strings.Contains(r.out, "Frozen: nothing that reaches outside is begun") {
			t.Fatalf("%+v", r)
		}
		if r := p.run(t, "work", "--once", "--handler", "spend=exec:cat >> carried"); r.code != 0 || !strings.Contains(r.err, "Something is wrong") {
			t.Errorf("%+v", r)
		}
		if list := person.ok(t, "inbox"); !strings.Contains(list, "Frozen: nothing that reaches outside is begun") || !strings.Contains(list, "human:owner: Something is wrong") {
			t.Errorf("the inbox does not say it:\n%s", list)
		}
		if there(p, "carried") {
			t.Error("it was carried out while frozen")
		}
		if r := person.run(t, append([]string{"unfreeze"}, scope...)...); r.code != 0 || !strings.Contains(r.out, "is lifted") {
			t.Fatalf("%+v", r)
		}
		if r := person.run(t, append([]string{"unfreeze"}, scope...)...); r.code != 1 || !strings.Contains(r.err, "stands") {
			t.Errorf("%+v", r)
		}
		if r := p.run(t, "work", "--once", "--handler", "spend=exec:cat >> carried"); r.code != 0 || !there(p, "carried") {
			t.Errorf("once it is lifted: %+v", r)
		}
		if err := os.Remove(filepath.Join(p.dir, "carried")); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAPersonKeepsStandingApprovalsInATerminal(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	person := s.personIn(t, p)
	if r := person.run(t, "standing", "give", "--type", "spend", "--to", "domain:vendor.example", "--max-cents", "100", "--window", "month", "--window-cents", "250",
		"--instead-of", "spending", "--for", "720h", "Small things there"); r.code != 0 || !strings.Contains(r.out, "up to 1.00 USD and 2.50 USD a month") {
		t.Fatalf("%+v", r)
	}
	if in := s.record(t, `{"type":"spend","title":"Pens","recipient":"shop@vendor.example","amount_cents":100}`); in.Status != "allowed" {
		t.Errorf("%+v", in)
	}
	if r := person.run(t, "standing", "list"); r.code != 0 || !strings.Contains(r.out, "human:owner: Small things there") {
		t.Errorf("%+v", r)
	}
	if r := person.run(t, "standing", "revoke", "1"); r.code != 0 || !strings.Contains(r.out, "human:owner took it back") {
		t.Errorf("%+v", r)
	}
	if in := s.record(t, `{"type":"spend","title":"Ink","recipient":"shop@vendor.example","amount_cents":100}`); in.Status != "pending_approval" {
		t.Errorf("%+v", in)
	}
	if r := person.run(t, "standing", "give", "--type", "spend", "--instead-of", "spending", "--for", "720h", "No bound"); r.code != 1 || !strings.Contains(r.err, "max_cents") {
		t.Errorf("%+v", r)
	}
}

// TestOfAHundredSpendsThroughTwoServersABudgetOfNinetyNineLetsNinetyNinePass has two
// processes on one database, fifty callers each.
func TestOfAHundredSpendsThroughTwoServersABudgetOfNinetyNineLetsNinetyNinePass(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		p := newPlace(t, store)
		file := p.file(t, "policy.yaml", `
version: 1
extends: default
caps: [{currency: USD, max: 99, window: year}]
rules:
  - {id: units, match: {types: [spend]}, effect: allow, instead_of: [spending], reason: A unit is settled.}
`)
		first := p.serve(t, "--policy", file)
		if store == "postgres" { // the second process seals under the same key
			p = p.with("REEVE_AUDIT_KEY=" + filepath.Join(p.dir, "reeve-data", "audit.key"))
		}
		second := p.serve(t)
		second.agent = first.agent
		var mu sync.Mutex
		var all sync.WaitGroup
		got := map[string]int{}
		for i := range 100 {
			s := first
			if i%2 == 1 {
				s = second
			}
			all.Go(func() {
				in := s.record(t, fmt.Sprintf(`{"type":"spend","title":"Unit %d","amount_cents":1}`, i))
				mu.Lock()
				got[in.Status]++
				mu.Unlock()
			})
		}
		all.Wait()
		if got["allowed"] != 99 || got["denied"] != 1 {
			t.Errorf("%v", got)
		}
	})
}

// TestWhatStopsAndWhatLooksNeedsNoAuditKey: the key was lost, and something has to stop
// all the same. With the server gone nobody seals; what was done stands, and says so.
func TestWhatStopsAndWhatLooksNeedsNoAuditKey(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	person := s.personIn(t, p)
	person.ok(t, "standing", "give", "--type", "spend", "--to", "domain:vendor.example", "--max-cents", "100", "--window", "month", "--window-cents", "250",
		"--instead-of", "spending", "--for", "720h", "Small things")
	person.ok(t, "grant", "give", "--for", "720h", "agent:agent", "It may")
	in := s.record(t, `{"type":"send","title":"Hi","recipient":"bo@elsewhere.example","body":"x"}`)
	id := number(in.ID)
	s.signal(t, os.Interrupt)
	s.ended(t, time.Minute)
	if err := os.Rename(filepath.Join(p.dir, "reeve-data", "audit.key"), filepath.Join(p.dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	for _, looks := range [][]string{{"inbox"}, {"inbox", "show", id}, {"standing", "list"}, {"grant", "list"}} {
		if r := person.run(t, looks...); r.code != 0 || r.err != "" {
			t.Errorf("%v: %+v", looks, r)
		}
	}
	for _, looks := range [][]string{{"token", "list"}, {"people", "list"}, {"project", "list"}, {"kit", "show"}} {
		if r := p.run(t, looks...); r.code != 0 || r.err != "" {
			t.Errorf("%v: %+v", looks, r)
		}
	}
	person.run(t, "inbox", "approve", id, "--digest", in.Digest).refused(t, 1, "audit.key")
	for said, stops := range map[string][]string{
		"Frozen":                      {"freeze", "The key is gone"},
		"took it back":                {"standing", "revoke", "1"},
		"Intent " + id + " is cancel": {"inbox", "revoke", id, "--digest", in.Digest},
	} {
		r := person.run(t, stops...)
		if r.code != 0 || !strings.Contains(r.out, said) || !strings.Contains(r.err, "audit.key") || !strings.Contains(r.err, "stands already") || !strings.Contains(r.err, "not sealed yet") {
			t.Errorf("%v: %+v", stops, r)
		}
	}
	if r := person.run(t, "grant", "revoke", "1", "--json"); r.code != 0 || !strings.Contains(r.out, `"revoked_by": "human:owner"`) || !strings.Contains(r.err, "not sealed yet") {
		t.Errorf("%+v", r)
	}
	for _, stops := range [][]string{{"kit", "set", "board=off"}, {"token", "revoke", "agent:agent"}} {
		if r := p.run(t, stops...); r.code != 0 || !strings.Contains(r.err, "audit.key") {
			t.Errorf("%v: %+v", stops, r)
		}
	}
}
