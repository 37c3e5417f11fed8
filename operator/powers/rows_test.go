package powers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

var word = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

func TestEveryToolSaysWhatItsClassDemands(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	rereads := 0
	for _, tool := range w.Tools() {
		if err := powers.Lint(*tool); err != nil {
			t.Error(err)
		}
		lintSpec(t, tool)
		if strings.Contains(string(tool.InputSchema), `"additionalProperties":{`) {
			t.Errorf("%s: names that are not of its schema", tool.Name)
		}
		lintAnnotations(t, tool)
		lintSchema(t, tool.Name, tool.InputSchema)
		if tool.Rereads {
			rereads++
		}
	}
	if rereads != 1 {
		t.Errorf("%d tools are the one to look again with", rereads)
	}
}

func lintSpec(t *testing.T, tool *powers.Tool) {
	t.Helper()
	if !word.MatchString(tool.Name) || !tool.Class.Valid() || tool.Class.String() == "invalid" {
		t.Errorf("%s: name or class", tool.Name)
	}
	if len(tool.Title) < 5 || len(tool.Title) > 60 || len(tool.Description) < 80 {
		t.Errorf("%s: a title in a few words, and a description that says what for, when and when not", tool.Name)
	}
	if tool.Toolset == "" || tool.Primitive == "" || len(tool.Scopes) == 0 {
		t.Errorf("%s: toolset, primitive or scope is missing", tool.Name)
	}
	for _, s := range tool.Scopes {
		if !slices.Contains(operator.Scopes(), s) {
			t.Errorf("%s: no credential can have the scope %s", tool.Name, s)
		}
	}
	if slices.Contains(tool.Kinds, operator.KindChannel) {
		t.Errorf("%s: a channel calls no tool", tool.Name)
	}
	for _, k := range tool.Kinds {
		if !slices.Contains(kinds(), k) {
			t.Errorf("%s: there is no kind %s", tool.Name, k)
		}
	}
	for _, r := range tool.Routes {
		if !strings.HasPrefix(r.Path, "/v1/") || !slices.Contains([]string{"GET", "POST", "PATCH", "PUT", "DELETE"}, r.Method) {
			t.Errorf("%s: the route %s %s", tool.Name, r.Method, r.Path)
		}
	}
}

// lintAnnotations holds the four hints of the Model Context Protocol to the class.
func lintAnnotations(t *testing.T, tool *powers.Tool) {
	t.Helper()
	if tool.ReadOnly() != (tool.Class == powers.Read) {
		t.Errorf("%s: readOnly %v for a %s", tool.Name, tool.ReadOnly(), tool.Class)
	}
	if tool.ReadOnly() && (tool.Destructive || !tool.Idempotent) {
		t.Errorf("%s: a read destroys nothing, and doing it again does nothing more", tool.Name)
	}
	if tool.Class == powers.Spend && (!tool.Destructive || !tool.OpenWorld) {
		t.Errorf("%s: spending cannot be taken back, and reaches outside", tool.Name)
	}
	if slices.Contains([]powers.Class{powers.Write, powers.Gated, powers.Gate}, tool.Class) && tool.OpenWorld {
		t.Errorf("%s: only an intent that a worker carries out reaches outside", tool.Name)
	}
}

// banned are words of JSON Schema that some clients do not understand.
var banned = []string{"$ref", "$defs", "definitions", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "patternProperties", "dependentSchemas"}

// anyValue are the two arguments that may be anything, or hold anything.
var anyValue = []string{"actor", "data"}

func lintSchema(t *testing.T, tool string, raw []byte) {
	t.Helper()
	root := schemaOf(t, raw)
	if root["type"] != "object" || root["properties"] == nil {
		t.Errorf("%s: the root of its arguments is no object with properties", tool)
	}
	lintNode(t, tool, "", root)
}

func lintNode(t *testing.T, path, name string, s map[string]any) {
	t.Helper()
	for _, word := range banned {
		if _, there := s[word]; there {
			t.Errorf("%s: the word %s", path, word)
		}
	}
	kind, plain := s["type"].(string)
	if !plain && !slices.Contains(anyValue, name) {
		t.Errorf("%s: a value without one type", path)
	}
	if kind == "object" && !slices.Contains(anyValue, name) && s["additionalProperties"] != false && !isSwitches(s) {
		t.Errorf("%s: an object that takes any key", path)
	}
	properties, _ := s["properties"].(map[string]any)
	for key, p := range properties {
		inner := p.(map[string]any)
		if !word.MatchString(key) {
			t.Errorf("%s: the name %q", path, key)
		}
		if about, _ := inner["description"].(string); len(about) < 10 {
			t.Errorf("%s.%s has no description", path, key)
		}
		lintNode(t, path+"."+key, key, inner)
	}
	if items, ok := s["items"].(map[string]any); ok {
		lintNode(t, path+"[]", "", items)
	}
	required, _ := s["required"].([]any)
	for _, key := range required {
		if properties[key.(string)] == nil {
			t.Errorf("%s: requires %v, which it does not have", path, key)
		}
	}
}

// isSwitches knows an object of names that are on or off. Its names are judged by
// what it switches; only an act has one, for a model is never left to guess names.
func isSwitches(s map[string]any) bool {
	each, _ := s["additionalProperties"].(map[string]any)
	return len(each) == 1 && each["type"] == "boolean" && s["maxProperties"] != nil
}

func schemaOf(t testing.TB, raw []byte) map[string]any {
	t.Helper()
	var out map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestEveryActIsDescribedLikeATool(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	for _, a := range w.Acts() {
		if !word.MatchString(a.Name) || a.Title == "" || a.What == "" || len(a.Scopes) == 0 || len(a.Kinds) != 1 {
			t.Errorf("%s: name, title, words, scope or kind", a.Name)
		}
		if slices.Contains(a.Kinds, operator.KindAgent) {
			t.Errorf("%s: an act is no agent's", a.Name)
		}
		lintSchema(t, a.Name, a.InputSchema)
	}
	for _, tool := range w.Tools() {
		if slices.ContainsFunc(w.Acts(), func(a *powers.Act) bool { return a.Name == tool.Name }) {
			t.Errorf("%s is a tool and an act", tool.Name)
		}
	}
}

type nothing struct{}

func goodSpec() powers.Spec {
	return powers.Spec{Name: "test_row", Title: "A row", What: "It is here for a test.", Class: powers.Write, Primitive: powers.Board,
		Kinds: []operator.Kind{operator.KindAgent}, Scopes: []operator.Scope{operator.ScopeStateRead},
		Routes: []powers.Route{{Method: "POST", Path: "/v1/test"}}}
}

func rowOf(spec powers.Spec) powers.Tool {
	return powers.Row(spec, func(context.Context, operator.Principal, nothing) (nothing, error) { return nothing{}, nil })
}

func TestARowThatLacksSomethingIsRefused(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	if _, err := powers.WithRows(w.Operator, rowOf(goodSpec())); err != nil {
		t.Fatalf("the row that all the others are made from: %v", err)
	}
	for name, spoil := range map[string]func(*powers.Spec){
		"no name":                            func(s *powers.Spec) { s.Name = "" },
		"a name in capitals":                 func(s *powers.Spec) { s.Name = "Test_row" },
		"a name of 41 characters":            func(s *powers.Spec) { s.Name = strings.Repeat("a", 41) },
		"the name of another tool":           func(s *powers.Spec) { s.Name = w.looking().Name },
		"no title":                           func(s *powers.Spec) { s.Title = "" },
		"no description":                     func(s *powers.Spec) { s.What = "" },
		"no class":                           func(s *powers.Spec) { s.Class = 0 },
		"a class that is none":               func(s *powers.Spec) { s.Class = 99 },
		"no primitive":                       func(s *powers.Spec) { s.Primitive = "" },
		"no kinds":                           func(s *powers.Spec) { s.Kinds = nil },
		"a channel among its kinds":          func(s *powers.Spec) { s.Kinds = append(s.Kinds, operator.KindChannel) },
		"no scope":                           func(s *powers.Spec) { s.Scopes = nil },
		"no route":                           func(s *powers.Spec) { s.Routes = nil },
		"a GET that writes":                  func(s *powers.Spec) { s.Routes[0].Method = "GET" },
		"a read by POST":                     func(s *powers.Spec) { s.Class = powers.Read },
		"a spending tool without gate shape": func(s *powers.Spec) { s.Class = powers.Spend },
		"the address of another tool":        func(s *powers.Spec) { s.Routes[0] = w.recording().Routes[0] },
		"the address of an act":              func(s *powers.Spec) { s.Routes[0].Path = w.act("/approve").Path },
	} {
		spec := goodSpec()
		spec.Routes = slices.Clone(spec.Routes)
		spoil(&spec)
		if _, err := powers.WithRows(w.Operator, rowOf(spec)); err == nil {
			t.Errorf("%s: the schedule was made", name)
		}
	}
}

func TestAnArgumentWithoutADescriptionStopsTheProgram(t *testing.T) {
	type in struct {
		Silent string `json:"silent,omitzero"`
	}
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, "silent") {
			t.Errorf("the panic does not name it: %s", got)
		}
	}()
	powers.Row(goodSpec(), func(context.Context, operator.Principal, in) (nothing, error) { return nothing{}, nil })
	t.Error("the row was made")
}
