package restadapter

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/reeve-go/reeve/operator/powers"
)

// sent is how a deed's arguments travel: in the path, in the query of a GET, in the
// body of anything else.
type sent struct {
	parameters []any
	body       *requestBody
}

// objectSchema is the schema of arguments, with its properties in their order.
type objectSchema struct {
	properties []powers.Member
	required   []string
}

func readObject(schema []byte) (objectSchema, error) {
	var out objectSchema
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if len(schema) == 0 {
		return out, nil
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return out, err
	}
	properties, err := powers.Members(s.Properties)
	return objectSchema{properties, s.Required}, err
}

func argumentsOf(d deed) (sent, error) {
	var out sent
	object, err := readObject(d.input)
	if err != nil {
		return out, err
	}
	names := map[string]string{} // argument to the name that the address has for it
	for name, argument := range d.rename {
		names[argument] = name
	}
	inPath := paramsOf(d.path)
	var rest objectSchema
	for _, p := range object.properties {
		name, required := names[p.Name], slices.Contains(object.required, p.Name)
		if name == "" {
			name = p.Name
		}
		switch {
		case slices.Contains(inPath, name):
			out.parameters = append(out.parameters, parameterOf(name, "path", true, p.Value))
			inPath = slices.DeleteFunc(inPath, func(n string) bool { return n == name })
		case d.method == http.MethodGet:
			if err := scalar(p); err != nil {
				return out, err
			}
			out.parameters = append(out.parameters, parameterOf(name, "query", required, p.Value))
		default:
			rest.properties = append(rest.properties, p)
			if required {
				rest.required = append(rest.required, p.Name)
			}
		}
	}
	if len(inPath) > 0 {
		return out, fmt.Errorf("the path names %v, which no argument is", inPath)
	}
	if len(rest.properties) > 0 {
		out.body = &requestBody{Required: len(rest.required) > 0, Content: map[string]mediaSchema{mediaJSON: {rest}}}
	}
	return out, nil
}

// scalar refuses what a query cannot hold.
func scalar(p powers.Member) error {
	var s struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(p.Value, &s); err != nil {
		return err
	}
	if s.Type == "object" || s.Type == "array" || s.Type == "" {
		return fmt.Errorf("%s is no text, number or boolean, and a GET has no body to send it in", p.Name)
	}
	return nil
}

// parameterOf takes the description off the schema, to where readers look for it.
func parameterOf(name, in string, required bool, schema []byte) parameter {
	out := parameter{Name: name, In: in, Required: required, Schema: schema}
	members, err := powers.Members(schema)
	if err != nil {
		return out
	}
	var kept [][]byte
	for _, m := range members {
		if m.Name == "description" {
			_ = json.Unmarshal(m.Value, &out.Description)
			continue
		}
		kept = append(kept, slices.Concat(quote(m.Name), []byte{':'}, m.Value))
	}
	out.Schema = object(kept)
	return out
}

// MarshalJSON writes the schema of a body.
func (s objectSchema) MarshalJSON() ([]byte, error) {
	members := make([][]byte, 0, len(s.properties))
	for _, p := range s.properties {
		members = append(members, slices.Concat(quote(p.Name), []byte{':'}, p.Value))
	}
	out := slices.Concat([]byte(`{"type":"object","properties":`), object(members))
	if len(s.required) > 0 {
		required, err := json.Marshal(s.required)
		if err != nil {
			return nil, err
		}
		out = slices.Concat(out, []byte(`,"required":`), required)
	}
	return append(out, `,"additionalProperties":false}`...), nil
}

// problemSchema is the envelope's with the members of RFC 9457 before its own, as
// problem writes them.
func problemSchema() json.RawMessage {
	envelope, err := readObject(powers.RefusalSchema())
	if err != nil {
		panic("restadapter: the schema of the envelope: " + err.Error()) // a mistake in the table
	}
	var out objectSchema
	for _, m := range [][3]string{{"type", "string", "The same for every refusal of a reason."}, {"title", "string", "The reason, in words."},
		{"status", "integer", "The HTTP status."}, {"detail", "string", "One plain sentence."}, {"instance", "string", "This refusal."}} {
		out.properties = append(out.properties, powers.Member{Name: m[0], Value: []byte(`{"type":"` + m[1] + `","description":"` + m[2] + `"}`)})
		out.required = append(out.required, m[0])
	}
	out.properties = append(out.properties, envelope.properties...)
	out.required = append(out.required, envelope.required...)
	raw, err := out.MarshalJSON()
	if err != nil {
		panic("restadapter: the schema of a problem: " + err.Error())
	}
	return raw
}
