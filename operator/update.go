package operator

import (
	"context"
	"strings"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// UpdateIntentInput moves an intent along its lifecycle. Approval is not among
// the words, and no spelling of it is.
type UpdateIntentInput struct {
	ID           int64   `json:"id" validate:"required,min=1" doc:"The intent's number."`
	Status       string  `json:"status" validate:"required,oneof=cancelled succeeded failed" doc:"cancelled: withdraw what you recorded, before it is claimed. succeeded or failed: report what you hold the lease of."`
	Outcome      *string `json:"outcome,omitempty" validate:"omitempty,max=4000" doc:"What came of it, in a few words."`
	FencingToken *int64  `json:"fencing_token,omitempty" validate:"omitempty,min=1" doc:"The number that came with the claim; needed for succeeded and failed."`
}

// updateWords are all the words that a caller can set, each in its one spelling.
var updateWords = []string{string(gate.StatusCancelled), string(gate.StatusSucceeded), string(gate.StatusFailed)}

// UpdateIntent withdraws an intent for the principal that recorded it, or
// reports for the holder of its lease.
func (op *Operator) UpdateIntent(ctx context.Context, p Principal, in UpdateIntentInput) (Intent, error) {
	outcome := ""
	if in.Outcome != nil {
		outcome = *in.Outcome
	}
	if !isOneOf(in.Status, updateWords) {
		return Intent{}, core.Refuse(core.ReasonInvalidStatus, "An intent is moved to one of %s. No call approves: a person does, elsewhere.", strings.Join(updateWords, ", ")).With("field", "status")
	}
	if in.Status != string(gate.StatusCancelled) {
		if in.FencingToken == nil {
			return Intent{}, core.Refuse(core.ReasonMissingField, "Reporting %s needs the fencing_token that came with the claim.", in.Status).With("field", "fencing_token")
		}
		return op.Report(ctx, p, ReportInput{ID: in.ID, FencingToken: *in.FencingToken, Status: in.Status, Outcome: outcome})
	}
	ctx = core.Urgent(ctx)
	return op.move(ctx, func(tx core.Tx) (Intent, error) { return op.cancel(ctx, tx, p, in.ID, outcome) })
}

// CancelTx withdraws an intent within a transaction that the caller owns. On
// PostgreSQL that transaction must be READ COMMITTED (ErrIsolation).
func (op *Operator) CancelTx(ctx context.Context, tx Querier, p Principal, id int64, outcome string) (Intent, error) {
	return foreign(ctx, op, tx, func(tx core.Tx) (Intent, error) { return op.cancel(ctx, tx, p, id, outcome) })
}

func (op *Operator) cancel(ctx context.Context, tx core.Tx, p Principal, id int64, outcome string) (Intent, error) {
	if !p.Known() {
		return Intent{}, core.Refuse(core.ReasonUnauthenticated, "Nobody was proved to be calling.")
	}
	if err := checkText("outcome", outcome, 4000); err != nil {
		return Intent{}, err
	}
	outcome = gate.Redact(outcome)
	if err := present(ctx, tx, p); err != nil {
		return Intent{}, err
	}
	row, err := findIntent(ctx, tx, p.ProjectID(), id, tx.Dialect().ForUpdate)
	if err != nil {
		return Intent{}, err
	}
	if row.RecordedBy != p.ID() {
		return Intent{}, row.refuse(core.ReasonNotYours, "Intent %d was recorded by %s.", id, row.RecordedBy)
	}
	if row.Status.Terminal() {
		return Intent{}, settledRefusal(row)
	}
	if !gate.CanMove(row.Status, gate.StatusCancelled, gate.ByRecorder) {
		return Intent{}, row.refuse(core.ReasonTransition, "Intent %d is %s; it can no longer be withdrawn.", id, row.Status).With("status", row.Status)
	}
	if at := row.lapses(); at != nil && !tx.Now().Before(*at) {
		return Intent{}, op.refuseLapsed(ctx, tx, row) // it ended before anybody withdrew it
	}
	n, err := tx.Exec(ctx, `update reeve_intents set status = 'cancelled', settled_by = $1, settled_at = $2, updated_at = $2,
			expires_at = null, outcome = nullif($3, '') where id = $4 and status = $5 and recorded_by = $1`,
		p.ID(), tx.Micros(), row.ended(outcome), id, string(row.Status))
	if err := changedOne(n, err); err != nil {
		return Intent{}, err
	}
	if err := budgetsFollow(ctx, tx, row, gate.StatusCancelled); err != nil {
		return Intent{}, err
	}
	audit := principalAudit(ctx, p, "cancel")
	audit.IntentID, audit.Digest, audit.PolicyVersion = id, row.Digest, row.PolicyVersion
	if err := tx.Audit(ctx, audit.Moved(string(row.Status), string(gate.StatusCancelled), "")); err != nil {
		return Intent{}, err
	}
	now, err := findIntent(ctx, tx, p.ProjectID(), id, "")
	return now.intent(), err
}
