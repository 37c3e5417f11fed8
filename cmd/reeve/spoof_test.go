package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

// fewestSpoofs is how many different ones have to be tried on every face, and
// fewestTries how often in all on one database.
const (
	fewestSpoofs = 40
	fewestTries  = 2_000
)

// Who acts is known from the credential and from nothing else. After each try every
// table is as it was, but for what tells of a refusal; where the forged part is
// thrown away, what came is the caller's own.
func TestNoSpoofOfIdentityChangesARowOnAnyFace(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of tries")
	}
	total := 0
	operatortest.EachStore(t, func(t *testing.T, store string) {
		s := newStage(t, store)
		s.remember()
		before, all, tries := s.ledger(), spoofs(s), 0
		for _, f := range everyFace() {
			met, n := 0, 0
			for _, sp := range all {
				if sp.spots&^f.spots != 0 {
					continue
				}
				met++
				for _, deed := range sp.deeds {
					if slices.Contains(f.deeds, deed) {
						before = s.tries(t, f, sp, deed, before)
						n++
					}
				}
			}
			t.Logf("%s on %s: %d spoofs, %d tries", f.name, store, met, n)
			if met < fewestSpoofs || n < met {
				t.Errorf("%s on %s: only %d spoofs in %d tries", f.name, store, met, n)
			}
			tries += n
		}
		if tries < fewestTries {
			t.Errorf("only %d tries on %s", tries, store)
		}
		total += tries
		s.stillWaits(t)
		s.honestly(t)
	})
	t.Logf("%d tries over %d faces and 2 databases", total, len(everyFace()))
}

// remember has the victim and the owner call under keys that others will try.
func (s *stage) remember() {
	s.t.Helper()
	for who, does := range map[string]string{"victim": toRecord, "owner": toComment} {
		for _, f := range everyFace() {
			for _, deed := range f.deeds {
				a := &attempt{face: f.name, deed: deed}
				own := &attempt{deed: does, args: s.arguments(does), token: s.who[who].token, key: a.keyOf(who)}
				if got := spoofSchedule(s, own); !got.ok {
					s.t.Fatalf("%s: %s", who, got.raw)
				}
			}
		}
	}
}

// tries makes one try, and gives how the tables stand behind it.
func (s *stage) tries(t *testing.T, f face, sp spoof, deed string, before ledger) ledger {
	t.Helper()
	a := &attempt{face: f.name, deed: deed, args: s.arguments(deed), token: s.who[sp.as].token}
	if sp.shape != nil {
		sp.shape(s, a)
	}
	name, last := fmt.Sprintf("%s: %s: %s", f.name, sp.name, deed), s.newest()
	got, owed := f.try(s, a), sp.owes(s, f, deed)
	after := s.ledger()
	if owed == "" {
		if !got.ok {
			t.Errorf("%s: the forged part is thrown away, and yet it is refused: %s", name, got.raw)
			return after
		}
		s.ownDoing(t, name, s.who[sp.as], a, before, after)
		return after
	}
	s.refusedFor(t, name, got, owed)
	if came, went := after.since(before); len(came)+len(went) > 0 {
		t.Errorf("%s: something changed: %v came, %v went", name, came, went)
	}
	want := []string{s.refusedAs(sp, owed) + "|" + string(owed)}
	if got.unsent || f.direct {
		want = nil
	}
	if on := s.refusals(last); !slices.Equal(on, want) {
		t.Errorf("%s: the record says %v, want %v", name, on, want)
	}
	return after
}

// refusedAs is whom the record names: whose the credential is, or was. A credential
// that is not one was nobody's.
func (s *stage) refusedAs(sp spoof, owed operator.Reason) string {
	if owed == unauthenticated || owed == credentialInQuery {
		return ""
	}
	return s.who[sp.as].principal
}

// refusedFor holds an answer to the whole envelope of a refusal.
func (s *stage) refusedFor(t *testing.T, name string, got returned, owed operator.Reason) {
	t.Helper()
	if got.unsent && owed == unauthenticated {
		return
	}
	var e struct {
		OK       *bool  `json:"ok"`
		Verdict  string `json:"verdict"`
		Reason   string `json:"reason"`
		Layer    string `json:"layer"`
		Action   string `json:"action"`
		Message  string `json:"message"`
		Recovery []any  `json:"recovery"`
	}
	if err := json.Unmarshal(got.raw, &e); err != nil {
		t.Errorf("%s: %v: %s", name, err, got.raw)
		return
	}
	info := owed.Info()
	if got.ok || e.OK == nil || *e.OK || e.Reason != string(owed) || e.Verdict != "deny" || e.Layer != string(info.Layer) || e.Action == "" || e.Message == "" || len(e.Recovery) == 0 {
		t.Errorf("%s: want %s, got %s", name, owed, got.raw)
	}
	if got.status != 0 && got.status != info.Status {
		t.Errorf("%s: status %d, want %d", name, got.status, info.Status)
	}
	for who, m := range s.minted {
		if strings.Contains(string(got.raw), m.Token[9:]) {
			t.Errorf("%s: the credential of %s comes back: %s", name, who, got.raw)
		}
	}
}

// ownDoing holds what came of a deed to be the caller's own, once, and all there is.
func (s *stage) ownDoing(t *testing.T, name string, who somebody, a *attempt, before, after ledger) {
	t.Helper()
	came, went := after.since(before)
	want := map[string]string{"reeve_audit": `select principal, kind from reeve_audit where verdict = 'done' order by id desc limit 1`}
	switch a.deed {
	case toRecord:
		want["reeve_intents"] = `select recorded_by, recorded_kind from reeve_intents where decided_by is null and status = 'pending_approval' order by id desc limit 1`
		want["reeve_outbox"] = ""
	case toComment:
		want["reeve_comments"] = `select author, kind from reeve_comments order by id desc limit 1`
	}
	if a.key != "" {
		want["reeve_idempotency"] = `select principal, '` + string(who.kind) + `' from reeve_idempotency order by id desc limit 1`
	}
	for table, query := range want {
		if len(came[table]) != 1 {
			t.Errorf("%s: %d rows came into %s", name, len(came[table]), table)
		} else if query != "" {
			if row := operatortest.Rows(t, s.db, query); len(row) != 1 || row[0] != who.principal+"|"+string(who.kind) {
				t.Errorf("%s: %s says %v, want %s", name, table, row, who.principal)
			}
		}
	}
	if len(came) != len(want) || len(went) > 0 {
		t.Errorf("%s: more changed: %v came, %v went", name, came, went)
	}
}

// stillWaits looks at what all of it was about.
func (s *stage) stillWaits(t *testing.T) {
	t.Helper()
	in, err := s.ShowIntent(t.Context(), s.Owner, s.waiting.ID)
	if err != nil || in.Status != s.waiting.Status || in.DecidedBy != nil || in.Digest != s.waiting.Digest {
		t.Errorf("what waited is %+v, %v", in, err)
	}
}

// honestly does each deed on each face as who may: a test whose calls could not
// succeed would find nothing.
func (s *stage) honestly(t *testing.T) {
	t.Helper()
	for _, f := range everyFace() {
		for _, deed := range f.deeds {
			s.waiting = s.Record(t, operator.RecordIntentInput{Action: s.action()})
			who := "owner"
			if deed == toUpdate || deed == toRecord {
				who = "victim"
			}
			before := s.ledger()
			a := &attempt{deed: deed, args: s.arguments(deed), token: s.who[who].token}
			if deed == toSetKit {
				a.args = map[string]any{"primitives": map[string]any{"brain": true}}
			}
			got := f.try(s, a)
			came, _ := s.ledger().since(before)
			if _, _, act := s.route(deed); f.tools && act != nil {
				s.refusedFor(t, f.name+": "+deed, got, unknownTool) // a person approves elsewhere
			} else if !got.ok || len(came) == 0 {
				t.Errorf("%s: %s as %s: %s; %v", f.name, deed, who, got.raw, came)
			}
		}
	}
}
