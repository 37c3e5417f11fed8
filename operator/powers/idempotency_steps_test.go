package powers_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

// keyedly calls a row that spends under a key.
func (w *world) keyedly(c powers.Caller, key, raw string) reply {
	w.t.Helper()
	return read(w.t, w.Call(operator.WithIdempotencyKey(w.t.Context(), key), c, "test_buy", []byte(raw)))
}

// spending is a world with an agent that may spend up to a dollar.
func spending(t *testing.T, store string, opts *operator.Options) (*world, *testRows, powers.Caller) {
	t.Helper()
	w := newWorld(t, store, opts)
	rows := w.withRows()
	c := w.full(operator.KindAgent)
	w.grant(c.Principal.ID(), cents(100))
	return w, rows, c
}

func TestACallThatSpendsIsMadeOncePerKey(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w, rows, c := spending(t, store, nil)
		first := w.Call(keyed(t, "k"), c, "test_buy", []byte(pay(30, "")))
		if !first.OK || first.Replayed || w.used() != "30" {
			t.Fatalf("%s used: %s", w.used(), first.JSON)
		}
		before, n := w.digest(), w.lines()
		for _, face := range []powers.Face{powers.FaceREST, powers.FaceLibrary} {
			c.Face = face
			if again := w.Call(keyed(t, "k"), c, "test_buy", []byte(" "+pay(30, "")+" ")); !again.OK || !again.Replayed || !bytes.Equal(again.JSON, first.JSON) || again.Status != first.Status {
				t.Errorf("over %s: %+v %s", face, again, again.JSON)
			}
		}
		if w.digest() != before || w.lines() != n || rows.handled.Load() != 1 {
			t.Errorf("a repetition changed something; the handler ran %d times", rows.handled.Load())
		}
		for name, c2 := range map[string]struct{ key, raw, reason string }{
			"other arguments": {"k", pay(31, ""), "idempotency_key_reused"},
			"a malformed key": {"a b", pay(1, ""), "invalid_value"},
			"an empty key":    {"", pay(1, ""), "invalid_value"},
		} {
			w.refuses(t, name, c, c2.reason, nil, func() reply { return w.keyedly(c, c2.key, c2.raw) })
		}
		if r := w.keyedly(c, "another", pay(30, "")); !r.OK || r.Replayed || rows.handled.Load() != 2 || w.used() != "60" {
			t.Errorf("another key is another call: %s", r.JSON)
		}
	})
}

func TestARefusedSpendLeavesItsKeyFree(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w, rows, c := spending(t, store, loaded(t, `rules: [{id: no, match: {recipients: ["x@casino.example"]}, effect: deny, reason: Not there.}]`))
		for _, step := range []struct{ raw, reason string }{
			{`{}`, "missing_field"},
			{`{"amount_cents":`, "not_json"},
			{pay(101, ""), "spending_limit_reached"},
			{pay(1, `,"to":"x@casino.example"`), "denied_by_policy"},
			{pay(1, `,"fail":"refused"`), "not_found"}, // by its handler: a decision, and its money is given back
			{pay(1, `,"fail":"race"`), "version_race"}, // rolled back whole
		} {
			for range 2 {
				if r := w.keyedly(c, "k", step.raw); r.env.Reason != step.reason || w.stored() != "0" {
					t.Errorf("%s: %s rows, %s", step.raw, w.stored(), r.JSON)
				}
			}
		}
		w.freeze("account")
		w.keyedly(c, "k", pay(1, "")).wants(t, "frozen")
		w.unfreeze("account")
		n := rows.handled.Load()
		if r := w.keyedly(c, "k", pay(1, "")); !r.OK || r.Replayed || rows.handled.Load() != n+1 {
			t.Errorf("the key is not free: %s", r.JSON)
		}
		kept := w.Call(keyed(t, "park"), c, "test_order", []byte(pay(10, "")))
		if again := w.Call(keyed(t, "park"), c, "test_order", []byte(pay(10, ""))); kept.Reason != "approval_required" || again.Reason != kept.Reason || w.stored() != "1" {
			t.Errorf("what is parked: %s rows, %s", w.stored(), again.JSON)
		}
	})
}

// lost holds an answer to what is said of a call that may have been carried out.
func lost(t *testing.T, r reply) {
	t.Helper()
	r.wants(t, "may_have_been_carried_out")
	if r.Status != 409 || r.env.Verdict != "deny" || r.env.Layer != "state" || r.RetryAfter != 0 || r.env.Error.Details["begun_at"] == nil ||
		!strings.Contains(r.env.Message, "Look it up") {
		t.Errorf("%s", r.JSON)
	}
}

func TestASpendOfWhichNobodyKnowsTheEndIsNotMadeAgain(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		for _, fail := range []string{"outage", "panic"} {
			w, rows, c := spending(t, store, nil)
			begin, raw := w.Clock.Now(), pay(30, `,"fail":"`+fail+`"`)
			if r := w.keyedly(c, "k", raw); r.env.Verdict != "unavailable" || w.used() != "30" {
				t.Fatalf("%s", r.JSON)
			}
			for _, after := range []time.Duration{0, time.Hour, 24*time.Hour - time.Microsecond} {
				w.Clock.Set(begin.Add(after))
				w.grant(c.Principal.ID(), cents(100))
				lost(t, w.keyedly(c, "k", raw))
			}
			w.keyedly(c, "k", pay(31, "")).wants(t, "idempotency_key_reused")
			if rows.handled.Load() != 1 {
				t.Errorf("after a %s it ran %d times", fail, rows.handled.Load())
			}
		}
	})
}

// slow is a row that spends and says when it has begun, and ends when it may.
type slow struct{ begun, may chan struct{} }

func (s *slow) tool() powers.Tool {
	return powers.SpendRow(spec("test_slow", powers.Spend, powers.Intents), shapeOf, func(_ context.Context, _ operator.Principal, in payment) (paid, error) {
		s.begun <- struct{}{}
		<-s.may
		return paid{Paid: int64(*in.Cents)}, nil
	})
}

func TestTheSameCallWhileItRunsIsToldToComeBack(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w, _, c := spending(t, store, nil)
		row := &slow{make(chan struct{}), make(chan struct{})}
		here, err := powers.WithRows(w.Operator, row.tool())
		if err != nil {
			t.Fatal(err)
		}
		there, err := powers.WithRows(operatortest.Open(t, w.Where, &operator.Options{Clock: w.Clock}), row.tool())
		if err != nil {
			t.Fatal(err)
		}
		again := func() reply { return read(t, there.Call(keyed(t, "k"), c, "test_slow", []byte(pay(30, "")))) }
		answered := make(chan powers.Answer, 1)
		begin := w.Clock.Now()
		go func() { answered <- here.Call(keyed(t, "k"), c, "test_slow", []byte(pay(30, ""))) }()
		<-row.begun
		for _, after := range []time.Duration{0, 10*time.Minute - time.Microsecond} {
			w.Clock.Set(begin.Add(after))
			r := again()
			r.wants(t, "unavailable")
			if r.Status != 503 || !r.env.Retryable || len(r.env.Recovery) != 1 || r.env.Recovery[0].Kind != "retry_after" || r.RetryAfter < 1 {
				t.Errorf("%s", r.JSON)
			}
		}
		w.Clock.Set(begin.Add(10 * time.Minute)) // its process may have ended, for all that anybody knows
		lost(t, again())
		close(row.may)
		first := <-answered
		if r := again(); !first.OK || !r.OK || !r.Replayed || !bytes.Equal(r.JSON, first.JSON) || w.used() != "30" {
			t.Errorf("it ended after all: %s, %s", first.JSON, r.JSON)
		}
	})
}

func TestSixteenSpendsAtOnceWithOneKeyAreOne(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w, rows, c := spending(t, store, nil)
		there := w.scheduleOf(operatortest.Open(t, w.Where, &operator.Options{Clock: w.Clock}), rows)
		var all sync.WaitGroup
		for i := range 16 {
			s := []*powers.Schedule{w.Schedule, there}[i%2]
			all.Go(func() {
				if a := s.Call(keyed(t, "k"), c, "test_buy", []byte(pay(30, ""))); !a.OK && a.Reason != "unavailable" {
					t.Errorf("%s", a.JSON)
				}
			})
		}
		all.Wait()
		if r := w.keyedly(c, "k", pay(30, "")); rows.handled.Load() != 1 || w.used() != "30" || !r.Replayed {
			t.Errorf("it ran %d times, %s is used: %s", rows.handled.Load(), w.used(), r.JSON)
		}
	})
}

// TestAnActOfSeveralStepsIsDoneOncePerKey: its repetition is answered like the first,
// and not refused for what the first did.
func TestAnActOfSeveralStepsIsDoneOncePerKey(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w, rows, c := spending(t, store, nil)
		owner, approve := w.full(operator.KindHuman), w.deciding("approve")
		do := func(key, raw string) reply { return read(t, w.CallAct(keyed(t, key), owner, approve, []byte(raw))) }
		kept := w.ask(c, "test_order", pay(10, ""))
		for _, digest := range []string{"", "x"} {
			do("k", fmt.Sprintf(`{"id":%d,"digest":%q}`, kept.ID, digest)).wants(t, "digest_mismatch")
		}
		first := do("k", decision(kept))
		again := do("k", decision(kept))
		if !first.OK || first.Replayed || !again.OK || !again.Replayed || !bytes.Equal(first.JSON, again.JSON) || rows.handled.Load() != 1 || w.used() != "10" {
			t.Errorf("%s\n%s", first.JSON, again.JSON)
		}
		do("another", decision(kept)).wants(t, "already_settled")
		do("a b", decision(kept)).wants(t, "invalid_value")
	})
}

func TestEveryActOfSeveralStepsIsAnsweredAgainUnderItsKey(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		met := 0
		for _, a := range w.Acts() {
			if !a.Steps {
				continue
			}
			met++
			c, raw := w.full(a.Kinds[0]), []byte(text(w.actArgs(a)))
			first := read(t, w.CallAct(keyed(t, "k-"+a.Name), c, a, raw))
			before := w.digest()
			again := read(t, w.CallAct(keyed(t, "k-"+a.Name), c, a, raw))
			if !first.OK || first.Replayed || !again.OK || !again.Replayed || !bytes.Equal(first.JSON, again.JSON) || w.digest() != before {
				t.Errorf("%s: %s\n%s", a.Name, first.JSON, again.JSON)
			}
		}
		if met < 2 {
			t.Errorf("%d acts are of several steps", met)
		}
	})
}

// A process that is killed while it carries a call out leaves it begun: nobody knows how
// far it came, and nobody runs it again.
func TestAProcessThatIsKilledInTheMiddleOfASpendLeavesItBegun(t *testing.T) {
	if how := os.Getenv(killed); how != "" {
		dieSpending(t, strings.Split(how, "\n"))
		return
	}
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		rows := w.withRows()
		token := w.token(operator.KindAgent, operator.Scopes()...)
		c := w.full(operator.KindAgent)
		w.grant(c.Principal.ID(), cents(100))
		child := exec.Command(os.Args[0], "-test.run=^TestAProcessThatIsKilledInTheMiddleOfASpendLeavesItBegun$")
		child.Env = append(os.Environ(), killed+"="+strings.Join([]string{w.Where, token}, "\n"))
		if out, err := child.CombinedOutput(); err == nil || strings.Contains(string(out), "FAIL") {
			t.Fatalf("the child was not killed: %s", out)
		}
		if w.stored() != "1" || w.used() != "30" {
			t.Fatalf("%s keys, %s used", w.stored(), w.used())
		}
		w.Clock.Set(operatortest.Start) // as the child's was
		w.keyedly(c, "k", pay(30, "")).wants(t, "unavailable")
		w.Clock.Advance(10 * time.Minute)
		if _, err := w.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			lost(t, w.keyedly(c, "k", pay(30, "")))
		}
		if rows.handled.Load() != 0 || w.used() != "30" {
			t.Errorf("it ran again, and %s is used", w.used())
		}
	})
}

func dieSpending(t *testing.T, how []string) {
	op := operatortest.Open(t, how[0], &operator.Options{Clock: operatortest.NewClock(operatortest.Start)})
	s, err := powers.WithRows(op, powers.SpendRow(spec("test_buy", powers.Spend, powers.Intents), shapeOf, func(context.Context, operator.Principal, payment) (paid, error) {
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			t.Log(self.Kill())
		}
		select {}
	}))
	if err != nil {
		t.Fatal(err)
	}
	c, refused := s.Authenticate(t.Context(), powers.Presented{Authorization: []string{"Bearer " + how[1]}})
	if refused != nil {
		t.Fatalf("%s", refused.JSON)
	}
	t.Fatalf("%s", s.Call(keyed(t, "k"), c, "test_buy", []byte(pay(30, ""))).JSON)
}
