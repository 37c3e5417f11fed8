package operator

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// MaxStanding is how long a standing approval can last.
const MaxStanding = 366 * 24 * time.Hour

// StandingInput is a person's own rule: what they allow from now on, and how far.
type StandingInput struct {
	Types      []string    `json:"types" validate:"required,min=1,max=20,dive,word" doc:"The action types that it allows."`
	Recipients []string    `json:"recipients,omitzero" validate:"max=50,dive,min=1,max=320" doc:"To whom: an address, a pattern (*@x.example), or domain:x.example. Left out: to anybody."`
	MaxCents   *gate.Cents `json:"max_cents,omitempty" doc:"The most that one act may spend, in minor units. An action with money needs it."`
	Currency   string      `json:"currency,omitzero" validate:"max=3" doc:"The currency of the sums; the account's own when left out."`
	Window     string      `json:"window,omitzero" validate:"omitempty,oneof=day week month year" doc:"The calendar window that window_cents is for."`
	WindowMax  *gate.Cents `json:"window_cents,omitempty" doc:"The most that all acts in one window may spend together, in minor units."`
	InsteadOf  []string    `json:"instead_of" validate:"required,min=1,max=20,dive,min=1,max=64" doc:"The ids of the rules, of those that ask for approval, that this answers."`
	Until      time.Time   `json:"until" validate:"required" doc:"When it ends; at most 366 days from now."`
	Reason     string      `json:"reason" validate:"required,max=200" doc:"Why, in one sentence; it is shown with everything that it allowed."`
}

// StandingInfo is a standing approval as it is listed.
type StandingInfo struct {
	ID          int64      `json:"id" doc:"Its number."`
	Rule        string     `json:"rule" doc:"The id that verdicts name it by."`
	By          string     `json:"by" doc:"Whose it is."`
	Types       []string   `json:"types" doc:"The action types that it allows."`
	Recipients  []string   `json:"recipients" doc:"To whom; empty: to anybody."`
	Currency    *string    `json:"currency" doc:"The currency of the sums."`
	MaxCents    *int64     `json:"max_cents" doc:"The most for one act, in minor units."`
	Window      *string    `json:"window" doc:"The window of window_cents."`
	WindowCents *int64     `json:"window_cents" doc:"The most for one window, in minor units."`
	InsteadOf   []string   `json:"instead_of" doc:"The rules that it answers."`
	Reason      string     `json:"why" doc:"Why."`
	Until       time.Time  `json:"until" doc:"When it ends."`
	CreatedAt   time.Time  `json:"created_at" doc:"When it was given."`
	RevokedBy   *string    `json:"revoked_by" doc:"Who took it back."`
	RevokedAt   *time.Time `json:"revoked_at" doc:"When it was taken back."`
}

type standingRow struct {
	ID         int64          `db:"id"`
	ProjectID  int64          `db:"project_id"`
	Handle     string         `db:"handle"`
	Role       string         `db:"role"`
	Types      string         `db:"types"`
	Recipients string         `db:"recipients"`
	Currency   string         `db:"currency"`
	MaxCents   sql.NullInt64  `db:"max_cents"`
	Span       string         `db:"span"`
	SpanCents  sql.NullInt64  `db:"span_cents"`
	InsteadOf  string         `db:"instead_of"`
	Reason     string         `db:"reason"`
	Until      int64          `db:"until"`
	CreatedAt  int64          `db:"created_at"`
	RevokedBy  sql.NullString `db:"revoked_by"`
	RevokedAt  sql.NullInt64  `db:"revoked_at"`
}

const standingColumns = `s.id, s.project_id, h.handle, h.role, s.types, s.recipients, s.currency, s.max_cents, s.span, s.span_cents,
	s.instead_of, s.reason, s.until, s.created_at, s.revoked_by, s.revoked_at`

// standingID is how verdicts and budgets name it; gate keeps the prefix for that.
func standingID(id int64) string { return "standing-" + itoa(id) }

// rule is the standing approval as the gate judges by it.
func (r standingRow) rule() gate.Rule {
	out := gate.Rule{ID: standingID(r.ID), Effect: gate.Allow, Until: core.FromMicros(r.Until), InsteadOf: given(r.InsteadOf),
		Match:  gate.Match{Types: given(r.Types), Recipients: given(r.Recipients)},
		Reason: "Standing approval of " + humanID(r.Handle) + ": " + r.Reason}
	if r.MaxCents.Valid {
		most := gate.Cents(r.MaxCents.Int64)
		out.Match.Amount = &gate.AmountRange{Currency: r.Currency, Max: &most}
	}
	if r.SpanCents.Valid {
		out.Budget = &gate.Budget{Window: gate.Window(r.Span), Currency: r.Currency, Max: gate.Cents(r.SpanCents.Int64)}
	}
	return out
}

func (r standingRow) info() StandingInfo {
	return StandingInfo{ID: r.ID, Rule: standingID(r.ID), By: humanID(r.Handle), Types: stored(r.Types), Recipients: stored(r.Recipients),
		Currency: optional(r.Currency), MaxCents: optionalInt(r.MaxCents), Window: optional(r.Span), WindowCents: optionalInt(r.SpanCents),
		InsteadOf: stored(r.InsteadOf), Reason: gate.Redact(r.Reason), Until: core.FromMicros(r.Until), CreatedAt: core.FromMicros(r.CreatedAt),
		RevokedBy: optional(r.RevokedBy.String), RevokedAt: optionalTime(r.RevokedAt)}
}

// standingOf lists the standing approvals that hold at the transaction's moment in
// a project. Somebody who left the list, or who could not themselves answer a rule
// any more, answers it no more by what they left behind.
func standingOf(ctx context.Context, tx core.Tx, ws workspace, policy *gate.Policy) ([]gate.Rule, error) {
	var rows []standingRow
	err := tx.Select(ctx, &rows, `select `+standingColumns+` from reeve_standing s join reeve_people h on h.id = s.person_id
		where s.project_id = $1 and s.revoked_at is null and s.until > $2 and h.removed_at is null order by s.id`, ws.ProjectID, tx.Micros())
	if err != nil {
		return nil, err
	}
	out := make([]gate.Rule, 0, len(rows))
	for _, r := range rows {
		if rule := answerable(r, policy); len(rule.InsteadOf) > 0 {
			out = append(out, rule)
		}
	}
	return out, nil
}

// answerable is a standing approval's rule without what it cannot answer under a policy.
func answerable(r standingRow, policy *gate.Policy) gate.Rule {
	rule := r.rule()
	rule.InsteadOf = slices.DeleteFunc(rule.InsteadOf, func(id string) bool { return cannotAnswer(policy, id, Role(r.Role)) != nil })
	return rule
}

// cannotAnswer says why one person of a role cannot answer a rule by a standing
// approval.
func cannotAnswer(policy *gate.Policy, id string, role Role) error {
	rule, found := policy.Rule(id)
	switch {
	case !found || rule.Effect != gate.RequiresApproval:
		return core.Refuse(core.ReasonInvalidValue, "The policy has no rule %q that asks for approval.", id).With("field", "instead_of")
	case rule.Approval.Quorum > 1:
		return core.Refuse(core.ReasonApproverNotAllowed, "The rule %s asks for %d people, so no standing approval of one answers it.", id, rule.Approval.Quorum)
	case len(rule.Approval.From) > 0 && !isOneOf(string(role), rule.Approval.From):
		return core.Refuse(core.ReasonApproverNotAllowed, "The rule %s asks for an approver of another role.", id).With("approvers", rule.Approval.From)
	}
	return nil
}

// StandingApproval makes a standing approval: a rule of the person's own, within
// bounds and with an end. It is named in the reasons of everything that it allows,
// lifts no denial, and answers no rule but those it names.
//
// Errors: ErrApproverNotAllowed where a rule asks for more people or another role;
// a refusal as input where it has no bound that its types need.
func (op *Operator) StandingApproval(ctx context.Context, p Person, in StandingInput) (StandingInfo, error) {
	return perform(ctx, op, func(tx core.Tx) (StandingInfo, error) {
		var out StandingInfo
		who, err := p.stand(ctx, tx, core.ScopeIntentsDecide)
		if err != nil {
			return out, err
		}
		ws, err := settings(ctx, tx, p.projectID)
		if err != nil {
			return out, err
		}
		policy, err := op.policies.at(ctx, tx, p.accountID)
		if err != nil {
			return out, err
		}
		row, err := in.row(tx.Now(), p, who, ws, policy)
		if err != nil {
			return out, err
		}
		if err := row.insert(ctx, tx, p); err != nil {
			return out, err
		}
		out = row.info()
		audit := p.auditRow(ctx, "standing_approval")
		audit.PolicyVersion, audit.Outcome = policy.Version(), "given as "+standingID(row.ID)+" until "+row.rule().Until.Format(time.RFC3339)
		return out, tx.Audit(ctx, audit)
	})
}

// row checks what a person asks for, and fills in what they left out.
func (in StandingInput) row(now time.Time, p Person, who standing, ws workspace, policy *gate.Policy) (standingRow, error) {
	row := standingRow{ProjectID: p.projectID, Handle: p.handle, Role: string(who.Role), Types: listJSON(in.Types), Recipients: listJSON(in.Recipients),
		InsteadOf: listJSON(in.InsteadOf), Reason: in.Reason, Until: core.Micros(in.Until), CreatedAt: core.Micros(now), Span: in.Window}
	if err := checkWords("reason", in.Reason, 200); err != nil {
		return row, err
	}
	if _, known := gate.Exponent(in.Currency); in.Currency != "" && !known {
		return row, core.Refuse(core.ReasonUnknownCurrency, "Give the currency as an ISO 4217 code, such as USD.").With("field", "currency")
	}
	if !in.Until.After(now) || in.Until.After(now.Add(MaxStanding)) {
		return row, core.Refuse(core.ReasonInvalidValue, "A standing approval ends after now, and within 366 days.").With("field", "until")
	}
	if (in.Window == "") != (in.WindowMax == nil) {
		return row, core.Refuse(core.ReasonInvalidValue, "Give window and window_cents together, or neither.").With("field", "window_cents")
	}
	if in.MaxCents == nil && (in.WindowMax != nil || slices.ContainsFunc(in.Types, gate.Monetary)) {
		return row, core.Refuse(core.ReasonMissingField, "Money is allowed up to a sum: give max_cents, the most that one act may spend.").With("field", "max_cents")
	}
	for field, c := range map[string]*gate.Cents{"max_cents": in.MaxCents, "window_cents": in.WindowMax} {
		if c != nil && (*c < 1 || *c > gate.MaxCents) {
			return row, core.Refuse(core.ReasonAmountOutOfRange, "A sum is 1 to %d minor units.", gate.MaxCents).With("field", field)
		}
	}
	if in.MaxCents != nil {
		row.Currency, row.MaxCents = in.Currency, sql.NullInt64{Int64: int64(*in.MaxCents), Valid: true}
		if row.Currency == "" {
			row.Currency = ws.Currency
		}
	}
	if in.WindowMax != nil {
		row.SpanCents = sql.NullInt64{Int64: int64(*in.WindowMax), Valid: true}
	}
	for _, id := range in.InsteadOf {
		if err := cannotAnswer(policy, id, who.Role); err != nil {
			return row, err
		}
	}
	if err := gate.CheckStanding(row.rule()); err != nil {
		return row, core.Refuse(core.ReasonInvalidValue, "%s", firstFault(err)).Because(err)
	}
	return row, nil
}

func firstFault(err error) string {
	var all gate.PolicyErrors
	if e, ok := err.(gate.PolicyErrors); ok {
		all = e
	}
	if len(all) == 0 {
		return err.Error()
	}
	return fmt.Sprintf("The standing approval is not well-formed: %s.", all[0].Message)
}

func (r *standingRow) insert(ctx context.Context, tx core.Tx, p Person) error {
	return tx.Get(ctx, &r.ID, `insert into reeve_standing (account_id, project_id, person_id, via, types, recipients, currency, max_cents,
			span, span_cents, instead_of, reason, until, created_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) returning id`,
		p.accountID, r.ProjectID, p.personID, string(p.via), r.Types, r.Recipients, r.Currency, r.MaxCents,
		r.Span, r.SpanCents, r.InsteadOf, r.Reason, r.Until, r.CreatedAt)
}

// StandingRef names a standing approval.
type StandingRef struct {
	ID int64 `json:"id" validate:"required,min=1" doc:"The standing approval's number."`
}

// RevokeStanding takes a standing approval back, from the next judgement on. What it
// allowed before and nobody has claimed yet is taken back by Revoke. It is of one
// project, like what it allows. Any person whose credential lets them decide there
// may do it: taking back is never harder than giving.
func (op *Operator) RevokeStanding(ctx context.Context, p Person, in StandingRef) (StandingInfo, error) {
	ctx = core.Urgent(ctx)
	return perform(ctx, op, func(tx core.Tx) (StandingInfo, error) {
		var out StandingInfo
		if _, err := p.stand(ctx, tx, core.ScopeIntentsDecide); err != nil {
			return out, err
		}
		n, err := tx.Exec(ctx, `update reeve_standing set revoked_at = $1, revoked_by = $2 where id = $3 and project_id = $4 and revoked_at is null`,
			tx.Micros(), p.ID(), in.ID, p.projectID)
		if err != nil {
			return out, err
		}
		var row standingRow
		err = tx.Get(ctx, &row, `select `+standingColumns+` from reeve_standing s join reeve_people h on h.id = s.person_id
			where s.id = $1 and s.project_id = $2`, in.ID, p.projectID)
		if err == sql.ErrNoRows {
			return out, core.Refuse(core.ReasonNotFound, "No standing approval of that id is visible to this credential.")
		}
		if err != nil {
			return out, err
		}
		if out = row.info(); n == 0 {
			return out, core.Refuse(core.ReasonAlreadySettled, "%s was taken back by %s at %s already.", standingID(in.ID), row.RevokedBy.String,
				out.RevokedAt.Format("2006-01-02 15:04:05Z"))
		}
		audit := p.auditRow(ctx, "revoke_standing")
		audit.Outcome = "taken back: " + standingID(in.ID)
		return out, tx.Audit(ctx, audit)
	})
}

// StandingList is the standing approvals of a project, newest first.
type StandingList struct {
	Standing []StandingInfo `json:"standing" doc:"Those that hold, and the last of those that ended or were taken back."`
}

// StandingApprovals lists the standing approvals of the person's project, at most
// 200: those that hold first, newest first.
func (op *Operator) StandingApprovals(ctx context.Context, p Person) (StandingList, error) {
	out := StandingList{Standing: []StandingInfo{}}
	err := op.inView(ctx, func(tx core.Tx) error {
		if _, err := p.live(ctx, tx, ""); err != nil {
			return err
		}
		var rows []standingRow
		err := tx.Select(ctx, &rows, `select `+standingColumns+` from reeve_standing s join reeve_people h on h.id = s.person_id
			where s.project_id = $1 order by case when s.revoked_at is null and s.until > $2 then 0 else 1 end, s.id desc limit 200`, p.projectID, tx.Micros())
		for _, r := range rows {
			out.Standing = append(out.Standing, r.info())
		}
		return err
	})
	return out, err
}
