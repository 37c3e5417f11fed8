package sqlstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/jmoiron/sqlx"

	"github.com/reeve-go/reeve/operator/internal/core"
)

// ErrBackupExists says that there is something under the name of a backup already.
var ErrBackupExists = errors.New("there is a file of that name already")

// Backup copies the database in a folder, as it stands at one moment, into a new file
// that its owner alone can read, beside whoever writes. The copy is looked through
// before it gets its name, and has it whole or not at all. It returns the copy's size
// in bytes, and the migration that it stands at.
func Backup(ctx context.Context, dir, to string, clock core.Clock) (size, schema int64, err error) {
	if exists(to) {
		return 0, 0, fmt.Errorf("%s: %w", to, ErrBackupExists)
	}
	db, err := LookSQLite(ctx, dir, clock)
	if err != nil {
		return 0, 0, err
	}
	defer db.Close()
	from, _, err := Stands(ctx, db)
	if err != nil {
		return 0, 0, err
	}
	part := filepath.Join(filepath.Dir(to), "."+filepath.Base(to)+"."+rand.Text()[:8]+".part")
	defer os.Remove(part)
	if err := copyInto(ctx, db, part); err != nil {
		return 0, 0, err
	}
	if err := sound(ctx, part, from); err != nil {
		return 0, 0, err
	}
	size, err = settle(part, to)
	return size, from, err
}

// copyInto writes the copy. The file is made first, so that it is never readable by
// others; SQLite takes one that is empty.
func copyInto(ctx context.Context, db *core.DB, part string) error {
	f, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	// To SQLite the copy is written by this connection, which opened the database to be
	// read alone all the same.
	if _, err := db.Read.ExecContext(ctx, `pragma query_only = 0`); err != nil {
		return err
	}
	_, err = db.Read.ExecContext(ctx, `vacuum into ?`, part)
	// A full disk is that of the copy, and not the database's.
	return core.Explain(part, err)
}

// sound looks through a copy: that SQLite finds nothing wrong with it, and that it
// stands where the database did.
func sound(ctx context.Context, file string, want int64) error {
	pool, err := sqlx.Open("sqlite", lookingDSN(file))
	if err != nil {
		return err
	}
	defer pool.Close()
	var verdict string
	if err := pool.GetContext(ctx, &verdict, `pragma integrity_check(1)`); err != nil {
		return core.Explain(file, err)
	}
	if verdict != "ok" {
		return &core.Fault{Kind: core.ErrDamaged, Where: file, What: "(the copy: " + verdict + ")"}
	}
	at, _, err := Stands(ctx, &core.DB{Write: pool, Read: pool, Dialect: sqliteDialect, Clock: core.SystemClock{}, File: file})
	if err == nil && at != want {
		err = fmt.Errorf("the copy stands at migration %d and the database at %d: make another", at, want)
	}
	return err
}

// settle puts a copy on the disk, and gives it its name where nothing has it.
func settle(part, to string) (size int64, err error) {
	f, err := os.OpenFile(part, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if err := f.Sync(); err != nil {
		return 0, err
	}
	// A link, unlike a renaming, replaces nothing.
	if err := os.Link(part, to); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return 0, fmt.Errorf("%s: %w", to, ErrBackupExists)
		}
		return 0, err
	}
	if err := os.Remove(part); err != nil {
		return 0, err
	}
	folder, err := os.Open(filepath.Dir(to))
	if err != nil {
		return 0, err
	}
	defer folder.Close()
	return info.Size(), folder.Sync()
}
