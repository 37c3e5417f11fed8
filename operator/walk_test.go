package operator_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"database/sql"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

var walkSeed = flag.Uint64("walk-seed", 0, "seed of the random walk; 0: a new one each time")

// bounded is twoPeople with money bounded in every way: what an allow may spend, the
// account, and each principal.
const bounded = twoPeople + `
  - id: small
    match: {types: [spend], amount: {currency: USD, max: 100}}
    effect: allow
    instead_of: [spending]
    reason: A dollar is settled.
    budget: {window: week, currency: USD, max: 1000}
caps:
  - {currency: USD, max: 1000000, window: day}
  - {currency: USD, max: 5000000, window: month, each: principal}
`

// walk is a random sequence of everything that an agent, a worker, two people,
// and time can do. It knows nothing of what should succeed: what it checks is
// what must be true after each step, whatever the step was.
type walk struct {
	*operatortest.World
	db      *sql.DB
	r       *rand.Rand
	ana     operator.Person
	types   []string
	tokens  map[int64]int64
	at      map[int64]gate.Status // where the record says that each intent stands
	ended   map[int64]string      // rows that are terminal, whole
	judged  map[string]string     // decisions, whole
	audited int64
}

func TestWhateverHappensOnlyTheLifecyclesMovesAreSeen(t *testing.T) {
	seed := *walkSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("run this walk again with -walk-seed=%d", seed)
	steps := 500
	if testing.Short() {
		steps = 100
	}
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := &walk{World: operatortest.New(t, store, &operator.Options{Policy: policy(t, bounded)}),
			r: rand.New(rand.NewPCG(seed, 1)), tokens: map[int64]int64{}, at: map[int64]gate.Status{},
			ended: map[int64]string{}, judged: map[string]string{}, types: []string{"note", "spend", "job", "policy_change"}}
		w.db = operatortest.Database(t, w.Where)
		w.ana, _ = w.NewPerson(t, "ana", operator.RoleAdmin)
		w.audited = count(t, w.db, `select max(id) from reeve_audit`)
		reached := map[gate.Status]bool{}
		// A walk that has not been everywhere yet goes on for a while: where chance
		// leads within so many steps is no fault of what is tested.
		everywhere := func() bool { return testing.Short() || len(reached) == len(gate.Statuses()) }
		for n := 0; n < steps || !everywhere() && n < 20*steps; n++ {
			what, err := w.step()
			var r *operator.Refusal
			if err != nil && !errors.As(err, &r) {
				t.Fatalf("step %d, %s: %v", n, what, err)
			}
			w.check(t, fmt.Sprintf("step %d, %s (%v)", n, what, err))
			for _, s := range w.at {
				reached[s] = true
			}
		}
		for _, s := range gate.Statuses() {
			if !reached[s] && !testing.Short() {
				t.Errorf("the walk never came to %s: it proves nothing about that", s)
			}
		}
	})
}

// pick is one of the last intents, or none.
func (w *walk) pick() operator.Intent {
	if len(w.at) == 0 {
		return operator.Intent{ID: 1}
	}
	id := max(1, int64(len(w.at))-w.r.Int64N(12))
	in, err := w.ShowIntent(context.Background(), w.Owner, id)
	if err != nil {
		return operator.Intent{ID: id}
	}
	return in
}

func (w *walk) step() (what string, err error) {
	ctx := context.Background()
	in := w.pick()
	person := w.Owner
	if w.r.IntN(2) == 0 {
		person = w.ana
	}
	judged := func(name string, f func(context.Context, operator.Person, operator.ActInput) (operator.Intent, error)) (string, error) {
		_, err := f(ctx, person, act(in))
		return fmt.Sprintf("%s %d by %s", name, in.ID, person.ID()), err
	}
	word := []string{"succeeded", "failed"}[w.r.IntN(2)]
	switch w.r.IntN(16) {
	case 0, 1, 2:
		return w.record()
	case 3, 4:
		return judged("approve", w.Approve)
	case 5:
		return judged("reject", w.Reject)
	case 6:
		return judged("ignore", w.Ignore)
	case 7:
		return judged("revoke", w.Revoke)
	case 8:
		a := gate.Action{Type: in.ActionType, Title: in.Title, AmountCents: cents(w.amount()), Body: fmt.Sprint(w.r.IntN(100))}
		_, err := w.Edit(ctx, person, operator.EditInput{ID: in.ID, Digest: in.Digest, Action: a})
		return fmt.Sprintf("edit %d", in.ID), err
	case 9:
		_, err := w.Settle(ctx, person, operator.SettleInput{ID: in.ID, Status: word})
		return fmt.Sprintf("settle %d", in.ID), err
	case 10:
		_, err := w.UpdateIntent(ctx, w.Agent, operator.UpdateIntentInput{ID: in.ID, Status: "cancelled"})
		return fmt.Sprintf("withdraw %d", in.ID), err
	case 11, 12:
		return w.claim()
	case 13:
		_, err := w.Report(ctx, w.Worker, operator.ReportInput{ID: in.ID, FencingToken: max(1, w.tokens[in.ID]), Status: word})
		return fmt.Sprintf("report %d", in.ID), err
	case 14:
		_, err := w.db.Exec(`update reeve_intents set lease_until = 1 where id = $1 and status = 'executing'`, in.ID)
		return fmt.Sprintf("lapse %d", in.ID), err
	default:
		w.Clock.Advance(time.Duration(w.r.IntN(900)-60) * time.Minute) // clocks go back, too
		_, err := w.Sweep(ctx)
		return "time", err
	}
}

func (w *walk) amount() int64 { return []int64{100, 4900, 250000}[w.r.IntN(3)] }

func (w *walk) record() (string, error) {
	a := gate.Action{Type: w.types[w.r.IntN(len(w.types))], Title: fmt.Sprintf("Thing %d", w.r.IntN(40)), AmountCents: cents(w.amount())}
	in, err := w.RecordIntent(context.Background(), w.Agent, operator.RecordIntentInput{Action: a})
	return fmt.Sprintf("record %d", in.ID), err
}

func (w *walk) claim() (string, error) {
	in := operator.ClaimInput{Types: w.types, LeaseSeconds: number(3600)}
	if w.r.IntN(2) == 0 {
		in.Idempotent = w.types
	}
	got, err := w.Claim(context.Background(), w.Worker, in)
	if got.Job != nil {
		w.tokens[got.Job.Intent.ID] = got.Job.FencingToken
	}
	return "claim", err
}

var moved = regexp.MustCompile(`^(?:(\w+) )?-> (\w+)`)

// check replays the new lines of the record, and compares what they say with
// the rows.
func (w *walk) check(t *testing.T, after string) {
	t.Helper()
	for _, line := range operatortest.Rows(t, w.db, `select id, intent_id, outcome, principal, action from reeve_audit
		where id > $1 and intent_id is not null and verdict = 'done' order by id`, w.audited) {
		var id, intent int64
		cells := strings.SplitN(line, "|", 3)
		fmt.Sscan(cells[0], &id)
		fmt.Sscan(cells[1], &intent)
		w.audited = max(w.audited, id)
		m := moved.FindStringSubmatch(cells[2])
		if m == nil {
			continue
		}
		from, to := gate.Status(m[1]), gate.Status(m[2])
		if w.at[intent] != from {
			t.Fatalf("%s: the record moves intent %d from %q, where it last stood at %q: %s", after, intent, from, w.at[intent], line)
		}
		if !inTable(from, to) {
			t.Fatalf("%s: intent %d went from %q to %q: %s", after, intent, from, to, line)
		}
		w.at[intent] = to
	}
	w.checkRows(t, after)
	sameBudgets(t, w.db)
	w.checkDecisions(t, after)
}

func inTable(from, to gate.Status) bool {
	for _, tr := range gate.Transitions() {
		if tr.From == from && tr.To == to {
			return true
		}
	}
	return false
}

func (w *walk) checkRows(t *testing.T, after string) {
	t.Helper()
	rows := operatortest.Rows(t, w.db, `select * from reeve_intents order by id`)
	states := operatortest.Rows(t, w.db, `select status, case when settled_at is null then 'open' else 'settled' end, id from reeve_intents order by id`)
	if len(rows) != len(w.at) {
		t.Fatalf("%s: %d rows, and the record knows of %d", after, len(rows), len(w.at))
	}
	for i, state := range states {
		var id int64
		cells := strings.Split(state, "|")
		fmt.Sscan(cells[2], &id)
		status := gate.Status(cells[0])
		if status != w.at[id] {
			t.Fatalf("%s: intent %d is %s, and by the record %s", after, id, status, w.at[id])
		}
		if status.Terminal() != (cells[1] == "settled") {
			t.Fatalf("%s: intent %d is %s and %s", after, id, status, cells[1])
		}
		if old, was := w.ended[id]; was && old != rows[i] {
			t.Fatalf("%s: a terminal row changed:\n%s\n%s", after, old, rows[i])
		}
		if status.Terminal() {
			w.ended[id] = rows[i]
		}
	}
}

func (w *walk) checkDecisions(t *testing.T, after string) {
	t.Helper()
	seen := map[string]string{}
	for _, row := range operatortest.Rows(t, w.db, `select * from reeve_decisions order by id`) {
		id, _, _ := strings.Cut(row, "|")
		seen[id] = row
	}
	for id, row := range w.judged {
		if seen[id] != row {
			t.Fatalf("%s: decision %s was rewritten:\n%s\n%s", after, id, row, seen[id])
		}
	}
	w.judged = seen
}
