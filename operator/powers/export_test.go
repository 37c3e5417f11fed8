package powers

import (
	"context"
	"fmt"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// WithRows is a Schedule over the real table and rows of a test's own.
func WithRows(op *operator.Operator, extra ...Tool) (*Schedule, error) {
	return build(op, append(product(), Group{Toolset: "test", Tools: extra})...)
}

// DocumentsOf writes the documents of tables that a test has altered.
func DocumentsOf(tools []*Tool, acts []*Act, reasons []ReasonInfo, scopes []operator.Scope) ([]Document, error) {
	return tables{tools, acts, reasons, scopes}.documents()
}

// Meaningless lists the words of the envelope that the page about refusals explains
// to nobody.
func Meaningless() []string {
	var out []string
	look := func(word string) {
		if meanings[word] == "" {
			out = append(out, word)
		}
	}
	for _, v := range core.Verdicts() {
		look(string(v))
	}
	for _, l := range core.Layers() {
		look(string(l))
	}
	for _, k := range core.StepKinds() {
		look(string(k))
	}
	return out
}

// Row makes a row of a plain function, through the same definition as all others.
func Row[In, Out any](spec Spec, f func(context.Context, operator.Principal, In) (Out, error)) Tool {
	return define(spec, func(_ *operator.Operator, ctx context.Context, p operator.Principal, in In) (Out, error) {
		return f(ctx, p, in)
	})
}

// SpendRow makes a row that spends of a plain function.
func SpendRow[In, Out any](spec Spec, shape func(In) []gate.Action, f func(context.Context, operator.Principal, In) (Out, error)) Tool {
	return spend(spec, shape, func(_ *operator.Operator, ctx context.Context, p operator.Principal, in In) (Out, error) {
		return f(ctx, p, in)
	})
}

// ParkRow makes a row ask a person.
func ParkRow[In any](t Tool, ask func(context.Context, operator.Principal, In) (*operator.Question, error)) Tool {
	return park(t, func(_ *operator.Operator, ctx context.Context, p operator.Principal, in In) (*operator.Question, error) {
		return ask(ctx, p, in)
	})
}

// PersonRow makes an act of a plain function.
func PersonRow[In, Out any](spec ActSpec, f func(context.Context, operator.Person, In) (Out, error)) *Act {
	a := byPerson(spec, func(_ *operator.Operator, ctx context.Context, p operator.Person, in In) (Out, error) {
		return f(ctx, p, in)
	})
	return &a
}

// Lint is what a row is held to when a Schedule is made.
func Lint(t Tool) error { return t.lint() }

// Remembered is how many buckets are kept once n callers were here.
func Remembered(n int) int {
	b := newBuckets(1, 1)
	for i := range n {
		b.take(fmt.Sprint(i), time.Unix(0, 0))
	}
	return max(len(b.byKey), b.order.Len())
}

// Counted is for how many callers it is counted what was left out, once n were.
func Counted(n int) int {
	l := &limits{now: func() time.Time { return time.Unix(0, 0) }, over: map[string]*leftOut{}}
	for i := range n {
		l.leave(Caller{Address: fmt.Sprint(i)}, core.ReasonInfo{})
	}
	return len(l.over)
}
