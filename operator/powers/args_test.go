package powers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

// args makes arguments that a tool takes, out of its schema alone: what is
// required and nothing else, with ids of rows that were just made for them.
func (w *world) args(c powers.Caller, tool *powers.Tool) map[string]any {
	w.t.Helper()
	out := w.object(schemaOf(w.t, tool.InputSchema))
	if _, asked := out["approval_id"]; asked {
		out["approval_id"] = w.parked(c.Principal).ID
	}
	for _, r := range tool.Routes {
		w.fill(out, r.Path, func() int64 { return w.intent(c).ID }, func() int64 { return w.question().ID })
	}
	return out
}

// actArgs does the same for an act, with the digest of what is there.
func (w *world) actArgs(a *powers.Act) map[string]any {
	w.t.Helper()
	s := schemaOf(w.t, a.InputSchema)
	out := w.object(s)
	var in operator.Intent
	w.fill(out, a.Path, func() int64 { in = w.intent(w.full(operator.KindAgent)); return in.ID }, nil)
	if properties(s)["instead_of"] != nil { // of what the policy in force has
		maps.Copy(out, map[string]any{"types": []any{"send"}, "instead_of": []any{"messages"}})
	}
	if strings.Contains(a.Path, "/standing-approvals/") {
		out["id"] = w.standing()
	}
	if _, asked := out["principal"]; asked {
		out["principal"] = w.Agent.ID()
	}
	if strings.Contains(a.Path, "/spending-grants/") {
		out["id"] = w.grant(w.Agent.ID(), nil).ID
	}
	if properties(s)["digest"] != nil {
		out["digest"] = in.Digest
	}
	if strings.Contains(a.Path, "/approvals/") {
		kept := w.parked(w.full(operator.KindAgent).Principal)
		out["id"], out["digest"] = kept.ID, kept.Digest
	}
	if action, ok := out["action"].(map[string]any); ok {
		if in.ID == 0 { // of nothing that is recorded
			in = operator.Intent{ActionType: "spend", Title: "A plan"}
		}
		maps.Copy(action, map[string]any{"type": in.ActionType, "title": in.Title + ", edited", "amount_cents": 4800})
	}
	if _, asked := out["policy"]; asked { // no milder than the default, and a new text each time
		w.count++
		out["policy"] = fmt.Sprintf("version: 1\nextends: default # %d\n", w.count)
	}
	return out
}

// fill puts the id of a fresh row where the path of a route asks for one.
func (w *world) fill(out map[string]any, path string, intent, decision func() int64) {
	if _, asked := out["id"]; !asked || !strings.Contains(path, "{id}") {
		return
	}
	if strings.Contains(path, "/decisions/") {
		out["id"] = decision()
		return
	}
	out["id"] = intent()
}

// standing is the number of a standing approval that was just given.
func (w *world) standing() int64 {
	w.t.Helper()
	given, err := w.StandingApproval(context.Background(), w.Owner, operator.StandingInput{Types: []string{"send"}, InsteadOf: []string{"messages"},
		Until: w.Clock.Now().Add(time.Hour), Reason: "for the sweep"})
	if err != nil {
		w.t.Fatal(err)
	}
	return given.ID
}

// parked is a call that waits for a person: a look, which would change nothing.
func (w *world) parked(p operator.Principal) operator.ApprovalInfo {
	w.t.Helper()
	w.count++
	kept, err := w.Park(context.Background(), p, operator.NewParked{Question: operator.Question{Title: "May it look?"}, Tool: w.looking().Name,
		Arguments: fmt.Appendf(nil, `{"limit":%d}`, 1+w.count%50)})
	if err != nil {
		w.t.Fatal(err)
	}
	return kept
}

// grant is a spending grant that the owner just gave; nil is without a limit.
func (w *world) grant(principal string, limit *gate.Cents) operator.GrantInfo {
	w.t.Helper()
	given, err := w.GrantSpending(context.Background(), w.Owner, operator.GrantInput{Principal: principal, Limit: limit,
		Until: w.Clock.Now().Add(time.Hour), Reason: "for a test"})
	if err != nil {
		w.t.Fatal(err)
	}
	return given
}

func properties(s map[string]any) map[string]any {
	p, _ := s["properties"].(map[string]any)
	return p
}

func required(s map[string]any) []string {
	list, _ := s["required"].([]any)
	var out []string
	for _, key := range list {
		out = append(out, key.(string))
	}
	return out
}

func (w *world) object(s map[string]any) map[string]any {
	out := map[string]any{}
	for _, key := range required(s) {
		out[key] = w.value(properties(s)[key].(map[string]any))
	}
	return out
}

// value is the least value of a schema. Words are new each time, so that no two
// calls are one by accident.
func (w *world) value(s map[string]any) any {
	if words, ok := s["enum"].([]any); ok {
		return words[0]
	}
	switch s["type"] {
	case "object":
		return w.object(s)
	case "array":
		return []any{w.value(s["items"].(map[string]any))}
	case "integer":
		if least, ok := s["minimum"]; ok {
			return least
		}
		return 1
	case "boolean":
		return true
	}
	if s["format"] == "date-time" {
		return w.Clock.Now().Add(time.Hour).Format(time.RFC3339)
	}
	w.count++
	return fmt.Sprintf("w%d", w.count)
}

func text(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// place is one property somewhere in the arguments.
type place struct {
	path     []string // from the root
	schema   map[string]any
	required bool
}

func (p place) name() string { return p.path[len(p.path)-1] }

// places lists every property of a schema at any depth, lists left out.
func places(s map[string]any, at ...string) []place {
	var out []place
	for _, key := range slices.Sorted(maps.Keys(properties(s))) {
		inner := properties(s)[key].(map[string]any)
		here := append(slices.Clone(at), key)
		out = append(out, place{here, inner, slices.Contains(required(s), key)})
		out = append(out, places(inner, here...)...)
	}
	return out
}

// objects lists the paths of every object of a schema, the root first.
func objects(s map[string]any) [][]string {
	out := [][]string{nil}
	for _, p := range places(s) {
		if p.schema["type"] == "object" && !isSwitches(p.schema) {
			out = append(out, p.path)
		}
	}
	return out
}

// set puts a value at a path, making the objects on the way.
func set(args map[string]any, path []string, v any) {
	for _, key := range path[:len(path)-1] {
		inner, ok := args[key].(map[string]any)
		if !ok {
			inner = map[string]any{}
			args[key] = inner
		}
		args = inner
	}
	args[path[len(path)-1]] = v
}

// splice writes raw members into the object at a path, behind its own.
func splice(args map[string]any, path []string, members string) string {
	const mark = "splice here"
	set(args, append(slices.Clone(path), mark), 0)
	return strings.Replace(text(args), `"`+mark+`":0`, members, 1)
}
