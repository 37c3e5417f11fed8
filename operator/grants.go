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

// MaxGrant is how long a spending grant can last.
const MaxGrant = 366 * 24 * time.Hour

// GrantInput is a person's Start: who may spend, how much, until when, and why.
type GrantInput struct {
	Principal string      `json:"principal" validate:"required,max=80" doc:"Who may call tools that spend, such as agent:main."`
	Until     time.Time   `json:"until" validate:"required" doc:"When it ends; at most 366 days from now."`
	Reason    string      `json:"reason" validate:"required,max=200" doc:"Why, in one sentence."`
	Limit     *gate.Cents `json:"limit_cents,omitempty" doc:"The most that it may spend in all, in minor units; without a limit when left out."`
	Currency  string      `json:"currency,omitzero" validate:"max=3" doc:"The currency of the limit; the account's own when left out."`
}

// GrantInfo is a spending grant as it is listed.
type GrantInfo struct {
	ID        int64      `json:"id" doc:"Its number."`
	Principal string     `json:"principal" doc:"Who may spend."`
	Owner     string     `json:"owner" doc:"Who pressed Start; when they leave the list of people, the grant ends."`
	Limit     *int64     `json:"limit_cents" doc:"The most in all, in minor units; null: without a limit."`
	Currency  *string    `json:"currency" doc:"The currency of the limit."`
	Used      int64      `json:"used_cents" doc:"What was spent of the limit, is being spent, or may have been."`
	Until     time.Time  `json:"until" doc:"When it ends."`
	Reason    string     `json:"why" doc:"Why."`
	CreatedAt time.Time  `json:"created_at" doc:"When it was given."`
	RevokedBy *string    `json:"revoked_by" doc:"Who took it back."`
	RevokedAt *time.Time `json:"revoked_at" doc:"When it was taken back."`
	Running   bool       `json:"running" doc:"Whether it lets the principal spend now."`
}

type grantRow struct {
	ID        int64          `db:"id"`
	Handle    string         `db:"handle"`
	Removed   sql.NullInt64  `db:"removed_at"`
	Principal string         `db:"principal"`
	Currency  string         `db:"currency"`
	Limit     sql.NullInt64  `db:"limit_cents"`
	Used      int64          `db:"used"`
	Until     int64          `db:"until"`
	Reason    string         `db:"reason"`
	CreatedAt int64          `db:"created_at"`
	RevokedAt sql.NullInt64  `db:"revoked_at"`
	RevokedBy sql.NullString `db:"revoked_by"`
}

const grantQuery = `select g.id, h.handle, h.removed_at, g.principal, g.currency, g.limit_cents, g.used, g.until, g.reason, g.created_at,
	g.revoked_at, g.revoked_by from reeve_spending_grants g join reeve_people h on h.id = g.person_id `

func (r grantRow) info(now int64) GrantInfo {
	return GrantInfo{ID: r.ID, Principal: r.Principal, Owner: humanID(r.Handle), Limit: optionalInt(r.Limit), Currency: optional(r.Currency), Used: r.Used,
		Until: core.FromMicros(r.Until), Reason: gate.Redact(r.Reason), CreatedAt: core.FromMicros(r.CreatedAt),
		RevokedBy: optional(r.RevokedBy.String), RevokedAt: optionalTime(r.RevokedAt),
		Running: !r.RevokedAt.Valid && !r.Removed.Valid && r.Until > now}
}

func grantName(id int64) string { return "spending grant " + itoa(id) }

// GrantSpending lets a principal of the person's account call the tools that spend,
// from its very next call until the grant ends or is taken back. It is the first of
// two locks: each call is judged by the policy and counted against the limit as well.
// Several grants may run side by side; a call is counted against the oldest that has
// room for it. Errors: ErrNotFound for a principal that the account does not have;
// ErrInvalidValue for an end that has passed or is more than 366 days away.
func (op *Operator) GrantSpending(ctx context.Context, p Person, in GrantInput) (GrantInfo, error) {
	return perform(ctx, op, func(tx core.Tx) (GrantInfo, error) {
		var out GrantInfo
		if _, err := p.stand(ctx, tx, core.ScopeGrantsWrite); err != nil {
			return out, err
		}
		ws, err := settings(ctx, tx, p.projectID)
		if err != nil {
			return out, err
		}
		if err := in.check(tx.Now(), ws); err != nil {
			return out, err
		}
		if err := isCaller(ctx, tx, p.accountID, in.Principal); err != nil {
			return out, err
		}
		var limit sql.NullInt64
		currency := ""
		if in.Limit != nil {
			limit, currency = sql.NullInt64{Int64: int64(*in.Limit), Valid: true}, in.in(ws)
		}
		var id int64
		err = tx.Get(ctx, &id, `insert into reeve_spending_grants (account_id, person_id, principal, currency, limit_cents, until, reason, via, created_at)
			values ($1, $2, $3, $4, $5, $6, $7, $8, $9) returning id`, p.accountID, p.personID, in.Principal, currency, limit,
			core.Micros(in.Until), in.Reason, string(p.via), tx.Micros())
		if err != nil {
			return out, err
		}
		if out, err = findGrant(ctx, tx, p.accountID, id); err != nil {
			return out, err
		}
		audit := p.auditRow(ctx, "grant_spending")
		audit.Outcome = grantName(id) + " for " + in.Principal + " until " + out.Until.Format(time.RFC3339) + ", " + out.limit()
		return out, tx.Audit(ctx, audit)
	})
}

func (g GrantInfo) limit() string {
	if g.Limit == nil {
		return "without a limit"
	}
	return "up to " + money(*g.Limit, *g.Currency)
}

// in is the currency that the limit is in.
func (in GrantInput) in(ws workspace) string {
	if in.Currency == "" {
		return ws.Currency
	}
	return in.Currency
}

func (in GrantInput) check(now time.Time, ws workspace) error {
	if err := checkWords("reason", in.Reason, 200); err != nil {
		return err
	}
	if in.Reason == "" {
		return core.Refuse(core.ReasonMissingField, "A spending grant says why.").With("field", "reason")
	}
	if !in.Until.After(now) || in.Until.After(now.Add(MaxGrant)) {
		return core.Refuse(core.ReasonInvalidValue, "A spending grant ends after now, and within 366 days.").With("field", "until")
	}
	if in.Limit == nil {
		if in.Currency != "" {
			return core.Refuse(core.ReasonMissingField, "A currency is that of a limit: give limit_cents as well.").With("field", "limit_cents")
		}
		return nil
	}
	if *in.Limit < 1 || *in.Limit > gate.MaxCents {
		return core.Refuse(core.ReasonAmountOutOfRange, "A limit is a whole number of minor units from 1 to %d.", int64(gate.MaxCents)).With("field", "limit_cents")
	}
	if _, ok := gate.Exponent(in.in(ws)); !ok {
		return core.Refuse(core.ReasonUnknownCurrency, "Give the limit's currency as an ISO 4217 code, such as USD.").With("field", "currency")
	}
	return nil
}

// isCaller holds a principal's id to those that the account has and that can call a
// tool: a person on the list, an agent or a worker with a live credential.
func isCaller(ctx context.Context, tx core.Tx, account int64, id string) error {
	if err := checkWords("principal", id, 80); err != nil {
		return err
	}
	kind, name, ok := strings.Cut(id, ":")
	if !ok || !slugForm.MatchString(name) || !isOneOf(Kind(kind), []Kind{KindHuman, KindAgent, KindWorker}) {
		return core.Refuse(core.ReasonInvalidValue, "Who may spend is named by kind and name, such as agent:main; a channel calls no tool.").With("field", "principal")
	}
	var n int64
	var err error
	switch Kind(kind) {
	case KindHuman:
		n = 1
		if _, err = livePerson(ctx, tx, account, name, sharedRow(tx)); errors.Is(err, ErrNotFound) {
			n, err = 0, nil
		}
	case KindAgent, KindWorker:
		err = tx.Get(ctx, &n, `select count(*) from reeve_credentials where account_id = $1 and kind = $2 and name = $3
			and revoked_at is null and expires_at > $4`, account, kind, name, tx.Micros())
	}
	if err == nil && n == 0 {
		return core.Refuse(core.ReasonNotFound, "This account has no such principal; name one that can call, such as agent:main.").With("field", "principal")
	}
	return err
}

func findGrant(ctx context.Context, tx core.Tx, account, id int64) (GrantInfo, error) {
	var row grantRow
	err := tx.Get(ctx, &row, grantQuery+`where g.id = $1 and g.account_id = $2`, id, account)
	if errors.Is(err, sql.ErrNoRows) {
		return GrantInfo{}, core.Refuse(core.ReasonNotFound, "No spending grant of that id is visible to this credential.")
	}
	return row.info(tx.Micros()), err
}

// GrantRef names a spending grant.
type GrantRef struct {
	ID int64 `json:"id" validate:"required,min=1" doc:"The spending grant's number."`
}

// RevokeSpending takes a spending grant back, from the very next call on. What is
// being spent at this moment goes on. Any person of the account whose credential
// lets them give one may take one back. Errors: ErrNotFound, ErrAlreadySettled.
func (op *Operator) RevokeSpending(ctx context.Context, p Person, in GrantRef) (GrantInfo, error) {
	ctx = core.Urgent(ctx)
	return perform(ctx, op, func(tx core.Tx) (GrantInfo, error) {
		var out GrantInfo
		if _, err := p.stand(ctx, tx, core.ScopeGrantsWrite); err != nil {
			return out, err
		}
		n, err := tx.Exec(ctx, `update reeve_spending_grants set revoked_at = $1, revoked_by = $2
			where id = $3 and account_id = $4 and revoked_at is null`, tx.Micros(), p.ID(), in.ID, p.accountID)
		if err != nil {
			return out, err
		}
		if out, err = findGrant(ctx, tx, p.accountID, in.ID); err != nil {
			return out, err
		}
		if n == 0 {
			return out, core.Refuse(core.ReasonAlreadySettled, "It was taken back by %s at %s already.", *out.RevokedBy, out.RevokedAt.Format(time.RFC3339))
		}
		audit := p.auditRow(ctx, "revoke_spending")
		audit.Outcome = "taken back: " + grantName(in.ID)
		return out, tx.Audit(ctx, audit)
	})
}

// GrantList is the spending grants of an account, newest first.
type GrantList struct {
	Grants []GrantInfo `json:"grants" doc:"Those that run, and the last of those that ended or were taken back."`
}

// SpendingGrants lists the spending grants of the person's account, newest first,
// at most 200.
func (op *Operator) SpendingGrants(ctx context.Context, p Person) (GrantList, error) {
	out := GrantList{Grants: []GrantInfo{}}
	err := op.inView(ctx, func(tx core.Tx) error {
		if _, err := p.live(ctx, tx, ""); err != nil {
			return err
		}
		var rows []grantRow
		err := tx.Select(ctx, &rows, grantQuery+`where g.account_id = $1 order by case when g.revoked_at is null and g.until > $2 then 0 else 1 end, g.id desc limit 200`, p.accountID, tx.Micros())
		for _, r := range rows {
			out.Grants = append(out.Grants, r.info(tx.Micros()))
		}
		return err
	})
	return out, err
}
