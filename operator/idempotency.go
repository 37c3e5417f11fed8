package operator

import (
	"context"
	"errors"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// WithIdempotencyKey lends a call of the schedule of powers an idempotency key, as
// the header Idempotency-Key does over HTTP: 1 to 255 visible ASCII characters. The
// first call with it that succeeds stores its whole answer in its own transaction;
// for 24 hours the same call with the same key is given that answer again, whatever
// has changed since, and changes nothing. Another call with it is refused with
// ErrIdempotencyKeyReused. A refusal stores nothing.
//
// What no transaction can enclose (a tool that spends, the approval of a parked call)
// is begun under its key before anything runs. The same call is told to come back
// (ErrUnavailable) while it runs, and is refused with ErrMayHaveRun where nothing is
// known of its end, after a crash, an outage, or ten minutes: it may have been carried
// out, and is not run again under that key.
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
			out, seal, err = answeredBefore(row, p, call, tx.Micros())
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

// OnceInSteps is Once for what no transaction can enclose, and also for the schedule of
// powers alone. The key is taken in a transaction of its own before f runs, and the
// answer is stored after it, in another. Once f came to where it may have done something
// (core.BeginSteps, with the context that it is given), only a decision gives the key
// back.
func (op *Operator) OnceInSteps(ctx context.Context, p Principal, call core.KeyedCall, f func(context.Context) (core.KeyedAnswer, error)) (core.KeyedAnswer, error) {
	call.Steps = true
	var row core.KeyedRow
	var before core.KeyedAnswer
	taken := false
	err := op.inTx(ctx, func(tx core.Tx) (err error) {
		if err := present(ctx, tx, p); err != nil {
			return err
		}
		if row, taken, err = tx.TakeKey(ctx, p, call); err != nil || taken {
			return err
		}
		before, _, err = answeredBefore(row, p, call, tx.Micros())
		return err
	})
	if err != nil || !taken {
		return before, err
	}
	steps, begun := core.WithSteps(ctx)
	out, err := f(steps)
	op.endSteps(ctx, row.ID, func(ctx context.Context, tx core.Tx) error {
		switch {
		case err == nil:
			return tx.SettleKey(ctx, row.ID, out, core.Audited{})
		case !*begun || SpendOutcomeOf(err) == SpendReleased:
			return tx.FreeKey(ctx, row.ID)
		}
		return tx.LoseKey(ctx, row.ID)
	})
	return out, err
}

// endSteps notes how a call of several steps ended, also when its caller has gone. It
// has happened whether or not that can be noted; if not, it will count as lost.
func (op *Operator) endSteps(ctx context.Context, id int64, note func(context.Context, core.Tx) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
	defer cancel()
	if err := op.inTx(ctx, func(tx core.Tx) error { return note(ctx, tx) }); err != nil {
		op.log.Error("the end of a call under an idempotency key could not be noted; it will count as lost", "key", id, "error", gate.Redact(err.Error()))
	}
}

// soon is how many seconds a caller is asked to wait for a call that is running.
const soon = 5

// unfinished is the answer to a call that was begun before and has none.
func unfinished(row core.KeyedRow, now int64) error {
	begun := core.FromMicros(row.Begun)
	if now < row.RunsUntil.Int64 {
		r := core.Refuse(core.ReasonUnavailable, "The same call was begun under this key at %s and has not ended yet: send it again for its answer.", begun.Format(time.RFC3339)).
			With("begun_at", begun)
		r.Recovery = []core.Step{{Kind: core.StepRetryAfter, Change: "It ends, and its answer is given.", RetryAfter: soon}}
		return r
	}
	return core.Refuse(core.ReasonMayHaveRun, "The same call was begun under this key at %s, and nothing is known of its end: it may have been carried out, and is not run again. "+
		"Look it up where it would have had its effect, and in the record from then on; if it was not carried out, send it under another key.", begun.Format(time.RFC3339)).
		With("begun_at", begun)
}

// answeredBefore is the answer of before, where the call is the same one.
func answeredBefore(row core.KeyedRow, p Principal, call core.KeyedCall, now int64) (core.KeyedAnswer, core.Audited, error) {
	if row.Request != call.Request {
		return core.KeyedAnswer{}, core.Audited{}, core.Refuse(core.ReasonKeyReused, "This idempotency key was used for another call, or with other arguments.")
	}
	if row.RunsUntil.Valid {
		return core.KeyedAnswer{}, core.Audited{}, unfinished(row, now)
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
