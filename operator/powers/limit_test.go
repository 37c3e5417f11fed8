package powers_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

// limited is a world whose schedule bounds what comes from elsewhere, by the clock
// that the test moves.
func limited(t *testing.T, store string, l powers.Limits) *world {
	t.Helper()
	w := newWorld(t, store, nil)
	var err error
	if w.Schedule, err = powers.NewLimited(w.Operator, l); err != nil {
		t.Fatal(err)
	}
	return w
}

// comes is a request as it arrives: with a credential, from an address.
func (w *world) comes(token, address string) (powers.Caller, *powers.Answer) {
	var headers []string
	if token != "" {
		headers = []string{"Bearer " + token}
	}
	return w.Authenticate(w.t.Context(), powers.Presented{Authorization: headers, Face: powers.FaceREST, RequestID: "req-1", RemoteAddr: address, Action: "test"})
}

// asks has a principal make one request of a tool.
func (w *world) asks(token string, tool *powers.Tool, raw string) reply {
	w.t.Helper()
	c, refused := w.comes(token, "192.0.2.1:1")
	if refused != nil {
		w.t.Fatalf("%s", refused.JSON)
	}
	return read(w.t, w.Call(w.t.Context(), c, tool.Name, []byte(raw)))
}

func (r reply) isTooMany(t *testing.T, wait int) {
	t.Helper()
	r.wants(t, "rate_limited")
	step := r.env.Recovery[0]
	if r.Status != 429 || r.RetryAfter != wait || r.env.Verdict != "deny" || r.env.Retryable || step.Kind != "retry_after" || step.RetryAfter != wait {
		t.Errorf("want 429 and %d seconds: %d, %d, %s", wait, r.Status, r.RetryAfter, r.JSON)
	}
}

func TestAPrincipalIsHeldUpBeyondItsRateAndLetThroughAfterIt(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := limited(t, store, powers.Limits{Rate: 0.5, Burst: 3})
		one, two := w.token(operator.KindAgent, operator.Scopes()...), w.token(operator.KindWorker, operator.Scopes()...)
		for range 3 {
			if r := w.asks(one, w.looking(), `{}`); !r.OK {
				t.Fatalf("%s", r.JSON)
			}
		}
		n, before := w.lines(), w.digest()
		for range 50 {
			w.asks(one, w.recording(), `{"action":{"type":"note","title":"n"}}`).isTooMany(t, 2)
		}
		if w.lines() != n || w.digest() != before {
			t.Error("a request that was held up wrote something")
		}
		if r := w.asks(two, w.looking(), `{}`); !r.OK {
			t.Errorf("another principal is held up as well: %s", r.JSON)
		}
		w.Clock.Advance(2 * time.Second)
		if r := w.asks(one, w.looking(), `{}`); !r.OK {
			t.Errorf("after the time that it said: %s", r.JSON)
		}
		w.Clock.Advance(-time.Hour)
		w.asks(one, w.looking(), `{}`).isTooMany(t, 2)
		w.Clock.Advance(time.Hour)
		// Any other way to be refused is held up, too: it would write a row.
		c, _ := w.comes(one, "192.0.2.1:1")
		read(t, w.Refuse(t.Context(), c, "test", operator.Refuse(operator.ReasonNotJSON, "No."))).isTooMany(t, 2)
		read(t, w.Call(t.Context(), c, "no_such_tool", nil)).isTooMany(t, 2)
		if a := w.Admit(t.Context(), c, "list"); a == nil || a.Status != 429 {
			t.Errorf("%+v", a)
		}
	})
}

func TestABrakeIsNeverHeldUp(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	token := w.token(operator.KindHuman, operator.Scopes()...)
	raw := map[string]string{}
	for _, a := range w.Acts() {
		raw[a.Name] = text(w.actArgs(a))
	}
	var err error
	if w.Schedule, err = powers.NewLimited(w.Operator, powers.Limits{Rate: 1, Burst: 1}); err != nil {
		t.Fatal(err)
	}
	w.comes(token, "192.0.2.1:1") // its one request
	brakes := 0
	for _, a := range w.Acts() {
		if a.Kinds[0] != operator.KindHuman {
			continue
		}
		for range 3 {
			c, refused := w.comes(token, "192.0.2.1:1")
			if refused != nil {
				t.Fatalf("%s", refused.JSON)
			}
			r := w.do(c, a, raw[a.Name])
			if a.Brake && r.Reason == operator.ReasonRateLimited {
				t.Errorf("%s is held up", a.Name)
			}
			if !a.Brake && r.Reason != operator.ReasonRateLimited {
				t.Errorf("%s is not held up: %s", a.Name, r.JSON)
			}
		}
		if a.Brake {
			brakes++
		}
	}
	if brakes < 3 {
		t.Errorf("%d brakes among the acts", brakes)
	}
}

func TestAStrangerWritesNoMoreThanItsShareOfTheRecord(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := limited(t, store, powers.Limits{StrangerRate: 1, StrangerBurst: 5})
		n := w.lines()
		for i := range 100 {
			_, refused := w.comes("", "192.0.2.7:"+fmt.Sprint(1000+i))
			r := read(t, *refused)
			if i < 5 {
				r.wants(t, "unauthenticated")
			} else {
				r.isTooMany(t, 1)
			}
		}
		if got := len(w.since(n)); got != 5 {
			t.Errorf("%d rows, want 5", got)
		}
		// Whoever has a live credential is let in from there all the same.
		if c, refused := w.comes(w.token(operator.KindAgent, operator.Scopes()...), "192.0.2.7:1"); refused != nil || !c.Principal.Known() {
			t.Errorf("%s", refused.JSON)
		}
		_, refused := w.comes("", "192.0.2.8:1")
		read(t, *refused).wants(t, "unauthenticated") // another address has its own share
		n = w.lines()
		w.Clock.Advance(time.Minute)
		for range 6 { // one more than its share
			w.comes("", "192.0.2.7:1")
		}
		var told []line
		for _, l := range w.since(n) {
			if l.action == "rate_limit" {
				told = append(told, l)
			}
		}
		if len(told) != 1 || told[0].outcome != "96 requests from 192.0.2.7 were left out" || told[0].reason != "rate_limited" || told[0].account != "0" {
			t.Errorf("%+v", told)
		}
	})
}

func TestWhatWasLeftOutIsToldOnceAMinuteAndAtTheEnd(t *testing.T) {
	w := limited(t, "sqlite", powers.Limits{Rate: 1, Burst: 1, StrangerRate: 1, StrangerBurst: 1})
	token := w.token(operator.KindAgent, operator.Scopes()...)
	for range 4 {
		w.asks(token, w.looking(), `{}`)
		w.comes("", "192.0.2.7:1")
	}
	n := w.lines()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.Tend(ctx, time.Hour)
	got := w.since(n)
	if len(got) != 2 {
		t.Fatalf("%+v", got)
	}
	for _, l := range got {
		want := "3 requests from 192.0.2.7 were left out"
		if l.principal != "" {
			want = "3 requests were left out"
		}
		if l.outcome != want || l.action != "rate_limit" || l.verdict != "deny" {
			t.Errorf("%+v", l)
		}
	}
	w.Tend(ctx, time.Hour)
	if len(w.since(n)) != 2 {
		t.Error("it is told twice")
	}
}

func TestAnAddressIsTheConnectionsOwn(t *testing.T) {
	w := limited(t, "sqlite", powers.Limits{StrangerRate: 1, StrangerBurst: 1})
	for _, c := range []struct {
		first, second string
		same          bool
	}{
		{"192.0.2.20:1", "192.0.2.20:2", true},
		{"192.0.2.21:1", "[::ffff:192.0.2.21]:2", true},
		{"[2001:db8:0:1::1]:1", "[2001:db8:0:1:ffff::2]:1", true},
		{"[2001:db8:0:2::1]:1", "[2001:db8:0:3::1]:1", false},
		{"[fe80::1%eth0]:1", "[fe80::2%eth1]:1", true},
		{"@", "@", true},
		{"", "", false}, // of this process
	} {
		w.comes("", c.first)
		if _, refused := w.comes("", c.second); (refused.Status == 429) != c.same {
			t.Errorf("%s and %s: %d", c.first, c.second, refused.Status)
		}
	}
}

// However many addresses there are, what is kept of them is bounded.
func TestStrangersFromEverywhereTakeNoMoreThanSoMuchMemory(t *testing.T) {
	if got := powers.Remembered(30_000); got != 10_000 {
		t.Errorf("%d buckets are kept", got)
	}
	if got := powers.Counted(3_000); got != 1_001 {
		t.Errorf("what was left out is counted for %d callers", got)
	}
}

func TestAScheduleWithoutLimitsHoldsNobodyUp(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	token := w.token(operator.KindAgent, operator.Scopes()...)
	for i := range 1_000 {
		if c, refused := w.comes(token, "192.0.2.1:1"); refused != nil || w.Admit(t.Context(), c, "x") != nil {
			t.Fatalf("the request number %d", i)
		}
	}
	_, refused := w.comes(strings.Repeat("x", 51), "192.0.2.1:1")
	read(t, *refused).wants(t, "unauthenticated")
}

func TestARateBeyondReasonIsARateAllTheSame(t *testing.T) {
	for _, c := range []struct {
		rate float64
		wait int // after the first request
	}{{1e-300, 86400}, {1e300, 0}, {math.Inf(1), 0}} {
		w := limited(t, "sqlite", powers.Limits{Rate: c.rate})
		token := w.token(operator.KindAgent, operator.Scopes()...)
		w.asks(token, w.looking(), `{}`)
		if r := w.asks(token, w.looking(), `{}`); r.RetryAfter != c.wait {
			t.Errorf("%g: %d seconds, %s", c.rate, r.RetryAfter, r.JSON)
		}
	}
}
