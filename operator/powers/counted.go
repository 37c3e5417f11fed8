package powers

import (
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-go/reeve/operator/internal/strict"
)

// form is as much of an input schema as tells two spellings of one call.
type form struct {
	Type       string           `json:"type"`
	Properties map[string]*form `json:"properties"`
}

// formOf reads a schema of ours.
func formOf(schema jsontext.Value) *form {
	f := new(form)
	if err := json.Unmarshal(schema, f); err != nil {
		panic("powers: a schema of ours does not read: " + err.Error())
	}
	return f
}

// canonicalInteger is the one spelling of an integer that is accepted as a text.
var canonicalInteger = regexp.MustCompile(`^"(0|-?[1-9][0-9]{0,18})"$`)

// plain is a value as it counts: without the members that are null, which are as if they
// were absent, and with an integer's text as the number. What is open, such as an
// action's data, and what is malformed, stays as it is.
func (f *form) plain(raw jsontext.Value) jsontext.Value {
	switch {
	case f.Type == "integer" && canonicalInteger.Match(raw):
		return raw[1 : len(raw)-1]
	case f.Type == "object" && f.Properties != nil:
		return f.plainMembers(raw)
	}
	return raw
}

func (f *form) plainMembers(raw jsontext.Value) jsontext.Value {
	members, err := strict.Members(raw)
	if err != nil {
		return raw
	}
	out := jsontext.Value{'{'}
	for _, m := range members {
		value := jsontext.Value(m.Value)
		if own := f.Properties[m.Name]; own != nil {
			if string(value) == "null" {
				continue
			}
			value = own.plain(value)
		}
		name, err := json.Marshal(m.Name)
		if err != nil {
			return raw
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	return append(out, '}')
}

// counted is what of a tool's arguments says whether a call is the same one, to the
// record, to the count of refusals and to an idempotency key alike: all of them but the
// actor, which is thrown away.
func (t *Tool) counted(raw []byte) []byte {
	if t.takesActor() {
		if rest, err := withoutActor(raw); err == nil {
			raw = rest
		}
	}
	return t.form.plain(raw)
}

func (a *Act) counted(raw []byte) []byte { return a.form.plain(raw) }
