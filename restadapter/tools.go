package restadapter

import (
	"bytes"
	"encoding/json"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

// listing is the whole schedule, as GET /v1/tools tells it.
type listing struct {
	Tools []listed `json:"tools"`
}

// listed is one row of it. Unlike a listing over MCP it is not filtered: it says
// what there is, and a look at it grants nothing.
type listed struct {
	Name      string           `json:"name"`
	Class     string           `json:"class"`
	Toolset   powers.Toolset   `json:"toolset"`
	Primitive powers.Primitive `json:"primitive"`
	Kinds     []operator.Kind  `json:"kinds"`
	Scopes    []operator.Scope `json:"scopes"`
	// ConditionalScopes are needed for some arguments only. No row has any yet.
	ConditionalScopes []operator.Scope `json:"conditional_scopes"`
	Spends            bool             `json:"spends"`
	Brake             bool             `json:"brake"`
	Routes            []string         `json:"routes"` // "GET /v1/state"
}

// list renders the schedule once: it is the same for everybody and for as long
// as the process lives.
func list(tools []*powers.Tool) ([]byte, error) {
	out := listing{Tools: make([]listed, 0, len(tools))}
	for _, t := range tools {
		row := listed{
			Name: t.Name, Class: t.Class.String(), Toolset: t.Toolset, Primitive: t.Primitive,
			Kinds: append([]operator.Kind{}, t.Kinds...), Scopes: append([]operator.Scope{}, t.Scopes...),
			ConditionalScopes: []operator.Scope{}, Spends: t.Class.Spends(), Brake: t.Class == powers.Brake,
			Routes: make([]string, 0, len(t.Routes)),
		}
		for _, r := range t.Routes {
			row.Routes = append(row.Routes, r.Method+" "+r.Path)
		}
		out.Tools = append(out.Tools, row)
	}
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(out)
	return bytes.TrimSpace(body.Bytes()), err
}
