package core

import (
	"errors"
	"fmt"
)

// Verdict is what a refusal envelope says. The gate's effects and the explain
// act's answers are other vocabularies with types of their own.
type Verdict string

// The verdicts of a refusal.
const (
	VerdictDeny        Verdict = "deny"        // a decision; calling again cannot help
	VerdictPark        Verdict = "park"        // a person must act
	VerdictUnavailable Verdict = "unavailable" // an outage; the only retryable one
	VerdictAttest      Verdict = "attest"      // evidence is required first
)

// Verdicts lists every verdict of a refusal.
func Verdicts() []Verdict {
	return []Verdict{VerdictDeny, VerdictPark, VerdictAttest, VerdictUnavailable}
}

// Layer names the part of the pipeline that refused.
type Layer string

// The layers, in the order in which a call meets them.
const (
	LayerCredential Layer = "credential"
	LayerCompany    Layer = "company" // the account's kit
	LayerScope      Layer = "scope"   // kind, scope and role
	LayerContext    Layer = "context"
	LayerInput      Layer = "input"
	LayerSpend      Layer = "spend"
	LayerPolicy     Layer = "policy"
	LayerState      Layer = "state"
	LayerStore      Layer = "store"
)

// Layers lists every layer, in the order in which a call meets them.
func Layers() []Layer {
	return []Layer{LayerCredential, LayerCompany, LayerScope, LayerContext, LayerInput, LayerSpend, LayerPolicy, LayerState, LayerStore}
}

// StepKind is what a recovery step asks for: a closed list.
type StepKind string

// The kinds of recovery step.
const (
	StepRequestCapability StepKind = "request_capability"
	StepRequestToolkit    StepKind = "request_toolkit"
	StepRequestScope      StepKind = "request_scope"
	StepRequestStart      StepKind = "request_start"
	StepWaitForApproval   StepKind = "wait_for_approval"
	StepWaitForDelivery   StepKind = "wait_for_delivery"
	StepRetryAfter        StepKind = "retry_after"
	StepProvideEvidence   StepKind = "provide_evidence"
	StepReRead            StepKind = "re_read"
	StepCorrectArguments  StepKind = "correct_arguments"
	StepEscalateToHuman   StepKind = "escalate_to_human"
)

// StepKinds lists every kind of recovery step.
func StepKinds() []StepKind {
	return []StepKind{StepRequestCapability, StepRequestToolkit, StepRequestScope, StepRequestStart, StepWaitForApproval, StepWaitForDelivery,
		StepRetryAfter, StepProvideEvidence, StepReRead, StepCorrectArguments, StepEscalateToHuman}
}

// Step is one thing that would change a refusal. It names a tool or a human
// act, never a shell command.
type Step struct {
	Kind        StepKind `json:"kind" doc:"What the step asks for."`
	Change      string   `json:"change" doc:"What would change the outcome."`
	Tool        string   `json:"tool,omitzero" doc:"The tool to call, as this caller knows it."`
	HumanAction string   `json:"human_action,omitzero" doc:"What a person has to do."`
	RetryAfter  int      `json:"retry_after_seconds,omitzero" doc:"How many seconds to wait before the next try."`
	ApprovalID  int64    `json:"approval_id,omitzero" doc:"The approval that is waited for."`
	ExpiresAt   string   `json:"expires_at,omitzero" doc:"When the wait is over (RFC 3339)."`
	OnExpiry    string   `json:"on_expiry,omitzero" doc:"What the wait comes to when it lapses: deny."`
}

// Refusal is the one error type by which reeve says no. errors.Is compares the
// Reason alone, so a sentinel made of a bare Reason matches every refusal for it;
// errors.As gives the whole.
type Refusal struct {
	Reason   Reason
	Message  string         // one plain sentence for a person or a model
	Details  map[string]any // what a program can act on
	Recovery []Step         // empty: the reason's own step from the table
	Cause    error          // what lay beneath; never shown to a caller
	Whose    Principal      // whose credential it was, where one was known but is not live
	Recorded bool           // its row of the record stands already, in the transaction of what it tells of
}

// Refuse makes a refusal with a message of its own.
func Refuse(reason Reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// With adds one detail and returns the same refusal.
func (r *Refusal) With(key string, value any) *Refusal {
	if r.Details == nil {
		r.Details = map[string]any{}
	}
	r.Details[key] = value
	return r
}

// Because keeps the error that lay beneath, for logs and errors.As.
func (r *Refusal) Because(err error) *Refusal { r.Cause = err; return r }

// Error gives the reason and the sentence.
func (r *Refusal) Error() string {
	if r.Message == "" {
		return string(r.Reason)
	}
	return string(r.Reason) + ": " + r.Message
}

// Is says whether target is a refusal for the same reason.
func (r *Refusal) Is(target error) bool {
	var t *Refusal
	return errors.As(target, &t) && t.Reason == r.Reason
}

// Unwrap gives what lay beneath.
func (r *Refusal) Unwrap() error { return r.Cause }

// Info is the reason's row in the table; an unknown reason counts as an outage
// of ours, so that a forgotten row can never read as permission.
func (r *Refusal) Info() ReasonInfo { return r.Reason.Info() }
