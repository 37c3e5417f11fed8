package core

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
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
	RequestID            string
}

// VerdictDone marks the row of something that was carried out.
const VerdictDone = "done"

// Audit writes a row in the transaction of what it records, so that neither can
// stand without the other.
func (tx Tx) Audit(ctx context.Context, a AuditRow) error {
	_, err := tx.Exec(ctx, `insert into reeve_audit
		(account_id, project_id, at, principal, kind, via, action, args_digest, verdict, reason, layer,
		 intent_id, digest, policy_version, outcome, request_id)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
		known(a.AccountID), known(a.ProjectID), tx.Micros(), a.Principal, string(a.Kind), string(a.Via), a.Action,
		a.ArgsDigest, a.Verdict, string(a.Reason), string(a.Layer), known(a.IntentID), a.Digest, a.PolicyVersion,
		a.Outcome, a.RequestID)
	return err
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
