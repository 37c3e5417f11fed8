package sqlstore

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"

	"github.com/reeve-go/reeve/operator/internal/core"
)

// pinned is the connection that stays open as long as the database. Whoever closes
// the last one takes the log away, and then nobody could tell whether it is still
// the log that was written to.
type pinned struct {
	conn  *sqlx.Conn
	watch *watch // nil until the files are watched
}

// Close ends the watch before the connection: SQLite takes the log away itself.
func (p *pinned) Close() error {
	if p.watch != nil {
		watching.remove(p.watch)
	}
	return p.conn.Close()
}

// pin makes that connection, and watches the files from then on.
func pin(ctx context.Context, db *core.DB) error {
	conn, err := db.Read.Connx(ctx)
	if err != nil {
		return err
	}
	if db.Pinned != nil {
		db.Pinned.Close() // of a try before
	}
	pinned := &pinned{conn: conn}
	db.Pinned = pinned
	var mode string
	if err := conn.GetContext(ctx, &mode, `pragma journal_mode`); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("SQLite cannot keep a write-ahead log in this folder (journal mode %s): use a local disk", mode)
	}
	var version int64
	if err := conn.GetContext(ctx, &version, `select max(version) from reeve_schema`); err != nil {
		return err
	}
	if pinned.watch, err = newWatch(db.File, pinned); err != nil {
		return err
	}
	db.Intact = pinned.watch.intact
	return nil
}

// The sizes of a log's header, and of the header of each page in it.
const (
	logHeader  = 32
	pageHeader = 24
)

func (p *pinned) pragma(name string) (n int64, err error) {
	err = p.conn.GetContext(context.Background(), &n, `pragma `+name)
	return n, err
}

// checkpoint tells how many pages the log holds, and how many of them were moved
// into the database; it moves none.
func (p *pinned) checkpoint() (pages, moved int64, err error) {
	var busy int64
	err = p.conn.QueryRowContext(context.Background(), `pragma wal_checkpoint(noop)`).Scan(&busy, &pages, &moved)
	return pages, moved, err
}

func (p *pinned) logged() (int64, error) {
	pages, _, err := p.checkpoint()
	if err != nil || pages <= 0 {
		return 0, err
	}
	size, err := p.pragma("page_size")
	return logHeader + pages*(pageHeader+size), err
}

func (p *pinned) stored() (bytes, schema int64, err error) {
	if schema, err = p.pragma("schema_version"); err != nil {
		return 0, 0, err
	}
	logged, moved, err := p.checkpoint()
	if err != nil || logged != moved {
		return 0, schema, err
	}
	size, err := p.pragma("page_size")
	if err != nil {
		return 0, schema, err
	}
	pages, err := p.pragma("page_count")
	return pages * size, schema, err
}

// writable writes the database's header as it stands, and commits. It takes the
// disk to know whether the disk still takes anything.
func writable(db *core.DB) func(context.Context) error {
	return func(ctx context.Context) error {
		return db.InTx(ctx, func(tx core.Tx) error {
			var version int64 // free for users of SQLite; we have no use for it
			if err := tx.Get(ctx, &version, `pragma user_version`); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, fmt.Sprintf(`pragma user_version = %d`, version))
			return err
		})
	}
}

// takesWrites says whether a PostgreSQL server takes writes of ours: a standby answers,
// and does not.
func takesWrites(db *core.DB) func(context.Context) error {
	return func(ctx context.Context) error {
		why, err := Unwritable(ctx, db)
		if err == nil && why != "" {
			err = &core.Fault{Kind: core.ErrReadOnly, What: "(" + why + ")"}
		}
		return err
	}
}

// Unwritable says why a PostgreSQL database takes no writes of ours, "" where it does.
// What the session's default is says nothing: the driver begins each transaction as one
// that writes, and the server refuses that for these reasons alone.
func Unwritable(ctx context.Context, db *core.DB) (why string, err error) {
	err = db.View().Get(ctx, &why, `select case when pg_is_in_recovery() then 'it is a standby'
		when not coalesce(has_table_privilege(to_regclass('reeve_audit'), 'insert'), true) then 'this user may only read' else '' end`)
	return why, err
}
