package strict

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestMembersSplitsAnObject(t *testing.T) {
	tests := map[string]struct {
		raw  string
		want []string // name, value, name, value, …
	}{
		"an empty object":                   {` { } `, nil},
		"every type of value":               {`{"a":1,"b":"x","c":[1,{"d":2}],"d":{"e":[]},"f":null,"g":true}`, []string{"a", "1", "b", `"x"`, "c", `[1,{"d":2}]`, "d", `{"e":[]}`, "f", "null", "g", "true"}},
		"white space everywhere":            {"\n{ \"a\" :\t[ 1 ] ,\r\n\"b\": 2 }\n", []string{"a", "[ 1 ]", "b", "2"}},
		"brackets and quotes in a string":   {`{"a":"]}\"{[\\","b":1}`, []string{"a", `"]}\"{[\\"`, "b", "1"}},
		"a key with escapes":                {`{"\u0061\"\n":1}`, []string{"a\"\n", "1"}},
		"a value 10,000 deep":               {`{"params":` + nested(10000) + `,"id":7}`, []string{"params", nested(10000), "id", "7"}},
		"bad UTF-8 inside a value":          {"{\"x\":\"\xff\",\"id\":7}", []string{"x", "\"\xff\"", "id", "7"}},
		"NUL and lone surrogates inside":    {"{\"x\":\"\\u0000\\ud800\x00\",\"id\":7}", []string{"x", "\"\\u0000\\ud800\x00\"", "id", "7"}},
		"a number no double can hold":       {`{"id":9007199254740993123456789,"x":1e999}`, []string{"id", "9007199254740993123456789", "x", "1e999"}},
		"brackets inside that do not match": {`{"x":[1}],"id":7}`, nil},
		"a literal that is no JSON":         {`{"x":nope,"id":7}`, []string{"x", "nope", "id", "7"}},
		"repeated keys inside a value":      {`{"x":{"a":1,"a":2},"id":7}`, []string{"x", `{"a":1,"a":2}`, "id", "7"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			raw := []byte(tt.raw)
			got, err := Members(raw)
			if strings.Contains(name, "do not match") {
				wantFault(t, err, NotJSON, "") // counted brackets close the object early
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var flat []string
			for _, m := range got {
				flat = append(flat, m.Name, string(m.Value))
				if !bytes.HasPrefix(raw[m.Offset:], m.Value) {
					t.Errorf("%s: the offset %d is not the value's", m.Name, m.Offset)
				}
			}
			if !reflect.DeepEqual(flat, tt.want) {
				t.Errorf("got %q\nwant %q", flat, tt.want)
			}
		})
	}
}

func TestMembersRefuses(t *testing.T) {
	tests := map[string]struct {
		raw   string
		code  Code
		path  string
		found int // members still returned
	}{
		"nothing":                            {"", NotJSON, "", 0},
		"an array":                           {`[{"id":1}]`, NotObject, "", 0},
		"a string":                           {`"x"`, NotObject, "", 0},
		"a number":                           {`-1`, NotObject, "", 0},
		"null":                               {` null`, NotObject, "", 0},
		"rubbish":                            {`<html>`, NotJSON, "", 0},
		"a second object":                    {`{"id":1}{"id":2}`, TrailingData, "", 1},
		"a body without an end":              {`{"id":1,"params":{"a":[`, NotJSON, "", 1},
		"a string without an end":            {`{"id":1,"x":"abc\"`, NotJSON, "", 1},
		"a missing comma":                    {`{"id":1 "x":2}`, NotJSON, "", 1},
		"a missing colon":                    {`{"id" 1}`, NotJSON, "", 0},
		"a missing value":                    {`{"id":}`, NotJSON, "", 0},
		"a comma at the end":                 {`{"id":1,}`, NotJSON, "", 1},
		"a key without quotes":               {`{id:1}`, NotJSON, "", 0},
		"a repeated key":                     {`{"arguments":1,"id":2,"arguments":3}`, RepeatedKey, "/arguments", 3},
		"a key repeated in another spelling": {`{"arguments":1,"\u0061rguments":3}`, RepeatedKey, "/arguments", 2},
		"a repeated key among many":          {`{"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"i":0,"j":0,"k":0,"l":0,"m":0,"c":0}`, RepeatedKey, "/c", 14},
		"a repeated key with a slash":        {`{"a/b~":1,"a/b~":3}`, RepeatedKey, "/a~1b~0", 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Members([]byte(tt.raw))
			wantFault(t, err, tt.code, tt.path)
			if len(got) != tt.found {
				t.Errorf("returned %d members, want %d", len(got), tt.found)
			}
		})
	}
}

func TestFindBelievesNeitherOfTwo(t *testing.T) {
	members, _ := Members([]byte(`{"id":1,"x":2,"x":3}`))
	if m, ok := Find(members, "id"); !ok || string(m.Value) != "1" {
		t.Errorf("id: %v %v", m, ok)
	}
	if _, ok := Find(members, "x"); ok {
		t.Error("x stands twice and was found")
	}
	if _, ok := Find(members, "y"); ok {
		t.Error("y does not stand there and was found")
	}
}

func TestMembersOfAnOrdinaryRequestAllocatesOnlyTheSlice(t *testing.T) {
	raw := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{}}}`)
	if n := testing.AllocsPerRun(100, func() { _, _ = Members(raw) }); n > 1 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"b":"\u0041"}],"c":null}`, `{}`, `{"a":1,"a":2}`, ` {"a" : "x]}" } `, `[1]`, "{\"a\":\"\xff\"}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		members, err := Members(raw)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("an error of another type: %v", err)
			}
			wantPlain(t, e)
			if first := bytes.TrimLeft(raw, " \t\r\n"); e.Code != RepeatedKey && stdjson.Valid(raw) && first[0] == '{' {
				t.Fatalf("refused a valid object: %q: %v", raw, err)
			}
			return
		}
		end := 0
		for _, m := range members {
			if m.Offset < end || !bytes.Equal(raw[m.Offset:m.Offset+len(m.Value)], m.Value) {
				t.Fatalf("spans overlap or are misplaced in %q", raw)
			}
			end = m.Offset + len(m.Value)
		}
		if Check(raw, Limits{}) == nil {
			wantRejoined(t, raw, members)
		}
	})
}

// wantRejoined builds the object again from its members and compares the
// canonical forms.
func wantRejoined(t *testing.T, raw []byte, members []Member) {
	t.Helper()
	joined := []byte("{")
	for i, m := range members {
		if i > 0 {
			joined = append(joined, ',')
		}
		name, err := stdjson.Marshal(m.Name)
		if err != nil {
			t.Fatal(err)
		}
		joined = append(append(append(joined, name...), ':'), m.Value...)
	}
	joined = append(joined, '}')
	want, err1 := Canonical(raw)
	got, err2 := Canonical(joined)
	if (err1 == nil) != (err2 == nil) || err1 == nil && !bytes.Equal(got, want) {
		t.Fatalf("%q came back as %q (%v, %v)", raw, joined, err1, err2)
	}
}
