package powers

import (
	"context"

	"github.com/reeve-go/reeve/operator"
)

type givenInput struct{ ID int64 }

var lastSeen operator.Person

// A tool that makes no Person, and uses one that was left lying about.
func plantedGiven() Tool {
	return define(Spec{}, func(op *operator.Operator, ctx context.Context, p operator.Principal, in givenInput) (operator.Intent, error) {
		return op.Approve(ctx, lastSeen, operator.ActInput{ID: in.ID})
	})
}
