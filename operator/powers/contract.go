package powers

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// contract is whatever a client could come to depend on of a tool.
type contract struct {
	Listing
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	Annotations  Annotations     `json:"annotations"`
	AlwaysOn     bool            `json:"always_on"`
	MayPark      bool            `json:"may_park"`
	Keyed        bool            `json:"idempotency_key"`
	Alternatives []alternative   `json:"alternatives"`
	REST         []routeContract `json:"rest"`
	InputSchema  jsontext.Value  `json:"input_schema"`
	OutputSchema jsontext.Value  `json:"output_schema"`
}

// routeContract is one way to the tool over REST.
type routeContract struct {
	Method string            `json:"method"`
	Path   string            `json:"path"`
	Rename map[string]string `json:"rename"` // a name of the path or query to the argument's
	// OutputSchema is that of a route which answers a part of what the tool does.
	OutputSchema jsontext.Value `json:"output_schema,omitzero"`
}

func contractOf(t *Tool) contract {
	out := contract{Listing: t.Listing(), Title: t.Title, Description: t.Description, Annotations: t.Annotations(),
		AlwaysOn: t.alwaysOn(), MayPark: t.MayPark(), Keyed: t.Keyed(), Alternatives: []alternative{},
		InputSchema: t.InputSchema, OutputSchema: t.OutputSchema}
	for _, i := range t.Instead {
		out.Alternatives = append(out.Alternatives, alternative(i))
	}
	for _, r := range t.Routes {
		c := routeContract{Method: r.Method, Path: r.Path, Rename: r.Rename}
		if r.part != nil {
			c.OutputSchema = r.part.answer.schema
		}
		out.REST = append(out.REST, c)
	}
	return out
}

// actContract is the same of an act.
type actContract struct {
	Name         string           `json:"name"`
	Title        string           `json:"title"`
	Description  string           `json:"description"`
	Method       string           `json:"method"`
	Path         string           `json:"path"`
	Kinds        []operator.Kind  `json:"kinds"`
	Scopes       []operator.Scope `json:"scopes"`
	Brake        bool             `json:"brake"`
	Keyed        bool             `json:"idempotency_key"`
	InputSchema  jsontext.Value   `json:"input_schema"`
	OutputSchema jsontext.Value   `json:"output_schema"`
}

func contractOfAct(a *Act) actContract {
	return actContract{a.Name, a.Title, a.What, a.Method, a.Path, a.Kinds, a.Scopes, a.Brake, a.Keyed(), a.InputSchema, a.OutputSchema}
}

// vocabulary is every closed list that a client may switch on.
type vocabulary struct {
	Classes    []string         `json:"classes"`
	Primitives []core.Primitive `json:"primitives"`
	Scopes     []core.Scope     `json:"scopes"`
	Verdicts   []core.Verdict   `json:"verdicts"`
	Layers     []core.Layer     `json:"layers"`
	Steps      []core.StepKind  `json:"recovery_kinds"`
	Reasons    []reasonContract `json:"reasons"`
	Refusal    jsontext.Value   `json:"refusal_schema"`
}

type reasonContract struct {
	Reason  core.Reason   `json:"reason"`
	Verdict core.Verdict  `json:"verdict"`
	Layer   core.Layer    `json:"layer"`
	Status  int           `json:"status"`
	Code    string        `json:"code"`
	Step    core.StepKind `json:"recovery"`
}

func (t tables) vocabulary() vocabulary {
	out := vocabulary{Classes: classNames[Read:], Primitives: core.Primitives(), Scopes: t.scopes,
		Verdicts: core.Verdicts(), Layers: core.Layers(), Steps: core.StepKinds(), Refusal: refusalSchema(t.reasons)}
	for _, r := range t.reasons {
		out.Reasons = append(out.Reasons, reasonContract{r.Reason, r.Verdict, r.Layer, r.Status, r.Code, r.Step})
	}
	return out
}
