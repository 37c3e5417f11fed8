package main

import (
	"context"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

func init() {
	powers.Wired = func(ctx context.Context, op *operator.Operator, p operator.Principal, in powers.WiredInput) error {
		person, err := op.PersonOf(p)
		if err != nil {
			return err
		}
		_, err = op.Approve(ctx, person, operator.ActInput{ID: in.ID})
		return err
	}
}
