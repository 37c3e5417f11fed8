package mcpadapter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/reeve-go/reeve/operator"
)

func TestEveryReasonOfOursStandsInTheClosedList(t *testing.T) {
	for _, r := range []operator.Reason{operator.ReasonForeignOrigin, operator.ReasonMethod, operator.ReasonMediaType, operator.ReasonTooLarge, operator.ReasonTooSlow, operator.ReasonNotJSON, operator.ReasonBatch,
		operator.ReasonUnknownKey, operator.ReasonMissingField, operator.ReasonWrongType, operator.ReasonInvalidValue, operator.ReasonUnknownTool, operator.ReasonInternal} {
		if r.Info().Reason != r {
			t.Errorf("%s is not in the list", r)
		}
	}
}

// FuzzParse holds: whatever is accepted, the SDK reads in exactly one way, which
// is ours.
func FuzzParse(f *testing.F) {
	for _, s := range []string{record, `[]`, `{}`, record + record, strings.Replace(record, `"id":1`, `"id":1e3`, 1), `{"jsonrpc":"2.0","id":"\u00e9","method":"initialize","params":{"protocolVersion":"x"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x","_meta":{"a":[1]}}}`, `{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call"}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"JSONRPC":"2.0"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"a":1,"a":2}}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, fail := parse(raw)
		if fail != nil {
			if fail.err == nil || fail.status == 0 || fail.code == 0 || fail.id != nil && !json.Valid(fail.id) || fail.call && fail.id == nil {
				t.Fatalf("%q: a fault that cannot be told: %+v", raw, fail)
			}
			return
		}
		if m.id == nil || !declared(m.method) {
			return
		}
		in := &inbound{}
		if m.method == methodCallTool {
			if in.tool, in.arguments, fail = m.callOf(); fail != nil {
				return
			}
			if !json.Valid(in.arguments) {
				t.Fatalf("%q: arguments %q", raw, in.arguments)
			}
		}
		params, fail := m.sdkParams(in, newEra)
		if fail != nil {
			return
		}
		body := sdkBody(m.id, m.method, params)
		if !json.Valid(body) {
			t.Fatalf("%q: the SDK would get %q", raw, body)
		}
		got, err := jsonrpc.DecodeMessage(body)
		if err != nil {
			t.Fatalf("%q: the SDK does not read %q: %v", raw, body, err)
		}
		req, ok := got.(*jsonrpc.Request)
		if !ok || req.Method != m.method {
			t.Fatalf("%q: the SDK reads %+v", raw, got)
		}
		id, err := json.Marshal(req.ID.Raw())
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(normal(id), normal(m.id)) {
			t.Fatalf("%q: the id %s comes back as %s", raw, m.id, id)
		}
	})
}

// normal is JSON in one spelling, with numbers as they are written.
func normal(raw []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return raw
	}
	out, _ := json.Marshal(v)
	return out
}

func TestAnyIntegerIDIsExactOrRefused(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 2000 {
		n := int64(rng.Uint64()) >> rng.IntN(64)
		m, fail := parse([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, n)))
		safe := n <= maxID && n >= -maxID
		if safe != (fail == nil) {
			t.Fatalf("id %d: %v", n, fail)
		}
		if safe && string(m.id) != fmt.Sprint(n) {
			t.Fatalf("id %d is kept as %s", n, m.id)
		}
		if !safe && string(fail.id) != fmt.Sprint(n) {
			t.Fatalf("id %d is given back as %s", n, fail.id)
		}
	}
}
