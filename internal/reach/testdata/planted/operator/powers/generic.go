package powers

import (
	"context"

	"github.com/reeve-go/reeve/operator"
)

type genericInput struct{ ID int64 }

func withProof[T any](prove func(operator.Principal) (T, error), act func(T) error, p operator.Principal) error {
	proof, err := prove(p)
	if err != nil {
		return err
	}
	return act(proof)
}

// A tool in which the word Person does not occur.
func plantedGeneric() Tool {
	return define(Spec{}, func(op *operator.Operator, ctx context.Context, p operator.Principal, in genericInput) (out operator.Intent, err error) {
		return out, withProof(op.PersonOf, func(who operator.Person) error {
			out, err = op.Approve(ctx, who, operator.ActInput{ID: in.ID})
			return err
		}, p)
	})
}
