package powers_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

// explaining is the one act whose answer is a verdict, of its own three words: it has
// no ok, which every envelope begins with.
const explaining = "explain_policy"

// Whoever sees one key of an envelope at the top of an answer can tell that it is
// no result.
func TestNoResultUsesTheNamesOfAnEnvelope(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	found := 0
	for name, raw := range w.outputs() {
		for _, p := range places(deepened(schemaOf(t, raw))) {
			found++
			if slices.Contains(raceKeys, p.name()) && !(name == explaining && p.name() == "verdict") {
				t.Errorf("%s answers %s", name, strings.Join(p.path, "."))
			}
		}
	}
	if found < 300 {
		t.Errorf("only %d properties were found", found)
	}
}

func (w *world) outputs() map[string][]byte {
	out := map[string][]byte{}
	for _, tool := range w.Tools() {
		out[tool.Name] = tool.OutputSchema
	}
	for _, a := range w.Acts() {
		out[a.Name] = a.OutputSchema
	}
	return out
}

// deepened turns lists and alternatives into plain objects, so that every
// property is found.
func deepened(s map[string]any) map[string]any {
	for _, key := range []string{"items", "anyOf"} {
		for _, inner := range list(s[key]) {
			if props := properties(deepened(inner)); props != nil {
				merged := map[string]any{}
				maps.Copy(merged, properties(s))
				maps.Copy(merged, props)
				s["properties"] = merged
			}
		}
	}
	for _, p := range properties(s) {
		deepened(p.(map[string]any))
	}
	return s
}

func list(v any) []map[string]any {
	switch v := v.(type) {
	case map[string]any:
		return []map[string]any{v}
	case []any:
		var out []map[string]any
		for _, one := range v {
			out = append(out, one.(map[string]any))
		}
		return out
	}
	return nil
}

// conforms holds a value to a schema of the kind that this module writes. A word
// of JSON Schema that it does not know is a fault, so that none is passed over.
func conforms(s map[string]any, v any, at string) error {
	if kind, typed := s["type"].(string); typed { // first, for the others rely on it
		if err := isOf(kind, v); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
	}
	for key, rule := range s {
		var err error
		switch key {
		case "type", "description", "format", "maxLength", "minLength", "pattern", "minimum", "maximum", "maxItems", "minItems":
		case "anyOf":
			err = anyOf(list(rule), v, at)
		case "const":
			if v != rule {
				err = fmt.Errorf("%v is not %v", v, rule)
			}
		case "enum":
			if !slices.Contains(rule.([]any), v) {
				err = fmt.Errorf("%v is none of %v", v, rule)
			}
		case "properties":
			err = members(s, v, at)
		case "required", "additionalProperties": // with the properties
		case "items":
			for i, one := range v.([]any) {
				if err = conforms(rule.(map[string]any), one, fmt.Sprint(at, "[", i, "]")); err != nil {
					return err
				}
			}
		default:
			err = fmt.Errorf("an unknown word %s", key)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
	}
	return nil
}

func isOf(kind string, v any) error {
	ok := false
	switch v := v.(type) {
	case nil:
		ok = kind == "null"
	case bool:
		ok = kind == "boolean"
	case string:
		ok = kind == "string"
	case json.Number:
		ok = kind == "number" || kind == "integer" && !strings.ContainsAny(v.String(), ".eE")
	case []any:
		ok = kind == "array"
	case map[string]any:
		ok = kind == "object"
	}
	if !ok {
		return fmt.Errorf("%v is no %s", v, kind)
	}
	return nil
}

func anyOf(ways []map[string]any, v any, at string) (err error) {
	for _, way := range ways {
		if err = conforms(way, v, at); err == nil {
			return nil
		}
	}
	return err
}

func members(s map[string]any, v any, at string) error {
	object := v.(map[string]any)
	for _, key := range required(s) {
		if _, there := object[key]; !there {
			return fmt.Errorf("%s is missing", key)
		}
	}
	for key, value := range object {
		inner, known := properties(s)[key].(map[string]any)
		if !known {
			if s["additionalProperties"] == false {
				return fmt.Errorf("%s is not announced", key)
			}
			continue
		}
		if err := conforms(inner, value, at+"."+key); err != nil {
			return err
		}
	}
	return nil
}

func TestEveryAnswerIsWhatItsSchemaSays(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		seen, nulls := map[string]int{}, 0
		hold := func(name string, schema []byte, r reply) {
			t.Helper()
			if !r.OK {
				t.Fatalf("%s: %s", name, r.JSON)
			}
			seen[name]++
			if err := conforms(schemaOf(t, schema), any(schemaOf(t, r.JSON)), name); err != nil {
				t.Errorf("%v\n%s", err, r.JSON)
			}
			nulls += strings.Count(string(r.JSON), ": null")
			for _, key := range keys(t, r.JSON) {
				if slices.Contains(raceKeys, key) && !(name == explaining && key == "verdict") {
					t.Errorf("%s answers with the key %s of an envelope", name, key)
				}
			}
		}
		w.wholeDay(t, hold)
		for name := range w.outputs() {
			if seen[name] == 0 {
				t.Errorf("no answer of %s was looked at", name)
			}
		}
		if nulls == 0 {
			t.Error("no null was met, so that none was told from a list")
		}
	})
}

// wholeDay calls every tool and every act at least once, with lists empty, short
// and full, and hands each answer on.
func (w *world) wholeDay(t *testing.T, hold func(string, []byte, reply)) {
	agent, owner, worker := w.full(operator.KindAgent), w.full(operator.KindHuman), w.full(operator.KindWorker)
	tool := func(tool *powers.Tool, c powers.Caller, raw string) {
		t.Helper()
		hold(tool.Name, tool.OutputSchema, w.call(c, tool, raw))
	}
	act := func(end string, c powers.Caller, raw string) reply {
		t.Helper()
		r := w.do(c, w.act(end), raw)
		hold(w.act(end).Name, w.act(end).OutputSchema, r)
		return r
	}
	tool(w.looking(), agent, `{}`)
	act("/work/claim", worker, `{"types":["spend"]}`)
	for _, row := range w.Tools() {
		for _, kind := range row.Kinds {
			tool(row, w.full(kind), text(w.args(w.full(kind), row)))
		}
	}
	tool(w.recording(), agent, `{"action":{"type":"note","title":"Inside","labels":["a"],"data":{"ok":false,"verdict":null,"list":null}},"run_id":"0b7e5c0e-8f0e-4c39-9d0f-3f0f5ad1c0de"}`)
	judged := func() string {
		in := w.intent(agent)
		return fmt.Sprintf(`{"id":%d,"digest":"%s"`, in.ID, in.Digest)
	}
	act("/approve", owner, judged()+`}`)
	act("/ignore", owner, judged()+`,"note":"no"}`)
	act("/revoke", owner, judged()+`}`)
	act("/respond", owner, judged()+`,"text":"Which plan?"}`)
	act("/edit", owner, judged()+`,"action":{"type":"spend","title":"Smaller","amount_cents":100}}`)
	rejected := w.intent(agent)
	act("/reject", owner, fmt.Sprintf(`{"id":%d,"digest":"%s"}`, rejected.ID, rejected.Digest))
	act("/comments", owner, `{"text":"Well done."}`)
	w.carriesOut(t, worker, owner, act)
	tool(w.looking(), agent, fmt.Sprintf(`{"intent_id":%d}`, rejected.ID))
	tool(w.looking(), agent, `{}`)
	tool(w.looking(), agent, `{"limit":1}`)
	tool(w.looking(), agent, `{"status":"unknown","limit":100}`)
	for _, a := range w.Acts() { // what is about no intent, in the order of the table
		if slices.Contains(a.Kinds, operator.KindHuman) && !strings.Contains(a.Path, "/intents/") {
			hold(a.Name, a.OutputSchema, w.do(owner, a, text(w.actArgs(a))))
		}
	}
}

// carriesOut takes two jobs, reports on one and loses the other.
func (w *world) carriesOut(t *testing.T, worker, owner powers.Caller, act func(string, powers.Caller, string) reply) {
	t.Helper()
	claimed := func() (out operator.ClaimOutput) {
		decode(t, act("/work/claim", worker, `{"types":["spend","note"],"lease_seconds":30}`).JSON, &out)
		if out.Job == nil {
			t.Fatal("nothing to claim")
		}
		return out
	}
	first, second := claimed().Job, claimed().Job
	act("/extend", worker, fmt.Sprintf(`{"id":%d,"fencing_token":%d}`, first.Intent.ID, first.FencingToken))
	act("/report", worker, fmt.Sprintf(`{"id":%d,"fencing_token":%d,"status":"succeeded","outcome":"Paid."}`, first.Intent.ID, first.FencingToken))
	if _, err := w.raw.Exec(`update reeve_intents set lease_until = 1 where id = $1`, second.Intent.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	act("/settle", owner, fmt.Sprintf(`{"id":%d,"status":"failed","note":"I looked."}`, second.Intent.ID))
	act("/reissue", owner, fmt.Sprintf(`{"id":%d}`, second.Intent.ID))
}

// An address that shows one thing shows that one, or refuses.
func TestAnAddressOfOneIntentNeverShowsAnother(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	c := w.full(operator.KindAgent)
	state := w.row("GET", "/v1/intents/{id}")
	one := slices.IndexFunc(state.Routes, func(r powers.Route) bool { return r.Path == "/v1/intents/{id}" })
	show := func(raw string) reply {
		return read(t, w.CallRoute(t.Context(), c, state.Name, &state.Routes[one], []byte(raw)))
	}
	show(`{}`).wants(t, "missing_field")
	in := w.intent(c)
	for _, raw := range []string{`{}`, `{"intent_id":null}`, `{"limit":1}`, `{"status":"pending_approval"}`} {
		show(raw).wants(t, "missing_field")
	}
	var got operator.Intent
	if decode(t, show(fmt.Sprintf(`{"intent_id":%d}`, in.ID)).JSON, &got); got.ID != in.ID || got.Payload == nil {
		t.Errorf("%+v", got)
	}
	show(`{"intent_id":99}`).wants(t, "not_found")
}

func TestARowThatWasMadeByPostIsCreated(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	c, tool := w.full(operator.KindAgent), w.recording()
	raw := []byte(text(w.args(c, tool)))
	for i, status := range []int{201, 200} {
		if r := read(t, w.CallRoute(t.Context(), c, tool.Name, &tool.Routes[0], raw)); r.Status != status {
			t.Errorf("time %d: status %d: %s", i+1, r.Status, r.JSON)
		}
	}
	if r := w.call(c, tool, text(w.args(c, tool))); r.Status != 200 {
		t.Errorf("without a route: status %d", r.Status)
	}
}
