package schema_test

import (
	stdjson "encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-go/reeve/operator/internal/schema"
	"github.com/reeve-go/reeve/operator/internal/strict"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// cents describes itself.
type cents int64

func (c *cents) UnmarshalJSON(b []byte) error { return stdjson.Unmarshal(b, (*int64)(c)) }

func (cents) JSONSchema() map[string]any {
	return map[string]any{"minimum": 1, "maximum": int64(9007199254740991), "type": "integer"}
}

type paging struct {
	Limit *int `json:"limit,omitzero" validate:"omitempty,min=1,max=100" doc:"How many to return."`
}

type step struct {
	Name string `json:"name" validate:"required,word" doc:"The name of the step."`
	Size uint16 `json:"size,omitzero" validate:"max=9" doc:"Its size."`
}

type arguments struct {
	Title  string          `json:"title" validate:"required,max=12,hygienic" doc:"What it is, in one line."`
	Code   string          `json:"code,omitzero" validate:"omitempty,len=3" doc:"A code of three characters."`
	Kind   string          `json:"kind,omitzero" validate:"omitempty,oneof=goal note 'two words'" doc:"Its kind."`
	ID     string          `json:"id,omitzero" validate:"omitempty,uuid" doc:"Which one."`
	Count  int64           `json:"count,omitzero" validate:"gte=0,lt=10" doc:"How many."`
	Rank   int             `json:"rank" validate:"required,min=1" doc:"Its rank, from 1."`
	Ratio  *float64        `json:"ratio,omitzero" validate:"omitempty,gt=0,lte=1" doc:"A share."`
	Level  int             `json:"level,omitzero" validate:"oneof=0 1 2" doc:"How loud."`
	Flag   *bool           `json:"flag" validate:"required" doc:"Whether."`
	Amount *cents          `json:"amount_cents,omitzero" doc:"Minor units."`
	Labels []string        `json:"labels,omitzero" validate:"max=2,unique,dive,required,max=4" doc:"Labels."`
	Steps  []step          `json:"steps" validate:"required,max=3,dive" doc:"The steps."`
	First  *step           `json:"first,omitzero" doc:"The first step."`
	On     map[string]bool `json:"on,omitzero" validate:"max=2" doc:"What is on."`
	Due    time.Time       `json:"due_at,omitzero" doc:"When it is due."`
	Data   jsontext.Value  `json:"data,omitzero" doc:"Anything for the executor."`
	Actor  strict.Discard  `json:"actor,omitzero" doc:"Accepted and thrown away."`
	Hidden string          `json:"-"`
	paging
}

type answer struct {
	ID      int64           `json:"id"`
	Note    string          `json:"note,omitempty" doc:"A note."`
	Decided *int64          `json:"approval_decision_id" doc:"Null until decided."`
	Reasons []string        `json:"policy_reasons"`
	Nested  *answerPart     `json:"nested,omitzero"`
	At      time.Time       `json:"created_at"`
	Data    jsontext.Value  `json:"data,omitzero"`
	By      map[string]step `json:"by"`
}

type answerPart struct {
	OK bool `json:"fine"`
}

func forType[T any](t *testing.T, opts schema.Options) []byte {
	t.Helper()
	b, err := schema.For(reflect.TypeFor[T](), opts)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestTheSchemaIsAsCommitted(t *testing.T) {
	for name, raw := range map[string][]byte{
		"arguments": forType[arguments](t, schema.Options{}),
		"answer":    forType[answer](t, schema.Options{Output: true}),
	} {
		v := jsontext.Value(raw)
		if err := v.Indent(); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", name+".json")
		got := append([]byte(v), '\n')
		if *update {
			if err := os.MkdirAll("testdata", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s differs from what was committed; run the test with -update and read the difference:\n%s", file, got)
		}
	}
}

func TestTheSameTypeGivesTheSameBytes(t *testing.T) {
	first := forType[arguments](t, schema.Options{})
	for range 50 {
		if string(forType[arguments](t, schema.Options{})) != string(first) {
			t.Fatal("the bytes change from run to run")
		}
	}
	if string(forType[*arguments](t, schema.Options{})) != string(first) {
		t.Error("a pointer to the struct gives another schema")
	}
}

// Clients choke on these words; they must appear at no level.
func TestTheSchemaIsPlain(t *testing.T) {
	var walk func(v any, path string)
	walk = func(v any, path string) {
		m, ok := v.(map[string]any)
		if !ok {
			return
		}
		for _, word := range []string{"$ref", "$defs", "anyOf", "oneOf", "allOf", "not", "if"} {
			if _, ok := m[word]; ok {
				t.Errorf("%s at %s", word, path)
			}
		}
		if _, list := m["type"].([]any); list {
			t.Errorf("a list of types at %s", path)
		}
		if m["type"] == nil && path != ".actor" {
			t.Errorf("no type at %s", path)
		}
		walk(m["items"], path+"[]")
		walk(m["additionalProperties"], path+".*")
		properties, _ := m["properties"].(map[string]any)
		for name, p := range properties {
			if p.(map[string]any)["description"] == "" {
				t.Errorf("no description at %s.%s", path, name)
			}
			walk(p, path+"."+name)
		}
		if properties != nil && m["additionalProperties"] != false {
			t.Errorf("other keys are allowed at %s", path)
		}
	}
	var v any
	if err := stdjson.Unmarshal(forType[arguments](t, schema.Options{}), &v); err != nil {
		t.Fatal(err)
	}
	walk(v, "")
}

func TestAnEmptyStructTakesNoArguments(t *testing.T) {
	if got := string(forType[struct{}](t, schema.Options{})); got != `{"type":"object","properties":{},"additionalProperties":false}` {
		t.Error(got)
	}
}

func TestLimitsAreCountedAsTheValidatorCounts(t *testing.T) {
	type limits struct {
		More   string         `json:"more" validate:"required,gt=2" doc:"x"`
		Zero   string         `json:"zero" validate:"required,min=0" doc:"x"`
		Fewer  []string       `json:"fewer,omitzero" validate:"lt=3" doc:"x"`
		Some   []string       `json:"some" validate:"required,min=1" doc:"x"`
		Word   string         `json:"word" validate:"required,word,max=50" doc:"x"`
		Brief  string         `json:"brief" validate:"required,word,max=5" doc:"x"`
		Exact  int64          `json:"exact,omitzero" validate:"max=9007199254740991" doc:"x"`
		Keys   map[string]int `json:"keys,omitzero" validate:"omitempty,min=1,dive,keys,max=2,endkeys,max=7" doc:"x"`
		Below  *int           `json:"below" validate:"required,lt=0" doc:"x"`
		Mail   string         `json:"mail,omitzero" validate:"omitempty,email" doc:"x"`
		Either string         `json:"either,omitzero" validate:"required_without=Mail" doc:"x"`
	}
	var got struct {
		Properties map[string]stdjson.RawMessage `json:"properties"`
	}
	if err := stdjson.Unmarshal(forType[limits](t, schema.Options{}), &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"more":   `{"type":"string","minLength":3,"description":"x"}`,
		"zero":   `{"type":"string","minLength":1,"description":"x"}`,
		"fewer":  `{"type":"array","items":{"type":"string"},"maxItems":2,"description":"x"}`,
		"some":   `{"type":"array","items":{"type":"string"},"minItems":1,"description":"x"}`,
		"word":   `{"type":"string","pattern":"^[a-z][a-z0-9_]*$","minLength":1,"maxLength":40,"description":"x"}`,
		"brief":  `{"type":"string","pattern":"^[a-z][a-z0-9_]*$","minLength":1,"maxLength":5,"description":"x"}`,
		"exact":  `{"type":"integer","maximum":9007199254740991,"description":"x"}`,
		"keys":   `{"type":"object","additionalProperties":{"type":"integer","maximum":7},"minProperties":1,"description":"x"}`,
		"below":  `{"type":"integer","exclusiveMaximum":0,"description":"x"}`,
		"mail":   `{"type":"string","format":"email","description":"x"}`,
		"either": `{"type":"string","description":"x"}`,
	} {
		if string(got.Properties[name]) != want {
			t.Errorf("%s: got  %s\nwant %s", name, got.Properties[name], want)
		}
	}
}

func TestATypeCanBeDescribedFromOutside(t *testing.T) {
	type foreign struct {
		When time.Month `json:"when" doc:"The month."`
		URL  jsonless   `json:"url" doc:"Where."`
	}
	got := forType[foreign](t, schema.Options{Types: map[reflect.Type]map[string]any{
		reflect.TypeFor[jsonless](): {"pattern": "^https:", "type": "string"},
	}})
	if want := `"url":{"type":"string","pattern":"^https:","description":"Where."}`; !strings.Contains(string(got), want) {
		t.Errorf("got %s\nwant in it %s", got, want)
	}
}

type jsonless struct{ host string }

func (j *jsonless) UnmarshalText(b []byte) error { j.host = string(b); return nil }

type recursive struct {
	Next *recursive `json:"next,omitzero" doc:"The next."`
}

func TestAStructThatWouldAnnounceOneThingAndAcceptAnotherIsRefused(t *testing.T) {
	tests := map[string]struct {
		typ     reflect.Type
		field   string
		problem string
	}{
		"no description": {reflect.TypeFor[struct {
			A string `json:"a"`
		}](), "a", "description is missing"},
		"no description deep inside": {reflect.TypeFor[struct {
			A []struct {
				B string `json:"b"`
			} `json:"a" doc:"x" validate:"dive"`
		}](), "a[].b", "description is missing"},
		"no json name": {reflect.TypeFor[struct {
			Abc string `doc:"x"`
		}](), "Abc", "JSON name"},
		"a name in capitals": {reflect.TypeFor[struct {
			A string `json:"aB" doc:"x"`
		}](), "aB", "JSON name"},
		"a name with a hyphen": {reflect.TypeFor[struct {
			A string `json:"a-b" doc:"x"`
		}](), "a-b", "JSON name"},
		"a json option": {reflect.TypeFor[struct {
			A int `json:"a,string" doc:"x"`
		}](), "a", `option "string"`},
		"an unknown rule": {reflect.TypeFor[struct {
			A string `json:"a" doc:"x" validate:"omitempty,ip"`
		}](), "a", `rule "ip"`},
		"a limit that is no number": {reflect.TypeFor[struct {
			A string `json:"a" doc:"x" validate:"max=x"`
		}](), "a", "needs a number"},
		"a limit that JSON cannot write": {reflect.TypeFor[struct {
			A int `json:"a" doc:"x" validate:"max=0x1f"`
		}](), "a", "needs a number"},
		"numbers that are words": {reflect.TypeFor[struct {
			A int `json:"a" doc:"x" validate:"omitempty,oneof=1 two"`
		}](), "a", "must be numbers"},
		"required elements that may be zero": {reflect.TypeFor[struct {
			A []int `json:"a" doc:"x" validate:"dive,required"`
		}](), "a[]", "refuses 0"},
		"an enumeration of nothing": {reflect.TypeFor[struct {
			A string `json:"a" doc:"x" validate:"oneof="`
		}](), "a", "needs values"},
		"a quote without an end": {reflect.TypeFor[struct {
			A string `json:"a" doc:"x" validate:"omitempty,oneof='a b"`
		}](), "a", "without an end"},
		"a required bool": {reflect.TypeFor[struct {
			A bool `json:"a" doc:"x" validate:"required"`
		}](), "a", "refuses false"},
		"a required number that may be zero": {reflect.TypeFor[struct {
			A int `json:"a" doc:"x" validate:"required,max=5"`
		}](), "a", "refuses 0"},
		"an optional string with a minimum": {reflect.TypeFor[struct {
			A string `json:"a" doc:"x" validate:"min=2"`
		}](), "a", "omitempty or required"},
		"an optional word": {reflect.TypeFor[struct {
			A string `json:"a" doc:"x" validate:"word"`
		}](), "a", "omitempty or required"},
		"an optional pointer with rules": {reflect.TypeFor[struct {
			A *int `json:"a" doc:"x" validate:"max=2"`
		}](), "a", "needs omitempty"},
		"required and not": {reflect.TypeFor[struct {
			A *int `json:"a" doc:"x" validate:"omitempty,required"`
		}](), "a", "contradict"},
		"a list of structs without dive": {reflect.TypeFor[struct {
			A []step `json:"a" doc:"x"`
		}](), "a", "only with dive"},
		"any value": {reflect.TypeFor[struct {
			A any `json:"a" doc:"x"`
		}](), "a", "no schema"},
		"a list of any values": {reflect.TypeFor[struct {
			A []any `json:"a" doc:"x"`
		}](), "a[]", "no schema"},
		"bytes": {reflect.TypeFor[struct {
			A []byte `json:"a" doc:"x"`
		}](), "a", "bytes"},
		"a map by numbers": {reflect.TypeFor[struct {
			A map[int]string `json:"a" doc:"x"`
		}](), "a", "must be strings"},
		"a type that reads itself in silence": {reflect.TypeFor[struct {
			A jsonless `json:"a" doc:"x"`
		}](), "a", "JSONSchema method"},
		"a struct inside itself": {reflect.TypeFor[recursive](), "next", "holds itself"},
		"a name twice": {reflect.TypeFor[struct {
			paging
			Limit int `json:"limit" doc:"x"`
		}](), "limit", "two fields"},
		"an embedded pointer": {reflect.TypeFor[struct{ *paging }](), "paging", "may be embedded"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b, err := schema.For(tt.typ, schema.Options{})
			var fe *schema.FieldError
			if !errors.As(err, &fe) || b != nil {
				t.Fatalf("got %s, %v", b, err)
			}
			if fe.Field != tt.field || !strings.Contains(fe.Error(), tt.problem) {
				t.Errorf("got %v\nwant field %s, %q", fe, tt.field, tt.problem)
			}
		})
	}
}

func TestEveryMistakeIsReportedAtOnce(t *testing.T) {
	type bad struct {
		A string `json:"a"`
		B any    `json:"b" doc:"x"`
	}
	_, err := schema.For(reflect.TypeFor[bad](), schema.Options{})
	if err == nil || strings.Count(err.Error(), "schema: ") != 2 {
		t.Errorf("got %v", err)
	}
}

func TestOnlyAStructHasASchema(t *testing.T) {
	for _, typ := range []reflect.Type{nil, reflect.TypeFor[int](), reflect.TypeFor[[]step](), reflect.TypeFor[map[string]int]()} {
		if b, err := schema.For(typ, schema.Options{}); err == nil {
			t.Errorf("%v: %s", typ, b)
		}
	}
}

func marshal(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}
