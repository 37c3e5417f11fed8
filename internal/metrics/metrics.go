package metrics

import (
	"bytes"
	"context"
	"net/http"
	"runtime"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

// Metrics are the figures of one process, in a registry of their own.
type Metrics struct {
	registry *prometheus.Registry
	calls    *prometheus.CounterVec
	took     *prometheus.HistogramVec
	requests *prometheus.CounterVec
	moves    *prometheus.CounterVec
	notices  *prometheus.CounterVec
	store    *store
}

// durations are the bounds of the histogram, in seconds: from what a look takes to the
// minute that a caller may wait for a person.
var durations = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

// New makes the metrics of a server of this version.
func New(version string) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		calls:    counter("reeve_calls_total", "Calls that were answered.", "face", "action", "verdict", "reason"),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "reeve_call_duration_seconds", Buckets: durations,
			Help: "How long calls took to be answered, waiting for a person included."}, []string{"face", "action"}),
		requests: counter("reeve_http_requests_total", "HTTP requests that were answered.", "face", "code"),
		moves:    counter("reeve_intent_transitions_total", "Moves of intents from one status to another that this process committed; from is none where one was recorded.", "from", "to"),
		notices:  counter("reeve_notice_deliveries_total", "Attempts to deliver a notice.", "result"),
		store:    &store{every: lookEvery},
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "reeve_build_info", Help: "1, with the version of this program and of Go.",
		ConstLabels: prometheus.Labels{"version": version, "go_version": runtime.Version()}})
	build.Set(1)
	m.registry.MustRegister(m.calls, m.took, m.requests, m.moves, m.notices, build, m.store,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, result := range []string{delivered, failed} {
		m.notices.WithLabelValues(result)
	}
	return m
}

// Watch has the metrics look at a database, and at the connections of a server. It is
// called once, before the first scrape; connections may be nil.
func (m *Metrics) Watch(op *operator.Operator, connections func() int) {
	m.store.op.Store(op)
	if connections != nil {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "reeve_http_connections", Help: "Connections that are open."},
			func() float64 { return float64(connections()) }))
	}
}

// Call counts a call. It is an observer of the schedule.
func (m *Metrics) Call(_ context.Context, o powers.Observed) {
	m.calls.WithLabelValues(string(o.Face), o.Action, o.Verdict, string(o.Reason)).Inc()
	if o.Took == 0 {
		return // it was refused before anybody looked at the time
	}
	m.took.WithLabelValues(string(o.Face), o.Action).Observe(o.Took.Seconds())
}

// Moved counts a move of an intent, as operator.Options has it.
func (m *Metrics) Moved(from, to operator.Status) {
	if from == "" {
		from = "none"
	}
	m.moves.WithLabelValues(string(from), string(to)).Inc()
}

const (
	delivered = "delivered"
	failed    = "failed"
)

// Notices counts what a relay delivers.
func (m *Metrics) Notices(deliver func(context.Context, operator.Notice) error) func(context.Context, operator.Notice) error {
	return func(ctx context.Context, n operator.Notice) error {
		err := deliver(ctx, n)
		result := delivered
		if err != nil {
			result = failed
		}
		m.notices.WithLabelValues(result).Inc()
		return err
	}
}

// Requests counts what a handler answers, under a face that the path names.
func (m *Metrics) Requests(face func(*http.Request) string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		counted := &statusWriter{ResponseWriter: w}
		defer func() { m.requests.WithLabelValues(face(r), counted.code()).Inc() }()
		next.ServeHTTP(counted, r)
	})
}

// statusWriter remembers the status that was sent.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets an http.ResponseController find what is beneath.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush is for those who look for it by its name.
func (w *statusWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

func (w *statusWriter) code() string {
	if w.status == 0 {
		return "none" // it was cut off
	}
	return strconv.Itoa(w.status)
}

// MediaType is that of the text format of a scrape.
const MediaType = "text/plain; version=0.0.4; charset=utf-8"

// Handler answers a scrape of whoever asks: it is for a listener of its own.
func (m *Metrics) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := m.gathered()
		if err != nil {
			http.Error(w, "The figures could not be gathered.", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", MediaType)
		_, _ = w.Write(text) // who has left is not told
	})
}

// Text is a scrape as a text, for a server that has judged who asks. It is refused
// where the database has several accounts: the figures are those of all of them.
func (m *Metrics) Text(context.Context) ([]byte, error) {
	if m.store.look().Accounts > 1 {
		return nil, operator.Refuse(operator.ReasonNotFound, "These are the figures of several accounts, so no account's credential shows them; --metrics-listen does.")
	}
	return m.gathered()
}

func (m *Metrics) gathered() ([]byte, error) {
	families, err := m.registry.Gather()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(&out, family); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}
