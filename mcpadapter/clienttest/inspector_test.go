package clienttest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var eras = []string{"legacy", "modern"}

func TestTheInspectorListsStrictlyAndCallsInBothEras(t *testing.T) {
	program := nodeTool(t, "mcp-inspector")
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			h := newHouse(t)
			// The Inspector ends with an error where a tool answers one; how a refusal
			// looks is held by the other clients.
			inspector{program, overHTTP(t, h.url, h.token), era}.walk(t).holdsMainJob(t, h)
		})
	}
}

// inspector is the Inspector's command line, for one server in one era.
type inspector struct{ program, config, era string }

// told is what it made of one method.
type told struct {
	Result json.RawMessage
	// SchemaFindings are what --strict finds. Only an error of them makes it fail.
	SchemaFindings json.RawMessage
	stderr         string
}

func (i inspector) ask(t *testing.T, method string, more ...string) (out told) {
	t.Helper()
	args := []string{"--cli", "--config", i.config, "--server", "reeve", "--protocol-era", i.era, "--format", "json", "--method", method}
	said, stderr := runTold(t, "", i.program, append(args, more...)...)
	if err := json.Unmarshal(said, &out); err != nil || out.Result == nil {
		t.Fatalf("%s: %v: %s", method, err, said)
	}
	out.stderr = string(stderr)
	for _, line := range aboutItself {
		out.stderr = strings.ReplaceAll(out.stderr, line+"\n", "")
	}
	out.stderr = strings.TrimSpace(out.stderr)
	return out
}

// aboutItself is what it says of the secrets that it keeps for nobody here.
var aboutItself = []string{
	"[mcp-inspector] Secrets are not written anywhere and are lost on exit.",
	"[mcp-inspector] How the secret store is chosen, and how to secure it: https://github.com/modelcontextprotocol/inspector/blob/main/docs/secret-storage.md",
}

// complaints is every other word that is no answer: where all is well, nothing is
// said.
func (o told) complaints() []string {
	var out []string
	if len(o.SchemaFindings) > 0 {
		out = append(out, string(o.SchemaFindings))
	}
	if len(o.stderr) > 0 {
		out = append(out, o.stderr)
	}
	return out
}

// walk goes through every method that it has and reeve could have, and demands that
// it complains of nothing.
func (i inspector) walk(t *testing.T) seen {
	t.Helper()
	ask := func(into any, method string, more ...string) {
		t.Helper()
		answer := i.ask(t, method, more...)
		for _, complaint := range answer.complaints() {
			t.Errorf("%s: the Inspector complains: %s", method, complaint)
		}
		if err := json.Unmarshal(answer.Result, into); err != nil {
			t.Fatalf("%s: %v: %s", method, err, answer.Result)
		}
	}
	var hello struct {
		ServerInfo   struct{ Name string }
		Capabilities map[string]json.RawMessage
	}
	ask(&hello, "initialize")
	if len(hello.Capabilities) != 1 || string(hello.Capabilities["tools"]) != "{}" {
		t.Errorf("declared %s, want tools alone", hello.Capabilities)
	}
	for method, list := range map[string]string{"prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates"} {
		var lists map[string][]any
		if ask(&lists, method); len(lists[list]) != 0 || len(lists) != 1 {
			t.Errorf("%s: %v, want nothing", method, lists)
		}
	}
	s := seen{Server: hello.ServerInfo.Name}
	var listed struct{ Tools []struct{ Name string } }
	ask(&listed, "tools/list", "--strict")
	for _, tool := range listed.Tools {
		s.Tools = append(s.Tools, tool.Name)
	}
	for _, into := range []*result{&s.First, &s.Again} {
		ask(into, "tools/call", "--tool-name", recordTool, "--tool-args-json", renewal)
	}
	return s
}

// overHTTP is a configuration with the credential, which has no place among
// arguments.
func overHTTP(t *testing.T, url, token string) string {
	t.Helper()
	return config(t, map[string]any{"type": "streamable-http", "url": url, "headers": map[string]string{"Authorization": "Bearer " + token}})
}

func config(t *testing.T, server map[string]any) string {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"reeve": server}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A warning does not make the Inspector fail, so it has to be looked for.
func TestAWarningOfTheInspectorIsNotOverlooked(t *testing.T) {
	program := nodeTool(t, "mcp-inspector")
	for name, property := range map[string]string{
		"a list of types":  `{"type":["string","null"],"description":"x"}`,
		"anything at all":  `{"description":"x"}`,
		"a far-off schema": `{"$ref":"https://schemas.example/a.json","description":"x"}`,
		"":                 `{"type":"string","description":"x"}`,
	} {
		t.Run(name, func(t *testing.T) {
			server := mcp.NewServer(&mcp.Implementation{Name: "other", Version: "1"}, nil)
			server.AddTool(&mcp.Tool{Name: "a", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":` + property + `}}`)},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return &mcp.CallToolResult{}, nil
				})
			other := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
			t.Cleanup(other.Close)
			for _, strict := range [][]string{{"--strict"}, nil} {
				found := inspector{program, overHTTP(t, other.URL, "none"), "modern"}.ask(t, "tools/list", strict...).complaints()
				if warned := slices.ContainsFunc(found, func(c string) bool { return strings.Contains(c, "arning") }); warned != (name != "") {
					t.Errorf("%v: %q", strict, found)
				}
				if name == "" && len(found) > 0 {
					t.Errorf("%q", found)
				}
			}
		})
	}
}
