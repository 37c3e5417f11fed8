package operator

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// RecordIntentInput is what an agent asks to have done.
type RecordIntentInput struct {
	Action gate.Action `json:"action" validate:"required" doc:"The action, whole: exactly what is to be carried out."`
	RunID  *string     `json:"run_id,omitempty" validate:"omitempty,max=64" doc:"The run that this belongs to, if there is one: its id, a UUID."`
}

// RecordIntent records an action that somebody wants carried out, and the gate's
// verdict on it. Nothing is carried out by it: an allowed intent waits for a
// worker, a pending one for a person.
//
// Recording the same action again on the same local day answers the row that is
// there, whatever became of it, with Created false. ErrIdempotencyMismatch says
// that the key matches a row whose payload differs.
func (op *Operator) RecordIntent(ctx context.Context, p Principal, in RecordIntentInput) (Intent, error) {
	var out Intent
	err := op.inTx(ctx, func(tx core.Tx) error {
		var err error
		out, err = op.recordIntent(ctx, tx, p, in)
		return err
	})
	return out, err
}

// RecordIntentTx is RecordIntent within a transaction that the caller owns, on
// the same database: the intent stands if and only if the caller commits. On
// PostgreSQL that transaction must be READ COMMITTED (ErrIsolation).
func (op *Operator) RecordIntentTx(ctx context.Context, tx Querier, p Principal, in RecordIntentInput) (Intent, error) {
	return foreign(ctx, op, tx, func(tx core.Tx) (Intent, error) { return op.recordIntent(ctx, tx, p, in) })
}

func (op *Operator) recordIntent(ctx context.Context, tx core.Tx, p Principal, in RecordIntentInput) (Intent, error) {
	if !p.Known() {
		return Intent{}, core.Refuse(core.ReasonUnauthenticated, "Nobody was proved to be calling.")
	}
	ws, err := settingsOf(ctx, tx, p)
	if err != nil {
		return Intent{}, err
	}
	n, err := op.judge(ctx, tx, ws, p.ID(), in.Action)
	if err != nil {
		return Intent{}, err
	}
	if in.RunID != nil && !core.IsUUID(*in.RunID) {
		return Intent{}, core.Refuse(core.ReasonInvalidValue, "run_id is a run's id: a UUID in lower case. Leave it out where there is no run.").With("field", "run_id")
	}
	n.recordedBy, n.recordedKind, n.runID, n.original = p.ID(), p.Kind(), in.RunID, true
	id, err := n.insert(ctx, tx)
	if errors.Is(err, sql.ErrNoRows) {
		return op.sameAgain(ctx, tx, n)
	}
	if err != nil {
		return Intent{}, err
	}
	return op.recorded(ctx, tx, ws, id, principalAudit(ctx, p, "record_intent"))
}

// judged is a well-formed action with the gate's verdict, ready to be stored.
type judged struct {
	judgement
	ws           workspace
	action       gate.Action
	key, digest  string
	day          string
	expiresAt    time.Time
	recordedBy   string
	recordedKind Kind
	runID        *string
	original     bool
	supersedes   int64 // the intent that this edit takes the place of
	reissues     int64 // the intent that this one is another chance of
}

// judge checks an action's form and asks the gate. An action that is not
// well-formed is refused as input and leaves no row.
func (op *Operator) judge(ctx context.Context, tx core.Tx, ws workspace, principal string, a gate.Action) (judged, error) {
	n, err := identify(tx, ws, a)
	if err != nil {
		return judged{}, err
	}
	a = n.action
	j, err := op.evaluate(ctx, tx, ws, principal, a, 0)
	if err != nil {
		return judged{}, err
	}
	v, now := j.verdict, tx.Now()
	if err := lacksAmount(a, v); err != nil {
		return judged{}, err
	}
	window := op.pending
	if v.Approval.Expires > 0 && v.Approval.Expires != gate.DefaultExpiry {
		window = v.Approval.Expires
	}
	if v.Effect == gate.Allow {
		window = op.granted
	}
	n.judgement, n.expiresAt = j, now.Add(window)
	return n, nil
}

// lacksAmount refuses as input what the gate denies for want of an amount.
func lacksAmount(a gate.Action, v gate.Verdict) error {
	if a.AmountCents == nil && v.Effect == gate.Deny && v.Matched(amountRule) {
		return core.Refuse(core.ReasonAmountMissing, "A %s states its amount: give amount_cents in whole minor units.", a.Type).With("field", "action.amount_cents")
	}
	return nil
}

// identify checks an action's form, and says which one it is: its key, its digest
// and its day.
func identify(tx core.Tx, ws workspace, a gate.Action) (judged, error) {
	a, err := wellFormedAction(a, ws.Currency)
	if err != nil {
		return judged{}, err
	}
	digest, err := gate.Digest(ws.Account, ws.Project, a)
	if err != nil {
		return judged{}, actionRefusal(err)
	}
	zone, err := core.LoadZone(ws.Zone)
	return judged{ws: ws, action: a, key: gate.Key(a), digest: digest, day: core.Day(tx.Now(), zone)}, err
}

// amountRule is the default policy's rule on a spend without an amount. Here that
// is a fault of form, which the caller can correct, and leaves no row.
const amountRule = "amount"

// wellFormedAction fills in what the action leaves to the account, and holds it
// to the form that every stored action has.
func wellFormedAction(a gate.Action, currency string) (gate.Action, error) {
	if err := a.Check(); err != nil {
		return a, actionRefusal(err)
	}
	a, err := a.Restated(currency)
	if err != nil {
		return a, actionRefusal(err)
	}
	a.Amount = "" // said once more in AmountCents and Currency, which are what is stored
	return a, nil
}

// insert returns sql.ErrNoRows where the key is taken for the day. A conflict is
// told by the absence of a row and never by a failed statement, which would
// spoil a transaction that belongs to somebody else.
func (n judged) insert(ctx context.Context, tx core.Tx) (id int64, err error) {
	status := n.verdict.Effect.First()
	var settledBy sql.NullString
	var settledAt, expiresAt, cents sql.NullInt64
	orNull := func(id int64) sql.NullInt64 { return sql.NullInt64{Int64: id, Valid: id != 0} }
	if status == gate.StatusDenied {
		settledBy, settledAt = sql.NullString{String: "policy", Valid: true}, sql.NullInt64{Int64: tx.Micros(), Valid: true}
	} else {
		expiresAt = sql.NullInt64{Int64: core.Micros(n.expiresAt), Valid: true}
	}
	if n.action.AmountCents != nil {
		cents = sql.NullInt64{Int64: int64(*n.action.AmountCents), Valid: true}
	}
	rules := make([]string, 0, len(n.verdict.Reasons))
	for _, r := range n.verdict.Reasons {
		rules = append(rules, r.Rule)
	}
	quorum := max(1, n.verdict.Approval.Quorum)
	err = tx.Get(ctx, &id, `insert into reeve_intents (project_id, day, idempotency_key, digest, original, type, title, recipient,
		amount_cents, currency, body, labels, tainted_by, data, status, policy_decision, policy_reasons, policy_rules, policy_version,
		quorum, approvers, recorded_by, recorded_kind, run_id, expires_at, supersedes, reissues, settled_by, settled_at, created_at, updated_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25,
		$26, $27, $28, $29, $30, $30)
		on conflict (project_id, day, idempotency_key) where original = 1 do nothing returning id`,
		n.ws.ProjectID, n.day, n.key, n.digest, bit(n.original), n.action.Type, n.action.Title, n.action.Recipient,
		cents, n.action.Currency, n.action.Body, listJSON(n.action.Labels), listJSON(n.action.TaintedBy), string(n.action.Data),
		string(status), n.verdict.Effect.String(), listJSON(n.texts()), listJSON(rules), n.verdict.PolicyVersion,
		quorum, listJSON(n.verdict.Approval.From), n.recordedBy, string(n.recordedKind), n.runID, expiresAt, orNull(n.supersedes), orNull(n.reissues),
		settledBy, settledAt, tx.Micros())
	if err == nil && n.verdict.Effect == gate.Allow {
		err = n.reserve(ctx, tx, id, n.action)
	}
	return id, err
}

// recorded writes the record of a new row, queues its notice, and reads it back.
func (op *Operator) recorded(ctx context.Context, tx core.Tx, ws workspace, id int64, audit core.AuditRow) (Intent, error) {
	row, err := findIntent(ctx, tx, ws.ProjectID, id, "")
	if err != nil {
		return Intent{}, err
	}
	audit.IntentID, audit.Digest, audit.PolicyVersion, audit.PolicyDecision = id, row.Digest, row.PolicyVersion, row.PolicyDecision
	if err := tx.Audit(ctx, audit.Moved("", string(row.Status), "")); err != nil {
		return Intent{}, err
	}
	out := row.intent()
	out.Created = true
	if row.Status == gate.StatusPendingApproval {
		if err := tx.Outbox(ctx, pendingNotice(ws, row)); err != nil {
			return Intent{}, err
		}
	}
	tx.AfterCommit(op.changes.raise)
	return out, nil
}

// checkText holds a text that is not part of an action to the same hygiene.
func checkText(field, text string, limit int) error {
	if len(text) > limit {
		return core.Refuse(core.ReasonInvalidValue, "%s is at most %d bytes.", field, limit).With("field", field)
	}
	if err := gate.CheckText(text, gate.Block); err != nil {
		return core.Refuse(core.ReasonBadText, "%s holds hidden or control characters.", field).With("field", field).Because(err)
	}
	return nil
}

// checkWords is checkText for words that others will be shown. They must hold no
// credential: a person who pastes one is told so before anybody reads it.
func checkWords(field, text string, limit int) error {
	if err := checkText(field, text, limit); err != nil {
		return err
	}
	if len(gate.FindSecrets(text)) > 0 {
		return core.Refuse(core.ReasonBadText, "%s holds a credential: take it out, and replace that credential.", field).With("field", field)
	}
	return nil
}

// actionReasons says which refusal each fault of an action's form is.
var actionReasons = map[gate.Code]core.Reason{
	gate.CodeMissing:               core.ReasonMissingField,
	gate.CodeWrongType:             core.ReasonWrongType,
	gate.CodeInvalidType:           core.ReasonInvalidValue,
	gate.CodeAmountOutOfRange:      core.ReasonAmountOutOfRange,
	gate.CodeAmountNotPositive:     core.ReasonAmountNotPositive,
	gate.CodeAmountMismatch:        core.ReasonAmountMismatch,
	gate.CodeAmountMalformed:       core.ReasonAmountMismatch,
	gate.CodeAmountMissingCurrency: core.ReasonAmountMismatch,
	gate.CodeUnknownCurrency:       core.ReasonUnknownCurrency,
	gate.CodeTextUnhygienic:        core.ReasonBadText,
	gate.CodeTextTooLong:           core.ReasonInvalidValue,
	gate.CodeTooMany:               core.ReasonInvalidValue,
	gate.CodeTooDeep:               core.ReasonTooDeep,
	gate.CodeNumberInexact:         core.ReasonInexactNumber,
	gate.CodeDuplicateKey:          core.ReasonRepeatedKey,
	gate.CodeMalformed:             core.ReasonNotJSON,
}

// Fault is one thing that is wrong with the arguments, as a refusal lists it.
type Fault struct {
	Field   string `json:"field"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// actionRefusal turns every fault of an action into one refusal, named after the first.
func actionRefusal(err error) error {
	var all gate.FieldErrors
	if !errors.As(err, &all) {
		var one *gate.FieldError
		if !errors.As(err, &one) {
			return core.Refuse(core.ReasonInvalidValue, "The action is not well-formed.").Because(err)
		}
		all = gate.FieldErrors{one}
	}
	faults := make([]Fault, 0, len(all))
	for _, e := range all {
		faults = append(faults, Fault{"action." + e.Field, string(e.Code), e.Message})
	}
	reason, ok := actionReasons[all[0].Code]
	if !ok {
		reason = core.ReasonInvalidValue
	}
	return core.Refuse(reason, "%s: %s.", faults[0].Field, faults[0].Message).With("faults", faults).Because(err)
}

type noticePayload struct {
	IntentID    int64     `json:"intent_id"`
	ActionType  string    `json:"action_type"`
	Title       string    `json:"title"`
	Recipient   string    `json:"recipient,omitempty"`
	AmountCents *int64    `json:"amount_cents,omitempty"`
	Currency    string    `json:"currency,omitempty"`
	Digest      string    `json:"digest"`
	ExpiresAt   time.Time `json:"expires_at"`
}

func pendingNotice(ws workspace, r intentRow) core.OutboxRow {
	return core.OutboxRow{AccountID: ws.AccountID, ProjectID: ws.ProjectID, Topic: TopicPending, Key: pendingKey(r.ID),
		Payload: noticePayload{r.ID, r.Type, gate.Redact(r.Title), gate.Redact(r.Recipient), optionalInt(r.AmountCents), r.Currency, r.Digest, core.FromMicros(r.ExpiresAt.Int64)}}
}
