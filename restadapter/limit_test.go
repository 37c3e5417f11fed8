package restadapter

import (
	"testing"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

// limitedHouse is a house whose schedule lets through so many, by a clock that
// stands still.
func limitedHouse(t *testing.T, l powers.Limits) *house {
	t.Helper()
	h := newHouse(t, "sqlite", nil)
	s, err := powers.NewLimited(h.world.Operator, l)
	if err != nil {
		t.Fatal(err)
	}
	handler, err := New(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.schedule, h.url = s, serve(t, handler)
	return h
}

func (r reply) isTooMany(t *testing.T, wait string) {
	t.Helper()
	e := r.refused(t, 429, "rate_limited")
	if e.Verdict != "deny" || e.Layer != "credential" || r.header.Get("Retry-After") != wait || r.header.Get("WWW-Authenticate") != "" {
		t.Errorf("%v %s", r.header, r.body)
	}
}

func TestTooManyRequestsAreHeldUpWhateverTheyAskFor(t *testing.T) {
	h := limitedHouse(t, powers.Limits{Rate: 0.1, Burst: 1})
	in := h.world.Record(t, operator.RecordIntentInput{Action: gate.Action{Type: "note", Title: "n"}})
	for _, kind := range kinds {
		h.as(kind, "GET", "/v1/tools", "").is(t, 200, &struct{}{})
	}
	w := watch(t, h.world)
	before := w.audits()
	for _, d := range h.doings() {
		r := h.as(d.kinds[0], d.method, d.address(in.ID), "not even JSON", d.asText())
		if r.status != 429 { // a brake, which is refused for what it is
			if a := h.actOf(d); a == nil || !a.Brake {
				t.Errorf("%s: %d %s", d, r.status, r.body)
			}
			before++
			continue
		}
		r.isTooMany(t, "10")
	}
	h.as(operator.KindAgent, "GET", "/v1/tools", "").isTooMany(t, "10")
	h.as(operator.KindAgent, "GET", "/v1/nowhere", "").isTooMany(t, "10")
	h.as(operator.KindAgent, "BREW", "/v1/state", "").isTooMany(t, "10")
	if now := w.audits(); now != before {
		t.Errorf("%d rows of the record were written", now-before)
	}
	// A forged address and another face's connection are no way around it.
	h.as(operator.KindAgent, "GET", "/v1/state", "", header("X-Forwarded-For", "198.51.100.1"), header("Forwarded", "for=198.51.100.1")).isTooMany(t, "10")
}

// actOf is the act behind a doing, or nil.
func (h *house) actOf(d doing) *powers.Act {
	for _, a := range h.schedule.Acts() {
		if a.Name == d.name {
			return a
		}
	}
	return nil
}

func TestStrangersAreHeldUpWhateverTheyForge(t *testing.T) {
	h := limitedHouse(t, powers.Limits{StrangerRate: 0.1, StrangerBurst: 3})
	h.call("", "GET", "/v1/state", "").refused(t, 401, "unauthenticated")
	h.call("", "GET", "/v1/state", "", header("Origin", "https://evil.example")).refused(t, 403, "foreign_origin")
	h.call("", "GET", "/nowhere", "").refused(t, 404, "not_found")
	w := watch(t, h.world)
	before := w.audits()
	for _, path := range []string{"/v1/state", "/nowhere", "/v1/state?token=x"} {
		h.call("", "GET", path, "", header("X-Forwarded-For", "198.51.100.1"), header("X-Real-Ip", "198.51.100.2")).isTooMany(t, "10")
	}
	h.call("", "GET", "/v1/state", "", host("evil.example")).isTooMany(t, "10")
	if now := w.audits(); now != before {
		t.Errorf("%d rows of the record were written", now-before)
	}
	h.as(operator.KindAgent, "GET", "/v1/state", "").is(t, 200, &struct{}{})
	if r := h.call("", "GET", "/healthz", ""); r.status != 200 {
		t.Errorf("%d", r.status)
	}
}
