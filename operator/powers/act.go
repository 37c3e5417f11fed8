package powers

import (
	"context"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/internal/core"
	"github.com/reeve-go/reeve/operator/internal/schema"
	"github.com/reeve-go/reeve/operator/internal/strict"
)

// ActSpec is what a row of the acts says of itself.
type ActSpec struct {
	Name, Title, What string
	Method, Path      string
	Kinds             []operator.Kind
	Scopes            []operator.Scope
	Brake             bool // it stops something, and is never held up
	// Steps says that it is several transactions, which none can enclose. Under an
	// idempotency key it is begun in one of its own.
	Steps bool
}

// Act is something that people, or workers, do over REST and that no tool can.
// It has functions of other types than a Tool, and is called from another root:
// nothing that a tool can reach leads here.
type Act struct {
	ActSpec
	InputSchema  jsontext.Value
	OutputSchema jsontext.Value
	Answers      string // the name of the type of its answer
	form         *form  // of the arguments, as far as they count
	decode       func(*strict.Decoder, []byte) (any, error)
	person       func(context.Context, *operator.Operator, operator.Person, any) (any, error)
	worker       func(context.Context, *operator.Operator, operator.Principal, any) (any, error)
}

// ReadOnly says that the act changes nothing.
func (a *Act) ReadOnly() bool { return a.Method == "GET" }

// Keyed says that an idempotency key makes the act happen at most once.
func (a *Act) Keyed() bool { return !a.ReadOnly() }

func describeAct[In, Out any](spec ActSpec) Act {
	input := must(schema.For(reflect.TypeFor[In](), schema.Options{Types: describedTypes}))
	answer := answerOf[Out]()
	return Act{
		ActSpec:      spec,
		InputSchema:  input,
		form:         formOf(input),
		OutputSchema: answer.schema,
		Answers:      answer.typ.Name(),
		decode: func(d *strict.Decoder, raw []byte) (any, error) {
			in := new(In)
			if err := d.Decode(raw, in); err != nil {
				return in, err
			}
			return in, present(reflect.TypeFor[In](), raw)
		},
	}
}

// present refuses a call that leaves out a field tagged `needed:"true"`. Such a
// field may hold the empty text, which the act itself judges; left out, it was
// forgotten.
func present(t reflect.Type, raw []byte) error {
	members, err := strict.Members(raw)
	if err != nil {
		return err
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Tag.Get("needed") != "true" {
			continue
		}
		if m, there := strict.Find(members, name); !there || string(m.Value) == "null" {
			return core.Refuse(core.ReasonMissingField, "%s: This field is required.", name).
				With("faults", []operator.Fault{{Field: name, Code: string(strict.MissingField), Message: "This field is required."}})
		}
	}
	return nil
}

// byPerson makes a row of an act that takes a proved person.
func byPerson[In, Out any](spec ActSpec, f func(*operator.Operator, context.Context, operator.Person, In) (Out, error)) Act {
	spec.Kinds = []operator.Kind{operator.KindHuman}
	a := describeAct[In, Out](spec)
	a.person = func(ctx context.Context, op *operator.Operator, p operator.Person, in any) (any, error) {
		return f(op, ctx, p, *in.(*In))
	}
	return a
}

// byWorker makes a row of what a worker does.
func byWorker[In, Out any](spec ActSpec, f func(*operator.Operator, context.Context, operator.Principal, In) (Out, error)) Act {
	spec.Kinds = []operator.Kind{operator.KindWorker}
	a := describeAct[In, Out](spec)
	a.worker = func(ctx context.Context, op *operator.Operator, p operator.Principal, in any) (any, error) {
		return f(op, ctx, p, *in.(*In))
	}
	return a
}

// CallAct runs one act, whole: kind, then scope, then the arguments' form, then
// the act. It never panics and never returns a bare error.
func (s *Schedule) CallAct(ctx context.Context, c Caller, a *Act, raw []byte) Answer {
	return s.observed(ctx, c, a.Name, func() Answer { return s.callAct(ctx, c, a, raw) })
}

func (s *Schedule) callAct(ctx context.Context, c Caller, a *Act, raw []byte) Answer {
	if gone := s.stillThere(ctx, c, a.Name); gone != nil {
		return *gone
	}
	if refused := s.permitAct(ctx, c, a); refused != nil {
		return *refused
	}
	ctx, digest := s.withCall(ctx, c, a.Name, a.counted(raw))
	call := func(ctx context.Context) (Answer, error) {
		out, err := s.runAct(ctx, c, a, raw)
		if err != nil {
			return Answer{}, err
		}
		return success(out)
	}
	once := call
	switch {
	case a.ReadOnly():
	case a.Steps:
		once = func(ctx context.Context) (Answer, error) { return s.inSteps(ctx, c, a.Name, a.counted(raw), call) }
	default:
		once = func(ctx context.Context) (Answer, error) { return s.once(ctx, c, a.Name, a.counted(raw), call) }
	}
	answer, err := once(ctx)
	if left(ctx, err) {
		return s.abandoned(c, a.Name)
	}
	if err != nil {
		return s.refuseDigest(ctx, c, a.Name, digest, err)
	}
	return answer
}

func (s *Schedule) runAct(ctx context.Context, c Caller, a *Act, raw []byte) (out any, err error) {
	defer func() {
		if r := recover(); r != nil {
			s.op.Logger().Error("an act panicked", "action", a.Name, "request_id", c.RequestID,
				"panic", gate.Redact(fmt.Sprint(r)), "stack", gate.Redact(string(debug.Stack())))
			out, err = nil, core.Refuse(core.ReasonInternal, "A fault of reeve's own stopped this act; nothing was kept.")
		}
	}()
	in, err := a.decode(s.decoder, raw)
	if err := wholeFirst(raw, err); err != nil {
		return nil, err
	}
	if a.worker != nil {
		return a.worker(ctx, s.op, c.Principal.WithVia(core.Via(c.Face)), in)
	}
	person, err := s.personOf(c)
	if err != nil {
		return nil, err
	}
	return a.person(ctx, s.op, person, in)
}

// nothing is the input of an act that needs no words.
type nothing struct{}

func listStanding(op *operator.Operator, ctx context.Context, p operator.Person, _ nothing) (operator.StandingList, error) {
	return op.StandingApprovals(ctx, p)
}

func brake(spec ActSpec) ActSpec { spec.Brake = true; return spec }

func actRows() []*Act {
	decide := []operator.Scope{operator.ScopeIntentsDecide}
	on := func(verb, title, what string) ActSpec {
		return ActSpec{Name: verb + "_intent", Title: title, What: what, Method: "POST", Path: "/v1/intents/{id}/" + verb, Scopes: decide}
	}
	work := []operator.Scope{operator.ScopeWorkClaim}
	table := []Act{
		byPerson(on("approve", "Approve", "Countersigns exactly the content whose digest is named."), (*operator.Operator).Approve),
		byPerson(on("edit", "Edit", "Puts the person's own version in its place, judged again by the policy."), (*operator.Operator).Edit),
		byPerson(on("respond", "Respond", "Sends words back to the agent and leaves the intent waiting."), (*operator.Operator).Respond),
		byPerson(on("reject", "Reject", "Refuses it for good."), (*operator.Operator).Reject),
		byPerson(on("ignore", "Ignore", "Closes it without a judgement."), (*operator.Operator).Ignore),
		byPerson(brake(on("revoke", "Revoke", "Takes it back before a worker has claimed it.")), (*operator.Operator).Revoke),
		byPerson(on("settle", "Settle", "Says what really became of an unknown one."), (*operator.Operator).Settle),
		byPerson(on("reissue", "Reissue", "Gives a rejected, failed or expired one another chance, as a new intent."), (*operator.Operator).Reissue),
		byPerson(ActSpec{Name: "list_standing_approvals", Title: "List standing approvals", What: "Lists the standing approvals of the project, those that ended too.",
			Method: "GET", Path: "/v1/standing-approvals", Scopes: decide}, listStanding),
		byPerson(ActSpec{Name: "give_standing_approval", Title: "Give a standing approval", What: "Makes the person's own rule: what is allowed from now on, how far, and until when.",
			Method: "POST", Path: "/v1/standing-approvals", Scopes: decide}, (*operator.Operator).StandingApproval),
		byPerson(ActSpec{Name: "revoke_standing_approval", Title: "Take a standing approval back", What: "Ends it, from the next judgement on.",
			Method: "DELETE", Path: "/v1/standing-approvals/{id}", Scopes: decide, Brake: true}, (*operator.Operator).RevokeStanding),
		byPerson(ActSpec{Name: "freeze", Title: "Freeze", What: "Stops every claim of an outward intent, and every call that spends, at once.",
			Method: "POST", Path: "/v1/freeze", Scopes: decide, Brake: true}, (*operator.Operator).Freeze),
		byPerson(ActSpec{Name: "unfreeze", Title: "Lift a freeze", What: "Lets outward intents be claimed again. An owner or an admin does it.",
			Method: "POST", Path: "/v1/unfreeze", Scopes: decide}, (*operator.Operator).Unfreeze),
		byPerson(ActSpec{Name: "comment", Title: "Comment", What: "Records the person's words.", Method: "POST", Path: "/v1/comments",
			Scopes: []operator.Scope{operator.ScopeCommentsWrite}}, (*operator.Operator).Comment),
		byWorker(ActSpec{Name: "claim_work", Title: "Claim", What: "Holds the oldest intent that is ready and of one of these types.",
			Method: "POST", Path: "/v1/work/claim", Scopes: work}, (*operator.Operator).Claim),
		byWorker(ActSpec{Name: "extend_work", Title: "Extend", What: "Keeps a claim alive.",
			Method: "POST", Path: "/v1/work/{id}/extend", Scopes: work}, (*operator.Operator).Extend),
		byWorker(ActSpec{Name: "report_work", Title: "Report", What: "Says what came of a job.",
			Method: "POST", Path: "/v1/work/{id}/report", Scopes: work}, (*operator.Operator).Report),
	}
	out := make([]*Act, len(table))
	for i := range table {
		table[i].Kinds = slices.Clone(table[i].Kinds)
		out[i] = &table[i]
	}
	return out
}

// pointers lays rows end to end.
func pointers(groups ...[]Act) []*Act {
	var out []*Act
	for _, g := range groups {
		for i := range g {
			out = append(out, &g[i])
		}
	}
	return out
}
