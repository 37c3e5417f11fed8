package operator_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

// What twelve clients do to one intent at once, as one history that has to have an
// order in which each of them is answered rightly. Time is no part of the order: a
// call that began before a window ended may succeed, and one that was answered after
// it may be told that it lapsed.

// call is what a client asks.
type call struct {
	what   string
	before bool // it was answered before the window's end
	after  bool // it was asked after the window's end
}

// reply is what it was answered.
type reply struct {
	word   string // ok, none, lapsed, or the reason of a refusal
	status gate.Status
	id     int64 // of what was claimed
}

// pair is where the intent stands, and what an edit made of it.
type pair struct{ asked, edited gate.Status }

// open says which statuses each act may begin from.
var open = map[string][]gate.Status{
	"approve": {gate.StatusPendingApproval},
	"reject":  {gate.StatusPendingApproval},
	"ignore":  {gate.StatusPendingApproval},
	"edit":    {gate.StatusPendingApproval},
	"revoke":  {gate.StatusPendingApproval, gate.StatusApproved},
	"cancel":  {gate.StatusPendingApproval, gate.StatusApproved},
}

var leadsTo = map[string]gate.Status{"approve": gate.StatusApproved, "reject": gate.StatusRejected, "ignore": gate.StatusCancelled,
	"revoke": gate.StatusCancelled, "cancel": gate.StatusCancelled, "edit": gate.StatusSuperseded}

// intentModel is the contract: which answers are right in which state.
func intentModel(asked int64) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return pair{asked: gate.StatusPendingApproval} },
		Step: func(state, input, output any) (bool, any) {
			return step(asked, state.(pair), input.(call), output.(reply))
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
		DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
	}
}

func step(asked int64, s pair, c call, r reply) (bool, pair) {
	switch c.what {
	case "read":
		return r.status == s.asked, s
	case "sweep":
		return sweep(s, c, r)
	case "claim":
		return claim(asked, s, c, r)
	}
	mayBegin := isAmong(s.asked, open[c.what])
	switch r.word {
	case "ok":
		if !mayBegin || c.after {
			return false, s
		}
		s.asked = leadsTo[c.what]
		if c.what == "edit" {
			s.edited = gate.StatusApproved
		}
		return true, s
	case "window_lapsed": // several may find out at once; the record says so before they are answered
		if !mayBegin && s.asked != gate.StatusExpired || c.before {
			return false, s
		}
		s.asked = gate.StatusExpired
		return true, s
	case "version_race", "unavailable": // it is told to try again, and nothing was kept
		return true, s
	case "already_settled", "transition_not_allowed":
		return !mayBegin && r.status == s.asked, s
	}
	return false, s
}

// sweep may have found anything that is open once the window is over.
func sweep(s pair, c call, r reply) (bool, pair) {
	if c.before || r.word == "none" {
		return r.word == "none", s
	}
	if s.asked == gate.StatusPendingApproval || s.asked == gate.StatusApproved {
		s.asked = gate.StatusExpired
		return true, s
	}
	if s.edited == gate.StatusApproved {
		s.edited = gate.StatusExpired
		return true, s
	}
	return false, s
}

// claim may always find nothing: it passes over what somebody holds, and over what
// is not sealed yet. What it finds must be there.
func claim(asked int64, s pair, c call, r reply) (bool, pair) {
	switch {
	case r.word == "none":
		return true, s
	case c.after:
		return false, s
	case r.id == asked:
		ok := s.asked == gate.StatusApproved
		s.asked = gate.StatusExecuting
		return ok, s
	}
	ok := s.edited == gate.StatusApproved
	s.edited = gate.StatusExecuting
	return ok, s
}

func isAmong(s gate.Status, list []gate.Status) bool {
	for _, one := range list {
		if s == one {
			return true
		}
	}
	return false
}

// contest is one history in the making.
type contest struct {
	*operatortest.World
	other  *operator.Operator
	people []operator.Person
	in     operator.Intent
	ends   time.Time
	seed   uint64
}

var everyAct = []string{"approve", "reject", "ignore", "revoke", "edit", "cancel", "claim", "claim", "read", "sweep"}

// run lets twelve clients loose, three calls each; one of them moves the clock past
// the window in every other history.
func (c *contest) run() []porcupine.Operation {
	const clients, calls = 12, 3
	var mu sync.Mutex
	var history []porcupine.Operation
	began := time.Now()
	together(clients, func(i int) error {
		r := rand.New(rand.NewPCG(c.seed, uint64(i)))
		for n := range calls {
			if i == 0 && n == 1 && c.seed%2 == 0 {
				c.Clock.Set(c.ends.Add(time.Microsecond))
				continue
			}
			what := everyAct[r.IntN(len(everyAct))]
			asked := c.Clock.Now()
			from := time.Since(began).Nanoseconds()
			out, err := c.do(i, what)
			to := time.Since(began).Nanoseconds()
			in := call{what: what, before: c.Clock.Now().Before(c.ends), after: !asked.Before(c.ends)}
			if err != nil {
				return err
			}
			mu.Lock()
			history = append(history, porcupine.Operation{ClientId: i, Input: in, Call: from, Output: out, Return: to})
			mu.Unlock()
		}
		return nil
	})
	return history
}

func (c *contest) do(client int, what string) (reply, error) {
	ctx := context.Background()
	op, person := c.Operator, c.people[client%len(c.people)]
	if client%2 == 1 {
		op = c.other
	}
	acts := map[string]func() (operator.Intent, error){
		"approve": func() (operator.Intent, error) { return op.Approve(ctx, person, act(c.in)) },
		"reject":  func() (operator.Intent, error) { return op.Reject(ctx, person, act(c.in)) },
		"ignore":  func() (operator.Intent, error) { return op.Ignore(ctx, person, act(c.in)) },
		"revoke":  func() (operator.Intent, error) { return op.Revoke(ctx, person, act(c.in)) },
		"edit": func() (operator.Intent, error) {
			a := *c.in.Payload
			a.Body = fmt.Sprint("as edited by client ", client)
			return op.Edit(ctx, person, operator.EditInput{ID: c.in.ID, Digest: c.in.Digest, Action: a})
		},
		"cancel": func() (operator.Intent, error) {
			return op.UpdateIntent(ctx, c.Agent, operator.UpdateIntentInput{ID: c.in.ID, Status: "cancelled"})
		},
		"read": func() (operator.Intent, error) { return op.ShowIntent(ctx, person, c.in.ID) },
	}
	switch what {
	case "claim":
		got, err := op.Claim(ctx, c.Worker, operator.ClaimInput{Types: []string{c.in.ActionType}, LeaseSeconds: number(3600)})
		if err != nil || got.Job == nil {
			return reply{word: "none"}, err
		}
		return reply{word: "ok", id: got.Job.Intent.ID}, nil
	case "sweep":
		n, err := op.Sweep(ctx)
		if n == 0 {
			return reply{word: "none"}, err
		}
		return reply{word: "ok"}, err
	}
	out, err := acts[what]()
	var r *operator.Refusal
	if errors.As(err, &r) {
		status, _ := r.Details["status"].(gate.Status)
		return reply{word: string(r.Reason), status: status}, nil
	}
	return reply{word: "ok", status: out.Status}, err
}

// TestWhatTwelveClientsDoAtOnceHasAnOrder checks a hundred histories per store.
func TestWhatTwelveClientsDoAtOnceHasAnOrder(t *testing.T) {
	histories := 100
	if testing.Short() {
		histories = 10
	}
	seed := rand.Uint64()
	t.Logf("the seed is %d", seed)
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, nil)
		ctx := context.Background()
		mustHave(t, w.AddPerson(ctx, operator.NewPerson{Handle: "ana", Name: "Ana", Role: operator.RoleAdmin}))
		m := w.Mint(t, operator.NewCredential{Kind: operator.KindHuman, Name: "ana", Person: "ana", Scopes: operator.Scopes(), Life: operator.FirstLife})
		ana, err := w.PersonByCredential(ctx, m.Token, operator.ViaLibrary)
		mustHave(t, err)
		c := &contest{World: w, other: w.Again(t, nil), people: []operator.Person{w.Owner, ana}}
		for n := range histories {
			w.Clock.Advance(48 * time.Hour)
			_, err := w.Sweep(ctx)
			mustHave(t, err)
			in := w.Record(t, operator.RecordIntentInput{Action: gate.Action{Type: fmt.Sprintf("job_%d", n), Title: "Contested"}})
			if c.in, err = w.ShowIntent(ctx, w.Owner, in.ID); err != nil {
				t.Fatal(err)
			}
			c.ends, c.seed = *in.ExpiresAt, seed+uint64(n)
			history := c.run()
			if len(history) < 35 {
				t.Fatalf("history %d has %d calls: a client failed", n, len(history))
			}
			if !porcupine.CheckOperations(intentModel(in.ID), history) {
				for _, op := range history {
					t.Logf("client %2d, %8d to %8d: %+v -> %+v", op.ClientId, op.Call, op.Return, op.Input, op.Output)
				}
				t.Fatalf("history %d (seed %d) has no order", n, seed)
			}
		}
	})
}

// TestTheModelFindsWhatMustNotBe: a check that nothing could fail would show nothing.
func TestTheModelFindsWhatMustNotBe(t *testing.T) {
	ok := reply{word: "ok"}
	one := func(what string, r reply) porcupine.Operation {
		return porcupine.Operation{Input: call{what: what, before: true}, Output: r}
	}
	for name, history := range map[string][]porcupine.Operation{
		"two approvals":                        {one("approve", ok), one("approve", ok)},
		"approved and rejected":                {one("approve", ok), one("reject", ok)},
		"claimed without approval":             {one("claim", reply{word: "ok", id: 7})},
		"claimed twice":                        {one("approve", ok), one("claim", reply{word: "ok", id: 7}), one("claim", reply{word: "ok", id: 7})},
		"the asked and the edited both run":    {one("approve", ok), one("edit", ok), one("claim", reply{word: "ok", id: 7}), one("claim", reply{word: "ok", id: 8})},
		"told of a status that it never had":   {one("approve", ok), one("reject", reply{word: "already_settled", status: gate.StatusRejected})},
		"lapsed before its time":               {one("approve", reply{word: "window_lapsed"})},
		"read as pending after it was decided": {one("reject", ok), one("read", reply{word: "ok", status: gate.StatusPendingApproval})},
		"withdrawn after it was claimed":       {one("approve", ok), one("claim", reply{word: "ok", id: 7}), one("cancel", ok)},
	} {
		for i := range history { // one after the other
			history[i].Call, history[i].Return = int64(10*i), int64(10*i+5)
		}
		if porcupine.CheckOperations(intentModel(7), history) {
			t.Errorf("%s passes for right", name)
		}
	}
}
