package tracing

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

// Tracing makes spans and sends them. A nil one does nothing.
type Tracing struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// Configured says whether an environment asks for traces. An error says what it asks
// for that there is not.
func Configured(getenv func(string) string) (bool, error) {
	first := func(names ...string) string {
		for _, name := range names {
			if v := getenv(name); v != "" {
				return v
			}
		}
		return ""
	}
	endpoint := first("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
	if endpoint == "" || strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false, nil
	}
	if exporter := getenv("OTEL_TRACES_EXPORTER"); exporter != "" && exporter != "otlp" {
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER is %q: there is otlp, and none", exporter)
	}
	if protocol := first("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return false, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q: there is http/protobuf, as to port 4318 of a collector", protocol)
	}
	return true, nil
}

// New begins to send spans as the environment of this process says. It does not wait
// for the collector to be there.
func New(ctx context.Context, version string) (*Tracing, error) {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "reeve"), attribute.String("service.version", version)), resource.WithFromEnv())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err), exporter.Shutdown(ctx))
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return &Tracing{provider: provider, tracer: provider.Tracer("github.com/reeve-go/reeve", trace.WithInstrumentationVersion(version))}, nil
}

// Close sends what is left, for as long as ctx lasts.
func (t *Tracing) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// parent is where a request's trace was begun elsewhere, without what else its sender
// says of it.
func parent(ctx context.Context, h http.Header) context.Context {
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(h))
	sc := trace.SpanContextFromContext(ctx)
	if !sc.IsValid() {
		return ctx
	}
	return trace.ContextWithRemoteSpanContext(ctx, sc.WithTraceState(trace.TraceState{}))
}

var methods = map[string]string{http.MethodGet: "GET", http.MethodHead: "HEAD", http.MethodPost: "POST", http.MethodPut: "PUT",
	http.MethodPatch: "PATCH", http.MethodDelete: "DELETE", http.MethodOptions: "OPTIONS"}

// Handler makes a span of each request, under a face that the path names.
func (t *Tracing) Handler(face func(*http.Request) string, next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := methods[r.Method]
		if method == "" {
			method = "_OTHER" // the specification's word for what it does not know
		}
		ctx, span := t.tracer.Start(parent(r.Context(), r.Header), face(r), trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(attribute.String("http.request.method", method), attribute.String("reeve.face", face(r))))
		defer span.End()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// Call tells the span of a request what was called and answered. It is an observer of
// the schedule.
func (t *Tracing) Call(ctx context.Context, o powers.Observed) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	span.SetName(string(o.Face) + " " + o.Action)
	span.SetAttributes(attribute.String("reeve.action", o.Action), attribute.String("reeve.verdict", o.Verdict),
		attribute.String("reeve.reason", string(o.Reason)), attribute.Int("http.response.status_code", o.Status),
		attribute.String("reeve.request_id", o.RequestID), attribute.Bool("reeve.replayed", o.Replayed))
	if o.Intent != 0 {
		span.SetAttributes(attribute.Int64("reeve.intent_id", o.Intent))
	}
	if o.Verdict == "unavailable" {
		span.SetStatus(codes.Error, string(o.Reason))
	}
}

// Job makes a span of each job that a handler carries out.
func (t *Tracing) Job(run func(context.Context, operator.Job) (string, error)) func(context.Context, operator.Job) (string, error) {
	if t == nil {
		return run
	}
	return func(ctx context.Context, job operator.Job) (string, error) {
		ctx, span := t.tracer.Start(ctx, "work", trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
			attribute.Int64("reeve.intent_id", job.Intent.ID), attribute.String("reeve.action_type", job.Intent.ActionType)))
		defer span.End()
		outcome, err := run(ctx, job)
		result := "succeeded"
		switch {
		case errors.Is(err, operator.ErrOutcomeUnknown):
			result = "unknown"
		case err != nil:
			result = "failed"
		}
		span.SetAttributes(attribute.String("reeve.result", result))
		if err != nil {
			span.SetStatus(codes.Error, result) // and not the error's words
		}
		return outcome, err
	}
}
