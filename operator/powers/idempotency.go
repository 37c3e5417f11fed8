package powers

import (
	"context"

	"github.com/reeve-go/reeve/operator/internal/core"
)

// WithIdempotencyKeys lends a call the idempotency keys that a request came with,
// for adapters: all of them, as they came. What is wrong with them is a refusal of
// the call.
func WithIdempotencyKeys(ctx context.Context, keys []string) context.Context {
	if len(keys) == 0 {
		return ctx
	}
	return core.WithIdempotencyKeys(ctx, keys...)
}

// once runs a mutation, and at most once where the call has an idempotency key.
// request is its arguments, as far as they count.
func (s *Schedule) once(ctx context.Context, c Caller, action string, request []byte, f func(context.Context) (Answer, error)) (Answer, error) {
	key, err := core.IdempotencyKey(ctx)
	if err != nil {
		return Answer{}, err
	}
	if key == "" {
		return f(ctx)
	}
	call := core.KeyedCall{Key: key, Request: core.SHA256Hex([]byte(action + "\n" + argsDigest(request)))}
	got, err := s.op.Once(ctx, c.Principal, call, func(joint context.Context) (core.KeyedAnswer, error) {
		a, err := f(joint)
		return core.KeyedAnswer{JSON: a.JSON, Status: a.Status}, err
	})
	if err != nil {
		return Answer{}, err
	}
	return Answer{JSON: got.JSON, OK: true, Status: got.Status, Replayed: got.Replayed}, nil
}
