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
// is judged in one transaction: a running grant of a person who is still on the
// list; the gate, on each action of the move; and what is left of the grant's
// limit, from which the move's money is taken. The money of a call that nobody
// settles stays taken.
//
// Errors: ErrSpendingNotGranted, ErrSpendingLimit, ErrDenied, ErrBudget.
func (op *Operator) HoldSpending(ctx context.Context, p Principal, move []gate.Action) (SpendHold, error) {
	var hold SpendHold
	err := op.inTx(ctx, func(tx core.Tx) error {
		hold = SpendHold{}
		ws, err := settingsOf(ctx, tx, p)
		if err != nil {
			return err
		}
		grants, err := runningGrants(ctx, tx, p)
		if err != nil {
			return err
		}
		if len(grants) == 0 {
			return notGranted(p)
		}
		sums, err := op.judgeMove(ctx, tx, ws, p, move)
		if err != nil {
			return err
		}
		taken, err := sums.from(grants)
		if err != nil || len(taken) == 0 {
			return err
		}
		hold.call = core.NewUUID()
		return hold.take(ctx, tx, p, taken)
	})
	return hold, err
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
}

func (g grantBalance) left() int64 { return g.Limit.Int64 - g.Used }

func runningGrants(ctx context.Context, tx core.Tx, p Principal) ([]grantBalance, error) {
	var out []grantBalance
	err := tx.Select(ctx, &out, `select g.id, g.currency, g.limit_cents, g.used from reeve_spending_grants g
		where g.account_id = $1 and g.principal = $2 and g.revoked_at is null and g.until > $3
		and exists (select 1 from reeve_people o where o.id = g.person_id and o.removed_at is null)
		order by g.id `+tx.Dialect().ForUpdate, p.AccountID(), p.ID(), tx.Micros())
	return out, err
}

// sums is what a move spends, by currency.
type sums struct {
	cents     map[string]int64
	uncounted bool // something in it has no amount
}

// judgeMove asks the gate about every action of a move, and adds up its money.
func (op *Operator) judgeMove(ctx context.Context, tx core.Tx, ws workspace, p Principal, move []gate.Action) (sums, error) {
	s := sums{cents: map[string]int64{}}
	for _, a := range move {
		a, err := wellFormedAction(a, ws.Currency)
		if err != nil {
			return s, err
		}
		j, err := op.evaluate(ctx, tx, ws, p.ID(), a, 0)
		if err != nil {
			return s, err
		}
		if j.verdict.Effect == gate.Deny {
			return s, j.refusal()
		}
		if a.AmountCents == nil {
			s.uncounted = true
			continue
		}
		if s.cents[a.Currency] += int64(*a.AmountCents); s.cents[a.Currency] > int64(gate.MaxCents) {
			return s, core.Refuse(core.ReasonAmountOutOfRange, "The call's sum in %s is beyond what can be counted.", a.Currency)
		}
	}
	return s, nil
}

// taking is money of a move that one grant answers for.
type taking struct {
	grant int64
	cents int64
}

// from finds the grants that answer for a move: for each currency the oldest whose
// limit has room for all of it, else one without a limit. What has no amount cannot
// be counted against a limit, and needs one without.
func (s sums) from(grants []grantBalance) ([]taking, error) {
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
