package operator

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
	"github.com/reeve-go/reeve/operator/internal/sqlstore"
)

// Examination is what a look at a database finds out for whoever runs it. Of one whose
// schema this program does not know as its own, only the first four are known.
type Examination struct {
	Database string // "sqlite" or "postgres"
	Version  string // of SQLite, or of the server
	Schema   Schema
	// Unwritable is why a PostgreSQL takes no writes; "": it does, or it is no PostgreSQL.
	Unwritable string

	Skew  time.Duration // how far the database's clock is ahead of this machine's
	Ahead time.Duration // how far the newest row of the record is ahead of it; 0: it is not

	Key          string // the public half of the key that seals; "": none was registered
	KeyFault     error  // what is wrong with the file that was looked at; nil: nothing
	Unsealed     int64  // as in Backlog
	SealLag      time.Duration
	Undelivered  int64
	NoticesSince time.Duration

	Accounts    []Standing
	Credentials []Credential // those that are live, oldest first, 1,000 at most
}

// Standing is what an account stands on: its people, and its policy.
type Standing struct {
	Account     string
	People      map[Role]int      // how many of each role
	Policy      string            // the version of the policy that holds
	PolicyFault error             // why it cannot be read
	Unreachable gate.PolicyErrors // its rules that ask for more people than there are
}

// Current says whether the schema is this program's own.
func (e Examination) Current() bool { return e.Schema.At == e.Schema.Known }

// examined bounds how many credentials are looked at.
const examined = 1_000

// Examine looks at a database, and changes nothing. where is what Open takes; keyFile
// is the audit key's file, "" to leave it out.
func Examine(ctx context.Context, where, keyFile string) (Examination, error) {
	db, err := look(ctx, where, nil)
	if err != nil {
		return Examination{}, err
	}
	defer db.Close()
	out := Examination{Database: db.Dialect.Name}
	if out.Schema.At, out.Schema.Known, err = sqlstore.Stands(ctx, db); err != nil {
		return out, err
	}
	version := `select sqlite_version()`
	if isPostgres(where) {
		version = `show server_version`
	}
	if err := db.View().Get(ctx, &out.Version, version); err != nil {
		return out, core.Explain(db.File, err)
	}
	if isPostgres(where) {
		if out.Unwritable, err = sqlstore.Unwritable(ctx, db); err != nil {
			return out, err
		}
	}
	if !out.Current() {
		return out, nil
	}
	return out, db.InView(ctx, func(tx core.Tx) error { return out.fill(ctx, tx, keyFile) })
}

func (e *Examination) fill(ctx context.Context, tx core.Tx, keyFile string) error {
	steps := []func(context.Context, core.Tx) error{
		e.clocks, func(ctx context.Context, tx core.Tx) error { return e.key(ctx, tx, keyFile) },
		e.queues, e.people, e.policies, e.credentials,
	}
	for _, step := range steps {
		if err := step(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

func (e *Examination) clocks(ctx context.Context, tx core.Tx) error {
	var theirs, newest int64
	if err := tx.Get(ctx, &theirs, `select `+tx.Dialect().NowMicros); err != nil {
		return err
	}
	now := time.Now()
	e.Skew = core.FromMicros(theirs).Sub(now)
	err := tx.Get(ctx, &newest, `select at from reeve_audit order by id desc limit 1`)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	e.Ahead = max(0, core.FromMicros(newest).Sub(now))
	return err
}

func (e *Examination) key(ctx context.Context, tx core.Tx, file string) error {
	active, err := activeKey(ctx, tx, "")
	if err != nil {
		return err
	}
	e.Key = string(active)
	if file != "" && active != "" {
		_, e.KeyFault = rightKey(file, active)
	}
	return nil
}

func (e *Examination) queues(ctx context.Context, tx core.Tx) (err error) {
	if e.Unsealed, e.SealLag, err = queue(ctx, tx, unsealedQueue); err != nil {
		return err
	}
	e.Undelivered, e.NoticesSince, err = queue(ctx, tx, noticesQueue)
	return err
}

func (e *Examination) policies(ctx context.Context, tx core.Tx) error {
	var rows []struct {
		ID int64 `db:"id"`
	}
	if err := tx.Select(ctx, &rows, `select id from reeve_accounts order by id`); err != nil {
		return err
	}
	for i, r := range rows {
		a := &e.Accounts[i] // listed in the same order, in the same view
		p, err := new(policies).at(ctx, tx, r.ID)
		if err != nil {
			a.PolicyFault = err
			continue
		}
		a.Policy, a.Unreachable = p.Version(), UnreachableQuorums(p, a.People)
	}
	return nil
}

func (e *Examination) people(ctx context.Context, tx core.Tx) error {
	var rows []struct {
		Account string         `db:"account"`
		Role    sql.NullString `db:"role"`
		People  int64          `db:"people"`
	}
	err := tx.Select(ctx, &rows, `select a.slug as account, p.role, count(p.id) as people from reeve_accounts a
		left join reeve_people p on p.account_id = a.id and p.removed_at is null group by a.id, a.slug, p.role order by a.id`)
	for _, r := range rows {
		if n := len(e.Accounts); n == 0 || e.Accounts[n-1].Account != r.Account {
			e.Accounts = append(e.Accounts, Standing{Account: r.Account, People: map[Role]int{}})
		}
		if r.Role.Valid {
			e.Accounts[len(e.Accounts)-1].People[Role(r.Role.String)] = int(r.People)
		}
	}
	return err
}

func (e *Examination) credentials(ctx context.Context, tx core.Tx) error {
	var rows []credentialRow
	err := tx.Select(ctx, &rows, credentialQuery+`where c.revoked_at is null and c.expires_at > $1 and h.removed_at is null order by c.id limit $2`, tx.Micros(), examined)
	for _, r := range rows {
		e.Credentials = append(e.Credentials, r.told())
	}
	return err
}
