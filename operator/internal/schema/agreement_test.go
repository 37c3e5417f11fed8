package schema_test

import (
	stdjson "encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reeve-go/reeve/operator/internal/schema"
	"github.com/reeve-go/reeve/operator/internal/strict"
)

// resolve holds the schema against the meta-schema of draft 2020-12 by resolving
// it with a library that others wrote.
func resolve(t *testing.T, raw []byte) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := stdjson.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

func schemaTakes(t *testing.T, s *jsonschema.Resolved, raw string) error {
	t.Helper()
	var v any
	if err := stdjson.Unmarshal([]byte(raw), &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return s.Validate(v)
}

// sample is the arguments that both take, with members changed or added. A member
// set to nothing is left out.
func sample(changes map[string]string) string {
	members := map[string]string{"title": `"t"`, "rank": "1", "flag": "false", "steps": "[]"}
	for name, value := range changes {
		if members[name] = value; value == "" {
			delete(members, name)
		}
	}
	var parts []string
	for name, value := range members {
		parts = append(parts, fmt.Sprintf("%q:%s", name, value))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func TestTheSchemaAndTheDecoderAgree(t *testing.T) {
	s, d := resolve(t, forType[arguments](t, schema.Options{})), strict.New(strict.Options{})
	values := map[string]struct{ taken, refused []string }{
		"title":        {[]string{`"t"`, `"123456789012"`, `"éééééééééééé"`}, []string{"", `""`, `"1234567890123"`, "1", "[]", "null"}},
		"code":         {[]string{"", `"abc"`, `"€€€"`}, []string{`"ab"`, `"abcd"`, "1"}},
		"kind":         {[]string{"", `"goal"`, `"note"`, `"two words"`}, []string{`"Goal"`, `"goal "`, `"two"`, "0"}},
		"count":        {[]string{"", "0", "9"}, []string{"-1", "10", "1.5", "true"}},
		"rank":         {[]string{"1", "9007199254740993"}, []string{"", "0", "-1", "1.5", "null"}},
		"ratio":        {[]string{"", "1", "0.5"}, []string{"0", "1.01", `"0.5"`}},
		"level":        {[]string{"", "0", "1", "2"}, []string{"3", "-1", "1.5"}},
		"flag":         {[]string{"true", "false"}, []string{"", `"true"`, "0", "null"}},
		"labels":       {[]string{"", "[]", `["a"]`, `["a","b"]`}, []string{`["a","b","c"]`, `["a","a"]`, `[""]`, `["12345"]`, `[1]`, `[null]`, `"a"`, "{}"}},
		"steps":        {[]string{"[]", `[{"name":"a"}]`, `[{"name":"a","size":9}]`}, []string{"", `[{}]`, `[{"name":"A"}]`, `[{"name":"a","size":10}]`, `[{"name":"a","size":-1}]`, `[{"name":"a","x":1}]`, `[null]`, `[[]]`, "{}", `[{"name":"a"},{"name":"a"},{"name":"a"},{"name":"a"}]`}},
		"first":        {[]string{"", `{"name":"a"}`}, []string{`{}`, `{"name":""}`, "[]", `{"name":"a","title":"t"}`}},
		"on":           {[]string{"", "{}", `{"a":true,"B c":false}`}, []string{`{"a":1}`, `{"a":null}`, `{"a":true,"b":true,"c":true}`, "[]"}},
		"data":         {[]string{"", "{}", `{"a":[null,1.5,{"B":{}}]}`}, []string{"[]", `"{}"`, "1"}},
		"actor":        {[]string{"", "{}", "[1]", `"x"`, "1", "true", "null"}, nil},
		"limit":        {[]string{"", "1", "100"}, []string{"0", "101", "1.5", "[]"}},
		"amount_cents": {[]string{"", "1", "4900"}, []string{"49.5", `"49"`, "true"}},
		"Title":        {nil, []string{`"t"`, "null"}},
		"hidden":       {nil, []string{`"t"`}},
		"paging":       {nil, []string{`{}`}},
	}
	for name, v := range values {
		for i, value := range append(append([]string{}, v.taken...), v.refused...) {
			raw, want := sample(map[string]string{name: value}), i < len(v.taken)
			bySchema, byDecoder := schemaTakes(t, s, raw), d.Decode([]byte(raw), new(arguments))
			if (bySchema == nil) != want || (byDecoder == nil) != want {
				t.Errorf("%s: wanted %v\nthe schema says %v\nthe decoder says %v", raw, want, bySchema, byDecoder)
			}
		}
	}
}

// Random combinations of members find what single ones do not.
func TestTheSchemaAndTheDecoderAgreeOnRandomArguments(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	s, d := resolve(t, forType[arguments](t, schema.Options{})), strict.New(strict.Options{})
	pool := []string{`""`, `"a"`, `"goal"`, `"abc"`, "0", "1", "7", "-1", "0.5", "true", "[]", `["a"]`, `[{"name":"a"}]`, "{}", `{"name":"a"}`, `{"a":true}`}
	names := []string{"title", "code", "kind", "count", "rank", "ratio", "level", "flag", "labels", "steps", "first", "on", "data", "actor", "limit"}
	taken := 0
	for range 3000 {
		changes := map[string]string{}
		for range 1 + rng.IntN(2) {
			changes[names[rng.IntN(len(names))]] = pool[rng.IntN(len(pool))]
		}
		if changes["code"] == `""` || changes["kind"] == `""` || changes["limit"] == "0" || changes["ratio"] == "0" {
			continue // omitempty: the validator takes the empty value for absence
		}
		raw := sample(changes)
		bySchema, byDecoder := schemaTakes(t, s, raw), d.Decode([]byte(raw), new(arguments))
		if (bySchema == nil) != (byDecoder == nil) {
			t.Fatalf("%s\nthe schema says %v\nthe decoder says %v", raw, bySchema, byDecoder)
		}
		if byDecoder == nil {
			taken++
		}
	}
	if taken < 100 {
		t.Errorf("only %d of 3000 were taken, so little was compared", taken)
	}
}

func TestTheDecoderIsMoreLiberalOnlyWhereItSaysSo(t *testing.T) {
	s, d := resolve(t, forType[arguments](t, schema.Options{})), strict.New(strict.Options{})
	for what, changes := range map[string]map[string]string{
		"null for an optional field": {"count": "null", "labels": "null", "first": "null", "data": "null", "limit": "null", "due_at": "null"},
		"an integer in a string":     {"count": `"4"`, "limit": `"4"`, "rank": `"4"`},
	} {
		for name, value := range changes {
			raw := sample(map[string]string{name: value})
			if schemaTakes(t, s, raw) == nil {
				t.Errorf("%s: the schema spells it out: %s", what, raw)
			}
			if err := d.Decode([]byte(raw), new(arguments)); err != nil {
				t.Errorf("%s: %s: %v", what, raw, err)
			}
		}
	}
	raw := sample(map[string]string{"rank": "49.0"})
	if schemaTakes(t, s, raw) != nil || d.Decode([]byte(raw), new(arguments)) == nil {
		t.Error("49.0 is an integer of JSON Schema and none of ours")
	}
}

func TestAnAnswerFitsItsSchema(t *testing.T) {
	s := resolve(t, forType[answer](t, schema.Options{Output: true}))
	one := int64(1)
	for name, v := range map[string]answer{
		"empty":       {},
		"whole":       {ID: 1, Note: "n", Decided: &one, Reasons: []string{"r"}, Nested: &answerPart{}, At: time.Unix(0, 0).UTC(), By: map[string]step{"x": {Name: "a"}}},
		"null or not": {Nested: &answerPart{OK: true}},
	} {
		raw, err := marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := schemaTakes(t, s, raw); err != nil {
			t.Errorf("%s: %s: %v", name, raw, err)
		}
	}
	for _, raw := range []string{
		`{"id":1,"approval_decision_id":null,"policy_reasons":null,"created_at":"1970-01-01T00:00:00Z","by":{}}`,
		`{"id":1,"policy_reasons":[],"created_at":"1970-01-01T00:00:00Z","by":{}}`,
		`{"id":null,"approval_decision_id":null,"policy_reasons":[],"created_at":"1970-01-01T00:00:00Z","by":{}}`,
	} {
		if schemaTakes(t, s, raw) == nil {
			t.Errorf("the schema takes an answer that is never given: %s", raw)
		}
	}
}

func FuzzFor(f *testing.F) {
	for _, s := range []string{"required,max=3", "omitempty,oneof='a b' c", "max=3,dive,keys,max=2,endkeys,required", "len=1e9", "gt=-0.5,lt=x", ",", "=", "min"} {
		f.Add(s, "name,omitzero", "A description.")
	}
	f.Fuzz(func(t *testing.T, validate, json, doc string) {
		tag := reflect.StructTag(fmt.Sprintf("validate:%q json:%q doc:%q", validate, json, doc))
		for _, typ := range []reflect.Type{reflect.TypeFor[[]string](), reflect.TypeFor[*int](), reflect.TypeFor[string](), reflect.TypeFor[map[string]uint8]()} {
			raw, err := schema.For(reflect.StructOf([]reflect.StructField{{Name: "A", Type: typ, Tag: tag}}), schema.Options{})
			if err == nil && !stdjson.Valid(raw) {
				t.Fatalf("%v %s gives %s", typ, tag, raw)
			}
		}
	})
}
