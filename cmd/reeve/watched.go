package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/internal/metrics"
	"github.com/reeve-go/reeve/internal/tracing"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
	"github.com/reeve-go/reeve/restadapter"
)

// watched is how a server is looked at from outside: its metrics, its traces, and
// whether it is ready.
type watched struct {
	metrics  *metrics.Metrics
	tracing  *tracing.Tracing // nil: off
	listener net.Listener     // for the metrics alone; nil: none
	log      *slog.Logger
	draining atomic.Bool
}

// watch takes the address of the metrics, and begins to trace where that is asked for.
func (s *serveCmd) watch(ctx context.Context, log *slog.Logger) (*watched, error) {
	w := &watched{metrics: metrics.New(versionText()), log: log}
	var err error
	if w.tracing, err = traced(ctx, log); err != nil {
		return nil, err
	}
	if s.Metrics == "" {
		return w, nil
	}
	if w.listener, err = occupy("--metrics-listen", s.Metrics); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// traced begins to trace, where the environment asks for it.
func traced(ctx context.Context, log *slog.Logger) (*tracing.Tracing, error) {
	on, err := tracing.Configured(os.Getenv)
	if err != nil {
		return nil, usagef("%s", err)
	}
	if !on {
		return nil, nil
	}
	// The SDK has one place for what it cannot return to anybody, and it is global.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.Warn("traces could not be sent", "error", gate.Redact(err.Error()))
	}))
	return tracing.New(ctx, versionText())
}

// lastSpans is how long a stopping program may send the spans that are left.
const lastSpans = 3 * time.Second

func closeTracing(t *tracing.Tracing, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), lastSpans)
	defer cancel()
	if err := t.Close(ctx); err != nil {
		log.Warn("the last spans could not be sent", "error", gate.Redact(err.Error()))
	}
}

func (w *watched) close() {
	if w.listener != nil {
		_ = w.listener.Close() // closed before, where it was served
	}
	closeTracing(w.tracing, w.log)
}

// call is told of every call.
func (w *watched) call(ctx context.Context, o powers.Observed) {
	w.metrics.Call(ctx, o)
	if w.tracing != nil {
		w.tracing.Call(ctx, o)
	}
}

// around counts and traces what a handler answers.
func (w *watched) around(next http.Handler) http.Handler {
	return w.tracing.Handler(faceOf, w.metrics.Requests(faceOf, next))
}

// faceOf is the way in that a request's path names.
func faceOf(r *http.Request) string {
	switch r.URL.Path {
	case "/mcp":
		return string(powers.FaceMCP)
	case "/healthz", "/readyz":
		return "probe"
	case "/metrics":
		return "metrics"
	}
	return string(powers.FaceREST)
}

var errStopping = errors.New("the server is stopping")

// ready says whether new requests are welcome.
func (w *watched) ready(op *operator.Operator) func(context.Context) error {
	return func(ctx context.Context) error {
		if w.draining.Load() {
			return errStopping
		}
		return op.Ping(ctx)
	}
}

// serve answers scrapes at the address of their own until ctx ends.
func (w *watched) serve(ctx context.Context) error {
	if w.listener == nil {
		return nil
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", w.metrics.Handler())
	server := restadapter.Server("", mux)
	server.ErrorLog = slog.NewLogLogger(w.log.Handler(), slog.LevelWarn)
	server.WriteTimeout = time.Minute
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	bounded := restadapter.Connections{Total: 64}.Guard(server, w.listener)
	return served(server.Serve(bounded))
}

// sayMetrics tells where they are, loudly where others can reach them.
func (s *serveCmd) sayMetrics(c console, w *watched) {
	if w.listener == nil {
		return
	}
	fmt.Fprintf(c.out, "Metrics are at http://%s/metrics, for everybody who can reach that address.\n", w.listener.Addr())
	if !onLoopback(w.listener.Addr()) {
		fmt.Fprintf(c.out, "WARNING: %s can be reached from other machines, and asks for no credential.\n", w.listener.Addr())
	}
}
