package mcpadapter

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

// faked is a real schedule that fails, waits or answers as no real one does.
type faked struct {
	schedule
	answer  []byte                // instead of a call's answer
	call    func(context.Context) // runs within a call
	visible func()                // runs within a listing
	refuse  func()                // runs within a refusal

	calls atomic.Int64
	last  atomic.Pointer[lastCall]
}

type lastCall struct{ tool, raw, principal string }

func (f *faked) Call(ctx context.Context, c powers.Caller, tool string, raw []byte) powers.Answer {
	f.calls.Add(1)
	f.last.Store(&lastCall{tool: tool, raw: string(raw), principal: c.Principal.ID()})
	if f.call != nil {
		f.call(ctx)
	}
	if f.answer != nil {
		return powers.Answer{JSON: f.answer, OK: true, Status: http.StatusOK}
	}
	return f.schedule.Call(ctx, c, tool, raw)
}

func (f *faked) Visible(p operator.Principal, face powers.Face) []*powers.Tool {
	if f.visible != nil {
		f.visible()
	}
	return f.schedule.Visible(p, face)
}

func (f *faked) RefuseCall(ctx context.Context, c powers.Caller, action string, _ []byte, err error) powers.Answer {
	return f.Refuse(ctx, c, action, err)
}

func (f *faked) Refuse(ctx context.Context, c powers.Caller, action string, err error) powers.Answer {
	if f.refuse != nil {
		f.refuse()
	}
	return f.schedule.Refuse(ctx, c, action, err)
}

func boom() { panic("boom: rv_agent_secret") }

func TestAToolThatPanicsIsAnsweredAndTheProcessLives(t *testing.T) {
	s, agent, _, _ := openSchedule(t)
	var logged bytes.Buffer
	url := serve(t, &faked{schedule: s, call: func(context.Context) { boom() }}, &Options{Logger: slog.New(slog.NewJSONHandler(&logged, nil))})
	for _, version := range []string{"", "2025-11-25"} {
		a := send(t, url, agent, strings.NewReader(record), header("Mcp-Protocol-Version", version))
		if version == "" {
			a = send(t, url, agent, strings.NewReader(record))
		}
		e := a.refused(t, "1", "internal_error")
		if e.Verdict != "unavailable" {
			t.Errorf("verdict %q", e.Verdict)
		}
	}
	if !strings.Contains(logged.String(), "panic while answering") || strings.Contains(logged.String(), "rv_agent_secret") {
		t.Errorf("the log must tell of the panic without its words: %s", logged.String())
	}
}

func TestAPanicInTheNewerEraIsACompleteResult(t *testing.T) {
	s, agent, _, _ := openSchedule(t)
	url := serve(t, &faked{schedule: s, call: func(context.Context) { boom() }}, nil)
	a := send(t, url, agent, strings.NewReader(newer("tools/call", `"name":"operator_state"`)), newerHeaders("tools/call", "operator_state")...)
	a.refused(t, "1", "internal_error")
	if a.called(t).ResultType != "complete" {
		t.Errorf("%s", a.body)
	}
}

func TestAPanicInTheListingIsAnInternalError(t *testing.T) {
	s, agent, _, _ := openSchedule(t)
	url := serve(t, &faked{schedule: s, visible: boom}, nil)
	a := send(t, url, agent, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if r := a.rpc(t); r.Error == nil || r.Error.Code != -32603 || strings.Contains(string(a.body), "boom") {
		t.Errorf("%s", a.body)
	}
}

func TestAPanicWhileRefusingStillAnswersAnEnvelope(t *testing.T) {
	s, agent, _, _ := openSchedule(t)
	url := serve(t, &faked{schedule: s, refuse: boom}, nil)
	send(t, url, agent, strings.NewReader(`[]`)).failed(t, http.StatusBadRequest, -32600, "null", "internal_error")
	send(t, url, agent, strings.NewReader(record), host("evil.example")).barred(t, http.StatusServiceUnavailable, "internal_error")
}

func TestAPanicWhileAuthenticatingIsAnsweredWithAnEnvelope(t *testing.T) {
	s, agent, _, _ := openSchedule(t)
	url := serve(t, &unwell{s}, nil)
	send(t, url, agent, strings.NewReader(record)).failed(t, http.StatusInternalServerError, -32603, "null", "internal_error")
}

type unwell struct{ schedule }

func (*unwell) Authenticate(context.Context, powers.Presented) (powers.Caller, *powers.Answer) {
	panic("boom")
}

func TestAnAnswerThatIsNoJSONObjectIsReplacedAndNotHungOn(t *testing.T) {
	s, agent, _, _ := openSchedule(t)
	for _, bad := range []string{`{"a":`, `[1]`, `nonsense`, ` `} {
		url := serve(t, &faked{schedule: s, answer: []byte(bad)}, nil)
		send(t, url, agent, strings.NewReader(record)).refused(t, "1", "internal_error")
	}
}

// inMemory connects the official client to the server without the front, with
// whatever caller ctx has. So will a transport that is not HTTP.
func inMemory(t *testing.T, ctx context.Context, s schedule) (*mcp.ClientSession, error) {
	t.Helper()
	o, err := (*Options)(nil).settled()
	if err != nil {
		t.Fatal(err)
	}
	a, err := newAdapter(s, o)
	if err != nil {
		t.Fatal(err)
	}
	there, here := mcp.NewInMemoryTransports()
	session, err := a.server.Connect(ctx, there, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	client, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil).Connect(t.Context(), here, nil)
	if err == nil {
		t.Cleanup(func() { _ = client.Close() })
	}
	return client, err
}

func TestARequestThatCameInWithoutACallerIsRefused(t *testing.T) {
	s, _, _, _ := openSchedule(t)
	f := &faked{schedule: s}
	if _, err := inMemory(t, t.Context(), f); err == nil || !strings.Contains(err.Error(), "no caller") {
		t.Errorf("connected without a caller: %v", err)
	}
	if f.calls.Load() != 0 {
		t.Error("a call was carried out for nobody")
	}
}

func TestTheMiddlewareHoldsWithoutTheFront(t *testing.T) {
	s, agent, _, _ := openSchedule(t)
	caller, refused := s.Authenticate(t.Context(), powers.Presented{Authorization: []string{"Bearer " + agent}, Face: powers.FaceMCP})
	if refused != nil {
		t.Fatalf("%s", refused.JSON)
	}
	before := &powers.Answer{JSON: []byte(`{"ok": false}`), IsError: true}
	f := &faked{schedule: s}
	for name, in := range map[string]*inbound{
		"of an open caller":   {caller: caller, gone: t.Context(), tool: "operator_state", arguments: []byte(`{}`)},
		"of a refused caller": {caller: caller, gone: t.Context(), tool: "operator_state", arguments: []byte(`{}`), refused: before},
	} {
		t.Run(name, func(t *testing.T) {
			f.calls.Store(0)
			session, err := inMemory(t, withInbound(t.Context(), in), f)
			if err != nil {
				t.Fatal(err)
			}
			var notFound *jsonrpc.Error
			if _, err := session.ListPrompts(t.Context(), nil); !errors.As(err, &notFound) || notFound.Code != jsonrpc.CodeMethodNotFound {
				t.Errorf("prompts/list: %v", err)
			}
			if len(names(t, session)) == 0 {
				t.Error("nothing is listed")
			}
			res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "operator_state"})
			if err != nil {
				t.Fatal(err)
			}
			if wasRefused := in.refused != nil; res.IsError != wasRefused || (f.calls.Load() == 0) != wasRefused {
				t.Errorf("%+v after %d calls", res, f.calls.Load())
			}
		})
	}
}

func TestACallEndsWhenItsClientLeaves(t *testing.T) {
	for name, changes := range map[string][]change{
		"in the older era": {header("Mcp-Protocol-Version", "2025-11-25")},
		"in the newer era": newerHeaders("tools/call", "operator_state"),
		"as a stream":      {header("Accept", "application/json, text/event-stream")},
	} {
		t.Run(name, func(t *testing.T) {
			s, agent, _, _ := openSchedule(t)
			started, ended := make(chan struct{}), make(chan error, 1)
			url := serve(t, &faked{schedule: s, call: func(ctx context.Context) {
				close(started)
				select {
				case <-ctx.Done():
					ended <- ctx.Err()
				case <-time.After(10 * time.Second):
					ended <- nil
				}
			}}, nil)
			ctx, leave := context.WithCancel(t.Context())
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(newer("tools/call", `"name":"operator_state"`)))
			if err != nil {
				t.Fatal(err)
			}
			if name == "as a stream" {
				r.Body = io.NopCloser(strings.NewReader(record))
				r.ContentLength = int64(len(record))
			}
			if name == "in the older era" {
				r.Body = io.NopCloser(strings.NewReader(record))
				r.ContentLength = int64(len(record))
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer "+agent)
			for _, c := range changes {
				c(r)
			}
			go func() { <-started; leave() }()
			if res, err := http.DefaultClient.Do(r); err == nil {
				_, err = io.ReadAll(res.Body)
				res.Body.Close()
				if err == nil {
					t.Fatal("the client got an answer, though it left")
				}
			}
			if err := <-ended; err == nil {
				t.Error("the call went on after its client had left")
			}
		})
	}
}

func TestNoGoroutineIsLeftBehind(t *testing.T) {
	s, agent, _, _ := openSchedule(t)
	var wait atomic.Bool
	f := &faked{schedule: s, call: func(ctx context.Context) {
		if wait.Load() {
			<-ctx.Done()
		}
	}}
	handler, err := newHandler(f, &Options{BodyTimeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	round := func(body io.Reader, timeout time.Duration, changes ...change) {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		r, _ := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, body)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+agent)
		for _, c := range changes {
			c(r)
		}
		if res, err := client.Do(r); err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
	}
	everything := func() {
		wait.Store(false)
		round(strings.NewReader(record), time.Minute)
		round(strings.NewReader(record), time.Minute, header("Accept", "text/event-stream"))
		round(strings.NewReader(`[`), time.Minute)
		round(strings.NewReader(newer("tools/call", `"name":"operator_state"`)), time.Minute, newerHeaders("tools/call", "operator_state")...)
		round(strings.NewReader(record), time.Minute, host("evil.example"))
		pr, pw := io.Pipe()
		round(pr, time.Minute)
		pw.Close()
		wait.Store(true)
		round(strings.NewReader(record), 5*time.Millisecond)
	}
	everything()
	before := settledGoroutines()
	for range 20 {
		everything()
	}
	for range 100 {
		if settledGoroutines() <= before+2 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	buf := make([]byte, 1<<16)
	t.Fatalf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
}

func settledGoroutines() int {
	runtime.GC()
	time.Sleep(20 * time.Millisecond)
	return runtime.NumGoroutine()
}
