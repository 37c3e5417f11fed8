package powers_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

func cents(n int64) *gate.Cents { c := gate.Cents(n); return &c }

func pay(n int64, more string) string { return fmt.Sprintf(`{"amount_cents":%d%s}`, n, more) }

// used is what the newest grant counts as spent.
func (w *world) used() string {
	w.t.Helper()
	return w.query(`select used from reeve_spending_grants order by id desc limit 1`)[0][0]
}

func TestWithoutAGrantNothingIsSpent(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		rows := w.withRows()
		c, tool := w.full(operator.KindAgent), w.named("test_buy")
		r := w.refuses(t, "no grant", c, "spending_not_granted", nil, func() reply { return w.call(c, tool, pay(1, "")) })
		if r.Status != 403 || r.env.Layer != "spend" || len(r.env.Recovery) != 1 || r.env.Recovery[0].Kind != "request_start" || r.env.Recovery[0].HumanAction == "" {
			t.Errorf("%s", r.JSON)
		}
		w.refuses(t, "wrong arguments come first", c, "missing_field", nil, func() reply { return w.call(c, tool, `{}`) })
		g := w.grant(c.Principal.ID(), nil)
		if r := w.call(c, tool, pay(1, "")); !r.OK {
			t.Errorf("granted: %s", r.JSON)
		}
		w.refuses(t, "of another principal", w.as(operator.KindAgent, tool.Scopes...), "spending_not_granted", nil, func() reply {
			return w.call(w.as(operator.KindAgent, tool.Scopes...), tool, pay(1, ""))
		})
		if _, err := w.RevokeSpending(t.Context(), w.Owner, operator.GrantRef{ID: g.ID}); err != nil {
			t.Fatal(err)
		}
		w.refuses(t, "taken back", c, "spending_not_granted", nil, func() reply { return w.call(c, tool, pay(2, "")) })
		w.grant(c.Principal.ID(), nil)
		end := w.Clock.Now().Add(time.Hour)
		w.Clock.Set(end.Add(-time.Microsecond))
		if r := w.call(c, tool, pay(3, "")); !r.OK {
			t.Errorf("a microsecond before its end: %s", r.JSON)
		}
		w.Clock.Set(end)
		w.refuses(t, "over", c, "spending_not_granted", nil, func() reply { return w.call(c, tool, pay(4, "")) })
		if n := rows.handled.Load(); n != 2 {
			t.Errorf("a handler ran %d times", n)
		}
	})
}

func TestAGrantOfSomebodyWhoLeftIsNone(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	w.withRows()
	ana, _ := w.NewPerson(t, "ana", operator.RoleMember)
	c := w.full(operator.KindAgent)
	if _, err := w.GrantSpending(t.Context(), ana, operator.GrantInput{Principal: c.Principal.ID(), Until: w.Clock.Now().Add(time.Hour), Reason: "hers"}); err != nil {
		t.Fatal(err)
	}
	if r := w.call(c, w.named("test_buy"), pay(1, "")); !r.OK {
		t.Fatalf("%s", r.JSON)
	}
	if err := w.RemovePerson(t.Context(), "", "ana"); err != nil {
		t.Fatal(err)
	}
	w.call(c, w.named("test_buy"), pay(2, "")).wants(t, "spending_not_granted")
}

// The second lock asks the gate, and the handler never hears of what it denies.
func TestTheGateIsAskedBeforeEveryMove(t *testing.T) {
	policy, err := gate.LoadPolicy("p.yaml", []byte(`version: 1
extends: default
rules:
  - id: not-there
    match: {types: [spend], recipients: ["domain:casino.example"]}
    effect: deny
    reason: Nothing is spent there.
`))
	if err != nil {
		t.Fatal(err)
	}
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, &operator.Options{Policy: policy})
		rows := w.withRows()
		c, tool := w.full(operator.KindAgent), w.named("test_buy")
		w.grant(c.Principal.ID(), cents(100))
		r := w.refuses(t, "denied", c, "denied_by_policy", nil, func() reply { return w.call(c, tool, pay(5, `,"to":"x@casino.example"`)) })
		if r.env.Layer != "policy" || r.Status != 403 || rows.handled.Load() != 0 {
			t.Errorf("%s", r.JSON)
		}
		if r := w.call(c, tool, pay(5, "")); !r.OK || w.used() != "5" {
			t.Errorf("used %s: %s", w.used(), r.JSON)
		}
	})
}

func TestALimitIsCountedToTheCent(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		w.withRows()
		c, tool := w.full(operator.KindAgent), w.named("test_buy")
		w.grant(c.Principal.ID(), cents(100))
		for _, step := range []struct {
			raw, reason, used string
		}{
			{pay(60, ""), "", "60"},
			{pay(41, ""), "spending_limit_reached", "60"},
			{pay(40, `,"fail":"refused"`), "not_found", "60"},  // given back
			{pay(40, `,"fail":"race"`), "version_race", "60"},  // rolled back whole
			{pay(10, `,"fail":"outage"`), "unavailable", "70"}, // nobody knows
			{pay(10, `,"fail":"panic"`), "internal_error", "80"},
			{pay(20, ""), "", "100"},
			{pay(1, ""), "spending_limit_reached", "100"},
			{pay(9007199254740991, ""), "spending_limit_reached", "100"},
		} {
			r := w.call(c, tool, step.raw)
			if r.env.Reason != step.reason || w.used() != step.used {
				t.Errorf("%s: used %s, want %q and %s: %s", step.raw, w.used(), step.reason, step.used, r.JSON)
			}
		}
	})
}

func TestGrantsOfSeveralLimitsAreTakenInTheirOrder(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	w.withRows()
	c, tool := w.full(operator.KindAgent), w.named("test_buy")
	w.grant(c.Principal.ID(), cents(10))
	w.grant(c.Principal.ID(), cents(50))
	if r := w.call(c, tool, pay(30, "")); !r.OK {
		t.Errorf("%s", r.JSON)
	}
	for _, step := range []struct {
		n    int64
		ok   bool
		used string
	}{{20, true, "[[0] [50]]"}, {11, false, "[[0] [50]]"}, {10, true, "[[10] [50]]"}, {1, false, "[[10] [50]]"}} {
		r := w.call(c, tool, pay(step.n, ""))
		if got := fmt.Sprint(w.query(`select used from reeve_spending_grants order by id`)); r.OK != step.ok || got != step.used {
			t.Errorf("%d: used %s, want %s: %s", step.n, got, step.used, r.JSON)
		}
	}
	w.grant(c.Principal.ID(), nil)
	if r := w.call(c, tool, pay(1000, "")); !r.OK {
		t.Errorf("without a limit: %s", r.JSON)
	}
}

// A hundred spends of one unit against a limit of 99, from two processes at once:
// 99 pass, and no more at any read.
func TestManySpendsAtOnceStayWithinTheLimit(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		rows := w.withRows()
		there := w.scheduleOf(operatortest.Open(t, w.Where, &operator.Options{Clock: w.Clock}), rows)
		c, tool := w.full(operator.KindAgent), w.named("test_buy")
		w.grant(c.Principal.ID(), cents(99))
		var passed, refused atomic.Int64
		var all sync.WaitGroup
		work := make(chan int)
		for i := range 10 {
			s := []*powers.Schedule{w.Schedule, there}[i%2]
			all.Go(func() {
				for range work {
					switch a := s.Call(t.Context(), c, tool.Name, []byte(pay(1, ""))); {
					case a.OK:
						passed.Add(1)
					case a.Reason == "spending_limit_reached":
						refused.Add(1)
					default:
						t.Errorf("%s", a.JSON)
					}
				}
			})
		}
		for n := range 100 {
			work <- n
		}
		close(work)
		all.Wait()
		if passed.Load() != 99 || refused.Load() != 1 || rows.handled.Load() != 99 || w.used() != "99" {
			t.Errorf("%d passed, %d were refused, %d were handled, %s is used", passed.Load(), refused.Load(), rows.handled.Load(), w.used())
		}
	})
}

func TestAGrantIsHeldToItsForm(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		c, act := w.full(operator.KindHuman), w.act("/spending-grants")
		for _, a := range w.Acts() {
			if a.Method == "POST" && a.Path == act.Path {
				act = a
			}
		}
		in := func(d time.Duration) string { return w.Clock.Now().Add(d).Format(time.RFC3339Nano) }
		who := w.Agent.ID()
		for raw, reason := range map[string]string{
			fmt.Sprintf(`{"principal":%q,"until":%q,"reason":"x"}`, who, in(operator.MaxGrant)):                          "",
			fmt.Sprintf(`{"principal":%q,"until":%q,"reason":"x","limit_cents":5,"currency":"JPY"}`, who, in(time.Hour)): "",
			fmt.Sprintf(`{"principal":"human:owner","until":%q,"reason":"x"}`, in(time.Hour)):                            "",
			fmt.Sprintf(`{"principal":%q,"until":%q,"reason":"x"}`, who, in(operator.MaxGrant+time.Microsecond)):         "invalid_value",
			fmt.Sprintf(`{"principal":%q,"until":%q,"reason":"x"}`, who, in(0)):                                          "invalid_value",
			fmt.Sprintf(`{"principal":%q,"until":%q,"reason":""}`, who, in(time.Hour)):                                   "invalid_value",
			fmt.Sprintf(`{"principal":%q,"until":%q}`, who, in(time.Hour)):                                               "missing_field",
			fmt.Sprintf(`{"principal":%q,"until":"tomorrow","reason":"x"}`, who):                                         "invalid_value",
			fmt.Sprintf(`{"principal":%q,"until":%q,"reason":"x","limit_cents":0}`, who, in(time.Hour)):                  "amount_out_of_range",
			fmt.Sprintf(`{"principal":%q,"until":%q,"reason":"x","limit_cents":9007199254740992}`, who, in(time.Hour)):   "amount_out_of_range",
			fmt.Sprintf(`{"principal":%q,"until":%q,"reason":"x","limit_cents":5,"currency":"XYZ"}`, who, in(time.Hour)): "unknown_currency",
			fmt.Sprintf(`{"principal":%q,"until":%q,"reason":"x","currency":"USD"}`, who, in(time.Hour)):                 "missing_field",
			fmt.Sprintf(`{"principal":"agent:nobody","until":%q,"reason":"x"}`, in(time.Hour)):                           "not_found",
			fmt.Sprintf(`{"principal":"human:nobody","until":%q,"reason":"x"}`, in(time.Hour)):                           "not_found",
			fmt.Sprintf(`{"principal":"channel:slack","until":%q,"reason":"x"}`, in(time.Hour)):                          "invalid_value",
			fmt.Sprintf(`{"principal":"agent","until":%q,"reason":"x"}`, in(time.Hour)):                                  "invalid_value",
		} {
			if reason == "" {
				if r := w.do(c, act, raw); !r.OK {
					t.Errorf("%s: %s", raw, r.JSON)
				}
				continue
			}
			w.refuses(t, raw, c, reason, nil, func() reply { return w.do(c, act, raw) })
		}
	})
}

func TestAnotherAccountsGrantIsAsAbsentAsOneThatNeverWas(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	if err := w.AddAccount(t.Context(), "other", "", ""); err != nil {
		t.Fatal(err)
	}
	if err := w.AddPerson(t.Context(), operator.NewPerson{Account: "other", Handle: "eve", Name: "Eve", Role: operator.RoleOwner}); err != nil {
		t.Fatal(err)
	}
	m := w.Mint(t, operator.NewCredential{Kind: operator.KindHuman, Name: "eve", Account: "other", Person: "eve", Scopes: operator.Scopes(), Interactive: true})
	eve, err := w.PersonByCredential(t.Context(), m.Token, operator.ViaLibrary)
	if err != nil {
		t.Fatal(err)
	}
	g := w.grant(w.Agent.ID(), nil)
	_, theirs := w.RevokeSpending(t.Context(), eve, operator.GrantRef{ID: g.ID})
	_, never := w.RevokeSpending(t.Context(), eve, operator.GrantRef{ID: 99})
	if theirs == nil || never == nil || theirs.Error() != never.Error() {
		t.Errorf("%v, %v", theirs, never)
	}
	if list, err := w.SpendingGrants(t.Context(), eve); err != nil || len(list.Grants) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := w.GrantSpending(t.Context(), eve, operator.GrantInput{Principal: w.Agent.ID(), Until: w.Clock.Now().Add(time.Hour), Reason: "x"}); err == nil {
		t.Error("she granted another account's agent")
	}
}

// TestAKeyMakesNoRoomInAGrant: what a call holds of a grant stands also where the call
// was sent with an idempotency key and nobody knows how it ended.
func TestAKeyMakesNoRoomInAGrant(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		for _, fail := range []string{"outage", "panic"} {
			w := newWorld(t, store, nil)
			rows := w.withRows()
			c, tool := w.full(operator.KindAgent), w.named("test_buy")
			w.grant(c.Principal.ID(), cents(100))
			for range 3 {
				if a := w.Call(keyed(t, "k"), c, tool.Name, []byte(pay(60, `,"fail":"`+fail+`"`))); a.OK {
					t.Fatalf("%s", a.JSON)
				}
			}
			if got := w.used(); got != "60" || rows.handled.Load() != 1 {
				t.Errorf("after an %s: %s used, and the handler ran %d times", fail, got, rows.handled.Load())
			}
		}
	})
}
