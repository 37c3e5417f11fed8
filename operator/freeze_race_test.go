package operator_test

import (
	"context"
	"testing"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

// Whoever stops something while somebody lifts what stopped it before is not told of
// an outage, with nothing stopped.
func TestAFreezeBesideAnUnfreezeStands(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		other := w.Again(t, nil)
		bad := 0
		for range 150 {
			_, _ = w.Freeze(ctx, w.Owner, operator.FreezeInput{Scope: "project", Reason: "one"})
			errs := together(2, func(i int) error {
				if i == 0 {
					return errOf(w.Freeze(ctx, w.Owner, operator.FreezeInput{Scope: "project", Reason: "two"}))
				}
				return errOf(other.Unfreeze(ctx, w.Owner, operator.UnfreezeInput{Scope: "project"}))
			})
			if errs[0] != nil {
				bad++
				if bad == 1 {
					t.Logf("%v", errs[0])
				}
			}
		}
		if bad > 0 {
			t.Errorf("%d of 150 freezes failed", bad)
		}
	})
}
