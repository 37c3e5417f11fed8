package operator

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// Bounds of a lease.
const (
	DefaultLease = 30 * time.Second
	MaxLease     = time.Hour
)

// ClaimInput says what a worker can carry out.
type ClaimInput struct {
	Types        []string `json:"types" validate:"required,min=1,max=50,dive,word" doc:"The action types that the worker has a handler for."`
	Idempotent   []string `json:"idempotent,omitzero" validate:"max=50,dive,word" doc:"Those among them whose handler may safely run twice with one key."`
	LeaseSeconds *int64   `json:"lease_seconds,omitempty" validate:"omitempty,min=1,max=3600" doc:"How long the claim is held without a sign of life; 30 when left out."`
}

// Job is an intent that a worker holds.
type Job struct {
	Intent         Intent    `json:"intent" doc:"The intent, with its exact payload."`
	FencingToken   int64     `json:"fencing_token" doc:"Names this claim; a report with an older one is refused."`
	LeaseUntil     time.Time `json:"lease_until" doc:"When the claim lapses unless it is extended."`
	IdempotencyKey string    `json:"idempotency_key" doc:"The intent's key: the same for every attempt at it, and for the same wish on another day."`
	ExecutionKey   string    `json:"execution_key" doc:"The same for every attempt at this intent and for no other one: for a far side that remembers keys longer than a day."`
}

// ClaimOutput is what a claim answers: a job, or null when nothing is ready.
type ClaimOutput struct {
	Job    *Job `json:"job" doc:"What to carry out now; null when nothing is ready."`
	Frozen bool `json:"frozen" doc:"Whether a person has stopped whatever reaches outside; nothing of that sort is handed out until it is lifted."`
	// FrozenWhy is what that person said.
	FrozenWhy *string `json:"frozen_why" doc:"Why it was stopped, in that person's words."`
}

// Claim hands a worker the oldest intent that is ready and of one of its types.
// It checks again, in the same transaction, that the window has not passed and
// that the policy of this moment does not deny it. One holder at a time: the
// lease is by the database's clock, and its fencing token goes up by one each time.
func (op *Operator) Claim(ctx context.Context, p Principal, in ClaimInput) (ClaimOutput, error) {
	if err := isWorker(p); err != nil {
		return ClaimOutput{}, err
	}
	if err := in.check(); err != nil {
		return ClaimOutput{}, err
	}
	lease := leaseOf(in.LeaseSeconds)
	var out ClaimOutput
	err := op.inTx(ctx, func(tx core.Tx) error {
		out = ClaimOutput{}
		if err := present(ctx, tx, p); err != nil {
			return err
		}
		reclaimed, err := op.reclaim(ctx, tx)
		if err != nil {
			return err
		}
		ready := in
		if out.FrozenWhy, err = frozen(ctx, tx, p.AccountID(), p.ProjectID()); err != nil {
			return err
		}
		if out.Frozen = out.FrozenWhy != nil; out.Frozen {
			ready.Types = inward(in.Types)
		}
		passed, err := op.claim(ctx, tx, p, ready, lease, &out)
		// A claim that met nothing wakes nobody: the workers that it would wake
		// would claim in their turn, and wake it.
		if reclaimed+passed > 0 || out.Job != nil {
			tx.AfterCommit(op.changes.raise)
		}
		return err
	})
	return out, err
}

// maxTypes bounds how many types one claim names.
const maxTypes = 50

func (in ClaimInput) check() error {
	if len(in.Types) == 0 {
		return core.Refuse(core.ReasonMissingField, "Name the action types that this worker can carry out.").With("field", "types")
	}
	if len(in.Types) > maxTypes {
		return core.Refuse(core.ReasonInvalidValue, "A claim names at most %d types.", maxTypes).With("field", "types")
	}
	for _, t := range in.Types {
		if !typeForm.MatchString(t) {
			return core.Refuse(core.ReasonInvalidValue, "An action type is a lower_snake word of at most %d characters.", gate.MaxType).With("field", "types")
		}
	}
	return nil
}

// typeForm is the form of every action type that is ever stored.
var typeForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// leaseOf keeps a lease between one second and MaxLease. The bound comes before
// the multiplication, which could overflow.
func leaseOf(seconds *int64) time.Duration {
	if seconds == nil {
		return DefaultLease
	}
	return time.Duration(min(max(*seconds, 1), int64(MaxLease/time.Second))) * time.Second
}

func isWorker(p Principal) error {
	if p.Kind() != KindWorker {
		return core.Refuse(core.ReasonKindNotAllowed, "Only a worker carries intents out.").With("kind", p.Kind())
	}
	return nil
}

// claim passes over what the present policy denies (it is cancelled on the way)
// until it holds a job or nothing is left, and says how many it passed over.
func (op *Operator) claim(ctx context.Context, tx core.Tx, p Principal, in ClaimInput, lease time.Duration, out *ClaimOutput) (passed int, err error) {
	sealed, err := op.seals.wanted(ctx, tx)
	if err != nil {
		return 0, err
	}
	for ; len(in.Types) > 0; passed++ {
		row, err := nextReady(ctx, tx, p.ProjectID(), in, sealed)
		if errors.Is(err, sql.ErrNoRows) {
			return passed, nil
		}
		if err != nil {
			return passed, err
		}
		denied, err := op.deniedNow(ctx, tx, row)
		if err != nil {
			return passed, err
		}
		if !denied {
			out.Job, err = op.hold(ctx, tx, p, row, lease, isOneOf(row.Type, in.Idempotent))
			return passed, err
		}
	}
	return passed, nil
}

// approvalSealed passes over an approval whose row in the record is not sealed yet.
// It is a scalar and no "exists": PostgreSQL might answer that by reading the whole
// record once.
const approvalSealed = ` and (status = 'allowed' or (select a.seq from reeve_audit a where a.id = approval_audit_id) is not null)`

// nextReady finds the oldest that a worker can carry out. Where the record is
// sealed, an approved one has to wait for that. One that somebody held before may
// have been carried out then, so it goes to a handler alone that may run twice,
// whatever the one before had said of itself.
func nextReady(ctx context.Context, tx core.Tx, project int64, in ClaimInput, sealed bool) (intentRow, error) {
	also := ""
	if sealed {
		also = approvalSealed
	}
	args := []any{project, tx.Micros()}
	among := func(types []string) string {
		marks := []string{"null"} // of no types at all there is none
		for _, t := range types {
			args = append(args, t)
			marks = append(marks, fmt.Sprintf("$%d", len(args)))
		}
		return "type in (" + strings.Join(marks, ", ") + ")"
	}
	// "+ 0" keeps PostgreSQL from the index of what lapses: it takes the window for
	// a rare one, and would read and sort everything that waits.
	var row intentRow
	err := tx.Get(ctx, &row, `select `+intentColumns+` from reeve_intents
		where project_id = $1 and status in ('approved', 'allowed') and expires_at + 0 > $2 and `+among(in.Types)+`
			and (fencing_token = 0 or `+among(in.Idempotent)+`)`+also+`
		order by id limit 1 `+tx.Dialect().SkipLocks, args...)
	return row, err
}

// deniedNow asks the gate again. A policy that has hardened since the approval
// wins over it: the intent is cancelled, in the store's name.
func (op *Operator) deniedNow(ctx context.Context, tx core.Tx, row intentRow) (bool, error) {
	ws, err := settings(ctx, tx, row.ProjectID)
	if err != nil {
		return false, err
	}
	digest, err := gate.Digest(ws.Account, ws.Project, row.action())
	if err != nil || digest != row.Digest {
		op.log.Error("an intent is not what its digest says; it is not carried out", "intent", row.ID)
		return true, op.storeMoves(ctx, tx, row, gate.StatusCancelled, row.ended("What is stored is not what was approved."))
	}
	j, err := op.evaluate(ctx, tx, ws, row.RecordedBy, row.action(), row.ID)
	if err != nil {
		return false, err
	}
	if j.verdict.Effect == gate.Deny {
		return true, op.storeMoves(ctx, tx, row, gate.StatusCancelled, row.ended("The policy of "+j.verdict.PolicyVersion+" denies it: "+strings.Join(j.denials(), " ")))
	}
	// A policy that was loaded since may count what the one before did not.
	return false, j.reserve(ctx, tx, row.ID, row.action())
}

// storePrincipal is written as the actor of what the store does by itself.
const storePrincipal = "store"

// storeMoves ends an intent in the store's own name.
func (op *Operator) storeMoves(ctx context.Context, tx core.Tx, row intentRow, to gate.Status, why string) error {
	n, err := tx.Exec(ctx, `update reeve_intents set status = $1, settled_by = $2, settled_at = $3, updated_at = $3, expires_at = null,
		outcome = $4 where id = $5 and status = $6`, string(to), storePrincipal, tx.Micros(), why, row.ID, string(row.Status))
	if err := changedOne(n, err); err != nil {
		return err
	}
	if err := budgetsFollow(ctx, tx, row, to); err != nil {
		return err
	}
	return tx.Audit(ctx, op.storeAudit(ctx, tx, row, to, ""))
}

func (op *Operator) storeAudit(ctx context.Context, tx core.Tx, row intentRow, to gate.Status, more string) core.AuditRow {
	var account int64
	// The project is there: the intent refers to it.
	_ = tx.Get(ctx, &account, `select account_id from reeve_projects where id = $1`, row.ProjectID)
	audit := core.AuditRow{AccountID: account, ProjectID: row.ProjectID, Principal: storePrincipal, Via: core.ViaStore, Action: "sweep",
		Verdict: core.VerdictDone, IntentID: row.ID, Digest: row.Digest, PolicyVersion: row.PolicyVersion}
	return audit.Moved(string(row.Status), string(to), more)
}

func (op *Operator) hold(ctx context.Context, tx core.Tx, p Principal, row intentRow, lease time.Duration, idempotent bool) (*Job, error) {
	var held struct {
		Token int64 `db:"fencing_token"`
		Until int64 `db:"lease_until"`
	}
	err := tx.Get(ctx, &held, `update reeve_intents set status = 'executing', claimed_from = status, lease_holder = $1,
			lease_until = `+tx.Dialect().NowMicros+` + $2, lease_retries = $3, fencing_token = fencing_token + 1, updated_at = $4
		where id = $5 and status = $6 and expires_at > $4 returning fencing_token, lease_until`,
		p.ID(), lease.Microseconds(), bit(idempotent), tx.Micros(), row.ID, string(row.Status))
	if err != nil {
		return nil, err
	}
	audit := principalAudit(ctx, p, "claim")
	audit.IntentID, audit.Digest, audit.PolicyVersion = row.ID, row.Digest, row.PolicyVersion
	if err := tx.Audit(ctx, audit.Moved(string(row.Status), string(gate.StatusExecuting), " under token "+itoa(held.Token))); err != nil {
		return nil, err
	}
	now, err := findIntent(ctx, tx, row.ProjectID, row.ID, "")
	return &Job{Intent: now.whole(), FencingToken: held.Token, LeaseUntil: core.FromMicros(held.Until), IdempotencyKey: row.Key, ExecutionKey: row.executionKey()}, err
}

// executionKey tells one intent's attempts from every other intent's. The
// idempotency key alone cannot: the same wish tomorrow, or a person's reissue of
// one that failed, has the same one.
func (r intentRow) executionKey() string { return r.Key + "-" + itoa(r.ID) }

// ExtendInput keeps a claim alive.
type ExtendInput struct {
	ID           int64  `json:"id" validate:"required,min=1" doc:"The intent's number."`
	FencingToken int64  `json:"fencing_token" validate:"required,min=1" doc:"The number that came with the claim."`
	LeaseSeconds *int64 `json:"lease_seconds,omitempty" validate:"omitempty,min=1,max=3600" doc:"How long from now; 30 when left out."`
}

// Extended is a claim's new end.
type Extended struct {
	LeaseUntil time.Time `json:"lease_until" doc:"When the claim lapses unless it is extended again."`
}

// Extend moves the end of a lease, while it is still held: ErrStaleToken. A sign
// of life decides nothing, and leaves no row in the record.
func (op *Operator) Extend(ctx context.Context, p Principal, in ExtendInput) (Extended, error) {
	if err := isWorker(p); err != nil {
		return Extended{}, err
	}
	lease := leaseOf(in.LeaseSeconds)
	var until int64
	err := op.inTx(ctx, func(tx core.Tx) error {
		if err := present(ctx, tx, p); err != nil {
			return err
		}
		now := tx.Dialect().NowMicros
		err := tx.Get(ctx, &until, `update reeve_intents set lease_until = `+now+` + $1
			where id = $2 and project_id = $3 and status = 'executing' and lease_holder = $4 and fencing_token = $5 and lease_until > `+now+`
			returning lease_until`, lease.Microseconds(), in.ID, p.ProjectID(), p.ID(), in.FencingToken)
		if errors.Is(err, sql.ErrNoRows) {
			row, err := findIntent(ctx, tx, p.ProjectID(), in.ID, "")
			if err != nil {
				return err
			}
			return row.staleToken()
		}
		return err
	})
	return Extended{core.FromMicros(until)}, err
}

func (r intentRow) staleToken() error {
	return r.refuse(core.ReasonStaleToken, "Intent %d is not held under that token: the lease lapsed, or somebody else has it.", r.ID)
}

// ReportInput says what came of a job.
type ReportInput struct {
	ID           int64  `json:"id" validate:"required,min=1" doc:"The intent's number."`
	FencingToken int64  `json:"fencing_token" validate:"required,min=1" doc:"The number that came with the claim."`
	Status       string `json:"status" validate:"required,oneof=succeeded failed" doc:"What came of it: succeeded or failed."`
	Outcome      string `json:"outcome,omitzero" validate:"max=4000" doc:"A few words on it."`
}

// Report settles a job by its holder. The same report again answers the same
// row; one under an old fencing token is refused with ErrStaleToken.
func (op *Operator) Report(ctx context.Context, p Principal, in ReportInput) (Intent, error) {
	return op.move(ctx, func(tx core.Tx) (Intent, error) { return op.report(ctx, tx, p, in) })
}

func (op *Operator) report(ctx context.Context, tx core.Tx, p Principal, in ReportInput) (Intent, error) {
	if err := isWorker(p); err != nil {
		return Intent{}, err
	}
	if !gate.CanMove(gate.StatusExecuting, gate.Status(in.Status), gate.ByHolder) {
		return Intent{}, core.Refuse(core.ReasonInvalidStatus, "A job is reported as succeeded or failed.")
	}
	if err := checkText("outcome", in.Outcome, 4000); err != nil {
		return Intent{}, err
	}
	in.Outcome = gate.Redact(in.Outcome)
	if err := present(ctx, tx, p); err != nil {
		return Intent{}, err
	}
	row, err := findIntent(ctx, tx, p.ProjectID(), in.ID, tx.Dialect().ForUpdate)
	if err != nil {
		return Intent{}, err
	}
	if string(row.Status) == in.Status && row.FencingToken == in.FencingToken && row.SettledBy.String == p.ID() {
		return row.intent(), nil // said once more: the first answer was lost
	}
	n, err := tx.Exec(ctx, `update reeve_intents set status = $1, settled_by = $2, settled_at = $3, updated_at = $3, outcome = $4,
			lease_until = null, expires_at = null
		where id = $5 and status = 'executing' and lease_holder = $2 and fencing_token = $6`,
		in.Status, p.ID(), tx.Micros(), in.Outcome, in.ID, in.FencingToken)
	if err != nil {
		return Intent{}, err
	}
	if n == 0 {
		return Intent{}, row.staleToken()
	}
	if err := budgetsFollow(ctx, tx, row, Status(in.Status)); err != nil {
		return Intent{}, err
	}
	audit := principalAudit(ctx, p, "report")
	audit.IntentID, audit.Digest, audit.PolicyVersion = in.ID, row.Digest, row.PolicyVersion
	if err := tx.Audit(ctx, audit.Moved(string(gate.StatusExecuting), in.Status, "")); err != nil {
		return Intent{}, err
	}
	now, err := findIntent(ctx, tx, p.ProjectID(), in.ID, "")
	return now.intent(), err
}
