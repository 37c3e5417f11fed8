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
	call, err := keyedCall(ctx, action, request)
	if err != nil {
		return Answer{}, err
	}
	if call.Key == "" {
		return f(ctx)
	}
	intent := int64(0)
	got, err := s.op.Once(ctx, c.Principal, call, func(joint context.Context) (core.KeyedAnswer, error) {
		a, err := f(joint)
		intent = a.intent
		return core.KeyedAnswer{JSON: a.JSON, Status: a.Status}, err
	})
	if err != nil {
		return Answer{}, err
	}
	return Answer{JSON: got.JSON, OK: true, Status: got.Status, Replayed: got.Replayed, intent: intent}, nil
}

// inSteps is once for what no transaction can enclose.
func (s *Schedule) inSteps(ctx context.Context, c Caller, action string, request []byte, f func(context.Context) (Answer, error)) (Answer, error) {
	call, err := keyedCall(ctx, action, request)
	if err != nil {
		return Answer{}, err
	}
	if call.Key == "" {
		return f(ctx)
	}
	got, err := s.op.OnceInSteps(ctx, c.Principal, call, func(ctx context.Context) (core.KeyedAnswer, error) {
		a, err := f(ctx)
		return core.KeyedAnswer{JSON: a.JSON, Status: a.Status}, err
	})
	if err != nil {
		return Answer{}, err
	}
	return Answer{JSON: got.JSON, OK: true, Status: got.Status, Replayed: got.Replayed}, nil
}

func keyedCall(ctx context.Context, action string, request []byte) (core.KeyedCall, error) {
	key, err := core.IdempotencyKey(ctx)
	return core.KeyedCall{Key: key, Request: core.SHA256Hex([]byte(action + "\n" + argsDigest(request)))}, err
}
