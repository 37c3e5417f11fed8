package mcpadapter

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

func toolCall(name string, arguments any) string {
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": name, "arguments": arguments}})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func statusOf(t *testing.T, h *house, id int64) string {
	t.Helper()
	var state struct {
		Intents []struct {
			Status string `json:"status"`
		} `json:"intents"`
	}
	c := h.post(toolCall("operator_state", map[string]any{"intent_id": id})).called(t)
	if err := json.Unmarshal(c.Structured, &state); err != nil || len(state.Intents) != 1 {
		t.Fatalf("%s", c.Structured)
	}
	return state.Intents[0].Status
}

func recordOne(t *testing.T, h *house) int64 {
	t.Helper()
	var intent struct {
		ID int64 `json:"id"`
	}
	if err := json.Unmarshal(h.post(record).called(t).Structured, &intent); err != nil || intent.ID == 0 {
		t.Fatal("no intent was recorded")
	}
	return intent.ID
}

func TestTheSameCallAgainIsTheSameIntent(t *testing.T) {
	h := newHouse(t, nil)
	var first, again struct {
		ID      int64  `json:"id"`
		Created bool   `json:"created"`
		Key     string `json:"idempotency_key"`
	}
	for _, out := range []any{&first, &again} {
		if err := json.Unmarshal(h.post(record).called(t).Structured, out); err != nil {
			t.Fatal(err)
		}
	}
	if !first.Created || again.Created || first.ID != again.ID || len(first.Key) != 32 || first.Key != again.Key {
		t.Errorf("first %+v, again %+v", first, again)
	}
}

func TestNoSpellingOfApprovedMovesAnIntent(t *testing.T) {
	h := newHouse(t, nil)
	id := recordOne(t, h)
	for _, word := range []string{"approved", "Approved", "APPROVED", " approved", "approved ", "approved\n", "approve", "accept", "accepted", "allowed",
		"executing", "аpproved", "ａｐｐｒｏｖｅｄ", "app\u200broved", "approved\u0000", "approved\ufeff", "\"approved\"", "appr%6Fved", "pending_approval", ""} {
		for name, extra := range map[string]map[string]any{
			"alone":       {},
			"by an actor": {"actor": map[string]any{"kind": "human", "id": "human:owner"}},
		} {
			arguments := map[string]any{"id": id, "status": word}
			for k, v := range extra {
				arguments[k] = v
			}
			a := h.post(toolCall("operator_update_action_intent", arguments), header("X-User", "human:owner"))
			c := a.called(t)
			if e := readEnvelope(t, c.Structured); !c.IsError || e.Verdict != "deny" {
				t.Errorf("%q %s: %s", word, name, a.body)
			}
		}
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"operator_update_action_intent","_meta":{"principal":"human:owner","role":"owner"},"arguments":{"id":%d,"status":"approved"}}}`, id)
	h.post(body).refused(t, "1", "invalid_status")
	if got := statusOf(t, h, id); got != "pending_approval" {
		t.Errorf("the intent is %q now", got)
	}
}

func TestACredentialThatWasTakenBackIsRefusedOnTheVeryNextRequest(t *testing.T) {
	w := operatortest.New(t, "sqlite", nil)
	s, err := powers.New(w.Operator)
	if err != nil {
		t.Fatal(err)
	}
	m := w.Mint(t, operator.NewCredential{Kind: operator.KindAgent, Name: "brief", Scopes: operator.Scopes()})
	url := serve(t, s, nil)
	send(t, url, m.Token, strings.NewReader(record)).called(t)
	if err := w.RevokeCredential(t.Context(), "", m.ID); err != nil {
		t.Fatal(err)
	}
	send(t, url, m.Token, strings.NewReader(record)).barred(t, http.StatusUnauthorized, "credential_revoked")
}

func TestManyCallersAtOnceRecordOneIntentEach(t *testing.T) {
	h := newHouse(t, nil)
	var wg sync.WaitGroup
	var mu sync.Mutex
	ids := map[int64]int{}
	for i := range 16 {
		body := toolCall("operator_record_action_intent", map[string]any{"action": map[string]any{"type": "note", "title": fmt.Sprintf("Note %d", i%8)}})
		accept := []string{"application/json", "application/json, text/event-stream"}[i%2]
		wg.Go(func() {
			a := send(t, h.url, h.agent, strings.NewReader(body), header("Accept", accept))
			var r struct {
				Result struct {
					Structured struct {
						ID int64 `json:"id"`
					} `json:"structuredContent"`
				} `json:"result"`
			}
			if err := json.Unmarshal(a.body, &r); err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			ids[r.Result.Structured.ID]++
		})
	}
	wg.Wait()
	if len(ids) != 8 || ids[0] != 0 {
		t.Errorf("eight titles, each sent twice, came to %v", ids)
	}
}
