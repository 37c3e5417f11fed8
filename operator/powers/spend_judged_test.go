package powers_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

// several is a row that spends several sums in one call.
type several struct {
	Cents []int64  `json:"cents" validate:"required,min=1,max=20" doc:"How much each, in minor units."`
	Type  []string `json:"types,omitzero" validate:"max=20" doc:"The type of each action; spend when left out."`
}

func (in several) shape() (out []gate.Action) {
	for i, c := range in.Cents {
		a := gate.Action{Type: "spend", Title: fmt.Sprintf("Part %d", i), Recipient: "vendor@shop.example", AmountCents: cents(c)}
		if len(in.Type) > i {
			a.Type = in.Type[i]
		}
		out = append(out, a)
	}
	return out
}

// withSeveral puts a row that spends several sums beside the others.
func (w *world) withSeveral() (*testRows, *powers.Tool) {
	w.t.Helper()
	r := &testRows{}
	s, err := powers.WithRows(w.Operator, append(r.rows(), powers.SpendRow(spec("test_several", powers.Spend, powers.Intents), several.shape,
		func(context.Context, operator.Principal, several) (did, error) {
			r.handled.Add(1)
			return did{true}, nil
		}))...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.Schedule = s
	return r, w.named("test_several")
}

func loaded(t *testing.T, text string) *operator.Options {
	t.Helper()
	p, err := gate.LoadPolicy("p.yaml", []byte("version: 1\nextends: default\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	return &operator.Options{Policy: p}
}

func TestTheActionsOfOneMoveAreJudgedTogether(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		for _, c := range []struct {
			name, policy, raw, reason string
		}{
			{"each fits, and so do both", `caps: [{currency: USD, max: 100, window: day}]`, `{"cents":[60,40]}`, ""},
			{"each fits, and both do not", `caps: [{currency: USD, max: 100, window: day}]`, `{"cents":[60,41]}`, "budget_exceeded"},
			{"many small ones", `caps: [{currency: USD, max: 100, window: month}]`, `{"cents":[26,26,26,26]}`, "budget_exceeded"},
			{"each principal's own", `caps: [{currency: USD, max: 100, window: week, each: principal}]`, `{"cents":[60,60]}`, "budget_exceeded"},
			{"a bound on one act is each one's own", `caps: [{currency: USD, max: 100}]`, `{"cents":[60,60]}`, ""},
			{"the budget of a rule that refuses beyond it", "rules: [{id: some, match: {types: [spend]}, effect: requires_approval, reason: Some., budget: {window: day, currency: USD, max: 100}}]", `{"cents":[60,60]}`, "budget_exceeded"},
			{"a rule counts what it is about", "rules: [{id: some, match: {types: [gift]}, effect: requires_approval, reason: Some., budget: {window: day, currency: USD, max: 100}}]", `{"cents":[60,60],"types":["gift","spend"]}`, ""},
			{"a sum beyond what can be counted", "", `{"cents":[9007199254740991,1]}`, "amount_out_of_range"},
		} {
			t.Run(c.name, func(t *testing.T) {
				w := newWorld(t, store, loaded(t, c.policy))
				rows, tool := w.withSeveral()
				caller := w.full(operator.KindAgent)
				w.grant(caller.Principal.ID(), nil)
				if c.reason == "" {
					for range 2 { // nothing was reserved: what counts is what a handler records
						if r := w.call(caller, tool, c.raw); !r.OK {
							t.Errorf("%s", r.JSON)
						}
					}
				} else if w.refuses(t, c.name, caller, c.reason, nil, func() reply { return w.call(caller, tool, c.raw) }); rows.handled.Load() != 0 {
					t.Error("its handler ran")
				}
			})
		}
	})
}

// A Start answers what one person can, by the role that they have now.
func TestAStartAnswersNoMoreThanItsGiverCould(t *testing.T) {
	const two = "rules: [{id: large, match: {types: [spend], amount: {currency: USD, min: 1000}}, effect: requires_approval, reason: Two people., approval: {quorum: 2, from: [owner, admin]}}]"
	const owners = "rules: [{id: large, match: {types: [spend], amount: {currency: USD, min: 1000}}, effect: requires_approval, reason: An owner., approval: {from: [owner]}}]"
	const apart = "rules: [{id: one, match: {types: [spend]}, effect: requires_approval, reason: An owner., approval: {from: [owner]}}, {id: other, match: {types: [gift]}, effect: requires_approval, reason: An admin., approval: {from: [admin]}}]"
	operatortest.EachStore(t, func(t *testing.T, store string) {
		for _, c := range []struct {
			name, policy string
			givers       []operator.Role
			raw, reason  string
		}{
			{"small sums are anybody's", two, []operator.Role{operator.RoleMember}, `{"cents":[999]}`, ""},
			{"two people are not one member", two, []operator.Role{operator.RoleMember}, `{"cents":[1000]}`, "approver_not_allowed"},
			{"two people are not one owner", two, []operator.Role{operator.RoleOwner}, `{"cents":[1000]}`, "approver_not_allowed"},
			{"two grants are not two people", two, []operator.Role{operator.RoleOwner, operator.RoleAdmin}, `{"cents":[1000]}`, "approver_not_allowed"},
			{"nor where one action of several asks", two, []operator.Role{operator.RoleOwner}, `{"cents":[1,1000]}`, "approver_not_allowed"},
			{"an owner's rule is not a member's", owners, []operator.Role{operator.RoleMember}, `{"cents":[1000]}`, "approver_not_allowed"},
			{"an owner's rule is not an admin's", owners, []operator.Role{operator.RoleAdmin}, `{"cents":[1000]}`, "approver_not_allowed"},
			{"an owner's rule is an owner's", owners, []operator.Role{operator.RoleOwner}, `{"cents":[1000]}`, ""},
			{"of several grants an owner's answers", owners, []operator.Role{operator.RoleMember, operator.RoleOwner}, `{"cents":[1000]}`, ""},
			{"rules of two roles are nobody's", apart, []operator.Role{operator.RoleOwner, operator.RoleAdmin}, `{"cents":[1,1],"types":["spend","gift"]}`, "approver_not_allowed"},
		} {
			t.Run(c.name, func(t *testing.T) {
				w := newWorld(t, store, loaded(t, c.policy))
				rows, tool := w.withSeveral()
				caller := w.full(operator.KindAgent)
				for i, role := range c.givers {
					who, _ := w.NewPerson(t, fmt.Sprintf("giver-%d", i), role)
					if _, err := w.GrantSpending(t.Context(), who, operator.GrantInput{Principal: caller.Principal.ID(), Until: w.Clock.Now().Add(time.Hour), Reason: "x", Limit: cents(5000)}); err != nil {
						t.Fatal(err)
					}
				}
				if c.reason == "" {
					r := w.call(caller, tool, c.raw)
					// It is counted on the grant of who could say yes.
					if last := w.used(); !r.OK || last == "0" {
						t.Errorf("%s of the last grant used: %s", last, r.JSON)
					}
					return
				}
				if r := w.refuses(t, c.name, caller, c.reason, nil, func() reply { return w.call(caller, tool, c.raw) }); rows.handled.Load() != 0 || r.env.Message == "" {
					t.Error("its handler ran")
				}
			})
		}
	})
}

func (w *world) freeze(scope string) {
	w.t.Helper()
	if _, err := w.Freeze(w.t.Context(), w.Owner, operator.FreezeInput{Scope: scope, Reason: "Something is wrong."}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) unfreeze(scope string) {
	w.t.Helper()
	if _, err := w.Unfreeze(w.t.Context(), w.Owner, operator.UnfreezeInput{Scope: scope}); err != nil {
		w.t.Fatal(err)
	}
}

func TestAFreezeStopsEveryRowThatSpendsAndNoOther(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		for _, scope := range []string{"project", "account"} {
			w := newWorld(t, store, nil)
			w.kit(operator.KitInput{Primitives: map[string]bool{"pipelines": true, "brain": true}})
			rows := w.withRows()
			c := w.full(operator.KindAgent)
			w.grant(c.Principal.ID(), nil)
			w.freeze(scope)
			met := 0
			for _, tool := range w.Tools() {
				if tool.Toolset != "test" {
					continue
				}
				raw := text(w.argsBeside(c, tool))
				if tool.Class != powers.Spend {
					if r := w.call(c, tool, raw); !r.OK {
						t.Errorf("%s is of class %s: %s", tool.Name, tool.Class, r.JSON)
					}
					continue
				}
				met++
				n := rows.handled.Load()
				r := w.refuses(t, tool.Name, c, "frozen", nil, func() reply { return w.call(c, tool, raw) })
				if r.Status != 403 || r.env.Layer != "spend" || !strings.Contains(r.env.Message, "Something is wrong.") || rows.handled.Load() != n {
					t.Errorf("%s", r.JSON)
				}
			}
			w.unfreeze(scope)
			if r := w.call(c, w.named("test_buy"), pay(1, "")); !r.OK || met < 3 {
				t.Errorf("%d rows spend; unfrozen: %s", met, r.JSON)
			}
		}
	})
}

func TestAnApprovedCallThatAFreezeStopsWaitsOn(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		rows := w.withRows()
		c, owner := w.full(operator.KindAgent), w.full(operator.KindHuman)
		w.grant(c.Principal.ID(), nil)
		kept, other := w.ask(c, "test_order", pay(10, "")), w.ask(c, "test_ask", pay(10, ""))
		w.freeze("account")
		r := w.do(owner, w.deciding("approve"), decision(kept))
		r.wants(t, "frozen")
		if !strings.Contains(r.env.Message, "Something is wrong.") || !strings.Contains(r.env.Message, "waits on") || rows.handled.Load() != 0 {
			t.Errorf("%s", r.JSON)
		}
		if got := w.poll(c, kept.ID); got.Status != "pending" || got.DecidedBy != nil || got.DecidedAt != nil || got.RefusedFor != nil || !got.ExpiresAt.Equal(kept.ExpiresAt) {
			t.Errorf("%+v", got)
		}
		if r := w.do(owner, w.deciding("approve"), decision(other)); !r.OK || rows.handled.Load() != 1 {
			t.Errorf("what spends nothing: %s", r.JSON)
		}
		w.unfreeze("account")
		if r := w.do(owner, w.deciding("approve"), decision(kept)); !r.OK || rows.handled.Load() != 2 || w.poll(c, kept.ID).Status != "done" {
			t.Errorf("once it is lifted: %s", r.JSON)
		}
	})
}

// TestNoSpendBeginsOnceAFreezeHasAnswered: what was let through was let through before.
func TestNoSpendBeginsOnceAFreezeHasAnswered(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		rows := w.withRows()
		there := w.scheduleOf(operatortest.Open(t, w.Where, &operator.Options{Clock: w.Clock}), rows)
		c, tool := w.full(operator.KindAgent), w.named("test_buy")
		w.grant(c.Principal.ID(), cents(1000000))
		var all sync.WaitGroup
		begun, once := make(chan struct{}), sync.Once{}
		for i := range 8 {
			s := []*powers.Schedule{w.Schedule, there}[i%2]
			all.Go(func() {
				for range 1000 {
					a := s.Call(t.Context(), c, tool.Name, []byte(pay(1, "")))
					once.Do(func() { close(begun) })
					if a.Reason == "frozen" {
						return
					}
					if !a.OK {
						t.Errorf("%s", a.JSON)
						return
					}
				}
			})
		}
		<-begun
		w.freeze("account")
		taken := w.query(`select count(*) from reeve_spending_uses`)[0][0]
		all.Wait()
		if after := w.query(`select count(*) from reeve_spending_uses`)[0][0]; after != taken {
			t.Errorf("%s were let through when it answered, and %s in the end", taken, after)
		}
	})
}

// TestASpendWaitsForAFreezeThatIsUnderWay: on PostgreSQL it is not committed yet when
// the spend looks, which must not look past it.
func TestASpendWaitsForAFreezeThatIsUnderWay(t *testing.T) {
	w := newWorld(t, "postgres", nil)
	w.withRows()
	c, tool := w.full(operator.KindAgent), w.named("test_buy")
	w.grant(c.Principal.ID(), nil)
	tx, err := w.raw.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	for _, query := range []string{`select pg_advisory_xact_lock(hashtextextended('reeve claims', $1))`,
		`insert into reeve_freezes (account_id, reason, frozen_by, frozen_at) values ($1, 'Stop.', 'human:owner', 1)`} {
		if _, err := tx.Exec(query, c.Principal.AccountID()); err != nil {
			t.Fatal(err)
		}
	}
	answered := make(chan powers.Answer, 1)
	go func() { answered <- w.Call(t.Context(), c, tool.Name, []byte(pay(1, ""))) }()
	for w.query(`select count(*) from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())`)[0][0] == "0" {
		select {
		case a := <-answered:
			t.Fatalf("it did not wait: %s", a.JSON)
		default:
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if a := <-answered; a.Reason != "frozen" {
		t.Errorf("%s", a.JSON)
	}
}
