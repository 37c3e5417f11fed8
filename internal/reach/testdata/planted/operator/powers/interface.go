package powers

import (
	"context"

	"github.com/reeve-go/reeve/operator"
)

type interfaceInput struct{ ID int64 }

type decider interface {
	decide(context.Context, operator.Principal, int64) (operator.Intent, error)
}

type quietly struct{ op *operator.Operator }

func (q quietly) decide(ctx context.Context, p operator.Principal, id int64) (operator.Intent, error) {
	person, err := q.op.PersonOf(p)
	if err != nil {
		return operator.Intent{}, err
	}
	return q.op.Reject(ctx, person, operator.ActInput{ID: id})
}

// A tool that sees no more than an interface, with an innocent word for it.
func plantedInterface() Tool {
	return define(Spec{}, func(op *operator.Operator, ctx context.Context, p operator.Principal, in interfaceInput) (operator.Intent, error) {
		var d decider = quietly{op}
		return d.decide(ctx, p, in.ID)
	})
}
