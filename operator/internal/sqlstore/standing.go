package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/jmoiron/sqlx"

	"github.com/reeve-go/reeve/operator/internal/core"
)

// LookSQLite opens the database in a folder to be looked at alone: it makes nothing,
// migrates nothing, and every write is refused. SQLite itself may make the files that
// it shares a log by. The schema may be older or newer than this program's.
//
// Errors: fs.ErrNotExist where there is no database; a *core.Fault where a person has
// to do something.
func LookSQLite(ctx context.Context, dir string, clock core.Clock) (*core.DB, error) {
	file, err := filepath.Abs(filepath.Join(dir, FileName))
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("database file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, &core.Fault{Kind: core.ErrNotADatabase, Where: file}
	}
	pool, err := sqlx.Open("sqlite", lookingDSN(file))
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(1) // and so its pragmas are those of all that is asked
	db := &core.DB{Write: pool, Read: pool, Dialect: sqliteDialect, Clock: clock, File: file}
	var one int64
	if err := db.View().Get(ctx, &one, `select count(*) from sqlite_schema`); err != nil {
		return nil, errors.Join(core.Explain(file, err), db.Close())
	}
	return db, nil
}

// lookingDSN never writes, and does not ask for a journal mode, which may be a write.
func lookingDSN(file string) string {
	return sqlitePath(file) + "?mode=ro&_pragma=busy_timeout(5000)&_pragma=query_only(1)"
}

// LookPostgres is the same for a PostgreSQL database.
func LookPostgres(ctx context.Context, rawURL string, clock core.Clock) (*core.DB, error) {
	return reachPostgres(ctx, rawURL, clock, 0)
}

// Stands says at which migration a database stands, 0 for one that is empty, and how
// many this program knows.
func Stands(ctx context.Context, db *core.DB) (at, known int64, err error) {
	all, err := migrations(embedded)
	if err != nil {
		return 0, 0, err
	}
	var there int64
	query := `select count(*) from information_schema.tables where table_schema = current_schema() and table_name = 'reeve_schema'`
	if db.Dialect.Name == sqliteDialect.Name {
		query = `select count(*) from sqlite_schema where type = 'table' and name = 'reeve_schema'`
	}
	if err := db.View().Get(ctx, &there, query); err != nil {
		return 0, 0, core.Explain(db.File, err)
	}
	if there > 0 {
		err = db.View().Get(ctx, &at, `select coalesce(max(version), 0) from reeve_schema`)
	}
	return at, int64(len(all)), core.Explain(db.File, err)
}

// Current refuses a database that a newer program migrated while this one had it open.
func Current(ctx context.Context, db *core.DB) error {
	at, known, err := Stands(ctx, db)
	if err != nil {
		return err
	}
	return notNewer(at, int(known))
}

// exists says whether a file is there, for messages.
func exists(file string) bool {
	_, err := os.Lstat(file)
	return !errors.Is(err, fs.ErrNotExist)
}
