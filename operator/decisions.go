package operator

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// Decision is a row of the board: something that was, or has to be, decided.
type Decision struct {
	ID        int64     `json:"id" doc:"The decision's number."`
	Title     string    `json:"title" doc:"What it is about."`
	Status    string    `json:"status" doc:"pending, approved, rejected or parked."`
	IntentID  *int64    `json:"intent_id" doc:"The intent that a person judged, if it is the record of that."`
	MadeBy    string    `json:"made_by" doc:"Who made it."`
	UpdatedBy string    `json:"updated_by" doc:"Who last moved it, and whose the note is."`
	Via       Via       `json:"via" doc:"The way in that it came by."`
	Note      string    `json:"note" doc:"Why, in their words."`
	CreatedAt time.Time `json:"created_at" doc:"When it was made."`
	UpdatedAt time.Time `json:"updated_at" doc:"When it last changed."`
}

type decisionRow struct {
	ID        int64         `db:"id"`
	Title     string        `db:"title"`
	Status    string        `db:"status"`
	IntentID  sql.NullInt64 `db:"intent_id"`
	MadeBy    string        `db:"made_by"`
	UpdatedBy string        `db:"updated_by"`
	Via       Via           `db:"via"`
	Note      string        `db:"note"`
	CreatedAt int64         `db:"created_at"`
	UpdatedAt int64         `db:"updated_at"`
}

const decisionColumns = `id, title, status, intent_id, made_by, updated_by, via, note, created_at, updated_at`

func (r decisionRow) decision() Decision {
	return Decision{ID: r.ID, Title: gate.Redact(r.Title), Status: r.Status, IntentID: optionalInt(r.IntentID), MadeBy: r.MadeBy, UpdatedBy: r.UpdatedBy, Via: r.Via,
		Note: r.Note, CreatedAt: core.FromMicros(r.CreatedAt), UpdatedAt: core.FromMicros(r.UpdatedAt)}
}

func findDecision(ctx context.Context, tx core.Tx, project, id int64, lock string) (decisionRow, error) {
	var row decisionRow
	err := tx.Get(ctx, &row, `select `+decisionColumns+` from reeve_decisions where id = $1 and project_id = $2 `+lock, id, project)
	if errors.Is(err, sql.ErrNoRows) {
		return row, core.Refuse(core.ReasonNotFound, "No decision of that id is visible to this credential.")
	}
	return row, err
}

// OpenDecision puts a question on the board that waits for a choice.
func (op *Operator) OpenDecision(ctx context.Context, p Principal, title string) (Decision, error) {
	if !p.Known() {
		return Decision{}, core.Refuse(core.ReasonUnauthenticated, "Nobody was proved to be calling.")
	}
	if title == "" {
		return Decision{}, core.Refuse(core.ReasonMissingField, "A decision has a title.")
	}
	if err := checkWords("title", title, 300); err != nil {
		return Decision{}, err
	}
	var row decisionRow
	err := op.inTx(ctx, func(tx core.Tx) error {
		if err := present(ctx, tx, p); err != nil {
			return err
		}
		err := tx.Get(ctx, &row, `insert into reeve_decisions (project_id, title, status, made_by, updated_by, via, digest, policy_version, note, created_at, updated_at)
			values ($1, $2, 'pending', $3, $3, $4, '', '', '', $5, $5) returning `+decisionColumns,
			p.ProjectID(), title, p.ID(), string(p.Via()), tx.Micros())
		if err != nil {
			return err
		}
		audit := principalAudit(ctx, p, "open_decision")
		audit.Outcome = "decision " + itoa(row.ID) + " -> pending"
		return tx.Audit(ctx, audit)
	})
	return row.decision(), err
}

// UpdateDecisionInput moves a decision of the board.
type UpdateDecisionInput struct {
	ID     int64   `json:"id" validate:"required,min=1" doc:"The decision's number."`
	Status string  `json:"status" validate:"required,oneof=pending rejected parked" doc:"Where it goes: pending, rejected or parked."`
	Note   *string `json:"note,omitempty" validate:"omitempty,max=2000" doc:"Why, in a few words."`
}

// boardWords are all the words that a caller can set a decision to.
var boardWords = []string{decisionPending, decisionRejected, decisionParked}

// UpdateDecision sets a decision of the board to pending, rejected or parked,
// and nothing else ever. A decision that is the record of a person's act on an
// intent is left as it is: ErrDecisionSettled.
func (op *Operator) UpdateDecision(ctx context.Context, p Principal, in UpdateDecisionInput) (Decision, error) {
	if !p.Known() {
		return Decision{}, core.Refuse(core.ReasonUnauthenticated, "Nobody was proved to be calling.")
	}
	if !isOneOf(in.Status, boardWords) {
		return Decision{}, core.Refuse(core.ReasonInvalidStatus, "A decision of the board is set to one of %s, and to nothing else.", strings.Join(boardWords, ", ")).With("field", "status")
	}
	note := ""
	if in.Note != nil {
		note = *in.Note
	}
	if err := checkWords("note", note, 2000); err != nil {
		return Decision{}, err
	}
	var row decisionRow
	err := op.inTx(ctx, func(tx core.Tx) error {
		if err := present(ctx, tx, p); err != nil {
			return err
		}
		old, err := findDecision(ctx, tx, p.ProjectID(), in.ID, tx.Dialect().ForUpdate)
		if err != nil {
			return err
		}
		if old.IntentID.Valid {
			return core.Refuse(core.ReasonDecisionSettled, "Decision %d is the record of what %s decided on intent %d.", old.ID, old.MadeBy, old.IntentID.Int64).
				With("intent_id", old.IntentID.Int64)
		}
		err = tx.Get(ctx, &row, `update reeve_decisions set status = $1, note = $2, updated_at = $3, updated_by = $5
			where id = $4 and intent_id is null and status in ('pending', 'rejected', 'parked') and $1 in ('pending', 'rejected', 'parked')
			returning `+decisionColumns, in.Status, note, tx.Micros(), in.ID, p.ID())
		if errors.Is(err, sql.ErrNoRows) {
			return core.Refuse(core.ReasonDecisionSettled, "Decision %d is %s; a person settled it.", old.ID, old.Status)
		}
		if err != nil {
			return err
		}
		audit := principalAudit(ctx, p, "update_decision")
		audit.Outcome = "decision " + itoa(in.ID) + ": " + old.Status + " -> " + in.Status
		return tx.Audit(ctx, audit)
	})
	return row.decision(), err
}
