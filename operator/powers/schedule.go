package powers

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/internal/core"
	"github.com/reeve-go/reeve/operator/internal/strict"
)

// Face is the way in that a call came by.
type Face string

// The faces.
const (
	FaceMCP     Face = "mcp"
	FaceREST    Face = "rest"
	FaceLibrary Face = "library"
)

// Schedule is the table bound to one Operator. It is immutable and safe for
// concurrent use.
type Schedule struct {
	op       *operator.Operator
	tools    []*Tool
	byName   map[string]*Tool
	acts     []*Act
	all      receivers
	decoder  *strict.Decoder
	reread   *Tool
	overMCP  []Toolset // served over MCP beside those that always are
	limits   *limits
	observer Observer // nil: nobody is told
}

// New binds the table to an Operator. An error is a mistake in the table.
func New(op *operator.Operator) (*Schedule, error) { return build(op, product()...) }

// NewLimited is New for callers that come over a network.
func NewLimited(op *operator.Operator, l Limits) (*Schedule, error) {
	s, err := New(op)
	if err == nil {
		s.limits = newLimits(op, l)
	}
	return s, err
}

func build(op *operator.Operator, groups ...Group) (*Schedule, error) {
	s := &Schedule{op: op, limits: newLimits(op, Limits{}), tools: rows(groups...), byName: map[string]*Tool{},
		all:     receivers{reflect.TypeFor[*operator.Operator](): op},
		decoder: strict.New(strict.Options{Text: func(text string) error { return gate.CheckText(text, gate.Block) }})}
	s.acts = append(actRows(), pointers(s.kitActs(), policyActs(), grantActs(), s.approvalActs())...)
	for _, t := range s.tools {
		if err := t.lint(); err != nil {
			return nil, err
		}
		if s.byName[t.Name] != nil {
			return nil, fmt.Errorf("two tools are called %s", t.Name)
		}
		s.byName[t.Name] = t
		if t.Rereads {
			s.reread = t
		}
	}
	for _, t := range s.tools {
		if err := s.lintInstead(t); err != nil {
			return nil, err
		}
	}
	return s, lintRoutes(s.tools, s.acts)
}

// lintRoutes finds two rows behind one address.
func lintRoutes(tools []*Tool, acts []*Act) error {
	seen := map[string]string{}
	take := func(name, method, path string) error {
		key := method + " " + path
		if other, taken := seen[key]; taken {
			return fmt.Errorf("%s and %s both answer %s", other, name, key)
		}
		seen[key] = name
		return nil
	}
	var all []error
	for _, t := range tools {
		for _, r := range t.Routes {
			all = append(all, take(t.Name, r.Method, r.Path))
		}
	}
	for _, a := range acts {
		all = append(all, take(a.Name, a.Method, a.Path))
	}
	return errors.Join(all...)
}

// Tools lists every row, in declaration order. The rows must not be changed.
func (s *Schedule) Tools() []*Tool { return slices.Clone(s.tools) }

// Acts lists every act, in declaration order. The rows must not be changed.
func (s *Schedule) Acts() []*Act { return slices.Clone(s.acts) }

// AgentScopes is what an agent needs to call every tool of a toolset.
func (s *Schedule) AgentScopes(set Toolset) []operator.Scope {
	var out []operator.Scope
	for _, t := range s.tools {
		if t.Toolset == set && slices.Contains(t.Kinds, operator.KindAgent) {
			out = append(out, t.Scopes...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// OwnerScopes is what a person needs for every act and every look.
func (s *Schedule) OwnerScopes() []operator.Scope {
	var out []operator.Scope
	for _, t := range s.tools {
		if t.ReadOnly() {
			out = append(out, t.Scopes...)
		}
	}
	for _, a := range s.acts {
		if slices.Contains(a.Kinds, operator.KindHuman) {
			out = append(out, a.Scopes...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Visible lists the tools that a caller may see on a face: what the pipeline would
// let through of it, by what stood when its credential was read.
func (s *Schedule) Visible(p operator.Principal, face Face) []*Tool {
	var out []*Tool
	for _, t := range s.tools {
		if s.offers(p, face, t) {
			out = append(out, t)
		}
	}
	return out
}

// offers is every check of the pipeline that needs no arguments.
func (s *Schedule) offers(p operator.Principal, face Face, t *Tool) bool {
	return s.served(t, face) && t.allows(p) == nil && (t.Class != Spend || p.Powers().MaySpend(s.op.Now()))
}

// allows is the part of the pipeline before the arguments: kind, then kit, then scope.
func (t *Tool) allows(p operator.Principal) error {
	if err := permits(p, t.Kinds, nil); err != nil {
		return err
	}
	if err := t.inKit(p.Powers().Kit); err != nil {
		return err
	}
	return permits(p, t.Kinds, t.Scopes)
}

func permits(p operator.Principal, kinds []operator.Kind, scopes []operator.Scope) error {
	if !p.Known() {
		return core.Refuse(core.ReasonUnauthenticated, "The credential is missing or is not one of ours.")
	}
	if !slices.Contains(kinds, p.Kind()) {
		return core.Refuse(core.ReasonKindNotAllowed, "A credential of kind %s cannot do this.", p.Kind()).
			With("kind", p.Kind()).With("kinds", kinds)
	}
	if missing := p.Missing(scopes); len(missing) > 0 {
		return core.Refuse(core.ReasonMissingScope, "The credential lacks the scope %s.", core.JoinScopes(missing)).With("missing", missing)
	}
	return nil
}

// Caller is a proved principal and the way it came in.
type Caller struct {
	Principal  operator.Principal
	Face       Face
	RequestID  string
	ToolPrefix string // what this client's names of tools begin with
	Address    string // where the connection comes from; "" within the process

	once   *once     // nil: what others let it do is read anew for each call
	proved time.Time // when, of a caller who makes one call; zero: of others
	wait   int       // seconds until there is room for another request; 0: there was
}

func (c Caller) name(tool string) string {
	if c.ToolPrefix == "" || tool == "" {
		return tool
	}
	return c.ToolPrefix + tool
}

// Call runs one tool, whole. It never panics and never returns a bare error.
func (s *Schedule) Call(ctx context.Context, c Caller, tool string, raw []byte) Answer {
	return s.CallRoute(ctx, c, tool, nil, raw)
}

// CallRoute is Call through one of the tool's routes, whose answer may be a part
// of the tool's.
func (s *Schedule) CallRoute(ctx context.Context, c Caller, tool string, route *Route, raw []byte) Answer {
	return s.observed(ctx, c, s.known(tool), func() Answer { return s.callRoute(ctx, c, tool, route, raw) })
}

func (s *Schedule) callRoute(ctx context.Context, c Caller, tool string, route *Route, raw []byte) Answer {
	t := s.byName[tool]
	if t == nil || !s.served(t, c.Face) {
		return s.refuseDigest(ctx, c, unknownName(tool), argsDigest(raw), core.Refuse(core.ReasonUnknownTool, "There is no tool of that name here."))
	}
	if t.beyondKit() {
		if gone := s.stillThere(ctx, c, t.Name); gone != nil {
			return *gone
		}
	}
	c, err := s.admit(ctx, c, t, true)
	if refused := s.permit(ctx, c, t.Name, err); refused != nil {
		return *refused
	}
	ctx, digest := s.withCall(ctx, c, t.Name, t.counted(raw))
	call := func(ctx context.Context) (Answer, error) {
		out, err := s.run(ctx, c, t, route, raw)
		if err != nil {
			return Answer{}, err
		}
		answer, err := success(out)
		if route != nil && route.Method == "POST" && created(out) {
			answer.Status = 201
		}
		return answer, err
	}
	once := call
	switch {
	case t.ReadOnly():
	case t.Class == Spend:
		// It is several transactions: what it holds of a grant has to stand also where the
		// call itself is rolled back.
		once = func(ctx context.Context) (Answer, error) { return s.inSteps(ctx, c, t.Name, t.counted(raw), call) }
	default:
		once = func(ctx context.Context) (Answer, error) { return s.once(ctx, c, t.Name, t.counted(raw), call) }
	}
	answer, err := once(ctx)
	if left(ctx, err) {
		return s.abandoned(c, t.Name)
	}
	if err != nil {
		return s.refuseDigest(ctx, c, t.Name, digest, err)
	}
	return answer
}

// left says that a call ended because its caller went away: neither a refusal
// nor an outage, and there is nobody to answer. Faults of form are refusals too,
// and are on record however quickly their sender left.
func left(ctx context.Context, err error) bool {
	return err != nil && errors.Is(ctx.Err(), context.Canceled) && !errors.As(err, new(*core.Refusal)) && len(strict.All(err)) == 0
}

func (s *Schedule) abandoned(c Caller, action string) Answer {
	s.op.Logger().Debug("the caller left", "action", action, "request_id", c.RequestID)
	return refusalAnswer(core.Refuse(core.ReasonUnavailable, "The caller left before the answer."), action, repeats{}, c.name, "", nil)
}

// Permit judges what can be judged before a tool's arguments are looked at: kind,
// then kit, then scope. A non-nil Answer is the refusal, already recorded; it is counted
// without the arguments, which had no part in it. Call judges all of it again.
func (s *Schedule) Permit(ctx context.Context, c Caller, t *Tool) *Answer {
	admitted, err := s.admit(ctx, c, t, false)
	return s.observedRefusal(ctx, c, t.Name, s.permit(ctx, admitted, t.Name, err))
}

// PermitAct is Permit for an act.
func (s *Schedule) PermitAct(ctx context.Context, c Caller, a *Act) *Answer {
	return s.observedRefusal(ctx, c, a.Name, s.permitAct(ctx, c, a))
}

// PermitOther is Permit for what an adapter answers beside the tables, under a word
// of its own.
func (s *Schedule) PermitOther(ctx context.Context, c Caller, action string, kinds []operator.Kind, scopes []operator.Scope) *Answer {
	return s.observedRefusal(ctx, c, action, s.permit(ctx, c, action, permits(c.Principal, kinds, scopes)))
}

func (s *Schedule) permitAct(ctx context.Context, c Caller, a *Act) *Answer {
	return s.permit(ctx, c, a.Name, permits(c.Principal, a.Kinds, a.Scopes))
}

func (s *Schedule) permit(ctx context.Context, c Caller, action string, err error) *Answer {
	if refused := s.heldUp(ctx, c, action); refused != nil {
		return refused
	}
	if err == nil {
		return nil
	}
	refused := s.refuseDigest(ctx, c, action, "", err)
	return &refused
}

// created says that an answer tells of a row that this call made.
func created(out any) bool {
	in, ok := out.(operator.Intent)
	return ok && in.Created
}

// run is the pipeline between the caller and the answer. A panic in it is a
// fault of ours: the transaction it was in is rolled back on the way up.
func (s *Schedule) run(ctx context.Context, c Caller, t *Tool, route *Route, raw []byte) (out any, err error) {
	defer func() {
		if r := recover(); r != nil {
			s.op.Logger().Error("a handler panicked", "action", t.Name, "request_id", c.RequestID,
				"panic", gate.Redact(fmt.Sprint(r)), "stack", gate.Redact(string(debug.Stack())))
			out, err = nil, core.Refuse(core.ReasonInternal, "A fault of reeve's own stopped this call; nothing was kept.")
		}
	}()
	in, err := s.decode(t, raw)
	if err != nil {
		return nil, err
	}
	out, err = s.handled(ctx, t, c.Principal.WithVia(core.Via(c.Face)), s.parking(t, raw), in)
	if err != nil || route == nil || route.part == nil {
		return out, err
	}
	return route.part.of(out)
}

func (s *Schedule) decode(t *Tool, raw []byte) (any, error) {
	if t.takesActor() {
		if err := strict.Check(raw, strict.Limits{}); err != nil {
			return nil, err
		}
		var err error
		if raw, err = withoutActor(raw); err != nil {
			return nil, err
		}
	}
	in, err := t.decode(s.decoder, raw)
	return in, wholeFirst(raw, err)
}

// withCall lends the record the call's facts, and lets a brake go first. raw is the
// arguments as far as they count.
func (s *Schedule) withCall(ctx context.Context, c Caller, action string, raw []byte) (context.Context, string) {
	digest := argsDigest(raw)
	if s.brakes(action) {
		ctx = core.Urgent(ctx)
	}
	return core.WithCall(ctx, core.Call{Action: action, ArgsDigest: digest, RequestID: c.RequestID}), digest
}

func argsDigest(raw []byte) string {
	canonical, _ := strict.Canonical(raw) // total: what is not JSON has a marker of its own
	return core.SHA256Hex(canonical)
}

// Refuse is for what an adapter itself has to refuse: the envelope, and a row in
// the record. action is a word of the adapter's own or a tool's name, never the
// caller's text.
func (s *Schedule) Refuse(ctx context.Context, c Caller, action string, err error) Answer {
	return s.observed(ctx, c, action, func() Answer { return s.refuseDigest(ctx, c, action, "", err) })
}

// RefuseCall is Refuse for a call whose arguments the adapter has, and could not
// even hand on. Like every other refusal it is counted with them, so that three
// different mistakes are not taken for one that is repeated.
func (s *Schedule) RefuseCall(ctx context.Context, c Caller, action string, raw []byte, err error) Answer {
	if t := s.byName[action]; t != nil {
		raw = t.counted(raw)
	}
	return s.observed(ctx, c, action, func() Answer { return s.refuseDigest(ctx, c, action, argsDigest(raw), err) })
}

// recordWithin bounds how long the record of a refusal may take. It is written
// also when the caller has gone: leaving early must not be a way around it.
const recordWithin = 5 * time.Second

func (s *Schedule) refuseDigest(ctx context.Context, c Caller, action, digest string, err error) Answer {
	r := s.refusal(c, action, err)
	if out := s.unrecorded(ctx, c, action, r.Info().Verdict); out != nil {
		return *out
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
	defer cancel()
	info, who := r.Info(), c.Principal
	if r.Recorded {
		return refusalAnswer(r, action, repeats{}, c.name, "", nil)
	}
	if !who.Known() {
		who = r.Whose // a credential that is no longer live still says whose it was
	}
	intent, _ := r.Details["intent_id"].(int64) // of the caller's own project: else it would not have been found
	count, auditErr := s.op.RecordRefusal(ctx, core.AuditRow{
		AccountID: who.AccountID(), ProjectID: who.ProjectID(), Principal: who.ID(), Kind: who.Kind(),
		Via: core.Via(c.Face), Action: action, ArgsDigest: digest, Verdict: string(info.Verdict), Reason: info.Reason,
		Layer: info.Layer, RequestID: c.RequestID, IntentID: intent,
	})
	if auditErr != nil {
		s.op.Logger().Error("a refusal could not be recorded", "action", action, "reason", info.Reason, "request_id", c.RequestID, "error", gate.Redact(auditErr.Error()))
	}
	t := s.byName[action]
	again := repeats{identical: count.Identical, alike: count.Alike, ignored: t != nil && t.alwaysOn()}
	return refusalAnswer(r, action, again, c.name, s.rereadFor(c.Principal), s.alternatives(ctx, c, t, info, again))
}

// unknownName is how a name that no tool has is written down: as the caller
// wrote it where it could be a tool's and is no secret, and not at all otherwise.
func unknownName(tool string) string {
	if nameForm.MatchString(tool) && len(gate.FindSecrets(tool)) == 0 {
		return tool
	}
	return "unknown"
}

func (s *Schedule) rereadFor(p operator.Principal) string {
	if s.reread == nil || s.reread.allows(p) != nil {
		return ""
	}
	return s.reread.Name
}

// refusal finds or makes the refusal in an error. What is none is an outage, and
// says nothing to the caller of what lay beneath.
func (s *Schedule) refusal(c Caller, action string, err error) *core.Refusal {
	var r *core.Refusal
	if errors.As(err, &r) {
		if r.Cause != nil && r.Info().Verdict == core.VerdictUnavailable {
			s.op.Logger().Error("the store did not answer", "action", action, "request_id", c.RequestID, "error", gate.Redact(r.Cause.Error()))
		}
		return r
	}
	if faults := strict.All(err); len(faults) > 0 {
		return inputRefusal(faults, err)
	}
	s.op.Logger().Error("the store did not answer", "action", action, "request_id", c.RequestID, "error", gate.Redact(err.Error()))
	return core.Outage(err)
}
