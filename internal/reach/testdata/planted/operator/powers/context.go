package powers

import (
	"context"

	"github.com/reeve-go/reeve/operator"
)

type contextInput struct{ ID int64 }

type personKey struct{}

// A tool that finds a Person in its context.
func plantedContext() Tool {
	return define(Spec{}, func(op *operator.Operator, ctx context.Context, p operator.Principal, in contextInput) (operator.Intent, error) {
		who, _ := ctx.Value(personKey{}).(operator.Person)
		return op.Approve(ctx, who, operator.ActInput{ID: in.ID})
	})
}
