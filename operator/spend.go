package operator

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// SpendHold is what one call holds of its principal's spending grants, until it is
// known whether the call spent it.
type SpendHold struct {
	call string // the uses' own name; empty: nothing is counted
}

// SpendOutcome is what became of a call that may spend.
type SpendOutcome string

// The outcomes. Nothing but SpendReleased makes room in the grant again.
const (
	SpendDone     SpendOutcome = "spent"
	SpendHeld     SpendOutcome = "held"     // nobody knows whether it spent
	SpendReleased SpendOutcome = "released" // it certainly did not
)

// HoldSpending asks whether a principal may make a move now, and is for the
// schedule of powers, which asks before every call of a row that spends. All of it
// is judged in one transaction: that nothing is frozen; a running grant of a person
// who is still on the list; the gate, on the actions of the move together; and what
// is left of the grant's limit, from which the move's money is taken. The money of a
// call that nobody settles stays taken.
//
// Of the policy's budgets nothing is taken here: each action that the handler records
// as an intent takes its own part, and would be counted twice.
//
// Errors: ErrFrozen, ErrSpendingNotGranted, ErrSpendingLimit, ErrDenied, ErrBudget,
// and ErrApproverNotAllowed where no one person's Start answers what the rules ask.
func (op *Operator) HoldSpending(ctx context.Context, p Principal, move []gate.Action) (SpendHold, error) {
	var hold SpendHold
	err := op.inTx(ctx, func(tx core.Tx) error {
		hold = SpendHold{}
		ws, err := settingsOf(ctx, tx, p)
		if err != nil {
			return err
		}
		if err := notFrozen(ctx, tx, p); err != nil {
			return err
		}
		grants, err := runningGrants(ctx, tx, p)
		if err != nil {
			return err
		}
		if len(grants) == 0 {
			return notGranted(p)
		}
		asked, err := op.judgeMove(ctx, tx, ws, p, move)
		if err != nil {
			return err
		}
		if grants, err = asked.answeredBy(grants); err != nil {
			return err
		}
		taken, err := asked.from(grants)
		if err != nil || len(taken) == 0 {
			return err
		}
		hold.call = core.NewUUID()
		return hold.take(ctx, tx, p, taken)
	})
	return hold, err
}

// notFrozen refuses a move while a freeze stands. Like a claim, it comes either before
// a freeze or after it.
func notFrozen(ctx context.Context, tx core.Tx, p Principal) error {
	why, err := frozen(ctx, tx, p.AccountID(), p.ProjectID())
	if err != nil || why == nil {
		return err
	}
	return core.Refuse(core.ReasonFrozen, "A person has stopped whatever reaches outside: %s", *why).With("frozen_why", *why)
}

func notGranted(p Principal) error {
	return core.Refuse(core.ReasonSpendingNotGranted, "Nobody has let %s spend: a person presses Start for it first.", p.ID()).With("principal", p.ID())
}

// SpendingNotGranted is the refusal of a principal that no running grant lets spend.
func SpendingNotGranted(p Principal) error { return notGranted(p) }

// grantBalance is a running grant, held for the rest of the transaction.
type grantBalance struct {
	ID       int64         `db:"id"`
	Currency string        `db:"currency"`
	Limit    sql.NullInt64 `db:"limit_cents"`
	Used     int64         `db:"used"`
	Role     Role          `db:"role"` // its giver's, now
}

func (g grantBalance) left() int64 { return g.Limit.Int64 - g.Used }

func runningGrants(ctx context.Context, tx core.Tx, p Principal) ([]grantBalance, error) {
	var out []grantBalance
	err := tx.Select(ctx, &out, `select g.id, g.currency, g.limit_cents, g.used,
			(select o.role from reeve_people o where o.id = g.person_id) as role from reeve_spending_grants g
		where g.account_id = $1 and g.principal = $2 and g.revoked_at is null and g.until > $3
		and exists (select 1 from reeve_people o where o.id = g.person_id and o.removed_at is null)
		order by g.id `+tx.Dialect().ForUpdate, p.AccountID(), p.ID(), tx.Micros())
	return out, err
}

// asking is what a move asks of whoever let its principal spend.
type asking struct {
	cents     map[string]int64 // what it spends, by currency
	uncounted bool             // something in it has no amount
	quorum    int              // how many people the rules ask for
	roles     []string         // which roles answer all of the rules; nil: any
}

// judgeMove asks the gate about every action of a move, and adds up its money. Each
// is judged as if those before it had been carried out: two that fit one by one must
// not pass a budget together. A bound on one act is each action's own.
func (op *Operator) judgeMove(ctx context.Context, tx core.Tx, ws workspace, p Principal, move []gate.Action) (asking, error) {
	s := asking{cents: map[string]int64{}}
	var before ahead
	for _, a := range move {
		a, err := wellFormedAction(a, ws.Currency)
		if err != nil {
			return s, err
		}
		if err := s.count(a); err != nil {
			return s, err
		}
		j, err := op.evaluateAfter(ctx, tx, ws, p.ID(), a, 0, before)
		if err != nil {
			return s, err
		}
		switch j.verdict.Effect {
		case gate.Deny:
			return s, j.refusal(nowDenied)
		case gate.RequiresApproval:
			s.ask(j.verdict.Approval)
		}
		before = before.and(j, a)
	}
	return s, nil
}

func (s *asking) count(a gate.Action) error {
	if a.AmountCents == nil {
		s.uncounted = true
		return nil
	}
	if s.cents[a.Currency] += int64(*a.AmountCents); s.cents[a.Currency] > int64(gate.MaxCents) {
		return core.Refuse(core.ReasonAmountOutOfRange, "The call's sum in %s is beyond what can be counted.", a.Currency)
	}
	return nil
}

func (s *asking) ask(a gate.Approval) {
	s.quorum = max(s.quorum, a.Quorum)
	switch {
	case len(a.From) == 0:
	case s.roles == nil:
		s.roles = slices.Clone(a.From)
	default:
		s.roles = slices.DeleteFunc(s.roles, func(role string) bool { return !isOneOf(role, a.From) })
	}
}

// answeredBy keeps the grants that answer what the rules ask. A Start is one person's
// yes, so it answers none that asks for several, nor one that asks for a role which
// its giver does not have now; no more than a standing approval does.
func (s asking) answeredBy(grants []grantBalance) ([]grantBalance, error) {
	if s.quorum > 1 {
		return nil, core.Refuse(core.ReasonApproverNotAllowed, "The policy asks for %d people, and a spending grant is the word of one: record it as an intent, which they can approve.", s.quorum).
			With("quorum", s.quorum)
	}
	answering := slices.DeleteFunc(slices.Clone(grants), func(g grantBalance) bool { return s.roles != nil && !isOneOf(string(g.Role), s.roles) })
	switch {
	case len(answering) > 0:
		return answering, nil
	case len(s.roles) == 0:
		return nil, core.Refuse(core.ReasonApproverNotAllowed, "The policy asks for approvers whose roles no one person has: call for each of its actions by itself.")
	}
	return nil, core.Refuse(core.ReasonApproverNotAllowed, "The policy asks for an approver whose role is one of %s, and no spending grant that runs is of such a person: one of them has to press Start.",
		listed(s.roles)).With("approvers", s.roles)
}

// taking is money of a move that one grant answers for.
type taking struct {
	grant int64
	cents int64
}

// from finds the grants that answer for a move: for each currency the oldest whose
// limit has room for all of it, else one without a limit. What has no amount cannot
// be counted against a limit, and needs one without.
func (s asking) from(grants []grantBalance) ([]taking, error) {
	unlimited := slices.ContainsFunc(grants, func(g grantBalance) bool { return !g.Limit.Valid })
	if s.uncounted && !unlimited {
		return nil, core.Refuse(core.ReasonSpendingLimit, "It has no amount that could be counted against the limit of the spending grant.")
	}
	var out []taking
	for currency, cents := range s.cents {
		i := slices.IndexFunc(grants, func(g grantBalance) bool { return g.Limit.Valid && g.Currency == currency && g.left() >= cents })
		switch {
		case i >= 0:
			out = append(out, taking{grants[i].ID, cents})
		case !unlimited:
			return nil, beyond(grants, currency, cents)
		}
	}
	slices.SortFunc(out, func(a, b taking) int { return int(a.grant - b.grant) })
	return out, nil
}

func beyond(grants []grantBalance, currency string, cents int64) error {
	most := int64(0)
	for _, g := range grants {
		if g.Limit.Valid && g.Currency == currency {
			most = max(most, g.left())
		}
	}
	return core.Refuse(core.ReasonSpendingLimit, "It would spend %s; of the spending grant %s is left.", money(cents, currency), money(most, currency)).
		With("currency", currency).With("cents", cents).With("left_cents", most)
}

func (h SpendHold) take(ctx context.Context, tx core.Tx, p Principal, all []taking) error {
	call := core.CallOf(ctx, "spend")
	for _, t := range all {
		if _, err := tx.Exec(ctx, `insert into reeve_spending_uses (grant_id, call_id, action, args_digest, cents, state, created_at, updated_at)
			values ($1, $2, $3, $4, $5, 'reserved', $6, $6)`, t.grant, h.call, call.Action, call.ArgsDigest, t.cents, tx.Micros()); err != nil {
			return err
		}
		n, err := tx.Exec(ctx, `update reeve_spending_grants set used = used + $1
			where id = $2 and revoked_at is null and used + $1 <= limit_cents`, t.cents, t.grant)
		if err := changedOne(n, err); err != nil {
			return err
		}
		audit := principalAudit(ctx, p, "spend")
		audit.Outcome = fmt.Sprintf("%d minor units of %s reserved", t.cents, grantName(t.grant))
		if err := tx.Audit(ctx, audit); err != nil {
			return err
		}
	}
	return nil
}

// settleWithin bounds how long it may take to note what became of a call. It is
// noted also when the caller has gone.
const settleWithin = 5 * time.Second

// SettleSpending notes what became of a call. A second word on the same call
// changes nothing.
func (op *Operator) SettleSpending(ctx context.Context, p Principal, h SpendHold, outcome SpendOutcome) error {
	if h.call == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
	defer cancel()
	return op.inTx(ctx, func(tx core.Tx) error {
		var moved []struct {
			Grant int64 `db:"grant_id"`
			Cents int64 `db:"cents"`
		}
		err := tx.Select(ctx, &moved, `update reeve_spending_uses set state = $1, updated_at = $2
			where call_id = $3 and state = 'reserved' returning grant_id, cents`, string(outcome), tx.Micros(), h.call)
		if err != nil {
			return err
		}
		slices.SortFunc(moved, func(a, b struct {
			Grant int64 `db:"grant_id"`
			Cents int64 `db:"cents"`
		}) int {
			return int(a.Grant - b.Grant)
		})
		for _, m := range moved {
			if outcome == SpendReleased {
				if _, err := tx.Exec(ctx, `update reeve_spending_grants set used = used - $1 where id = $2`, m.Cents, m.Grant); err != nil {
					return err
				}
			}
			audit := principalAudit(ctx, p, "spend")
			audit.Outcome = fmt.Sprintf("%d minor units of %s %s", m.Cents, grantName(m.Grant), outcome)
			if err := tx.Audit(ctx, audit); err != nil {
				return err
			}
		}
		return nil
	})
}

// SpendOutcomeOf says what an error of a call tells of its money. A decision, and a
// race that was rolled back whole, spent nothing; an outage may have.
func SpendOutcomeOf(err error) SpendOutcome {
	var r *Refusal
	switch {
	case err == nil:
		return SpendDone
	case errors.As(err, &r) && (r.Info().Verdict != core.VerdictUnavailable || r.Reason == core.ReasonVersionRace):
		return SpendReleased
	}
	return SpendHeld
}
