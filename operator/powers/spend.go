package powers

import (
	"context"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
)

// spend makes a row that commits money, now or later. shape says what a call would
// do, as actions that the gate can judge together; a row without one does not compile.
//
// What is taken before the handler runs is the money of the principal's grant. Of the
// policy's caps and budgets nothing is: they are only looked at. So the handler records
// whatever it spends as intents, each of which takes its own part, is counted in its
// window, and may be denied though the move as a whole was let through.
func spend[S, In, Out any](spec Spec, shape func(In) []gate.Action, f func(S, context.Context, operator.Principal, In) (Out, error)) Tool {
	spec.Class = Spend
	t := define(spec, f)
	t.shape = func(in any) []gate.Action { return shape(*in.(*In)) }
	return t
}

// handled runs the handler of a row, and a row that spends within both locks. The
// schedule does this for every row, so no handler can forget to.
func (s *Schedule) handled(ctx context.Context, t *Tool, p operator.Principal, handle handler, in any) (any, error) {
	if t.Class != Spend {
		return handle(ctx, s.all, p, in)
	}
	if !p.Powers().MaySpend(s.op.Now()) {
		return nil, operator.SpendingNotGranted(p)
	}
	hold, err := s.op.HoldSpending(ctx, p, t.shape(in))
	if err != nil {
		return nil, err
	}
	outcome := operator.SpendHeld // also where the handler panics: nobody knows how far it came
	defer func() {
		if err := s.op.SettleSpending(ctx, p, hold, outcome); err != nil {
			s.op.Logger().Error("what became of a spending call could not be noted; its money stays taken", "action", t.Name, "error", gate.Redact(err.Error()))
		}
	}()
	out, err := handle(ctx, s.all, p, in)
	outcome = operator.SpendOutcomeOf(err)
	return out, err
}

// grantActs is what people do about who may spend.
func grantActs() []Act {
	scopes := []operator.Scope{operator.ScopeGrantsWrite}
	list := func(op *operator.Operator, ctx context.Context, p operator.Person, _ nothing) (operator.GrantList, error) {
		return op.SpendingGrants(ctx, p)
	}
	return []Act{
		byPerson(ActSpec{Name: "list_spending_grants", Title: "List spending grants", What: "Lists who may spend in the account, and who might.",
			Method: "GET", Path: "/v1/spending-grants", Scopes: scopes}, list),
		byPerson(ActSpec{Name: "grant_spending", Title: "Press Start", What: "Lets a principal call the tools that spend: how much, until when, and why.",
			Method: "POST", Path: "/v1/spending-grants", Scopes: scopes}, (*operator.Operator).GrantSpending),
		byPerson(ActSpec{Brake: true, Name: "revoke_spending", Title: "Take a spending grant back", What: "Ends it, from the very next call on.",
			Method: "DELETE", Path: "/v1/spending-grants/{id}", Scopes: scopes}, (*operator.Operator).RevokeSpending),
	}
}
