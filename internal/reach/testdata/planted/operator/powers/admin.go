package powers

import (
	"context"

	"github.com/reeve-go/reeve/operator"
)

// A tool that makes a person's credential, and answers it.
func plantedAdmin() Tool {
	return define(Spec{}, func(op *operator.Operator, ctx context.Context, p operator.Principal, in directInput) (operator.Minted, error) {
		return op.CreateCredential(ctx, operator.NewCredential{Kind: operator.KindHuman, Person: "owner", Name: p.ID(), Scopes: operator.Scopes(), Interactive: true})
	})
}
