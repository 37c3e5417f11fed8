package core_test

import (
	"context"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator/internal/core"
)

func TestScopesAreStoredSortedOnceEach(t *testing.T) {
	in := []core.Scope{core.ScopeWorkClaim, core.ScopeStateRead, core.ScopeWorkClaim}
	stored := core.JoinScopes(in)
	if stored != "state:read work:claim" {
		t.Errorf("%q", stored)
	}
	if got := core.SplitScopes(stored); !slices.Equal(got, []core.Scope{core.ScopeStateRead, core.ScopeWorkClaim}) {
		t.Errorf("%v", got)
	}
	if core.JoinScopes(nil) != "" || len(core.SplitScopes("")) != 0 {
		t.Error("no scopes")
	}
	if in[0] != core.ScopeWorkClaim {
		t.Error("the caller's list was sorted")
	}
}

func TestEveryScopeIsListed(t *testing.T) {
	words := declared(t, "scopes.go", "Scope")
	if len(words) != len(core.Scopes()) {
		t.Errorf("%d scopes, %d listed", len(words), len(core.Scopes()))
	}
	for _, w := range words {
		if !slices.Contains(core.Scopes(), core.Scope(w)) || !regexp.MustCompile(`^[a-z]+:[a-z]+$`).MatchString(w) {
			t.Errorf("%q", w)
		}
	}
}

func TestEveryWayInIsListed(t *testing.T) {
	words := declared(t, "principal.go", "Via")
	if len(words) != len(core.Vias()) {
		t.Errorf("%d ways in, %d listed", len(words), len(core.Vias()))
	}
}

func TestScopesAreMatchedExactly(t *testing.T) {
	p := core.NewPrincipal(core.PrincipalFields{ID: "agent:a", Kind: core.KindAgent, AccountID: 1, Scopes: []core.Scope{"intents:write"}})
	for _, s := range []core.Scope{"intents", "intents:", "intents:w", "intents:writes", "Intents:write", "intents:write ", "*", ""} {
		if len(p.Missing([]core.Scope{s})) != 1 {
			t.Errorf("%q counts as granted", s)
		}
	}
	if len(p.Missing([]core.Scope{"intents:write"})) != 0 || len(p.Missing(nil)) != 0 {
		t.Error("what was granted is missing")
	}
}

func TestTheZeroPrincipalIsNobody(t *testing.T) {
	var nobody core.Principal
	if nobody.Known() || len(nobody.Missing([]core.Scope{core.ScopeStateRead})) != 1 {
		t.Error("it may do something")
	}
	if stamped := nobody.WithVia(core.ViaMCP); stamped.Known() || nobody.Via() != "" {
		t.Error("a stamp makes somebody of it, or reaches the original")
	}
}

func TestADayIsTheLocalDateAlsoWhereClocksAreMoved(t *testing.T) {
	for _, c := range []struct{ zone, at, day string }{
		{"UTC", "2026-03-03T23:59:59.999999Z", "2026-03-03"},
		{"UTC", "2026-03-04T00:00:00Z", "2026-03-04"},
		{"America/New_York", "2026-11-02T04:59:59.999999Z", "2026-11-01"},
		{"America/New_York", "2026-11-02T05:00:00Z", "2026-11-02"},
		{"America/Havana", "2026-03-08T04:59:59.999999Z", "2026-03-07"},
		{"America/Havana", "2026-03-08T05:00:00Z", "2026-03-08"},
		{"Australia/Lord_Howe", "2026-10-04T12:59:59.999999Z", "2026-10-04"},
		{"Australia/Lord_Howe", "2026-10-04T13:00:00Z", "2026-10-05"},
		{"Asia/Kathmandu", "2026-03-03T18:14:59.999999Z", "2026-03-03"},
		{"Asia/Kathmandu", "2026-03-03T18:15:00Z", "2026-03-04"},
		{"Pacific/Apia", "2011-12-30T09:59:59.999999Z", "2011-12-29"},
		{"Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-31"},
	} {
		zone, err := core.LoadZone(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339Nano, c.at)
		if err != nil {
			t.Fatal(err)
		}
		if day := core.Day(at, zone); day != c.day {
			t.Errorf("%s at %s: %s, want %s", c.zone, c.at, day, c.day)
		}
	}
}

func TestOnlyAnIANANameIsAZone(t *testing.T) {
	for _, name := range []string{"", "Local", "local", "Europe/Atlantis", "../etc/passwd", "/etc/localtime", "UTC+2", "Europe/Madrid "} {
		if _, err := core.LoadZone(name); err == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}

func TestAMomentKeepsItsMicroseconds(t *testing.T) {
	for _, us := range []int64{0, 1, -1, 1772539200123456, 253402300799999999} {
		if got := core.Micros(core.FromMicros(us)); got != us {
			t.Errorf("%d became %d", us, got)
		}
	}
	if core.FromMicros(5).Location() != time.UTC {
		t.Error("not in UTC")
	}
}

func TestRandomTextIsNeverTheSameAndUsesItsWholeAlphabet(t *testing.T) {
	seen, letters := map[string]bool{}, map[rune]bool{}
	for range 1000 {
		text := core.RandomText(43)
		if len(text) != 43 || seen[text] {
			t.Fatalf("%d characters, seen before: %v", len(text), seen[text])
		}
		seen[text] = true
		for _, r := range text {
			letters[r] = true
		}
	}
	if len(letters) != 64 {
		t.Errorf("%d different characters", len(letters))
	}
}

func TestWhatAContextLendsIsNoIdentity(t *testing.T) {
	ctx := core.WithCall(context.Background(), core.Call{ArgsDigest: "d", RequestID: "r"})
	if c := core.CallOf(ctx, "approve"); c.Action != "approve" || c.ArgsDigest != "d" || c.RequestID != "r" {
		t.Errorf("%+v", c)
	}
	if c := core.CallOf(context.Background(), "approve"); c != (core.Call{Action: "approve"}) {
		t.Errorf("%+v", c)
	}
}
