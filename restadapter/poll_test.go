package restadapter

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator"
)

// later runs f once a request has had time to begin waiting. That it has cannot
// be seen from outside; were it late, the tests would still hold.
// done waits until f has returned, which may be after what it causes.
func later(f func()) (done func()) {
	ended := make(chan struct{})
	time.AfterFunc(200*time.Millisecond, func() { defer close(ended); f() })
	return func() { <-ended }
}

func TestALongPollEndsWithAPersonsAct(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		in := h.record(renewal)
		defer later(func() { h.as(operator.KindHuman, "POST", act(in.ID, "approve"), digest(in)) })()
		start := time.Now()
		var now intent
		h.as(operator.KindAgent, "GET", fmt.Sprintf("/v1/intents/%d?wait=30", in.ID), "").is(t, 200, &now)
		if now.Status != "approved" || time.Since(start) > 10*time.Second {
			t.Errorf("%s after %s", now.Status, time.Since(start))
		}
	})
}

func TestALongPollEndsWithItsTimeAndWithWhatStands(t *testing.T) {
	// Each deadline is far shorter than the wait, and none of them may cut it.
	h := newHouse(t, "sqlite", &Options{BodyTimeout: 50 * time.Millisecond, WriteTimeout: 50 * time.Millisecond})
	in, wait := h.record(renewal), HeaderTimeout+time.Second
	if testing.Short() {
		wait = time.Second
	}
	start := time.Now()
	var now intent
	h.as(operator.KindAgent, "GET", fmt.Sprintf("/v1/intents/%d?wait=%d", in.ID, wait/time.Second), "").is(t, 200, &now)
	if took := time.Since(start); now.Status != "pending_approval" || took < wait-100*time.Millisecond {
		t.Errorf("%s after %s", now.Status, took)
	}
	h.as(operator.KindAgent, "GET", fmt.Sprintf("/v1/intents/%d?wait=61", in.ID), "").refused(t, 400, "invalid_value")
}

func TestALongPollEndsWithTheServer(t *testing.T) {
	h := newHouse(t, "sqlite", nil)
	in := h.record(renewal)
	handler, err := New(h.schedule, nil)
	if err != nil {
		t.Fatal(err)
	}
	server := Server("", handler)
	server.RegisterOnShutdown(h.world.StopWaiting)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	stopped := make(chan error, 1)
	later(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		stopped <- server.Shutdown(ctx)
	})
	start := time.Now()
	var now intent
	send(t, h.tokens[operator.KindAgent], "GET", fmt.Sprintf("http://%s/v1/intents/%d?wait=30", l.Addr(), in.ID), strings.NewReader("")).is(t, 200, &now)
	if now.Status != "pending_approval" || time.Since(start) > 5*time.Second {
		t.Errorf("%s after %s", now.Status, time.Since(start))
	}
	if err := <-stopped; err != nil {
		t.Errorf("the server was not drained: %v", err)
	}
	if err := <-served; err != http.ErrServerClosed {
		t.Error(err)
	}
}

func TestACallerWhoLeavesALongPollLeavesNothing(t *testing.T) {
	h := newHouse(t, "sqlite", nil)
	in, w := h.record(renewal), watch(t, h.world)
	tables, rows := w.snapshot(), w.audits()
	ctx, leave := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer leave()
	r, err := http.NewRequestWithContext(ctx, "GET", fmt.Sprintf("%s/v1/intents/%d?wait=30", h.url, in.ID), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+h.tokens[operator.KindAgent])
	if res, err := http.DefaultClient.Do(r); err == nil {
		res.Body.Close()
		t.Fatal("answered, though nothing happened")
	}
	time.Sleep(500 * time.Millisecond)
	if now := w.snapshot(); fmt.Sprint(now) != fmt.Sprint(tables) || w.audits() != rows {
		t.Error("a caller who left is in the record")
	}
}
