package operator

import (
	"context"
	"crypto/subtle"
	"database/sql"
	"errors"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// ParkedCall is a parked call as it is carried out: data, and the principal that
// made it, as its credential stands now.
type ParkedCall struct {
	Approval  int64
	Principal Principal
	Tool      string
	Arguments []byte
}

// Runner carries out a parked call that a person approved, and answers its result
// as JSON. It judges the call like any other, but for the question that was
// answered. The schedule of powers is one.
type Runner interface {
	RunParked(ctx context.Context, call ParkedCall) (result []byte, err error)
}

// ApprovalInput names the parked call that a person decides, and what they saw of it.
type ApprovalInput struct {
	ID     int64  `json:"id" validate:"required,min=1" doc:"The approval's number."`
	Digest string `json:"digest" needed:"true" doc:"The digest of what the person was shown."`
	Note   string `json:"note,omitzero" validate:"max=2000" doc:"Why, in the person's words."`
}

// runWithin bounds how long an approved call may take. It goes on when the person
// leaves: it is carried out once, or its end is not known.
const runWithin = time.Minute

// ApproveParked lets a parked call be carried out, and has run do so, once: a call
// that was begun is never begun again, whatever becomes of this process. Nobody
// approves what they asked for themselves. The answer says what came of it. What a
// freeze keeps from being begun waits on, to be approved once that is lifted.
//
// Errors: ErrDigestMismatch, ErrAlreadySettled, ErrLapsed, ErrOwnRequest, ErrNotFound,
// ErrFrozen.
func (op *Operator) ApproveParked(ctx context.Context, p Person, in ApprovalInput, run Runner) (ApprovalInfo, error) {
	var row parkedRow
	var act core.Audited
	err := op.inTx(ctx, func(tx core.Tx) (err error) {
		row, err = op.decideParked(ctx, tx, p, in, ParkedApproved)
		act = tx.LastAudit()
		return err
	})
	if err != nil {
		return ApprovalInfo{}, op.lapsedParked(ctx, in, err)
	}
	core.BeginSteps(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), runWithin)
	defer cancel()
	err = op.awaitSeal(ctx, act)
	var result []byte
	if err == nil { // where it could not be sealed, nothing is carried out on it
		result, err = op.runParked(ctx, row, run)
	}
	if errors.Is(err, ErrFrozen) {
		return op.putBack(ctx, p, row, err)
	}
	return op.settleParked(ctx, p, row, result, err)
}

// RejectParked refuses a parked call for good; nothing is carried out. Who asked may
// reject it as well.
func (op *Operator) RejectParked(ctx context.Context, p Person, in ApprovalInput) (ApprovalInfo, error) {
	out, err := perform(ctx, op, func(tx core.Tx) (ApprovalInfo, error) {
		row, err := op.decideParked(ctx, tx, p, in, ParkedRejected)
		return row.info(tx.Micros()), err
	})
	return out, op.lapsedParked(ctx, in, err)
}

func (op *Operator) decideParked(ctx context.Context, tx core.Tx, p Person, in ApprovalInput, to string) (parkedRow, error) {
	var row parkedRow
	if _, err := p.stand(ctx, tx, core.ScopeApprovals); err != nil {
		return row, err
	}
	if err := checkWords("note", in.Note, 2000); err != nil {
		return row, err
	}
	err := tx.Get(ctx, &row, `select `+parkedColumns+` from reeve_parked where id = $1 and project_id = $2 `+tx.Dialect().ForUpdate, in.ID, p.projectID)
	if errors.Is(err, sql.ErrNoRows) {
		return row, noApproval()
	}
	if err != nil {
		return row, err
	}
	if err := row.undecided(tx.Micros(), p, in, to); err != nil {
		return parkedRow{}, err
	}
	err = tx.Get(ctx, &row, `update reeve_parked set status = $1, decided_by = $2, decided_via = $3, decided_at = $4, note = $5, updated_at = $4
		where id = $6 and status = 'pending' and expires_at > $4 returning `+parkedColumns, to, p.ID(), string(p.via), tx.Micros(), in.Note, in.ID)
	if err != nil {
		return parkedRow{}, err
	}
	audit := p.auditRow(ctx, to)
	audit.Outcome = approvalName(in.ID) + ": pending -> " + to + ", digest " + row.Digest
	return row, tx.Audit(ctx, audit)
}

// undecided says why a person cannot decide it, if they cannot.
func (r parkedRow) undecided(now int64, p Person, in ApprovalInput, to string) error {
	switch {
	case r.lapsed(now) || r.Status == ParkedExpired:
		return core.Refuse(core.ReasonLapsed, "It lapsed at %s.", core.FromMicros(r.ExpiresAt).Format(time.RFC3339)).With("approval_id", r.ID)
	case r.Status != ParkedPending:
		return core.Refuse(core.ReasonAlreadySettled, "%s decided it at %s: it is %s.", r.DecidedBy.String, core.FromMicros(r.DecidedAt.Int64).Format(time.RFC3339), r.Status).
			With("approval_id", r.ID).With("status", r.Status)
	case subtle.ConstantTimeCompare([]byte(r.Digest), []byte(in.Digest)) != 1:
		return core.Refuse(core.ReasonDigestMismatch, "That is not the digest of what would be carried out; look at it as it is now.").
			With("approval_id", r.ID).With("digest", r.Digest).With("tool", r.Tool).With("arguments", gate.Redact(r.Arguments))
	case to == ParkedApproved && r.Principal == p.ID():
		return core.Refuse(core.ReasonSelfApproval, "You asked for this yourself; somebody else has to approve it.").With("approval_id", r.ID)
	}
	return nil
}

// lapsedParked makes the record say what an act was just told: that the window is
// over. Without it a clock that is set back would open the window again.
func (op *Operator) lapsedParked(ctx context.Context, in ApprovalInput, refused error) error {
	if errors.Is(refused, ErrLapsed) {
		err := op.inTx(ctx, func(tx core.Tx) error { return op.lapseParked(ctx, tx, `id = $2`, in.ID) })
		if err != nil && ctx.Err() == nil {
			op.log.Error("a lapse could not be recorded; the next sweep will", "error", gate.Redact(err.Error()))
		}
	}
	return refused
}

// runParked finds out who the caller is now, and has the call carried out as theirs.
// A credential that was taken back since takes the call with it.
func (op *Operator) runParked(ctx context.Context, row parkedRow, run Runner) ([]byte, error) {
	var c credentialRow
	if err := op.db.View().Get(ctx, &c, credentialQuery+`where c.id = $1`, row.Credential); err != nil {
		return nil, told(ctx, err)
	}
	if refusal := c.alive(op.db.Clock.Now()); refusal != nil {
		return nil, refusal
	}
	var err error
	if c.Powers, err = c.powers(); err != nil {
		return nil, told(ctx, err)
	}
	return run.RunParked(ctx, ParkedCall{Approval: row.ID, Principal: c.principal(core.ViaLibrary), Tool: row.Tool, Arguments: []byte(row.Arguments)})
}

// settleParked writes down what came of a call that was begun. A decision of the
// pipeline or the handler is a failure; an outage leaves its end unknown.
func (op *Operator) settleParked(ctx context.Context, p Person, row parkedRow, result []byte, failed error) (ApprovalInfo, error) {
	to, reason, text := ParkedDone, sql.NullString{}, sql.NullString{String: string(result), Valid: true}
	if failed != nil {
		to, text = ParkedFailed, sql.NullString{}
		if SpendOutcomeOf(failed) == SpendHeld && !errors.Is(failed, ErrAuditUnsealed) {
			to = ParkedUnknown
		}
		reason = sql.NullString{String: string(reasonOf(failed)), Valid: true}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleWithin) // also where the call took all of its time
	defer cancel()
	err := op.inTx(ctx, func(tx core.Tx) error {
		var settled parkedRow
		err := tx.Get(ctx, &settled, `update reeve_parked set status = $1, result = $2, refused_for = $3, updated_at = $4
			where id = $5 and status = 'approved' returning `+parkedColumns, to, text, reason, tx.Micros(), row.ID)
		if errors.Is(err, sql.ErrNoRows) {
			return core.Refuse(core.ReasonAlreadySettled, "It was given up as unknown meanwhile.").With("approval_id", row.ID)
		}
		if err != nil {
			return err
		}
		row = settled
		tx.AfterCommit(op.changes.raise)
		audit := p.auditRow(ctx, to)
		audit.Outcome = approvalName(row.ID) + ": approved -> " + to
		return tx.Audit(ctx, audit)
	})
	return row.info(core.Micros(op.Now())), err
}

// putBack has a call wait again that a freeze kept from being begun. Where the same
// call was parked anew meanwhile, that one waits in its place.
func (op *Operator) putBack(ctx context.Context, p Person, row parkedRow, why error) (ApprovalInfo, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
	defer cancel()
	n := int64(0)
	err := op.inTx(ctx, func(tx core.Tx) (err error) {
		n, err = tx.Exec(ctx, `update reeve_parked set status = 'pending', decided_by = null, decided_via = null, decided_at = null, note = '', updated_at = $1
			where id = $2 and status = 'approved' and not exists (select 1 from reeve_parked o
				where o.project_id = reeve_parked.project_id and o.principal = reeve_parked.principal and o.digest = reeve_parked.digest and o.status = 'pending')`,
			tx.Micros(), row.ID)
		if err != nil || n == 0 {
			return err
		}
		tx.AfterCommit(op.changes.raise)
		audit := p.auditRow(ctx, ParkedPending)
		audit.Outcome = approvalName(row.ID) + ": approved -> pending: frozen, so it was not begun"
		return tx.Audit(ctx, audit)
	})
	if err != nil || n == 0 {
		return op.settleParked(ctx, p, row, nil, why)
	}
	var r *Refusal
	errors.As(why, &r)
	return ApprovalInfo{}, core.Refuse(core.ReasonFrozen, "%s It was not begun, and waits on: approve it once the freeze is lifted.", r.Message).
		With("frozen_why", r.Details["frozen_why"]).With("approval_id", row.ID)
}

func reasonOf(err error) Reason {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Reason
	}
	return core.ReasonInternal
}
