package powers

import (
	"reflect"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/internal/schema"
)

// Listings is the whole schedule as GET /v1/tools tells it: every toolset, unpaged.
// Unlike a listing over MCP it is not filtered.
type Listings struct {
	Tools []Listing `json:"tools" doc:"Every tool, in the schedule's order."`
}

// ListingsSchema is the exact JSON Schema of Listings.
func ListingsSchema() jsontext.Value {
	return must(schema.For(reflect.TypeFor[Listings](), schema.Options{Output: true}))
}

// Listing is a row as GET /v1/tools tells of it. It says what there is, and a look
// at it grants nothing.
type Listing struct {
	Name      string           `json:"name"`
	Class     string           `json:"class"`
	Toolset   Toolset          `json:"toolset"`
	Primitive Primitive        `json:"primitive"`
	Kinds     []operator.Kind  `json:"kinds"`
	Scopes    []operator.Scope `json:"scopes"`
	// ConditionalScopes are needed for some arguments only. No row has any yet.
	ConditionalScopes []operator.Scope `json:"conditional_scopes"`
	Spends            bool             `json:"spends"`
	Brake             bool             `json:"brake"`
	Routes            []string         `json:"routes"` // "GET /v1/state"
}

// Listing is the row's own.
func (t *Tool) Listing() Listing {
	out := Listing{Name: t.Name, Class: t.Class.String(), Toolset: t.Toolset, Primitive: t.Primitive,
		Kinds: append([]operator.Kind{}, t.Kinds...), Scopes: append([]operator.Scope{}, t.Scopes...), ConditionalScopes: []operator.Scope{},
		Spends: t.Class.Spends(), Brake: t.Class == Brake, Routes: make([]string, 0, len(t.Routes))}
	for _, r := range t.Routes {
		out.Routes = append(out.Routes, r.Method+" "+r.Path)
	}
	return out
}

// Annotations are the hints that a listing over MCP gives of a tool.
type Annotations struct {
	Title       string `json:"title"`
	ReadOnly    bool   `json:"readOnlyHint"`
	Destructive bool   `json:"destructiveHint"`
	Idempotent  bool   `json:"idempotentHint"`
	OpenWorld   bool   `json:"openWorldHint"`
}

// Annotations are the row's own.
func (t *Tool) Annotations() Annotations {
	return Annotations{Title: t.Title, ReadOnly: t.ReadOnly(), Destructive: t.Destructive, Idempotent: t.Idempotent, OpenWorld: t.OpenWorld}
}
