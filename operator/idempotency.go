package operator

import (
	"context"
	"errors"

	"github.com/reeve-go/reeve/operator/internal/core"
)

// WithIdempotencyKey lends a call of the schedule of powers an idempotency key, as
// the header Idempotency-Key does over HTTP: 1 to 255 visible ASCII characters. The
// first call with it that succeeds stores its whole answer in its own transaction;
// for 24 hours the same call with the same key is given that answer again, whatever
// has changed since, and changes nothing. Another call with it is refused with
// ErrIdempotencyKeyReused. A refusal stores nothing.
//
// A key belongs to one principal in one project, on every face. Reads take none.
// The methods of an Operator themselves do not look at it: they are called by a
// program that has transactions of its own (RecordIntentTx and its like).
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	return core.WithIdempotencyKeys(ctx, key)
}

// Once is for the schedule of powers; nobody else can name its arguments. It runs f
// in one transaction with the answer that it stores: at a crash both are there, or
// neither is. f may be run again after a lost race, and what it calls must be given
// the context that it gets. A person's act is answered, also when it is repeated,
// once its row in the record is sealed.
func (op *Operator) Once(ctx context.Context, p Principal, call core.KeyedCall, f func(context.Context) (core.KeyedAnswer, error)) (core.KeyedAnswer, error) {
	var out core.KeyedAnswer
	var seal core.Audited
	var stands error
	err := told(ctx, op.db.InJointTx(ctx, func(joint context.Context, tx core.Tx) error {
		out, seal, stands = core.KeyedAnswer{}, core.Audited{}, nil
		if err := present(joint, tx, p); err != nil {
			return err
		}
		row, taken, err := tx.TakeKey(ctx, p, call)
		if err != nil {
			return err
		}
		if !taken {
			out, seal, err = answeredBefore(row, p, call)
			return err
		}
		// What was found to have lapsed stays so, and what was kept for a person to
		// complete stays kept; such a refusal is no answer to store, so the key is free.
		if out, err = f(joint); errors.Is(err, ErrLapsed) || errors.Is(err, ErrApprovalRequired) {
			stands = err
			return tx.FreeKey(ctx, row.ID)
		}
		if err != nil {
			return err
		}
		seal = core.JointOf(joint).Awaited()
		return tx.SettleKey(ctx, row.ID, out, seal)
	}))
	if err == nil {
		err = stands
	}
	if err != nil {
		return core.KeyedAnswer{}, err
	}
	return out, op.sealed(ctx, out, seal)
}

// answeredBefore is the answer of before, where the call is the same one.
func answeredBefore(row core.KeyedRow, p Principal, call core.KeyedCall) (core.KeyedAnswer, core.Audited, error) {
	if row.Request != call.Request {
		return core.KeyedAnswer{}, core.Audited{}, core.Refuse(core.ReasonKeyReused, "This idempotency key was used for another call, or with other arguments.")
	}
	return core.KeyedAnswer{JSON: []byte(row.Answer), Status: int(row.Status), Replayed: true},
		core.Audited{Account: p.AccountID(), ID: row.AuditID.Int64}, nil
}

// sealed waits for what an answer has to wait for.
func (op *Operator) sealed(ctx context.Context, answer core.KeyedAnswer, row core.Audited) error {
	if row.ID == 0 {
		return nil
	}
	if answer.Replayed {
		if done, err := isSealed(ctx, op.db.View(), row.ID); err == nil && done {
			return nil
		}
	}
	return op.awaitSeal(ctx, row)
}

// forget deletes the answers whose time is up, a batch at a time. It looks first, so
// that it takes no writer's turn for nothing.
func (op *Operator) forget(ctx context.Context) error {
	for {
		var n int64
		err := op.db.View().Get(ctx, &n, `select count(*) from (select 1 from reeve_idempotency where expires_at <= $1 limit 1) as ended`, core.Micros(op.db.Clock.Now()))
		if err != nil || n == 0 {
			return told(ctx, err)
		}
		err = op.inTx(ctx, func(tx core.Tx) (err error) {
			n, err = tx.ForgetKeys(ctx, sweepBatch)
			return err
		})
		if err != nil || n < sweepBatch {
			return err
		}
	}
}
