package hook_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/hook"
)

func ExampleParse() {
	pay, err := hook.Parse(`exec:echo "paid under $REEVE_IDEMPOTENCY_KEY"`, nil)
	if err != nil {
		panic(err)
	}
	// A worker is given the hook as a handler:
	//	op.Work(ctx, worker, map[string]operator.Handler{"spend": {Run: pay.Run}}, nil)
	// and calls it with each job that it holds.
	outcome, err := pay.Run(context.Background(), operator.Job{
		Intent:         operator.Intent{ID: 7, ActionType: "spend", Payload: &gate.Action{Type: "spend", Title: "Annual plan renewal"}},
		IdempotencyKey: "eda5f4d3e25d47e92b81a5a7d27064d1",
	})
	fmt.Println(outcome, err)
	// Output: paid under eda5f4d3e25d47e92b81a5a7d27064d1 <nil>
}

func ExampleHook_Run_outcomes() {
	job := operator.Job{Intent: operator.Intent{ID: 7, ActionType: "spend", Payload: &gate.Action{Type: "spend", Title: "Annual plan renewal"}}}
	for _, spec := range []string{"exec:echo done", "exec:echo declined >&2; exit 1", "exec:kill -9 $$"} {
		h, err := hook.Parse(spec, nil)
		if err != nil {
			panic(err)
		}
		_, err = h.Run(context.Background(), job)
		fmt.Println(err == nil, errors.Is(err, operator.ErrOutcomeUnknown))
	}
	// Output:
	// true false
	// false false
	// false true
}
