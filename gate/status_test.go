package gate

import (
	"errors"
	"strings"
	"testing"
)

// The whole lifecycle as a picture: a line per status, and what may follow it.
// It is written apart from the table in the code on purpose.
const lifecycle = `
                  -> allowed gate, pending_approval gate, denied gate
pending_approval  -> approved person, rejected person, superseded person
pending_approval  -> cancelled person, cancelled recorder, expired time
approved          -> cancelled person, cancelled recorder, cancelled stale_run, cancelled hard_deny
approved          -> expired time, executing claim
allowed           -> cancelled person, cancelled recorder, cancelled hard_deny
allowed           -> expired time, executing claim
executing         -> succeeded holder, failed holder, unknown reclaim
executing         -> approved reclaim_idempotent, allowed reclaim_idempotent
unknown           -> succeeded person, failed person, succeeded reconciliation, failed reconciliation
`

func readLifecycle(t *testing.T) map[Transition]bool {
	t.Helper()
	moves := make(map[Transition]bool)
	for line := range strings.Lines(lifecycle) {
		from, list, found := strings.Cut(strings.TrimSpace(line), "->")
		if !found {
			continue
		}
		for item := range strings.SplitSeq(list, ",") {
			to, by, _ := strings.Cut(strings.TrimSpace(item), " ")
			moves[Transition{Status(strings.TrimSpace(from)), Status(to), Cause(by)}] = true
		}
	}
	return moves
}

func TestEveryMoveOfTheLifecycleIsInThePictureAndNoOther(t *testing.T) {
	want := readLifecycle(t)
	if len(want) != len(Transitions()) {
		t.Errorf("the picture has %d moves and the table %d", len(want), len(Transitions()))
	}
	froms := append([]Status{"", "Approved", "nonsense"}, Statuses()...)
	tos := append([]Status{"", " approved", "APPROVED"}, Statuses()...)
	causes := append([]Cause{"", "agent", "Person"}, Causes()...)
	for _, from := range froms {
		for _, to := range tos {
			for _, by := range causes {
				if got := CanMove(from, to, by); got != want[Transition{from, to, by}] {
					t.Errorf("CanMove(%q, %q, %q) = %v", from, to, by, got)
				}
			}
		}
	}
}

func TestNothingLeavesATerminalStatusAndSomethingLeavesEveryOther(t *testing.T) {
	leaves := make(map[Status]bool)
	for _, m := range Transitions() {
		leaves[m.From] = true
	}
	for _, s := range Statuses() {
		if s.Terminal() == leaves[s] {
			t.Errorf("%s: terminal %v, but leaving it is possible: %v", s, s.Terminal(), leaves[s])
		}
	}
	if Status("").Terminal() || Status("Denied").Terminal() {
		t.Error("a word that is no status counts as terminal")
	}
}

func TestOnlyAPersonApproves(t *testing.T) {
	for _, m := range Transitions() {
		// A reclaim returns an intent to the approval that it had already.
		if m.To == StatusApproved && m.By != ByPerson && m.By != ByReclaimIdempotent {
			t.Errorf("%s sets approved", m.By)
		}
	}
}

func TestAStatusIsReadInOneSpellingOnly(t *testing.T) {
	for _, s := range Statuses() {
		got, err := ParseStatus(string(s))
		if err != nil || got != s || !s.Valid() {
			t.Errorf("ParseStatus(%q) = %q, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "Approved", "APPROVED", " approved", "approved ", "approved\n", "approved\x00",
		"аpproved", "ａｐｐｒｏｖｅｄ", "appro\u200bved", "approve", "pending-approval", "%61pproved", `"approved"`} {
		if got, err := ParseStatus(s); !errors.Is(err, ErrUnknownStatus) || got != "" {
			t.Errorf("ParseStatus(%q) = %q, %v", s, got, err)
		}
	}
}

func TestTheVerdictSetsTheFirstStatus(t *testing.T) {
	for e, want := range map[Effect]Status{
		Allow: StatusAllowed, RequiresApproval: StatusPendingApproval, Deny: StatusDenied, 0: StatusDenied, 9: StatusDenied,
	} {
		if got := e.First(); got != want || !CanMove("", got, ByGate) {
			t.Errorf("%d starts as %s, want %s", e, got, want)
		}
	}
}

func TestAnEffectIsReadInOneSpellingOnly(t *testing.T) {
	for e := Allow; e <= Deny; e++ {
		text, err := e.MarshalText()
		var back Effect
		if err != nil || back.UnmarshalText(text) != nil || back != e {
			t.Errorf("%v does not survive as text", e)
		}
	}
	for _, s := range []string{"", "Allow", "allow ", "park", "requires-approval", "0"} {
		e := Allow
		if err := e.UnmarshalText([]byte(s)); !errors.Is(err, ErrUnknownEffect) || e != Allow {
			t.Errorf("%q was read as an effect", s)
		}
	}
	if _, err := Effect(0).MarshalText(); !errors.Is(err, ErrUnknownEffect) {
		t.Error("the zero effect can be written down")
	}
	if Effect(0).Valid() || Effect(7).Valid() || Effect(0).String() != "deny" || Effect(0).strict() != Deny {
		t.Error("an invalid effect is not treated as deny")
	}
}
