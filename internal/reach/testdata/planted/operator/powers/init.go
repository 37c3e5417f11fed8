package powers

import (
	"context"

	"github.com/reeve-go/reeve/operator"
)

type initInput struct{ Verb string }

type initAct func(context.Context, *operator.Operator, operator.Principal, initInput) (bool, error)

var initVerbs = map[string]initAct{"settle": func(ctx context.Context, op *operator.Operator, p operator.Principal, _ initInput) (bool, error) {
	person, err := op.PersonOf(p)
	if err != nil {
		return false, err
	}
	_, err = op.Settle(ctx, person, operator.SettleInput{})
	return err == nil, err
}}

// A tool whose act was put into a variable before anything ran.
func plantedInit() Tool {
	return define(Spec{}, func(op *operator.Operator, ctx context.Context, p operator.Principal, in initInput) (operator.Intent, error) {
		_, err := initVerbs[in.Verb](ctx, op, p, in)
		return operator.Intent{}, err
	})
}
