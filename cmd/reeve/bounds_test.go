package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		if r := p.run(t, "work", "--once", "--handler", "spend=exec:cat >> carried"); r.code != 0 {
			t.Errorf("%+v", r)
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
