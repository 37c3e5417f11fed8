package mcpadapter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

// noted is a call that records a note, with a key in _meta where there is one.
func noted(title, meta string) string {
	if meta != "" {
		meta = `"_meta":` + meta + `,`
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{%s"name":"operator_record_action_intent","arguments":{"action":{"type":"note","title":%q}}}}`, meta, title)
}

func keyIn(key string) string { return fmt.Sprintf(`{"reeve/idempotency-key":%q}`, key) }

// replayed says how a result tells that it was given before: in its _meta, and in a
// header.
func (a answer) replayed(t *testing.T) (meta bool, header string) {
	t.Helper()
	var got struct {
		Meta map[string]any `json:"_meta"`
	}
	if err := json.Unmarshal(a.rpc(t).Result, &got); err != nil {
		t.Fatal(err)
	}
	said, _ := got.Meta["reeve/idempotency-replayed"].(bool)
	return said, a.header.Get("Idempotency-Replayed")
}

func TestACallUnderAKeyIsAnsweredAlikeHoweverTheKeyComes(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, nil)
		s, err := powers.New(w.Operator)
		if err != nil {
			t.Fatal(err)
		}
		h := &house{t: t, schedule: s, url: serve(t, s, nil), agent: w.First.Agent.Token}
		first := h.post(noted("n", keyIn("k")))
		want := first.called(t).Structured
		if meta, header := first.replayed(t); meta || header != "" {
			t.Errorf("the first is marked as a repetition: %v %s", first.header, first.body)
		}
		const stream = "application/json, text/event-stream"
		for name, again := range map[string]answer{
			"in _meta":               h.post(noted("n", keyIn("k"))),
			"in the header":          h.post(noted("n", ""), header("Idempotency-Key", "k")),
			"in both":                h.post(noted("n", keyIn("k")), header("Idempotency-Key", "k")),
			"as a stream":            h.post(noted("n", keyIn("k")), header("Accept", stream)),
			"as a stream, by header": h.post(noted("n", "null"), header("Accept", stream), header("Idempotency-Key", "k")),
		} {
			meta, marked := again.replayed(t)
			if !bytes.Equal(again.called(t).Structured, want) || !meta || marked != "true" {
				t.Errorf("%s: %v %s", name, again.header, again.body)
			}
		}
		h.post(noted("another", keyIn("k"))).refused(t, "1", "idempotency_key_reused")
		h.post(noted("another", ""), header("Idempotency-Key", "k")).refused(t, "1", "idempotency_key_reused")
	})
}

func TestABadIdempotencyKeyIsRefusedAsTheResultOfItsCall(t *testing.T) {
	h := newHouse(t, nil)
	for name, c := range map[string]struct {
		meta   string
		change change
		reason operator.Reason
	}{
		"a number":              {`{"reeve/idempotency-key":7}`, nil, "wrong_type"},
		"null":                  {`{"reeve/idempotency-key":null}`, nil, "wrong_type"},
		"a list":                {`{"reeve/idempotency-key":["k"]}`, nil, "wrong_type"},
		"empty":                 {keyIn(""), nil, "invalid_value"},
		"a space":               {keyIn("a b"), nil, "invalid_value"},
		"too long":              {keyIn(strings.Repeat("k", 256)), nil, "invalid_value"},
		"another in the header": {keyIn("a"), header("Idempotency-Key", "b"), "invalid_value"},
		"two headers":           {"", header("Idempotency-Key", "a", "a"), "invalid_value"},
		"twice in _meta":        {`{"reeve/idempotency-key":"a","reeve/idempotency-key":"a"}`, nil, "repeated_key"},
	} {
		t.Run(name, func(t *testing.T) {
			changes := []change{}
			if c.change != nil {
				changes = append(changes, c.change)
			}
			h.post(noted("n", c.meta), changes...).refused(t, "1", string(c.reason))
		})
	}
}

func TestAHostOnStandardInputRepeatsACallByMeta(t *testing.T) {
	s, agent, _, _ := openSchedule(t)
	handler, err := newHandler(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewLocalBridge(handler, agent, nil)
	if err != nil {
		t.Fatal(err)
	}
	lines := whole(t, b, noted("n", keyIn("k"))+"\n"+noted("n", keyIn("k"))+"\n")
	if len(lines) != 2 || strings.Count(lines[0]+lines[1], `"reeve/idempotency-replayed":true`) != 1 {
		t.Errorf("%s", lines)
	}
}
