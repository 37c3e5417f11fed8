package core

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/reeve-go/reeve/operator/internal/auditlog"
)

// AuditRow is one line of the record: who did or tried what, and what came of it.
type AuditRow struct {
	AccountID, ProjectID int64 // 0: nobody was proved
	Principal            string
	Kind                 Kind
	Via                  Via
	Action               string // the tool, the act, or the store's own transition
	ArgsDigest           string // SHA-256 of the canonical arguments, 64 hex digits
	Verdict              string // "done", or a refusal's verdict
	Reason               Reason
	Layer                Layer
	IntentID             int64
	Digest               string // of the intent, where one is concerned
	PolicyVersion        string
	Outcome              string // what changed, such as "pending_approval -> approved"
	StatusFrom, StatusTo string // the intent's move, for a verifier: "" and "" when it did not move
	PolicyDecision       string // the gate's verdict, on the row that records an intent
	RequestID            string
}

// Moved is the row with an intent's move in it: for a verifier as two words, and
// for a person in the outcome, followed by more.
func (a AuditRow) Moved(from, to, more string) AuditRow {
	a.StatusFrom, a.StatusTo, a.Outcome = from, to, strings.TrimPrefix(from+" -> "+to+more, " ")
	return a
}

// entry is the row as the sealed log has it.
func (a AuditRow) entry(at int64) auditlog.Entry {
	return auditlog.Entry{Account: a.AccountID, Project: a.ProjectID, At: at, Principal: a.Principal, Kind: string(a.Kind), Via: string(a.Via),
		Action: a.Action, ArgsDigest: a.ArgsDigest, Verdict: a.Verdict, Reason: string(a.Reason), Layer: string(a.Layer), Intent: a.IntentID,
		Digest: a.Digest, PolicyVersion: a.PolicyVersion, Outcome: a.Outcome, RequestID: a.RequestID, StatusFrom: a.StatusFrom,
		StatusTo: a.StatusTo, PolicyDecision: a.PolicyDecision}
}

// VerdictDone marks the row of something that was carried out.
const VerdictDone = "done"

// Audit writes a row in the transaction of what it records, so that neither can
// stand without the other.
func (tx Tx) Audit(ctx context.Context, a AuditRow) error {
	_, err := tx.AuditID(ctx, a)
	return err
}

// AuditID is Audit, and gives the row's number.
//
// The row carries the hash of its own content and of no other row, so writers
// never wait for each other; a sealer puts the rows in order later.
func (tx Tx) AuditID(ctx context.Context, a AuditRow) (id int64, err error) {
	e := a.entry(tx.Micros())
	leaf, err := e.Leaf()
	if err != nil {
		return 0, err
	}
	err = tx.Get(ctx, &id, `insert into reeve_audit
		(account_id, project_id, at, principal, kind, via, action, args_digest, verdict, reason, layer,
		 intent_id, digest, policy_version, outcome, request_id, status_from, status_to, policy_decision, leaf)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20) returning id`,
		known(e.Account), known(e.Project), e.At, e.Principal, e.Kind, e.Via, e.Action, e.ArgsDigest, e.Verdict, e.Reason, e.Layer,
		known(e.Intent), e.Digest, e.PolicyVersion, e.Outcome, e.RequestID, e.StatusFrom, e.StatusTo, e.PolicyDecision, auditlog.HexHash(leaf))
	if err == nil && tx.audited != nil {
		*tx.audited = Audited{Account: a.AccountID, ID: id}
	}
	if err == nil {
		tx.tellMoved(a.StatusFrom, a.StatusTo)
	}
	return id, err
}

// Audited names a row of the record: whose log it goes to, and its number.
type Audited struct {
	Account int64 // 0: nobody's
	ID      int64 // 0: no row
}

// LastAudit is the last row that the transaction wrote to the record. In one that
// belongs to somebody else it is not known.
func (tx Tx) LastAudit() Audited {
	if tx.audited == nil {
		return Audited{}
	}
	return *tx.audited
}

// known stores a number that may be missing. It is told here and not by nullif in
// SQL, where PostgreSQL would take the parameter for one of 32 bits.
func known(id int64) sql.NullInt64 { return sql.NullInt64{Int64: id, Valid: id != 0} }

// OutboxRow is a notice that has to reach somebody, made with what it tells of.
type OutboxRow struct {
	AccountID, ProjectID int64
	Topic                string // "intent.pending", …
	Key                  string // unique: the same notice is never queued twice
	Payload              any    // marshalled as JSON
}

// Outbox queues a notice in the transaction of what it tells of. The same key
// again changes nothing.
func (tx Tx) Outbox(ctx context.Context, o OutboxRow) error {
	payload, err := json.Marshal(o.Payload)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `insert into reeve_outbox (account_id, project_id, topic, message_key, payload, created_at, next_at)
		values ($1, $2, $3, $4, $5, $6, $6) on conflict (message_key) do nothing`,
		o.AccountID, o.ProjectID, o.Topic, o.Key, string(payload), tx.Micros())
	return err
}

// IsUUID says that a text is a UUID in its canonical form: 36 characters, lower case.
func IsUUID(s string) bool {
	u, err := uuid.Parse(s)
	return err == nil && u.String() == s
}

// NewUUID makes a random UUID (version 4) in its canonical text.
func NewUUID() string { return uuid.NewString() }

// RandomText makes n characters of the URL-safe base64 alphabet, six random
// bits each.
func RandomText(n int) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	raw := make([]byte, n)
	rand.Read(raw) // never fails: crypto/rand ends the process rather than return weak bytes
	for i, b := range raw {
		raw[i] = alphabet[b&63]
	}
	return string(raw)
}

// SHA256Hex is the lower-case hex SHA-256 of b.
func SHA256Hex(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
