package operator

import (
	"context"
	"database/sql"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// past is a recorded intent, as far as judging it again goes.
type past struct {
	ID, ProjectID int64
	Status        Status
	Decision      string // policy_decision
	Rules         string // policy_rules
	Quorum        int64
	Approvers     string
	RecordedBy    string
	CreatedAt     int64
	DecidedAt     sql.NullInt64
	SettledAt     sql.NullInt64
	ApprovedAt    sql.NullInt64 // when enough people had approved it
	action        gate.Action
}

// granted says that its money was really taken: the policy allowed it, or enough
// people approved it.
func (p *past) granted() bool {
	switch p.Status {
	case gate.StatusApproved, gate.StatusAllowed, gate.StatusExecuting, gate.StatusUnknown, gate.StatusSucceeded, gate.StatusFailed:
		return true
	}
	return p.Decision == gate.Allow.String() || p.ApprovedAt.Valid
}

// approvedAt is when enough people had approved it. An approval of before schema 2
// has no row of its own, and is the last decision.
func (p *past) approvedAt() int64 {
	if p.ApprovedAt.Valid {
		return p.ApprovedAt.Int64
	}
	return p.DecidedAt.Int64
}

const pastColumns = `id, project_id, type, title, recipient, amount_cents, currency, body, labels, tainted_by, data, status, policy_decision,
	policy_rules, quorum, approvers, recorded_by, created_at, decided_at, settled_at,
	(select a.at from reeve_audit a where a.id = approval_audit_id)`

func (p *past) scan(rows *sql.Rows) error {
	var cents sql.NullInt64
	var data, labels, taints string
	a := &p.action
	if err := rows.Scan(&p.ID, &p.ProjectID, &a.Type, &a.Title, &a.Recipient, &cents, &a.Currency, &a.Body, &labels, &taints, &data, &p.Status, &p.Decision,
		&p.Rules, &p.Quorum, &p.Approvers, &p.RecordedBy, &p.CreatedAt, &p.DecidedAt, &p.SettledAt, &p.ApprovedAt); err != nil {
		return err
	}
	if cents.Valid {
		amount := gate.Cents(cents.Int64)
		a.AmountCents = &amount
	}
	if data != "" {
		a.Data = jsontext.Value(data)
	}
	if labels != "[]" {
		a.Labels = given(labels)
	}
	if taints != "[]" {
		a.TaintedBy = given(taints)
	}
	return nil
}

// span says which intents of an account are read.
type span struct {
	projects []int64
	after    int64 // ids above this one
	upTo     int64 // and up to this one
	since    int64 // recorded then or later, in microseconds
	only     string
}

// What of a span is read, where it is not everything.
const (
	onlyDenied   = ` and policy_decision = 'deny'`
	onlyCounting = ` and (policy_decision = 'deny' or amount_cents is not null)`
)

// asker runs a query.
type asker func(ctx context.Context, query string, args ...any) (*sql.Rows, error)

// pastPage bounds how many rows are held of all projects together.
const pastPage = 4000

// each hands every intent of the span to f, in the order in which they were
// recorded. It reads pages by their key, so that no read is open for long and
// nothing is held but a page of each project.
func (s span) each(ctx context.Context, page asker, f func([]past) error) error {
	sources := make([]*pastSource, len(s.projects))
	for i, project := range s.projects {
		sources[i] = &pastSource{span: s, project: project, last: s.after, size: max(50, pastPage/len(s.projects)), page: page}
	}
	batch := make([]past, 0, pastPage)
	for {
		next := -1
		for i, src := range sources {
			if err := src.fill(ctx); err != nil {
				return err
			}
			if len(src.rows) > 0 && (next < 0 || src.rows[0].ID < sources[next].rows[0].ID) {
				next = i
			}
		}
		if next < 0 {
			return f(batch)
		}
		// Of one project everything goes on at once.
		take := 1
		if len(sources) == 1 {
			take = len(sources[0].rows)
		}
		batch = append(batch, sources[next].rows[:take]...)
		sources[next].rows = sources[next].rows[take:]
		if len(batch) >= pastPage {
			if err := f(batch); err != nil {
				return err
			}
			batch = make([]past, 0, pastPage)
		}
	}
}

// pastSource is the intents of one project, a page at a time.
type pastSource struct {
	span
	project int64
	last    int64
	size    int
	rows    []past
	ended   bool
	page    asker
}

func (s *pastSource) fill(ctx context.Context) error {
	if len(s.rows) > 0 || s.ended {
		return nil
	}
	rows, err := s.page(ctx, pastQuery(s.only, s.size), s.project, s.last, s.upTo, s.since)
	if err != nil {
		return err
	}
	defer rows.Close()
	s.rows = make([]past, 0, s.size)
	for rows.Next() {
		var p past
		if err := p.scan(rows); err != nil {
			return err
		}
		s.rows = append(s.rows, p)
	}
	if s.ended = len(s.rows) < s.size; len(s.rows) > 0 {
		s.last = s.rows[len(s.rows)-1].ID
	}
	return rows.Err()
}

func pastQuery(only string, size int) string {
	return `select ` + pastColumns + ` from reeve_intents where project_id = $1 and id > $2 and id <= $3 and created_at >= $4` + only +
		` order by id limit ` + strconv.Itoa(size)
}

// newestIntent is the highest number that an intent of an account has.
func newestIntent(ctx context.Context, tx core.Tx, projects []int64) (id int64, err error) {
	for _, project := range projects {
		var last int64
		if err := tx.Get(ctx, &last, `select coalesce(max(id), 0) from reeve_intents where project_id = $1`, project); err != nil {
			return 0, err
		}
		id = max(id, last)
	}
	return id, nil
}

func projectsOf(ctx context.Context, tx core.Tx, account int64) ([]int64, error) {
	var rows []struct {
		ID int64 `db:"id"`
	}
	err := tx.Select(ctx, &rows, `select id from reeve_projects where account_id = $1 order by id`, account)
	out := make([]int64, len(rows))
	for i, r := range rows {
		out[i] = r.ID
	}
	return out, err
}
