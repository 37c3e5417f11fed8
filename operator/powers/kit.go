package powers

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// once is what Authenticate read for a caller who makes one call and is gone. The
// call may use it up; whoever calls again is judged by what stands by then.
type once struct{ used atomic.Bool }

// lateAfter is how long what was read of a caller counts for its call. A body that is
// sent slowly must not be a way to be judged by what stood before it. It is about the
// kit alone: whether the credential is live is asked again in the transaction of
// whatever is done or shown, and so is a spending grant.
const lateAfter = 20 * time.Millisecond

// late says that the caller was proved a while ago. It is asked of the machine's own
// clock: it is about how long the caller took, and not about what time it is.
func (c Caller) late() bool { return !c.proved.IsZero() && time.Since(c.proved) > lateAfter }

// stillThere refuses a caller whose credential was taken back while it took its time,
// before anything else is judged. Where the kit is read anew, that look asks as well.
func (s *Schedule) stillThere(ctx context.Context, c Caller, action string) *Answer {
	if !c.late() {
		return nil
	}
	err := s.op.StillLive(ctx, c.Principal)
	if err == nil {
		return nil
	}
	refused := s.refuseDigest(ctx, c, action, "", err)
	return &refused
}

// present is the caller with what others let it do now: the account's kit and its
// spending grants. It is read anew for each call, unless it was read for that very
// call, together with the credential. A tool that skips both needs no look.
func (s *Schedule) present(ctx context.Context, c Caller, t *Tool, last bool) (Caller, error) {
	if !c.Principal.Known() || t.beyondKit() {
		return c, nil
	}
	if c.once != nil && !c.late() {
		if !last && !c.once.used.Load() || last && c.once.used.CompareAndSwap(false, true) {
			return c, nil
		}
	}
	// Whoever leaves is judged all the same: it is no way around the record.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
	defer cancel()
	now, err := s.op.PowersOf(ctx, c.Principal)
	if err != nil {
		return c, err
	}
	c.Principal = c.Principal.WithPowers(now)
	return c, nil
}

// admit judges what comes before the arguments, by what stands now: kind, kit, scope.
func (s *Schedule) admit(ctx context.Context, c Caller, t *Tool, last bool) (Caller, error) {
	c, err := s.present(ctx, c, t, last)
	if err != nil {
		return c, err
	}
	return c, t.allows(c.Principal)
}

// alwaysOn says that the tool skips the kit, the spend gate, rate limits and the
// escalation of repeated refusals: who wants to stop something, or to see what
// runs, is not held up. It skips no check of who is calling.
func (t *Tool) alwaysOn() bool { return t.Class == Brake || t.Class == Read && t.AlwaysOn }

// beyondKit says that no kit switches the tool off: also not the one by which a
// caller hears what became of its own call.
func (t *Tool) beyondKit() bool { return t.alwaysOn() || t.Toolset == ToolsetApprovals }

// inKit says whether the account's kit lets the tool through.
func (t *Tool) inKit(k core.Kit) error {
	if t.beyondKit() {
		return nil
	}
	if !k.Has(core.Primitive(t.Primitive)) {
		return core.Refuse(core.ReasonCapability, "The account's kit leaves the primitive %s off.", t.Primitive).
			With("reason", "primitive_disabled_by_kit").With("primitive", t.Primitive).With("kit", kitName(k))
	}
	if !k.HasTool(t.Name) {
		return core.Refuse(core.ReasonCapability, "The account's kit leaves this tool off.").
			With("reason", "tool_disabled_by_kit").With("primitive", t.Primitive).With("kit", kitName(k))
	}
	return nil
}

func kitName(k core.Kit) string {
	if k.Name == "" {
		return operator.DefaultKit
	}
	return k.Name
}

// CheckKit refuses a kit that names a tool which the schedule does not have, or
// that would switch off what cannot be.
func (s *Schedule) CheckKit(in operator.KitInput) error {
	for _, name := range slices.Sorted(maps.Keys(in.Tools)) {
		t := s.byName[name]
		if t == nil {
			return core.Refuse(core.ReasonUnknownKey, "There is no such tool. The tools that a kit can name are %s.", strings.Join(s.switchable(), ", ")).
				With("field", "tools").With("known", s.switchable())
		}
		if t.beyondKit() && !in.Tools[name] {
			return core.Refuse(core.ReasonInvalidValue, "%s stops something, or shows what runs or waits, and is never off.", name).
				With("field", "tools").With("known", s.switchable())
		}
	}
	return nil
}

// switchable lists the tools that a kit can switch off, by name.
func (s *Schedule) switchable() []string {
	var out []string
	for _, t := range s.tools {
		if !t.beyondKit() {
			out = append(out, t.Name)
		}
	}
	slices.Sort(out)
	return out
}

// kitActs is what an owner does about the account's kit.
func (s *Schedule) kitActs() []Act {
	scopes := []operator.Scope{operator.ScopeKitWrite}
	set := func(op *operator.Operator, ctx context.Context, p operator.Person, in operator.KitInput) (operator.KitInfo, error) {
		if err := s.CheckKit(in); err != nil {
			return operator.KitInfo{}, err
		}
		return op.SetKit(ctx, p, in)
	}
	show := func(op *operator.Operator, ctx context.Context, p operator.Person, _ nothing) (operator.KitInfo, error) {
		return op.ShowKit(ctx, p)
	}
	return []Act{
		byPerson(ActSpec{Name: "show_kit", Title: "Show the kit", What: "Shows which primitives and tools the account has. For an owner.",
			Method: "GET", Path: "/v1/kit", Scopes: scopes}, show),
		byPerson(ActSpec{Name: "set_kit", Title: "Set the kit", What: "Says which primitives and tools the account has, from the very next call on. For an owner.",
			Method: "PUT", Path: "/v1/kit", Scopes: scopes}, set),
	}
}
