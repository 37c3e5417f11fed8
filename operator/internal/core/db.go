package core

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
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
	// Intact says whether what was opened is still what others would open; nil
	// where that cannot change.
	Intact func() error
	// Pinned is a connection that is kept open until the end, if one is.
	Pinned io.Closer
}

// Close closes both pools.
func (db *DB) Close() error {
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

// maxTries bounds how often a transaction that lost a race inside the database
// is run again before the caller is told to retry.
const maxTries = 8

// maxRacing bounds how long it is run again: SQLite waits for the writer's lock by
// itself, and a caller should hear of an outage before it gives up.
const maxRacing = 20 * time.Second

// InTx runs f in a transaction of its own and commits it. A transaction that
// the database rolled back for a race (serialization, deadlock, busy) is run
// again, whole; f must therefore have no effect outside the transaction.
func (db *DB) InTx(ctx context.Context, f func(Tx) error) error {
	began := time.Now()
	for try := 1; ; try++ {
		err := db.tryTx(ctx, f)
		if err == nil || !IsRace(err) {
			return err
		}
		if try == maxTries || ctx.Err() != nil || time.Since(began) > maxRacing {
			return Refuse(ReasonVersionRace, "Another write came first; nothing was kept.").Because(err)
		}
		pause := time.Duration(1+rand.IntN(4<<try)) * time.Millisecond
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

func (db *DB) tryTx(ctx context.Context, f func(Tx) error) error {
	sqlTx, err := db.Write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	// A panic in f unwinds through here: its transaction must not survive it.
	defer sqlTx.Rollback()
	var after []func()
	tx := Tx{q: sqlTx, dialect: db.Dialect, now: db.now(), after: &after, audited: new(Audited)}
	if err := f(tx); err != nil {
		return err
	}
	if err := db.intact(); err != nil {
		return err
	}
	if err := sqlTx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	for _, f := range after {
		f()
	}
	return nil
}

// intact keeps what nobody will find again from being acknowledged.
func (db *DB) intact() error {
	if db.Intact == nil {
		return nil
	}
	return db.Intact()
}

// Ping says whether the database answers, and is the one that was opened.
func (db *DB) Ping(ctx context.Context) error {
	if err := db.intact(); err != nil {
		return err
	}
	var one int64
	return db.View().Get(ctx, &one, `select 1`)
}

// now cuts to microseconds, so that what is compared in Go is what is stored.
func (db *DB) now() time.Time { return db.Clock.Now().UTC().Truncate(time.Microsecond) }

// Foreign is a transaction that an embedding service owns: reeve writes in it,
// and never begins, commits or rolls it back.
func (db *DB) Foreign(q Querier) Tx {
	return Tx{q: q, dialect: db.Dialect, now: db.now()}
}

// View runs read-only queries outside a transaction.
func (db *DB) View() Tx { return Tx{q: db.Read.DB, dialect: db.Dialect, now: db.now()} }

// InView runs f in a read-only transaction, so that all its queries see one state.
func (db *DB) InView(ctx context.Context, f func(Tx) error) error {
	if err := db.intact(); err != nil {
		return err
	}
	sqlTx, err := db.Read.BeginTx(ctx, db.viewOptions())
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer sqlTx.Rollback()
	return f(Tx{q: sqlTx, dialect: db.Dialect, now: db.now()})
}

func (db *DB) viewOptions() *sql.TxOptions {
	if db.Dialect.Name == "postgres" {
		return &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	}
	return &sql.TxOptions{ReadOnly: true}
}
