package mcpadapter

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// newer is a request of the newer era with id 1. more are members of params.
func newer(method, more string) string {
	if more != "" {
		more += ","
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, method, more)
}

func newerHeaders(method, name string) []change {
	out := []change{header("Mcp-Protocol-Version", "2026-07-28"), header("Mcp-Method", method)}
	if name != "" {
		out = append(out, header("Mcp-Name", name))
	}
	return out
}

type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// connect is a session of the official client. version "" is the newest that
// both sides speak.
func connect(t *testing.T, url, token, version string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: bearer{token}},
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func names(t *testing.T, session *mcp.ClientSession) []string {
	t.Helper()
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, tool := range list.Tools {
		out = append(out, tool.Name)
	}
	return out
}

func TestTheOfficialClientListsAndCallsInEveryEra(t *testing.T) {
	h := newHouse(t, &Options{Version: "1.2.3"})
	for _, version := range append([]string{""}, mcp.SupportedProtocolVersions()...) {
		t.Run("version "+version, func(t *testing.T) {
			session := connect(t, h.url, h.agent, version)
			got := session.InitializeResult()
			want := version
			if want == "" {
				want = mcp.SupportedProtocolVersions()[0]
			}
			if got.ProtocolVersion != want || !strings.Contains(got.Instructions, "operator_record_action_intent") {
				t.Fatalf("negotiated %q with instructions %q", got.ProtocolVersion, got.Instructions)
			}
			if got.ServerInfo == nil || got.ServerInfo.Name != "reeve" || got.ServerInfo.Version != "1.2.3" {
				t.Errorf("the server calls itself %+v", got.ServerInfo)
			}
			//lint:ignore SA1019 that nothing deprecated is declared is what is tested
			if c := got.Capabilities; c.Tools == nil || c.Tools.ListChanged || c.Logging != nil || c.Prompts != nil || c.Resources != nil || c.Completions != nil {
				t.Errorf("capabilities %+v: tools alone were to be declared", c)
			}
			if !slices.Contains(names(t, session), "operator_record_action_intent") {
				t.Error("the tool is not listed")
			}
			res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "operator_record_action_intent", Arguments: map[string]any{
				"action": map[string]any{"type": "spend", "title": "Annual plan renewal", "amount_cents": 4900}}})
			if err != nil || res.IsError || res.StructuredContent.(map[string]any)["status"] != "pending_approval" {
				t.Fatalf("%+v %v", res, err)
			}
			res, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "nobody_knows"})
			if err != nil || !res.IsError || res.StructuredContent.(map[string]any)["reason"] != "unknown_tool" {
				t.Fatalf("%+v %v", res, err)
			}
			if _, err = session.ListPrompts(t.Context(), nil); err == nil {
				t.Error("prompts were listed, though never declared")
			}
			if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "operator_state"}); err != nil {
				t.Errorf("the session did not outlive the errors: %v", err)
			}
		})
	}
}

func TestCallersOnOneServerSeeTheirOwnTools(t *testing.T) {
	h := newHouse(t, nil)
	want := map[string][]string{}
	for _, token := range []string{h.agent, h.person, h.worker} {
		want[token] = names(t, connect(t, h.url, token, ""))
	}
	if slices.Equal(want[h.agent], want[h.worker]) {
		t.Fatalf("agent and worker see the same %v: the test shows nothing", want[h.agent])
	}
	var wg sync.WaitGroup
	for i := range 12 {
		token := []string{h.agent, h.person, h.worker}[i%3]
		version := []string{"", "2025-11-25"}[i%2]
		session := connect(t, h.url, token, version)
		wg.Go(func() {
			for range 10 {
				list, err := session.ListTools(context.Background(), nil)
				if err != nil {
					t.Error(err)
					return
				}
				var got []string
				for _, tool := range list.Tools {
					got = append(got, tool.Name)
				}
				if !slices.Equal(got, want[token]) {
					t.Errorf("%s saw %v, want %v", token[:8], got, want[token])
				}
			}
		})
	}
	wg.Wait()
}

func TestAListingIsPrivateAndStaleAtOnce(t *testing.T) {
	h := newHouse(t, nil)
	for name, a := range map[string]answer{
		"tools/list in the older era":      h.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`),
		"tools/list in the newer era":      h.post(newer("tools/list", ""), newerHeaders("tools/list", "")...),
		"server/discover in the newer era": h.post(newer("server/discover", ""), newerHeaders("server/discover", "")...),
	} {
		var res map[string]any
		if err := json.Unmarshal(a.rpc(t).Result, &res); err != nil {
			t.Fatalf("%s: %s", name, a.body)
		}
		if res["cacheScope"] != "private" || res["ttlMs"] != 0.0 {
			t.Errorf("%s: scope %v, ttl %v", name, res["cacheScope"], res["ttlMs"])
		}
		if strings.Contains(name, "newer") && res["resultType"] != "complete" {
			t.Errorf("%s: resultType %v", name, res["resultType"])
		}
		if c := a.header.Get("Cache-Control"); !strings.Contains(c, "no-cache") && !strings.Contains(c, "no-store") {
			t.Errorf("%s: Cache-Control %q", name, c)
		}
	}
}

func TestARefusalInTheNewerEraIsACompleteResultWhateverIsWrongWithTheBody(t *testing.T) {
	h := newHouse(t, nil)
	for _, params := range []string{
		`{"name":"operator_state","arguments":{},"arguments":{}}`,
		`{"name":"operator_state","name":"operator_state"}`,
		`{"name":7}`,
		`{}`,
	} {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`
		a := h.post(body, newerHeaders("tools/call", "operator_state")...)
		readEnvelope(t, a.called(t).Structured)
		if a.called(t).ResultType != "complete" {
			t.Errorf("%s: %s", params, a.body)
		}
	}
}

func TestHeadersOfTheNewerEraMustAgreeWithTheBody(t *testing.T) {
	h := newHouse(t, nil)
	body := newer("tools/call", `"name":"operator_state"`)
	for name, changes := range map[string][]change{
		"another version":       {header("Mcp-Protocol-Version", "2025-11-25")},
		"no version":            {header("Mcp-Protocol-Version")},
		"no method":             {header("Mcp-Method")},
		"another method":        {header("Mcp-Method", "tools/list")},
		"no name":               {header("Mcp-Name")},
		"another name":          {header("Mcp-Name", "operator_record_action_intent")},
		"the method twice":      {header("Mcp-Method", "tools/call", "tools/list")},
		"the name twice":        {header("Mcp-Name", "operator_state", "operator_state")},
		"a version from beyond": {header("Mcp-Protocol-Version", "2031-01-01")},
	} {
		t.Run(name, func(t *testing.T) {
			a := h.post(body, append(newerHeaders("tools/call", "operator_state"), changes...)...)
			if r := a.rpc(t); a.status != http.StatusBadRequest || r.Error == nil || r.Error.Code > -32020 || r.Error.Code < -32022 {
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	}
}

// TestACallThatSaysTooLittleOfItselfIsRefusedInAnEnvelope: what the SDK would answer
// with an error of its own is refused like every other call, and is on record.
func TestACallThatSaysTooLittleOfItselfIsRefusedInAnEnvelope(t *testing.T) {
	h := newHouse(t, nil)
	whole := newer("tools/call", `"name":"operator_state"`)
	for name, body := range map[string]string{
		"no _meta":                   `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"operator_state"}}`,
		"_meta is null":              `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"operator_state","_meta":null}}`,
		"_meta is empty":             `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"operator_state","_meta":{}}}`,
		"no version":                 strings.Replace(whole, `"io.modelcontextprotocol/protocolVersion":"2026-07-28",`, "", 1),
		"no capabilities":            strings.Replace(whole, `,"io.modelcontextprotocol/clientCapabilities":{}`, "", 1),
		"capabilities are no object": strings.Replace(whole, `"io.modelcontextprotocol/clientCapabilities":{}`, `"io.modelcontextprotocol/clientCapabilities":[]`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			h.post(body, newerHeaders("tools/call", "operator_state")...).refused(t, "1", "missing_field")
		})
	}
	h.post(newer("tools/call", `"name":""`), newerHeaders("tools/call", "")...).refused(t, "1", "unknown_tool")
	h.post(strings.Replace(whole, `2026-07-28`, `2030-01-01`, 1), header("Mcp-Protocol-Version", "2030-01-01"), header("Mcp-Method", "tools/call"),
		header("Mcp-Name", "operator_state"))
	if last := h.lastRefusal(t); last != "operator_state|invalid_value" {
		t.Errorf("a version that is not there yet left %q on record", last)
	}
}

func TestAVersionThatNobodySpeaksIsRefusedWithThoseThatThereAre(t *testing.T) {
	h := newHouse(t, nil)
	rotten := call(`{"a":1,"a":2}`)
	for name, c := range map[string]struct{ body, id, version, requested string }{
		"an older one":          {record, "1", "2023-01-01", "2023-01-01"},
		"one that is yet to be": {record, "1", "2031-01-01", "2031-01-01"},
		"one of another form":   {record, "1", "v999.0.0", "v999.0.0"},
		"a number":              {record, "1", "1", "1"},
		"a word":                {record, "1", "tomorrow", ""},
		"a credential":          {record, "1", h.agent, ""},
		"two":                   {record, "1", "2025-11-25, 2025-06-18", ""},
		"a listing":             {list, "7", "2031-01-01", "2031-01-01"},
		"a method of nobody":    {`{"jsonrpc":"2.0","id":"x","method":"nobody/knows"}`, `"x"`, "2031-01-01", "2031-01-01"},
		"a notification":        {`{"jsonrpc":"2.0","method":"notifications/x"}`, "null", "2031-01-01", "2031-01-01"},
		"a rotten call":         {rotten, "7", "2031-01-01", "2031-01-01"},
		"a word, a rotten call": {rotten, "7", "tomorrow", ""},
		"no JSON":               {`{`, "null", "2031-01-01", "2031-01-01"},
	} {
		t.Run(name, func(t *testing.T) {
			a := h.post(c.body, header("Mcp-Protocol-Version", strings.Split(c.version, ", ")...))
			a.failed(t, http.StatusBadRequest, mcp.CodeUnsupportedProtocolVersion, c.id, "invalid_value")
			var data mcp.UnsupportedProtocolVersionData
			if err := json.Unmarshal(a.rpc(t).Error.Data, &data); err != nil {
				t.Fatal(err)
			}
			if data.Requested != c.requested || !slices.Equal(data.Supported, mcp.SupportedProtocolVersions()) {
				t.Errorf("%+v", data)
			}
		})
	}
}

// A client that is newer than the server finds out by itself what both of them speak.
func TestAClientThatIsNewerThanTheServerSettlesOnWhatBothSpeak(t *testing.T) {
	h := newHouse(t, nil)
	a := h.post(strings.ReplaceAll(newer("server/discover", ""), "2026-07-28", "2031-01-01"), header("Mcp-Protocol-Version", "2031-01-01"), header("Mcp-Method", "server/discover"))
	a.failed(t, http.StatusBadRequest, mcp.CodeUnsupportedProtocolVersion, "1", "invalid_value")
	var data, discovered struct{ Supported, SupportedVersions []string }
	if err := json.Unmarshal(a.rpc(t).Error.Data, &data); err != nil {
		t.Fatal(err)
	}
	a = h.post(newer("server/discover", ""), newerHeaders("server/discover", "")...)
	if err := json.Unmarshal(a.rpc(t).Result, &discovered); err != nil {
		t.Fatal(err)
	}
	if len(data.Supported) == 0 || !slices.Equal(data.Supported, discovered.SupportedVersions) {
		t.Errorf("refused with %v, discovered %v", data.Supported, discovered.SupportedVersions)
	}
}

func TestAnErrorNeverRepeatsTheRequest(t *testing.T) {
	h := newHouse(t, nil)
	secret := h.agent
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":5,"x":"` + secret + `"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":"` + secret + `"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":["` + secret + `"]}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":{"x":"` + secret + `"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"` + secret + `"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":["` + secret + `"]}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"operator_state","_meta":"` + secret + `"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"operator_state","inputResponses":"` + secret + `"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":"` + secret + `"}`,
		`{"jsonrpc":"2.0","id":1,"method":"` + secret + `"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + secret + `"}}`,
		newer("tools/call", `"name":"operator_state","requestState":["`+secret+`"]`),
		strings.Replace(newer("tools/call", `"name":"operator_state"`), "2026-07-28", secret, 1),
		strings.Replace(newer("tools/call", `"name":"operator_state"`), `{}`, `"`+secret+`"`, 1),
		newer("tools/call", `"name":"operator_state"`),
	} {
		for _, changes := range [][]change{nil, newerHeaders("tools/call", "operator_state"), newerHeaders(secret, "operator_state"), newerHeaders("tools/call", secret),
			{header("Mcp-Protocol-Version", secret)}, {header("Mcp-Protocol-Version", "2026-07-28", secret)}} {
			if a := h.post(body, changes...); bytes.Contains(a.body, []byte(secret)) {
				t.Errorf("%s: was answered with its own words: %s", body, a.body)
			}
		}
	}
}
