package clienttest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestTheInspectorListsStrictlyAndCallsInBothEras(t *testing.T) {
	inspector := nodeTool(t, "mcp-inspector")
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			h := newHouse(t)
			// The Inspector ends with an error where a tool answers one; how a refusal
			// looks is held by the other clients.
			inspect(t, inspector, inspectorConfig(t, h), era).holdsMainJob(t, h)
		})
	}
}

// inspect lists and calls by the Inspector's command line.
func inspect(t *testing.T, inspector, config, era string) seen {
	t.Helper()
	ask := func(args ...string) []byte {
		base := []string{"--cli", "--config", config, "--server", "reeve", "--protocol-era", era, "--format", "json", "--quiet"}
		return run(t, "", inspector, append(base, args...)...)
	}

	var listed struct{ Tools []struct{ Name string } }
	// --strict exits with an error where a schema would trouble some client.
	decode(t, ask("--method", "tools/list", "--strict"), &listed)
	s := seen{Server: "reeve"}
	for _, tool := range listed.Tools {
		s.Tools = append(s.Tools, tool.Name)
	}
	call := []string{"--method", "tools/call", "--tool-name", recordTool, "--tool-args-json"}
	decode(t, ask(append(call, renewal)...), &s.First)
	decode(t, ask(append(call, renewal)...), &s.Again)
	return s
}

// inspectorConfig holds the credential, which has no place among arguments.
func inspectorConfig(t *testing.T, h house) string {
	t.Helper()
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"reeve": map[string]any{
		"type": "streamable-http", "url": h.url, "headers": map[string]string{"Authorization": "Bearer " + h.token},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func decode(t *testing.T, out []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(out, &struct{ Result any }{into}); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
