package restadapter

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator"
)

var kinds = []operator.Kind{operator.KindAgent, operator.KindHuman, operator.KindWorker, operator.KindChannel}

// Every doing by every kind of credential, each with every scope there is: only
// the row's kinds get past the kind.
func TestOnlyTheKindsOfARowGetPastIt(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		w, in := watch(t, h.world), h.record(renewal)
		for _, d := range h.doings() {
			for _, kind := range kinds {
				t.Run(fmt.Sprintf("%s as %s", d, kind), func(t *testing.T) {
					if slices.Contains(d.kinds, kind) {
						r := h.as(kind, d.method, d.address(1<<40), d.sample(t))
						if r.status != 200 && r.status != 201 && slices.Contains([]string{"kind_not_allowed", "missing_scope", "unauthenticated"}, readEnvelope(t, r.body).Reason) {
							t.Errorf("%d %s", r.status, r.body)
						}
						return
					}
					for _, body := range []string{d.sample(t), digest(in), "", "garbage"} {
						w.onlyRefused(t, func() {
							e := h.as(kind, d.method, d.address(in.ID), body, d.asText()).refused(t, 403, "kind_not_allowed")
							if e.Action != d.name || e.Layer != "scope" {
								t.Errorf("action %q layer %q", e.Action, e.Layer)
							}
						})
					}
				})
			}
		}
	})
}

// An id that never was and an id of another project's are one answer, byte for
// byte: the same request, before and after the other project has it.
func TestAnotherProjectsIDIsAsAbsentAsOneThatNeverWas(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		if _, err := h.world.AddProject(t.Context(), "", "other"); err != nil {
			t.Fatal(err)
		}
		other := h.world.Mint(t, operator.NewCredential{Kind: operator.KindAgent, Name: "other", Project: "other", Scopes: operator.Scopes()}).Token
		record := func(title string) (in intent) {
			h.call(other, "POST", "/v1/intents", `{"action":{"type":"spend","title":"`+title+`","amount_cents":1}}`).is(t, 201, &in)
			return in
		}
		// The ids of intents and of decisions are counted apart, so a decision is
		// made for each intent.
		owner := h.world.Principal(t, other)
		decide := func() int64 {
			d, err := h.world.OpenDecision(t.Context(), owner, "a choice")
			if err != nil {
				t.Fatal(err)
			}
			return d.ID
		}
		next := record("first").ID + 1
		decide()
		type asked struct {
			d     doing
			kind  operator.Kind
			never reply
		}
		var all []asked
		for _, d := range h.doings() {
			for _, kind := range d.kinds {
				if d.hasID() {
					all = append(all, asked{d, kind, h.call(h.mint(kind, operator.Scopes()), d.method, d.address(next), d.sample(t))})
				}
			}
		}
		if in, d := record("second"), decide(); in.ID != next || d != next {
			t.Fatalf("the other project has intent %d and decision %d, want %d", in.ID, d, next)
		}
		for _, a := range all {
			// Somebody else asks, since the same caller's would be counted as a repetition.
			now := h.call(h.mintLike(a.kind), a.d.method, a.d.address(next), a.d.sample(t))
			if now.status != a.never.status || now.status < 400 || !bytes.Equal(now.body, a.never.body) {
				t.Errorf("%s as %s:\n%d %s\n%d %s", a.d, a.kind, a.never.status, a.never.body, now.status, now.body)
			}
			if a.d.method == http.MethodGet {
				now.refused(t, 404, "not_found")
			}
		}
	})
}

// mintLike makes another principal of that kind; for a person that takes another
// person.
func (h *house) mintLike(kind operator.Kind) string {
	if kind != operator.KindHuman {
		return h.mint(kind, operator.Scopes())
	}
	h.minted++
	_, m := h.world.NewPerson(h.t, fmt.Sprintf("person-%d", h.minted), operator.RoleOwner)
	return m.Token
}

func TestAPathsIDIsAWholePositiveNumberInItsOneSpelling(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		id := h.record(renewal).ID
		for _, d := range h.doings() {
			if !d.hasID() {
				continue
			}
			token := h.tokens[d.kinds[0]]
			for _, spelling := range []string{"+1", "%2B1", "01", "1.0", "1e0", "0x1", "-1", "-0", "0", "1%20", "%201", "9223372036854775808",
				"99999999999999999999999", "%D9%A1", "%EF%BC%91", "1%00", "%FF", "null", "%22", "1%2Fapprove", "{id}", "1,2", "1;2", "true", "abc"} {
				r := h.call(token, d.method, d.address(spelling), d.sample(t))
				if e := readEnvelope(t, r.body); r.status != 400 || e.Layer != "input" {
					t.Errorf("%s with id %s: %d %s", d, spelling, r.status, r.body)
				}
			}
		}
		h.as(operator.KindAgent, "GET", fmt.Sprintf("/v1/intents/%d", id), "").is(t, 200, &intent{})
	})
}

func TestEveryDoingRefusesAMethodThatIsNotItsOwn(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		byPath := map[string][]string{}
		for _, d := range h.doings() {
			byPath[d.path] = append(byPath[d.path], d.method)
		}
		for path, own := range byPath {
			for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"} {
				if slices.Contains(own, method) {
					continue
				}
				r := h.as(operator.KindAgent, method, strings.ReplaceAll(path, "{id}", "1"), "")
				r.refused(t, 405, "method_not_allowed")
				allow := strings.Split(r.header.Get("Allow"), ", ")
				for _, want := range append(own, "OPTIONS") {
					if !slices.Contains(allow, want) {
						t.Errorf("%s %s: Allow is %v, without %s", method, path, allow, want)
					}
				}
				if slices.Contains(own, "GET") != slices.Contains(allow, "HEAD") {
					t.Errorf("%s: Allow is %v", path, allow)
				}
			}
		}
	})
}
