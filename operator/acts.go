package operator

import (
	"context"
	"crypto/subtle"
	"database/sql"
	"errors"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// ActInput names the intent that a person judges and what they saw of it.
type ActInput struct {
	ID     int64  `json:"id" validate:"required,min=1" doc:"The intent's number."`
	Digest string `json:"digest" needed:"true" doc:"The digest of the content that the person was shown; any other one is answered with the content as it is now."`
	Note   string `json:"note,omitzero" validate:"max=2000" doc:"Why, in the person's words."`
}

// Approve countersigns exactly what the person saw. The intent becomes approved
// once as many different people as its rule asks for have done so.
//
// Errors: ErrDigestMismatch when what would be carried out is not what was
// shown; ErrAlreadySettled, with who and when; ErrLapsed; ErrNotFound.
func (op *Operator) Approve(ctx context.Context, p Person, in ActInput) (Intent, error) {
	return op.act(ctx, func(tx core.Tx) (Intent, error) { return op.approve(ctx, tx, p, in) })
}

// ApproveTx is Approve within a transaction that the caller owns. It cannot be
// sealed before the caller commits; a worker waits until it is. On PostgreSQL that
// transaction must be READ COMMITTED (ErrIsolation): in any other, two people who
// approve at once would not see each other's votes.
func (op *Operator) ApproveTx(ctx context.Context, tx Querier, p Person, in ActInput) (Intent, error) {
	return foreign(ctx, op, tx, func(tx core.Tx) (Intent, error) { return op.approve(ctx, tx, p, in) })
}

// foreign runs f in a transaction that belongs to the caller.
func foreign(ctx context.Context, op *Operator, q Querier, f func(core.Tx) (Intent, error)) (Intent, error) {
	tx, err := op.db.Foreign(ctx, q)
	if err != nil {
		return Intent{}, err
	}
	return f(tx)
}

// Reject refuses an intent for good: the agent's same wish is answered by the
// rejected row for the rest of the day.
func (op *Operator) Reject(ctx context.Context, p Person, in ActInput) (Intent, error) {
	return op.act(ctx, func(tx core.Tx) (Intent, error) {
		return op.close(ctx, tx, p, in, closing{act: "reject", to: gate.StatusRejected, decision: decisionRejected})
	})
}

// RejectTx is Reject within a transaction that the caller owns. It cannot be
// sealed before the caller commits. On PostgreSQL that transaction must be READ
// COMMITTED (ErrIsolation).
func (op *Operator) RejectTx(ctx context.Context, tx Querier, p Person, in ActInput) (Intent, error) {
	return foreign(ctx, op, tx, func(tx core.Tx) (Intent, error) {
		return op.close(ctx, tx, p, in, closing{act: "reject", to: gate.StatusRejected, decision: decisionRejected})
	})
}

// Ignore closes an intent without a judgement.
func (op *Operator) Ignore(ctx context.Context, p Person, in ActInput) (Intent, error) {
	return op.act(ctx, func(tx core.Tx) (Intent, error) {
		return op.close(ctx, tx, p, in, closing{act: "ignore", to: gate.StatusCancelled, decision: decisionParked})
	})
}

// Revoke takes an intent back before a worker has claimed it: one that waits,
// one that was approved, one that the policy allowed.
func (op *Operator) Revoke(ctx context.Context, p Person, in ActInput) (Intent, error) {
	ctx = core.Urgent(ctx)
	return op.act(ctx, func(tx core.Tx) (Intent, error) {
		return op.close(ctx, tx, p, in, closing{act: "revoke", to: gate.StatusCancelled, decision: decisionRejected, late: true})
	})
}

// act is perform for an act on an intent.
func (op *Operator) act(ctx context.Context, f func(core.Tx) (Intent, error)) (Intent, error) {
	return perform(ctx, op, f)
}

// perform runs a person's act in a transaction of its own, wakes whoever waits for
// it, and answers once its row in the record is sealed.
func perform[T any](ctx context.Context, op *Operator, f func(core.Tx) (T, error)) (T, error) {
	var row core.Audited
	out, err := commit(ctx, op, func(tx core.Tx) (T, error) {
		out, err := f(tx)
		row = tx.LastAudit()
		return out, err
	})
	if err != nil {
		return out, err
	}
	if j := core.JointOf(ctx); j != nil { // whoever began the transaction does the rest
		j.Await(row)
		return out, nil
	}
	return out, op.awaitSeal(ctx, row)
}

// move is act for who is not a person, and waits for no seal.
func (op *Operator) move(ctx context.Context, f func(core.Tx) (Intent, error)) (Intent, error) {
	return commit(ctx, op, f)
}

// commit runs f in a transaction of its own. Where f finds that a window is over,
// that it is stays on record, and f's refusal is the answer: what somebody was told
// to have lapsed must not be open to whoever comes next with a slower clock.
func commit[T any](ctx context.Context, op *Operator, f func(core.Tx) (T, error)) (T, error) {
	var out T
	var lapsed error
	err := op.inTx(ctx, func(tx core.Tx) error {
		var err error
		out, err = f(tx)
		lapsed = nil
		if errors.Is(err, ErrLapsed) {
			lapsed, err = err, nil
		}
		if err == nil {
			tx.AfterCommit(op.changes.raise)
		}
		return err
	})
	if err == nil {
		err = lapsed
	}
	return out, err
}

// The words a decision on an intent can be recorded with.
const (
	decisionPending  = "pending"
	decisionApproved = "approved"
	decisionRejected = "rejected"
	decisionParked   = "parked"
)

func (op *Operator) approve(ctx context.Context, tx core.Tx, p Person, in ActInput) (Intent, error) {
	who, row, err := op.seen(ctx, tx, p, in, false)
	if err != nil {
		return Intent{}, err
	}
	if err := mayApprove(p, who, row); err != nil {
		return Intent{}, err
	}
	// Nobody's approval makes room: what the policy of now denies is not carried
	// out, and whoever approves it is told so rather than left to find out.
	ws, err := settings(ctx, tx, row.ProjectID)
	if err != nil {
		return Intent{}, err
	}
	j, err := op.evaluate(ctx, tx, ws, row.RecordedBy, row.action(), row.ID)
	if err != nil {
		return Intent{}, err
	}
	if j.verdict.Effect == gate.Deny {
		return Intent{}, j.refusal(nowDenied).With("intent_id", row.ID)
	}
	decision, err := decide(ctx, tx, p, who, row, decisionApproved, in.Note)
	if err != nil {
		return Intent{}, err
	}
	votes, err := countVotes(ctx, tx, row)
	if err != nil {
		return Intent{}, err
	}
	if votes < row.Quorum {
		return op.acted(ctx, tx, p, row, "approve", "one of several approvals")
	}
	// A worker waits until this row of the record is sealed.
	audit, err := tx.AuditID(ctx, p.actRow(ctx, row, "approve").Moved(string(row.Status), string(gate.StatusApproved), ""))
	if err != nil {
		return Intent{}, err
	}
	n, err := tx.Exec(ctx, `update reeve_intents set status = 'approved', decision_id = $1, decided_by = $2, decided_at = $3,
			expires_at = $4, updated_at = $3, approval_audit_id = $7
		where id = $5 and status = 'pending_approval' and digest = $6 and expires_at > $3`,
		decision, p.ID(), tx.Micros(), core.Micros(tx.Now().Add(op.granted)), row.ID, row.Digest, audit)
	if err := changedOne(n, err); err != nil {
		return Intent{}, err
	}
	if err := j.reserve(ctx, tx, row.ID, row.action()); err != nil {
		return Intent{}, err
	}
	return wholeRow(ctx, tx, row)
}

// countVotes counts those who approved this content and could do so now: the vote
// of somebody who has since been removed, or lost the role, counts no more.
func countVotes(ctx context.Context, tx core.Tx, row intentRow) (votes int64, err error) {
	var roles []struct {
		Role string `db:"role"`
	}
	err = tx.Select(ctx, &roles, `select h.role from reeve_decisions d join reeve_people h on h.id = d.person_id
		where d.intent_id = $1 and d.status = 'approved' and d.digest = $2 and h.removed_at is null and d.member_from = h.votes_from`, row.ID, row.Digest)
	from := stored(row.Approvers)
	for _, r := range roles {
		if len(from) == 0 || isOneOf(r.Role, from) {
			votes++
		}
	}
	return votes, err
}

// mayJudge holds a person to the roles that the rule names.
func mayJudge(who standing, row intentRow) error {
	if from := stored(row.Approvers); len(from) > 0 && !isOneOf(string(who.Role), from) {
		return row.refuse(core.ReasonApproverNotAllowed, "This needs an approver whose role is one of %s.", row.Approvers).
			With("approvers", from)
	}
	return nil
}

// mayApprove is mayJudge, and keeps whoever asked from being one of several who
// approve.
func mayApprove(p Person, who standing, row intentRow) error {
	if err := mayJudge(who, row); err != nil {
		return err
	}
	if row.Quorum > 1 && row.RecordedBy == p.ID() {
		return row.refuse(core.ReasonSelfApproval, "You recorded this yourself, and it needs %d other people.", row.Quorum)
	}
	return nil
}

// seen loads what a person acts on, held for the rest of the transaction, and
// refuses unless it is still open and is what they were shown.
func (op *Operator) seen(ctx context.Context, tx core.Tx, p Person, in ActInput, late bool) (standing, intentRow, error) {
	who, err := p.stand(ctx, tx, core.ScopeIntentsDecide)
	if err != nil {
		return who, intentRow{}, err
	}
	row, err := findIntent(ctx, tx, p.projectID, in.ID, tx.Dialect().ForUpdate)
	if err != nil {
		return who, row, err
	}
	open := row.Status == gate.StatusPendingApproval || late && (row.Status == gate.StatusApproved || row.Status == gate.StatusAllowed)
	switch {
	case !open:
		return who, row, settledRefusal(row)
	case row.ExpiresAt.Valid && tx.Micros() >= row.ExpiresAt.Int64:
		return who, row, op.refuseLapsed(ctx, tx, row)
	case subtle.ConstantTimeCompare([]byte(in.Digest), []byte(row.Digest)) != 1:
		return who, row, row.refuse(core.ReasonDigestMismatch, "What would be carried out is not what you were shown; here it is as it is now.").
			With("present", row.whole())
	}
	return who, row, nil
}

// refuseLapsed ends an intent whose window is over, and refuses what came too late.
func (op *Operator) refuseLapsed(ctx context.Context, tx core.Tx, r intentRow) error {
	if _, err := op.lapse(ctx, tx, r); err != nil {
		return err
	}
	at := core.FromMicros(r.ExpiresAt.Int64)
	return r.refuse(core.ReasonLapsed, "Intent %d lapsed at %s; a lapse is a refusal.", r.ID, at.Format("2006-01-02 15:04:05Z")).With("expires_at", at)
}

// settledRefusal says by whom and when: who ended it, else who decided it. The
// two differ where an approval lapsed, was withdrawn, or was carried out.
func settledRefusal(row intentRow) error {
	by, at := row.SettledBy, row.SettledAt
	if !by.Valid {
		by, at = row.DecidedBy, row.DecidedAt
	}
	r := row.refuse(core.ReasonAlreadySettled, "Intent %d is %s already.", row.ID, row.Status)
	if by.Valid {
		when := core.FromMicros(at.Int64)
		r.Message = "Intent " + itoa(row.ID) + " is " + string(row.Status) + " already: " + by.String + " settled it at " + when.Format("2006-01-02 15:04:05Z") + "."
		r.With("settled_by", by.String).With("settled_at", when)
	}
	if row.SupersededBy.Valid {
		r.With("superseded_by", row.SupersededBy.Int64)
	}
	return r.With("status", row.Status)
}

// closing is an act that ends an intent.
type closing struct {
	act      string
	to       gate.Status
	decision string
	late     bool // also after approval
}

func (op *Operator) close(ctx context.Context, tx core.Tx, p Person, in ActInput, c closing) (Intent, error) {
	who, row, err := op.seen(ctx, tx, p, in, c.late)
	if err != nil {
		return Intent{}, err
	}
	decision, err := decide(ctx, tx, p, who, row, c.decision, in.Note)
	if err != nil {
		return Intent{}, err
	}
	n, err := tx.Exec(ctx, `update reeve_intents set status = $1, decision_id = $2, decided_by = $3, decided_at = $4,
			settled_by = $3, settled_at = $4, updated_at = $4, expires_at = null, outcome = nullif($8, '')
		where id = $5 and status = $6 and digest = $7`,
		string(c.to), decision, p.ID(), tx.Micros(), row.ID, string(row.Status), row.Digest, row.ended(""))
	if err := changedOne(n, err); err != nil {
		return Intent{}, err
	}
	if err := budgetsFollow(ctx, tx, row, c.to); err != nil {
		return Intent{}, err
	}
	return op.moved(ctx, tx, p, row, c.act, c.to, "")
}

// decide writes the board's decision, which is the record of the person's act and
// is never rewritten. Each person approves an intent once in each time that they are on
// the list of people; what they approved in an earlier one counts no more.
func decide(ctx context.Context, tx core.Tx, p Person, who standing, row intentRow, status, note string) (id int64, err error) {
	if err := checkWords("note", note, 2000); err != nil {
		return 0, err
	}
	err = tx.Get(ctx, &id, `insert into reeve_decisions (project_id, intent_id, title, status, made_by, updated_by, person_id, via, digest, policy_version, note, created_at, updated_at, member_from)
		values ($1, $2, $3, $4, $5, $5, $6, $7, $8, $9, $10, $11, $11, $12)
		on conflict (intent_id, person_id, member_from) where status = 'approved' and intent_id is not null do nothing returning id`,
		row.ProjectID, row.ID, row.Title, status, p.ID(), p.personID, string(p.via), row.Digest, row.PolicyVersion, note, tx.Micros(), who.VotesFrom)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, row.refuse(core.ReasonAlreadyApproved, "You have approved this already; it needs %d different people.", row.Quorum)
	}
	return id, err
}

// changedOne turns a guarded update that met nothing into a race: the row was
// held, so this means that the guard and the check before it disagree.
func changedOne(n int64, err error) error {
	if err != nil {
		return err
	}
	if n != 1 {
		return core.Refuse(core.ReasonVersionRace, "Another write came first; nothing was kept.")
	}
	return nil
}

// actRow is the record of an act on an intent.
func (p Person) actRow(ctx context.Context, row intentRow, act string) core.AuditRow {
	audit := p.auditRow(ctx, act)
	audit.IntentID, audit.Digest, audit.PolicyVersion = row.ID, row.Digest, row.PolicyVersion
	return audit
}

// acted writes the record of an act that moved nothing, and reads the intent back.
func (op *Operator) acted(ctx context.Context, tx core.Tx, p Person, row intentRow, act, outcome string) (Intent, error) {
	audit := p.actRow(ctx, row, act)
	audit.Outcome = outcome
	if err := tx.Audit(ctx, audit); err != nil {
		return Intent{}, err
	}
	return wholeRow(ctx, tx, row)
}

// moved is acted for an act that moved the intent.
func (op *Operator) moved(ctx context.Context, tx core.Tx, p Person, row intentRow, act string, to gate.Status, more string) (Intent, error) {
	if err := tx.Audit(ctx, p.actRow(ctx, row, act).Moved(string(row.Status), string(to), more)); err != nil {
		return Intent{}, err
	}
	return wholeRow(ctx, tx, row)
}

func wholeRow(ctx context.Context, tx core.Tx, row intentRow) (Intent, error) {
	now, err := findIntent(ctx, tx, row.ProjectID, row.ID, "")
	if err != nil {
		return Intent{}, err
	}
	return now.whole(), nil
}
