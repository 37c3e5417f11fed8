package operator

import (
	"context"
	"errors"
	"strings"

	"github.com/reeve-go/reeve/operator/internal/core"
	"github.com/reeve-go/reeve/operator/internal/sqlstore"
)

// ErrNewerSchema says that a newer program has been at a database: this one would
// misread what it wrote, and does not open it.
var ErrNewerSchema = sqlstore.ErrNewerSchema

// ErrBackupExists says that there is a file under the name of a backup already.
var ErrBackupExists = sqlstore.ErrBackupExists

// ErrBackupElsewhere says that a database is backed up by its own tools.
var ErrBackupElsewhere = errors.New("PostgreSQL is backed up by its own tools")

func isPostgres(where string) bool {
	return strings.HasPrefix(where, "postgres://") || strings.HasPrefix(where, "postgresql://")
}

// look opens a database to be looked at alone, whatever its schema.
func look(ctx context.Context, where string, clock Clock) (*core.DB, error) {
	if clock == nil {
		clock = core.SystemClock{}
	}
	if isPostgres(where) {
		return sqlstore.LookPostgres(ctx, where, clock)
	}
	return sqlstore.LookSQLite(ctx, where, clock)
}

// Schema says where a database's schema stands, in migrations.
type Schema struct {
	At    int64 // 0: the database is empty
	Known int64 // how many this program knows
}

// SchemaOf says where the schema of a database stands, and changes nothing. where is
// what Open takes. fs.ErrNotExist where a folder holds no database.
func SchemaOf(ctx context.Context, where string) (Schema, error) {
	db, err := look(ctx, where, nil)
	if err != nil {
		return Schema{}, err
	}
	defer db.Close()
	var s Schema
	s.At, s.Known, err = sqlstore.Stands(ctx, db)
	return s, err
}

// Migrate brings the schema of a database up to date, as Open does, and nothing else:
// it makes no account and needs no audit key. It returns where the schema stood and
// stands. ErrNewerSchema where a newer program has been at it.
func Migrate(ctx context.Context, where string) (from, to Schema, err error) {
	if from, err = SchemaOf(ctx, where); err != nil {
		return from, from, err
	}
	open := sqlstore.OpenSQLite
	if isPostgres(where) {
		open = sqlstore.OpenPostgres
	}
	db, err := open(ctx, where, core.SystemClock{}, 0)
	if err != nil {
		return from, from, err
	}
	return from, Schema{from.Known, from.Known}, db.Close()
}

// BackupInfo tells of a backup that was made.
type BackupInfo struct {
	Bytes  int64 // how large the file is
	Schema int64 // the migration that it stands at
}

// Backup copies the embedded database in a folder, as it stands at one moment, into a
// new file that its owner alone can read; a server may be at work on it. The copy was
// looked through and is on the disk when Backup returns, else there is none. It holds
// every secret of the database, and not the audit key, which is a file of its own.
//
// Errors: ErrBackupExists; ErrBackupElsewhere for a postgres:// URL; fs.ErrNotExist.
func Backup(ctx context.Context, where, to string) (BackupInfo, error) {
	if isPostgres(where) {
		return BackupInfo{}, ErrBackupElsewhere
	}
	var out BackupInfo
	var err error
	out.Bytes, out.Schema, err = sqlstore.Backup(ctx, where, to, core.SystemClock{})
	return out, err
}
