package clienttest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reeve-go/reeve/mcpadapter"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

const (
	recordTool = "operator_record_action_intent"
	renewal    = `{"action":{"type":"spend","title":"Annual plan renewal","amount_cents":4900}}`
)

// house is a server with somebody to call it.
type house struct {
	url, token string
	tools      []string
}

func newHouse(t *testing.T) house {
	t.Helper()
	w := operatortest.New(t, "sqlite", nil)
	schedule, err := powers.New(w.Operator)
	if err != nil {
		t.Fatal(err)
	}
	handler, err := mcpadapter.New(schedule, nil)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	h := house{url: server.URL + "/mcp", token: w.First.Agent.Token}
	for _, tool := range schedule.Visible(w.Agent, powers.FaceMCP) {
		h.tools = append(h.tools, tool.Name)
	}
	return h
}

// seen is what a client was told, whichever client it was.
type seen struct {
	Tools                 []string
	Server                string
	First, Again, Refused result
}

type result struct {
	IsError           bool
	StructuredContent map[string]any
	Content           []struct{ Type, Text string }
}

// holds checks the main job and a refusal, as every client has to see them.
func (s seen) holds(t *testing.T, h house) {
	t.Helper()
	s.holdsMainJob(t, h)
	refused := s.Refused.value(t)
	if !s.Refused.IsError || refused["ok"] != false || refused["reason"] != "unknown_key" {
		t.Errorf("an unknown key: isError %v, %v", s.Refused.IsError, refused)
	}
}

func (s seen) holdsMainJob(t *testing.T, h house) {
	t.Helper()
	if !slices.Equal(s.Tools, h.tools) {
		t.Errorf("listed %v, want %v", s.Tools, h.tools)
	}
	if s.Server != "reeve" {
		t.Errorf("the server calls itself %q", s.Server)
	}
	first, again := s.First.value(t), s.Again.value(t)
	if first["status"] != "pending_approval" || first["policy_decision"] != "requires_approval" || first["created"] != true {
		t.Errorf("first answer: %v", first)
	}
	if again["id"] != first["id"] || again["created"] != false {
		t.Errorf("the same again: %v", again)
	}
}

// value is what a tool answered: the same in the text and beside it.
func (r result) value(t *testing.T) map[string]any {
	t.Helper()
	if len(r.Content) != 1 || r.Content[0].Type != "text" {
		t.Fatalf("want one block of text, got %+v", r.Content)
	}
	var inText map[string]any
	if err := json.Unmarshal([]byte(r.Content[0].Text), &inText); err != nil {
		t.Fatalf("the text is no JSON: %v", err)
	}
	if !reflect.DeepEqual(inText, r.StructuredContent) {
		t.Errorf("the two copies differ:\n%v\n%v", inText, r.StructuredContent)
	}
	return inText
}

func TestTheTypeScriptClientsListAndCallInBothEras(t *testing.T) {
	node := nodeTool(t, "node")
	for _, flavour := range []string{"v1", "v2-legacy", "v2-modern"} {
		t.Run(flavour, func(t *testing.T) {
			h := newHouse(t)
			out := run(t, h.token, node, "call.mjs", flavour, h.url, recordTool, renewal)
			var s seen
			if err := json.Unmarshal(out, &s); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			s.holds(t, h)
		})
	}
}

func TestTheGoClientListsAndCallsInBothEras(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			h := newHouse(t)
			goClient(t, h, version).holds(t, h)
		})
	}
}

func goClient(t *testing.T, h house, version string) seen {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "reeve-client-test", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: h.url, HTTPClient: &http.Client{Transport: bearer(h.token)},
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if got := session.InitializeResult(); got != nil && got.ProtocolVersion != version {
		t.Errorf("the client settled on %s, want %s", got.ProtocolVersion, version)
	}
	s := seen{Server: session.InitializeResult().ServerInfo.Name}
	tools, err := session.ListTools(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools.Tools {
		s.Tools = append(s.Tools, tool.Name)
	}
	call := func(arguments string) (out result) {
		r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: recordTool, Arguments: json.RawMessage(arguments)})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	s.First, s.Again, s.Refused = call(renewal), call(renewal), call(`{"no":"such key"}`)
	return s
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// nodeTool finds a program that npm installed, or skips.
func nodeTool(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("node_modules", ".bin", name))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err == nil {
		return path
	}
	const how = "run: npm ci --prefix mcpadapter/clienttest"
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed; %s", name, how)
	}
	t.Skipf("%s is not installed; %s", name, how)
	return ""
}

// run runs a client with the credential on its standard input.
func run(t *testing.T, input, program string, args ...string) []byte {
	t.Helper()
	said, _ := runTold(t, input, program, args...)
	return said
}

// runTold is run, with what the client told on its standard error.
func runTold(t *testing.T, input, program string, args ...string) (said, told []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdin = strings.NewReader(input)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(nodeTool(t, "node"))+string(os.PathListSeparator)+os.Getenv("PATH"), "NO_COLOR=1",
		"MCP_INSPECTOR_SECRET_STORE=memory") // else it complains where there is no keyring
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", filepath.Base(program), err, stdout.String(), stderr.String())
	}
	return stdout.Bytes(), stderr.Bytes()
}
