package mcpadapter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
)

// steady leaves out what differs between two databases and two moments.
var steady = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z|[0-9a-f]{64}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

func masked(body []byte) string {
	var one bytes.Buffer
	if json.Compact(&one, body) != nil {
		return string(body)
	}
	return steady.ReplaceAllString(one.String(), "…")
}

// TestEveryLineIsAnsweredAsHTTPAnswersIt sends the same messages over HTTP, through
// a bridge to a server, and through one to a handler, each to a server of its own.
func TestEveryLineIsAnsweredAsHTTPAnswersIt(t *testing.T) {
	type message struct {
		body    string
		headers []change
	}
	version := func(v string) []change { return []change{header("Mcp-Protocol-Version", v)} }
	noVersion := strings.Replace(newer("ping", ""), "2026-07-28", "2031-01-01", 1)
	var script []message
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":"first","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		record, record, strings.Replace(record, `"id":1`, `"id":"\u0041b"`, 1),
		`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":7}}`,
		`{"jsonrpc":"2.0","id":4,"method":"prompts/list"}`, `{"jsonrpc":"2.0","id":4,"method":"ping"}`,
		call(`{"action":{"type":"spend"}}`), call(`{"a":1,"a":2}`), call(`{"a":1,"a":2}`), call(`{"a":1,"a":2}`), call(`{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`),
		call(title(`"a` + "\x00" + `b"`)), call(title("\"\xff\"")), call(title(`"\ud800"`)), call(`{"action":{"type":"note","title":"a","amount_cents":9007199254740993}}`),
		`[` + record + `]`, `{}`, `7`, `garbage`, record + record, record[:50], "\ufeff" + record,
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nobody_knows"}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`, `{"jsonrpc":"1.0","id":1,"method":"ping"}`,
	} {
		script = append(script, message{body, version("2025-06-18")})
	}
	script[0].headers = nil
	for _, m := range []struct{ method, more, name string }{
		{"server/discover", "", ""}, {"tools/list", "", ""}, {"prompts/list", "", ""}, {"tools/call", `"name":"operator_state","arguments":{}`, "operator_state"},
		{"tools/call", `"name":"operator_record_action_intent","arguments":{"action":1,"action":2}`, "operator_record_action_intent"},
		{"tools/call", `"name":"nobody_knows"`, "nobody_knows"},
	} {
		script = append(script, message{newer(m.method, m.more), newerHeaders(m.method, m.name)})
	}
	script = append(script, message{noVersion, append(newerHeaders("ping", ""), version("2031-01-01")...)})

	overHTTP := newHouse(t, nil)
	served, local := newHouse(t, nil), newHouse(t, nil)
	bridge, err := NewBridge(served.url, served.agent, nil)
	if err != nil {
		t.Fatal(err)
	}
	handler, err := newHandler(local.schedule, nil)
	if err != nil {
		t.Fatal(err)
	}
	inHouse, err := NewLocalBridge(handler, local.agent, nil)
	if err != nil {
		t.Fatal(err)
	}
	hosts := map[string]*hosted{"bridged": hostOf(t.Context(), bridge), "in process": hostOf(t.Context(), inHouse)}
	for _, m := range script {
		want := masked(overHTTP.post(m.body, m.headers...).body)
		for way, h := range hosts {
			h.say(t, m.body+"\n")
			if got := masked([]byte(<-h.out)); got != want {
				t.Errorf("%s, %s is answered\n%s\nand over HTTP\n%s", m.body, way, got, want)
			}
		}
	}
	for _, h := range hosts {
		h.in.Close()
		if err := <-h.ended; err != nil {
			t.Error(err)
		}
	}
}

func TestHeadersSayWhatTheMessageSays(t *testing.T) {
	tools := func(name string) string { return newer("tools/call", `"name":`+name) }
	old := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"operator_state"}}`
	for name, c := range map[string]struct{ before, body, version, method, tool string }{
		"a call of the older era":         {"", old, "", "", ""},
		"after a handshake":               {"2025-06-18", old, "2025-06-18", "", ""},
		"a call of the newer era":         {"", tools(`"operator_state"`), "2026-07-28", "tools/call", "operator_state"},
		"after a handshake of the older":  {"2025-06-18", tools(`"operator_state"`), "2026-07-28", "tools/call", "operator_state"},
		"a listing":                       {"", newer("tools/list", ""), "2026-07-28", "tools/list", ""},
		"a notification":                  {"", strings.Replace(newer("notifications/x", ""), `"id":1,`, "", 1), "2026-07-28", "notifications/x", ""},
		"a name in an escape":             {"", tools(`"operator\u005fstate"`), "2026-07-28", "tools/call", "operator_state"},
		"a name that no header holds":     {"", tools(`"a\r\nX-Evil: 1"`), "2026-07-28", "tools/call", ""},
		"a name that a header would trim": {"", tools(`" a"`), "2026-07-28", "tools/call", ""},
		"a name that is endless":          {"", tools(`"` + strings.Repeat("a", 10_000) + `"`), "2026-07-28", "tools/call", ""},
		"a version that no header holds":  {"", strings.Replace(tools(`"a"`), "2026-07-28", `2026\n`, 1), "", "", "a"},
		"garbage after a handshake":       {"2025-06-18", "garbage", "2025-06-18", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got atomic.Pointer[http.Request]
			far := farSide(func(r *http.Request) (*http.Response, error) {
				raw, _ := io.ReadAll(r.Body)
				if bytes.Contains(raw, []byte("initialize")) {
					return response(200, "application/json", `{"jsonrpc":"2.0","id":"i","result":{"protocolVersion":"`+c.before+`"}}`), nil
				}
				if string(raw) != c.body {
					t.Errorf("the message was changed to %s", raw)
				}
				got.Store(r)
				return response(202, "", ""), nil
			})
			b := bridgeTo(t, far, nil)
			s := newSession(b, io.Discard)
			if c.before != "" {
				s.exchange(t.Context(), newExchange([]byte(`{"jsonrpc":"2.0","id":"i","method":"initialize"}`), s.versions()))
			}
			s.exchange(t.Context(), newExchange([]byte(c.body), s.versions()))
			h := got.Load().Header
			for header, want := range map[string]string{"Mcp-Protocol-Version": c.version, "Mcp-Method": c.method, "Mcp-Name": c.tool,
				"Authorization": "Bearer " + someToken, "Content-Type": "application/json", "X-Evil": ""} {
				if header == "Mcp-Name" && c.version == "" {
					want = h.Get(header) // without a version the server looks no further
				}
				if h.Get(header) != want {
					t.Errorf("%s is %q, want %q", header, h.Get(header), want)
				}
			}
		})
	}
}

// What a server says besides messages, and what the host is told.
func TestAFailureOfHTTPIsAnAnswer(t *testing.T) {
	const denied = `{"ok":false,"verdict":"deny","reason":"unauthenticated","action":"mcp","message":"No.","retryable":false,"error":{},"recovery":[],"alternatives":[]}`
	const parked = `{"ok":false,"verdict":"park","reason":"x","message":"Wait."}`
	good := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":{}}` }
	for name, c := range map[string]struct {
		status      int
		kind, body  string
		code        int
		reason      string
		passedOn    bool // the answer itself comes through
		callIsError bool
	}{
		"a credential that is no good":     {401, "application/json", denied, -32600, "unauthenticated", false, true},
		"a door that is closed":            {403, "application/json", strings.Replace(denied, "unauthenticated", "foreign_origin", 1), -32600, "foreign_origin", false, true},
		"an outage with an envelope":       {503, "application/json", strings.Replace(denied, `"deny"`, `"unavailable"`, 1), -32603, "unauthenticated", false, true},
		"something that waits":             {202, "application/json", parked, -32600, "x", false, false},
		"an error that names nobody":       {413, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"m","data":` + denied + `}}`, -32600, "unauthenticated", true, false},
		"a proxy's page":                   {502, "text/html", "<html>", -32603, "unavailable", false, true},
		"an empty page":                    {200, "", "", -32603, "unavailable", false, true},
		"a page that is not there":         {404, "text/plain", "404 page not found", -32603, "unavailable", false, true},
		"a redirect":                       {307, "text/html", "", -32603, "unavailable", false, true},
		"accepted, though it was asked":    {202, "", "", -32603, "unavailable", false, true},
		"somebody else's answer":           {200, "application/json", good("99"), -32603, "unavailable", false, true},
		"the answer to a string":           {200, "application/json", good(`"1"`), -32603, "unavailable", false, true},
		"two answers":                      {200, "application/json", good("1") + good("1"), -32603, "unavailable", false, true},
		"an answer that says both":         {200, "application/json", `{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`, -32603, "unavailable", false, true},
		"a result for nobody":              {200, "application/json", good("null"), -32603, "unavailable", false, true},
		"an answer that is no text":        {200, "application/json", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"\xff\"}}", -32603, "unavailable", false, true},
		"an answer without an end":         {200, "application/json", `{"jsonrpc":"2.0","id":1,"result":{`, -32603, "unavailable", false, true},
		"a stream without an answer":       {200, "text/event-stream", ": hello\n\ndata: {}\n\n", -32603, "unavailable", false, true},
		"a stream that answers another":    {200, "text/event-stream", "data: " + good("2") + "\n\n", -32603, "unavailable", false, true},
		"an answer that says our own name": {200, "application/json", `{"jsonrpc":"2.0","id":1,"result":{"a":"` + someToken + `"}}`, -32603, "unavailable", false, true},
		"an envelope that does":            {401, "application/json", strings.Replace(denied, "No.", someToken, 1), -32603, "unavailable", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			var logged bytes.Buffer
			far := farSide(func(*http.Request) (*http.Response, error) {
				res := response(c.status, c.kind, c.body)
				res.Header.Set("WWW-Authenticate", "Bearer secret-challenge")
				res.Header.Set("Location", "https://elsewhere.example/secret-place")
				return res, nil
			})
			b := bridgeTo(t, far, &BridgeOptions{Logger: slog.New(slog.NewJSONHandler(&logged, nil))})
			asked := whole(t, b, ping(1))
			called := whole(t, b, record+"\n")
			if len(asked) != 1 || len(called) != 1 {
				t.Fatalf("%q %q", asked, called)
			}
			said(asked[0]).failedAs(t, c.code, "1", c.reason)
			if c.passedOn {
				said(called[0]).failedAs(t, c.code, "1", c.reason)
			} else {
				out := said(called[0]).called(t)
				if e := readEnvelope(t, out.Structured); e.Reason != c.reason || out.IsError != c.callIsError {
					t.Errorf("%s", called[0])
				}
			}
			for _, secret := range []string{someToken, "secret-"} {
				if strings.Contains(logged.String()+asked[0]+called[0], secret) {
					t.Errorf("%q was told: %s %s %s", secret, logged.String(), asked[0], called[0])
				}
			}
		})
	}
}

func TestAnAnswerIsTakenFromJSONAndFromAStream(t *testing.T) {
	const want = `{"jsonrpc":"2.0","id":1,"result":{"n":9007199254740993,"s":"a\nb"}}`
	indented := strings.ReplaceAll(want, ",", ",\r\n  ")
	for name, c := range map[string][2]string{
		"JSON":                             {"application/json", want},
		"JSON with a charset":              {"application/json; charset=utf-8", want},
		"JSON on several lines":            {"application/json", indented + "\n"},
		"a stream":                         {"text/event-stream", "event: message\ndata: " + want + "\n\n"},
		"a stream without spaces":          {"text/event-stream; charset=utf-8", "data:" + want + "\r\n\r\n"},
		"a stream with several lines":      {"text/event-stream", "data: " + strings.ReplaceAll(strings.ReplaceAll(want, ",", ",\n"), "\n", "\ndata: ") + "\n\n"},
		"a stream that says more":          {"text/event-stream", ": ping\n\nid: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\ndata: " + want + "\n\nrest"},
		"a stream that ends without a gap": {"text/event-stream", "data: " + want},
	} {
		t.Run(name, func(t *testing.T) {
			far := farSide(func(*http.Request) (*http.Response, error) { return response(200, c[0], c[1]), nil })
			if got := whole(t, bridgeTo(t, far, nil), ping(1)); len(got) != 1 || got[0] != want {
				t.Errorf("got %q", got)
			}
		})
	}
}

// endless is a body that never ends, and tells when it was closed.
type endless struct {
	piece  string
	closed *atomic.Bool
}

func (e endless) Read(p []byte) (int, error) { return copy(p, e.piece), nil }
func (e endless) Close() error               { e.closed.Store(true); return nil }

func TestAnAnswerWithoutEndIsGivenUp(t *testing.T) {
	for _, kind := range []string{"application/json", "text/event-stream"} {
		for _, piece := range []string{strings.Repeat(" ", 4096), "data: {}\n\n"} {
			var closed atomic.Bool
			far := farSide(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {kind}}, Body: endless{piece, &closed}}, nil
			})
			said(whole(t, bridgeTo(t, far, nil), record+"\n")[0]).refused(t, "1", "unavailable")
			if !closed.Load() {
				t.Error("the body was left open")
			}
		}
	}
}

func TestAServerThatIsDownIsToldAndOneThatComesBackIsUsed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	s, agent, _, _ := openSchedule(t)
	handler, err := newHandler(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewBridge("http://"+address, agent, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := hostOf(t.Context(), b)
	for id := range 3 {
		h.say(t, recordAs(id))
		if e := said(<-h.out).refused(t, fmt.Sprint(id), "unavailable"); !strings.Contains(e.Message, address) || id == 0 && !strings.Contains(e.Message, "refused") {
			t.Errorf("told: %s", e.Message)
		}
		if l, err = net.Listen("tcp", address); err != nil {
			t.Skipf("the port went to somebody else: %v", err)
		}
		server := &httptest.Server{Listener: l, Config: &http.Server{Handler: handler}}
		server.Start()
		h.say(t, recordAs(100+id))
		said(<-h.out).called(t)
		server.CloseClientConnections()
		server.Close()
		// The next message may be the one that notices the broken connection.
	}
	h.in.Close()
	if err := <-h.ended; err != nil {
		t.Error(err)
	}
}

func TestACredentialThatIsNoGoodIsRefusedInTheServersWords(t *testing.T) {
	h := newHouse(t, nil)
	b, err := NewBridge(h.url, someToken, nil)
	if err != nil {
		t.Fatal(err)
	}
	said(whole(t, b, ping(1))[0]).failedAs(t, -32600, "1", "unauthenticated")
	out := said(whole(t, b, record+"\n")[0])
	if e := out.refused(t, "1", "unauthenticated"); e.Verdict != "deny" {
		t.Errorf("%s", out.body)
	}
	said(whole(t, b, "garbage\n")[0]).failedAs(t, -32700, "null", "not_json")
}

func TestTheCredentialGoesToOneHostAlone(t *testing.T) {
	var strayed atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Add(1) }))
	defer elsewhere.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	b, err := NewBridge(server.URL, someToken, nil)
	if err != nil {
		t.Fatal(err)
	}
	said(whole(t, b, ping(1))[0]).failedAs(t, -32603, "1", "unavailable")
	if strayed.Load() != 0 {
		t.Error("the redirect was followed")
	}
}

func TestAnAddressIsLoopbackOrEncrypted(t *testing.T) {
	for _, c := range []struct {
		address string
		plain   bool
		want    string // the endpoint, or empty where it is refused
	}{
		{"http://127.0.0.1:3401", false, "http://127.0.0.1:3401/mcp"},
		{"http://127.0.0.1:3401/", false, "http://127.0.0.1:3401/mcp"},
		{"http://127.0.0.1:3401/mcp", false, "http://127.0.0.1:3401/mcp"},
		{"http://localhost:3401", false, "http://localhost:3401/mcp"},
		{"http://[::1]:3401", false, "http://[::1]:3401/mcp"},
		{"https://reeve.example", false, "https://reeve.example/mcp"},
		{"https://reeve.example/team/mcp", false, "https://reeve.example/team/mcp"},
		{"http://reeve.example", true, "http://reeve.example/mcp"},
		{"http://reeve.example", false, ""},
		{"http://10.0.0.1", false, ""},
		{"http://0.0.0.0:3401", false, ""},
		{"http://127.0.0.1.evil.example", false, ""},
		{"http://localhost.evil.example", false, ""},
		{"http://me:secret@127.0.0.1", false, ""},
		{"https://reeve.example/mcp?token=secret", false, ""},
		{"https://reeve.example/mcp?", false, ""},
		{"https://reeve.example/#secret", false, ""},
		{"ftp://127.0.0.1", false, ""},
		{"127.0.0.1:3401", false, ""},
		{"localhost:3401", false, ""},
		{"https://", false, ""},
		{"", false, ""},
		{"http://%zz", true, ""},
	} {
		got, err := endpoint(c.address, c.plain)
		if c.want == "" {
			if err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s gives %v, %v", c.address, got, err)
			}
			continue
		}
		if err != nil || got.String() != c.want {
			t.Errorf("%s gives %v, %v; want %s", c.address, got, err, c.want)
		}
	}
}

func TestAProxyOfTheEnvironmentSeesNoCredential(t *testing.T) {
	for address, want := range map[string]bool{"http://127.0.0.1:3401": false, "http://localhost:3401": false, "https://localhost": false,
		"http://reeve.example": false, "https://reeve.example": true} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := overNetwork(u).Proxy != nil; got != want {
			t.Errorf("%s may use a proxy: %v", address, got)
		}
	}
}

func TestANameThatIsSaidToBeLoopbackMustBe(t *testing.T) {
	for address, want := range map[string]bool{"127.0.0.1:80": true, "127.9.9.9:80": true, "[::1]:80": true, "[::ffff:127.0.0.1]:80": true,
		"10.0.0.1:80": false, "[fe80::1]:80": false, "93.184.216.34:80": false, "": false} {
		if err := onLoopbackOnly("tcp", address, nil); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestABridgeThatCannotBeIsRefused(t *testing.T) {
	for _, token := range []string{"", " ", "a b", "a\n", "a\x00", "é"} {
		if _, err := NewBridge("http://127.0.0.1:1", token, nil); !errors.Is(err, ErrCredential) {
			t.Errorf("%q: %v", token, err)
		}
	}
	for _, opts := range []BridgeOptions{{Grace: -1}, {AnswerTimeout: -1}} {
		if _, err := NewLocalBridge(nil, someToken, &opts); err == nil {
			t.Errorf("%+v was taken", opts)
		}
	}
}

func TestAHandlerThatFailsIsAnOutageAndTheProcessLives(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"one that panics":   func(http.ResponseWriter, *http.Request) { panic("boom: " + someToken) },
		"one that aborts":   func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"one says nothing":  func(http.ResponseWriter, *http.Request) {},
		"one says a little": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{")) },
	} {
		t.Run(name, func(t *testing.T) {
			b, err := NewLocalBridge(h, someToken, nil)
			if err != nil {
				t.Fatal(err)
			}
			said(whole(t, b, record+"\n")[0]).refused(t, "1", "unavailable")
		})
	}
}

func TestTheLocalHandlerSeesAnOrdinaryRequest(t *testing.T) {
	b, err := NewLocalBridge(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != "POST" || r.Host != "localhost" || r.URL.Path != "/mcp" || r.RequestURI != "/mcp" || r.RemoteAddr == "" || r.ContentLength <= 0 {
			t.Errorf("%s %s %s %s %d", r.Method, r.Host, r.URL, r.RequestURI, r.ContentLength)
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		res, err := echo(r)
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.Copy(w, res.Body)
	}), someToken, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := whole(t, b, ping(3)); len(got) != 1 {
		t.Errorf("%q", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := http.NewRequestWithContext(ctx, "POST", "http://localhost/mcp", strings.NewReader(ping(1)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X", "y")
	if _, err := b.transport.RoundTrip(r); !errors.Is(err, context.Canceled) {
		t.Errorf("a request that was given up: %v", err)
	}
}
