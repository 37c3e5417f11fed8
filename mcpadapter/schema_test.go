package mcpadapter

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reeve-go/reeve/operator/powers"
)

type listedTool struct {
	Name, Title, Description  string
	InputSchema, OutputSchema json.RawMessage
	Annotations               map[string]any
}

func listed(t *testing.T, h *house) []listedTool {
	t.Helper()
	var res struct{ Tools []listedTool }
	if err := json.Unmarshal(h.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).rpc(t).Result, &res); err != nil {
		t.Fatal(err)
	}
	if len(res.Tools) == 0 {
		t.Fatal("no tool is listed")
	}
	return res.Tools
}

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func TestEveryListedToolIsWellDescribed(t *testing.T) {
	h := newHouse(t, nil)
	for _, tool := range listed(t, h) {
		t.Run(tool.Name, func(t *testing.T) {
			if !nameForm.MatchString(tool.Name) || len(tool.Name) > 40 {
				t.Error("the name is not [a-z][a-z0-9_]*, at most 40")
			}
			if tool.Title == "" || tool.Description == "" {
				t.Error("title or description is missing")
			}
			if string(tool.OutputSchema) != `{"type":"object"}` {
				t.Errorf("output schema %s", tool.OutputSchema)
			}
			for _, hint := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
				if _, ok := tool.Annotations[hint].(bool); !ok {
					t.Errorf("the annotation %s is not explicit", hint)
				}
			}
			if len(tool.Annotations) != 5 || tool.Annotations["title"] != tool.Title {
				t.Errorf("annotations %v", tool.Annotations)
			}
			for _, complaint := range lintSchema(t, tool.InputSchema) {
				t.Error(complaint)
			}
		})
	}
}

func TestAnnotationsSayWhatTheScheduleSays(t *testing.T) {
	h := newHouse(t, nil)
	rows := map[string]*powers.Tool{}
	for _, row := range h.schedule.Tools() {
		rows[row.Name] = row
	}
	for _, tool := range listed(t, h) {
		row := rows[tool.Name]
		if row == nil {
			t.Errorf("%s is listed, though no row has it", tool.Name)
			continue
		}
		want := map[string]any{"title": row.Title, "readOnlyHint": row.ReadOnly(), "destructiveHint": row.Destructive, "idempotentHint": row.Idempotent, "openWorldHint": row.OpenWorld}
		if fmt.Sprint(tool.Annotations) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", tool.Name, tool.Annotations, want)
		}
	}
}

// lintSchema says what clients would stumble over in an input schema.
func lintSchema(t *testing.T, raw []byte) []string {
	t.Helper()
	var parsed jsonschema.Schema
	if err := json.Unmarshal(raw, &parsed); err != nil {
		return []string{err.Error()}
	}
	if _, err := parsed.Resolve(nil); err != nil {
		return []string{"it does not resolve: " + err.Error()}
	}
	var root map[string]any
	if err := json.Unmarshal(raw, &root); err != nil {
		return []string{err.Error()}
	}
	var out []string
	if _, ok := root["properties"].(map[string]any); !ok || root["type"] != "object" {
		out = append(out, "the root is not an object with properties")
	}
	return append(out, lintNode("", root, false)...)
}

// open are the properties that may hold anything.
var open = []string{"actor", "data"}

func lintNode(path string, node map[string]any, free bool) []string {
	var out []string
	say := func(format string, args ...any) {
		out = append(out, path+": "+fmt.Sprintf(format, args...))
	}
	for _, key := range []string{"$ref", "$defs", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if", "patternProperties"} {
		if _, there := node[key]; there {
			say("has %s", key)
		}
	}
	switch kind := node["type"].(type) {
	case string:
		if kind == "object" && node["additionalProperties"] != false && !free {
			say("an object that takes unknown keys")
		}
	case nil:
		if !free {
			say("takes anything")
		}
	default:
		say("has a list of types")
	}
	if items, ok := node["items"].(map[string]any); ok {
		out = append(out, lintNode(path+"/items", items, false)...)
	}
	properties, _ := node["properties"].(map[string]any)
	for name, p := range properties {
		child, ok := p.(map[string]any)
		if !ok {
			say("the property %s is no schema", name)
			continue
		}
		if text, _ := child["description"].(string); strings.TrimSpace(text) == "" {
			say("the property %s has no description", name)
		}
		if !nameForm.MatchString(name) {
			say("the property %s is not [a-z][a-z0-9_]*", name)
		}
		out = append(out, lintNode(path+"/"+name, child, slices.Contains(open, name))...)
	}
	return out
}

func TestTheLintFindsWhatItLooksFor(t *testing.T) {
	for name, schema := range map[string]string{
		"an open object":      `{"type":"object","properties":{"a":{"type":"object","description":"x","properties":{}}},"additionalProperties":false}`,
		"a list of types":     `{"type":"object","properties":{"a":{"type":["string","null"],"description":"x"}},"additionalProperties":false}`,
		"no description":      `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`,
		"a combinator":        `{"type":"object","properties":{},"anyOf":[],"additionalProperties":false}`,
		"anything at all":     `{"type":"object","properties":{"a":{"description":"x"}},"additionalProperties":false}`,
		"no properties":       `{"type":"object","additionalProperties":false}`,
		"an open root":        `{"type":"object","properties":{}}`,
		"open items":          `{"type":"object","properties":{"a":{"type":"array","items":{},"description":"x"}},"additionalProperties":false}`,
		"a name in camelCase": `{"type":"object","properties":{"aB":{"type":"string","description":"x"}},"additionalProperties":false}`,
	} {
		if len(lintSchema(t, []byte(schema))) == 0 {
			t.Errorf("%s was not found", name)
		}
	}
}

func TestAPrefixStandsBeforeEveryNameThatAClientSees(t *testing.T) {
	h := newHouse(t, &Options{ToolPrefix: "acme_"})
	plain := map[string]bool{}
	for _, row := range h.schedule.Tools() {
		plain[row.Name] = true
	}
	for _, tool := range listed(t, h) {
		bare, ok := strings.CutPrefix(tool.Name, "acme_")
		if !ok || !plain[bare] {
			t.Errorf("%q is listed", tool.Name)
		}
	}
	h.post(strings.Replace(record, `"operator_`, `"acme_operator_`, 1)).called(t)
	t.Run("a name without it is unknown", func(t *testing.T) {
		h.post(record).refused(t, "1", "unknown_tool")
	})
	t.Run("a refusal names the tool as it is listed", func(t *testing.T) {
		a := h.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"acme_operator_state","arguments":{"intent_id":999}}}`)
		if e := a.refused(t, "1", "not_found"); e.Action != "acme_operator_state" {
			t.Errorf("the action is %q", e.Action)
		}
		a = h.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"acme_operator_state","arguments":{"a":1,"a":2}}}`)
		if e := a.refused(t, "1", "repeated_key"); e.Action != "acme_operator_state" {
			t.Errorf("the action is %q", e.Action)
		}
		a = h.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"what\u0000","arguments":{}}}`)
		if e := a.refused(t, "1", "bad_text"); e.Action != "mcp" {
			t.Errorf("the action is %q", e.Action)
		}
	})
	t.Run("the instructions name the tool as it is listed", func(t *testing.T) {
		got := connect(t, h.url, h.agent, "").InitializeResult().Instructions
		if !strings.Contains(got, " acme_operator_record_action_intent") {
			t.Errorf("%s", got)
		}
	})
}

func TestAPrefixReachesNamesWithinDescriptions(t *testing.T) {
	tool := &powers.Tool{Description: "See operator_state, not operator_states or my_operator_state.",
		InputSchema: []byte(`{"type":"object","properties":{"operator_state":{"type":"string","description":"From \"operator_state\"."},"description":{"type":"string","description":"operator_state"}}}`)}
	tool.Name, tool.Title = "operator_state", "State"
	c, err := newCatalog([]*powers.Tool{tool}, "acme_")
	if err != nil {
		t.Fatal(err)
	}
	var got listedTool
	if err := json.Unmarshal(c.rows[0].listed, &got); err != nil {
		t.Fatal(err)
	}
	if got.Description != "See acme_operator_state, not operator_states or my_operator_state." {
		t.Error(got.Description)
	}
	const want = `{"type":"object","properties":{"operator_state":{"type":"string","description":"From \"acme_operator_state\"."},"description":{"type":"string","description":"acme_operator_state"}}}`
	if string(got.InputSchema) != want {
		t.Errorf("%s", got.InputSchema)
	}
}

func TestARowThatCannotBeListedIsRefusedByName(t *testing.T) {
	row := func(name, schema string) *powers.Tool {
		tool := &powers.Tool{InputSchema: []byte(schema)}
		tool.Name = name
		return tool
	}
	for want, tools := range map[string][]*powers.Tool{
		"[a-z]":          {row("Bad", `{"type":"object"}`)},
		"more than 40":   {row(strings.Repeat("a", 41), `{"type":"object"}`)},
		"JSON object":    {row("a", `[]`)},
		"input schema":   {row("a", `{`)},
		"stands twice":   {row("a", `{}`), row("a", `{}`)},
		`tool "nothing"`: {row("nothing", ``)},
	} {
		if _, err := newCatalog(tools, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
