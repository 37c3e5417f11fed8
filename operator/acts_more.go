package operator

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// EditInput is what a person wants carried out in place of what was asked.
type EditInput struct {
	ID     int64       `json:"id" validate:"required,min=1" doc:"The intent's number."`
	Digest string      `json:"digest" needed:"true" doc:"The digest of the content that the person was shown; any other one is answered with the content as it is now."`
	Action gate.Action `json:"action" validate:"required" doc:"The action as the person wants it, whole."`
}

// Edit puts a person's own version in an intent's place. The gate judges it
// again; a denied edit changes nothing. At quorum 1 it is at once the editor's
// approval of exactly what they wrote. It changes neither type nor currency.
func (op *Operator) Edit(ctx context.Context, p Person, in EditInput) (Intent, error) {
	return op.act(ctx, func(tx core.Tx) (Intent, error) { return op.edit(ctx, tx, p, in) })
}

func (op *Operator) edit(ctx context.Context, tx core.Tx, p Person, in EditInput) (Intent, error) {
	who, old, err := op.seen(ctx, tx, p, ActInput{ID: in.ID, Digest: in.Digest}, false)
	if err != nil {
		return Intent{}, err
	}
	if err := mayJudge(who, old); err != nil {
		return Intent{}, err
	}
	// An edit does not wash off where the content came from.
	in.Action.TaintedBy = union(in.Action.TaintedBy, stored(old.TaintedBy))
	ws, err := settings(ctx, tx, p.projectID)
	if err != nil {
		return Intent{}, err
	}
	if err := op.holdTwins(ctx, tx, ws, in.Action, old); err != nil {
		return Intent{}, err
	}
	n, err := op.judge(ctx, tx, ws, old.RecordedBy, in.Action)
	if err != nil {
		return Intent{}, err
	}
	if err := sameKindOfAction(old, n); err != nil {
		return Intent{}, err
	}
	n.supersedes = old.ID
	n = op.inherit(n, old, tx.Now())
	id, err := op.insertFromAct(ctx, tx, n)
	if err != nil {
		return Intent{}, err
	}
	if err := op.supersede(ctx, tx, p, old, id); err != nil {
		return Intent{}, err
	}
	return op.edited(ctx, tx, p, ws, id)
}

// inherit gives what a person's act makes of an intent all that the intent had
// been asked: who wants it, how many have to approve and of which roles. Else one
// person could set going, by way of an edit or another chance, what takes several.
func (op *Operator) inherit(n judged, old intentRow, now time.Time) judged {
	n.recordedBy, n.recordedKind = old.RecordedBy, Kind(old.RecordedKind)
	if old.RunID.Valid {
		n.runID = &old.RunID.String
	}
	if old.Quorum > 1 && n.verdict.Effect == gate.Allow {
		n.verdict.Effect, n.expiresAt = gate.RequiresApproval, now.Add(op.pending)
	}
	n.verdict.Approval.Quorum = max(n.verdict.Approval.Quorum, int(old.Quorum))
	n.verdict.Approval.From = narrower(stored(old.Approvers), n.verdict.Approval.From)
	return n
}

// union is a followed by what of b is not in it.
func union(a, b []string) []string {
	for _, s := range b {
		if !isOneOf(s, a) {
			a = append(a[:len(a):len(a)], s)
		}
	}
	return a
}

// narrower keeps an edit from loosening who has to approve, as it keeps the
// quorum: the roles in common, or those of before where there are none. No role
// at all means anybody.
func narrower(before, now []string) []string {
	if len(before) == 0 {
		return now
	}
	var common []string
	for _, role := range before {
		if isOneOf(role, now) {
			common = append(common, role)
		}
	}
	if len(common) == 0 {
		return before
	}
	return common
}

func sameKindOfAction(old intentRow, n judged) error {
	if n.action.Type != old.Type || n.action.Currency != old.Currency {
		return old.refuse(core.ReasonEditChangesKind, "An edit changes neither the type (%s) nor the currency (%s): reject this one and record another.", old.Type, old.Currency)
	}
	if n.verdict.Effect == gate.Deny {
		return n.refusal("The policy denies it as edited, and an edit lifts no denial.").With("intent_id", old.ID)
	}
	if n.digest == old.Digest {
		return core.Refuse(core.ReasonInvalidValue, "The edit changes nothing: approve it instead.")
	}
	return nil
}

func (op *Operator) supersede(ctx context.Context, tx core.Tx, p Person, old intentRow, by int64) error {
	n, err := tx.Exec(ctx, `update reeve_intents set status = 'superseded', superseded_by = $1, decided_by = $2, decided_at = $3,
			settled_by = $2, settled_at = $3, updated_at = $3, expires_at = null
		where id = $4 and status = 'pending_approval' and digest = $5`, by, p.ID(), tx.Micros(), old.ID, old.Digest)
	if err := changedOne(n, err); err != nil {
		return err
	}
	_, err = op.moved(ctx, tx, p, old, "edit", gate.StatusSuperseded, " by "+itoa(by))
	return err
}

// edited countersigns an edit in its editor's name where one person is enough.
func (op *Operator) edited(ctx context.Context, tx core.Tx, p Person, ws workspace, id int64) (Intent, error) {
	out, err := op.recorded(ctx, tx, ws, id, p.auditRow(ctx, "edit"))
	if err != nil {
		return out, err
	}
	if out.Quorum > 1 || out.Status != gate.StatusPendingApproval {
		out, err = wholeIntent(ctx, tx, p.projectID, id)
	} else {
		out, err = op.approve(ctx, tx, p, ActInput{ID: id, Digest: out.Digest})
	}
	out.Created = true
	return out, err
}

// RespondInput is a person's answer to an intent that waits.
type RespondInput struct {
	ID     int64  `json:"id" validate:"required,min=1" doc:"The intent's number."`
	Digest string `json:"digest,omitzero" doc:"The digest of the content that the person was shown, if they name it."`
	Text   string `json:"text" validate:"required,max=8000" doc:"The person's words to the agent."`
}

// Respond sends words back to the agent and leaves the intent waiting.
func (op *Operator) Respond(ctx context.Context, p Person, in RespondInput) (Intent, error) {
	return op.act(ctx, func(tx core.Tx) (Intent, error) {
		if _, err := p.stand(ctx, tx, core.ScopeIntentsDecide); err != nil {
			return Intent{}, err
		}
		if in.Digest == "" {
			row, err := findIntent(ctx, tx, p.projectID, in.ID, "")
			if err != nil {
				return Intent{}, err
			}
			in.Digest = row.Digest
		}
		_, row, err := op.seen(ctx, tx, p, ActInput{ID: in.ID, Digest: in.Digest}, false)
		if err != nil {
			return Intent{}, err
		}
		if err := insertComment(ctx, tx, p, row.ID, in.Text); err != nil {
			return Intent{}, err
		}
		if _, err := op.acted(ctx, tx, p, row, "respond", "a response"); err != nil {
			return Intent{}, err
		}
		return withResponses(ctx, tx, row.whole())
	})
}

// SettleInput is a person's word on an intent of which nobody can say whether it
// was carried out.
type SettleInput struct {
	ID     int64  `json:"id" validate:"required,min=1" doc:"The intent's number."`
	Status string `json:"status" validate:"required,oneof=succeeded failed" doc:"What really happened: succeeded or failed."`
	Note   string `json:"note,omitzero" validate:"max=2000" doc:"How the person knows."`
}

// Settle closes an unknown intent by what a person found out.
func (op *Operator) Settle(ctx context.Context, p Person, in SettleInput) (Intent, error) {
	return op.act(ctx, func(tx core.Tx) (Intent, error) {
		if _, err := p.stand(ctx, tx, core.ScopeIntentsDecide); err != nil {
			return Intent{}, err
		}
		if err := checkWords("note", in.Note, 2000); err != nil {
			return Intent{}, err
		}
		to := gate.Status(in.Status)
		if !gate.CanMove(gate.StatusUnknown, to, gate.ByPerson) {
			return Intent{}, core.Refuse(core.ReasonInvalidStatus, "An unknown intent is settled as succeeded or failed.")
		}
		row, err := findIntent(ctx, tx, p.projectID, in.ID, tx.Dialect().ForUpdate)
		if err != nil {
			return Intent{}, err
		}
		if row.Status.Terminal() {
			return Intent{}, settledRefusal(row)
		}
		n, err := tx.Exec(ctx, `update reeve_intents set status = $1, settled_by = $2, settled_at = $3, updated_at = $3,
				outcome = coalesce(nullif($4, ''), outcome) where id = $5 and status = 'unknown'`,
			in.Status, p.ID(), tx.Micros(), in.Note, row.ID)
		if err != nil {
			return Intent{}, err
		}
		if n == 0 {
			return Intent{}, row.refuse(core.ReasonTransition, "Intent %d is %s; only an unknown one is settled.", row.ID, row.Status).With("status", row.Status)
		}
		if err := budgetsFollow(ctx, tx, row, to); err != nil {
			return Intent{}, err
		}
		return op.moved(ctx, tx, p, row, "settle", to, "")
	})
}

// CommentInput is something that a person says.
type CommentInput struct {
	Text string `json:"text" validate:"required,max=8000" doc:"The person's words."`
}

// CommentInfo is a comment as it is answered.
type CommentInfo struct {
	CommentID int64  `json:"comment_id" doc:"The comment's number."`
	Author    string `json:"author" doc:"Who said it."`
	Text      string `json:"text" doc:"The words."`
}

// Comment records a person's words, stamped with who they are and how they came.
func (op *Operator) Comment(ctx context.Context, p Person, in CommentInput) (CommentInfo, error) {
	return perform(ctx, op, func(tx core.Tx) (CommentInfo, error) {
		out := CommentInfo{Author: p.ID(), Text: in.Text}
		if _, err := p.stand(ctx, tx, core.ScopeCommentsWrite); err != nil {
			return out, err
		}
		var err error
		if out.CommentID, err = addComment(ctx, tx, p, sql.NullInt64{}, in.Text); err != nil {
			return out, err
		}
		audit := p.auditRow(ctx, "comment")
		audit.Outcome = "comment " + itoa(out.CommentID)
		return out, tx.Audit(ctx, audit)
	})
}

func insertComment(ctx context.Context, tx core.Tx, p Person, intent int64, text string) error {
	_, err := addComment(ctx, tx, p, sql.NullInt64{Int64: intent, Valid: true}, text)
	return err
}

func addComment(ctx context.Context, tx core.Tx, p Person, intent sql.NullInt64, text string) (id int64, err error) {
	if text == "" {
		return 0, core.Refuse(core.ReasonMissingField, "Say something: text is empty.").With("field", "text")
	}
	if err := checkWords("text", text, 8000); err != nil {
		return 0, err
	}
	err = tx.Get(ctx, &id, `insert into reeve_comments (project_id, intent_id, author, kind, person_id, via, body, created_at)
		values ($1, $2, $3, 'human', $4, $5, $6, $7) returning id`, p.projectID, intent, p.ID(), p.personID, string(p.via), text, tx.Micros())
	return id, err
}

// withResponses adds what people answered, oldest first.
func withResponses(ctx context.Context, tx core.Tx, in Intent) (Intent, error) {
	var rows []struct {
		Author    string `db:"author"`
		Body      string `db:"body"`
		CreatedAt int64  `db:"created_at"`
	}
	err := tx.Select(ctx, &rows, `select author, body, created_at from reeve_comments
		where intent_id = $1 and deleted_at is null order by id`, in.ID)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return in, err
	}
	in.Responses = make([]Response, 0, len(rows))
	for _, r := range rows {
		in.Responses = append(in.Responses, Response{By: r.Author, At: core.FromMicros(r.CreatedAt), Text: r.Body})
	}
	return in, nil
}
