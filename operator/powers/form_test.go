package powers_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

// call is a tool or an act, with arguments that it takes.
type call struct {
	name   string
	schema map[string]any
	caller powers.Caller
	fresh  func() map[string]any
	try    func(raw string) reply
	tool   bool
}

// calls lists every row of both tables.
func (w *world) calls(t *testing.T) []call {
	t.Helper()
	var out []call
	for _, tool := range w.Tools() {
		c := w.full(tool.Kinds[0])
		out = append(out, call{tool.Name, schemaOf(t, tool.InputSchema), c, func() map[string]any { return w.args(c, tool) },
			func(raw string) reply { return w.call(c, tool, raw) }, true})
	}
	for _, a := range w.Acts() {
		c := w.full(a.Kinds[0])
		out = append(out, call{a.Name, schemaOf(t, a.InputSchema), c, func() map[string]any { return w.actArgs(a) },
			func(raw string) reply { return w.do(c, a, raw) }, false})
	}
	return out
}

// formIsFine says that a call got past its arguments: an act on a fresh intent
// may be refused for the intent's state.
func (c call) formIsFine(r reply) bool { return r.OK || !c.tool && r.env.Layer == "state" }

func TestAnUnknownOrRepeatedKeyIsRefusedAtAnyDepth(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	deep := 0
	for _, c := range w.calls(t) {
		for _, at := range objects(c.schema) {
			inner := at
			open := len(at) > 0 && at[len(at)-1] == "data"
			if len(at) > 0 {
				deep++
			}
			for _, bad := range []string{`"zz_unknown":1`, `"":null`, `"__proto__":1`, `"$ref":"x"`} {
				r := c.try(splice(c.fresh(), inner, bad))
				if open && !c.formIsFine(r) {
					t.Errorf("%s: the open object %v does not take %s: %s", c.name, at, bad, r.JSON)
				} else if !open {
					r.wants(t, "unknown_key")
				}
			}
			for _, bad := range []string{`"zz":1,"zz":1`, `"zz":1,"\u007az":2`, `"zz":{"a":1,"a":1}`} {
				c.try(splice(c.fresh(), inner, bad)).wants(t, "repeated_key")
			}
		}
	}
	if deep < 3 {
		t.Errorf("only %d objects within arguments were found", deep)
	}
}

func TestAKeyInAnotherCaseIsUnknown(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	for _, c := range w.calls(t) {
		for _, p := range places(c.schema) {
			for _, other := range []string{strings.ToUpper(p.name()), strings.ToUpper(p.name()[:1]) + p.name()[1:], p.name() + " ", strings.ReplaceAll(p.name(), "_", "-") + "-"} {
				args := c.fresh()
				set(args, append(slices.Clone(p.path[:len(p.path)-1]), other), 1)
				c.try(text(args)).wants(t, "unknown_key")
			}
		}
	}
}

func TestNullForAnOptionalArgumentIsAbsence(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	optional := 0
	for _, c := range w.calls(t) {
		all := c.fresh()
		for _, p := range places(c.schema) {
			args := c.fresh()
			if len(p.path) > 1 && args[p.path[0]] == nil {
				continue // inside of an object that is itself left out
			}
			set(args, p.path, nil)
			r := c.try(text(args))
			switch {
			case p.required:
				r.wants(t, "missing_field")
			case p.name() == "amount_cents" && !c.tool: // the edit of a spend states it
				r.wants(t, "amount_missing")
			case !c.formIsFine(r):
				t.Errorf("%s: null for %v: %s", c.name, p.path, r.JSON)
			}
			if !p.required && len(p.path) == 1 {
				optional++
				all[p.path[0]] = nil
			}
		}
		if r := c.try(text(all)); !c.formIsFine(r) {
			t.Errorf("%s: null for everything optional: %s", c.name, r.JSON)
		}
	}
	if optional < 10 {
		t.Errorf("only %d optional arguments were found", optional)
	}
}

// money is told from other integers by its bound: what a double still holds.
func isMoney(p place) bool { return fmt.Sprint(p.schema["maximum"]) == "9007199254740991" }

func TestANumericStringStandsForAnIntegerButNeverForMoney(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	integers, amounts := 0, 0
	for _, c := range w.calls(t) {
		for _, p := range places(c.schema) {
			if p.schema["type"] != "integer" {
				continue
			}
			args := c.fresh()
			n := fmt.Sprint(w.value(p.schema))
			if id, ok := args[p.name()]; ok && len(p.path) == 1 {
				n = fmt.Sprint(id)
			} else if p.name() == "intent_id" {
				n = fmt.Sprint(w.intent(w.full(operator.KindAgent)).ID)
			}
			set(args, p.path, n)
			if isMoney(p) {
				amounts++
				c.try(text(args)).wants(t, "wrong_type")
				continue
			}
			integers++
			if r := c.try(text(args)); !c.formIsFine(r) {
				t.Errorf("%s: %q for %v: %s", c.name, n, p.path, r.JSON)
			}
			for _, spelled := range []string{"0" + n, "+" + n, " " + n, n + " ", n + ".0", n + "e0", "0x" + n, "", "１", n + "\u200b", n + "n"} {
				args := c.fresh()
				set(args, p.path, spelled)
				c.try(text(args)).wants(t, "wrong_type")
			}
		}
	}
	if integers < 10 || amounts < 2 {
		t.Errorf("only %d integers and %d amounts were found", integers, amounts)
	}
}

func TestAnIntegerIsAnIntegerWithinItsBounds(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	for _, c := range w.calls(t) {
		for _, p := range places(c.schema) {
			if p.schema["type"] != "integer" || isMoney(p) {
				continue
			}
			for literal, reason := range map[string]string{"1.5": "not_an_integer", "1.0": "not_an_integer", "1e2": "not_an_integer", "1e400": "not_an_integer",
				"9223372036854775808": "number_out_of_range", `"9223372036854775808"`: "number_out_of_range", "-1": "invalid_value", "true": "wrong_type", "[1]": "wrong_type", "{}": "wrong_type"} {
				args := c.fresh()
				set(args, p.path, "stand-in")
				c.try(strings.Replace(text(args), `"stand-in"`, literal, 1)).wants(t, reason)
			}
		}
	}
}

// Ids beyond what a double holds are told apart exactly.
func TestAnIdBeyond2To53IsNotRounded(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	in := w.intent(w.full(operator.KindAgent))
	for _, id := range []string{"9007199254740993", "9223372036854775807", `"9223372036854775807"`} {
		w.call(w.full(operator.KindAgent), w.moving(), `{"id":`+id+`,"status":"cancelled"}`).wants(t, "not_found")
	}
	if got := w.query(`select status from reeve_intents where id = $1`, in.ID); got[0][0] != "pending_approval" {
		t.Errorf("it is %s", got[0][0])
	}
}

// Every text is read by a person in the end, or steers a terminal.
func TestNoTextTakesHiddenOrControlCharacters(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	texts := 0
	for _, c := range w.calls(t) {
		for _, p := range places(c.schema) {
			if p.schema["type"] != "string" {
				continue
			}
			texts++
			for _, bad := range []string{"a\u202eb", "a\u200bb", "\ufeffa", "\x1b[2J", "a\u0085b", "a\U000E0041"} {
				args := c.fresh()
				set(args, p.path, bad)
				r := c.try(text(args))
				if p.name() == "digest" {
					r.wants(t, "digest_mismatch")
				} else if r.OK || r.env.Layer != "input" {
					t.Errorf("%s takes %q as %v: %s", c.name, bad, p.path, r.JSON)
				}
			}
		}
	}
	if texts < 20 {
		t.Errorf("only %d texts were found", texts)
	}
}
