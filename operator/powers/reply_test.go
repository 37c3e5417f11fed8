package powers_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator/powers"
)

// envelope is a refusal as a client reads it.
type envelope struct {
	OK        bool   `json:"ok"`
	Retry     bool   `json:"retry"`
	Verdict   string `json:"verdict"`
	Reason    string `json:"reason"`
	Action    string `json:"action"`
	Layer     string `json:"layer"`
	Retryable bool   `json:"retryable"`
	Repeat    int    `json:"repeat"`
	Message   string `json:"message"`
	Error     struct {
		Code    string         `json:"code"`
		Hint    string         `json:"hint"`
		Details map[string]any `json:"details"`
	} `json:"error"`
	Recovery     []step `json:"recovery"`
	Alternatives []struct {
		Tool string `json:"tool"`
		Why  string `json:"why"`
	} `json:"alternatives"`
}

type step struct {
	Kind        string `json:"kind"`
	Change      string `json:"change"`
	Tool        string `json:"tool"`
	HumanAction string `json:"human_action"`
	RetryAfter  int    `json:"retry_after_seconds"`
	ApprovalID  int64  `json:"approval_id"`
	ExpiresAt   string `json:"expires_at"`
	OnExpiry    string `json:"on_expiry"`
}

var (
	envelopeKeys = []string{"ok", "verdict", "reason", "action", "layer", "retryable", "repeat", "message", "error", "recovery", "alternatives"}
	raceKeys     = slices.Insert(slices.Clone(envelopeKeys), 1, "retry")
	errorKeys    = []string{"code", "hint", "details"}
	verdicts     = []string{"deny", "park", "unavailable", "attest"}
	layers       = []string{"credential", "company", "scope", "context", "input", "spend", "policy", "state", "store"}
	stepKinds    = []string{"request_capability", "request_toolkit", "request_scope", "request_start", "wait_for_approval",
		"wait_for_delivery", "retry_after", "provide_evidence", "re_read", "correct_arguments", "escalate_to_human"}
)

// reply is an answer with its envelope, where it is a refusal.
type reply struct {
	powers.Answer
	env envelope
}

// read holds an answer to the form that every answer has.
func read(t testing.TB, a powers.Answer) reply {
	t.Helper()
	out := reply{Answer: a}
	if keys(t, a.JSON); !strings.HasPrefix(string(a.JSON), "{\n  \"") {
		t.Fatalf("not one indented JSON object: %s", a.JSON)
	}
	if a.OK {
		if a.IsError || a.Reason != "" || a.Challenge != "" || a.RetryAfter != 0 || a.Status != 200 && a.Status != 201 {
			t.Fatalf("a success that also refuses: %+v", a)
		}
		return out
	}
	d := json.NewDecoder(bytes.NewReader(a.JSON))
	d.DisallowUnknownFields()
	if err := d.Decode(&out.env); err != nil {
		t.Fatalf("not an envelope: %v: %s", err, a.JSON)
	}
	holdEnvelope(t, out)
	if err := conforms(schemaOf(t, powers.RefusalSchema()), schemaOf(t, a.JSON), "envelope"); err != nil {
		t.Fatalf("%v: %s", err, a.JSON)
	}
	return out
}

// holdEnvelope is what must be true of every refusal.
func holdEnvelope(t testing.TB, r reply) {
	t.Helper()
	e := r.env
	bad := func(format string, args ...any) { t.Helper(); t.Fatalf(format+"\n%s", append(args, r.JSON)...) }
	want := envelopeKeys
	if e.Retry {
		want = raceKeys
	}
	if got := keys(t, r.JSON); !slices.Equal(got, want) {
		bad("its keys are %v", got)
	}
	if got := keys(t, member(t, r.JSON, "error")); !slices.Equal(got, errorKeys) {
		bad("the keys of its error are %v", got)
	}
	if e.Error.Details == nil || e.Recovery == nil || e.Alternatives == nil || len(e.Recovery) == 0 {
		bad("an object or list of it is null, or it offers no way on")
	}
	if e.OK || e.Repeat < 1 || e.Message == "" || e.Error.Code == "" || e.Error.Hint == "" || e.Action == "" || string(r.Reason) != e.Reason {
		bad("something of it is empty or contradicts the answer")
	}
	if !slices.Contains(verdicts, e.Verdict) || !slices.Contains(layers, e.Layer) {
		bad("a verdict or layer of no list")
	}
	holdVerdict(t, r, bad)
	for _, s := range e.Recovery {
		if !slices.Contains(stepKinds, s.Kind) || s.Change == "" || strings.ContainsAny(s.HumanAction+s.Tool, "`$\n") {
			bad("a step that is not of the list: %+v", s)
		}
	}
}

func holdVerdict(t testing.TB, r reply, bad func(string, ...any)) {
	t.Helper()
	statuses := map[string][]int{"deny": {400, 401, 403, 404, 405, 408, 409, 413, 415, 429}, "park": {202}, "attest": {428}, "unavailable": {503}}
	outage := r.env.Verdict == "unavailable"
	if !slices.Contains(statuses[r.env.Verdict], r.Status) {
		bad("status %d for %s", r.Status, r.env.Verdict)
	}
	if r.env.Retryable != outage || r.env.Retry && !outage {
		bad("only an outage is retryable")
	}
	if r.IsError != (r.env.Verdict == "deny" || outage && !r.env.Retry) {
		bad("isError %v", r.IsError)
	}
	after := slices.ContainsFunc(r.env.Recovery, func(s step) bool { return s.Kind == "retry_after" && s.RetryAfter > 0 })
	if later := outage || r.env.Reason == "rate_limited"; after != later || later != (r.RetryAfter > 0) {
		bad("an outage, or a caller's own haste, and nothing else says when to try again")
	}
	if (r.Challenge != "") != (r.Status == 401 || r.env.Reason == "missing_scope") {
		bad("challenge %q", r.Challenge)
	}
}

// keys lists the keys of one JSON object in the order in which they stand, and
// fails on a key that stands twice or on anything behind it.
func keys(t testing.TB, raw []byte) []string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		t.Fatalf("not an object: %q", raw)
	}
	var out []string
	for d.More() {
		key, err := d.Token()
		if err != nil {
			t.Fatalf("%v: %s", err, raw)
		}
		if slices.Contains(out, key.(string)) {
			t.Fatalf("the key %s twice: %s", key, raw)
		}
		out = append(out, key.(string))
		var skip json.RawMessage
		if err := d.Decode(&skip); err != nil {
			t.Fatalf("%v: %s", err, raw)
		}
	}
	if _, err := d.Token(); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		t.Fatalf("something behind the object: %s", raw)
	}
	return out
}

func member(t testing.TB, raw []byte, key string) []byte {
	t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all[key]
}

// wants holds a refusal to a reason, and to what the record says of it.
func (r reply) wants(t testing.TB, reason string) {
	t.Helper()
	if r.OK || r.env.Reason != reason {
		t.Errorf("want %s, got: %s", reason, r.JSON)
	}
}
