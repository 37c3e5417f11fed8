package mcpadapter

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/reeve-go/reeve/internal/toollint"
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

// linted is every row of a schedule as the lint takes it, whoever may see it.
func linted(t *testing.T, s schedule, prefix string) []toollint.Tool {
	t.Helper()
	c, err := newCatalog(s.Tools(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	var out []toollint.Tool
	for _, r := range c.rows {
		out = append(out, toollint.Tool{Listed: r.listed, Class: r.tool.Class.String(), Output: json.RawMessage(r.tool.OutputSchema)})
	}
	return out
}

func TestEveryListedToolIsWellDescribed(t *testing.T) {
	s, _, _, _ := openSchedule(t)
	for _, prefix := range []string{"", "acme_"} {
		for _, complaint := range toollint.Listing(linted(t, s, prefix)) {
			t.Error(complaint)
		}
	}
}

// An entry could be changed on its way out.
func TestWhatIsListedIsWhatTheLintHasSeen(t *testing.T) {
	h := newHouse(t, nil)
	seen := map[string]string{}
	for _, tool := range linted(t, h.schedule, "") {
		name, _ := toollint.Lint(tool)
		seen[name] = string(tool.Listed)
	}
	var res struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(h.post(list).rpc(t).Result, &res); err != nil || len(res.Tools) == 0 {
		t.Fatalf("%v: nothing is listed", err)
	}
	for _, entry := range res.Tools {
		name, _ := toollint.Lint(toollint.Tool{Listed: entry})
		if seen[name] != string(entry) {
			t.Errorf("%s is listed as\n%s\nand the lint has seen\n%s", name, entry, seen[name])
		}
	}
}

// The SDK reads its debug variables when the process starts, so it takes another one
// to see that they change nothing.
func TestADebugVariableLeavesNothingOutOfAListing(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestWhatIsListedIsWhatTheLintHasSeen$", "-test.v")
	cmd.Env = append(os.Environ(), "MCPGODEBUG=hintomitempty=1")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: ") {
		t.Errorf("%v\n%s", err, out)
	}
}

// What the suite wants a server to be able to list is nearly all that a row must not
// have; the other tools of the suite are listed like any row.
func TestTheLintComplainsOfTheSuitesOwnSchema(t *testing.T) {
	s, _, _, _ := openSchedule(t)
	tools := linted(t, withFixtures(s), "")
	for i, tool := range tools {
		if tool.Output == nil { // no row of ours
			tools[i].Output = json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)
		}
	}
	found := strings.Join(toollint.Listing(tools), "\n")
	for _, want := range []string{"the word $defs", "the word $schema", "the word allOf", "the word if", "the word $ref", ".name: is not described", ".contactMethod: the name"} {
		if !strings.Contains(found, want) {
			t.Errorf("it does not say %q:\n%s", want, found)
		}
	}
	for line := range strings.Lines(found) {
		if !strings.HasPrefix(line, "json_schema_2020_12_tool: ") {
			t.Error(line)
		}
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
