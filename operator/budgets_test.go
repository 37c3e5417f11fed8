package operator_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

// dailyCap allows small spends, asks for large ones, and caps the day.
const dailyCap = `
version: 1
extends: default
caps:
  - {currency: USD, max: 99, window: day}
rules:
  - id: small
    match: {types: [spend], amount: {currency: USD, max: 10}}
    effect: allow
    instead_of: [spending]
    reason: Ten cents are settled.
`

func TestOfAHundredSpendsAtOnceABudgetOfNinetyNineLetsNinetyNinePass(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		opts := &operator.Options{Policy: policy(t, dailyCap)}
		w := operatortest.New(t, store, opts)
		other := w.Again(t, opts)
		db := operatortest.Database(t, w.Where)
		stop, watched := make(chan struct{}), make(chan int64)
		go func() { // nobody ever reads more than the cap
			most := int64(0)
			for {
				select {
				case <-stop:
					watched <- most
					return
				default:
					var used sql.NullInt64
					if err := db.QueryRow(`select max(used) from reeve_budgets`).Scan(&used); err == nil {
						most = max(most, used.Int64)
					}
				}
			}
		}()
		statuses := together(100, func(i int) gate.Status {
			op := w.Operator
			if i%2 == 1 {
				op = other
			}
			in, err := op.RecordIntent(ctx, w.Agent, spend(fmt.Sprintf("Unit %d", i), 1))
			if err != nil {
				return gate.Status(err.Error())
			}
			return in.Status
		})
		close(stop)
		got := map[gate.Status]int{}
		for _, s := range statuses {
			got[s]++
		}
		if got[gate.StatusAllowed] != 99 || got[gate.StatusDenied] != 1 {
			t.Errorf("%v", got)
		}
		if most := <-watched; most > 99 {
			t.Errorf("%d were read as used", most)
		}
		sameBudgets(t, db)
	})
}

func TestOfAHundredApprovalsAtOnceABudgetOfNinetyNineLetsNinetyNinePass(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		opts := &operator.Options{Policy: policy(t, "version: 1\nextends: default\ncaps: [{currency: USD, max: 99, window: day}]\n")}
		w := operatortest.New(t, store, opts)
		other := w.Again(t, opts)
		intents := make([]operator.Intent, 100)
		for i := range intents {
			intents[i] = w.Record(t, spend(fmt.Sprintf("Unit %d", i), 1))
		}
		errs := together(100, func(i int) error {
			op := w.Operator
			if i%2 == 1 {
				op = other
			}
			_, err := op.Approve(ctx, w.Owner, act(intents[i]))
			return err
		})
		refused := 0
		for _, err := range errs {
			if err != nil {
				refused++
				r := mustBe(t, err, operator.ErrBudget)
				for _, part := range []string{"0.99 USD a day", "0.00 USD is left until 2026-03-04 00:00Z"} {
					if !strings.Contains(r.Message, part) {
						t.Errorf("%q lacks %q", r.Message, part)
					}
				}
			}
		}
		if refused != 1 {
			t.Errorf("%d refused", refused)
		}
		sameBudgets(t, operatortest.Database(t, w.Where))
	})
}

// sameBudgets fails unless every count is the sum of what is reserved by it, and
// every reservation stands as its intent does.
func sameBudgets(t testing.TB, db *sql.DB) {
	t.Helper()
	for _, row := range operatortest.Rows(t, db, `select b.id, b.rule, b.span, b.starts, b.holder, b.used, coalesce(sum(case when r.state = 'released' then 0 else r.cents end), 0)
		from reeve_budgets b left join reeve_reservations r on r.budget_id = b.id group by b.id, b.rule, b.span, b.starts, b.holder, b.used`) {
		cells := strings.Split(row, "|")
		if n := len(cells); cells[n-1] != cells[n-2] {
			t.Fatalf("a budget counts %s, and %s is reserved: %s", cells[n-2], cells[n-1], row)
		}
	}
	want := map[string]string{"approved": "reserved", "allowed": "reserved", "executing": "reserved", "unknown": "held", "succeeded": "settled",
		"failed": "released", "cancelled": "released", "expired": "released",
		"cancelled, and may have run": "held", "expired, and may have run": "held"}
	for _, row := range operatortest.Rows(t, db, `select i.status || case when i.status in ('cancelled', 'expired') and i.fencing_token > 0 and i.reissued_as is null
		then ', and may have run' else '' end, r.state, i.id from reeve_reservations r join reeve_intents i on i.id = r.intent_id`) {
		cells := strings.Split(row, "|")
		if want[cells[0]] != cells[1] {
			t.Fatalf("intent %s is %s, and its reservation %s", cells[2], cells[0], cells[1])
		}
	}
}

// used is what the one budget of a kind holds now.
func used(t testing.TB, w *operatortest.World, rule string, window gate.Window) int64 {
	t.Helper()
	all, err := w.Budgets(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range all {
		if b.Rule == rule && b.Window == window {
			return b.Used
		}
	}
	t.Fatalf("no budget of %q a %s among %+v", rule, window, all)
	return 0
}

func TestAReservationFollowsItsIntentToTheEnd(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, &operator.Options{Policy: policy(t, dailyCap)})
		db := operatortest.Database(t, w.Where)
		claim := func(idempotent ...string) *operator.Job {
			got, err := w.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"spend"}, Idempotent: idempotent})
			if err != nil || got.Job == nil {
				t.Fatalf("%+v, %v", got, err)
			}
			return got.Job
		}
		report := func(j *operator.Job, status string) {
			_, err := w.Report(ctx, w.Worker, operator.ReportInput{ID: j.Intent.ID, FencingToken: j.FencingToken, Status: status})
			mustHave(t, err)
		}
		unknown := func() operator.Intent {
			j := claim()
			lapse(t, db, j.Intent.ID)
			_, err := w.Sweep(ctx)
			mustHave(t, err)
			return j.Intent
		}
		settle := func(status string) {
			_, err := w.Settle(ctx, w.Owner, operator.SettleInput{ID: unknown().ID, Status: status})
			mustHave(t, err)
		}
		settled := int64(0) // what is spent for good
		for i, c := range []struct {
			name  string
			then  func(in operator.Intent)
			after int64 // of the ten that it reserved
		}{
			{"what succeeded is spent", func(operator.Intent) { report(claim(), "succeeded") }, 10},
			{"what failed is free again", func(operator.Intent) { report(claim(), "failed") }, 0},
			{"what a person takes back is free again", func(in operator.Intent) { _, err := w.Revoke(ctx, w.Owner, act(in)); mustHave(t, err) }, 0},
			{"what its recorder withdraws is free again", func(in operator.Intent) {
				_, err := w.UpdateIntent(ctx, w.Agent, operator.UpdateIntentInput{ID: in.ID, Status: "cancelled"})
				mustHave(t, err)
			}, 0},
			{"what a person settles as failed is free again", func(operator.Intent) { settle("failed") }, 0},
			{"what a person settles as succeeded is spent", func(operator.Intent) { settle("succeeded") }, 10},
			{"what went back to wait is still reserved, and fails once", func(operator.Intent) {
				j := claim("spend")
				lapse(t, db, j.Intent.ID)
				_, err := w.Sweep(ctx)
				mustHave(t, err)
				if got := used(t, w, "", gate.PerDay); got != settled+10 {
					t.Errorf("while it waits again: %d", got)
				}
				again := claim("spend")
				report(again, "failed")
				report(again, "failed")
			}, 0},
			{"what nobody knows the end of is held", func(operator.Intent) { unknown() }, 10},
		} {
			in := w.Record(t, spend(fmt.Sprintf("Thing %d", i), 10))
			if got := used(t, w, "", gate.PerDay); got != settled+10 || in.Status != gate.StatusAllowed {
				t.Fatalf("%s: %d once it is %s", c.name, got, in.Status)
			}
			c.then(in)
			settled += c.after
			if got := used(t, w, "", gate.PerDay); got != settled {
				t.Errorf("%s: %d used, want %d", c.name, got, settled)
			}
			sameBudgets(t, db)
		}
		in := w.Record(t, spend("What lapses", 10))
		w.Clock.Advance(25 * time.Hour)
		_, err := w.Sweep(ctx)
		mustHave(t, err)
		if statusOf(t, db, in.ID) != "expired" {
			t.Error("it did not lapse")
		}
		sameBudgets(t, db)
	})
}

func TestARecordingThatIsSentAgainReservesOnce(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, &operator.Options{Policy: policy(t, dailyCap)})
		for range 3 {
			w.Record(t, spend("The same", 10))
		}
		if got := used(t, w, "", gate.PerDay); got != 10 {
			t.Errorf("%d", got)
		}
	})
}

func TestADenialSaysWhichBoundAndHowMuchIsLeft(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, &operator.Options{Policy: policy(t, dailyCap)})
		w.Record(t, spend("First", 10))
		in := w.Record(t, spend("Too much", 90))
		if in.Status != gate.StatusDenied || !strings.Contains(strings.Join(in.PolicyReasons, "\n"), "of 0.99 USD a day, 0.89 USD is left until 2026-03-04 00:00Z") {
			t.Errorf("%s: %q", in.Status, in.PolicyReasons)
		}
	})
}

// TestEveryActBeyondABudgetSaysHowMuchIsLeft: approving, editing and another chance
// meet the same bound, and say the same of it.
func TestEveryActBeyondABudgetSaysHowMuchIsLeft(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		for name, do := range map[string]func(w *operatortest.World) (int64, error){
			"approve": func(w *operatortest.World) (int64, error) {
				first, second := w.Record(t, spend("First", 20)), w.Record(t, spend("Second", 20))
				_, err := w.Approve(t.Context(), w.Owner, act(first))
				mustHave(t, err)
				_, err = w.Approve(t.Context(), w.Owner, act(second))
				return second.ID, err
			},
			"edit": func(w *operatortest.World) (int64, error) {
				in := w.Record(t, spend("Second", 15))
				w.Approved(t, spend("First", 20))
				_, err := w.Edit(t.Context(), w.Owner, operator.EditInput{ID: in.ID, Digest: in.Digest, Action: spend("Second", 90).Action})
				return in.ID, err
			},
			"reissue": func(w *operatortest.World) (int64, error) {
				in := w.Record(t, spend("Second", 90))
				_, err := w.Reject(t.Context(), w.Owner, act(in))
				mustHave(t, err)
				w.Approved(t, spend("First", 20))
				_, err = w.Reissue(t.Context(), w.Owner, operator.ReissueInput{ID: in.ID})
				return in.ID, err
			},
		} {
			t.Run(name, func(t *testing.T) {
				bound := map[bool]string{true: dailyCap, false: strings.Replace(dailyCap, "max: 99", "max: 30", 1)}[name != "approve"]
				w := operatortest.New(t, store, &operator.Options{Policy: policy(t, bound)})
				id, err := do(w)
				r := mustBe(t, err, operator.ErrBudget)
				left := map[bool]string{true: "0.79 USD is left until 2026-03-04 00:00Z", false: "0.10 USD is left until 2026-03-04 00:00Z"}[name != "approve"]
				infos, _ := r.Details["budgets"].([]operator.BudgetInfo)
				if !strings.Contains(r.Message, left) || len(infos) != 1 || infos[0].Used != 20 || r.Details["intent_id"] != id || r.Details["policy_reasons"] == nil {
					t.Errorf("%v %+v", r, r.Details)
				}
			})
		}
	})
}

// TestAWindowIsTheCalendarsInTheAccountsZone spends a whole day's budget in the
// first and in the last minute of days that are short, long, or begin late.
func TestAWindowIsTheCalendarsInTheAccountsZone(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		for _, c := range []struct{ zone, name, first, last, next string }{
			{"America/New_York", "a day of 23 hours", "2026-03-08T05:00:00Z", "2026-03-09T03:59:59Z", "2026-03-09T04:00:00Z"},
			{"America/New_York", "a day of 25 hours", "2026-11-01T04:00:00Z", "2026-11-02T04:59:59Z", "2026-11-02T05:00:00Z"},
			{"America/Havana", "a day whose midnight does not exist", "2026-03-08T05:00:00Z", "2026-03-09T03:59:59Z", "2026-03-09T04:00:00Z"},
			{"Asia/Kathmandu", "a zone of three quarters of an hour", "2026-03-03T18:15:00Z", "2026-03-04T18:14:59Z", "2026-03-04T18:15:00Z"},
		} {
			t.Run(c.zone+", "+c.name, func(t *testing.T) {
				w := operatortest.New(t, store, &operator.Options{Policy: policy(t, dailyCap)})
				execute(t, operatortest.Database(t, w.Where), `update reeve_accounts set zone = $1`, c.zone)
				at := func(moment, title string, want gate.Status) {
					t.Helper()
					when, err := time.Parse(time.RFC3339, moment)
					mustHave(t, err)
					w.Clock.Set(when)
					for i := range 9 {
						w.Record(t, spend(fmt.Sprintf("%s %d", title, i), 10))
					}
					if in := w.Record(t, spend(title, 10)); in.Status != want {
						t.Errorf("at %s: %s", moment, in.Status)
					}
				}
				at(c.first, "first", gate.StatusDenied)
				w.Clock.Advance(-time.Second)
				if in := w.Record(t, spend("the day before", 10)); in.Status != gate.StatusAllowed {
					t.Errorf("the day before: %s", in.Status)
				}
				when, _ := time.Parse(time.RFC3339, c.last)
				w.Clock.Set(when)
				if in := w.Record(t, spend("last", 10)); in.Status != gate.StatusDenied {
					t.Errorf("in the last second of the day: %s", in.Status)
				}
				at(c.next, "next", gate.StatusDenied)
			})
		}
	})
}

func TestEachPrincipalHasItsOwnWhereThePolicySaysSo(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, &operator.Options{Policy: policy(t, `
version: 1
extends: default
caps:
  - {currency: USD, max: 150, window: month}
  - {currency: USD, max: 100, window: week, each: principal}
rules:
  - id: small
    match: {types: [spend]}
    effect: allow
    instead_of: [spending]
    reason: Small sums are settled.
`)})
		m := w.Mint(t, operator.NewCredential{Kind: operator.KindAgent, Name: "second", Scopes: operator.Scopes()})
		second := w.Principal(t, m.Token)
		for _, c := range []struct {
			who    operator.Principal
			title  string
			amount int64
			want   gate.Status
		}{
			{w.Agent, "all of its own", 100, gate.StatusAllowed},
			{w.Agent, "one more", 1, gate.StatusDenied},
			{second, "half of its own", 50, gate.StatusAllowed},
			{second, "within its own, beyond the account's", 1, gate.StatusDenied},
		} {
			in, err := w.RecordIntent(ctx, c.who, spend(c.title, c.amount))
			if err != nil || in.Status != c.want {
				t.Errorf("%s: %s %q, %v", c.title, in.Status, in.PolicyReasons, err)
			}
		}
		all, err := w.Budgets(ctx, "")
		if err != nil || len(all) != 3 || all[0].Used != 150 || all[1].Holder != "agent:agent" || all[1].Used != 100 || all[2].Holder != "agent:second" || all[2].Used != 50 {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

func TestAnAllowBeyondItsBudgetGoesToAPersonAndSaysWhy(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, &operator.Options{Policy: policy(t, `
version: 1
extends: default
rules:
  - id: small
    match: {types: [spend]}
    effect: allow
    instead_of: [spending]
    reason: Small sums are settled.
    budget: {window: month, currency: USD, max: 100}
`)})
		if in := w.Record(t, spend("First", 60)); in.Status != gate.StatusAllowed {
			t.Fatal(in.Status)
		}
		in := w.Record(t, spend("Second", 60))
		if in.Status != gate.StatusPendingApproval || !strings.Contains(strings.Join(in.PolicyReasons, "\n"), "The rule small would allow this, and its budget has not enough left: of 1.00 USD a month, 0.40 USD is left until 2026-04-01 00:00Z.") {
			t.Errorf("%s: %q", in.Status, in.PolicyReasons)
		}
		if _, err := w.Approve(ctx, w.Owner, act(in)); err != nil {
			t.Error("a person may still say yes:", err)
		}
		if got := used(t, w, "small", gate.PerMonth); got != 60 {
			t.Errorf("what a person approved counts in the rule's own budget: %d", got)
		}
	})
}

func TestAHarderPolicyIsCountedAgainWhenAWorkerClaims(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		first, second := w.Approved(t, spend("First", 60)), w.Approved(t, spend("Second", 60))
		w.SetPolicy(t, "version: 1\nextends: default\ncaps: [{currency: USD, max: 100, window: day}]\n")
		got, err := w.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"spend"}})
		if err != nil || got.Job == nil || got.Job.Intent.ID != first.ID {
			t.Fatalf("the first fits: %+v, %v", got, err)
		}
		got, err = w.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"spend"}})
		if err != nil || got.Job != nil || statusOf(t, db, second.ID) != "cancelled" {
			t.Errorf("the second does not: %+v, %v, %s", got, err, statusOf(t, db, second.ID))
		}
		sameBudgets(t, db)
	})
}

func TestAnApprovalOfYesterdayCountsInYesterdaysBudget(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, &operator.Options{Policy: policy(t, "version: 1\nextends: default\ncaps: [{currency: USD, max: 100, window: day}]\n")})
		old := w.Approved(t, spend("Yesterday's", 80))
		w.Clock.Advance(13 * time.Hour)
		w.Approved(t, spend("Today's", 80))
		got, err := w.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"spend"}})
		if err != nil || got.Job == nil || got.Job.Intent.ID != old.ID {
			t.Fatalf("%+v, %v", got, err)
		}
		_, err = w.Report(ctx, w.Worker, operator.ReportInput{ID: old.ID, FencingToken: got.Job.FencingToken, Status: "failed"})
		mustHave(t, err)
		if got := used(t, w, "", gate.PerDay); got != 80 {
			t.Errorf("what failed of yesterday's freed %d of today's", 80-got)
		}
		sameBudgets(t, operatortest.Database(t, w.Where))
	})
}
