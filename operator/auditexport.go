package operator

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"io"

	"github.com/reeve-go/reeve/operator/internal/auditlog"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// NoAccount names the log of the rows that belong to no account, where an account
// is asked for: refusals of callers who proved to be nobody, and what is done on the
// database as a whole.
const NoAccount = "-"

// auditRow is a row of the record as it is stored.
type auditRow struct {
	Account        sql.NullInt64 `db:"account_id"`
	Project        sql.NullInt64 `db:"project_id"`
	At             int64         `db:"at"`
	Principal      string        `db:"principal"`
	Kind           string        `db:"kind"`
	Via            string        `db:"via"`
	Action         string        `db:"action"`
	ArgsDigest     string        `db:"args_digest"`
	Verdict        string        `db:"verdict"`
	Reason         string        `db:"reason"`
	Layer          string        `db:"layer"`
	Intent         sql.NullInt64 `db:"intent_id"`
	Digest         string        `db:"digest"`
	PolicyVersion  string        `db:"policy_version"`
	Outcome        string        `db:"outcome"`
	RequestID      string        `db:"request_id"`
	StatusFrom     string        `db:"status_from"`
	StatusTo       string        `db:"status_to"`
	PolicyDecision string        `db:"policy_decision"`
	Leaf           string        `db:"leaf"`
	Seq            sql.NullInt64 `db:"seq"`
}

const auditColumns = `account_id, project_id, at, principal, kind, via, action, args_digest, verdict, reason, layer, intent_id,
	digest, policy_version, outcome, request_id, status_from, status_to, policy_decision, leaf, seq`

func (r auditRow) entry() auditlog.Entry {
	return auditlog.Entry{Account: r.Account.Int64, Project: r.Project.Int64, At: r.At, Principal: r.Principal, Kind: r.Kind, Via: r.Via,
		Action: r.Action, ArgsDigest: r.ArgsDigest, Verdict: r.Verdict, Reason: r.Reason, Layer: r.Layer, Intent: r.Intent.Int64,
		Digest: r.Digest, PolicyVersion: r.PolicyVersion, Outcome: r.Outcome, RequestID: r.RequestID, StatusFrom: r.StatusFrom,
		StatusTo: r.StatusTo, PolicyDecision: r.PolicyDecision}
}

// ExportAudit writes an account's sealed log to w as JSON lines: a header with the
// public keys, every sealed row in its order, and the newest checkpoint. account is a
// slug, "" for default, or NoAccount. Where this process has the key, what is not
// sealed yet is sealed first.
//
// What stands in the database is written as it stands; whether it is what was
// sealed, VerifyAudit says.
func (op *Operator) ExportAudit(ctx context.Context, account string, w io.Writer) error {
	if err := op.sealFirst(ctx); err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	var broken error // of w, not of the store
	err := op.inView(ctx, func(tx core.Tx) error {
		l, err := findLog(ctx, tx, account)
		if err != nil {
			return err
		}
		header, err := l.header(ctx, tx)
		if err != nil {
			return err
		}
		if broken = auditlog.WriteHeader(out, header); broken != nil {
			return broken
		}
		if err := op.exportRows(ctx, tx, l, func(e auditlog.Entry) error {
			broken = auditlog.WriteEntry(out, e)
			return broken
		}); err != nil {
			return err
		}
		broken = auditlog.WriteCheckpoint(out, l.Checkpoint)
		return broken
	})
	if broken != nil {
		return broken
	}
	if err != nil {
		return err
	}
	return out.Flush()
}

// AuditCheckpoint is the newest signed checkpoint of an account's log. Kept
// elsewhere, it shows later whether the log was cut short or rewritten since.
func (op *Operator) AuditCheckpoint(ctx context.Context, account string) (string, error) {
	if err := op.sealFirst(ctx); err != nil {
		return "", err
	}
	var l storedLog
	err := op.inView(ctx, func(tx core.Tx) (err error) {
		l, err = findLog(ctx, tx, account)
		return err
	})
	return l.Checkpoint, err
}

// sealFirst seals what is new. Where that fails, there is still what was sealed
// before, unless the caller has gone away.
func (op *Operator) sealFirst(ctx context.Context) error {
	if _, err := op.Seal(ctx); err != nil {
		if ctx.Err() != nil {
			return err
		}
		op.log.Error("the record could not be sealed", "error", err)
	}
	return nil
}

type storedLog struct {
	Account    int64  `db:"account_id"`
	Size       int64  `db:"size"`
	Checkpoint string `db:"checkpoint"`
	origin     string
}

// findLog looks a log up that has been sealed at least once.
func findLog(ctx context.Context, tx core.Tx, account string) (storedLog, error) {
	var l storedLog
	id := int64(0)
	if account != NoAccount {
		ws, err := findWorkspace(ctx, tx, account, "")
		if err != nil {
			return l, err
		}
		id, account = ws.AccountID, ws.Account
	} else {
		account = ""
	}
	err := tx.Get(ctx, &l, `select account_id, size, checkpoint from reeve_logs where account_id = $1 and size > 0`, id)
	if errors.Is(err, sql.ErrNoRows) {
		return l, core.Refuse(core.ReasonNotFound, "Nothing of that account's record has been sealed yet: a process that has the audit key does so every second.")
	}
	l.origin = auditlog.Origin(account)
	return l, err
}

// header names the keys that sealed the log, and the steps between them.
func (l storedLog) header(ctx context.Context, tx core.Tx) (auditlog.Header, error) {
	h := auditlog.Header{Origin: l.origin, Size: l.Size, Rotations: []string{}}
	var steps []struct {
		Note string `db:"note"`
		From string `db:"from_key"`
		To   string `db:"to_key"`
	}
	err := tx.Select(ctx, &steps, `select note, from_key, to_key from reeve_checkpoints where account_id = $1 order by size`, l.Account)
	if err != nil {
		return h, err
	}
	for i, s := range steps {
		if i == 0 {
			h.Keys = append(h.Keys, auditlog.PublicKey(s.From))
		}
		h.Keys, h.Rotations = append(h.Keys, auditlog.PublicKey(s.To)), append(h.Rotations, s.Note)
	}
	if len(steps) == 0 {
		active, err := activeKey(ctx, tx, "")
		if err != nil {
			return h, err
		}
		h.Keys = []auditlog.PublicKey{active}
	}
	return h, nil
}

// exportBatch is how many rows are read at a time.
const exportBatch = 1000

const exportQuery = `select ` + auditColumns + ` from reeve_audit where coalesce(account_id, 0) = $1 and seq > $2 and seq <= $3
	order by seq`

// exportRows hands on every sealed row of a log up to its size, in order.
func (op *Operator) exportRows(ctx context.Context, tx core.Tx, l storedLog, write func(auditlog.Entry) error) error {
	for after := int64(0); after < l.Size; after += exportBatch {
		var rows []auditRow
		if err := tx.Select(ctx, &rows, exportQuery, l.Account, after, min(l.Size, after+exportBatch)); err != nil {
			return err
		}
		for _, r := range rows {
			e := r.entry()
			if leaf, err := e.Leaf(); err != nil || auditlog.HexHash(leaf) != r.Leaf {
				op.log.Error("a row of the record is not what it was when it was written", "log", l.origin, "place", r.Seq.Int64)
			}
			if err := write(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// VerifyAuditOptions says what is known of an exported log besides the file: Keys,
// the trusted public keys; Checkpoints, signed earlier, which the log must be a
// continuation of; Origin, which log it must be (AuditOrigin).
type VerifyAuditOptions = auditlog.VerifyOptions

// AuditReport is what VerifyAudit found in a log that is whole: Origin, Size, Root,
// Key, Trusted, Executions.
type AuditReport = auditlog.Report

// AuditProblem is a difference between an exported log and what was sealed: Line,
// counted from 1, or 0 for the file as a whole; Kind, one of the ErrAudit sentinels,
// which errors.Is finds; Why, a sentence.
type AuditProblem = auditlog.Problem

// AuditPublicKey is the public half of an audit key, as text: reeve+<hex>+<base64>.
type AuditPublicKey = auditlog.PublicKey

// The kinds of AuditProblem.
var (
	ErrAuditForm      = auditlog.ErrForm
	ErrAuditAltered   = auditlog.ErrAltered
	ErrAuditKey       = auditlog.ErrKey
	ErrAuditTruncated = auditlog.ErrTruncated
	ErrAuditForked    = auditlog.ErrForked
	ErrAuditOrigin    = auditlog.ErrOrigin
	ErrAuditAuthority = auditlog.ErrAuthority
)

// VerifyAudit reads what ExportAudit wrote, and nothing else, and shows that no
// sealed row was altered, removed, added or moved, and that whatever was carried out
// follows a person's approval of exactly that, or the policy's leave. A difference is
// an *AuditProblem. opts may be nil; without a trusted key or an earlier checkpoint
// it is only shown that the file is whole in itself.
func VerifyAudit(r io.Reader, opts *VerifyAuditOptions) (AuditReport, error) {
	return auditlog.Verify(r, opts)
}

// ParseAuditPublicKey reads the public half of an audit key.
func ParseAuditPublicKey(text string) (AuditPublicKey, error) { return auditlog.ParsePublicKey(text) }

// AuditOrigin is the origin of an account's log: account is a slug, "" for default,
// or NoAccount.
func AuditOrigin(account string) string {
	switch account {
	case NoAccount:
		account = ""
	case "":
		account = DefaultSlug
	}
	return auditlog.Origin(account)
}
