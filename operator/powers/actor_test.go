package powers_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

func nested(open, close string, depth int) string {
	return strings.Repeat(open, depth) + strings.Repeat(close, depth)
}

// actors are values of every JSON type, all of them fine.
func actors() []string {
	return []string{
		`null`, `true`, `false`, `0`, `-1.5e3`, `1e400`, `9007199254740993`, `""`, `"human:owner"`, `"approved"`, `[]`, `{}`,
		`[1,"two",null,[true]]`, `{"kind":"human","id":"human:owner","role":"owner","scopes":["intents:decide"]}`,
		`{"status":"approved","action":{"type":"spend"}}`, `{"actor":{"actor":{"actor":null}}}`, `"a\u202eb\u200b"`,
		nested("[", "]", 63), strings.Repeat(`{"a":`, 62) + "1" + strings.Repeat("}", 62),
		`"` + strings.Repeat("x", 500_000) + `"`, `[` + strings.Repeat("0,", 100_000) + `0]`,
	}
}

// badActors break a rule about the text as a whole, which holds there too.
func badActors() map[string]string {
	return map[string]string{
		nested("[", "]", 64):                   "too_deep",
		nested("[", "]", 10_000):               "too_deep",
		`{"a":1,"a":2}`:                        "repeated_key",
		`[{"b":{"c":1,"\u0063":2}}]`:           "repeated_key",
		`"a\u0000b"`:                           "bad_text",
		`{"\u0000":1}`:                         "bad_text",
		`"\ud800"`:                             "bad_text",
		"\"\xff\"":                             "bad_text",
		`01`:                                   "not_json",
		`tru`:                                  "not_json",
		`[1,]`:                                 "not_json",
		`'x'`:                                  "not_json",
		`1,"actor":2`:                          "repeated_key",
		`1,"\u0061ctor":2`:                     "repeated_key",
		`1,"Actor":2`:                          "unknown_key",
		`1,"actors":2`:                         "unknown_key",
		`"` + strings.Repeat("x", 1<<20) + `"`: "too_large",
	}
}

// withActor puts an actor before and behind the other members.
func withActor(args map[string]any, actor string) []string {
	whole := text(args)
	if whole == "{}" {
		return []string{`{"actor":` + actor + "}", `{"act\u006fr":` + actor + "}"}
	}
	return []string{`{"actor":` + actor + "," + whole[1:], whole[:len(whole)-1] + `,"act\u006fr":` + actor + "}"}
}

func TestAnActorOfAnyTypeIsTakenAndThrownAway(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		for _, tool := range w.Tools() {
			if tool.Toolset != powers.ToolsetOperator || tool.ReadOnly() {
				continue
			}
			c := w.full(operator.KindAgent)
			for _, actor := range actors() {
				for i := range 2 {
					raw := withActor(w.args(c, tool), actor)[i]
					n := w.lines()
					if r := w.call(c, tool, raw); !r.OK {
						t.Fatalf("%s: %.200s: %s", tool.Name, raw, r.JSON)
					}
					if got := w.since(n); len(got) != 1 || got[0].principal != c.Principal.ID() || got[0].kind != "agent" {
						t.Fatalf("%s: %.200s: the record says %+v", tool.Name, raw, got)
					}
				}
			}
		}
		for _, r := range w.query(`select distinct recorded_by from reeve_intents`) {
			if !strings.HasPrefix(r[0], "agent:") {
				t.Errorf("an intent was recorded by %s", r[0])
			}
		}
	})
}

func TestWhatHoldsForAllArgumentsHoldsInsideAnActor(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	for _, tool := range w.Tools() {
		if tool.Toolset != powers.ToolsetOperator || tool.ReadOnly() {
			continue
		}
		c := w.full(operator.KindAgent)
		for actor, reason := range badActors() {
			for _, raw := range withActor(w.args(c, tool), actor) {
				w.refuses(t, fmt.Sprintf("%s: %.80s", tool.Name, raw), c, reason, nil, func() reply { return w.call(c, tool, raw) })
			}
		}
	}
}

// A read that took one would announce that it matters who looks; an act is a
// proved person's or worker's.
func TestReadsAndActsTakeNoActor(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	reads := 0
	for _, tool := range w.Tools() {
		announced := properties(schemaOf(t, tool.InputSchema))["actor"] != nil
		if announced == tool.ReadOnly() {
			t.Errorf("%s: announced %v", tool.Name, announced)
		}
		if tool.ReadOnly() {
			reads++
			w.call(w.full(operator.KindAgent), tool, `{"actor":null}`).wants(t, "unknown_key")
		}
	}
	if reads == 0 {
		t.Error("there is no read")
	}
	for _, a := range w.Acts() {
		raw := withActor(w.actArgs(a), `"human:owner"`)[0]
		w.do(w.full(a.Kinds[0]), a, raw).wants(t, "unknown_key")
	}
}

// The same action with another actor is the same action.
func TestAnActorIsNoPartOfWhatIsRecorded(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	c := w.full(operator.KindAgent)
	args := w.args(c, w.recording())
	var ids []int64
	for i, actor := range []string{`"a"`, `{"b":1}`, `null`} {
		var in operator.Intent
		decode(t, w.call(c, w.recording(), withActor(args, actor)[0]).JSON, &in)
		if ids = append(ids, in.ID); in.Created != (i == 0) {
			t.Errorf("with %s: created %v", actor, in.Created)
		}
	}
	if len(slices.Compact(ids)) != 1 {
		t.Errorf("they are %v", ids)
	}
}
