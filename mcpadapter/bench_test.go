package mcpadapter

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

// still is a schedule that answers at once, so that what is measured is the
// adapter: n tools, every caller known, every call the same answer.
type still struct {
	rows   []*powers.Tool
	answer []byte
}

func newStill(n int) *still {
	s := &still{answer: []byte(`{"echo": "Annual plan renewal"}`)}
	for i := range n {
		t := &powers.Tool{Description: strings.Repeat("What it is for. ", 20), InputSchema: []byte(echoSchema)}
		t.Name, t.Title = fmt.Sprintf("tool_%d", i), "Tool"
		s.rows = append(s.rows, t)
	}
	return s
}

const echoSchema = `{"type":"object","properties":{"text":{"type":"string","description":"What to say."}},"required":["text"],"additionalProperties":false}`

func (s *still) Tools() []*powers.Tool                                  { return s.rows }
func (s *still) Visible(operator.Principal, powers.Face) []*powers.Tool { return s.rows }
func (s *still) Authenticate(context.Context, powers.Presented) (powers.Caller, *powers.Answer) {
	return powers.Caller{}, nil
}
func (s *still) Call(context.Context, powers.Caller, string, []byte) powers.Answer {
	return powers.Answer{JSON: s.answer, OK: true, Status: http.StatusOK}
}
func (s *still) RefuseCall(ctx context.Context, c powers.Caller, action string, _ []byte, err error) powers.Answer {
	return s.Refuse(ctx, c, action, err)
}

func (s *still) Admit(context.Context, powers.Caller, string) *powers.Answer { return nil }
func (s *still) Refuse(context.Context, powers.Caller, string, error) powers.Answer {
	return broken(actionNone)
}

// typedEcho is what the SDK's own documentation would have one write.
func typedEcho() http.Handler {
	type in struct {
		Text string `json:"text"`
	}
	type out struct {
		Echo string `json:"echo"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "tool_0"}, func(_ context.Context, _ *mcp.CallToolRequest, i in) (*mcp.CallToolResult, out, error) {
		return nil, out{i.Text}, nil
	})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
}

// answering gives back a function that has h answer one request, in the era of
// that version.
func answering(t testing.TB, h http.Handler, method, name, version string) func() {
	t.Helper()
	params := map[string]any{}
	if name != "" {
		params = map[string]any{"name": name, "arguments": map[string]any{"text": "Annual plan renewal"}}
	}
	if version >= newEra {
		params["_meta"] = map[string]any{mcp.MetaKeyProtocolVersion: version, mcp.MetaKeyClientCapabilities: struct{}{}}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	run := func() *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(string(body)))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream;q=0")
		r.Header.Set("Mcp-Protocol-Version", version)
		if version >= newEra {
			r.Header.Set("Mcp-Method", method)
			r.Header.Set("Mcp-Name", name)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	if w := run(); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"result"`) {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return func() { _, _ = io.Copy(io.Discard, run().Body) }
}

func still24(t testing.TB) http.Handler {
	t.Helper()
	h, err := newHandler(newStill(24), nil)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestACallAllocatesNoMoreThanTheSDKsOwnTypedEcho(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		ours := testing.AllocsPerRun(200, answering(t, still24(t), "tools/call", "tool_0", version))
		theirs := testing.AllocsPerRun(200, answering(t, typedEcho(), "tools/call", "tool_0", version))
		t.Logf("%s: %.0f of ours, %.0f of the SDK's: %.2f", version, ours, theirs, ours/theirs)
		if ours > theirs {
			t.Errorf("%s: a call allocates %.0f times, the SDK's typed echo %.0f", version, ours, theirs)
		}
	}
}

func TestAListingOfManyToolsStaysWithinItsAllocations(t *testing.T) {
	const most = 400
	h, err := newHandler(newStill(120), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		got := testing.AllocsPerRun(50, answering(t, h, "tools/list", "", version))
		t.Logf("%s: %.0f", version, got)
		if got > most {
			t.Errorf("%s: listing 120 tools allocates %.0f times, more than %d", version, got, most)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		for name, h := range map[string]http.Handler{"adapter": still24(b), "typed echo of the SDK": typedEcho()} {
			b.Run(name+" "+version, func(b *testing.B) {
				run := answering(b, h, "tools/call", "tool_0", version)
				b.ReportAllocs()
				for b.Loop() {
					run()
				}
			})
		}
	}
}

func BenchmarkList(b *testing.B) {
	run := answering(b, still24(b), "tools/list", "", "2025-11-25")
	b.ReportAllocs()
	for b.Loop() {
		run()
	}
}
