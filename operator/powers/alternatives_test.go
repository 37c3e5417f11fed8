package powers_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

func names(r reply) []string {
	out := []string{}
	for _, a := range r.env.Alternatives {
		out = append(out, a.Tool)
	}
	return out
}

// Each case makes more of the candidates of test_buy work for the caller.
func TestAnAlternativeIsNamedOnlyWhereItWouldWork(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	w.withRows()
	c, tool := w.full(operator.KindAgent), w.named("test_buy")
	off := func(more map[string]bool) operator.KitInput {
		p := map[string]bool{"intents": false}
		for k, v := range more {
			p[k] = v
		}
		return operator.KitInput{Primitives: p}
	}
	for i, step := range []struct {
		kit   operator.KitInput
		grant bool
		want  []string
	}{
		{off(map[string]bool{"goals": false}), false, []string{}},
		{off(nil), false, []string{"test_read"}},
		{off(map[string]bool{"brain": true}), false, []string{"test_read", "test_brain"}},
		{off(map[string]bool{"pipelines": true}), false, []string{"test_read"}}, // it spends, and nobody pressed Start
		{off(map[string]bool{"pipelines": true}), true, []string{"test_pay", "test_read"}},
	} {
		w.kit(step.kit)
		if step.grant {
			w.grant(c.Principal.ID(), nil)
		}
		r := w.call(c, tool, pay(int64(i+1), ""))
		// The first time, or the second, that this caller hears it for these arguments.
		if r.env.Repeat == 1 && !slices.Equal(names(r), step.want) {
			t.Errorf("step %d: want %v, got %s", i, step.want, r.JSON)
		}
		for _, name := range names(r) {
			if other := w.call(c, w.named(name), text(w.argsBeside(c, w.named(name)))); !other.OK {
				t.Errorf("%s was named, and answers %s", name, other.JSON)
			}
		}
	}
}

func TestAlternativesBearTheClientsNamesAndStayOnItsFace(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	w.withRows()
	c, tool := w.full(operator.KindAgent), w.moving()
	c.ToolPrefix, c.Face = "acme_", powers.FaceMCP
	if r := w.call(c, tool, `{"id":99,"status":"cancelled"}`); !slices.Equal(names(r), []string{"acme_" + w.looking().Name}) {
		t.Errorf("%s", r.JSON)
	}
	// Wrong arguments are corrected, not got around.
	if r := w.call(c, tool, `{"id":0}`); len(names(r)) != 0 {
		t.Errorf("%s", r.JSON)
	}
}

func TestFromTheThirdIdenticalRefusalOnThereIsNoAlternative(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	w.withRows()
	c, tool := w.full(operator.KindAgent), w.named("test_buy")
	for n := 1; n <= 4; n++ {
		r := w.call(c, tool, pay(1, ""))
		if r.env.Reason != "spending_not_granted" || len(names(r)) != map[bool]int{true: 1}[n < 3] || onlyAPerson(r) != (n >= 3) {
			t.Errorf("time %d: %s", n, r.JSON)
		}
	}
}

// A brake is never answered with less because it was refused before.
func TestABrakesRefusalsDoNotEscalate(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	w.withRows()
	c := w.full(operator.KindAgent)
	for _, name := range []string{"test_stop", "test_look"} {
		for n := 1; n <= 12; n++ {
			w.call(c, w.named(name), `{"zz":1}`).isTime(t, n, false)
		}
	}
}

func TestACandidateThatIsNoToolStopsTheSchedule(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	for name, instead := range map[string]powers.Instead{
		"no such tool": {Tool: "test_nothing", Why: "It is not there."},
		"itself":       {Tool: "test_row", Why: "It is the same."},
		"no word why":  {Tool: w.looking().Name},
	} {
		spec := goodSpec()
		spec.Instead = []powers.Instead{instead}
		if _, err := powers.WithRows(w.Operator, rowOf(spec)); err == nil {
			t.Errorf("%s: the schedule was made", name)
		}
	}
}

// Over MCP a toolset is there where it was named and the kit has its primitives;
// elsewhere the kit alone decides. What is not there is as unknown as what never was.
func TestAToolsetIsServedOverMCPWhereItIsNamed(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	w.withRows()
	if _, err := w.WithToolsets("tset"); err == nil {
		t.Error("a toolset that is not there was served")
	}
	with, err := w.WithToolsets("test")
	if err != nil {
		t.Fatal(err)
	}
	for _, named := range []bool{false, true} {
		s := map[bool]*powers.Schedule{false: w.Schedule, true: with}[named]
		for _, on := range []bool{false, true} {
			w.kit(operator.KitInput{Primitives: map[string]bool{"brain": on}})
			for _, face := range []powers.Face{powers.FaceMCP, powers.FaceREST, powers.FaceLibrary} {
				c := w.as(operator.KindAgent, operator.ScopeStateRead, operator.ScopeIntentsWrite)
				c.Face = face
				want := ""
				if !on {
					want = "capability_denied"
				}
				if !named && face == powers.FaceMCP {
					want = "unknown_tool"
				}
				name := fmt.Sprintf("named %v, on %v, over %s", named, on, face)
				r := read(t, s.Call(t.Context(), c, "test_brain", []byte(`{}`)))
				if r.env.Reason != want {
					t.Errorf("%s: want %q, got %s", name, want, r.JSON)
				}
				if visible := slices.ContainsFunc(s.Visible(c.Principal, face), func(t *powers.Tool) bool { return t.Name == "test_brain" }); visible != r.OK {
					t.Errorf("%s: listed %v", name, visible)
				}
			}
		}
	}
}
