package gate

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// random makes policies, actions and facts out of few words, so that rules
// match often and meet each other.
type random struct{ *rand.Rand }

func (r random) pick(words ...string) string { return words[r.IntN(len(words))] }

func (r random) some(words ...string) (out []string) {
	for _, w := range words {
		if r.IntN(3) == 0 {
			out = append(out, w)
		}
	}
	return out
}

func (r random) flag() *bool {
	if r.IntN(4) > 0 {
		return nil
	}
	b := r.IntN(2) == 0
	return &b
}

var (
	someTypes      = []string{"spend", "send", "note", "publish", "foo", "bar"}
	someRecipients = []string{"a@x.example", "b@x.example", "x.example", "me@own.example", "a@y.example,b@x.example"}
	somePatterns   = []string{"a@x.example", "*@x.example", "domain:x.example", "domain:own.example"}
	someLabels     = []string{"l", "m"}
)

func (r random) match() (m Match) {
	m.Types = r.some(someTypes...)
	if r.IntN(4) == 0 {
		m.Recipients = r.some(somePatterns...)
	}
	if r.IntN(4) == 0 {
		m.Labels = r.some(someLabels...)
	}
	if r.IntN(4) == 0 {
		m.Principals = r.some("p", "q")
	}
	if r.IntN(3) == 0 {
		m.Amount = &AmountRange{Currency: r.pick("USD", "EUR"), Max: cents(Cents(1 + r.IntN(100)))}
	}
	if r.IntN(6) == 0 {
		m.Hours = &Hours{From: r.IntN(700), To: 701 + r.IntN(700)}
	}
	m.Tainted, m.Outward, m.Outside = r.flag(), r.flag(), r.flag()
	return m
}

// rule makes a rule that a policy accepts, given the approvals it can name.
func (r random) rule(id string, approvals []string) Rule {
	rule := Rule{ID: id, Reason: "Because.", Match: r.match(), Effect: Effect(1 + r.IntN(3))}
	switch rule.Effect {
	case Allow:
		if isEmptyMatch(&rule.Match) {
			rule.Match.Types = []string{r.pick(someTypes...)}
		}
		rule.InsteadOf = r.some(approvals...)
	case RequiresApproval:
		rule.Match.Unknown = len(rule.Match.Types) == 0 && r.IntN(2) == 0
		if r.IntN(3) == 0 {
			rule.Approval = Approval{Quorum: 1 + r.IntN(3), From: r.some("owner", "admin", "member")}
		}
	case Deny:
		rule.Match.OverBudget = r.IntN(4) == 0
	}
	if r.IntN(4) == 0 {
		rule.Budget = &Budget{Window: PerDay, Currency: "USD", Max: Cents(1 + r.IntN(200))}
	}
	return rule
}

func (r random) source() *Source {
	s := &Source{File: "random", Version: 1}
	if r.IntN(2) == 0 {
		s.Extends = "default"
	}
	var approvals []string
	if s.Extends != "" {
		approvals = []string{"spending", "messages", "tainted", "unknown"}
	}
	for i := range 1 + r.IntN(6) {
		rule := r.rule(fmt.Sprintf("r%d", i), approvals)
		s.Rules = append(s.Rules, rule)
		if rule.Effect == RequiresApproval {
			approvals = append(approvals, rule.ID)
		}
	}
	if r.IntN(5) == 0 {
		s.Caps = []Cap{{Currency: "USD", Max: Cents(1 + r.IntN(100))}}
	}
	return s
}

func (r random) action() Action {
	a := Action{Type: r.pick(someTypes...), Title: "x", Labels: r.some(someLabels...), TaintedBy: r.some("o")}
	if r.IntN(4) > 0 {
		a.Recipient = r.pick(someRecipients...)
	}
	switch r.IntN(6) {
	case 0:
		a.Amount = fmt.Sprintf("0.%02d USD", r.IntN(100))
	case 1:
		a.AmountCents = cents(Cents(r.IntN(100) - 10))
	case 2, 3:
		a.AmountCents, a.Currency = cents(Cents(1+r.IntN(100))), r.pick("USD", "EUR", "JPY")
	}
	if r.IntN(8) == 0 {
		a.Body = "AKIAIOSFODNN7EXAMPLE"
	}
	if r.IntN(8) == 0 {
		a.Data = jsontext.Value(`{"a":1}`)
	}
	return a
}

func (r random) facts() Facts {
	f := atHome()
	f.Principal = r.pick("", "p", "q")
	if r.IntN(4) == 0 {
		f = Facts{Now: f.Now.Add(time.Duration(r.IntN(24)) * time.Hour)}
	}
	for i := range 6 {
		if r.IntN(4) > 0 {
			f.Committed = append(f.Committed, Commitment{Rule: fmt.Sprintf("r%d", i), Window: PerDay, Currency: "USD", Cents: Cents(r.IntN(100))})
		}
	}
	if r.IntN(4) == 0 {
		s := r.rule("standing", []string{"spending", "messages", "r0", "r1"})
		s.Until = f.Now.Add(time.Hour)
		f.Standing = []Rule{s}
	}
	return f
}

// mustCompile drops policies that load refuses, since they judge nothing.
func mustCompile(t *testing.T, s *Source) *Policy {
	t.Helper()
	p, err := s.Compile()
	if err != nil {
		t.Fatalf("the random policy does not compile: %v", err)
	}
	return p
}

func TestDecideAgreesWithEvaluateAndEvaluateWithItself(t *testing.T) {
	r := random{seeded(t)}
	seen := make(map[Effect]int)
	for range 4000 {
		s := r.source()
		p, q := mustCompile(t, s), mustCompile(t, s)
		for range 5 {
			a, f := r.action(), r.facts()
			v := p.Evaluate(a, f)
			if got := p.Decide(a, f); got != v.Effect {
				t.Fatalf("Decide says %s and Evaluate %s about %+v", got, v.Effect, a)
			}
			if again := q.Evaluate(a, f); !reflect.DeepEqual(v, again) {
				t.Fatalf("two verdicts:\n%+v\n%+v", v, again)
			}
			if len(v.Reasons) == 0 || !v.Effect.Valid() {
				t.Fatalf("a verdict with no reason or effect: %+v", v)
			}
			explains(t, v)
			seen[v.Effect]++
		}
	}
	for e := Allow; e <= Deny; e++ {
		if seen[e] < 100 {
			t.Errorf("only %d verdicts of %s: the test shows little", seen[e], e)
		}
	}
}

// explains checks that the effect follows from the reasons alone.
func explains(t *testing.T, v Verdict) {
	t.Helper()
	var stoodInFor []string
	for _, r := range v.Reasons {
		stoodInFor = append(stoodInFor, r.StoodInFor...)
	}
	want := Allow
	for _, r := range v.Reasons {
		if r.Effect == Allow || (r.Effect == RequiresApproval && slices.Contains(stoodInFor, r.Rule)) {
			continue
		}
		want = max(want, r.Effect)
	}
	if v.Effect != want {
		t.Fatalf("the reasons say %s, the verdict %s: %+v", want, v.Effect, v)
	}
}

func TestTheOrderOfTheRulesHasNoEffect(t *testing.T) {
	r := random{seeded(t)}
	for range 2000 {
		s := r.source()
		shuffled := &Source{File: s.File, Version: 1, Extends: s.Extends, Caps: s.Caps, Rules: slices.Clone(s.Rules)}
		r.Shuffle(len(shuffled.Rules), func(i, j int) {
			shuffled.Rules[i], shuffled.Rules[j] = shuffled.Rules[j], shuffled.Rules[i]
		})
		p, q := mustCompile(t, s), mustCompile(t, shuffled)
		for range 5 {
			a, f := r.action(), r.facts()
			if v, w := p.Evaluate(a, f), q.Evaluate(a, f); v.Effect != w.Effect || !reflect.DeepEqual(v.Approval, w.Approval) {
				t.Fatalf("%+v\n%+v", v, w)
			}
		}
	}
}

// tighten changes a policy in one of the ways that must never loosen a verdict.
func (r random) tighten(s *Source) (string, *Source) {
	out := &Source{File: s.File, Version: 1, Extends: s.Extends, Caps: slices.Clone(s.Caps)}
	for _, rule := range s.Rules {
		out.Rules = append(out.Rules, rule.clone())
	}
	at := &out.Rules[r.IntN(len(out.Rules))]
	switch r.IntN(3) {
	case 0:
		added := r.rule("added", nil)
		for added.Effect == Allow {
			added = r.rule("added", nil)
		}
		i := r.IntN(len(out.Rules) + 1)
		out.Rules = slices.Insert(out.Rules, i, added)
		return "adding a rule that does not allow", out
	case 1:
		r.oblige(at)
		return "adding an obligation", out
	default:
		if at.Effect == Allow {
			r.narrow(&at.Match)
		}
		return "narrowing an allow", out
	}
}

func (r random) oblige(rule *Rule) {
	switch {
	case r.IntN(3) == 0:
		rule.Notify = append(rule.Notify, "somebody")
	case rule.Effect == RequiresApproval && r.IntN(2) == 0:
		rule.Approval.Quorum++
		if len(rule.Approval.From) == 0 {
			rule.Approval.From = []string{r.pick("owner", "admin", "member")}
		}
	case rule.Budget == nil:
		rule.Budget = &Budget{Window: PerDay, Currency: r.pick("USD", "EUR"), Max: Cents(1 + r.IntN(100))}
	default:
		rule.Budget.Max = max(1, rule.Budget.Max/2)
	}
}

// narrow adds a condition or shortens a list. It gives no types to a match that
// had none: an allow without types does not reach unknown types, so naming one
// widens it, as the comment of Match.Unknown says.
func (r random) narrow(m *Match) {
	yesFlag := r.IntN(2) == 0
	switch r.IntN(6) {
	case 0:
		if len(m.Types) > 1 {
			m.Types = m.Types[1:]
		}
	case 1:
		if m.Amount == nil {
			m.Amount = &AmountRange{Currency: "USD", Max: cents(50)}
		} else if *m.Amount.Max > 1 {
			*m.Amount.Max /= 2
		}
	case 2:
		if m.Tainted == nil {
			m.Tainted = &yesFlag
		}
	case 3:
		if m.Outside == nil {
			m.Outside = &yesFlag
		}
	case 4:
		if len(m.Recipients) == 0 {
			m.Recipients = []string{"*@x.example"}
		}
	case 5:
		if len(m.Principals) == 0 {
			m.Principals = []string{"p"}
		}
	}
}

func TestTighteningNeverLoosens(t *testing.T) {
	r := random{seeded(t)}
	for range 4000 {
		s := r.source()
		how, tighter := r.tighten(s)
		p, q := mustCompile(t, s), mustCompile(t, tighter)
		for range 5 {
			a, f := r.action(), r.facts()
			before, after := p.Evaluate(a, f), q.Evaluate(a, f)
			if after.Effect < before.Effect {
				t.Fatalf("%s loosens %s to %s\n%+v\n%+v\nof %+v\n%+v", how, before.Effect, after.Effect, before, after, a, tighter.Rules)
			}
			if after.Effect == RequiresApproval && before.Effect == RequiresApproval && after.Approval.Quorum < before.Approval.Quorum {
				t.Fatalf("%s lowers the quorum\n%+v\n%+v", how, before, after)
			}
		}
	}
}

func TestZeroValuesRefuse(t *testing.T) {
	r := random{seeded(t)}
	var none *Policy
	for _, p := range []*Policy{none, {}} {
		for range 200 {
			a, f := r.action(), r.facts()
			v := p.Evaluate(a, f)
			if v.Effect != Deny || p.Decide(a, f) != Deny || !v.Matched(ReasonNoPolicy) {
				t.Fatalf("an empty policy says %+v", v)
			}
		}
		if p.Digest() != "" || p.Version() != "" || p.Rules() != nil || p.Caps() != nil || p.Budgets() != nil {
			t.Error("an empty policy has something in it")
		}
	}
	if (Verdict{}).Effect.String() != "deny" {
		t.Error("the zero verdict does not deny")
	}
	// With no facts at all nothing outward is let through.
	for range 2000 {
		a := r.action()
		if v := DefaultPolicy().Evaluate(a, Facts{}); v.Effect == Allow && Outward(a.Type) {
			t.Fatalf("%+v is allowed with no facts", a)
		}
	}
}

func TestAPolicyIsSafeForConcurrentUse(t *testing.T) {
	p := mustLoad(t, ownPolicy)
	want := p.Evaluate(spendAt("bill@vendor.example", 2000, "USD"), spent(0))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				if got := p.Evaluate(spendAt("bill@vendor.example", 2000, "USD"), spent(0)); !reflect.DeepEqual(got, want) {
					t.Errorf("got %+v", got)
				}
			}
		})
	}
	wg.Wait()
}

func TestDecideAllocatesNothing(t *testing.T) {
	p, f := mustLoad(t, ownPolicy), spent(0)
	f.Standing = []Rule{{ID: "s", Effect: Allow, InsteadOf: []string{"messages"}, Match: Match{Recipients: []string{"*@x.example"}}, Until: f.Now.Add(1)}}
	for _, a := range []Action{
		spendAt("bill@vendor.example", 2000, "USD"),
		{Type: "send", Title: "Hello", Recipient: "a@x.example", Body: "Shall we meet at ten?"},
		{Type: "spend", Title: "x", Amount: "49.00 USD"},
		{Type: "note", Title: "x"}, {Type: "water_plants", Title: "x"},
	} {
		if n := testing.AllocsPerRun(100, func() { p.Decide(a, f) }); n != 0 {
			t.Errorf("%s: %v allocations", a.Type, n)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	p, f := DefaultPolicy(), atHome()
	a := spendAt("bill@vendor.example", 2000, "USD")
	b.ReportAllocs()
	for b.Loop() {
		p.Decide(a, f)
	}
}

func BenchmarkEvaluate(b *testing.B) {
	p, f := DefaultPolicy(), atHome()
	a := spendAt("bill@vendor.example", 2000, "USD")
	b.ReportAllocs()
	for b.Loop() {
		p.Evaluate(a, f)
	}
}
