package operator

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// Affordance is something that a person can do with an intent that waits.
type Affordance string

// What a person can do while an intent is pending. Afterwards there is nothing.
const (
	AffordAccept  Affordance = "accept"
	AffordEdit    Affordance = "edit"
	AffordRespond Affordance = "respond"
	AffordIgnore  Affordance = "ignore"
)

// Intent is an action that somebody wants carried out, with what the gate said
// and what became of it. This is what is answered and shown; how it is stored is
// another struct, which may change without this one.
type Intent struct {
	ID                 int64        `json:"id" doc:"The intent's number."`
	ActionType         string       `json:"action_type" doc:"What sort of action it is."`
	Title              string       `json:"title" doc:"The action in a line."`
	Recipient          *string      `json:"recipient" doc:"Whom it concerns; null when nobody was named."`
	AmountCents        *int64       `json:"amount_cents" doc:"The amount in minor units of the currency; null when there is none."`
	Currency           *string      `json:"currency" doc:"ISO 4217 code; null when there is no amount."`
	Status             Status       `json:"status" doc:"Where it stands."`
	PolicyDecision     string       `json:"policy_decision" doc:"The gate's verdict: allow, requires_approval or deny."`
	PolicyReasons      []string     `json:"policy_reasons" doc:"The reason of every rule that matched."`
	PolicyRules        []string     `json:"policy_rules" doc:"The ids of those rules, in the same order."`
	PolicyVersion      string       `json:"policy_version" doc:"The policy that judged it."`
	ApprovalDecisionID *int64       `json:"approval_decision_id" doc:"The decision that a person's act made; null until then."`
	IdempotencyKey     string       `json:"idempotency_key" doc:"32 hex digits: the same action on the same day has the same key."`
	Digest             string       `json:"digest" doc:"SHA-256 of everything that will be carried out: what an approval names."`
	Affordances        []Affordance `json:"affordances" doc:"What a person can do with it now."`
	Created            bool         `json:"created" doc:"True when this call made the row."`
	ExpiresAt          *time.Time   `json:"expires_at" doc:"When it lapses by itself; null once it cannot."`
	CreatedAt          time.Time    `json:"created_at" doc:"When it was recorded."`
	RecordedBy         string       `json:"recorded_by" doc:"The principal that recorded it."`
	RunID              *string      `json:"run_id" doc:"The run it belongs to, if any."`
	Quorum             int64        `json:"quorum" doc:"How many different people have to approve."`
	DecidedBy          *string      `json:"decided_by" doc:"The person whose act decided it."`
	DecidedAt          *time.Time   `json:"decided_at" doc:"When that was."`
	SettledBy          *string      `json:"settled_by" doc:"Who brought it to its end."`
	SettledAt          *time.Time   `json:"settled_at" doc:"When that was."`
	Supersedes         *int64       `json:"supersedes" doc:"The intent that this one, a person's edit, took the place of."`
	SupersededBy       *int64       `json:"superseded_by" doc:"The edit that took the place of this one."`
	Reissues           *int64       `json:"reissues" doc:"The intent that a person gave another chance by this one."`
	ReissuedAs         *int64       `json:"reissued_as" doc:"The other chance that a person gave this one."`
	Outcome            *string      `json:"outcome" doc:"What the worker or a person said came of it."`
	Payload            *gate.Action `json:"payload,omitempty" doc:"The exact action, word for word; only where one intent was asked for."`
	Responses          []Response   `json:"responses,omitempty" doc:"What people answered; only where one intent was asked for."`
}

// Response is a person's words about an intent.
type Response struct {
	By   string    `json:"by" doc:"The person."`
	At   time.Time `json:"at" doc:"When they said it."`
	Text string    `json:"text" doc:"Their words."`
}

// intentRow is an intent as it is stored.
type intentRow struct {
	ID             int64          `db:"id"`
	ProjectID      int64          `db:"project_id"`
	Day            string         `db:"day"`
	Key            string         `db:"idempotency_key"`
	Digest         string         `db:"digest"`
	Original       int64          `db:"original"`
	Type           string         `db:"type"`
	Title          string         `db:"title"`
	Recipient      string         `db:"recipient"`
	AmountCents    sql.NullInt64  `db:"amount_cents"`
	Currency       string         `db:"currency"`
	Body           string         `db:"body"`
	Labels         string         `db:"labels"`
	TaintedBy      string         `db:"tainted_by"`
	Data           string         `db:"data"`
	Status         Status         `db:"status"`
	PolicyDecision string         `db:"policy_decision"`
	PolicyReasons  string         `db:"policy_reasons"`
	PolicyRules    string         `db:"policy_rules"`
	PolicyVersion  string         `db:"policy_version"`
	Quorum         int64          `db:"quorum"`
	Approvers      string         `db:"approvers"`
	RecordedBy     string         `db:"recorded_by"`
	RecordedKind   string         `db:"recorded_kind"`
	RunID          sql.NullString `db:"run_id"`
	DecisionID     sql.NullInt64  `db:"decision_id"`
	DecidedBy      sql.NullString `db:"decided_by"`
	DecidedAt      sql.NullInt64  `db:"decided_at"`
	ExpiresAt      sql.NullInt64  `db:"expires_at"`
	ClaimedFrom    sql.NullString `db:"claimed_from"`
	LeaseHolder    sql.NullString `db:"lease_holder"`
	LeaseUntil     sql.NullInt64  `db:"lease_until"`
	LeaseRetries   sql.NullInt64  `db:"lease_retries"`
	FencingToken   int64          `db:"fencing_token"`
	Outcome        sql.NullString `db:"outcome"`
	Supersedes     sql.NullInt64  `db:"supersedes"`
	SupersededBy   sql.NullInt64  `db:"superseded_by"`
	Reissues       sql.NullInt64  `db:"reissues"`
	ReissuedAs     sql.NullInt64  `db:"reissued_as"`
	SettledBy      sql.NullString `db:"settled_by"`
	SettledAt      sql.NullInt64  `db:"settled_at"`
	CreatedAt      int64          `db:"created_at"`
	UpdatedAt      int64          `db:"updated_at"`
}

const intentColumns = `id, project_id, day, idempotency_key, digest, original, type, title, recipient, amount_cents, currency,
	body, labels, tainted_by, data, status, policy_decision, policy_reasons, policy_rules, policy_version, quorum, approvers,
	recorded_by, recorded_kind, run_id, decision_id, decided_by, decided_at, expires_at, claimed_from, lease_holder, lease_until,
	lease_retries, fencing_token, outcome, supersedes, superseded_by, reissues, reissued_as, settled_by, settled_at, created_at, updated_at`

// action is the stored action, word for word as it was recorded.
func (r intentRow) action() gate.Action {
	a := gate.Action{Type: r.Type, Title: r.Title, Recipient: r.Recipient, Currency: r.Currency, Body: r.Body,
		Labels: given(r.Labels), TaintedBy: given(r.TaintedBy)}
	if r.AmountCents.Valid {
		cents := gate.Cents(r.AmountCents.Int64)
		a.AmountCents = &cents
	}
	if r.Data != "" {
		a.Data = jsontext.Value(r.Data)
	}
	return a
}

// listedOutcome is how much of an outcome a list shows; the whole stands where
// one intent is asked for.
const listedOutcome = 200

// listed is the row as it is shown among others.
func (r intentRow) listed() Intent {
	out := r.intent()
	if out.Outcome != nil {
		said := cut(*out.Outcome)
		out.Outcome = &said
	}
	return out
}

// intent is the row as it is answered to whoever sent the payload. A credential
// in its words is left out here; the exact words stand in the payload, which is
// shown only where one intent is asked for, to whoever judges or carries it out.
func (r intentRow) intent() Intent {
	out := Intent{
		ID: r.ID, ActionType: r.Type, Title: gate.Redact(r.Title), Recipient: optional(gate.Redact(r.Recipient)), Currency: optional(r.Currency),
		Status: r.Status, PolicyDecision: r.PolicyDecision, PolicyReasons: stored(r.PolicyReasons), PolicyRules: stored(r.PolicyRules),
		PolicyVersion: r.PolicyVersion, ApprovalDecisionID: optionalInt(r.DecisionID), IdempotencyKey: r.Key, Digest: r.Digest,
		Affordances: affordances(r.Status), ExpiresAt: r.lapses(), CreatedAt: core.FromMicros(r.CreatedAt),
		RecordedBy: r.RecordedBy, RunID: optional(r.RunID.String), Quorum: r.Quorum, DecidedBy: optional(r.DecidedBy.String),
		DecidedAt: optionalTime(r.DecidedAt), SettledBy: optional(r.SettledBy.String), SettledAt: optionalTime(r.SettledAt),
		Supersedes: optionalInt(r.Supersedes), SupersededBy: optionalInt(r.SupersededBy),
		Reissues: optionalInt(r.Reissues), ReissuedAs: optionalInt(r.ReissuedAs), Outcome: optional(gate.Redact(r.Outcome.String)),
		AmountCents: optionalInt(r.AmountCents),
	}
	return out
}

// lapses is when the intent ends by itself. One that is held, or of which nobody
// knows what became, cannot, although its window is kept for when it goes back.
func (r intentRow) lapses() *time.Time {
	switch r.Status {
	case gate.StatusPendingApproval, gate.StatusApproved, gate.StatusAllowed:
		return optionalTime(r.ExpiresAt)
	}
	return nil
}

// whole is the row with its exact payload.
func (r intentRow) whole() Intent {
	out := r.intent()
	a := r.action()
	out.Payload = &a
	return out
}

// refuse is a refusal that is about this intent: its number stands in the details,
// and so in the record of what was refused.
func (r intentRow) refuse(reason Reason, format string, args ...any) *Refusal {
	return core.Refuse(reason, format, args...).With("intent_id", r.ID)
}

// next is the row that a person's act put in this one's place, or 0.
func (r intentRow) next() int64 {
	if r.SupersededBy.Valid {
		return r.SupersededBy.Int64
	}
	return r.ReissuedAs.Int64
}

func affordances(s Status) []Affordance {
	if s == gate.StatusPendingApproval {
		return []Affordance{AffordAccept, AffordEdit, AffordRespond, AffordIgnore}
	}
	return []Affordance{}
}

// findIntent reads one intent of a project. One of another project is as absent
// as one that never was. lock is empty, or the dialect's row lock.
func findIntent(ctx context.Context, tx core.Tx, project, id int64, lock string) (intentRow, error) {
	var row intentRow
	err := tx.Get(ctx, &row, `select `+intentColumns+` from reeve_intents where id = $1 and project_id = $2 `+lock, id, project)
	if errors.Is(err, sql.ErrNoRows) {
		return row, noSuchIntent()
	}
	return row, err
}

func noSuchIntent() error {
	return core.Refuse(core.ReasonNotFound, "No intent of that id is visible to this credential.")
}

// stored reads a list that listJSON wrote.
func stored(list string) []string {
	out := []string{}
	if list != "" {
		// What we wrote ourselves is well-formed; were it not, an empty list shows less, never more.
		_ = json.Unmarshal([]byte(list), &out)
	}
	return out
}

// given is a stored list as an action states it: an empty one is absent.
func given(list string) []string {
	if out := stored(list); len(out) > 0 {
		return out
	}
	return nil
}

func listJSON[T any](list []T) string {
	if len(list) == 0 {
		return "[]"
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic("operator: a list of plain words did not marshal: " + err.Error())
	}
	return string(text)
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func optionalInt(n sql.NullInt64) *int64 {
	if !n.Valid {
		return nil
	}
	return &n.Int64
}
