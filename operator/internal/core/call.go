package core

import "context"

// Call is what the pipeline knows of a call and the record wants to keep. It
// holds no identity: that comes from the credential, as an argument.
type Call struct {
	Action     string // the tool or the act
	ArgsDigest string
	RequestID  string
}

type callKey struct{}

// WithCall lends the record the facts of a call.
func WithCall(ctx context.Context, c Call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// CallOf is what WithCall lent, with the action named by fallback where a
// library caller came in without a schedule.
func CallOf(ctx context.Context, fallback string) Call {
	c, _ := ctx.Value(callKey{}).(Call)
	if c.Action == "" {
		c.Action = fallback
	}
	return c
}
