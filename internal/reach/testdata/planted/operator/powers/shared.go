package powers

import (
	"context"

	"github.com/reeve-go/reeve/operator"
)

type sharedInput struct{ ID int64 }

func sharedOnce(f func() error) error { return f() }

// What a person does goes through the same helper, and is no tool's.
func sharedAct(ctx context.Context, op *operator.Operator, p operator.Principal) error {
	return sharedOnce(func() error {
		person, err := op.PersonOf(p)
		if err != nil {
			return err
		}
		_, err = op.Approve(ctx, person, operator.ActInput{})
		return err
	})
}

// A tool without a fault: that it shares a helper with an act is none.
func plantedShared() Tool {
	return define(Spec{}, func(op *operator.Operator, ctx context.Context, p operator.Principal, in sharedInput) (operator.Intent, error) {
		return operator.Intent{}, sharedOnce(func() error { return ctx.Err() })
	})
}
