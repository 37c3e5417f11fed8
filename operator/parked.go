package operator

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
	"github.com/reeve-go/reeve/operator/internal/strict"
)

// TopicApproval is the topic of the notice that a parked call waits for a person.
const TopicApproval = "approval.pending"

// Question is what a person is asked about a call.
type Question struct {
	Title  string        // what it is about, in one line, for the person
	Window time.Duration // how long it waits; 0: as long as an intent
}

// NewParked is a call that is to be kept until a person decides it.
type NewParked struct {
	Question
	Tool      string
	Arguments []byte // one JSON object, as the caller wrote it
}

// The standings of a parked call. From approved on it was carried out, or may have
// been: it is begun once, and never again. Only what a freeze kept from being begun
// goes back to pending.
const (
	ParkedPending  = "pending"
	ParkedRejected = "rejected"
	ParkedExpired  = "expired" // its window lapsed, which is a refusal
	ParkedApproved = "approved"
	ParkedDone     = "done"
	ParkedFailed   = "failed"
	ParkedUnknown  = "unknown" // nobody knows how far it came
)

// ApprovalInfo is a parked call as it stands.
type ApprovalInfo struct {
	ID          int64           `json:"approval_id" doc:"Its number."`
	Tool        string          `json:"tool" doc:"The tool that was called."`
	Title       string          `json:"title" doc:"What it is about."`
	Arguments   string          `json:"arguments" doc:"What it was called with, as JSON; credentials are blotted out."`
	Status      string          `json:"status" doc:"pending, rejected, expired, approved (it is being carried out), done, failed or unknown."`
	Digest      string          `json:"digest" doc:"The digest of tool, arguments and caller: what a person approves."`
	RequestedBy string          `json:"requested_by" doc:"Who called."`
	ExpiresAt   time.Time       `json:"expires_at" doc:"When it lapses into a refusal, unless a person decides before."`
	CreatedAt   time.Time       `json:"created_at" doc:"When it was first called."`
	DecidedBy   *string         `json:"decided_by" doc:"Who decided it."`
	DecidedAt   *time.Time      `json:"decided_at" doc:"When they did."`
	Note        string          `json:"note" doc:"Why, in their words."`
	Result      *jsontext.Value `json:"result" doc:"What the call answered, once it is done."`
	RefusedFor  *string         `json:"refused_for" doc:"Why it failed, where it did."`
}

type parkedRow struct {
	ID         int64          `db:"id"`
	ProjectID  int64          `db:"project_id"`
	Tool       string         `db:"tool"`
	Arguments  string         `db:"arguments"`
	Principal  string         `db:"principal"`
	Credential int64          `db:"credential_id"`
	Digest     string         `db:"digest"`
	Title      string         `db:"title"`
	Status     string         `db:"status"`
	ExpiresAt  int64          `db:"expires_at"`
	CreatedAt  int64          `db:"created_at"`
	DecidedBy  sql.NullString `db:"decided_by"`
	DecidedAt  sql.NullInt64  `db:"decided_at"`
	Note       string         `db:"note"`
	Result     sql.NullString `db:"result"`
	RefusedFor sql.NullString `db:"refused_for"`
}

const parkedColumns = `id, project_id, tool, arguments, principal, credential_id, digest, title, status, expires_at, created_at,
	decided_by, decided_at, note, result, refused_for`

// lapsed says that nobody can decide it any more, whether a sweep has seen it or not.
func (r parkedRow) lapsed(now int64) bool { return r.Status == ParkedPending && r.ExpiresAt <= now }

func (r parkedRow) info(now int64) ApprovalInfo {
	out := ApprovalInfo{ID: r.ID, Tool: r.Tool, Title: gate.Redact(r.Title), Arguments: gate.Redact(r.Arguments), Status: r.Status, Digest: r.Digest,
		RequestedBy: r.Principal, ExpiresAt: core.FromMicros(r.ExpiresAt), CreatedAt: core.FromMicros(r.CreatedAt),
		DecidedBy: optional(r.DecidedBy.String), DecidedAt: optionalTime(r.DecidedAt), Note: r.Note, RefusedFor: optional(r.RefusedFor.String)}
	if r.lapsed(now) {
		out.Status = ParkedExpired
	}
	if r.Result.Valid {
		result := jsontext.Value(r.Result.String)
		out.Result = &result
	}
	return out
}

// parkedDigest binds a call's tool, arguments and caller to each other.
func parkedDigest(p Principal, in NewParked) (string, error) {
	canonical, err := strict.Canonical(in.Arguments)
	if err != nil {
		return "", core.Refuse(core.ReasonNotJSON, "The arguments are not one JSON object.").Because(err)
	}
	bound, err := json.Marshal(struct {
		V                                 int
		Account, Project, Principal, Tool string
		Arguments                         jsontext.Value
	}{1, p.Account(), p.ProjectUID(), p.ID(), in.Tool, canonical}, json.Deterministic(true))
	return core.SHA256Hex(bound), err
}

// Park keeps a call until a person decides it, or its window lapses. It is for the
// schedule of powers. The same call of the same caller while it waits is the same
// one, with the window that it has. The record gets its row either way.
func (op *Operator) Park(ctx context.Context, p Principal, in NewParked) (ApprovalInfo, error) {
	if p.CredentialID() == 0 {
		return ApprovalInfo{}, core.Refuse(core.ReasonKindNotAllowed, "Only the call of somebody with a credential can wait for a person.")
	}
	if len(in.Arguments) == 0 {
		in.Arguments = []byte("{}")
	}
	// Whoever decides has to see all of it, and a credential is shown to nobody.
	if len(gate.FindSecrets(string(in.Arguments))) > 0 {
		return ApprovalInfo{}, core.Refuse(core.ReasonBadText, "The arguments hold a credential, so nobody could be shown what they approve: take it out.")
	}
	digest, err := parkedDigest(p, in)
	if err != nil {
		return ApprovalInfo{}, err
	}
	if err := checkText("title", in.Title, 300); err != nil {
		return ApprovalInfo{}, err
	}
	if in.Window <= 0 {
		in.Window = op.pending
	}
	var row parkedRow
	err = op.inTx(ctx, func(tx core.Tx) error {
		if err := present(ctx, tx, p); err != nil {
			return err
		}
		if err := op.lapseParked(ctx, tx, `project_id = $2 and principal = $3 and digest = $4`, p.ProjectID(), p.ID(), digest); err != nil {
			return err
		}
		n, err := tx.Exec(ctx, `insert into reeve_parked (account_id, project_id, tool, arguments, principal, credential_id, digest, title, status, expires_at,
				created_at, updated_at) values ($1, $2, $3, $4, $5, $6, $7, $8, 'pending', $9, $10, $10)
			on conflict (project_id, principal, digest) where status = 'pending' do nothing`, p.AccountID(), p.ProjectID(), in.Tool, string(in.Arguments), p.ID(),
			p.CredentialID(), digest, in.Title, core.Micros(tx.Now().Add(in.Window)), tx.Micros())
		if err != nil {
			return err
		}
		if err := tx.Get(ctx, &row, `select `+parkedColumns+` from reeve_parked where project_id = $1 and principal = $2 and digest = $3 and status = 'pending'`,
			p.ProjectID(), p.ID(), digest); err != nil {
			return err
		}
		info := core.ReasonApprovalRequired.Info()
		audit := principalAudit(ctx, p, in.Tool)
		audit.Verdict, audit.Reason, audit.Layer, audit.Outcome = string(info.Verdict), info.Reason, info.Layer, approvalName(row.ID)
		if err := tx.Audit(ctx, audit); err != nil || n == 0 {
			return err
		}
		tx.AfterCommit(op.changes.raise)
		return tx.Outbox(ctx, core.OutboxRow{AccountID: p.AccountID(), ProjectID: p.ProjectID(), Topic: TopicApproval, Key: TopicApproval + ":" + itoa(row.ID),
			Payload: approvalNotice{row.ID, row.Tool, gate.Redact(row.Title), row.Principal, row.Digest, core.FromMicros(row.ExpiresAt)}})
	})
	return row.info(core.Micros(op.Now())), err
}

type approvalNotice struct {
	ID          int64     `json:"approval_id"`
	Tool        string    `json:"tool"`
	Title       string    `json:"title"`
	RequestedBy string    `json:"requested_by"`
	Digest      string    `json:"digest"`
	ExpiresAt   time.Time `json:"expires_at"`
}

// approvalWaits says whether there is anything left to tell about a parked call.
func approvalWaits(ctx context.Context, tx core.Tx, key string) (bool, error) {
	id, err := strconv.ParseInt(strings.TrimPrefix(key, TopicApproval+":"), 10, 64)
	if err != nil {
		return false, nil
	}
	err = tx.Get(ctx, &id, `select id from reeve_parked where id = $1 and status = 'pending' and expires_at > $2`, id, tx.Micros())
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

func approvalName(id int64) string { return "approval " + itoa(id) }

// ApprovalQuery names a parked call.
type ApprovalQuery struct {
	ID int64 `json:"approval_id" validate:"required,min=1" doc:"The number that the parked call was answered with."`
}

// Approval shows how a parked call stands: to whoever made it, and to people of the
// project. Anybody else's is as absent as one that never was.
func (op *Operator) Approval(ctx context.Context, p Principal, in ApprovalQuery) (ApprovalInfo, error) {
	var row parkedRow
	err := op.StillLive(ctx, p)
	if err == nil {
		err = op.db.View().Get(ctx, &row, `select `+parkedColumns+` from reeve_parked where id = $1 and project_id = $2`, in.ID, p.ProjectID())
	}
	if errors.Is(err, sql.ErrNoRows) || err == nil && row.Principal != p.ID() && p.Kind() != KindHuman {
		return ApprovalInfo{}, noApproval()
	}
	if err != nil {
		return ApprovalInfo{}, told(ctx, err)
	}
	return row.info(core.Micros(op.Now())), nil
}

func noApproval() error {
	return core.Refuse(core.ReasonNotFound, "No approval of that id is visible to this credential.")
}

// ApprovalList is the parked calls of a project, newest first.
type ApprovalList struct {
	Approvals []ApprovalInfo `json:"approvals" doc:"Those that wait, and the last of those that were decided or lapsed."`
}

// Approvals lists the parked calls of the person's project, at most 200: those that
// wait, oldest first, and then the others, newest first.
func (op *Operator) Approvals(ctx context.Context, p Person) (ApprovalList, error) {
	out := ApprovalList{Approvals: []ApprovalInfo{}}
	err := op.inView(ctx, func(tx core.Tx) error {
		if _, err := p.live(ctx, tx, ""); err != nil {
			return err
		}
		var rows []parkedRow
		err := tx.Select(ctx, &rows, `select `+parkedColumns+` from reeve_parked where project_id = $1
			order by case when status = 'pending' then 0 else 1 end, case when status = 'pending' then id else -id end limit 200`, p.projectID)
		for _, r := range rows {
			out.Approvals = append(out.Approvals, r.info(tx.Micros()))
		}
		return err
	})
	return out, err
}

// parkedLost is after how long a call that was begun and of which nothing more was
// heard counts as unknown: its process has ended.
const parkedLost = core.LostAfter

// tendParked lapses what has waited too long, and gives up on what was begun by a
// process that ended. It says how many rows it moved.
func (op *Operator) tendParked(ctx context.Context, tx core.Tx) (int, error) {
	var ids []struct {
		ID int64 `db:"id"`
	}
	err := tx.Select(ctx, &ids, `select id from reeve_parked where status = 'pending' and expires_at <= $1 order by expires_at limit `+itoa(sweepBatch)+` `+tx.Dialect().SkipLocks, tx.Micros())
	if err != nil {
		return 0, err
	}
	for _, one := range ids {
		if err := op.lapseParked(ctx, tx, `id = $2`, one.ID); err != nil {
			return 0, err
		}
	}
	n, err := op.moveParked(ctx, tx, ParkedUnknown, `status = 'approved' and decided_at <= $2`, core.Micros(tx.Now().Add(-parkedLost)))
	return len(ids) + n, err
}

// lapseParked makes the record say that windows are over.
func (op *Operator) lapseParked(ctx context.Context, tx core.Tx, where string, args ...any) error {
	_, err := op.moveParked(ctx, tx, ParkedExpired, `status = 'pending' and expires_at <= $1 and `+where, args...)
	return err
}

// moveParked moves rows as time alone does. In where, $1 is the moment of the
// transaction.
func (op *Operator) moveParked(ctx context.Context, tx core.Tx, to, where string, args ...any) (int, error) {
	var moved []struct {
		ID      int64 `db:"id"`
		Account int64 `db:"account_id"`
		Project int64 `db:"project_id"`
	}
	err := tx.Select(ctx, &moved, `update reeve_parked set status = '`+to+`', updated_at = $1 where `+where+` returning id, account_id, project_id`,
		append([]any{tx.Micros()}, args...)...)
	if err != nil {
		return 0, err
	}
	for _, m := range moved {
		if err := tx.Audit(ctx, core.AuditRow{AccountID: m.Account, ProjectID: m.Project, Principal: storePrincipal, Via: core.ViaStore, Action: "sweep",
			Verdict: core.VerdictDone, Outcome: approvalName(m.ID) + " -> " + to}); err != nil {
			return 0, err
		}
	}
	return len(moved), nil
}
