package metrics

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reeve-go/reeve/operator"
)

const (
	// lookEvery is how often the database is looked at, at most, however many scrape.
	lookEvery = 5 * time.Second
	// lookWithin bounds one look: a database that is busy must not hold up a scrape.
	lookWithin = 2 * time.Second
)

// store tells what a look at the database found.
type store struct {
	op    atomic.Pointer[operator.Operator]
	every time.Duration

	mu    sync.Mutex
	at    time.Time
	found operator.Backlog
	err   error
}

// look is the last look, or a new one where that is too long ago.
func (s *store) look() operator.Backlog {
	found, _ := s.lookUp()
	return found
}

func (s *store) lookUp() (operator.Backlog, error) {
	op := s.op.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	if op == nil || !s.at.IsZero() && time.Since(s.at) < s.every {
		return s.found, s.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookWithin)
	defer cancel()
	s.found, s.err = op.Backlog(ctx)
	s.at = time.Now()
	return s.found, s.err
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	upDesc     = desc("reeve_store_up", "1 where the last look at the database found it, else 0.")
	policyDesc = desc("reeve_policy_info", "1, with the version of the policy that holds.", "version")
	frozenDesc = desc("reeve_frozen", "1 where a freeze of an account or a project stands, else 0.")
	schemaDesc = desc("reeve_schema_version", "The migration that the database stands at.")
	intents    = desc("reeve_intents", "Intents in the database that are not settled, by status; counted up to 10,000 of each. ready: approved or allowed.", "status")
	parked     = desc("reeve_parked_calls", "Calls that wait for a person; counted up to 10,000.")
	outbox     = desc("reeve_outbox_notices", "Notices that are queued; counted up to 10,000.")
	outboxAge  = desc("reeve_outbox_oldest_age_seconds", "Age of the oldest notice that is queued, 0 where none is.")
	unsealed   = desc("reeve_audit_unsealed_rows", "Rows of the record without a seal; counted up to 10,000.")
	sealLag    = desc("reeve_audit_seal_lag_seconds", "Age of the oldest row of the record without a seal, 0 where there is none.")
)

// gauges are what a look that found the database tells.
var gauges = []struct {
	desc   *prometheus.Desc
	labels []string
	value  func(operator.Backlog) float64
}{
	{intents, []string{"pending_approval"}, func(b operator.Backlog) float64 { return float64(b.Pending) }},
	{intents, []string{"unknown"}, func(b operator.Backlog) float64 { return float64(b.Unknown) }},
	{intents, []string{"ready"}, func(b operator.Backlog) float64 { return float64(b.Ready) }},
	{intents, []string{"executing"}, func(b operator.Backlog) float64 { return float64(b.Executing) }},
	{parked, nil, func(b operator.Backlog) float64 { return float64(b.Parked) }},
	{outbox, nil, func(b operator.Backlog) float64 { return float64(b.Undelivered) }},
	{outboxAge, nil, func(b operator.Backlog) float64 { return b.NoticesSince.Seconds() }},
	{unsealed, nil, func(b operator.Backlog) float64 { return float64(b.Unsealed) }},
	{sealLag, nil, func(b operator.Backlog) float64 { return b.SealLag.Seconds() }},
	{schemaDesc, nil, func(b operator.Backlog) float64 { return float64(b.Schema) }},
	{frozenDesc, nil, func(b operator.Backlog) float64 { return truth(b.Frozen) }},
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Describe tells nothing beforehand: what there is depends on what is found.
func (s *store) Describe(chan<- *prometheus.Desc) {}

// Collect tells what the look found, and the pools' own figures.
func (s *store) Collect(out chan<- prometheus.Metric) {
	op := s.op.Load()
	if op == nil {
		return
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	found, err := s.lookUp()
	gauge(upDesc, truth(err == nil))
	if err == nil {
		gauge(policyDesc, 1, found.Policy)
		for _, g := range gauges {
			gauge(g.desc, g.value(found), g.labels...)
		}
	}
	for name, stats := range op.Pools() {
		for _, p := range pool {
			out <- prometheus.MustNewConstMetric(p.desc, p.kind, p.value(stats), name)
		}
	}
}

// pool is what the client library's own collector of database/sql tells, under the
// same names. That one wants the pool itself, which the Operator keeps to itself.
var pool = []struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(sql.DBStats) float64
}{
	{desc("go_sql_max_open_connections", "Maximum number of open connections to the database.", "db_name"), prometheus.GaugeValue, func(s sql.DBStats) float64 { return float64(s.MaxOpenConnections) }},
	{desc("go_sql_open_connections", "The number of established connections both in use and idle.", "db_name"), prometheus.GaugeValue, func(s sql.DBStats) float64 { return float64(s.OpenConnections) }},
	{desc("go_sql_in_use_connections", "The number of connections currently in use.", "db_name"), prometheus.GaugeValue, func(s sql.DBStats) float64 { return float64(s.InUse) }},
	{desc("go_sql_idle_connections", "The number of idle connections.", "db_name"), prometheus.GaugeValue, func(s sql.DBStats) float64 { return float64(s.Idle) }},
	{desc("go_sql_wait_count_total", "The total number of connections waited for.", "db_name"), prometheus.CounterValue, func(s sql.DBStats) float64 { return float64(s.WaitCount) }},
	{desc("go_sql_wait_duration_seconds_total", "The total time blocked waiting for a new connection.", "db_name"), prometheus.CounterValue, func(s sql.DBStats) float64 { return s.WaitDuration.Seconds() }},
}
