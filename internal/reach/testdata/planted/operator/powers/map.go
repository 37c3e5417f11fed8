package powers

import (
	"context"

	"github.com/reeve-go/reeve/operator"
)

type mapInput struct{ Verb string }

type mapAct func(context.Context, *operator.Operator, operator.Principal, mapInput) error

func mapApprove(ctx context.Context, op *operator.Operator, p operator.Principal, _ mapInput) error {
	person, err := op.PersonOf(p)
	if err != nil {
		return err
	}
	_, err = op.Approve(ctx, person, operator.ActInput{})
	return err
}

// A tool that looks up what to do by a word of the caller's.
func plantedMap() Tool {
	return define(Spec{}, func(op *operator.Operator, ctx context.Context, p operator.Principal, in mapInput) (operator.Intent, error) {
		verbs := map[string]mapAct{"approve": mapApprove}
		return operator.Intent{}, verbs[in.Verb](ctx, op, p, in)
	})
}
