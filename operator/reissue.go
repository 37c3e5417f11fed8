package operator

import (
	"context"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// ReissueInput names an intent that ended without being carried out.
type ReissueInput struct {
	ID      int64 `json:"id" validate:"required,min=1" doc:"The intent's number."`
	NotDone bool  `json:"not_done,omitzero" doc:"The person's word that they looked it up and it was not carried out; needed where a worker held it and did not report."`
}

// reissuable says which ends leave room for another chance.
func reissuable(s gate.Status) bool {
	return s == gate.StatusRejected || s == gate.StatusFailed || s == gate.StatusExpired
}

// Reissue gives a rejected, failed or expired intent another chance: a new intent
// with the same payload, judged by the gate of this moment, that waits for a
// person as any other. It is a person's act alone: for everybody else, the same
// wish on the same day is answered by what became of it. From then on that answer
// is the new intent. Each intent has one other chance; the new one has its own.
//
// One that a worker held without a report may have been carried out, and the new
// intent would be carried out as well. It takes a person's word that it was not
// (NotDone), which also gives back what it held of budgets; without one the answer
// is ErrMayHaveRun.
func (op *Operator) Reissue(ctx context.Context, p Person, in ReissueInput) (Intent, error) {
	return op.act(ctx, func(tx core.Tx) (Intent, error) { return op.reissue(ctx, tx, p, in) })
}

func (op *Operator) reissue(ctx context.Context, tx core.Tx, p Person, in ReissueInput) (Intent, error) {
	who, err := p.stand(ctx, tx, core.ScopeIntentsDecide)
	if err != nil {
		return Intent{}, err
	}
	old, err := findIntent(ctx, tx, p.projectID, in.ID, tx.Dialect().ForUpdate)
	if err != nil {
		return Intent{}, err
	}
	if old, err = op.lapse(ctx, tx, old); err != nil {
		return Intent{}, err
	}
	switch {
	case old.ReissuedAs.Valid:
		return Intent{}, old.refuse(core.ReasonTransition, "Intent %d had its other chance: intent %d.", old.ID, old.ReissuedAs.Int64).
			With("reissued_as", old.ReissuedAs.Int64)
	case !reissuable(old.Status):
		return Intent{}, old.refuse(core.ReasonTransition, "Intent %d is %s; only a rejected, failed or expired one gets another chance.", old.ID, old.Status).
			With("status", old.Status)
	}
	if err := mayJudge(who, old); err != nil {
		return Intent{}, err
	}
	if err := lookedUp(ctx, tx, p, old, in.NotDone); err != nil {
		return Intent{}, err
	}
	ws, err := settings(ctx, tx, p.projectID)
	if err != nil {
		return Intent{}, err
	}
	if err := op.holdTwins(ctx, tx, ws, old.action(), old); err != nil {
		return Intent{}, err
	}
	n, err := op.judge(ctx, tx, ws, old.RecordedBy, old.action())
	if err != nil {
		return Intent{}, err
	}
	if n.verdict.Effect == gate.Deny {
		// The chance is not used up by it: a policy can change.
		return Intent{}, n.refusal(nowDenied).With("intent_id", old.ID)
	}
	n.reissues = old.ID
	n = op.inherit(n, old, tx.Now())
	return op.chance(ctx, tx, p, ws, old, n)
}

// lookedUp asks for a person's word on what may have been carried out. With it the
// intent's money is free again, and the record has who said so.
func lookedUp(ctx context.Context, tx core.Tx, p Person, old intentRow, notDone bool) error {
	if !old.mayHaveActed(old.Status) {
		return nil
	}
	if !notDone {
		return old.refuse(core.ReasonMayHaveRun, "A worker held intent %d and did not report, so it may have been carried out. Look it up where it would have "+
			"had its effect; if it was not carried out, say so with not_done, and it gets its other chance.", old.ID).With("status", old.Status)
	}
	if err := moveReservations(ctx, tx, old, "released"); err != nil {
		return err
	}
	audit := p.actRow(ctx, old, "reissue")
	audit.Outcome = "looked up, and not carried out; what it held of budgets is free again"
	return tx.Audit(ctx, audit)
}

// chance stores the new intent, and ties the two together.
func (op *Operator) chance(ctx context.Context, tx core.Tx, p Person, ws workspace, old intentRow, n judged) (Intent, error) {
	id, err := op.insertFromAct(ctx, tx, n)
	if err != nil {
		return Intent{}, err
	}
	changed, err := tx.Exec(ctx, `update reeve_intents set reissued_as = $1, updated_at = $2
		where id = $3 and reissued_as is null and status = $4`, id, tx.Micros(), old.ID, string(old.Status))
	if err := changedOne(changed, err); err != nil {
		return Intent{}, err
	}
	if _, err := op.recorded(ctx, tx, ws, id, p.auditRow(ctx, "reissue")); err != nil {
		return Intent{}, err
	}
	out, err := wholeIntent(ctx, tx, p.projectID, id)
	out.Created = true
	return out, err
}
