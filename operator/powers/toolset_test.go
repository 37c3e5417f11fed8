package powers_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/internal/core"
	"github.com/reeve-go/reeve/operator/powers"
)

// payment is what the rows that spend are asked for.
type payment struct {
	Cents *gate.Cents `json:"amount_cents" validate:"required" doc:"How much, in minor units."`
	To    string      `json:"to,omitzero" doc:"To whom; the vendor when left out."`
	Fail  string      `json:"fail,omitzero" doc:"How the row is to fail: refused, outage, race or panic."`
}

type did struct {
	Done bool `json:"done"`
}

type paid struct {
	Paid int64 `json:"paid"`
}

// testRows is a toolset that the product never serves: a row of every class, of
// several primitives, so that the mechanisms of the schedule can be seen at work.
type testRows struct {
	handled atomic.Int64 // how often a handler ran
}

func spec(name string, class powers.Class, primitive powers.Primitive) powers.Spec {
	method := "POST"
	if class == powers.Read {
		method = "GET"
	}
	return powers.Spec{Name: name, Title: "A row for tests", What: "Shows how a row of its class is served. Use it to test the schedule. Not for anything else, and the product has none of it.", Class: class, Primitive: primitive,
		Idempotent: class == powers.Read, Destructive: class == powers.Spend, OpenWorld: class == powers.Spend,
		Kinds:  []operator.Kind{operator.KindAgent, operator.KindWorker, operator.KindHuman},
		Scopes: []operator.Scope{operator.ScopeStateRead, operator.ScopeIntentsWrite},
		Routes: []powers.Route{{Method: method, Path: "/v1/" + name}}}
}

func (r *testRows) rows() []powers.Tool {
	plain := func(s powers.Spec) powers.Tool {
		return powers.Row(s, func(context.Context, operator.Principal, nothing) (did, error) {
			r.handled.Add(1)
			return did{true}, nil
		})
	}
	look := spec("test_look", powers.Read, "pipelines")
	look.AlwaysOn = true
	buy := spec("test_buy", powers.Spend, powers.Intents)
	buy.Kinds = []operator.Kind{operator.KindAgent}
	buy.Instead = []powers.Instead{{Tool: "test_pay", Why: "It pays by another way."}, {Tool: "test_read", Why: "It shows prices."}, {Tool: "test_brain", Why: "It knows."}}
	return []powers.Tool{
		plain(spec("test_read", powers.Read, "goals")), plain(look),
		plain(spec("test_write", powers.Write, "tasks")),
		plain(spec("test_gated", powers.Gated, "beliefs")),
		plain(spec("test_brain", powers.Write, "brain")),
		plain(spec("test_stop", powers.Brake, "pipelines")),
		powers.SpendRow(spec("test_pay", powers.Spend, "pipelines"), shapeOf, r.pay),
		powers.SpendRow(buy, shapeOf, r.pay),
		powers.ParkRow(powers.Row(spec("test_ask", powers.Write, "tasks"), r.pay), askFrom(10)),
		powers.ParkRow(powers.SpendRow(spec("test_order", powers.Spend, powers.Intents), shapeOf, r.pay), askFrom(10)),
	}
}

// askFrom asks a person from an amount on.
func askFrom(least int64) func(context.Context, operator.Principal, payment) (*operator.Question, error) {
	return func(_ context.Context, _ operator.Principal, in payment) (*operator.Question, error) {
		if int64(*in.Cents) < least {
			return nil, nil
		}
		return &operator.Question{Title: "Shall it?"}, nil
	}
}

// shapeOf says what a payment would do.
func shapeOf(in payment) []gate.Action {
	to := in.To
	if to == "" {
		to = "vendor@shop.example"
	}
	return []gate.Action{{Type: "spend", Title: "A payment", Recipient: to, AmountCents: in.Cents}}
}

func (r *testRows) pay(_ context.Context, _ operator.Principal, in payment) (paid, error) {
	r.handled.Add(1)
	switch in.Fail {
	case "refused":
		return paid{}, core.Refuse(core.ReasonNotFound, "There is no such vendor.")
	case "outage":
		return paid{}, core.Refuse(core.ReasonUnavailable, "The vendor does not answer.")
	case "race":
		return paid{}, core.Refuse(core.ReasonVersionRace, "Another one came first.")
	case "panic":
		panic("the vendor's answer")
	}
	return paid{Paid: int64(*in.Cents)}, nil
}

// withRows puts the test rows beside the real ones.
func (w *world) withRows() *testRows {
	w.t.Helper()
	r := &testRows{}
	w.Schedule = w.scheduleOf(w.Operator, r)
	return r
}

func (w *world) scheduleOf(op *operator.Operator, r *testRows) *powers.Schedule {
	w.t.Helper()
	s, err := powers.WithRows(op, r.rows()...)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) named(name string) *powers.Tool {
	w.t.Helper()
	for _, tool := range w.Tools() {
		if tool.Name == name {
			return tool
		}
	}
	w.t.Fatalf("no row is called %s", name)
	return nil
}

// kit puts a kit in place, as the owner.
func (w *world) kit(in operator.KitInput) {
	w.t.Helper()
	if _, err := w.SetKit(context.Background(), w.Owner, in); err != nil {
		w.t.Fatal(err)
	}
}

// The product itself has nothing that spends yet: who adds such a row has to think
// of both locks, and of this test.
func TestTheProductServesNoRowThatSpends(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	for _, tool := range w.Tools() {
		if tool.Class == powers.Spend || tool.Toolset == "test" {
			t.Errorf("%s of class %s, toolset %s", tool.Name, tool.Class, tool.Toolset)
		}
	}
	w.withRows()
	for _, class := range []powers.Class{powers.Read, powers.Write, powers.Gated, powers.Gate, powers.Spend, powers.Brake} {
		if !slices.ContainsFunc(w.Tools(), func(t *powers.Tool) bool { return t.Class == class }) {
			t.Errorf("the tests have no row of class %s", class)
		}
	}
}
