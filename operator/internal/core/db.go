package core

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"
)

// Dialect is the little that the two databases differ in.
type Dialect struct {
	Name      string // "sqlite" or "postgres"
	NowMicros string // SQL for the database's own clock, in microseconds since 1970 UTC
	ForUpdate string // what locks selected rows; empty where one writer holds the whole file
	SkipLocks string // the same, passing over rows that somebody else holds
}

// Querier is what *sql.Tx, *sql.DB, *sql.Conn and an embedding service's own
// transaction have in common.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Tx is one transaction: a connection's view, the database's dialect, and the
// one moment at which everything in it happens.
type Tx struct {
	q       Querier
	dialect Dialect
	now     time.Time
	after   *[]func()
	audited *Audited // nil in a transaction that belongs to somebody else
	moved   func(from, to string)
}

// Now is the moment of the transaction, the same for every row it writes.
func (tx Tx) Now() time.Time { return tx.now }

// Micros is that moment as it is stored.
func (tx Tx) Micros() int64 { return Micros(tx.now) }

// Dialect is the database's.
func (tx Tx) Dialect() Dialect { return tx.dialect }

// AfterCommit runs f once the transaction is durable. In a transaction that
// belongs to somebody else nobody can know when that is, and f is dropped:
// what f would have woken also polls.
func (tx Tx) AfterCommit(f func()) {
	if tx.after != nil {
		*tx.after = append(*tx.after, f)
	}
}

// tellMoved tells of an intent's move once it is committed.
func (tx Tx) tellMoved(from, to string) {
	if tx.moved != nil && to != "" {
		tx.AfterCommit(func() { tx.moved(from, to) })
	}
}

// Exec runs a statement and says how many rows it changed.
func (tx Tx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	res, err := tx.q.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// Get scans the one row of a query into dest, a pointer to a struct with db
// tags or to a scalar. No row is sql.ErrNoRows.
func (tx Tx) Get(ctx context.Context, dest any, query string, args ...any) error {
	rows, err := tx.q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	if err := scanRow(rows, dest); err != nil {
		return err
	}
	// The rest is read so that an error at the end of the statement is not lost.
	for rows.Next() {
	}
	return rows.Err()
}

// Query runs a query whose rows the caller scans and closes.
func (tx Tx) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return tx.q.QueryContext(ctx, query, args...)
}

// Select scans every row of a query into dest, a pointer to a slice.
func (tx Tx) Select(ctx context.Context, dest any, query string, args ...any) error {
	rows, err := tx.q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	return sqlx.StructScan(rows, dest)
}

func scanRow(rows *sql.Rows, dest any) error {
	switch dest.(type) {
	case *int64, *string, *sql.NullInt64, *sql.NullString:
		return rows.Scan(dest)
	}
	return (&sqlx.Rows{Rows: rows, Mapper: mapper}).StructScan(dest)
}

var mapper = sqlx.NewDb(nil, "").Mapper

// DB is an open database: a pool that writes, a pool that reads (the same one
// on PostgreSQL), and the clock that its transactions are stamped by.
type DB struct {
	Write, Read *sqlx.DB
	Dialect     Dialect
	Clock       Clock
	// File is the database's file, for messages; empty on PostgreSQL.
	File string
	// Patience is how long a transaction waits, for its turn to begin and for what
	// others hold, before its caller is told that the store is busy; 0: DefaultPatience.
	Patience time.Duration
	// LockWait is how long a statement waits for what others hold before the database
	// ends it; 0: the database does not say.
	LockWait time.Duration
	// Intact says whether what was opened is still what others would open; nil
	// where that cannot change.
	Intact func() error
	// Writable tries whether a transaction would be kept; nil: it is not tried.
	Writable func(context.Context) error
	// ProbeEvery is how often, at most, Ping tries that; 0: a second.
	ProbeEvery time.Duration
	// Moved, if it is set, is told of every move of an intent once it is committed.
	Moved func(from, to string)
	// Pinned is a connection that is kept open until the end, if one is.
	Pinned io.Closer

	turns    turns
	probe    probe
	closing  sync.Once
	closed   atomic.Bool
	closeErr error
}

// Writers bounds how many transactions write at once; the others queue. It is set
// before the database is used.
func (db *DB) Writers(n int) { db.turns.queue.places = n }

// Close closes both pools. A database whose files were changed from outside is left
// as it is, and why is returned: SQLite would move its log into the database and
// delete it, and by then that may be somebody else's. The process's end closes what
// is left.
func (db *DB) Close() error {
	db.closing.Do(func() {
		err := db.intact()
		db.closed.Store(true)
		if errors.Is(err, ErrFilesReplaced) {
			db.closeErr = err
			return
		}
		db.closeErr = db.closePools()
	})
	return db.closeErr
}

func (db *DB) closePools() error {
	var pinned error
	if db.Pinned != nil {
		pinned = db.Pinned.Close()
	}
	if errors.Is(pinned, sql.ErrConnDone) {
		pinned = nil // closed before, as a pool may be
	}
	if db.Write == db.Read {
		return errors.Join(pinned, db.Write.Close())
	}
	return errors.Join(pinned, db.Write.Close(), db.Read.Close())
}

var errClosed = errors.New("the database was closed")

// InTx runs f in a transaction of its own and commits it. A transaction that
// the database rolled back for a race (serialization, deadlock, busy) is run
// again, whole; f must therefore have no effect outside the transaction.
//
// Errors: version_race where every try lost a race; unavailable (ErrBusy beneath)
// where its turn did not come within Patience, however many others wait, or somebody
// held a row that it needs for as long; the context's own where that ended first; a Fault where a person has to do something;
// f's.
//
// Where ctx carries a transaction of this database (InJointTx), f runs in that one:
// whoever began it commits, runs the whole again after a race, and wakes what f left
// for after the commit. That is safe, since f has no effect outside the transaction
// in either case, and since its failure is the failure of the whole: nothing of a
// part that failed can be committed by who did not look at its error.
func (db *DB) InTx(ctx context.Context, f func(Tx) error) error {
	if j := JointOf(ctx); j != nil && j.db == db {
		return j.part(f)
	}
	w := db.turns.wait(ctx, db.Patience, db.LockWait)
	for try := 1; ; try++ {
		err := db.tryTx(ctx, w, f)
		if err == nil || !IsRace(err) && !errors.Is(err, errWaited) && !errors.Is(err, errCutOff) {
			return Explain(db.File, err)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("wait for the database: %w", ctx.Err())
		}
		if !w.again(err, try) {
			return db.gaveUp(w, err)
		}
		w.pause(ctx, try)
	}
}

// gaveUp says why: a caller that never got its turn is not told of a race.
func (db *DB) gaveUp(w wait, err error) error {
	if errors.Is(err, errCutOff) {
		return Refuse(ReasonUnavailable, "The store did not answer; nothing was kept.").Because(err)
	}
	if !isBusy(err) && !errors.Is(err, errWaited) {
		return Refuse(ReasonVersionRace, "Another write came first; nothing was kept.").Because(err)
	}
	w.fruitless()
	return Refuse(ReasonUnavailable, "The store is busy with other writes; nothing was kept.").
		Because(&Fault{Kind: ErrBusy, Where: db.File, Cause: err})
}

// errCutOff is the end of a transaction whose connection ended, before its commit.
var errCutOff = errors.New("the connection ended in the middle of a transaction")

func (db *DB) tryTx(ctx context.Context, w wait, f func(Tx) error) error {
	if err := db.intact(); err != nil {
		return err
	}
	sqlTx, end, err := w.begin(ctx, db.Write, db.writeOptions())
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer end()
	// A panic in f unwinds through here: its transaction must not survive it.
	defer sqlTx.Rollback()
	var after []func()
	tx := Tx{q: sqlTx, dialect: db.Dialect, now: db.now(), after: &after, audited: new(Audited), moved: db.Moved}
	if err := f(tx); err != nil {
		if isCutOff(err) {
			return fmt.Errorf("%w: %w", errCutOff, err)
		}
		return err
	}
	if err := db.intact(); err != nil {
		return err
	}
	if err := sqlTx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	// Once more: files that were swapped while it committed may not hold it.
	if err := db.intact(); err != nil {
		return err
	}
	for _, f := range after {
		f()
	}
	return nil
}

// intact keeps what nobody will find again from being acknowledged.
func (db *DB) intact() error {
	if db.closed.Load() {
		return errClosed
	}
	if db.Intact == nil {
		return nil
	}
	return db.Intact()
}

// Ping says whether the database answers, is the one that was opened, and would
// keep what it is given. The last is tried at most once in ProbeEvery, however
// many ask. It answers when ctx ends, also where a server that stands still keeps the
// driver from doing so; what is left behind of it holds a connection of the pool, and
// so there are not many.
func (db *DB) Ping(ctx context.Context) error {
	if err := db.intact(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- db.ping(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (db *DB) ping(ctx context.Context) error {
	var one int64
	if err := db.View().Get(ctx, &one, `select 1`); err != nil {
		return Explain(db.File, err)
	}
	if db.Writable == nil {
		return nil
	}
	return db.probe.once(ctx, db.ProbeEvery, db.Writable)
}

// now cuts to microseconds, so that what is compared in Go is what is stored.
func (db *DB) now() time.Time { return db.Clock.Now().UTC().Truncate(time.Microsecond) }

// ErrIsolation says that a transaction of somebody else's sees an older state than
// the one that its guards are about.
var ErrIsolation = errors.New("the transaction is not READ COMMITTED")

// Foreign is a transaction that an embedding service owns: reeve writes in it,
// and never begins, commits or rolls it back. On PostgreSQL it must be READ
// COMMITTED, which one statement asks for: in any other, two people who approve at
// once do not see each other's votes. ErrIsolation where it is not.
func (db *DB) Foreign(ctx context.Context, q Querier) (Tx, error) {
	tx := db.Asked(q)
	if db.Dialect.Name != "postgres" {
		return tx, nil
	}
	var level string
	if err := tx.Get(ctx, &level, `select current_setting('transaction_isolation')`); err != nil {
		return Tx{}, err
	}
	if level != "read committed" && level != "read uncommitted" { // which PostgreSQL takes for the same
		return Tx{}, fmt.Errorf("%w but %s: begin it as &sql.TxOptions{Isolation: sql.LevelReadCommitted}", ErrIsolation, level)
	}
	return tx, nil
}

// Asked is Foreign for who looks only, whatever q sees.
func (db *DB) Asked(q Querier) Tx { return Tx{q: q, dialect: db.Dialect, now: db.now()} }

// View runs read-only queries outside a transaction.
func (db *DB) View() Tx { return db.Asked(db.Read.DB) }

// InView runs f in a read-only transaction, so that all its queries see one state.
func (db *DB) InView(ctx context.Context, f func(Tx) error) error {
	if err := db.intact(); err != nil {
		return err
	}
	sqlTx, err := db.Read.BeginTx(ctx, db.viewOptions())
	if err != nil {
		return Explain(db.File, fmt.Errorf("begin: %w", err))
	}
	defer sqlTx.Rollback()
	return Explain(db.File, f(Tx{q: sqlTx, dialect: db.Dialect, now: db.now()}))
}

// writeOptions names the isolation that every guard counts on: a statement that
// waited for a row, or for a lock, sees what was committed meanwhile. What the
// database, the role or the URL has for a default is somebody else's choice.
func (db *DB) writeOptions() *sql.TxOptions {
	if db.Dialect.Name == "postgres" {
		return &sql.TxOptions{Isolation: sql.LevelReadCommitted}
	}
	return nil
}

func (db *DB) viewOptions() *sql.TxOptions {
	if db.Dialect.Name == "postgres" {
		return &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	}
	return &sql.TxOptions{ReadOnly: true}
}
