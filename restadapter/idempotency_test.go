package restadapter

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator"
)

func idempotencyKey(values ...string) change { return header("Idempotency-Key", values...) }

// Every mutation that works as it stands is answered alike the second time, though
// done anew it would be refused or would make another row.
func TestARepeatedRequestIsAnsweredAlike(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		w := watch(t, h.world)
		worked := 0
		for i, d := range h.doings() {
			if d.method == http.MethodGet {
				continue
			}
			in := h.record(fmt.Sprintf(`{"action":{"type":"spend","title":"Plan %d","amount_cents":1}}`, i))
			body := d.sample(t)
			if strings.Contains(string(d.schema), `"digest":`) {
				body = strings.Replace(body, "{", fmt.Sprintf(`{"digest":%q,`, in.Digest), 1)
				body = strings.Replace(body, ",}", "}", 1)
			}
			key := idempotencyKey(fmt.Sprint("key-", i))
			first := h.as(d.kinds[0], d.method, d.address(in.ID), body, key)
			if first.status >= 400 {
				if first.header.Get("Idempotency-Replayed") != "" {
					t.Errorf("%s: a refusal is marked as a repetition", d)
				}
				continue
			}
			worked++
			before, lines := w.snapshot(), w.audits()
			again := h.as(d.kinds[0], d.method, d.address(in.ID), body, key)
			if again.status != first.status || !bytes.Equal(again.body, first.body) || again.header.Get("Idempotency-Replayed") != "true" {
				t.Errorf("%s: %d %v %s\nfirst %d %s", d, again.status, again.header, again.body, first.status, first.body)
			}
			if !maps.Equal(before, w.snapshot()) || w.audits() != lines {
				t.Errorf("%s: the repetition changed something", d)
			}
			if first.header.Get("Idempotency-Replayed") != "" {
				t.Errorf("%s: the first is marked as a repetition", d)
			}
			h.as(d.kinds[0], d.method, d.address(in.ID), strings.Replace(body, "{", `{"x":1,`, 1), key).refused(t, 409, "idempotency_key_reused")
		}
		if worked < 6 {
			t.Errorf("only %d requests worked: the sweep is blind", worked)
		}
	})
}

func TestABadIdempotencyKeyIsRefusedAsInput(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		w := watch(t, h.world)
		for name, key := range map[string]change{
			"twice": idempotencyKey("a", "a"), "a space": idempotencyKey("a b"), "too long": idempotencyKey(strings.Repeat("k", 256)),
			"empty": idempotencyKey(""), "a letter that is not ASCII": idempotencyKey("é"),
		} {
			w.onlyRefused(t, func() {
				if e := h.as(operator.KindAgent, "POST", "/v1/intents", renewal, key).refused(t, 400, "invalid_value"); e.Layer != "input" {
					t.Errorf("%s: layer %s", name, e.Layer)
				}
			})
		}
		h.as(operator.KindAgent, "GET", "/v1/state", "", idempotencyKey("a", "b")).is(t, 200, &struct{}{})
	})
}

func TestAnAcceptedPageMaySendAnIdempotencyKeyAndReadWhatBecameOfIt(t *testing.T) {
	h := newHouse(t, "sqlite", nil)
	r := h.call("", "OPTIONS", "/v1/intents", "", header("Origin", "http://localhost:1"), header("Access-Control-Request-Method", "POST"))
	if !strings.Contains(r.header.Get("Access-Control-Allow-Headers"), "Idempotency-Key") || !strings.Contains(r.header.Get("Access-Control-Expose-Headers"), "Idempotency-Replayed") {
		t.Errorf("%v", r.header)
	}
}
