package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/reeve-go/reeve/operator/internal/core"
)

//go:embed migrations/*.sql
var embedded embed.FS

// ErrNewerSchema says that a newer binary has been at this database. An older
// one would misread what it wrote, so it refuses to start.
var ErrNewerSchema = errors.New("the database's schema is newer than this program")

type migration struct {
	version int64
	name    string
	text    string
}

// migrations reads files named NNNN_name.sql. Their numbers must run 1, 2, 3…:
// a hole would let two branches both claim to be next.
func migrations(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "migrations/*.sql") // sorted
	if err != nil {
		return nil, err
	}
	var out []migration
	for i, name := range names {
		number, _, _ := strings.Cut(path.Base(name), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil || version != int64(i+1) {
			return nil, fmt.Errorf("migration %s: want number %04d", name, i+1)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		out = append(out, migration{version, path.Base(name), string(text)})
	}
	return out, nil
}

// migrate brings the schema up to date. Everything, the lock included, happens
// in one transaction: two processes that start at once queue behind each other,
// and one that dies half-way leaves nothing behind. Where nothing is to be done
// no lock is taken, so that opening does not wait for whoever writes.
func migrate(ctx context.Context, db *core.DB, files fs.FS, spell *strings.Replacer, lock string) error {
	all, err := migrations(files)
	if err != nil {
		return err
	}
	if done, err := migrated(ctx, db, len(all)); done || err != nil {
		return err
	}
	return db.InTx(ctx, func(tx core.Tx) error {
		if lock != "" {
			if _, err := tx.Exec(ctx, lock); err != nil {
				return err
			}
		}
		at, err := schemaVersion(ctx, tx, spell)
		if err != nil {
			return err
		}
		if err := notNewer(at, len(all)); err != nil {
			return err
		}
		for _, m := range all[at:] {
			if _, err := tx.Exec(ctx, spell.Replace(m.text)); err != nil {
				return fmt.Errorf("migration %s: %w", m.name, err)
			}
			_, err := tx.Exec(ctx, `insert into reeve_schema (version, name, applied_at) values ($1, $2, $3)`,
				m.version, m.name, tx.Micros())
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// migrated says, without a lock, whether there is nothing to do. What it cannot
// read is left to the transaction.
func migrated(ctx context.Context, db *core.DB, known int) (bool, error) {
	var at int64
	if err := db.View().Get(ctx, &at, `select coalesce(max(version), 0) from reeve_schema`); err != nil {
		return false, nil
	}
	return at == int64(known), notNewer(at, known)
}

func notNewer(at int64, known int) error {
	if at > int64(known) {
		return fmt.Errorf("%w: it stands at %d, this program knows %d; run a newer reeve", ErrNewerSchema, at, known)
	}
	return nil
}

func schemaVersion(ctx context.Context, tx core.Tx, spell *strings.Replacer) (int64, error) {
	_, err := tx.Exec(ctx, spell.Replace(`create table if not exists reeve_schema
		(version {{int}} primary key, name text not null, applied_at {{int}} not null){{strict}}`))
	if err != nil {
		return 0, err
	}
	var at sql.NullInt64
	err = tx.Get(ctx, &at, `select max(version) from reeve_schema`)
	return at.Int64, err
}
