package mcpadapter

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

// house is one server with callers of different kinds.
type house struct {
	t        *testing.T
	schedule schedule
	url      string
	agent    string // credentials
	person   string
	worker   string
}

// openSchedule binds the schedule to an operator on a fresh database, and mints
// an agent's, a person's and a worker's credential. The worker may only look.
func openSchedule(t testing.TB) (s schedule, agent, person, worker string) {
	t.Helper()
	w := operatortest.New(t, "sqlite", nil)
	real, err := powers.New(w.Operator)
	if err != nil {
		t.Fatal(err)
	}
	m := w.Mint(t, operator.NewCredential{Kind: operator.KindWorker, Name: "looker", Scopes: []operator.Scope{operator.ScopeStateRead}})
	return real, w.First.Agent.Token, w.First.Person.Token, m.Token
}

func newHouse(t *testing.T, opts *Options) *house {
	t.Helper()
	s, agent, person, worker := openSchedule(t)
	return &house{t: t, schedule: s, url: serve(t, s, opts), agent: agent, person: person, worker: worker}
}

func serve(t *testing.T, s schedule, opts *Options) string {
	t.Helper()
	handler, err := newHandler(s, opts)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL + "/mcp"
}

// answer is what came back over the wire.
type answer struct {
	status int
	header http.Header
	body   []byte // of an event stream: the data of its one message
}

type change func(*http.Request)

func header(name string, values ...string) change {
	return func(r *http.Request) {
		r.Header.Del(name)
		for _, v := range values {
			r.Header.Add(name, v)
		}
	}
}

func method(m string) change { return func(r *http.Request) { r.Method = m } }

func host(name string) change { return func(r *http.Request) { r.Host = name } }

// post sends body as the agent, accepting JSON alone, unless changed.
func (h *house) post(body string, changes ...change) answer {
	h.t.Helper()
	return send(h.t, h.url, h.agent, strings.NewReader(body), changes...)
}

func send(t *testing.T, url, token string, body io.Reader, changes ...change) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	for _, c := range changes {
		c(r)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{status: res.StatusCode, header: res.Header, body: raw}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		a.body = oneMessage(t, raw)
	}
	return a
}

// oneMessage is the data of the one event of a stream, which must be a message.
func oneMessage(t *testing.T, stream []byte) []byte {
	t.Helper()
	var data []byte
	var kind string
	lines := bufio.NewScanner(bytes.NewReader(stream))
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		if d, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			if data != nil {
				t.Fatalf("the stream has more than one message:\n%s", stream)
			}
			data = []byte(d)
		}
		if k, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			kind = k
		}
	}
	if kind != "message" || data == nil {
		t.Fatalf("the stream has no message event:\n%s", stream)
	}
	return data
}

// rpc is a JSON-RPC answer, with numbers as they were written.
type rpc struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

func (a answer) rpc(t *testing.T) rpc {
	t.Helper()
	var out rpc
	if err := json.Unmarshal(a.body, &out); err != nil {
		t.Fatalf("%d %s: not JSON-RPC: %v", a.status, a.body, err)
	}
	return out
}

// called is the result of a tools/call.
type called struct {
	ResultType string `json:"resultType"`
	Content    []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool            `json:"isError"`
}

func (a answer) called(t *testing.T) called {
	t.Helper()
	r := a.rpc(t)
	if r.Error != nil || a.status != http.StatusOK {
		t.Fatalf("%d %s: not the result of a call", a.status, a.body)
	}
	var c called
	if err := json.Unmarshal(r.Result, &c); err != nil {
		t.Fatal(err)
	}
	if len(c.Content) != 1 || c.Content[0].Type != "text" || len(c.Structured) == 0 {
		t.Fatalf("%s: a result has one text block and structured content", a.body)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(c.Content[0].Text)); err != nil {
		t.Fatalf("the text block is not JSON: %v", err)
	}
	if !sameJSON(t, compact.Bytes(), c.Structured) {
		t.Fatalf("text and structured content differ:\n%s\n%s", compact.Bytes(), c.Structured)
	}
	return c
}

// sameJSON compares values with numbers digit by digit.
func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	norm := func(raw []byte) string {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	return norm(a) == norm(b)
}

// envelope is a refusal.
type envelope struct {
	OK      *bool  `json:"ok"`
	Verdict string `json:"verdict"`
	Reason  string `json:"reason"`
	Action  string `json:"action"`
	Message string `json:"message"`
	Repeat  int    `json:"repeat"`
}

func readEnvelope(t *testing.T, raw []byte) envelope {
	t.Helper()
	var e envelope
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Fatalf("%s: not an envelope: %v", raw, err)
	}
	if e.OK == nil || *e.OK || e.Verdict == "" || e.Reason == "" || e.Message == "" {
		t.Fatalf("%s: not an envelope", raw)
	}
	return e
}

// refused demands that the call with that id was answered with a refusal.
func (a answer) refused(t *testing.T, id, reason string) envelope {
	t.Helper()
	if got := string(a.rpc(t).ID); got != id {
		t.Fatalf("answered id %s, want %s: %s", got, id, a.body)
	}
	c := a.called(t)
	e := readEnvelope(t, c.Structured)
	if e.Reason != reason || c.IsError != (e.Verdict == "deny" || e.Verdict == "unavailable") {
		t.Fatalf("reason %q isError %v, want %q: %s", e.Reason, c.IsError, reason, a.body)
	}
	return e
}

// failed demands a JSON-RPC error that holds the envelope.
func (a answer) failed(t *testing.T, status, code int, id, reason string) envelope {
	t.Helper()
	r := a.rpc(t)
	if r.Error == nil || a.status != status || r.Error.Code != code || string(r.ID) != id {
		t.Fatalf("%d %s: want status %d, code %d, id %s", a.status, a.body, status, code, id)
	}
	e := readEnvelope(t, r.Error.Data)
	if e.Reason != reason {
		t.Fatalf("reason %q, want %q: %s", e.Reason, reason, a.body)
	}
	return e
}

// barred demands an HTTP refusal whose body is the envelope.
func (a answer) barred(t *testing.T, status int, reason string) envelope {
	t.Helper()
	e := readEnvelope(t, a.body)
	if a.status != status || e.Reason != reason {
		t.Fatalf("%d %s: want %d %s", a.status, a.body, status, reason)
	}
	return e
}

const record = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"operator_record_action_intent","arguments":{"action":{"type":"spend","title":"Annual plan renewal","amount_cents":4900}}}}`

// lastRefusal is the newest line of the record that tells of a refusal: the tool
// and the reason.
func (h *house) lastRefusal(t *testing.T) string {
	t.Helper()
	var got struct {
		Result struct {
			StructuredContent struct {
				Audit []struct{ Act, Why string } `json:"audit"`
			} `json:"structuredContent"`
		} `json:"result"`
	}
	a := h.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"operator_state","arguments":{"limit":5}}}`)
	if err := json.Unmarshal(a.body, &got); err != nil {
		t.Fatal(err)
	}
	for _, row := range got.Result.StructuredContent.Audit {
		if row.Why != "" {
			return row.Act + "|" + row.Why
		}
	}
	return ""
}
