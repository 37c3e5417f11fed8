package powers

import (
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/internal/core"
	"github.com/reeve-go/reeve/operator/internal/schema"
)

// Answer is what a call came to, ready for either face.
type Answer struct {
	JSON    []byte // indented: the result, or the refusal envelope
	OK      bool
	IsError bool // as MCP means it: a park is a deferral and not an error
	Status  int  // as HTTP means it

	Challenge  string // the WWW-Authenticate header of a 401 or 403, else empty
	RetryAfter int    // seconds until a retry may help, 0 for never
	Reason     operator.Reason

	Replayed bool // it is the answer of an earlier call with the same idempotency key
}

// envelope is a refusal as it is written. No result uses any of these names, so
// the two can be told apart by any one of them.
type envelope struct {
	OK           never         `json:"ok" doc:"False, which no success has."`
	Retry        bool          `json:"retry,omitzero" doc:"True where a race inside the store was rolled back whole."`
	Verdict      core.Verdict  `json:"verdict" doc:"What kind of no it is."`
	Reason       core.Reason   `json:"reason" doc:"Why, as one word of the closed list."`
	Action       string        `json:"action" doc:"The tool or act, or mcp, rest where none was meant."`
	Layer        core.Layer    `json:"layer" doc:"The part of the pipeline that refused."`
	Retryable    bool          `json:"retryable" doc:"Whether the same call may succeed later: an outage, and nothing else."`
	Repeat       int           `json:"repeat" doc:"The how-manieth identical refusal within 24 hours this is."`
	Message      string        `json:"message" doc:"One plain sentence."`
	Error        envelopeError `json:"error" doc:"The same for programs."`
	Recovery     []core.Step   `json:"recovery" doc:"What would change the outcome."`
	Alternatives []alternative `json:"alternatives" doc:"Other tools that would work for this caller right now."`
}

// never is the value false.
type never bool

type envelopeError struct {
	Code    string         `json:"code" doc:"A class of reasons, such as invalid or conflict."`
	Hint    string         `json:"hint" doc:"What would change it."`
	Details jsontext.Value `json:"details" doc:"What a program can act on."`
}

// alternative is another tool that would work for this caller right now.
type alternative struct {
	Tool string `json:"tool" doc:"The tool's name, as this caller knows it."`
	Why  string `json:"why" doc:"How it may serve."`
}

// RefusalSchema is the exact JSON Schema of every refusal envelope.
func RefusalSchema() jsontext.Value { return refusalSchema(core.Reasons()) }

func refusalSchema(table []core.ReasonInfo) jsontext.Value {
	words := func(list any) map[string]any { return map[string]any{"type": "string", "enum": list} }
	reasons := make([]core.Reason, 0, len(table))
	for _, r := range table {
		reasons = append(reasons, r.Reason)
	}
	return must(schema.For(reflect.TypeFor[envelope](), schema.Options{Output: true, Types: map[reflect.Type]map[string]any{
		reflect.TypeFor[never]():         {"type": "boolean", "const": false},
		reflect.TypeFor[core.Verdict]():  words(core.Verdicts()),
		reflect.TypeFor[core.Layer]():    words(core.Layers()),
		reflect.TypeFor[core.StepKind](): words(core.StepKinds()),
		reflect.TypeFor[core.Reason]():   words(reasons),
	}}))
}

// ReasonInfo is what every refusal for one reason has in common.
type ReasonInfo = core.ReasonInfo

// Reasons lists every reason of a refusal, in the order of the pipeline.
func Reasons() []ReasonInfo { return core.Reasons() }

// retryAfter is how many seconds a caller is asked to wait after an outage.
const retryAfter = 2

// writing renders what a caller is shown: indented, keys of maps in order, and
// with no HTML escapes, since this is read by people and models as it is.
var writing = json.JoinOptions(jsontext.WithIndent("  "), json.Deterministic(true))

func success(out any) (Answer, error) {
	body, err := json.Marshal(out, writing)
	return Answer{JSON: body, OK: true, Status: 200}, err
}

// refusalAnswer renders a refusal. names puts a tool's name as this caller's
// client knows it; others are tools that were found to work.
func refusalAnswer(r *core.Refusal, action string, repeat repeats, names func(string) string, reread string, others []alternative) Answer {
	info := r.Info()
	e := envelope{
		Verdict: info.Verdict, Reason: info.Reason, Action: names(action), Layer: info.Layer,
		Retryable: info.Verdict == core.VerdictUnavailable, Retry: r.Reason == core.ReasonVersionRace, Repeat: max(1, repeat.identical),
		Message: sentence(r.Message), Error: envelopeError{Code: info.Code, Hint: info.Hint, Details: plainDetails(r.Details)},
		Recovery: steps(r, info, names, reread), Alternatives: append([]alternative{}, others...),
	}
	if e.Message == "" {
		e.Message = info.Hint
	}
	if repeat.tooMany() {
		e.Recovery = []core.Step{escalation(info)}
	}
	out := Answer{IsError: info.Verdict == core.VerdictDeny || e.Retryable && !e.Retry, Status: info.Status, Reason: info.Reason}
	if e.Retryable {
		out.RetryAfter = retryAfter
	}
	for _, step := range e.Recovery {
		out.RetryAfter = max(out.RetryAfter, step.RetryAfter)
	}
	out.Challenge = challenge(info, r)
	// It has nothing in it that has no JSON: the details were held to that, and a
	// text that is not UTF-8 is repaired rather than left unanswered.
	out.JSON, _ = json.Marshal(e, writing, jsontext.AllowInvalidUTF8(true))
	return out
}

// steps is what would change the outcome: the refusal's own steps, else the
// reason's usual one.
func steps(r *core.Refusal, info core.ReasonInfo, names func(string) string, reread string) []core.Step {
	if len(r.Recovery) > 0 {
		out := append([]core.Step{}, r.Recovery...)
		for i := range out {
			if out[i].Tool != "" {
				out[i].Tool = names(out[i].Tool)
			}
		}
		return out
	}
	step := core.Step{Kind: info.Step, Change: info.Hint}
	switch info.Step {
	case core.StepRetryAfter:
		step.RetryAfter = retryAfter
	case core.StepReRead:
		if reread == "" {
			return []core.Step{escalation(info)}
		}
		step.Tool = names(reread)
	case core.StepEscalateToHuman:
		return []core.Step{escalation(info)}
	case core.StepRequestCapability:
		step.HumanAction = "Ask an owner of this account to turn it on in the account's kit."
	case core.StepRequestStart:
		step.HumanAction = "Ask a person of this account to press Start: to give a spending grant that covers this."
	case core.StepRequestScope:
		step.HumanAction = "Ask a person who administers this account for a credential with the scope that is missing."
	}
	return []core.Step{step}
}

func escalation(info core.ReasonInfo) core.Step {
	return core.Step{Kind: core.StepEscalateToHuman, Change: info.Hint,
		HumanAction: "Tell the person you work for what was refused and why, and stop."}
}

// challenge is the WWW-Authenticate header of RFC 6750. It holds words of ours
// alone, never anything of the request.
func challenge(info core.ReasonInfo, r *core.Refusal) string {
	switch {
	case info.Status == 401:
		return `Bearer realm="reeve", error="invalid_token", error_description="` + string(info.Reason) + `"`
	case r.Reason == core.ReasonMissingScope:
		missing, _ := r.Details["missing"].([]core.Scope)
		return `Bearer realm="reeve", error="insufficient_scope", scope="` + core.JoinScopes(missing) + `"`
	}
	return ""
}

// repeats is how often the same refusal was met lately.
type repeats struct {
	identical int  // with the same arguments
	alike     int  // with any arguments
	ignored   bool // by a tool that is never held up
}

// tooMany says when choices stop helping and a person has to be told.
func (r repeats) tooMany() bool { return !r.ignored && (r.identical >= 3 || r.alike >= 10) }
