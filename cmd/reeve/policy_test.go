package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

const small = `version: 1
extends: default
rules:
  - id: small
    match: {types: [spend], amount: {currency: USD, max: 5000}}
    effect: allow
    instead_of: [spending]
    reason: Small sums are settled.
`

const never = "version: 1\nextends: default\nrules:\n  - {id: never, match: {types: [spend]}, effect: deny, reason: Not this month.}\n"

// TestAServerFollowsItsPolicyFile: no restart, nothing milder without an owner.
func TestAServerFollowsItsPolicyFile(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		p := newPlace(t, store)
		file := p.file(t, "policy.yaml", small)
		s := p.serve(t, "--policy", file)
		if store == "postgres" {
			p = p.with("REEVE_AUDIT_KEY=" + filepath.Join(p.dir, "reeve-data", "audit.key"))
		}
		person := s.personIn(t, p)
		if in := s.record(t, spending("First", 4900)); in.Status != "allowed" {
			t.Fatalf("the first policy of an account is taken as it is: %+v", in)
		}
		p.file(t, "policy.yaml", never)
		eventually(t, "the file that changed is loaded", func() bool { return strings.Contains(p.ok(t, "policy", "show"), "id: never") })
		denied := s.record(t, spending("Second", 4900))
		if denied.Status != "denied" {
			t.Errorf("%+v", denied)
		}
		p.file(t, "policy.yaml", small)
		eventually(t, "the log says that it loosens", func() bool { return strings.Contains(s.err.String(), "an owner has not accepted that") })
		if in := s.record(t, spending("Third", 4900)); in.Status != "denied" {
			t.Errorf("the file made the policy milder: %+v", in)
		}
		r := p.run(t, "policy", "load", "policy.yaml")
		r.refused(t, 1, "never", "small", "intent-"+number(denied.ID), "An owner accepts all of it with:", "has to accept each loosening")
		p.run(t, "policy", "load", "policy.yaml", "--accept", "small,never").refused(t, 1, "no terminal", "--token-file")
		person.run(t, "policy", "load", "policy.yaml", "--accept", "small,never").refused(t, 1, "intent-"+number(denied.ID))
		ids := acceptList(t, p)
		person.ok(t, "policy", "load", "policy.yaml", "--accept-file", p.file(t, "accept.txt", ids))
		if in := s.record(t, spending("Fourth", 4900)); in.Status != "allowed" {
			t.Errorf("%+v", in)
		}
		p.file(t, "policy.yaml", "version: 1\nrules: [{id: x}]\n")
		eventually(t, "the log says that the file is no policy", func() bool { return strings.Contains(s.err.String(), "was not loaded") })
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the log says that the file is gone", func() bool { return strings.Contains(s.err.String(), "cannot be read") })
		if in := s.record(t, spending("Fifth", 4900)); in.Status != "allowed" {
			t.Errorf("the policy that was loaded holds on: %+v", in)
		}
		p.file(t, "policy.yaml", never)
		s.signal(t, syscall.SIGHUP)
		eventually(t, "it is loaded again", func() bool { return strings.Contains(p.ok(t, "policy", "show"), "id: never") })
	})
}

func spending(title string, cents int) string {
	return `{"type":"spend","title":"` + title + `","amount_cents":` + number(int64(cents)) + `}`
}

// acceptList is what a simulation says has to be accepted, one id a line.
func acceptList(t *testing.T, p place) string {
	t.Helper()
	var out operator.Simulation
	decode(t, []byte(p.ok(t, "policy", "simulate", "--json", "policy.yaml")), &out)
	var ids []string
	for _, l := range out.Loosens {
		ids = append(ids, l.ID)
	}
	return strings.Join(ids, "\n") + "\n"
}

func TestALooseningFileDoesNotKeepAServerFromStarting(t *testing.T) {
	p := newPlace(t, "sqlite")
	first := p.serve(t, "--policy", p.file(t, "policy.yaml", never))
	first.record(t, spending("No", 100))
	first.signal(t, os.Interrupt)
	first.ended(t, 10*time.Second)
	p.file(t, "policy.yaml", small)
	again := p.serve(t, "--policy", "policy.yaml")
	again.agent = first.agent
	if out := again.out.String(); !strings.Contains(out, "WARNING: policy.yaml was NOT loaded") || !strings.Contains(out, "reeve policy load policy.yaml") {
		t.Errorf("it says:\n%s", out)
	}
	if in := again.record(t, spending("Still no", 100)); in.Status != "denied" {
		t.Errorf("%+v", in)
	}
}

func TestPoliciesAreTriedWithoutADatabase(t *testing.T) {
	p := newPlace(t, "sqlite")
	p.file(t, "policy.yaml", small)
	p.file(t, "action.json", spending("Ink", 4900))
	out := p.ok(t, "policy", "explain", "--policy", "policy.yaml", "action.json")
	for _, say := range []string{"There is no database here", "ALLOW: it would be carried out", "small", "in place of spending", "--all shows them"} {
		if !strings.Contains(out, say) {
			t.Errorf("it does not say %q:\n%s", say, out)
		}
	}
	if r := p.feed(t, `{"action":`+spending("Ink", 5100)+`}`, "policy", "explain", "--policy", "policy.yaml", "-"); r.code != 0 || !strings.Contains(r.out, "PARK: it would wait for a person.") || !strings.Contains(r.out, "at most 50.00 USD") {
		t.Errorf("%+v", r)
	}
	var explained operator.PolicyExplanation
	decode(t, []byte(p.ok(t, "policy", "explain", "--json", "action.json")), &explained)
	if explained.Verdict != operator.ExplainedPark || len(explained.Rules) != 15 {
		t.Errorf("%+v", explained)
	}
	p.feed(t, `{"type":"spend","tittle":"x"}`, "policy", "explain").refused(t, 1, "is not an action as JSON", "tittle")
	p.run(t, "policy", "explain", "none.json").refused(t, 1, "none.json cannot be read")
	p.run(t, "policy", "simulate", "policy.yaml").refused(t, 1, "there is no database")
	p.run(t, "policy", "load", "policy.yaml").refused(t, 1, "there is no database")
	whole := p.ok(t, "policy", "show", "--whole")
	if whole == p.ok(t, "policy", "show") || !strings.Contains(p.ok(t, "policy", "check", p.file(t, "whole.yaml", whole)), "15 rules") {
		t.Errorf("the whole policy is no file that stands alone:\n%s", whole)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "reeve-data")); err == nil {
		t.Error("it made the data folder")
	}
	large := p.file(t, "large.yaml", "version: 1 # "+strings.Repeat("x", 10<<20))
	p.run(t, "policy", "check", large).refused(t, 1, "larger than")
}

func TestACheckWarnsAndAStrictOneFails(t *testing.T) {
	p := newPlace(t, "sqlite")
	p.ok(t, "init")
	file := p.file(t, "policy.yaml", small+`  - id: two
    match: {types: [spend], amount: {currency: USD, min: 100000}}
    effect: requires_approval
    reason: Two people.
    approval: {quorum: 2, from: [owner]}
  - {id: night, match: {types: [note], outward: true}, effect: deny, reason: A note is never outward.}
`)
	out := p.ok(t, "policy", "check", file)
	for _, say := range []string{"is valid: 18 rules", "policy.yaml:9:5: rule two: it asks for 2 people of the roles owner, and the account has 1", "rule night"} {
		if !strings.Contains(out, say) {
			t.Errorf("it does not say %q:\n%s", say, out)
		}
	}
	if r := p.run(t, "policy", "check", "--strict", file); r.code != 1 || r.out != out {
		t.Errorf("%+v", r)
	}
}

// TestAPolicyFileIsLoadedWhenItsContentChangesAndAtNoOtherTick drives the look by hand.
func TestAPolicyFileIsLoadedWhenItsContentChangesAndAtNoOtherTick(t *testing.T) {
	name := filepath.Join(t.TempDir(), "policy.yaml")
	write := func(text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var loaded []string
	var fails error
	var log bytes.Buffer
	f := &policyFile{name: name, log: slog.New(slog.NewJSONHandler(&log, nil)), load: func(_ context.Context, _ string, text []byte) (operator.PolicyInfo, error) {
		loaded = append(loaded, string(text))
		return operator.PolicyInfo{}, fails
	}}
	tick := func() { f.look(t.Context(), false) }
	write("one")
	tick()
	write("two")
	tick()
	fails = errors.New("no")
	write("three")
	tick()
	os.Remove(name)
	tick()
	write("three")
	tick()
	fails = &operator.Refusal{Reason: operator.ReasonUnavailable}
	write("four")
	tick()
	fails = nil
	tick()
	tick()
	f.look(t.Context(), true)
	if got := strings.Join(loaded, " "); got != "one two three four four four" {
		t.Errorf("loaded %s", got)
	}
	// And so it does at a tick and at a signal.
	write("five")
	ctx, end := context.WithCancel(t.Context())
	ticks, again, done := make(chan time.Time), make(chan os.Signal), make(chan struct{})
	go func() { defer close(done); f.watch(ctx, ticks, again) }()
	ticks <- time.Time{}
	again <- syscall.SIGHUP
	end()
	if <-done; strings.Join(loaded[6:], " ") != "five five" {
		t.Errorf("%v", loaded)
	}
	if n := strings.Count(log.String(), "cannot be read"); n != 1 {
		t.Errorf("it says %d times that the file is gone", n)
	}
	for line := range strings.Lines(log.String()) {
		if !json.Valid([]byte(line)) {
			t.Error(line)
		}
	}
}
