package clienttest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// built is the reeve of this source.
func built(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "reeve")
	if out, err := exec.Command("go", "build", "-o", program, "github.com/reeve-go/reeve/cmd/reeve").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// command is what a host starts to reach a house, word by word.
func command(t *testing.T, program string, h house) []string {
	t.Helper()
	token := filepath.Join(t.TempDir(), "agent.token")
	if err := os.WriteFile(token, []byte(h.token), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{program, "mcp", "--url", h.url, "--token-file", token}
}

func TestTheTypeScriptClientsStartACommandInBothEras(t *testing.T) {
	node, program := nodeTool(t, "node"), built(t)
	for _, flavour := range []string{"v1", "v2-legacy", "v2-modern"} {
		t.Run(flavour, func(t *testing.T) {
			h := newHouse(t)
			words, err := json.Marshal(command(t, program, h))
			if err != nil {
				t.Fatal(err)
			}
			out := run(t, "", node, "call.mjs", flavour, "exec:"+string(words), recordTool, renewal)
			var s seen
			if err := json.Unmarshal(out, &s); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			s.holds(t, h)
		})
	}
}

func TestTheInspectorStartsACommandInBothEras(t *testing.T) {
	node, program := nodeTool(t, "mcp-inspector"), built(t)
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			h := newHouse(t)
			words := command(t, program, h)
			started := config(t, map[string]any{"type": "stdio", "command": words[0], "args": words[1:]})
			inspector{node, started, era}.walk(t).holdsMainJob(t, h)
		})
	}
}
