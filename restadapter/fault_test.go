package restadapter

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

// trap is a clock that panics when a handler asks it, once it is armed.
type trap struct {
	operator.Clock
	armed atomic.Bool
}

func (c *trap) Now() time.Time {
	if c.armed.Load() && bytes.Contains(debug.Stack(), []byte(".RecordIntent(")) {
		panic("boom: rv_agent_secret")
	}
	return c.Clock.Now()
}

// A transaction that was left open would be noticed: SQLite has one writer.
func TestAHandlerThatPanicsIsAnsweredAndItsTransactionRolledBack(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		clock := &trap{Clock: operatortest.NewClock(operatortest.Start)}
		h := newHouseOf(t, store, nil, &operator.Options{Clock: clock})
		clock.armed.Store(true)
		for range 20 { // more often than there are connections
			watch(t, h.world).onlyRefused(t, func() {
				r := h.as(operator.KindAgent, "POST", "/v1/intents", renewal)
				if r.refused(t, 503, "internal_error"); r.header.Get("Retry-After") == "" || strings.Contains(string(r.body), "boom") {
					t.Errorf("%v %s", r.header, r.body)
				}
			})
		}
		clock.armed.Store(false)
		h.record(renewal)
	})
}

// broken serves a schedule that is broken as f says, and logs to the buffer.
func broken(t *testing.T, f func(*faked)) (*house, string, *lines) {
	t.Helper()
	h := newHouse(t, "sqlite", nil)
	var log lines
	s := &faked{Schedule: h.schedule}
	f(s)
	a, err := newAdapter(s, &Options{Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return h, serve(t, a), &log
}

func boom() { panic("boom: rv_agent_secret") }

func TestAPanicOfTheAdapterIsAnsweredAndLoggedWithoutItsWords(t *testing.T) {
	for name, f := range map[string]func(*faked){
		"in a call":                    func(f *faked) { f.call = boom },
		"in a call and in the refusal": func(f *faked) { f.call, f.refuse = boom, boom },
		"of the runtime": func(f *faked) {
			f.call = func() { count := func(m map[string]int) { m["rv_agent_secret"]++ }; count(nil) }
		},
		"of a value that is no message": func(f *faked) { f.call = func() { panic(errors.New("rv_agent_secret")) } },
	} {
		t.Run(name, func(t *testing.T) {
			h, url, log := broken(t, f)
			for range 2 {
				r := send(t, h.tokens[operator.KindAgent], "GET", url+"/v1/state", strings.NewReader(""))
				r.refused(t, 503, "internal_error")
				if r.header.Get("Retry-After") != "2" || strings.Contains(string(r.body), "secret") {
					t.Errorf("%v %s", r.header, r.body)
				}
			}
			settle()
			if got := log.String(); !strings.Contains(got, "a panic while answering") || strings.Contains(got, "rv_agent_secret") {
				t.Errorf("logged: %s", got)
			}
		})
	}
}

func TestTheConstantEnvelopeIsTheOneOfTheSchedule(t *testing.T) {
	h := newHouse(t, "sqlite", nil)
	a, err := newAdapter(h.schedule, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(context.Background(), "GET", "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	x := &exchange{a: a, r: r, action: actionNone}
	if got := string(x.broken().JSON); got != brokenEnvelope {
		t.Errorf("the schedule says\n%s\nand the constant\n%s", got, brokenEnvelope)
	}
}

func TestAnAbortedRequestIsNotAnswered(t *testing.T) {
	h, url, _ := broken(t, func(f *faked) { f.call = func() { panic(http.ErrAbortHandler) } })
	r, err := http.NewRequestWithContext(t.Context(), "GET", url+"/v1/state", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+h.tokens[operator.KindAgent])
	if res, err := http.DefaultClient.Do(r); err == nil {
		res.Body.Close()
		t.Errorf("answered %d", res.StatusCode)
	}
}

// settle waits for the server to log a request that it has answered already.
func settle() { time.Sleep(50 * time.Millisecond) }

func TestTheAccessLogHasTheRouteAndNoSecret(t *testing.T) {
	var log lines
	h := newHouse(t, "sqlite", &Options{Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	id := h.as(operator.KindAgent, "GET", "/v1/intents/77?wait=0&cursor=hush", "").header.Get("X-Request-Id")
	h.as(operator.KindAgent, "POST", "/v1/intents", `{"action":{"type":"note","title":"hush"}}`)
	h.call("rv_agent_hush", "GET", "/v1/hush?token=hush", "", header("Cookie", "hush"), header("User-Agent", "hush"))
	h.call("", "GET", "/hush", "")
	h.as(operator.KindAgent, "HUSH", "/v1/state", "")
	h.call("", "GET", "/healthz", "")
	settle()
	got := log.String()
	for _, want := range []string{`"level":"INFO"`, `"method":"GET"`, `"route":"/v1/intents/{id}"`, `"status":404`, `"duration":`, `"principal":"agent:agent"`,
		`"request_id":"` + id + `"`, `"route":"none"`, `"method":"other"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in the log:\n%s", want, got)
		}
	}
	for _, secret := range []string{"hush", "HUSH", "/v1/intents/77", "Bearer", h.tokens[operator.KindAgent]} {
		if strings.Contains(got, secret) {
			t.Errorf("%s is in the log:\n%s", secret, got)
		}
	}
	if lines := strings.Count(got, "\n"); lines != 5 {
		t.Errorf("%d lines, want one for each request that is no probe:\n%s", lines, got)
	}
}

func TestTheProbesAreOpenAndTellOfTheDatabase(t *testing.T) {
	var failing atomic.Bool
	var log lines
	h := newHouse(t, "sqlite", &Options{Logger: slog.New(slog.NewJSONHandler(&log, nil)), Ready: func(ctx context.Context) error {
		if _, limited := ctx.Deadline(); !limited {
			t.Error("the probe may wait for ever")
		}
		if failing.Load() {
			return errors.New("dial postgres://hush")
		}
		return nil
	}})
	probe := func(path string, status int, body string, changes ...change) {
		t.Helper()
		r := h.call("", "GET", path, "", changes...)
		if r.status != status || string(r.body) != body || r.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s, want %d %s", path, r.status, r.body, status, body)
		}
	}
	probe("/healthz", 200, `{"status":"ok"}`)
	probe("/readyz", 200, `{"status":"ready"}`)
	probe("/readyz", 200, `{"status":"ready"}`, host("10.0.0.7:3401")) // as a cluster's probe calls
	failing.Store(true)
	probe("/healthz", 200, `{"status":"ok"}`)
	probe("/readyz", 503, `{"status":"unavailable"}`)
	h.call("", "POST", "/healthz", "").refused(t, 405, "method_not_allowed")
	settle()
	if !strings.Contains(log.String(), "not ready") {
		t.Error("why it is not ready is not in the log")
	}
}

func TestReadyFollowsTheDatabase(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		handler, err := New(h.schedule, &Options{Ready: h.world.Ping})
		if err != nil {
			t.Fatal(err)
		}
		url := serve(t, handler)
		if r := send(t, "", "GET", url+"/readyz", strings.NewReader("")); r.status != 200 {
			t.Errorf("%d %s", r.status, r.body)
		}
		if err := h.world.Close(); err != nil {
			t.Fatal(err)
		}
		if r := send(t, "", "GET", url+"/readyz", strings.NewReader("")); r.status != 503 {
			t.Errorf("%d %s", r.status, r.body)
		}
		send(t, h.tokens[operator.KindAgent], "GET", url+"/v1/state", strings.NewReader("")).refused(t, 503, "unavailable")
	})
}
