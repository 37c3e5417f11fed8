package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/reeve-go/reeve/operator/operatortest"
)

func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Errorf("%v in %s", err, text)
	}
}

// TestTheMainJob is the whole way of a wish: an agent records it, the policy holds
// it back, a person approves it in the terminal, and of two workers that compete
// one carries it out, once.
func TestTheMainJob(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		p := newPlace(t, store)
		s := p.serve(t)
		person := s.personIn(t, p)

		in := s.record(t, renewal)
		if in.Status != "pending_approval" || in.PolicyDecision != "requires_approval" || len(in.PolicyReasons) == 0 || in.ApprovalDecisionID != nil ||
			!regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(in.IdempotencyKey) || strings.Join(in.Affordances, " ") != "accept edit respond ignore" || !in.Created {
			t.Errorf("recorded as %+v", in)
		}
		if again := s.record(t, renewal); again.ID != in.ID || again.Created {
			t.Errorf("recorded again as %+v", again)
		}

		list := person.ok(t, "inbox")
		if !strings.Contains(list, "49.00 USD") || !strings.Contains(list, "Annual plan renewal") || strings.Count(list, "\n") != 3 {
			t.Errorf("the inbox shows:\n%s", list)
		}
		shown := person.ok(t, "inbox", "show", number(in.ID))
		for _, want := range []string{"spend", "Annual plan renewal", "49.00 USD (4900 minor units)", "spending: ", "agent:agent", in.Digest} {
			if !strings.Contains(shown, want) {
				t.Errorf("show lacks %q:\n%s", want, shown)
			}
		}
		person.ok(t, "inbox", "approve", number(in.ID), "--digest", in.Digest, "--note", "fine")
		if got := s.look(t, in.ID); got.Status != "approved" || got.ApprovalDecisionID == nil || len(got.Affordances) != 0 {
			t.Errorf("after the approval: %+v", got)
		}

		effects := filepath.Join(p.dir, "effects")
		var workers sync.WaitGroup
		for range 2 {
			workers.Go(func() {
				p.ok(t, "work", "--once", "--handler", `spend=exec:echo "$REEVE_IDEMPOTENCY_KEY" >>`+effects+`; sleep 0.2; echo receipt 12`)
			})
		}
		workers.Wait()
		if got := read(t, effects); got != in.IdempotencyKey+"\n" {
			t.Errorf("the effects are %q, want one line %q", got, in.IdempotencyKey)
		}
		got := s.look(t, in.ID)
		if got.Status != "succeeded" || got.Outcome == nil || *got.Outcome != "receipt 12" {
			t.Errorf("in the end: %+v", got)
		}
		if again := s.record(t, renewal); again.ID != in.ID || again.Created || again.Status != "succeeded" {
			t.Errorf("the same wish again is %+v", again)
		}
		if list := person.ok(t, "inbox"); !strings.Contains(list, "Nothing waits") {
			t.Errorf("the inbox shows:\n%s", list)
		}
	})
}
