package restadapter

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator/powers"
)

func TestThePathsParametersAreSplicedIntoTheBody(t *testing.T) {
	id := [][]byte{[]byte(`"id":5`)}
	for body, want := range map[string]string{
		``:                     `{"id":5}`,
		`{}`:                   `{"id":5}`,
		` { } `:                `{"id":5 } `,
		`{"a":1.50}`:           `{"id":5,"a":1.50}`,
		"\n{\n \"a\": 1e2 }\n": "{\"id\":5,\n \"a\": 1e2 }\n",
		`{"id":5}`:             `{"id":5,"id":5}`,
		`[{"a":1}]`:            `[{"a":1}]`,
		`null`:                 `null`,
		`{`:                    `{"id":5,`,
		`{}x`:                  `{"id":5}x`,
	} {
		if got := string(splice(id, []byte(body))); got != want {
			t.Errorf("%q became %q, want %q", body, got, want)
		}
	}
	if got := string(splice(nil, []byte(` {"a":1}`))); got != ` {"a":1}` {
		t.Errorf("a body without parameters became %q", got)
	}
}

// Whatever the body is: what comes out is an object with the path's parameter in
// it, once, or is nothing that the decoder would take.
func FuzzSplice(f *testing.F) {
	for _, s := range []string{``, `{}`, `{"a":1}`, `{"id":6}`, `{"\u0069d":6}`, `[]`, ` {"a":{"id":1}}`, `{}{}`, "\ufeff{}", `{"a":1,}`, `"{"`, "{\"\xff\":1}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		before := bytes.Clone(body)
		out := splice([][]byte{[]byte(`"id":5`)}, body)
		if !bytes.Equal(before, body) {
			t.Fatal("the body was changed")
		}
		members, err := powers.Members(out)
		if powers.CheckJSON(out) != nil || err != nil {
			return
		}
		ids := 0
		for _, m := range members {
			if m.Name == "id" {
				ids++
				if string(m.Value) != "5" {
					t.Fatalf("%q: the id is %s", out, m.Value)
				}
			}
		}
		if ids != 1 {
			t.Fatalf("%q has %d ids", out, ids)
		}
		if len(body) > 0 && !json.Valid(body) {
			t.Fatalf("%q became valid: %q", body, out)
		}
	})
}

func TestAnAddressHoldsNumbersAndWords(t *testing.T) {
	e := &endpoint{rename: map[string]string{"wait": "wait_seconds"}, types: map[string]string{"wait_seconds": "integer", "all": "boolean", "name": "string"}}
	for _, tt := range []struct{ name, text, want string }{
		{"wait", "30", `"wait_seconds":30`},
		{"wait_seconds", "-1", `"wait_seconds":-1`},
		{"wait", "0", `"wait_seconds":0`},
		{"wait", "00", `"wait_seconds":"00"`},
		{"wait", "-0", `"wait_seconds":"-0"`},
		{"wait", "-", `"wait_seconds":"-"`},
		{"wait", "1,\"x\":2", `"wait_seconds":"1,\"x\":2"`},
		{"wait", strings.Repeat("9", 40), `"wait_seconds":` + strings.Repeat("9", 40)},
		{"all", "true", `"all":true`},
		{"all", "True", `"all":"True"`},
		{"all", "null", `"all":"null"`},
		{"name", "30", `"name":"30"`},
		{"name", "true", `"name":"true"`},
		{"name", "a\\\"\n", `"name":"a\\\"\u000a"`},
		{"other", "1", `"other":"1"`},
	} {
		if got := string(e.member(tt.name, tt.text)); got != tt.want {
			t.Errorf("%s=%s became %s, want %s", tt.name, tt.text, got, tt.want)
		}
	}
}

func FuzzQuery(f *testing.F) {
	for _, s := range []string{"", "limit=1&status=a", "a=%22%5C&b=%00", "a=1;b=2", "%=", "a&&b", "id=1&id=2", "a=\xff"} {
		f.Add(s)
	}
	e := &endpoint{types: map[string]string{"limit": "integer"}}
	f.Fuzz(func(t *testing.T, raw string) {
		members, err := e.queryMembers(raw)
		if err != nil {
			return
		}
		found, err := powers.Members(object(members))
		if len(found) != len(members) {
			t.Fatalf("%q: %d members were put in, %d came out: %s (%v)", raw, len(members), len(found), object(members), err)
		}
	})
}
