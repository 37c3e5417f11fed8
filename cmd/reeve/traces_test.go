package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// receiver is a collector of OpenTelemetry, as far as it takes spans over HTTP.
type receiver struct {
	url   string
	mu    sync.Mutex
	raw   bytes.Buffer // everything that was sent, as it came
	spans []*traces.Span
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var body io.Reader = req.Body
		if req.Header.Get("Content-Encoding") == "gzip" {
			body, _ = gzip.NewReader(req.Body)
		}
		raw, err := io.ReadAll(body)
		var sent collector.ExportTraceServiceRequest
		if err != nil || req.URL.Path != "/v1/traces" || proto.Unmarshal(raw, &sent) != nil {
			http.Error(w, "no spans", http.StatusBadRequest)
			return
		}
		r.take(raw, &sent)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

func (r *receiver) take(raw []byte, sent *collector.ExportTraceServiceRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.raw.Write(raw)
	for _, resource := range sent.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			r.spans = append(r.spans, scope.Spans...)
		}
	}
}

// named gives the spans of a name, and everything that was ever sent.
func (r *receiver) named(name string) (out []*traces.Span, raw string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.spans {
		if s.Name == name {
			out = append(out, s)
		}
	}
	return out, r.raw.String()
}

func attributes(s *traces.Span) map[string]any {
	out := map[string]any{}
	for _, a := range s.Attributes {
		switch v := a.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			out[a.Key] = v.StringValue
		case *common.AnyValue_IntValue:
			out[a.Key] = v.IntValue
		case *common.AnyValue_BoolValue:
			out[a.Key] = v.BoolValue
		}
	}
	return out
}

func hexOf(b []byte) string {
	const digits = "0123456789abcdef"
	var out strings.Builder
	for _, c := range b {
		out.WriteByte(digits[c>>4])
		out.WriteByte(digits[c&15])
	}
	return out.String()
}

func TestACallIsASpanOfItsCallersTrace(t *testing.T) {
	to := newReceiver(t)
	p := newPlace(t, "sqlite").with("OTEL_EXPORTER_OTLP_ENDPOINT="+to.url, "OTEL_BSP_SCHEDULE_DELAY=50")
	s := p.serve(t)
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	from := map[string]string{"Traceparent": "00-" + trace + "-" + parent + "-01", "Tracestate": "vendor=" + s.agent[9:40], "Baggage": "k=" + s.agent[9:40]}
	_, body := s.sendWith(t, "POST", "/v1/intents", s.agent, `{"action":`+renewal+`}`, from)
	var in intent
	decode(t, body, &in)
	s.record(t, renewal)
	s.send(t, "POST", "/v1/intents/"+number(in.ID)+"/approve", s.agent, `{"digest":"`+in.Digest+`"}`)
	s.send(t, "POST", "/v1/intents/"+number(in.ID)+"/approve", s.person, `{"digest":"`+in.Digest+`"}`)
	s.signal(t, syscall.SIGTERM)
	if code := s.ended(t, 15*time.Second); code != 0 {
		t.Fatalf("exit %d\n%s", code, s.err)
	}
	spans, raw := to.named("rest operator_record_action_intent")
	if len(spans) != 1 || hexOf(spans[0].TraceId) != trace || hexOf(spans[0].ParentSpanId) != parent {
		t.Fatalf("it is not in the caller's trace: %v", spans)
	}
	got := attributes(spans[0])
	for name, want := range map[string]any{"reeve.face": "rest", "reeve.action": "operator_record_action_intent", "reeve.verdict": "done",
		"reeve.intent_id": in.ID, "http.response.status_code": int64(201), "http.request.method": "POST"} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if spans[0].TraceState != "" {
		t.Errorf("it repeats the caller's tracestate: %s", spans[0].TraceState)
	}
	if over, _ := to.named("mcp operator_record_action_intent"); len(over) != 1 {
		t.Errorf("%d spans of the call over MCP", len(over))
	}
	approvals, _ := to.named("rest approve_intent")
	if len(approvals) != 2 || attributes(approvals[0])["reeve.reason"] != "kind_not_allowed" || attributes(approvals[1])["reeve.intent_id"] != in.ID {
		t.Errorf("the approvals are %v", approvals)
	}
	for _, word := range []string{"renewal", "4900", "owner", in.Digest, s.agent[9:40], s.person[9:40], "/v1/intents"} {
		if strings.Contains(raw, word) {
			t.Errorf("what was sent holds %q", word)
		}
	}
}

func TestAWorkersRunIsASpan(t *testing.T) {
	to := newReceiver(t)
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	in := s.approve(t, s.personIn(t, p), renewal)
	p = p.with("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + to.url + "/v1/traces")
	p.ok(t, "work", "--once", "--handler", "spend=exec:cat >/dev/null; echo paid-with-words")
	spans, raw := to.named("work")
	if len(spans) != 1 {
		t.Fatalf("%d spans", len(spans))
	}
	got := attributes(spans[0])
	if got["reeve.intent_id"] != in.ID || got["reeve.result"] != "succeeded" || got["reeve.action_type"] != "spend" {
		t.Errorf("it says %v", got)
	}
	for _, word := range []string{"renewal", "paid-with-words"} {
		if strings.Contains(raw, word) {
			t.Errorf("what was sent holds %q", word)
		}
	}
}

func TestACollectorThatIsGoneHoldsNobodyUp(t *testing.T) {
	p := newPlace(t, "sqlite").with("OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_BSP_SCHEDULE_DELAY=20")
	s := p.serve(t)
	s.record(t, renewal)
	eventually(t, "the log says so", func() bool { return strings.Contains(s.err.String(), "traces could not be sent") })
	s.record(t, renewal)
	s.signal(t, syscall.SIGTERM)
	if code := s.ended(t, 15*time.Second); code != 0 {
		t.Errorf("exit %d\n%s", code, s.err)
	}
	p.with("OTEL_EXPORTER_OTLP_PROTOCOL=grpc").run(t, "serve", "--listen", "127.0.0.1:0").refused(t, 2, "there is http/protobuf")
}
