package powers

import (
	"context"
	"sync"

	"github.com/reeve-go/reeve/operator"
)

type callbackInput struct{ ID int64 }

// A tool that has somebody else's package do it.
func plantedCallback() Tool {
	return define(Spec{}, func(op *operator.Operator, ctx context.Context, p operator.Principal, in callbackInput) (operator.Intent, error) {
		sync.OnceFunc(func() {
			person, err := op.PersonOf(p)
			if err != nil {
				return
			}
			_, _ = op.Approve(context.WithoutCancel(ctx), person, operator.ActInput{ID: in.ID})
		})()
		return operator.Intent{}, nil
	})
}
