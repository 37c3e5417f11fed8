package operator

import "context"

type TidyInput struct{ ID int64 }

// Tidy answers no Person and asks for none: it writes one.
func (op *Operator) Tidy(ctx context.Context, p Principal, in TidyInput) (Intent, error) {
	who := Person{accountID: p.AccountID(), projectID: p.ProjectID(), personID: 1, handle: "ana"}
	return op.Approve(ctx, who, ActInput{ID: in.ID})
}
