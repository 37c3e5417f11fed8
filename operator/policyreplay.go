package operator

import (
	"container/heap"
	"context"
	"slices"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// A replay judges recorded intents again, in the order in which they were recorded,
// by a policy that may be another one. The facts are those of then: the moment, who
// asked, the standing approvals; the account's zone and its own addresses are those
// of now, since no others are kept. What was committed of a budget is counted anew:
// an intent counts from the moment that this policy allows it, or that a person
// really approved it, until its money was really given back.
type replay struct {
	policy   *gate.Policy
	zone     *time.Location
	inside   []string
	currency string
	standing map[int64][]bounded // by project
	budgets  []gate.Budget
	windows  [4]openWindow
	used     map[budgetKey]int64
	later    moves
	facts    gate.Facts // one for all, to be filled again
}

// bounded is a standing approval and the time that it holds, in microseconds.
type bounded struct {
	gate.Rule
	from, until int64
}

// budgetKey is one budget in one window.
type budgetKey struct {
	rule, starts, currency, holder string
	window                         gate.Window
}

// openWindow is the window of a span that was met last.
type openWindow struct {
	name     string
	from, to time.Time
}

// move is money that is taken from budgets, or given back, at a later moment.
type move struct {
	at    int64
	keys  []budgetKey
	cents int64
}

// moves is a heap, the earliest first.
type moves []move

func (m moves) Len() int           { return len(m) }
func (m moves) Less(i, j int) bool { return m[i].at < m[j].at }
func (m moves) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *moves) Push(x any)        { *m = append(*m, x.(move)) }
func (m *moves) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}

func newReplay(ws workspace, policy *gate.Policy, standing map[int64][]pastStanding) (*replay, error) {
	zone, err := core.LoadZone(ws.Zone)
	if err != nil {
		return nil, err
	}
	r := &replay{policy: policy, zone: zone, inside: stored(ws.Inside), currency: ws.Currency, standing: map[int64][]bounded{}, used: map[budgetKey]int64{}}
	all := policy.Budgets()
	for project, rows := range standing {
		for _, row := range rows {
			rule := answerable(row.standingRow, policy)
			if len(rule.InsteadOf) == 0 {
				continue
			}
			r.standing[project] = append(r.standing[project], bounded{rule, row.CreatedAt, row.ended()})
			all = withStanding(all, []gate.Rule{rule})
		}
	}
	for _, b := range all {
		if b.Window != gate.PerAct {
			r.budgets = append(r.budgets, b)
		}
	}
	return r, nil
}

// counts says whether what others spent has a part in the verdicts.
func (r *replay) counts() bool { return len(r.budgets) > 0 }

// judge says what the policy would have said of an intent when it was recorded, and
// counts it.
func (r *replay) judge(p *past) gate.Verdict {
	r.until(p.CreatedAt)
	now := core.FromMicros(p.CreatedAt)
	f := &r.facts
	f.Now, f.Zone, f.Inside, f.Currency, f.Principal = now, r.zone, r.inside, r.currency, p.RecordedBy
	f.Standing = r.standingAt(p)
	f.Committed = f.Committed[:0]
	if p.action.AmountCents != nil {
		for _, b := range r.budgets {
			if b.Currency == p.action.Currency {
				f.Committed = append(f.Committed, gate.Commitment{Rule: b.Rule, Window: b.Window, Currency: b.Currency, Each: b.Each,
					Cents: gate.Cents(r.used[r.key(b, p.RecordedBy, now)])})
			}
		}
	}
	v := r.policy.Evaluate(p.action, *f)
	if p.action.AmountCents != nil && len(v.Budgets) > 0 {
		r.count(p, v)
	}
	return v
}

// count takes an intent's money: from when this policy allows it, or else from when
// a person approved it, and until it was given back, where that really happened.
func (r *replay) count(p *past, v gate.Verdict) {
	at := p.CreatedAt
	switch {
	case v.Effect == gate.Allow:
	case v.Effect == gate.RequiresApproval && p.granted():
		at = max(at, p.approvedAt())
	default:
		return
	}
	when := core.FromMicros(at)
	var keys []budgetKey
	for _, b := range v.Budgets {
		if b.Window == gate.PerAct {
			continue
		}
		if key := r.key(b, p.RecordedBy, when); !slices.Contains(keys, key) { // two caps of one window count the same money
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return
	}
	cents := int64(*p.action.AmountCents)
	r.then(move{at, keys, cents}, p.CreatedAt)
	if p.granted() && p.SettledAt.Valid && reservationStates[p.Status] == "released" {
		r.then(move{max(at, p.SettledAt.Int64), keys, -cents}, p.CreatedAt)
	}
}

func (r *replay) then(m move, now int64) {
	if m.at <= now {
		r.apply(m)
		return
	}
	heap.Push(&r.later, m)
}

// until does what had happened by a moment.
func (r *replay) until(at int64) {
	for len(r.later) > 0 && r.later[0].at <= at {
		r.apply(heap.Pop(&r.later).(move))
	}
}

func (r *replay) apply(m move) {
	for _, key := range m.keys {
		r.used[key] += m.cents
	}
}

func (r *replay) key(b gate.Budget, principal string, at time.Time) budgetKey {
	key := budgetKey{rule: b.Rule, window: b.Window, currency: b.Currency, starts: r.starts(b.Window, at)}
	if b.Each == gate.EachPrincipal {
		key.holder = principal
	}
	return key
}

// starts names the window that holds a moment; that of the moment before is at hand.
func (r *replay) starts(w gate.Window, at time.Time) string {
	i := slices.Index([]gate.Window{gate.PerDay, gate.PerWeek, gate.PerMonth, gate.PerYear}, w)
	if i < 0 {
		return ""
	}
	if o := &r.windows[i]; o.name == "" || at.Before(o.from) || !at.Before(o.to) {
		o.from, o.to = w.Bounds(at, r.zone)
		o.name = w.Name(at, r.zone)
	}
	return r.windows[i].name
}

// standingAt lists the standing approvals of the intent's project that held then.
func (r *replay) standingAt(p *past) []gate.Rule {
	var out []gate.Rule
	for _, s := range r.standing[p.ProjectID] {
		named := p.action.AmountCents == nil || s.Match.Amount != nil
		if named && s.from <= p.CreatedAt && p.CreatedAt < s.until {
			out = append(out, s.Rule)
		}
	}
	return out
}

// pastStanding is a standing approval with when its giver left the list of people.
type pastStanding struct {
	standingRow
	RemovedAt *int64 `db:"removed_at"`
}

func (s pastStanding) ended() int64 {
	end := s.Until
	if s.RevokedAt.Valid {
		end = min(end, s.RevokedAt.Int64)
	}
	if s.RemovedAt != nil {
		end = min(end, *s.RemovedAt)
	}
	return end
}

// pastStandings lists every standing approval that an account ever had, by project.
func pastStandings(ctx context.Context, tx core.Tx, account int64) (map[int64][]pastStanding, error) {
	var rows []pastStanding
	err := tx.Select(ctx, &rows, `select `+standingColumns+`, h.removed_at from reeve_standing s join reeve_people h on h.id = s.person_id
		where s.account_id = $1 order by s.id`, account)
	out := map[int64][]pastStanding{}
	for _, r := range rows {
		out[r.ProjectID] = append(out[r.ProjectID], r)
	}
	return out, err
}
