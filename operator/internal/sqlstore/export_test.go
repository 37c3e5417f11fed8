package sqlstore

import (
	"context"
	"io/fs"
	"testing"

	"github.com/reeve-go/reeve/operator/internal/core"
)

// Newest is the number of the last migration.
func Newest(t testing.TB) int64 {
	t.Helper()
	all, err := migrations(embedded)
	if err != nil || len(all) == 0 {
		t.Fatalf("migrations: %v", err)
	}
	return all[len(all)-1].version
}

// Migrate runs the migrations of files on a database that is open.
func Migrate(ctx context.Context, db *core.DB, files fs.FS) error {
	spelling, lock := sqliteSpelling, ""
	if db.Dialect.Name == "postgres" {
		spelling, lock = postgresSpelling, postgresLock
	}
	return migrate(ctx, db, files, spelling, lock)
}

// Patiently is how the first connection is tried.
func Patiently(ctx context.Context, open func() error) error { return patiently(ctx, "file", open) }
