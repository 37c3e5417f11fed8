package operator

import (
	"context"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// ReissueInput names an intent that ended without being carried out.
type ReissueInput struct {
	ID int64 `json:"id" validate:"required,min=1" doc:"The intent's number."`
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
func (op *Operator) Reissue(ctx context.Context, p Person, in ReissueInput) (Intent, error) {
	return op.act(ctx, func(tx core.Tx) (Intent, error) { return op.reissue(ctx, tx, p, in.ID) })
}

func (op *Operator) reissue(ctx context.Context, tx core.Tx, p Person, id int64) (Intent, error) {
	who, err := p.stand(ctx, tx, core.ScopeIntentsDecide)
	if err != nil {
		return Intent{}, err
	}
	old, err := findIntent(ctx, tx, p.projectID, id, tx.Dialect().ForUpdate)
	if err != nil {
		return Intent{}, err
	}
	if old, err = op.lapse(ctx, tx, old); err != nil {
		return Intent{}, err
	}
	switch {
	case old.ReissuedAs.Valid:
		return Intent{}, old.refuse(core.ReasonTransition, "Intent %d had its other chance: intent %d.", id, old.ReissuedAs.Int64).
			With("reissued_as", old.ReissuedAs.Int64)
	case !reissuable(old.Status):
		return Intent{}, old.refuse(core.ReasonTransition, "Intent %d is %s; only a rejected, failed or expired one gets another chance.", id, old.Status).
			With("status", old.Status)
	}
	if err := mayJudge(who, old); err != nil {
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
		return Intent{}, old.refuse(core.ReasonDenied, "The policy of now denies it.").With("policy_reasons", n.verdict.Texts())
	}
	n.reissues = old.ID
	n = op.inherit(n, old, tx.Now())
	return op.chance(ctx, tx, p, ws, old, n)
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
