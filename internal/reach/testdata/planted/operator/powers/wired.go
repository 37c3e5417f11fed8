package powers

import (
	"context"

	"github.com/reeve-go/reeve/operator"
)

type WiredInput struct{ ID int64 }

// Wired is filled in by the program, far from here.
var Wired func(context.Context, *operator.Operator, operator.Principal, WiredInput) error

// A tool with a hook for whoever puts the program together.
func plantedWired() Tool {
	return define(Spec{}, func(op *operator.Operator, ctx context.Context, p operator.Principal, in WiredInput) (operator.Intent, error) {
		return operator.Intent{}, Wired(ctx, op, p, in)
	})
}
