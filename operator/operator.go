package operator

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
	"github.com/reeve-go/reeve/operator/internal/sqlstore"
)

// Operator composes the gate and the record over one database. It is safe for
// concurrent use, holds no state that another process on the same database
// would lack, and is the one thing that the adapters, the channels and an
// embedding service share.
type Operator struct {
	db       *core.DB
	policies *policies
	log      *slog.Logger
	pending  time.Duration
	granted  time.Duration
	changes  *signal
	waiting  waits
	stopped  *stopper
	seals    *sealer
}

// Options adjusts an Operator. The zero value is good for production.
type Options struct {
	Clock   Clock         // nil: the machine's clock
	Policy  *gate.Policy  // nil: each account's own (LoadPolicy, ChangePolicy), else gate.DefaultPolicy
	Logger  *slog.Logger  // nil: nothing is logged
	Pending time.Duration // how long an intent waits for a person; 0: 24 h
	Granted time.Duration // how long an approval waits for a worker; 0: 24 h
	// Patience is how long a write waits, for its turn and for rows that somebody
	// else holds, before its caller is told that the store is busy (ErrUnavailable);
	// 0: 8 s.
	Patience time.Duration
	// AuditKey is the file of the key that seals the record. Where the database has
	// none registered yet, it is made if it is not there, and registered. "": with
	// OpenDir, audit.key in the folder; with OpenPostgres none, and this process
	// seals nothing: once another one has registered a key, a person's act here
	// waits for that one to seal it.
	AuditKey string
	// Keyless opens without the key, whatever AuditKey says: this process seals
	// nothing. It is for who has to stop something while the key cannot be had.
	Keyless bool

	// Moved, if it is set, is told of every move of an intent that this process
	// committed in a transaction of its own; from is empty where the intent was
	// recorded. It must be quick and safe for concurrent use.
	Moved func(from, to Status)

	keyLost bool // the registered key's file is lost: put another in its place
}

// OpenDir opens the embedded SQLite database in the folder dir, making both
// where they do not exist yet.
func OpenDir(ctx context.Context, dir string, opts *Options) (*Operator, error) {
	o := opts.filled()
	db, err := sqlstore.OpenSQLite(ctx, dir, o.Clock, o.Patience)
	if err != nil {
		return nil, err
	}
	if o.AuditKey == "" {
		o.AuditKey = filepath.Join(dir, AuditKeyName)
	}
	return newOperator(ctx, db, o)
}

// OpenPostgres opens a PostgreSQL database by its postgres:// URL. Any number of
// processes may work on one.
//
// Its connections are begun with lock_timeout (a quarter of the patience, at most 2 s)
// and idle_in_transaction_session_timeout (15 s), unless the URL names them. Behind
// PgBouncer list both in ignore_startup_parameters, and set them for the role
// (alter role … set lock_timeout = '2s'): without them a process that was stopped in a
// transaction can hold everybody up. Every transaction names its isolation level, so
// it does not matter which one the database has for a default.
func OpenPostgres(ctx context.Context, url string, opts *Options) (*Operator, error) {
	o := opts.filled()
	db, err := sqlstore.OpenPostgres(ctx, url, o.Clock, o.Patience)
	if err != nil {
		return nil, err
	}
	return newOperator(ctx, db, o)
}

// Open opens whichever database where names: a postgres:// URL, else a folder.
func Open(ctx context.Context, where string, opts *Options) (*Operator, error) {
	if isPostgres(where) {
		return OpenPostgres(ctx, where, opts)
	}
	return OpenDir(ctx, where, opts)
}

func (o *Options) filled() Options {
	var out Options
	if o != nil {
		out = *o
	}
	if out.Clock == nil {
		out.Clock = core.SystemClock{}
	}
	if out.Logger == nil {
		out.Logger = slog.New(slog.DiscardHandler)
	}
	if out.Pending <= 0 {
		out.Pending = 24 * time.Hour
	}
	if out.Granted <= 0 {
		out.Granted = 24 * time.Hour
	}
	return out
}

func newOperator(ctx context.Context, db *core.DB, o Options) (*Operator, error) {
	if o.Keyless {
		o.AuditKey = ""
	}
	if o.Moved != nil {
		db.Moved = func(from, to string) { o.Moved(Status(from), Status(to)) }
	}
	op := &Operator{db: db, policies: &policies{fixed: o.Policy}, log: o.Logger, pending: o.Pending, granted: o.Granted, changes: newSignal(), stopped: newStopper(),
		seals: &sealer{file: o.AuditKey, patience: max(sealPatience, o.Patience*3/8)}}
	if err := op.openAuditKey(ctx, o.keyLost); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return op, nil
}

// Close closes the database. Calls under way end with an error.
func (op *Operator) Close() error { return op.db.Close() }

// StopWaiting ends every wait for a decision that is under way in this process,
// and makes later ones answer at once: what a server calls when it drains.
func (op *Operator) StopWaiting() { op.stopped.stop() }

// Ping says whether the database answers, has a schema that this program knows, and
// whether every account's policy can be read.
func (op *Operator) Ping(ctx context.Context) error {
	if err := op.db.Ping(ctx); err != nil {
		return err
	}
	if err := sqlstore.Current(ctx, op.db); err != nil {
		return err // a newer program came: what this one writes it may misread
	}
	return op.readable(ctx) // without a policy nothing can be judged
}

// Database names the kind of database underneath: "sqlite" or "postgres".
func (op *Operator) Database() string { return op.db.Dialect.Name }

// inTx and inView run f as the database's own do, and tell an error as callers of
// the library see it: a refusal as it is, their own context's end as it is, and
// anything else of the store as an outage, with what lay beneath still to be found
// by errors.Is and errors.As.
func (op *Operator) inTx(ctx context.Context, f func(core.Tx) error) error {
	return told(ctx, op.db.InTx(ctx, f))
}

func (op *Operator) inView(ctx context.Context, f func(core.Tx) error) error {
	return told(ctx, op.db.InView(ctx, f))
}

func told(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	return core.Outage(err)
}

// Now is the Operator's clock.
func (op *Operator) Now() time.Time { return op.db.Clock.Now().UTC() }
