package restadapter

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/reeve-go/reeve/operator"
)

func TestARefusalIsAProblemForWhoAsksForOne(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		accept := header("Accept", "application/problem+json")
		r := h.as(operator.KindAgent, "GET", "/v1/intents/9", "", accept)
		if r.status != 404 || r.header.Get("Content-Type") != "application/problem+json" {
			t.Fatalf("%d %s: %s", r.status, r.header.Get("Content-Type"), r.body)
		}
		var got map[string]any
		if err := json.Unmarshal(r.body, &got); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]any{"type": "/problems/not_found", "title": "Not found", "status": 404.0, "detail": got["message"],
			"instance": "/problems/not_found/" + r.header.Get("X-Request-Id"), "ok": false, "reason": "not_found"} {
			if got[name] != want || want == nil {
				t.Errorf("%s is %v, want %v", name, got[name], want)
			}
		}
		plain := readKeys(t, h.as(operator.KindAgent, "GET", "/v1/intents/9", "").body)
		want := append(plain, "type", "title", "status", "detail", "instance")
		slices.Sort(want)
		if keys := readKeys(t, r.body); !slices.Equal(keys, want) {
			t.Errorf("members %v, want %v", keys, want)
		}
		if r := h.call("", "GET", "/v1/state", "", accept); r.header.Get("Content-Type") != "application/problem+json" || r.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%v", r.header)
		}
		if r := h.as(operator.KindAgent, "GET", "/v1/state", "", accept); r.status != 200 || r.header.Get("Content-Type") != "application/json" {
			t.Errorf("a success is no problem: %d %v", r.status, r.header)
		}
	})
}

func readKeys(t *testing.T, raw []byte) []string {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return slices.Sorted(maps.Keys(m))
}

func TestAcceptIsReadAsRFC9110HasIt(t *testing.T) {
	for accept, want := range map[string]bool{
		"":                         false,
		"*/*":                      false,
		"application/*":            false,
		"application/json":         false,
		"text/html, */*":           false,
		"application/problem+json": true,
		"APPLICATION/PROBLEM+JSON": true,
		"application/problem+json, application/json":             true,
		"application/json, application/problem+json":             true,
		"application/json;q=0.9, application/problem+json":       true,
		"application/json, application/problem+json;q=0.9":       false,
		"application/problem+json;q=0.5, */*":                    false,
		"application/problem+json;q=0.5, */*;q=0.1":              true,
		"application/problem+json;q=0.5, application/*;q=0.6":    false,
		"application/problem+json;q=0.5, */*, application/*;q=0": true,
		"application/problem+json;q=0":                           false,
		"application/problem+json;q=2":                           false,
		"application/problem+json;q=NaN":                         false,
		"application/problem+json;q=x":                           false,
		"text/html, application/problem+json;q=0.1":              true,
		"application/problem+xml":                                false,
		"nonsense, application/problem+json":                     true,
	} {
		if got := prefersProblem([]string{accept}); got != want {
			t.Errorf("Accept: %s: %v, want %v", accept, got, want)
		}
	}
	if !prefersProblem([]string{"application/json;q=0.5", "application/problem+json"}) {
		t.Error("two header lines are one list")
	}
}

func FuzzAccept(f *testing.F) {
	f.Add("application/problem+json;q=0.5, */*")
	f.Fuzz(func(t *testing.T, accept string) { prefersProblem([]string{accept}) })
}
