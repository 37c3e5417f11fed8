package strict

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// mirror has every kind of field whose text survives a round trip.
type mirror struct {
	S string            `json:"s,omitzero"`
	N *int64            `json:"n,omitzero"`
	B *bool             `json:"b,omitzero"`
	L []string          `json:"l,omitzero"`
	O *mirror           `json:"o,omitzero"`
	M map[string]mirror `json:"m,omitzero"`
	D jsontext.Value    `json:"d,omitzero"`
}

// FuzzDecode holds that accepted input, encoded again, is the same value: nothing
// was dropped, rounded or folded on the way in.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"s":"x","n":-9007199254740993,"b":false,"l":["a","\u00e9"],"o":{"o":{}},"m":{"k":{"n":1}},"d":{"z":[1.5,{}]}}`,
		`{"n":"41"}`, `{"n":null,"d":null}`, `{"l":[null]}`, `{"S":1}`, `{"n":1.0}`, `{"m":{"":null}}`, `{"d":[]}`,
	} {
		f.Add([]byte(s))
	}
	d := New(Options{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		var in, slow mirror
		err := d.Decode(raw, &in)
		if _, early := prescan(raw, d.limits); early == nil {
			if other := d.unmarshal(raw, &slow, true); err == nil && (other != nil || !reflect.DeepEqual(in, slow)) {
				t.Fatalf("the exact way gives %+v, the liberal one %+v (%v)", in, slow, other)
			}
		}
		if err != nil {
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("an error of another type: %v", err)
			}
			wantPlain(t, e)
			return
		}
		if err := Check(raw, Limits{}); err != nil {
			t.Fatalf("decoded what Check refuses: %v", err)
		}
		if liberal(raw) {
			return // null and quoted integers come back as nothing and as integers
		}
		out, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		want, got := normal(t, raw), normal(t, out)
		if !bytes.Equal(want, got) {
			t.Fatalf("%s came back as %s", want, got)
		}
	})
}

// liberal reports whether raw uses what Decode takes beyond the exact type, or
// holds what the mirror leaves out as empty.
func liberal(raw []byte) bool {
	s := strings.Join(strings.Fields(string(raw)), "")
	return strings.Contains(s, "null") || strings.Contains(s, `\u`) || strings.Contains(s, `"n":"`) || strings.Contains(s, `"s":""`)
}

// normal is the canonical form with integers kept as they are.
func normal(t *testing.T, raw []byte) []byte {
	t.Helper()
	v := jsontext.Value(bytes.Clone(raw))
	if err := v.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)); err != nil {
		t.Fatal(err)
	}
	return bytes.ReplaceAll(v, []byte(`:-0`), []byte(`:0`))
}
