package powers_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

// kitCase is a kit of the sweep, and what it leaves off, said a second time.
type kitCase struct {
	name string
	kit  operator.KitInput
	off  func(*powers.Tool) string // the detail's reason; empty: on
}

func kitCases(all []*powers.Tool) []kitCase {
	everything, nothing, tools := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, p := range operator.Primitives() {
		everything[string(p)], nothing[string(p)] = true, false
	}
	for _, t := range all {
		tools[t.Name] = false
	}
	primitiveOff := func(off ...powers.Primitive) func(*powers.Tool) string {
		return func(t *powers.Tool) string {
			if slices.Contains(off, t.Primitive) {
				return "primitive_disabled_by_kit"
			}
			return ""
		}
	}
	return []kitCase{
		{"of a fresh account", operator.KitInput{}, primitiveOff("brain", "pipelines")},
		{"with every primitive", operator.KitInput{Primitives: everything}, primitiveOff()},
		{"with no primitive", operator.KitInput{Primitives: nothing}, func(*powers.Tool) string { return "primitive_disabled_by_kit" }},
		{"with a tool off each", operator.KitInput{Primitives: everything, Tools: tools}, func(*powers.Tool) string { return "tool_disabled_by_kit" }},
	}
}

// says is what the order of the checks says of a caller with good arguments: kind,
// kit, scope, then the person's leave to spend.
func (k kitCase) says(tool *powers.Tool, kind operator.Kind, held []operator.Scope, granted bool) (reason, detail string) {
	brake := tool.Class == powers.Brake || tool.AlwaysOn || tool.Toolset == powers.ToolsetApprovals
	if !slices.Contains(tool.Kinds, kind) {
		return "kind_not_allowed", ""
	}
	if off := k.off(tool); off != "" && !brake {
		return "capability_denied", off
	}
	for _, s := range tool.Scopes {
		if !slices.Contains(held, s) {
			return "missing_scope", ""
		}
	}
	if tool.Class == powers.Spend && !granted {
		return "spending_not_granted", ""
	}
	return "", ""
}

// Every row, every kind, every subset of scopes, kit on and off, grant on and off:
// what is listed can be called, and what is not says why.
func TestWhatIsListedAndWhatCanBeCalledAgree(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		w.withRows()
		for _, granted := range []bool{false, true} {
			for _, k := range kitCases(w.Tools()) {
				w.kit(k.kit)
				for _, kind := range kinds() {
					w.sweep(t, k, kind, granted)
				}
			}
		}
	})
}

func (w *world) sweep(t *testing.T, k kitCase, kind operator.Kind, granted bool) {
	t.Helper()
	for _, tool := range w.Tools() {
		for _, held := range grants(tool.Scopes) {
			c := w.as(kind, held...)
			if granted && kind != operator.KindChannel {
				w.mayspend(c.Principal.ID())
				c = w.as(kind, held...)
			}
			name := fmt.Sprintf("kit %s, granted %v: %s with %v calls %s", k.name, granted, kind, held, tool.Name)
			reason, detail := k.says(tool, kind, held, granted)
			r := w.call(c, tool, text(w.argsBeside(c, tool)))
			if visible := slices.Contains(w.Visible(c.Principal, c.Face), tool); visible != (reason == "") {
				t.Errorf("%s: listed %v, want %q", name, visible, reason)
			}
			if r.env.Reason != reason || r.OK != (reason == "") {
				t.Fatalf("%s: want %q, got %s", name, reason, r.JSON)
			}
			if got, _ := r.env.Error.Details["reason"].(string); got != detail {
				t.Errorf("%s: the detail is %q, want %q", name, got, detail)
			}
		}
	}
}

// argsBeside is args for a world whose kit may leave nothing on: what they name is
// made by the library.
func (w *world) argsBeside(c powers.Caller, tool *powers.Tool) map[string]any {
	w.t.Helper()
	out := w.object(schemaOf(w.t, tool.InputSchema))
	if _, asked := out["approval_id"]; asked {
		out["approval_id"] = w.parked(c.Principal).ID
	}
	for _, r := range tool.Routes {
		w.fill(out, r.Path, func() int64 {
			w.count++
			in, err := w.RecordIntent(context.Background(), c.Principal, operator.RecordIntentInput{Action: gate.Action{Type: "send", Title: fmt.Sprint("Note ", w.count)}})
			if err != nil {
				w.t.Fatal(err)
			}
			return in.ID
		}, func() int64 { return w.question().ID })
	}
	return out
}

// mayspend gives a principal a grant, once.
func (w *world) mayspend(principal string) {
	w.t.Helper()
	if w.query(`select count(*) from reeve_spending_grants where principal = $1`, principal)[0][0] == "0" {
		w.grant(principal, nil)
	}
}

func TestAKitsRefusalSaysWhatWouldChangeIt(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	w.withRows()
	c := w.full(operator.KindAgent)
	r := w.refuses(t, "off", c, "capability_denied", nil, func() reply { return w.call(c, w.named("test_brain"), `{"zz":`) })
	if r.Status != 403 || !r.IsError || r.env.Layer != "company" || r.env.Error.Details["reason"] != "primitive_disabled_by_kit" || r.env.Error.Details["primitive"] != "brain" {
		t.Errorf("%s", r.JSON)
	}
	if len(r.env.Recovery) != 1 || r.env.Recovery[0].Kind != "request_capability" || r.env.Recovery[0].HumanAction == "" {
		t.Errorf("the way on: %s", r.JSON)
	}
}

// An edit holds for the next call, whoever makes it and wherever: also of a caller
// whose credential was read before.
func TestAnEditOfTheKitHoldsForTheNextCallEverywhere(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		rows := w.withRows()
		other := operatortest.Open(t, w.Where, &operator.Options{Clock: w.Clock})
		there := w.scheduleOf(other, rows)
		c, tool := w.full(operator.KindAgent), w.named("test_write")
		for i := range 3 {
			on := i%2 == 0
			set, call := w.Operator, there
			if !on {
				set, call = other, w.Schedule
			}
			owner, err := set.PersonByCredential(t.Context(), w.First.Person.Token, operator.ViaLibrary)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := set.SetKit(t.Context(), owner, operator.KitInput{Primitives: map[string]bool{"tasks": on}}); err != nil {
				t.Fatal(err)
			}
			for _, face := range []powers.Face{powers.FaceREST, powers.FaceLibrary} {
				c.Face = face
				if r := read(t, call.Call(t.Context(), c, tool.Name, []byte(`{}`))); r.OK != on {
					t.Errorf("set to %v, and then over %s: %s", on, face, r.JSON)
				}
				if refused := call.Permit(t.Context(), c, tool); (refused == nil) != on {
					t.Errorf("set to %v: permitted %v", on, refused == nil)
				}
			}
		}
	})
}

// What an adapter reads together with the credential serves for one call, and no
// longer.
func TestWhatWasReadWithTheCredentialServesOneCall(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	w.withRows()
	c, refused := w.Authenticate(t.Context(), powers.Presented{Authorization: []string{"Bearer " + w.First.Agent.Token}, Face: powers.FaceREST, Once: true})
	if refused != nil {
		t.Fatalf("%s", refused.JSON)
	}
	tool := w.named("test_write")
	if r := w.call(c, tool, `{}`); !r.OK {
		t.Fatalf("%s", r.JSON)
	}
	w.kit(operator.KitInput{Primitives: map[string]bool{"tasks": false}})
	w.call(c, tool, `{}`).wants(t, "capability_denied")
}

func TestAKitThatNamesWhatThereIsNotIsRefusedAndNamesWhatThereIs(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		w.withRows()
		c, put := w.full(operator.KindHuman), w.act("/kit")
		for _, a := range w.Acts() {
			if a.Method == "PUT" && strings.HasSuffix(a.Path, "/kit") {
				put = a
			}
		}
		for raw, reason := range map[string]string{
			`{"primitives":{"telepathy":true}}`:                           "unknown_key",
			`{"primitives":{"Brain":true}}`:                               "unknown_key",
			`{"primitives":{"":true}}`:                                    "unknown_key",
			`{"primitives":{"brain ":true}}`:                              "unknown_key",
			`{"primitives":{},"tools":{"operator_approve":true}}`:         "unknown_key",
			`{"primitives":{},"tools":{"test_stop":false}}`:               "invalid_value",
			`{"primitives":{},"tools":{"test_look":false}}`:               "invalid_value",
			`{"primitives":{"brain":null}}`:                               "wrong_type",
			`{"primitives":{"brain":"on"}}`:                               "wrong_type",
			`{"primitives":{"brain":true,"brain":false}}`:                 "repeated_key",
			`{"primitives":["brain"]}`:                                    "wrong_type",
			`{"primitives":{},"toolkits":{"Slack Of Ours":true}}`:         "invalid_value",
			`{"primitives":{},"name":"` + strings.Repeat("a", 101) + `"}`: "invalid_value",
			`{}`: "missing_field",
		} {
			r := w.refuses(t, raw, c, reason, nil, func() reply { return w.do(c, put, raw) })
			if r.env.Layer != "input" || r.Status != 400 {
				t.Errorf("%s: %s", raw, r.JSON)
			}
			if strings.Contains(raw, "telepathy") && !strings.Contains(r.env.Message, "connections") || strings.Contains(raw, "operator_approve") && !strings.Contains(r.env.Message, w.recording().Name) {
				t.Errorf("it does not say what there is: %s", r.JSON)
			}
		}
		if r := w.do(c, put, `{"primitives":{"brain":true},"tools":{"test_stop":true},"toolkits":{"slack":false}}`); !r.OK || !strings.Contains(string(r.JSON), `"brain": true`) {
			t.Errorf("%s", r.JSON)
		}
	})
}

func TestOnlyAnOwnerSeesOrSetsTheKit(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	for _, role := range []operator.Role{operator.RoleOwner, operator.RoleAdmin, operator.RoleMember} {
		_, m := w.NewPerson(t, "p-"+string(role), role)
		c, refused := w.Authenticate(t.Context(), powers.Presented{Authorization: []string{"Bearer " + m.Token}, Face: powers.FaceREST})
		if refused != nil {
			t.Fatalf("%s", refused.JSON)
		}
		for _, a := range w.Acts() {
			if !strings.HasSuffix(a.Path, "/kit") {
				continue
			}
			r := w.do(c, a, text(w.actArgs(a)))
			if r.OK != (role == operator.RoleOwner) || !r.OK && r.env.Reason != "role_not_allowed" {
				t.Errorf("a %s: %s: %s", role, a.Name, r.JSON)
			}
		}
	}
}
