package operator

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/reeve-go/reeve/operator/internal/core"
)

// RefusalRow is a refusal as the pipeline of a call records it.
func RefusalRow(p Principal) core.AuditRow {
	row := principalAudit(context.Background(), p, "some_tool")
	row.Verdict, row.Reason, row.Layer, row.ArgsDigest = string(core.VerdictDeny), core.ReasonNotFound, core.LayerState, "digest"
	return row
}

// Questions are those whose plan matters. Each sends its one statement through q,
// exactly as the Operator sends it.
func (op *Operator) Questions(project int64) map[string]func(context.Context, Querier) error {
	limit, pending := int64(20), "pending_approval"
	ask := func(f func(context.Context, core.Tx) error) func(context.Context, Querier) error {
		return func(ctx context.Context, q Querier) error { return f(ctx, op.db.Asked(q)) }
	}
	out := map[string]func(context.Context, Querier) error{
		"what waits": ask(func(ctx context.Context, tx core.Tx) error {
			var rows []intentRow
			return tx.Select(ctx, &rows, waitingQuery, project, tx.Micros(), 100)
		}),
		"a page": ask(func(ctx context.Context, tx core.Tx) error {
			_, err := listIntents(ctx, tx, project, StateInput{Limit: &limit}, 10_000)
			return err
		}),
		"a page of what is pending": ask(func(ctx context.Context, tx core.Tx) error {
			_, err := listIntents(ctx, tx, project, StateInput{Limit: &limit, Status: &pending}, maxID)
			return err
		}),
		"one intent": ask(func(ctx context.Context, tx core.Tx) error {
			_, err := findIntent(ctx, tx, project, 1, "")
			return err
		}),
		"a claim": ask(func(ctx context.Context, tx core.Tx) error {
			_, err := nextReady(ctx, tx, project, ClaimInput{Types: []string{"note", "spend"}, Idempotent: []string{"note"}}, false)
			return err
		}),
		"a claim where the record is sealed": ask(func(ctx context.Context, tx core.Tx) error {
			_, err := nextReady(ctx, tx, project, ClaimInput{Types: []string{"note", "spend"}, Idempotent: []string{"note"}}, true)
			return err
		}),
		"a log with rows to seal": ask(func(ctx context.Context, tx core.Tx) error {
			_, err := nextUnsealed(ctx, tx, -1)
			if errors.Is(err, sql.ErrNoRows) {
				return nil // another question has numbered them
			}
			return err
		}),
		"a batch to seal": ask(func(ctx context.Context, tx core.Tx) error {
			var batch []numbered
			return tx.Select(ctx, &batch, numberQuery, 20_000, 1, sealBatch)
		}),
		"whether a row is sealed": ask(func(ctx context.Context, tx core.Tx) error {
			_, err := isSealed(ctx, tx, 5)
			return err
		}),
		"a page of a sealed log": ask(func(ctx context.Context, tx core.Tx) error {
			var rows []auditRow
			return tx.Select(ctx, &rows, exportQuery, 1, 500, 500+exportBatch)
		}),
		"a page of what was denied": ask(func(ctx context.Context, tx core.Tx) error {
			rows, err := tx.Query(ctx, pastQuery(onlyDenied, 50), project, 0, maxID, 0)
			if err != nil {
				return err
			}
			return rows.Close()
		}),
		"a page of everything": ask(func(ctx context.Context, tx core.Tx) error {
			rows, err := tx.Query(ctx, pastQuery("", 50), project, 5_000, maxID, 0)
			if err != nil {
				return err
			}
			return rows.Close()
		}),
		"a reclaim": ask(func(ctx context.Context, tx core.Tx) error { _, err := op.reclaim(ctx, tx); return err }),
		"a sweep":   ask(func(ctx context.Context, tx core.Tx) error { _, err := op.expire(ctx, tx); return err }),
		"the record of a project": ask(func(ctx context.Context, tx core.Tx) error {
			_, err := listAudit(ctx, tx, project, 0, maxID, 20)
			return err
		}),
		"the record of an intent": ask(func(ctx context.Context, tx core.Tx) error {
			_, err := listAudit(ctx, tx, project, 5, maxID, 20)
			return err
		}),
		"the decisions of an intent": ask(func(ctx context.Context, tx core.Tx) error {
			_, err := decisionsOf(ctx, tx, 5, 20)
			return err
		}),
		"the responses to an intent": ask(func(ctx context.Context, tx core.Tx) error {
			_, err := withResponses(ctx, tx, Intent{ID: 5})
			return err
		}),
		"the notices that are queued": ask(func(ctx context.Context, tx core.Tx) error {
			_, _, err := queue(ctx, tx, noticesQueue)
			return err
		}),
		"the rows without a seal": ask(func(ctx context.Context, tx core.Tx) error {
			_, _, err := queue(ctx, tx, unsealedQueue)
			return err
		}),
	}
	for _, c := range backlogCounts {
		out["a count of "+c.from] = ask(func(ctx context.Context, tx core.Tx) error {
			var n int64
			return tx.Get(ctx, &n, countOf(c.from), backlogMost)
		})
	}
	return out
}

// Hurry makes an act wait no longer than this for a seal that somebody else has to make.
func (op *Operator) Hurry(patience time.Duration) { op.seals.patience = patience }

// BetweenBatches calls f before each batch that is sealed.
func (op *Operator) BetweenBatches(f func()) {
	op.seals.between = func(context.Context) { f() }
}

// Do runs f in a transaction as every mutation is run.
func (op *Operator) Do(ctx context.Context, f func(core.Tx) error) error { return op.inTx(ctx, f) }

// LeaseOfWorker is the lease that a worker keeps, of what was asked for.
func LeaseOfWorker(op *Operator, p Principal, lease time.Duration) (kept time.Duration, claimed int64, err error) {
	w, err := op.worker(p, map[string]Handler{"note": {Run: func(context.Context, Job) (string, error) { return "", nil }}}, &WorkOptions{Lease: lease})
	if err != nil {
		return 0, 0, err
	}
	return w.lease, *w.claim.LeaseSeconds, nil
}
