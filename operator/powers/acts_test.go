package powers_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

func decode(t testing.TB, raw []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
}

// Whoever is not of the act's kind is refused with arguments that would do it,
// and every scope there is.
func TestNoActIsReachedWithACredentialOfAnotherKind(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		w.full(operator.KindAgent)
		for _, a := range w.Acts() {
			raw := text(w.actArgs(a))
			for _, kind := range kinds() {
				if slices.Contains(a.Kinds, kind) {
					continue
				}
				for _, face := range []powers.Face{powers.FaceMCP, powers.FaceREST, powers.FaceLibrary} {
					c := w.full(kind)
					c.Face = face
					name := fmt.Sprintf("%s as %s over %s", a.Name, kind, face)
					r := w.refuses(t, name, c, "kind_not_allowed", nil, func() reply { return w.do(c, a, raw) })
					if r.Status != 403 {
						t.Errorf("%s: status %d", name, r.Status)
					}
				}
			}
		}
	})
}

// The same arguments do it for somebody of the act's kind, so that the sweep
// above was refused for the kind and for nothing else.
func TestEveryActIsDoneByItsOwnKind(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		elsewhere := map[string]string{"/settle": "transition_not_allowed", "/reissue": "transition_not_allowed", "/extend": "stale_fencing_token", "/report": "stale_fencing_token"}
		for _, a := range w.Acts() {
			c := w.full(a.Kinds[0])
			r := w.do(c, a, text(w.actArgs(a)))
			// These want an intent that is being carried out, or was.
			if want := elsewhere[a.Path[strings.LastIndex(a.Path, "/"):]]; want != "" {
				r.wants(t, want)
			} else if !r.OK {
				t.Errorf("%s: %s", a.Name, r.JSON)
			}
		}
	})
}

func TestAnActWithoutItsScopeSaysWhichIsMissing(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	for _, a := range w.Acts() {
		other := operator.ScopeStateRead
		if slices.Contains(a.Scopes, other) {
			other = operator.ScopeCommentsWrite
		}
		c := w.as(a.Kinds[0], other)
		raw := text(w.actArgs(a))
		r := w.refuses(t, a.Name, c, "missing_scope", a.Scopes, func() reply { return w.do(c, a, raw) })
		if r.env.Recovery[0].Kind != "request_scope" || !strings.Contains(r.Challenge, `error="insufficient_scope", scope="`+string(a.Scopes[0])) {
			t.Errorf("%s: %q %s", a.Name, r.Challenge, r.JSON)
		}
	}
}

// No spelling of approved is taken by an act either: the words of its own status
// are about what became of a job.
func TestNoSpellingOfApprovedIsTakenFromAnActsStatus(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		found := 0
		for _, a := range w.Acts() {
			if properties(schemaOf(t, a.InputSchema))["status"] == nil {
				continue
			}
			found++
			c, args := w.full(a.Kinds[0]), w.actArgs(a)
			word := fmt.Sprintf(`"status":"%s"`, args["status"])
			before, n := w.digest(), w.lines()
			for _, s := range spellings {
				raw := strings.Replace(text(args), word, `"status":`+s, 1)
				if r := w.do(c, a, raw); r.OK || r.env.Layer != "input" {
					t.Errorf("%s: %s: %s", a.Name, raw, r.JSON)
				}
			}
			if w.digest() != before || len(w.since(n)) != len(spellings) {
				t.Errorf("%s: something changed, or the record lacks a try", a.Name)
			}
		}
		if found < 2 {
			t.Fatalf("only %d acts with a status were found", found)
		}
	})
}

// A worker that holds a job reports on it by the tool and by the act, and neither
// makes anything approved.
func TestAWorkerCannotMakeAnythingApproved(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	in := w.intent(w.full(operator.KindAgent))
	c := w.full(operator.KindWorker)
	for _, s := range gate.Statuses() {
		for _, raw := range []string{
			fmt.Sprintf(`{"id":%d,"status":%q}`, in.ID, s),
			fmt.Sprintf(`{"id":%d,"status":%q,"fencing_token":1}`, in.ID, s),
		} {
			if r := w.call(c, w.moving(), raw); r.OK {
				t.Errorf("%s: %s", raw, r.JSON)
			}
			if r := w.do(c, w.act("/report"), raw); r.OK {
				t.Errorf("%s: %s", raw, r.JSON)
			}
		}
	}
	if got := w.query(`select status from reeve_intents where id = $1`, in.ID); got[0][0] != "pending_approval" {
		t.Errorf("it is %s", got[0][0])
	}
}

// A credential that was fine when it was resolved is looked at again within the
// act's own transaction.
func TestAPersonRemovedAfterTheyWereResolvedActsNoMore(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		_, m := w.NewPerson(t, "ana", operator.RoleOwner)
		c, refused := w.Authenticate(t.Context(), powers.Presented{Authorization: []string{"Bearer " + m.Token}, Face: powers.FaceREST})
		if refused != nil {
			t.Fatalf("%s", refused.JSON)
		}
		raw := map[*powers.Act]string{}
		for _, a := range w.Acts() {
			raw[a] = text(w.actArgs(a))
		}
		if err := w.RemovePerson(t.Context(), "", "ana"); err != nil {
			t.Fatal(err)
		}
		for _, a := range w.Acts() {
			if a.Kinds[0] == operator.KindHuman {
				w.refuses(t, a.Name, c, "credential_revoked", nil, func() reply { return w.do(c, a, raw[a]) })
			}
		}
	})
}
