package gate

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// changed changes a policy at random, for better or worse.
func (r random) changed(s *Source) *Source {
	out := copied(s)
	for range 1 + r.IntN(3) {
		r.change(out)
	}
	return repaired(out)
}

func copied(s *Source) *Source {
	out := &Source{File: s.File, Version: 1, Extends: s.Extends, Caps: slices.Clone(s.Caps)}
	for _, rule := range s.Rules {
		out.Rules = append(out.Rules, rule.clone())
	}
	return out
}

func (r random) change(s *Source) {
	at := &s.Rules[r.IntN(len(s.Rules))]
	switch r.IntN(14) {
	case 0:
		_, tighter := r.tighten(s)
		*s = *tighter
	case 1:
		if i := r.IntN(len(s.Rules)); len(s.Rules) > 1 {
			s.Rules = slices.Delete(s.Rules, i, i+1)
		}
	case 2:
		at.Effect = Effect(1 + r.IntN(3))
	case 3:
		at.ID = fmt.Sprintf("r%d", r.IntN(8))
	case 4:
		at.Match = r.match()
	case 5:
		if at.Effect == RequiresApproval {
			at.Approval = Approval{Quorum: r.IntN(4), From: r.some("owner", "admin", "member"), Expires: r.expiry()}
		}
	case 6:
		at.Budget = nil
		if r.IntN(3) > 0 {
			at.Budget = &Budget{Window: PerDay, Currency: r.pick("USD", "EUR"), Max: Cents(1 + r.IntN(200)), Each: Each(r.pick("", "", "principal"))}
		}
	case 7:
		s.Caps = nil
		for _, code := range r.some("USD", "EUR") {
			s.Caps = append(s.Caps, Cap{Currency: code, Max: Cents(1 + r.IntN(100))})
			if r.IntN(2) == 0 {
				s.Caps = append(s.Caps, Cap{Currency: code, Max: Cents(1 + r.IntN(100)), Window: PerDay})
			}
		}
	case 8:
		at.InsteadOf = r.some("spending", "messages", "tainted", "unknown", "r0", "r1", "r2", "r3")
	case 9:
		r.Shuffle(len(s.Rules), func(i, j int) { s.Rules[i], s.Rules[j] = s.Rules[j], s.Rules[i] })
	case 10:
		at.Match.Types = r.some(someTypes...)
	case 11:
		s.Rules = append(s.Rules, r.rule(fmt.Sprintf("r%d", r.IntN(8)), nil))
	case 12:
		at.Match.Unknown = at.Effect != Allow && r.IntN(2) == 0
		at.Match.OverBudget = at.Effect == Deny && r.IntN(3) == 0
	case 13:
		if s.Extends = ""; r.IntN(3) > 0 {
			s.Extends = "default"
		}
	}
}

// repaired drops what a policy may not say, so that it compiles.
func repaired(s *Source) *Source {
	asks := map[string]bool{}
	if s.Extends != "" {
		for _, r := range DefaultPolicy().rules {
			asks[r.ID] = r.Effect == RequiresApproval
		}
	}
	var kept []Rule
	for _, r := range s.Rules {
		if !slices.ContainsFunc(kept, func(k Rule) bool { return k.ID == r.ID }) {
			asks[r.ID] = r.Effect == RequiresApproval
			kept = append(kept, r)
		}
	}
	s.Rules = kept
	for i := range s.Rules {
		r := &s.Rules[i]
		if r.Effect != RequiresApproval {
			r.Approval = Approval{}
		}
		if r.Match.Unknown = r.Match.Unknown && r.Effect != Allow; r.Match.Unknown {
			r.Match.Types = nil
		}
		r.Match.OverBudget = r.Match.OverBudget && r.Effect == Deny
		if r.Effect == Allow && isEmptyMatch(&r.Match) {
			r.Match.Types = []string{"foo"}
		}
		r.InsteadOf = slices.DeleteFunc(r.InsteadOf, func(id string) bool { return r.Effect != Allow || !asks[id] })
		if len(r.InsteadOf) == 0 {
			r.InsteadOf = nil // as the parser has it
		}
		r.Notify = slices.Compact(r.Notify)
	}
	return s
}

// meeting are facts under which two policies are compared: a standing approval
// names rules of the old policy that ask, and speaks under the new one only where
// it spoke under the old one.
func meeting(p, q *Policy, a Action, f Facts) Facts {
	var standing []Rule
	for _, s := range f.Standing {
		s.InsteadOf = slices.DeleteFunc(slices.Clone(s.InsteadOf), func(id string) bool {
			r, found := p.Rule(id)
			return !found || r.Effect != RequiresApproval
		})
		standing = append(standing, s)
	}
	f.Standing = standing
	before, after := p.Evaluate(a, f), q.Evaluate(a, f)
	f.Standing = slices.DeleteFunc(f.Standing, func(s Rule) bool {
		return s.Effect == Allow && after.Matched(s.ID) && !before.Matched(s.ID)
	})
	return f
}

// fault says in what a verdict is milder than the one before it. A verdict whose
// asking rules all give no expires promised none.
func fault(p *Policy, before, after Verdict) string {
	switch {
	case after.Effect < before.Effect:
		return "effect"
	case after.Effect != RequiresApproval || before.Effect != RequiresApproval:
		return ""
	case after.Approval.Quorum < before.Approval.Quorum:
		return "quorum"
	case rolesOf(after.Approval.From)&^rolesOf(before.Approval.From) != 0:
		return "roles"
	case promised(p, before) && after.Approval.Expires > before.Approval.Expires:
		return "expires"
	}
	return ""
}

func promised(p *Policy, v Verdict) bool {
	var stoodIn []string
	for _, reason := range v.Reasons {
		stoodIn = append(stoodIn, reason.StoodInFor...)
	}
	return slices.ContainsFunc(v.Reasons, func(reason Reason) bool {
		r, _ := p.Rule(reason.Rule)
		return r.Approval.Expires > 0 && !slices.Contains(stoodIn, r.ID)
	})
}

func TestWhereNothingLoosensNoVerdictIsMilder(t *testing.T) {
	r := random{seeded(t)}
	silent, reported, milder := 0, 0, 0
	for i := range 12000 {
		s := r.source()
		if r.IntN(2) == 0 {
			for j := range s.Rules {
				if s.Rules[j].Effect == RequiresApproval {
					s.Rules[j].Approval.Expires = r.expiry()
				}
			}
		}
		next := r.source()
		if i%8 > 0 {
			next = r.changed(s)
		}
		p, q := mustCompile(t, s), mustCompile(t, next)
		found := Loosenings(p, q)
		if len(found) == 0 {
			silent++
		} else {
			reported++
		}
		once := false
		for range 8 {
			a, f := r.action(), r.facts()
			f = meeting(p, q, a, f)
			before, after := p.Evaluate(a, f), q.Evaluate(a, f)
			what := fault(p, before, after)
			if what != "" && len(found) == 0 {
				t.Fatalf("the %s is milder, and nothing is reported\n%+v\n%+v\n%+v\n%+v\n--- old\n%+v %+v\n--- next\n%+v %+v", what, a, f, before, after, s.Rules, s.Caps, next.Rules, next.Caps)
			}
			once = once || what != ""
		}
		if once {
			milder++
		}
	}
	t.Logf("%d pairs loosen nothing; %d are reported, of which %d were seen to be milder", silent, reported, milder)
	if silent < 1000 || milder < 1000 {
		t.Error("the test shows little")
	}
}

func TestTighteningIsNotReported(t *testing.T) {
	r := random{seeded(t)}
	for range 3000 {
		s := r.source()
		how, tighter := r.tighten(s)
		if found := Loosenings(mustCompile(t, s), mustCompile(t, tighter)); len(found) > 0 {
			t.Fatalf("%s is reported: %+v\n%+v\n%+v", how, found, s.Rules, tighter.Rules)
		}
	}
	for range 3000 {
		s := r.source()
		same := copied(s)
		r.Shuffle(len(same.Rules), func(i, j int) { same.Rules[i], same.Rules[j] = same.Rules[j], same.Rules[i] })
		for i := range same.Rules {
			same.Rules[i].Reason, same.Rules[i].Notify = "Another reason.", []string{"somebody"}
		}
		if found := Loosenings(mustCompile(t, s), mustCompile(t, same)); len(found) > 0 {
			t.Fatalf("another order is reported: %+v", found)
		}
	}
}

func TestLooseningsAreNamedOnceAndAlwaysTheSame(t *testing.T) {
	r := random{seeded(t)}
	for range 2000 {
		s := r.source()
		p, q := mustCompile(t, s), mustCompile(t, r.changed(s))
		found := Loosenings(p, q)
		if again := Loosenings(p, q); !reflect.DeepEqual(found, again) {
			t.Fatalf("%+v\n%+v", found, again)
		}
		seen := map[string]bool{}
		for _, l := range found {
			if seen[l.ID] || l.ID == "" || strings.ContainsAny(l.ID, " ,") || l.Kind == "" || !strings.HasSuffix(l.What, ".") {
				t.Fatalf("%+v", found)
			}
			seen[l.ID] = true
		}
	}
}
