package powers_test

import (
	"slices"
	"testing"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

// policyAct finds an act on the policy by its method and address.
func (w *world) policyAct(method, path string) *powers.Act {
	w.t.Helper()
	for _, a := range w.Acts() {
		if a.Method == method && a.Path == path {
			return a
		}
	}
	w.t.Fatalf("no act answers %s %s", method, path)
	return nil
}

func TestAPolicyThatLoosensIsAConflictThatSaysWhatToAccept(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		owner := w.full(operator.KindHuman)
		put, get := w.policyAct("PUT", "/v1/policy"), w.policyAct("GET", "/v1/policy")
		hard := map[string]any{"policy": "version: 1\nextends: default\nrules:\n  - {id: never, match: {types: [spend]}, effect: deny, reason: Not this month.}\n"}
		if r := w.do(owner, put, text(hard)); !r.OK {
			t.Fatalf("%s", r.JSON)
		}
		r := w.call(w.full(operator.KindAgent), w.recording(), `{"action":{"type":"spend","title":"Desks","amount_cents":100}}`)
		var denied operator.Intent
		decode(t, r.JSON, &denied)
		soft := map[string]any{"policy": "version: 1\nextends: default\n"}
		refused := w.do(owner, put, text(soft))
		refused.wants(t, "policy_loosens")
		missing, _ := refused.env.Error.Details["missing"].([]any)
		if refused.Status != 409 || refused.env.Layer != "policy" || len(missing) != 2 || missing[0] != "never" {
			t.Errorf("%s", refused.JSON)
		}
		var info operator.PolicyInfo
		decode(t, w.do(owner, get, `{}`).JSON, &info)
		if info.Sequence != 1 || info.Version != denied.PolicyVersion || refused.env.Error.Details["base"] != info.Version {
			t.Errorf("%+v", info)
		}
		soft["accept"], soft["base"] = missing, info.Version
		if r := w.do(owner, put, text(soft)); !r.OK {
			t.Fatalf("%s", r.JSON)
		}
		decode(t, w.do(owner, get, `{}`).JSON, &info)
		if info.Sequence != 2 || *info.AcceptedBy != "human:owner" || !slices.ContainsFunc(info.Accepted, func(l operator.Loosening) bool { return l.Intent == denied.ID }) {
			t.Errorf("%+v", info)
		}
		w.do(owner, put, text(map[string]any{"policy": "version: 1\nrules: [{id: x}]\n"})).wants(t, "policy_invalid")
	})
}

func TestAnActionIsExplainedWithoutBeingRecorded(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	explain := w.policyAct("POST", "/v1/policy/explain")
	_, member := w.NewPerson(t, "mo", operator.RoleMember)
	c, refused := w.Authenticate(t.Context(), powers.Presented{Authorization: []string{"Bearer " + member.Token}, Face: powers.FaceREST})
	if refused != nil {
		t.Fatalf("%s", refused.JSON)
	}
	before, n := w.digest(), w.lines()
	for action, want := range map[string]operator.Explained{
		`{"type":"note","title":"x"}`:                     operator.ExplainedAllow,
		`{"type":"spend","title":"x","amount_cents":100}`: operator.ExplainedPark,
		`{"type":"policy_change","title":"x"}`:            operator.ExplainedDeny,
	} {
		var out operator.PolicyExplanation
		r := w.do(c, explain, `{"action":`+action+`}`)
		decode(t, r.JSON, &out)
		if !r.OK || out.Verdict != want || len(out.Rules) != 15 {
			t.Errorf("%s: %s", action, r.JSON)
		}
	}
	if w.digest() != before || w.lines() != n {
		t.Error("something was recorded")
	}
}
