package powers_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

// garbage is refused by every row as input, so a refusal for anything else was
// decided before the arguments were looked at.
const garbage = `{"no_such_key":[1,`

// grants lists every subset of what a row asks for, and every scope there is.
func grants(need []operator.Scope) [][]operator.Scope {
	out := [][]operator.Scope{operator.Scopes()}
	for bits := range 1 << len(need) {
		var some []operator.Scope
		for i, s := range need {
			if bits>>i&1 == 1 {
				some = append(some, s)
			}
		}
		out = append(out, some)
	}
	return out
}

// expected is what the order of the checks says of a caller whose arguments are
// garbage: kind, then scope, then input.
func expected(kind operator.Kind, held []operator.Scope, kindsOf []operator.Kind, need []operator.Scope) (reason string, missing []operator.Scope) {
	for _, s := range need {
		if !slices.Contains(held, s) {
			missing = append(missing, s)
		}
	}
	switch {
	case !slices.Contains(kindsOf, kind):
		return "kind_not_allowed", nil
	case len(missing) > 0:
		return "missing_scope", missing
	}
	return "not_json", nil
}

func TestKindComesBeforeScopeAndScopeBeforeArguments(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		for _, tool := range w.Tools() {
			for _, kind := range kinds() {
				for _, held := range grants(tool.Scopes) {
					c := w.as(kind, held...)
					reason, missing := expected(kind, held, tool.Kinds, tool.Scopes)
					name := fmt.Sprintf("%s with %v calls %s", kind, held, tool.Name)
					w.refuses(t, name, c, reason, missing, func() reply { return w.call(c, tool, garbage) })
					if visible := slices.Contains(w.Visible(c.Principal, c.Face), tool); visible != (reason == "not_json") {
						t.Errorf("%s: visible %v, but the call is refused with %s", name, visible, reason)
					}
				}
			}
		}
		for _, a := range w.Acts() {
			for _, kind := range kinds() {
				for _, held := range grants(a.Scopes) {
					c := w.as(kind, held...)
					reason, missing := expected(kind, held, a.Kinds, a.Scopes)
					name := fmt.Sprintf("%s with %v does %s", kind, held, a.Name)
					w.refuses(t, name, c, reason, missing, func() reply { return w.do(c, a, garbage) })
				}
			}
		}
	})
}

// refuses holds one try to one envelope, one row in the record, and no other change.
func (w *world) refuses(t *testing.T, name string, c powers.Caller, reason string, missing []operator.Scope, try func() reply) reply {
	t.Helper()
	before, n := w.digest(), w.lines()
	r := try()
	if r.OK || r.env.Reason != reason {
		t.Errorf("%s: want %s, got %s", name, reason, r.JSON)
		return r
	}
	if missing != nil && fmt.Sprint(r.env.Error.Details["missing"]) != fmt.Sprint(missing) {
		t.Errorf("%s: it lacks %v, and was told %v", name, missing, r.env.Error.Details["missing"])
	}
	written := w.since(n)
	if len(written) != 1 {
		t.Errorf("%s: %d rows in the record: %+v", name, len(written), written)
		return r
	}
	want := line{account: fmt.Sprint(c.Principal.AccountID()), principal: c.Principal.ID(), kind: string(c.Principal.Kind()), via: string(c.Face),
		action: r.env.Action, argsDigest: written[0].argsDigest, verdict: r.env.Verdict, reason: reason, layer: r.env.Layer, requestID: c.RequestID}
	if written[0] != want {
		t.Errorf("%s: the record says %+v, want %+v", name, written[0], want)
	}
	if w.digest() != before {
		t.Errorf("%s: something changed beside the record", name)
	}
	return r
}

func TestWhatIsVisibleCanBeCalled(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		for _, kind := range kinds() {
			c := w.full(kind)
			for _, tool := range w.Visible(c.Principal, c.Face) {
				if r := w.call(c, tool, text(w.args(c, tool))); !r.OK {
					t.Errorf("%s calls %s: %s", kind, tool.Name, r.JSON)
				}
			}
		}
	})
}

func TestAScopeOfTheSameAreaIsNotAScope(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	for _, tool := range w.Tools() {
		var others []operator.Scope
		for _, s := range operator.Scopes() {
			if !slices.Contains(tool.Scopes, s) {
				others = append(others, s)
			}
		}
		w.call(w.as(tool.Kinds[0], others...), tool, `{}`).wants(t, "missing_scope")
	}
}

func TestNobodySeesAndMayNothing(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	nobody := powers.Caller{Face: powers.FaceLibrary, RequestID: "req-0"}
	if seen := w.Visible(nobody.Principal, nobody.Face); len(seen) > 0 {
		t.Errorf("nobody sees %d tools", len(seen))
	}
	for _, tool := range w.Tools() {
		w.refuses(t, tool.Name, nobody, "unauthenticated", nil, func() reply { return w.call(nobody, tool, `{}`) })
	}
	for _, a := range w.Acts() {
		w.refuses(t, a.Name, nobody, "unauthenticated", nil, func() reply { return w.do(nobody, a, `{}`) })
	}
}

func TestAnUnknownToolIsAnEnvelopeToo(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	c := w.full(operator.KindAgent)
	tool := w.recording().Name
	for name, action := range map[string]string{
		"operator_approve_action_intent": "operator_approve_action_intent",
		"":                               "unknown",
		tool + " ":                       "unknown",
		"Operator_state":                 "unknown",
		w.act("/approve").Name:           w.act("/approve").Name, // an act is no tool
		tool + "\x00":                    "unknown",
		w.First.Agent.Token:              "unknown",
		"../" + tool:                     "unknown",
	} {
		r := w.refuses(t, name, c, "unknown_tool", nil, func() reply { return read(t, w.Call(t.Context(), c, name, []byte(`{}`))) })
		if r.env.Action != action {
			t.Errorf("%q is written down as %q", name, r.env.Action)
		}
	}
}
