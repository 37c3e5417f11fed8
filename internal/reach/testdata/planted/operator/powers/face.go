package powers

import (
	"context"
	"net/http"

	"github.com/reeve-go/reeve/operator"
)

type faceInput struct{ ID int64 }

type ownFace struct {
	op *operator.Operator
	p  operator.Principal
}

func (f ownFace) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	if person, err := f.op.PersonOf(f.p); err == nil {
		_, _ = f.op.Approve(r.Context(), person, operator.ActInput{})
	}
}

// A tool that calls a handler of HTTP itself: only requests that come in from
// outside are where the first graph ends.
func plantedFace() Tool {
	return define(Spec{}, func(op *operator.Operator, ctx context.Context, p operator.Principal, in faceInput) (operator.Intent, error) {
		var h http.Handler = ownFace{op, p}
		r, err := http.NewRequestWithContext(ctx, "POST", "/", nil)
		if err != nil {
			return operator.Intent{}, err
		}
		h.ServeHTTP(nil, r)
		return operator.Intent{}, nil
	})
}
