package restadapter

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

// house is a served Operator on a real database, with a caller of each kind who
// has every scope there is.
type house struct {
	t        *testing.T
	world    *operatortest.World
	schedule *powers.Schedule
	url      string
	tokens   map[operator.Kind]string
	minted   int
}

func newHouse(t *testing.T, store string, opts *Options) *house {
	t.Helper()
	return newHouseOf(t, store, opts, nil)
}

func newHouseOf(t *testing.T, store string, opts *Options, op *operator.Options) *house {
	t.Helper()
	w := operatortest.New(t, store, op)
	s, err := powers.New(w.Operator)
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, world: w, schedule: s, tokens: map[operator.Kind]string{
		operator.KindAgent: w.First.Agent.Token,
		operator.KindHuman: w.First.Person.Token,
	}}
	for _, k := range []operator.Kind{operator.KindWorker, operator.KindChannel} {
		h.tokens[k] = w.Mint(t, operator.NewCredential{Kind: k, Name: "everything", Scopes: operator.Scopes()}).Token
	}
	handler, err := New(s, opts)
	if err != nil {
		t.Fatal(err)
	}
	h.url = serve(t, handler)
	return h
}

// serve runs a handler on the server that the package recommends.
func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := Server("", handler)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(l) }() // ends at Close
	t.Cleanup(func() { _ = server.Close() })
	return "http://" + l.Addr().String()
}

// eachHouse runs f on both databases.
func eachHouse(t *testing.T, f func(*testing.T, *house)) {
	t.Helper()
	operatortest.EachStore(t, func(t *testing.T, store string) { f(t, newHouse(t, store, nil)) })
}

// reply is what came back.
type reply struct {
	status int
	header http.Header
	body   []byte
	closes bool // the connection with it
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

func host(name string) change { return func(r *http.Request) { r.Host = name } }

// call sends a request as somebody, whose token may be empty.
func (h *house) call(token, method, path, body string, changes ...change) reply {
	h.t.Helper()
	return send(h.t, token, method, h.url+path, strings.NewReader(body), changes...)
}

func (h *house) as(k operator.Kind, method, path, body string, changes ...change) reply {
	h.t.Helper()
	return h.call(h.tokens[k], method, path, body, changes...)
}

func send(t *testing.T, token, method, url string, body io.Reader, changes ...change) reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if b, ok := body.(*strings.Reader); ok && b.Len() == 0 {
		body = nil
	}
	r, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
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
	return reply{res.StatusCode, res.Header, raw, res.Close}
}

// envelope is a refusal, as far as tests look at one.
type envelope struct {
	OK       *bool  `json:"ok"`
	Verdict  string `json:"verdict"`
	Reason   string `json:"reason"`
	Action   string `json:"action"`
	Layer    string `json:"layer"`
	Repeat   int    `json:"repeat"`
	Message  string `json:"message"`
	Recovery []any  `json:"recovery"`
	Error    struct {
		Code    string         `json:"code"`
		Details map[string]any `json:"details"`
	} `json:"error"`
}

func readEnvelope(t *testing.T, raw []byte) envelope {
	t.Helper()
	var e envelope
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Fatalf("%s: not an envelope: %v", raw, err)
	}
	if e.OK == nil || *e.OK || e.Verdict == "" || e.Reason == "" || e.Action == "" || e.Message == "" || e.Recovery == nil {
		t.Fatalf("%s: not a whole envelope", raw)
	}
	return e
}

// refused demands a refusal of that status and reason, said as every refusal is.
func (r reply) refused(t *testing.T, status int, reason operator.Reason) envelope {
	t.Helper()
	e := readEnvelope(t, r.body)
	if r.status != status || e.Reason != string(reason) {
		t.Fatalf("answered %d %s, want %d %s: %s", r.status, e.Reason, status, reason, r.body)
	}
	for name, want := range map[string]string{"Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"} {
		if got := r.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if r.header.Get("X-Request-Id") == "" {
		t.Error("the answer does not name its request")
	}
	return e
}

// intent is an intent as it is answered, as far as tests look at one.
type intent struct {
	ID                 int64    `json:"id"`
	Status             string   `json:"status"`
	PolicyDecision     string   `json:"policy_decision"`
	PolicyReasons      []string `json:"policy_reasons"`
	ApprovalDecisionID *int64   `json:"approval_decision_id"`
	Key                string   `json:"idempotency_key"`
	Digest             string   `json:"digest"`
	Affordances        []string `json:"affordances"`
	Created            bool     `json:"created"`
	DecidedBy          string   `json:"decided_by"`
	Outcome            string   `json:"outcome"`
}

// is reads a success of that status into out.
func (r reply) is(t *testing.T, status int, out any) {
	t.Helper()
	if r.status != status {
		t.Fatalf("answered %d, want %d: %s", r.status, status, r.body)
	}
	if err := json.Unmarshal(r.body, out); err != nil {
		t.Fatalf("%s: %v", r.body, err)
	}
}

const renewal = `{"action":{"type":"spend","title":"Annual plan renewal","amount_cents":4900}}`

// record records the renewal, or whatever body holds, as the agent.
func (h *house) record(body string) intent {
	h.t.Helper()
	var in intent
	h.as(operator.KindAgent, "POST", "/v1/intents", body).is(h.t, http.StatusCreated, &in)
	return in
}

// faked is a real schedule of which a part is broken.
type faked struct {
	*powers.Schedule
	call   func()
	refuse func()
}

func (f *faked) CallRoute(ctx context.Context, c powers.Caller, tool string, route *powers.Route, raw []byte) powers.Answer {
	if f.call != nil {
		f.call()
	}
	return f.Schedule.CallRoute(ctx, c, tool, route, raw)
}

func (f *faked) Refuse(ctx context.Context, c powers.Caller, action string, err error) powers.Answer {
	if f.refuse != nil {
		f.refuse()
	}
	return f.Schedule.Refuse(ctx, c, action, err)
}

// lines is a log that a test reads while the server may still write to it.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
