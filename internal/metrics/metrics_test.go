package metrics_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"go.yaml.in/yaml/v4"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/internal/metrics"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

// used is the metrics of an Operator, each of which has a value.
func used(t *testing.T, store string) (*metrics.Metrics, *operatortest.World) {
	t.Helper()
	m := metrics.New("1.2.3")
	w := operatortest.New(t, store, &operator.Options{Moved: m.Moved})
	m.Watch(w.Operator, func() int { return 3 })
	schedule, err := powers.New(w.Operator)
	if err != nil {
		t.Fatal(err)
	}
	schedule = schedule.WithObserver(m.Call)
	c := powers.Caller{Principal: w.Agent, Face: powers.FaceLibrary}
	ctx := context.Background()
	for _, call := range [][2]string{
		{"operator_record_action_intent", `{"action":{"type":"spend","title":"A","amount_cents":1}}`},
		{"operator_record_action_intent", `{"action":{"type":"note","title":"B"}}`},
		{"operator_record_action_intent", `{"action":{"type":"spend"}}`},
		{"operator_state", `{}`}, {"no_such_tool_rv_agent_x", `{}`},
	} {
		schedule.Call(ctx, c, call[0], []byte(call[1]))
	}
	handler := m.Requests(func(*http.Request) string { return "rest" }, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }))
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	return m, w
}

func scrape(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	if answer.Code != 200 || answer.Header().Get("Content-Type") != metrics.MediaType {
		t.Fatalf("%d %s", answer.Code, answer.Header())
	}
	return answer.Body.String()
}

func TestEveryMetricIsNamedByConvention(t *testing.T) {
	m, _ := used(t, "sqlite")
	problems, err := promlint.New(strings.NewReader(scrape(t, m))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestAScrapeCountsWhatHappened(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		m, w := used(t, store)
		in := w.Approved(t, operator.RecordIntentInput{Action: spend("C")})
		w.Record(t, operator.RecordIntentInput{Action: spend("D")})
		w.Clock.Advance(30 * time.Second)
		text := scrape(t, m)
		for _, line := range []string{
			`reeve_calls_total{action="operator_record_action_intent",face="library",reason="",verdict="done"} 2`,
			`reeve_calls_total{action="operator_record_action_intent",face="library",reason="missing_field",verdict="deny"} 1`,
			`reeve_calls_total{action="operator_state",face="library",reason="",verdict="done"} 1`,
			`reeve_calls_total{action="unknown",face="library",reason="unknown_tool",verdict="deny"} 1`,
			`reeve_call_duration_seconds_count{action="operator_record_action_intent",face="library"} 3`,
			`reeve_http_requests_total{code="204",face="rest"} 1`,
			`reeve_intent_transitions_total{from="none",to="pending_approval"} 3`,
			`reeve_intent_transitions_total{from="none",to="allowed"} 1`,
			`reeve_intent_transitions_total{from="pending_approval",to="approved"} 1`,
			`reeve_intents{status="pending_approval"} 2`, `reeve_intents{status="ready"} 2`, `reeve_intents{status="unknown"} 0`,
			`reeve_outbox_notices 3`, `reeve_outbox_oldest_age_seconds 30`, `reeve_audit_seal_lag_seconds 30`,
			`reeve_policy_info{version="` + in.PolicyVersion + `"} 1`, `reeve_store_up 1`, `reeve_frozen 0`, `reeve_http_connections 3`,
			`reeve_build_info{go_version="`, `go_sql_open_connections{db_name="write"} `, "process_cpu_seconds_total ", "go_goroutines ",
		} {
			if !strings.Contains(text, line) {
				t.Errorf("it does not say %s", line)
			}
		}
		if t.Failed() {
			t.Log(ours(text))
		}
	})
}

func TestTheFiguresOfSeveralAccountsAreShownToNoneOfThem(t *testing.T) {
	m, w := used(t, "sqlite")
	if _, err := m.Text(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.AddAccount(t.Context(), "other", "UTC", "USD"); err != nil {
		t.Fatal(err)
	}
	again := metrics.New("1.2.3")
	again.Watch(w.Operator, nil)
	if text, err := again.Text(t.Context()); err == nil {
		t.Errorf("they are shown: %.200s", text)
	}
	if !strings.Contains(scrape(t, again), "reeve_store_up 1") {
		t.Error("an address of their own does not show them")
	}
}

func TestADatabaseThatIsGoneIsTold(t *testing.T) {
	m := metrics.New("1.2.3")
	w := operatortest.New(t, "sqlite", nil)
	m.Watch(w.Operator, nil)
	w.Close()
	text := scrape(t, m)
	if !strings.Contains(text, "reeve_store_up 0") || strings.Contains(text, "reeve_intents{") {
		t.Errorf("it says\n%s", ours(text))
	}
}

func spend(title string) gate.Action {
	cents := gate.Cents(1)
	return gate.Action{Type: "spend", Title: title, AmountCents: &cents}
}

// ours are the lines that are not of the client library's own collectors.
func ours(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "reeve_") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}

var typeLine = regexp.MustCompile(`(?m)^# TYPE (reeve_\w+) (\w+)$`)

func TestThePageOnOperationListsEveryMetric(t *testing.T) {
	m, _ := used(t, "sqlite")
	page, err := os.ReadFile("../../docs/operation.md")
	if err != nil {
		t.Fatal(err)
	}
	var there, listed []string
	for _, found := range typeLine.FindAllStringSubmatch(scrape(t, m), -1) {
		there = append(there, found[1]+" "+found[2])
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `(reeve_\\w+)` \\| (counter|gauge|histogram) \\|").FindAllStringSubmatch(string(page), -1) {
		listed = append(listed, row[1]+" "+row[2])
	}
	slices.Sort(listed)
	if !slices.Equal(there, listed) {
		t.Errorf("docs/operation.md lists\n%s\nand there are\n%s", strings.Join(listed, "\n"), strings.Join(there, "\n"))
	}
}

// What the page shows to be pasted is YAML, and asks for metrics that there are.
func TestTheRulesOfThePageAskForMetricsThatThereAre(t *testing.T) {
	m, _ := used(t, "sqlite")
	there := scrape(t, m)
	page, err := os.ReadFile("../../docs/operation.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllStringSubmatch(string(page), -1)
	if len(found) < 2 {
		t.Fatal("the page shows no YAML")
	}
	for _, block := range found {
		var into map[string]any
		if err := yaml.Unmarshal([]byte(block[1]), &into); err != nil {
			t.Errorf("%v\n%s", err, block[1])
		}
		for _, name := range regexp.MustCompile(`reeve_\w+`).FindAllString(block[1], -1) {
			if !strings.Contains(there, "# TYPE "+name+" ") {
				t.Errorf("there is no %s", name)
			}
		}
	}
}
