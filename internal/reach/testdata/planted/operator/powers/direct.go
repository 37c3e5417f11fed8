package powers

import (
	"context"

	"github.com/reeve-go/reeve/operator"
)

type directInput struct{ ID int64 }

// A tool that approves with the person behind whoever calls it.
func plantedDirect() Tool {
	return define(Spec{}, func(op *operator.Operator, ctx context.Context, p operator.Principal, in directInput) (operator.Intent, error) {
		person, err := op.PersonOf(p)
		if err != nil {
			return operator.Intent{}, err
		}
		return op.Approve(ctx, person, operator.ActInput{ID: in.ID})
	})
}
