package operator

import (
	"context"
	"database/sql"
	"errors"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// insertFromAct stores what a person's act made of another intent. It need not be
// the only one of its key that day; but where the key is free it takes it, so that
// the agent's recording of exactly this is the same intent and not a second one.
//
// One effect must not be had twice by way of two intents. So where one that would
// do the very same is open, whatever its day, or was carried out today, the act is
// refused, with that intent named.
func (op *Operator) insertFromAct(ctx context.Context, tx core.Tx, n judged) (int64, error) {
	if err := op.noTwin(ctx, tx, n); err != nil {
		return 0, err
	}
	n.original = true
	id, err := n.insert(ctx, tx)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	// Somebody has the key. It may have been recorded since the look above.
	if err := op.noTwin(ctx, tx, n); err != nil {
		return 0, err
	}
	n.original = false
	return n.insert(ctx, tx)
}

// holdTwins is noTwin for what an act is about to make of a row, before it is judged:
// rows of intents are locked before rows of budgets, here as everywhere.
func (op *Operator) holdTwins(ctx context.Context, tx core.Tx, ws workspace, a gate.Action, old intentRow) error {
	n, err := identify(tx, ws, a)
	if err != nil {
		return err
	}
	n.supersedes, n.reissues = old.ID, old.ID
	return op.noTwin(ctx, tx, n)
}

// noTwin makes acts on one key queue, and looks for an intent that this one would
// be the second of. Acts of different days have no row in common to hold, so
// PostgreSQL is given a lock for the key; SQLite has one writer. What it finds is
// held until the act is committed, so that no claim comes in between.
func (op *Operator) noTwin(ctx context.Context, tx core.Tx, n judged) error {
	if tx.Dialect().Name == "postgres" {
		if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended($1, $2))`, n.key, n.ws.ProjectID); err != nil {
			return err
		}
	}
	zone, err := core.LoadZone(n.ws.Zone)
	if err != nil {
		return err
	}
	today, _ := gate.PerDay.Bounds(tx.Now(), zone)
	var rows []intentRow
	// Statuses are literals, so that the partial index serves.
	err = tx.Select(ctx, &rows, `select `+intentColumns+` from reeve_intents where project_id = $1 and idempotency_key = $2
		and status in ('pending_approval', 'approved', 'allowed', 'executing', 'unknown', 'succeeded', 'expired', 'cancelled')
		and (settled_at is null or settled_at >= $3 and (status = 'succeeded' or fencing_token > 0)) order by id `+tx.Dialect().ForUpdate, n.ws.ProjectID, n.key, core.Micros(today))
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r, err = op.lapse(ctx, tx, r); err != nil {
			return err
		}
		twin, err := n.isTwin(r)
		if err != nil {
			return err
		}
		if twin {
			return r.refuse(core.ReasonTwin, "Intent %d does exactly this already, and is %s.", r.ID, r.Status).With("status", r.Status)
		}
	}
	return nil
}

// isTwin says that a row does the very same and may still be carried out, or was.
// Labels, and where the content comes from, change nothing of what happens.
func (n judged) isTwin(r intentRow) (bool, error) {
	// What ended without an outcome counts where a worker had held it: it may have
	// been carried out.
	ended := r.Status == gate.StatusExpired || r.Status == gate.StatusCancelled
	if ended && !r.mayHaveActed(r.Status) || r.ID == n.supersedes || r.ID == n.reissues {
		return false, nil
	}
	mine, err := effect(n.ws, n.action)
	if err != nil {
		return false, err
	}
	theirs, err := effect(n.ws, r.action())
	return mine == theirs, err
}

// effect is the digest of what an action does.
func effect(ws workspace, a gate.Action) (string, error) {
	a.Labels, a.TaintedBy = nil, nil
	return gate.Digest(ws.Account, ws.Project, a)
}

// lapse ends an intent whose window has passed, where no sweep has done so yet, and
// gives it as it is then. The caller holds its row. Whoever goes by a lapse writes
// it down first: another process's clock may think differently.
func (op *Operator) lapse(ctx context.Context, tx core.Tx, r intentRow) (intentRow, error) {
	at := r.lapses()
	if at == nil || tx.Now().Before(*at) {
		return r, nil
	}
	if err := op.storeMoves(ctx, tx, r, gate.StatusExpired, r.ended("Its window passed.")); err != nil {
		return r, err
	}
	return findIntent(ctx, tx, r.ProjectID, r.ID, "")
}

// sameAgain answers a recording whose key is taken: by the newest of what became of
// the same wish. The key is a look-up and not the proof: where anything of the
// payload differs from all of them, it is another action.
func (op *Operator) sameAgain(ctx context.Context, tx core.Tx, n judged) (Intent, error) {
	var rows []intentRow
	err := tx.Select(ctx, &rows, `select `+intentColumns+` from reeve_intents
		where project_id = $1 and day = $2 and idempotency_key = $3 order by original desc, id`, n.ws.ProjectID, n.day, n.key)
	if err != nil {
		return Intent{}, err
	}
	var newest intentRow
	for _, r := range rows {
		same, err := wasEver(ctx, tx, r, n.digest)
		if err != nil {
			return Intent{}, err
		}
		if !same {
			continue
		}
		if r, err = becameOf(ctx, tx, r); err != nil {
			return Intent{}, err
		}
		if r.ID > newest.ID {
			newest = r
		}
	}
	if newest.ID == 0 {
		return Intent{}, rows[0].refuse(core.ReasonIdempotencyMismatch,
			"Intent %d was recorded today with the same type, title, recipient, amount and body, but another payload.", rows[0].ID)
	}
	if at := newest.lapses(); at != nil && !tx.Now().Before(*at) {
		if newest, err = findIntent(ctx, tx, n.ws.ProjectID, newest.ID, tx.Dialect().ForUpdate); err != nil {
			return Intent{}, err
		}
		if newest, err = op.lapse(ctx, tx, newest); err != nil {
			return Intent{}, err
		}
	}
	return newest.intent(), nil
}

// wasEver says whether a row, or one that a person's act made it of, has a digest.
func wasEver(ctx context.Context, tx core.Tx, r intentRow, digest string) (bool, error) {
	for {
		if r.Digest == digest {
			return true, nil
		}
		before := max(r.Supersedes.Int64, r.Reissues.Int64)
		if before == 0 {
			return false, nil
		}
		var err error
		if r, err = findIntent(ctx, tx, r.ProjectID, before, ""); err != nil {
			return false, err
		}
	}
}

// becameOf follows a row to what the acts of people have made of it.
func becameOf(ctx context.Context, tx core.Tx, r intentRow) (intentRow, error) {
	var err error
	for r.next() != 0 && err == nil {
		r, err = findIntent(ctx, tx, r.ProjectID, r.next(), "")
	}
	return r, err
}
