package mcpadapter

import (
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

func limitedHouse(t *testing.T, l powers.Limits) *house {
	t.Helper()
	w := operatortest.New(t, "sqlite", nil)
	s, err := powers.NewLimited(w.Operator, l)
	if err != nil {
		t.Fatal(err)
	}
	return &house{t: t, schedule: s, url: serve(t, s, nil), agent: w.First.Agent.Token, person: w.First.Person.Token}
}

const list = `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`

func TestTooManyCallsAreHeldUpAsTheirResultAndAnythingElseByHTTP(t *testing.T) {
	h := limitedHouse(t, powers.Limits{Rate: 0.1, Burst: 1})
	h.post(record).called(t)
	for _, accept := range []string{"application/json", "application/json, text/event-stream"} {
		a := h.post(record, header("Accept", accept))
		if a.refused(t, "1", "rate_limited"); a.header.Get("Retry-After") != "10" {
			t.Errorf("%v", a.header)
		}
	}
	for name, body := range map[string]string{"a listing": list, "another method": `{"jsonrpc":"2.0","id":7,"method":"prompts/list"}`,
		"an unfit request": `{"jsonrpc":"1.0","id":7,"method":"tools/list"}`} {
		a := h.post(body)
		if a.failed(t, 429, -32600, "7", "rate_limited"); a.header.Get("Retry-After") != "10" {
			t.Errorf("%s: %v", name, a.header)
		}
	}
	h.post(`garbage`).failed(t, 429, -32600, "null", "rate_limited")
	h.post(call(`{"zz":1}`)).refused(t, "7", "rate_limited")
	send(t, h.url, h.person, strings.NewReader(list)).rpc(t) // somebody else is not held up
}

func TestStrangersAreHeldUpByHTTP(t *testing.T) {
	h := limitedHouse(t, powers.Limits{StrangerRate: 0.1, StrangerBurst: 2})
	h.post(record, header("Authorization")).barred(t, 401, "unauthenticated")
	h.post(record, method("GET")).barred(t, 405, "method_not_allowed")
	for _, c := range []change{header("Authorization"), header("Origin", "null"), host("evil.example"), method("GET"), header("Content-Type", "text/plain")} {
		a := h.post(record, c, header("X-Forwarded-For", "198.51.100.1"))
		if a.barred(t, 429, "rate_limited"); a.header.Get("Retry-After") != "10" {
			t.Errorf("%v", a.header)
		}
	}
	h.post(record).called(t)
}
