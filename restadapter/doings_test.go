package restadapter

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator"
)

// doing is one thing that can be done over REST: a route of a tool, or an act.
// The sweeps are over these, so that no test spells a row out.
type doing struct {
	name, method, path string
	kinds              []operator.Kind
	scopes             []operator.Scope
	schema             []byte
	rename             map[string]string
}

func (d doing) String() string { return d.method + " " + d.path }

// doings reads both tables.
func (h *house) doings() []doing {
	var out []doing
	for _, t := range h.schedule.Tools() {
		for _, r := range t.Routes {
			out = append(out, doing{t.Name, r.Method, r.Path, t.Kinds, t.Scopes, t.InputSchema, r.Rename})
		}
	}
	for _, a := range h.schedule.Acts() {
		out = append(out, doing{a.Name, a.Method, a.Path, a.Kinds, a.Scopes, a.InputSchema, nil})
	}
	if len(out) < 10 {
		h.t.Fatalf("only %d doings: the sweep is blind", len(out))
	}
	return out
}

// hasID says that it is about something that the path names.
func (d doing) hasID() bool { return strings.Contains(d.path, "{id}") }

func (d doing) address(id any) string { return strings.ReplaceAll(d.path, "{id}", fmt.Sprint(id)) }

// asText spoils the headers of a request with a body, to show that they are not
// looked at yet.
func (d doing) asText() change { return header("Content-Type", "text/plain") }

// sample is the smallest body that has the right form.
func (d doing) sample(t *testing.T) string {
	t.Helper()
	if d.method == http.MethodGet {
		return ""
	}
	var s schemaNode
	if err := json.Unmarshal(d.schema, &s); err != nil {
		t.Fatal(err)
	}
	s.Required = slices.DeleteFunc(s.Required, func(n string) bool { return n == "id" && d.hasID() })
	raw, err := json.Marshal(s.sample())
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

type schemaNode struct {
	Type       string                `json:"type"`
	Properties map[string]schemaNode `json:"properties"`
	Required   []string              `json:"required"`
	Items      *schemaNode           `json:"items"`
	Enum       []any                 `json:"enum"`
}

func (s schemaNode) sample() any {
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Type == "object":
		out := map[string]any{}
		for _, name := range s.Required {
			out[name] = s.Properties[name].sample()
		}
		return out
	case s.Type == "array":
		return []any{s.Items.sample()}
	case s.Type == "integer":
		return 1
	case s.Type == "boolean":
		return false
	}
	return "note"
}

// mint makes a credential of that kind with just these scopes.
func (h *house) mint(kind operator.Kind, scopes []operator.Scope) string {
	h.t.Helper()
	h.minted++
	in := operator.NewCredential{Kind: kind, Name: fmt.Sprintf("minted-%d", h.minted), Scopes: scopes}
	if kind == operator.KindHuman {
		in.Person, in.Interactive = "owner", true
	}
	return h.world.Mint(h.t, in).Token
}

func act(id int64, verb string) string { return fmt.Sprintf("/v1/intents/%d/%s", id, verb) }

func digest(in intent) string { return `{"digest":"` + in.Digest + `"}` }
