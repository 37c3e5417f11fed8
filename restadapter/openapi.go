package restadapter

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

const (
	openAPIPath = "/openapi.json"

	// apiVersion names the addresses, and not the program, whose version is told in
	// X-Reeve-Version: the document is the same for every build of the same tables.
	apiVersion = "v1"

	dialect = "https://json-schema.org/draft/2020-12/schema"
)

const apiDescription = "Everything that can be done over REST: the tools of agents, the acts of people and workers. " +
	"No tool approves; approving is a person's act. Each operation says in x-kinds which kinds of caller it is for, and in " +
	"security which scopes their credential needs. Arguments that are not required may be null. A refusal is always the " +
	"envelope Refusal, or a Problem where the Accept header prefers application/problem+json."

// apiDocument is an OpenAPI 3.1 document, as far as this package writes one.
type apiDocument struct {
	OpenAPI    string                           `json:"openapi"`
	Info       apiInfo                          `json:"info"`
	Dialect    string                           `json:"jsonSchemaDialect"`
	Servers    []apiServer                      `json:"servers"`
	Tags       []apiTag                         `json:"tags"`
	Paths      map[string]map[string]*operation `json:"paths"`
	Components components                       `json:"components"`
}

type apiInfo struct {
	Title       string            `json:"title"`
	Version     string            `json:"version"`
	Description string            `json:"description"`
	License     map[string]string `json:"license"`
}

type apiServer struct {
	URL         string `json:"url"`
	Description string `json:"description"`
}

type apiTag struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

type operation struct {
	OperationID string           `json:"operationId"`
	Tags        []string         `json:"tags"`
	Summary     string           `json:"summary"`
	Description string           `json:"description"`
	Kinds       []operator.Kind  `json:"x-kinds,omitempty"`
	Class       string           `json:"x-class,omitempty"`
	Security    []map[string]any `json:"security"`
	Parameters  []any            `json:"parameters,omitempty"`
	Body        *requestBody     `json:"requestBody,omitempty"`
	Responses   map[string]any   `json:"responses"`
}

type parameter struct {
	Name        string          `json:"name"`
	In          string          `json:"in"`
	Required    bool            `json:"required,omitempty"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema"`
}

type requestBody struct {
	Required bool                   `json:"required"`
	Content  map[string]mediaSchema `json:"content"`
}

type mediaSchema struct {
	Schema any `json:"schema"`
}

type response struct {
	Description string                 `json:"description"`
	Headers     map[string]any         `json:"headers,omitempty"`
	Content     map[string]mediaSchema `json:"content,omitempty"`
}

type components struct {
	Schemas    map[string]json.RawMessage `json:"schemas"`
	Responses  map[string]response        `json:"responses"`
	Parameters map[string]parameter       `json:"parameters"`
	Headers    map[string]any             `json:"headers"`
	Security   map[string]any             `json:"securitySchemes"`
}

// ref points to a component.
func ref(kind, name string) any {
	return map[string]string{"$ref": "#/components/" + kind + "/" + name}
}

// deed is one thing that can be done: a route of a tool, an act, or one of the
// adapter's own.
type deed struct {
	id, method, path     string
	tag, title, what     string
	class                string
	kinds                []operator.Kind
	scopes               []operator.Scope
	rename               map[string]string
	input, output        []byte
	answers              string // the name of the answer's type
	creates, parks, keys bool
	attests              bool
}

// openAPI writes the document of both tables, once per process.
func openAPI(tools []*powers.Tool, acts []*powers.Act) ([]byte, error) {
	w := &apiWriter{doc: apiDocument{OpenAPI: "3.1.0", Dialect: dialect,
		Info:       apiInfo{"reeve", apiVersion, apiDescription, map[string]string{"name": "Apache-2.0", "identifier": "Apache-2.0"}},
		Servers:    []apiServer{{"/", "The server that served this document."}},
		Paths:      map[string]map[string]*operation{},
		Components: newComponents()}, ids: map[string]string{}}
	for _, d := range deeds(tools, acts) {
		w.add(d)
	}
	w.addOpen()
	if len(w.errs) > 0 {
		return nil, fmt.Errorf("restadapter: the OpenAPI document: %w", errors.Join(w.errs...))
	}
	return render(w.doc)
}

// deeds reads both tables, and what the adapter answers itself.
func deeds(tools []*powers.Tool, acts []*powers.Act) []deed {
	var out []deed
	for _, t := range tools {
		for i := range t.Routes {
			r := &t.Routes[i]
			d := deed{id: routeID(t, i), method: r.Method, path: r.Path, tag: string(t.Toolset), title: t.Title, what: t.Description,
				class: t.Class.String(), kinds: t.Kinds, scopes: t.Scopes, rename: r.Rename, input: t.InputSchema,
				creates: t.Creates(r), parks: t.MayPark(), keys: t.Keyed(), attests: t.Class == powers.Gated}
			name, schema := t.AnswerOf(r)
			d.answers, d.output = name, schema
			out = append(out, d)
		}
	}
	for _, a := range acts {
		out = append(out, deed{id: a.Name, method: a.Method, path: a.Path, tag: actTag(a), title: a.Title, what: a.What,
			kinds: a.Kinds, scopes: a.Scopes, input: a.InputSchema, output: a.OutputSchema, answers: a.Answers, keys: a.Keyed()})
	}
	return append(out, ownDeeds()...)
}

// routeID names an operation. A tool's first route has the tool's own name, each
// other one what its address adds.
func routeID(t *powers.Tool, i int) string {
	if i == 0 {
		return t.Name
	}
	address := strings.TrimPrefix(t.Routes[i].Path, "/v1/")
	return t.Name + "_" + strings.NewReplacer("/", "_", "-", "_", "{", "", "}", "").Replace(address)
}

// The tags that are no toolset's.
const (
	tagPeople  = "people"
	tagWorkers = "workers"
	tagServer  = "server"
)

func actTag(a *powers.Act) string {
	if slices.Contains(a.Kinds, operator.KindHuman) {
		return tagPeople
	}
	return tagWorkers
}

var tagWords = map[string]string{
	tagPeople:                       "What people do, with a credential of their own: approving among it. No tool leads here.",
	tagWorkers:                      "What workers do: they carry out what was allowed or approved.",
	tagServer:                       "What the server says of itself.",
	string(powers.ToolsetOperator):  "The operator's own tools.",
	string(powers.ToolsetApprovals): "What polls a call that waits for a person.",
}

// everyKind is who may have the listings: whoever proved a credential.
var everyKind = []operator.Kind{operator.KindHuman, operator.KindAgent, operator.KindWorker, operator.KindChannel}

const anyObjectSchema = `{"type":"object","additionalProperties":true}`

// ownDeeds are the two listings, which callers of every kind may have.
func ownDeeds() []deed {
	return []deed{
		{id: listAction, method: http.MethodGet, path: listPath, tag: tagServer, title: "List the tools", kinds: everyKind, answers: "Listings",
			what: "Lists the whole schedule: every tool of every toolset, unpaged, whoever asks.", output: powers.ListingsSchema()},
		{id: openAPIAction, method: http.MethodGet, path: openAPIPath, tag: tagServer, title: "This document", kinds: everyKind,
			what: "Describes every operation as OpenAPI 3.1.", output: []byte(anyObjectSchema)},
	}
}
