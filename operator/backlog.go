package operator

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/reeve-go/reeve/operator/internal/core"
)

// backlogMost bounds what a look at the backlog counts of anything.
const backlogMost = 10_000

// Backlog is what waits in the whole database, over all its accounts: figures for
// whoever runs the server, and not for its callers. Nothing is counted beyond 10,000,
// and no age looks further than that.
type Backlog struct {
	Pending   int64 // intents that wait for a person
	Unknown   int64 // intents of which nobody knows what became
	Ready     int64 // intents that wait for a worker, approved or allowed
	Executing int64 // intents that a worker holds
	Parked    int64 // calls that wait for a person

	Undelivered  int64         // notices that are queued
	NoticesSince time.Duration // how long the oldest of them has waited
	Unsealed     int64         // rows of the record without a seal
	SealLag      time.Duration // how old the oldest of them is

	Accounts int64  // how many there are, two for any number beyond one
	Frozen   bool   // a freeze stands, of an account or a project
	Policy   string // the version that holds in the account default
	Schema   int64  // which migration the database stands at
}

// backlogCounts are the counts, each over the index that holds these rows and no
// others. The texts repeat the indexes' own conditions, or SQLite would not use them.
var backlogCounts = []struct {
	from string
	into func(*Backlog) *int64
}{
	{`reeve_intents where status = 'pending_approval'`, func(b *Backlog) *int64 { return &b.Pending }},
	{`reeve_intents where status = 'unknown'`, func(b *Backlog) *int64 { return &b.Unknown }},
	{`reeve_intents where status in ('approved', 'allowed')`, func(b *Backlog) *int64 { return &b.Ready }},
	{`reeve_intents where status = 'executing'`, func(b *Backlog) *int64 { return &b.Executing }},
	{`reeve_parked where status = 'pending'`, func(b *Backlog) *int64 { return &b.Parked }},
}

// The two queues, each with the moment at which its rows were made.
const (
	noticesQueue  = `select count(*) as n, min(at) as oldest from (select created_at as at from reeve_outbox where delivered_at is null and dead_at is null order by next_at, id limit $1) q`
	unsealedQueue = `select count(*) as n, min(at) as oldest from (select at from reeve_audit where seq is null order by coalesce(account_id, 0), id limit $1) q`
)

// Backlog looks at what waits, in one view of the database.
func (op *Operator) Backlog(ctx context.Context) (Backlog, error) {
	var out Backlog
	err := op.inView(ctx, func(tx core.Tx) error {
		out = Backlog{}
		for _, c := range backlogCounts {
			if err := tx.Get(ctx, c.into(&out), countOf(c.from), backlogMost); err != nil {
				return err
			}
		}
		var err error
		if out.Undelivered, out.NoticesSince, err = queue(ctx, tx, noticesQueue); err != nil {
			return err
		}
		if out.Unsealed, out.SealLag, err = queue(ctx, tx, unsealedQueue); err != nil {
			return err
		}
		return op.circumstances(ctx, tx, &out)
	})
	return out, err
}

func countOf(from string) string {
	return `select count(*) from (select 1 from ` + from + ` limit $1) q`
}

// queue is how much waits in a queue, and since when.
func queue(ctx context.Context, tx core.Tx, query string) (n int64, age time.Duration, err error) {
	var row struct {
		N      int64         `db:"n"`
		Oldest sql.NullInt64 `db:"oldest"`
	}
	if err := tx.Get(ctx, &row, query, backlogMost); err != nil || !row.Oldest.Valid {
		return row.N, 0, err
	}
	// Another process's clock may be ahead of this one's.
	return row.N, max(0, time.Duration(tx.Micros()-row.Oldest.Int64)*time.Microsecond), nil
}

// circumstances is what holds for all of it.
func (op *Operator) circumstances(ctx context.Context, tx core.Tx, out *Backlog) error {
	ws, err := findWorkspace(ctx, tx, "", "")
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	policy, err := op.policies.at(ctx, tx, ws.AccountID)
	if err != nil {
		return err
	}
	out.Policy = policy.Version()
	var frozen int64
	for _, look := range []struct {
		into  *int64
		query string
	}{
		{&out.Accounts, `select count(*) from (select 1 from reeve_accounts limit 2) q`},
		{&frozen, `select count(*) from (select 1 from reeve_freezes where lifted_at is null limit 1) q`},
		{&out.Schema, `select coalesce(max(version), 0) from reeve_schema`},
	} {
		if err := tx.Get(ctx, look.into, look.query); err != nil {
			return err
		}
	}
	out.Frozen = frozen > 0
	return nil
}

// Pools are the figures of the connection pools, by the pool's name: "write" and
// "read", which on PostgreSQL are one.
func (op *Operator) Pools() map[string]sql.DBStats {
	out := map[string]sql.DBStats{"write": op.db.Write.Stats()}
	if op.db.Read != op.db.Write {
		out["read"] = op.db.Read.Stats()
	}
	return out
}
