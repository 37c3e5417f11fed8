package powers

import (
	"context"
	"fmt"
	"reflect"
	"runtime/debug"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// approvalsTool is what polls a parked call.
const approvalsTool = "approvals_get"

// asker says what a person has to be asked about a call; nil: nobody.
type asker func(context.Context, receivers, operator.Principal, any) (*operator.Question, error)

// park makes a row answer park where a person alone may complete a call. ask looks
// at the call and changes nothing; what it asks is kept with the call, and the row's
// own handler runs once a person has approved, by their act and not by a tool.
func park[S, In any](t Tool, ask func(S, context.Context, operator.Principal, In) (*operator.Question, error)) Tool {
	t.asks = func(ctx context.Context, all receivers, p operator.Principal, in any) (*operator.Question, error) {
		s, ok := all[reflect.TypeFor[S]()].(S)
		if !ok {
			return nil, fmt.Errorf("no %v was given to the schedule", reflect.TypeFor[S]())
		}
		return ask(s, ctx, p, *in.(*In))
	}
	return t
}

// parking is the row's handler for a caller: it runs, or it keeps the call and says
// what it waits for.
func (s *Schedule) parking(t *Tool, raw []byte) handler {
	if t.asks == nil {
		return t.carryOut
	}
	return func(ctx context.Context, all receivers, p operator.Principal, in any) (any, error) {
		question, err := t.asks(ctx, all, p, in)
		if err != nil {
			return nil, err
		}
		if question == nil {
			return t.carryOut(ctx, all, p, in)
		}
		kept, err := s.op.Park(ctx, p, operator.NewParked{Question: *question, Tool: t.Name, Arguments: raw})
		if err != nil {
			return nil, err
		}
		return nil, s.waits(p, kept)
	}
}

// carryOut runs the row's own handler. From here on an outage leaves the call's end
// unknown, for whoever holds its idempotency key.
func (t *Tool) carryOut(ctx context.Context, all receivers, p operator.Principal, in any) (any, error) {
	core.BeginSteps(ctx)
	return t.handle(ctx, all, p, in)
}

// waits is the answer to a call that was kept.
func (s *Schedule) waits(p operator.Principal, kept operator.ApprovalInfo) error {
	r := core.Refuse(core.ReasonApprovalRequired, "A person has to decide this first: approval %d waits until %s.", kept.ID, kept.ExpiresAt.Format(time.RFC3339)).
		With("approval_id", kept.ID).With("digest", kept.Digest)
	step := core.Step{Kind: core.StepWaitForApproval, Change: core.ReasonApprovalRequired.Info().Hint, ApprovalID: kept.ID,
		ExpiresAt: kept.ExpiresAt.Format(time.RFC3339Nano), OnExpiry: string(core.VerdictDeny)}
	if poll := s.byName[approvalsTool]; poll != nil && poll.allows(p) == nil {
		step.Tool = approvalsTool
	}
	r.Recovery, r.Recorded = []core.Step{step}, true
	return r
}

// RunParked carries out a parked call that a person approved, through the whole
// pipeline as it stands now: kind, kit, scope, arguments, both locks on spending,
// handler. Only the question is not put again. It never panics.
func (s *Schedule) RunParked(ctx context.Context, call operator.ParkedCall) (result []byte, err error) {
	t := s.byName[call.Tool]
	if t == nil {
		return nil, core.Refuse(core.ReasonUnknownTool, "There is no tool of that name here any more.")
	}
	defer func() {
		if r := recover(); r != nil {
			s.op.Logger().Error("a handler panicked in an approved call", "action", t.Name, "approval_id", call.Approval,
				"panic", gate.Redact(fmt.Sprint(r)), "stack", gate.Redact(string(debug.Stack())))
			result, err = nil, core.Refuse(core.ReasonInternal, "A fault of reeve's own stopped this call.")
		}
	}()
	c, err := s.admit(ctx, Caller{Principal: call.Principal, Face: FaceLibrary}, t, true)
	if err != nil {
		return nil, err
	}
	in, err := s.decode(t, call.Arguments)
	if err != nil {
		return nil, s.refusal(c, t.Name, err)
	}
	ctx, _ = s.withCall(ctx, c, t.Name, t.counted(call.Arguments))
	out, err := s.handled(ctx, t, c.Principal, t.handle, in)
	if err != nil {
		return nil, s.refusal(c, t.Name, err)
	}
	return json.Marshal(out, json.Deterministic(true))
}

// approvalTools polls what was parked. It is its own toolset, which every face has.
func approvalTools() Group {
	return Group{Toolset: ToolsetApprovals, Tools: []Tool{
		define(Spec{
			Name: approvalsTool, Class: Read, Primitive: Board, Idempotent: true,
			Kinds: callers, Scopes: []operator.Scope{operator.ScopeStateRead},
			Routes: []Route{{Method: "GET", Path: "/v1/approvals/{id}", Rename: map[string]string{"id": "approval_id"}}},
			Title:  "Poll an approval",
			What: "Shows what became of a call that was answered with verdict park: pending, rejected, expired, done with its result, or failed. " +
				"Use it with the approval_id of that answer, now and then, not in a tight loop. " +
				"Do not call the parked tool again: the decision carries it out, once. Changes nothing.",
		}, (*operator.Operator).Approval),
	}}
}

// approvalActs is what people do about parked calls. The schedule itself is what
// carries out the approved ones.
func (s *Schedule) approvalActs() []Act {
	scopes := []operator.Scope{operator.ScopeApprovals}
	list := func(op *operator.Operator, ctx context.Context, p operator.Person, _ nothing) (operator.ApprovalList, error) {
		return op.Approvals(ctx, p)
	}
	approve := func(op *operator.Operator, ctx context.Context, p operator.Person, in operator.ApprovalInput) (operator.ApprovalInfo, error) {
		return op.ApproveParked(ctx, p, in, s)
	}
	return []Act{
		byPerson(ActSpec{Name: "list_approvals", Title: "List parked calls", What: "Lists the calls that wait for a person, and what became of others.",
			Method: "GET", Path: "/v1/approvals", Scopes: scopes}, list),
		byPerson(ActSpec{Name: "approve_parked", Title: "Approve a parked call", What: "Carries out exactly the call whose digest is named, once, and answers what came of it.",
			Method: "POST", Path: "/v1/approvals/{id}/approve", Scopes: scopes, Steps: true}, approve),
		byPerson(ActSpec{Name: "reject_parked", Title: "Reject a parked call", What: "Refuses it for good.",
			Method: "POST", Path: "/v1/approvals/{id}/reject", Scopes: scopes}, (*operator.Operator).RejectParked),
	}
}
