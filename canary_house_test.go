package reeve

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/internal/metrics"
	"github.com/reeve-go/reeve/internal/tracing"
	"github.com/reeve-go/reeve/mcpadapter"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
	"github.com/reeve-go/reeve/restadapter"
)

// canary is a credential that is planted somewhere, and the part of it that tells it
// from every other.
type canary struct{ name, text, mark string }

// canaries are one of ours of each kind, and one of each form that the redactor
// knows. They are put together here, so that no scanner takes this file for a leak.
func canaries(t *testing.T) []canary {
	t.Helper()
	var out []canary
	add := func(name string, form func(mark string) string) {
		sum := sha256.Sum256([]byte(name))
		mark := base32.StdEncoding.EncodeToString(sum[:])[:16]
		mixed := strings.ToLower(mark[:8]) + mark[8:] // no form wants one case alone, but AWS
		if name == "aws" {
			mixed = mark
		}
		c := canary{name, form(mixed), mixed[4:]}
		if !strings.Contains(c.text, c.mark) || len(gate.FindSecrets(c.text)) == 0 {
			t.Fatalf("the redactor does not know the canary %s: %s", name, c.text)
		}
		out = append(out, c)
	}
	pad := func(prefix string, n int) func(string) string {
		return func(m string) string { return prefix + strings.Repeat("aB3d", n)[:n-len(m)] + m }
	}
	for _, kind := range []string{"human", "agent", "worker", "channel"} {
		add(kind, pad("rv_"+kind+"_", 43))
	}
	add("aws", func(m string) string { return "AKIA" + m })
	add("google", pad("AIza", 35))
	add("github", pad("ghp_", 36))
	add("gitlab", pad("glpat-", 20))
	add("slack", func(m string) string { return "xoxb-123456789012-" + m })
	add("stripe", pad("sk_live_", 24))
	add("openai", pad("sk-proj-", 48))
	add("anthropic", pad("sk-ant-api03-", 48))
	add("npm", pad("npm_", 36))
	add("pypi", pad("pypi-", 60))
	add("sendgrid", func(m string) string {
		return "SG." + strings.Repeat("aB3d_", 4) + "aa." + strings.Repeat("aB3d-", 5) + "xx" + m
	})
	add("huggingface", pad("hf_", 34))
	add("telegram", pad("123456789:", 35))
	add("jwt", func(m string) string { return "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0." + m + "aB3_aB3_" })
	add("authorization", func(m string) string { return "Bearer " + m + "aB3_aB3_" })
	add("url-password", func(m string) string { return "postgres://ada:" + m + "@db.example/x" })
	add("private-key", func(m string) string {
		return "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIE" + m + "\n-----END RSA " + "PRIVATE KEY-----"
	})
	return out
}

// paper is text that the server writes while the test reads.
type paper struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *paper) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// mine is a served Operator in which everything that is written is looked at.
type mine struct {
	*operatortest.World
	t        *testing.T
	schedule *powers.Schedule
	url      string
	log      *paper
	metrics  *metrics.Metrics
	spans    *paper // what was sent to a collector of traces
	tracing  *tracing.Tracing
	canaries []canary
	tokens   map[operator.Kind]string
	answers  int
}

// faulty is a clock that panics, with words of its own, when it is told to.
type faulty struct {
	*operatortest.Clock
	mu    sync.Mutex
	with  any
	after int // how many times it still tells the time before
}

func (f *faulty) panics(after int, with any) {
	f.mu.Lock()
	f.with, f.after = with, after
	f.mu.Unlock()
}

func (f *faulty) Now() time.Time {
	f.mu.Lock()
	with := f.with
	if f.after > 0 {
		f.after--
		with = nil
	}
	f.mu.Unlock()
	if with != nil {
		panic(with)
	}
	return f.Clock.Now()
}

func newMine(t *testing.T, store string) (*mine, *faulty) {
	t.Helper()
	clock := &faulty{Clock: operatortest.NewClock(operatortest.Start)}
	m := &mine{t: t, log: &paper{}, spans: &paper{}, metrics: metrics.New("dev"), canaries: canaries(t), tokens: map[operator.Kind]string{}}
	logger := slog.New(slog.NewJSONHandler(m.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	m.World = operatortest.New(t, store, &operator.Options{Logger: logger, Clock: clock, Moved: m.metrics.Moved, AuditKey: filepath.Join(t.TempDir(), "audit.key")})
	var err error
	if m.schedule, err = powers.NewLimited(m.Operator, powers.Limits{}); err != nil {
		t.Fatal(err)
	}
	m.metrics.Watch(m.Operator, nil)
	m.trace()
	m.schedule = m.schedule.WithObserver(func(ctx context.Context, o powers.Observed) {
		m.metrics.Call(ctx, o)
		m.tracing.Call(ctx, o)
	})
	mcp, err := mcpadapter.New(m.schedule, &mcpadapter.Options{Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	rest, err := restadapter.New(m.schedule, &restadapter.Options{Logger: logger, Metrics: m.metrics.Text})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp)
	mux.Handle("/", rest)
	face := func(*http.Request) string { return "any" }
	server := httptest.NewUnstartedServer(m.tracing.Handler(face, m.metrics.Requests(face, mux)))
	server.Config.ErrorLog = slog.NewLogLogger(logger.Handler(), slog.LevelWarn)
	server.Start()
	t.Cleanup(server.Close)
	m.url = server.URL
	for _, kind := range []operator.Kind{operator.KindHuman, operator.KindAgent, operator.KindWorker, operator.KindChannel} {
		in := operator.NewCredential{Kind: kind, Name: "sweep", Scopes: operator.Scopes()}
		if kind == operator.KindHuman {
			in.Person = "owner"
		}
		m.tokens[kind] = m.Mint(t, in).Token
	}
	return m, clock
}

// trace has spans sent to a collector that keeps them.
func (m *mine) trace() {
	m.t.Helper()
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(m.spans, r.Body) }))
	m.t.Cleanup(collector.Close)
	m.t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	var err error
	if m.tracing, err = tracing.New(m.t.Context(), "dev"); err != nil {
		m.t.Fatal(err)
	}
}

// sent is a request with a canary in it.
type sent struct {
	where              string // for the message of a failure
	method, path, body string
	as                 operator.Kind
	headers            map[string]string
	// given says that the answer gives back what it was given: an id of JSON-RPC, or
	// the payload of an intent that was recorded.
	given bool
}

// send sends it, and looks at everything that comes back.
func (m *mine) send(s sent, planted canary) {
	m.t.Helper()
	r, err := http.NewRequestWithContext(m.t.Context(), s.method, m.url+s.path, strings.NewReader(s.body))
	if err != nil {
		return // it is no address; no server will ever see it
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+m.tokens[s.as])
	for name, value := range s.headers {
		value = strings.ReplaceAll(value, "\n", " ") // a header is one line
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header[name] = []string{value}
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return // the client itself would not send it
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		m.t.Fatal(err)
	}
	m.answers++
	text := fmt.Sprint(res.Header)
	if !s.given || res.StatusCode >= 400 {
		text += string(raw)
	}
	m.holdsNone(s.where+" of "+s.method+" "+s.path, text, planted)
}

// holdsNone fails where a text holds what was planted, or a live credential.
func (m *mine) holdsNone(where, text string, planted ...canary) {
	m.t.Helper()
	for _, c := range planted {
		if strings.Contains(text, c.mark) {
			m.t.Errorf("%s: the %s comes back: %.600s", where, c.name, text)
		}
	}
	for kind, token := range m.tokens {
		if strings.Contains(text, token[len(token)-20:]) {
			m.t.Errorf("%s: the live credential of the %s comes back: %.600s", where, kind, text)
		}
	}
}
