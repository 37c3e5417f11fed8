package operator_test

import (
	"context"
	"database/sql"
	"regexp"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/operatortest"
)

// listener writes down the statements that pass through it.
type listener struct {
	*sql.DB
	said []statement
}

type statement struct {
	query string
	args  []any
}

func (l *listener) ExecContext(ctx context.Context, q string, args ...any) (sql.Result, error) {
	l.said = append(l.said, statement{q, args})
	return l.DB.ExecContext(ctx, q, args...)
}

func (l *listener) QueryContext(ctx context.Context, q string, args ...any) (*sql.Rows, error) {
	l.said = append(l.said, statement{q, args})
	return l.DB.QueryContext(ctx, q, args...)
}

func TestWhatIsAskedOftenReadsAnIndexAndNeverAWholeTable(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		crowd(t, w, db, store)
		want := map[string][]string{
			"what waits":                         {"reeve_intents_waiting"},
			"a page":                             {"reeve_intents_page", "reeve_intents_pkey", "INTEGER PRIMARY KEY"},
			"a page of what is pending":          {"reeve_intents_waiting"},
			"one intent":                         {"reeve_intents_page", "reeve_intents_pkey", "INTEGER PRIMARY KEY"},
			"a claim":                            {"reeve_intents_ready"},
			"a claim where the record is sealed": {"reeve_intents_ready"},
			"a log with rows to seal":            {"reeve_audit_unsealed"},
			"a batch to seal":                    {"reeve_audit_unsealed"},
			"whether a row is sealed":            {"reeve_audit_pkey", "INTEGER PRIMARY KEY"},
			"a page of a sealed log":             {"reeve_audit_sealed"},
			"a page of what was denied":          {"reeve_intents_denied"},
			"a page of everything":               {"reeve_intents_page", "reeve_intents_pkey", "INTEGER PRIMARY KEY"},
			"a reclaim":                          {"reeve_intents_leased"},
			"a sweep":                            {"reeve_intents_lapsing"},
			"the record of a project":            {"reeve_audit_page", "reeve_audit_pkey", "INTEGER PRIMARY KEY"},
			"the record of an intent":            {"reeve_audit_intent"},
			"the decisions of an intent":         {"reeve_decisions_intent"},
			"the responses to an intent":         {"reeve_comments_intent"},
			"the notices that are queued":        {"reeve_outbox_due"},
			"the rows without a seal":            {"reeve_audit_unsealed"},
			"a count of reeve_intents where status = 'pending_approval'":       {"reeve_intents_waiting"},
			"a count of reeve_intents where status = 'unknown'":                {"reeve_intents_waiting"},
			"a count of reeve_intents where status in ('approved', 'allowed')": {"reeve_intents_ready", "reeve_intents_lapsing"},
			"a count of reeve_intents where status = 'executing'":              {"reeve_intents_leased"},
			"a count of reeve_parked where status = 'pending'":                 {"reeve_parked_"},
		}
		asked := w.Questions(w.Agent.ProjectID())
		for name, indexes := range want {
			l := &listener{DB: db}
			mustHave(t, asked[name](ctx, l))
			if len(l.said) != 1 {
				t.Fatalf("%s: %d statements", name, len(l.said))
			}
			plan := explain(t, db, store, l.said[0])
			if !usesOneOf(plan, indexes) || readsATable(plan) {
				t.Errorf("%s: want one of %v and no whole table:\n%s", name, indexes, plan)
			}
		}
		if len(asked) != len(want) {
			t.Errorf("%d questions, %d expectations", len(asked), len(want))
		}
	})
}

// crowd fills the tables with what a year leaves behind, so that the planner has
// a reason to choose.
func crowd(t *testing.T, w *operatortest.World, db *sql.DB, store string) {
	t.Helper()
	m := &makers{w: w, db: db}
	done, _ := m.at(t, gate.StatusSucceeded)
	series := `(with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000) select i from n) as s`
	columns := operatortest.Rows(t, db, map[string]string{
		"sqlite":   `select name from pragma_table_info('reeve_intents') where name not in ('id', 'original')`,
		"postgres": `select column_name from information_schema.columns where table_schema = current_schema() and table_name = 'reeve_intents' and column_name not in ('id', 'original')`,
	}[store])
	list := strings.Join(columns, ", ")
	execute(t, db, `insert into reeve_intents (original, `+list+`) select 0, `+list+` from reeve_intents, `+series+` where id = $1`, done.ID)
	execute(t, db, `insert into reeve_audit (account_id, project_id, at, principal, kind, via, action, args_digest, verdict, reason, layer,
		intent_id, digest, policy_version, outcome, request_id, seq)
		select 1, 1, i, 'x', '', '', 'x', '', 'done', '', '', i, '', '', '', '', 1000 + i from `+series)
	execute(t, db, `insert into reeve_decisions (project_id, intent_id, title, status, made_by, updated_by, via, digest, policy_version, note, created_at, updated_at)
		select 1, i, '', 'rejected', 'x', 'x', '', 'x', '', '', 1, 1 from `+series+` where i <= 5000`)
	execute(t, db, `insert into reeve_comments (project_id, intent_id, author, kind, via, body, created_at)
		select 1, i, 'x', 'agent', '', 'x', 1 from `+series+` where i <= 5000`)
	for status, n := range map[gate.Status]int{gate.StatusPendingApproval: 100, gate.StatusAllowed: 50, gate.StatusUnknown: 10, gate.StatusExecuting: 10} {
		in, _ := m.at(t, status)
		execute(t, db, `insert into reeve_intents (original, `+list+`) select 0, `+list+` from reeve_intents, `+series+` where id = $1 and i < $2`, in.ID, n)
	}
	execute(t, db, `insert into reeve_outbox (account_id, project_id, topic, message_key, payload, created_at, next_at, delivered_at)
		select 1, 1, 'x', 'crowd ' || i, '', i, i, 1 from `+series)
	execute(t, db, `insert into reeve_parked (account_id, project_id, tool, arguments, principal, credential_id, digest, title, status, expires_at, created_at, updated_at)
		select 1, 1, 'x', '{}', 'x', 1, 'd', '', 'expired', i, i, i from `+series)
	execute(t, db, `update reeve_intents set type = 'note'`) // as good as everybody's
	execute(t, db, `analyze`)
}

func explain(t *testing.T, db *sql.DB, store string, s statement) string {
	t.Helper()
	if store == "sqlite" {
		return strings.Join(operatortest.Rows(t, db, `explain query plan `+s.query, s.args...), "\n")
	}
	return strings.Join(operatortest.Rows(t, db, `explain `+s.query, s.args...), "\n")
}

func usesOneOf(plan string, indexes []string) bool {
	for _, index := range indexes {
		if strings.Contains(plan, index) {
			return true
		}
	}
	return false
}

// ofAQuery is a pass over what the statement itself made, and no table.
var ofAQuery = regexp.MustCompile(`SCAN (batch|oldest|q|\(subquery-\d+\))\s*$`)

// readsATable finds a pass over a table without an index, or a sort of what an
// index would have given in order.
func readsATable(plan string) bool {
	for line := range strings.Lines(plan) {
		scan := strings.Contains(line, "SCAN ") && !strings.Contains(line, "USING") && !ofAQuery.MatchString(line)
		if scan || strings.Contains(line, "Seq Scan") || strings.Contains(line, "TEMP B-TREE") {
			return true
		}
	}
	return false
}
