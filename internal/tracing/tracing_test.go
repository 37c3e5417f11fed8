package tracing_test

import (
	"testing"

	"github.com/reeve-go/reeve/internal/tracing"
)

func TestTheEnvironmentSaysWhetherThereAreTraces(t *testing.T) {
	const endpoint = "http://127.0.0.1:4318"
	for _, c := range []struct {
		name  string
		env   map[string]string
		on    bool
		fails bool
	}{
		{"nothing is set", nil, false, false},
		{"an endpoint", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}, true, false},
		{"an endpoint for traces alone", map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": endpoint + "/v1/traces"}, true, false},
		{"it is switched off", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_SDK_DISABLED": "true"}, false, false},
		{"no exporter", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_TRACES_EXPORTER": "none"}, false, false},
		{"an exporter that there is not", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_TRACES_EXPORTER": "zipkin"}, false, true},
		{"gRPC", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false, true},
		{"the protocol that there is", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			on, err := tracing.Configured(func(name string) string { return c.env[name] })
			if on != c.on || (err != nil) != c.fails {
				t.Errorf("%v, %v", on, err)
			}
		})
	}
}

func TestWhatIsOffDoesNothing(t *testing.T) {
	var off *tracing.Tracing
	if off.Handler(nil, nil) != nil {
		t.Error("it wraps a handler")
	}
	if off.Job(nil) != nil {
		t.Error("it wraps a job")
	}
	if err := off.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
