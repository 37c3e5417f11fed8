package operator

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// sweepBatch bounds one transaction of a sweep.
const sweepBatch = 200

// Sweep does what time alone brings about: windows that passed lapse, and claims
// whose lease passed are taken back. Nothing depends on when it runs (every act
// and claim checks the time itself); it only makes the record say so. It
// returns how many intents it moved.
func (op *Operator) Sweep(ctx context.Context) (int, error) {
	total := 0
	for {
		n := 0
		err := op.inTx(ctx, func(tx core.Tx) error {
			n = 0
			lapsed, err := op.expire(ctx, tx)
			if err != nil {
				return err
			}
			reclaimed, err := op.reclaim(ctx, tx)
			if err != nil {
				return err
			}
			parked, err := op.tendParked(ctx, tx)
			if n = lapsed + reclaimed + parked; n > 0 {
				tx.AfterCommit(op.changes.raise)
			}
			return err
		})
		if err != nil {
			return total, err // nothing of the last batch was kept
		}
		if total += n; n < sweepBatch {
			return total, op.forget(ctx)
		}
	}
}

// expire lapses what has waited too long. A lapse is a refusal.
func (op *Operator) expire(ctx context.Context, tx core.Tx) (int, error) {
	var rows []intentRow
	err := tx.Select(ctx, &rows, `select `+intentColumns+` from reeve_intents
		where status in ('pending_approval', 'approved', 'allowed') and expires_at <= $1 order by expires_at limit `+itoa(sweepBatch)+` `+tx.Dialect().SkipLocks, tx.Micros())
	if err != nil {
		return 0, err
	}
	for _, row := range rows {
		if err := op.storeMoves(ctx, tx, row, gate.StatusExpired, row.ended("Its window passed.")); err != nil {
			return 0, err
		}
	}
	return len(rows), nil
}

// reclaim takes back claims whose lease has lapsed by the database's clock. One
// whose handler may run twice goes back to where it was claimed from, if there is
// time left for it to run; any other may have acted, so nobody runs it again by
// itself: it is unknown. It says how many it took back.
func (op *Operator) reclaim(ctx context.Context, tx core.Tx) (int, error) {
	var rows []intentRow
	err := tx.Select(ctx, &rows, `select `+intentColumns+` from reeve_intents
		where status = 'executing' and lease_until <= `+tx.Dialect().NowMicros+` order by lease_until limit `+itoa(sweepBatch)+` `+tx.Dialect().SkipLocks)
	if err != nil {
		return 0, err
	}
	for _, row := range rows {
		to := gate.StatusUnknown
		if row.LeaseRetries.Int64 == 1 && row.ExpiresAt.Int64 > tx.Micros() {
			to = gate.Status(row.ClaimedFrom.String)
		}
		n, err := tx.Exec(ctx, `update reeve_intents set status = $1, lease_until = null, updated_at = $2, outcome = coalesce(outcome, $5)
			where id = $3 and status = 'executing' and fencing_token = $4`, string(to), tx.Micros(), row.ID, row.FencingToken,
			"The lease of "+row.LeaseHolder.String+" lapsed without a report.")
		if err := changedOne(n, err); err != nil {
			return 0, err
		}
		if err := budgetsFollow(ctx, tx, row, to); err != nil {
			return 0, err
		}
		if err := tx.Audit(ctx, op.storeAudit(ctx, tx, row, to, ": the lease lapsed")); err != nil {
			return 0, err
		}
	}
	return len(rows), nil
}

// mayHaveActed says that an intent which ends in a status without anybody's word on
// what came of it may have been carried out: a worker had held it.
func (r intentRow) mayHaveActed(end gate.Status) bool {
	switch end {
	case gate.StatusCancelled, gate.StatusExpired, gate.StatusRejected, gate.StatusSuperseded:
		return r.FencingToken > 0
	}
	return false
}

// ended is the words on an intent that ends without anybody's word on what came of
// it. The record must not read as if nothing had happened where something may have.
func (r intentRow) ended(words string) string {
	if r.FencingToken == 0 {
		return words
	}
	also := "A worker held it before and did not report: it may have been carried out."
	if r.AmountCents.Valid {
		also += " What it took of a budget stays taken."
	}
	return strings.TrimPrefix(words+" "+also, " ")
}

// Tend sweeps every period until ctx ends, and seals what is new in the record at
// least every second. Every process that serves runs one. What a sweep waits for, the
// seal does not.
func (op *Operator) Tend(ctx context.Context, period time.Duration) {
	var both sync.WaitGroup
	both.Go(func() { every(ctx, min(period, sealEvery), op.keepSealed) })
	both.Go(func() {
		every(ctx, period, func(ctx context.Context) {
			if _, err := op.Sweep(ctx); err != nil && ctx.Err() == nil {
				op.log.Error("sweep failed", "error", err)
			}
		})
	})
	both.Wait()
}

// every calls f each period until ctx ends.
func every(ctx context.Context, period time.Duration, f func(context.Context)) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f(ctx)
		}
	}
}
