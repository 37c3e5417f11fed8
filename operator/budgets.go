package operator

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// bound is one budget in one window: what the database counts by.
type bound struct {
	gate.Budget
	starts, holder string
}

// boundsOf says which budgets and windows an action of a principal counts in at a
// moment: every one of its currency that the policy or a standing approval has.
func boundsOf(all []gate.Budget, a gate.Action, principal string, now time.Time, zone *time.Location) []bound {
	if a.AmountCents == nil {
		return nil // without money there is nothing to count
	}
	var out []bound
	for _, b := range all {
		if b.Currency != a.Currency || b.Window == gate.PerAct {
			continue
		}
		next := bound{Budget: b, starts: b.Window.Name(now, zone)}
		if b.Each == gate.EachPrincipal {
			next.holder = principal
		}
		out = append(out, next)
	}
	// One order for everybody who locks them. Two caps of one window count the same money.
	slices.SortFunc(out, func(x, y bound) int { return compareBudgets(x.row(), y.row()) })
	return slices.CompactFunc(out, bound.same)
}

func (b bound) row() budgetRow {
	return budgetRow{Rule: b.Rule, Span: string(b.Window), Starts: b.starts, Currency: b.Currency, Holder: b.holder}
}

// compareBudgets is the one order in which rows of budgets are locked.
func compareBudgets(x, y budgetRow) int {
	return cmp.Or(cmp.Compare(x.Rule, y.Rule), cmp.Compare(x.Span, y.Span), cmp.Compare(x.Starts, y.Starts), cmp.Compare(x.Currency, y.Currency), cmp.Compare(x.Holder, y.Holder))
}

func (b bound) same(other bound) bool {
	return b.Rule == other.Rule && b.Window == other.Window && b.starts == other.starts && b.holder == other.holder && b.Currency == other.Currency
}

// budgetRow is a budget's count in one window.
type budgetRow struct {
	ID       int64  `db:"id"`
	Rule     string `db:"rule"`
	Span     string `db:"span"`
	Starts   string `db:"starts"`
	Currency string `db:"currency"`
	Holder   string `db:"holder"`
	Used     int64  `db:"used"`
}

// count holds the rows of some bounds until the transaction ends, and reads them.
// Whoever judges by a count, or adds to it, holds it: two spends that fit one by
// one must not both be let through.
func count(ctx context.Context, tx core.Tx, account int64, bounds []bound) ([]budgetRow, error) {
	rows := make([]budgetRow, len(bounds))
	for i, b := range bounds {
		if _, err := tx.Exec(ctx, `insert into reeve_budgets (account_id, rule, span, starts, currency, holder, used, updated_at)
			values ($1, $2, $3, $4, $5, $6, 0, $7) on conflict (account_id, rule, span, starts, currency, holder) do nothing`,
			account, b.Rule, string(b.Window), b.starts, b.Currency, b.holder, tx.Micros()); err != nil {
			return nil, err
		}
		if err := tx.Get(ctx, &rows[i], `select id, rule, span, starts, currency, holder, used from reeve_budgets
			where account_id = $1 and rule = $2 and span = $3 and starts = $4 and currency = $5 and holder = $6 `+tx.Dialect().ForUpdate,
			account, b.Rule, string(b.Window), b.starts, b.Currency, b.holder); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// reservation is what an intent holds of a budget.
type reservation struct {
	budgetRow
	Cents int64 `db:"cents"`
}

// reservations lists what an intent holds and has neither spent nor given back.
func reservations(ctx context.Context, tx core.Tx, intent int64) ([]reservation, error) {
	var out []reservation
	err := tx.Select(ctx, &out, `select b.id, b.rule, b.span, b.starts, b.currency, b.holder, b.used, r.cents
		from reeve_reservations r join reeve_budgets b on b.id = r.budget_id
		where r.intent_id = $1 and r.state in ('reserved', 'held')`, intent)
	slices.SortFunc(out, func(x, y reservation) int { return compareBudgets(x.budgetRow, y.budgetRow) })
	return out, err
}

// committed tells the gate what is used. What the intent itself holds already is
// not counted against it, and is looked up in the window that it was reserved in:
// an approval of yesterday counts in yesterday's budget.
func committed(bounds []bound, rows []budgetRow, own []reservation) []gate.Commitment {
	out := make([]gate.Commitment, len(bounds))
	for i, b := range bounds {
		used := rows[i].Used
		for _, r := range own {
			if r.Rule == b.Rule && r.Span == string(b.Window) && r.Currency == b.Currency && r.Holder == b.holder {
				used = r.Used - r.Cents
			}
		}
		out[i] = gate.Commitment{Rule: b.Rule, Window: b.Window, Currency: b.Currency, Each: b.Each, Cents: gate.Cents(used)}
	}
	return out
}

// holding is what a judgement found out about budgets, ready to be reserved.
type holding struct {
	bounds []bound
	rows   []budgetRow
	own    []reservation
}

// reserve takes an intent's amount from every budget of the verdict that it does
// not hold already. The rows are held since they were counted, so that what the
// gate found to fit still does.
func (h holding) reserve(ctx context.Context, tx core.Tx, intent int64, cents gate.Cents, budgets []gate.Budget) error {
	for i, b := range h.bounds {
		if !b.isOf(budgets) || h.holds(b) {
			continue
		}
		if _, err := tx.Exec(ctx, `insert into reeve_reservations (intent_id, budget_id, cents, state, created_at, updated_at)
			values ($1, $2, $3, 'reserved', $4, $4)`, intent, h.rows[i].ID, int64(cents), tx.Micros()); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `update reeve_budgets set used = used + $1, updated_at = $2 where id = $3`, int64(cents), tx.Micros(), h.rows[i].ID); err != nil {
			return err
		}
	}
	return nil
}

// isOf says that a bound is that of one of some budgets.
func (b bound) isOf(budgets []gate.Budget) bool {
	return slices.ContainsFunc(budgets, func(w gate.Budget) bool {
		return w.Rule == b.Rule && w.Window == b.Window && w.Currency == b.Currency && w.Each == b.Each
	})
}

// ahead is money that actions of the same move take of budgets, before any of them is
// carried out.
type ahead []taken

type taken struct {
	bound
	cents int64
}

// and is ahead with what one more action takes: of every budget of its verdict.
func (all ahead) and(j judgement, a gate.Action) ahead {
	for _, b := range j.holding.bounds {
		if b.isOf(j.verdict.Budgets) {
			all = append(all, taken{b, int64(*a.AmountCents)})
		}
	}
	return all
}

func (all ahead) addTo(h holding) {
	for i, b := range h.bounds {
		for _, t := range all {
			if t.same(b) {
				h.rows[i].Used += t.cents
			}
		}
	}
}

func (h holding) holds(b bound) bool {
	return slices.ContainsFunc(h.own, func(r reservation) bool {
		return r.Rule == b.Rule && r.Span == string(b.Window) && r.Currency == b.Currency && r.Holder == b.holder
	})
}

// reservationStates says what becomes of a reservation when its intent moves.
// What nobody knows the end of stays counted until somebody does (followedBy).
var reservationStates = map[Status]string{
	gate.StatusApproved:   "reserved",
	gate.StatusAllowed:    "reserved",
	gate.StatusExecuting:  "reserved",
	gate.StatusUnknown:    "held",
	gate.StatusSucceeded:  "settled",
	gate.StatusFailed:     "released",
	gate.StatusCancelled:  "released",
	gate.StatusExpired:    "released",
	gate.StatusRejected:   "released",
	gate.StatusSuperseded: "released",
}

// followedBy is what becomes of a row's reservations when it moves. What ends without
// a report after a worker had held it may have been spent, however it ends.
func (r intentRow) followedBy(to Status) string {
	if r.mayHaveActed(to) {
		return "held"
	}
	return reservationStates[to]
}

// budgetsFollow moves an intent's reservations along with it, in the transaction
// that moved it. What is settled or released stays so, whatever comes after.
func budgetsFollow(ctx context.Context, tx core.Tx, row intentRow, to Status) error {
	return moveReservations(ctx, tx, row, row.followedBy(to))
}

// moveReservations says what becomes of what an intent holds, and gives back what is
// released.
func moveReservations(ctx context.Context, tx core.Tx, row intentRow, state string) error {
	if !row.AmountCents.Valid {
		return nil
	}
	// Their rows are taken in the order in which a judgement takes them.
	held, err := reservations(ctx, tx, row.ID)
	if err != nil || len(held) == 0 {
		return err
	}
	if _, err := tx.Exec(ctx, `update reeve_reservations set state = $1, updated_at = $2 where intent_id = $3 and state in ('reserved', 'held')`,
		state, tx.Micros(), row.ID); err != nil || state != "released" {
		return err
	}
	for _, r := range held {
		if _, err := tx.Exec(ctx, `update reeve_budgets set used = used - $1, updated_at = $2 where id = $3`, r.Cents, tx.Micros(), r.ID); err != nil {
			return err
		}
	}
	return nil
}

// BudgetInfo is what one budget holds in the window of now.
type BudgetInfo struct {
	Rule     string      `json:"rule"`     // the rule whose budget it is; empty: a cap of the policy
	Window   gate.Window `json:"window"`   // day, week, month or year
	Starts   string      `json:"starts"`   // the window's name: 2026-03-08, 2026-W10, 2026-03, 2026
	Ends     time.Time   `json:"ends"`     // when the next one begins
	Currency string      `json:"currency"` // ISO 4217
	Holder   string      `json:"holder"`   // the principal, where each has its own; empty: the account
	Max      int64       `json:"max"`      // minor units
	Used     int64       `json:"used"`     // minor units: spent, reserved, and of unknown end
}

// Budgets lists what the budgets of the present policy hold now, of an account. One
// that nothing was taken from stands there with nothing used; those that each
// principal has are listed for the principals that used them.
func (op *Operator) Budgets(ctx context.Context, account string) ([]BudgetInfo, error) {
	out := []BudgetInfo{}
	err := op.inView(ctx, func(tx core.Tx) error {
		ws, err := findWorkspace(ctx, tx, account, "")
		if err != nil {
			return err
		}
		zone, err := core.LoadZone(ws.Zone)
		if err != nil {
			return err
		}
		policy, err := op.policies.at(ctx, tx, ws.AccountID)
		if err != nil {
			return err
		}
		standing, err := standingOf(ctx, tx, ws, policy)
		if err != nil {
			return err
		}
		for _, b := range withStanding(policy.Budgets(), standing) {
			if b.Window == gate.PerAct {
				continue
			}
			infos, err := budgetInfos(ctx, tx, ws, b, zone)
			if err != nil {
				return err
			}
			out = append(out, infos...)
		}
		return nil
	})
	return out, err
}

func budgetInfos(ctx context.Context, tx core.Tx, ws workspace, b gate.Budget, zone *time.Location) ([]BudgetInfo, error) {
	var rows []struct {
		Holder string `db:"holder"`
		Used   int64  `db:"used"`
	}
	starts := b.Window.Name(tx.Now(), zone)
	err := tx.Select(ctx, &rows, `select holder, used from reeve_budgets
		where account_id = $1 and rule = $2 and span = $3 and starts = $4 and currency = $5 order by holder`, ws.AccountID, b.Rule, string(b.Window), starts, b.Currency)
	if err != nil {
		return nil, err
	}
	_, ends := b.Window.Bounds(tx.Now(), zone)
	info := BudgetInfo{Rule: b.Rule, Window: b.Window, Starts: starts, Ends: ends.UTC(), Currency: b.Currency, Max: int64(b.Max)}
	var out []BudgetInfo
	for _, r := range rows {
		if (r.Holder == "") == (b.Each == gate.EachAccount) {
			info.Holder, info.Used = r.Holder, r.Used
			out = append(out, info)
		}
	}
	if len(out) == 0 && b.Each == gate.EachAccount {
		out = append(out, info)
	}
	return out, nil
}

func withStanding(all []gate.Budget, standing []gate.Rule) []gate.Budget {
	for _, r := range standing {
		if r.Budget != nil {
			b := *r.Budget
			b.Rule = r.ID
			all = append(all, b)
		}
	}
	return all
}
