package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/reeve-go/reeve/operator"
)

type backupCmd struct {
	Dir         string `default:"./reeve-data" placeholder:"DIR" help:"Folder of the embedded database; ${default} when left out."`
	DatabaseURL string `name:"database-url" placeholder:"URL" help:"Of a PostgreSQL database, which has tools of its own: it is said which."`
	To          string `required:"" placeholder:"FILE" help:"The file to make. There must be none of that name."`
}

func (*backupCmd) Help() string {
	return `Copies the embedded database as it stands at one moment, also beside a running server, into a new file that only you can read. The copy is looked through and on the disk before it gets its name. It holds everything but the audit key, which is a file of its own: keep a copy of that elsewhere.

    reeve backup --to /backups/reeve-$(date +%F).db

To restore it, stop every program on the database, move the files reeve.db, reeve.db-wal and reeve.db-shm away, copy the backup to reeve.db with mode 600, and start again.`
}

func (b *backupCmd) Run(k *kong.Context, c console) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	d := database{Dir: b.Dir, DatabaseURL: b.DatabaseURL}
	where, err := d.where(k)
	if err != nil {
		return err
	}
	made, err := operator.Backup(ctx, where, b.To)
	switch {
	case errors.Is(err, operator.ErrBackupElsewhere):
		return fmt.Errorf("%w: use \"pg_dump --format=custom --file=reeve.dump\" for a copy of this database, or pg_basebackup and an archive of the log for the whole server; the audit key is not in either, so keep a copy of its file", err)
	case errors.Is(err, operator.ErrBackupExists):
		return fmt.Errorf("there is a file %s already, and a backup replaces nothing: choose another name", b.To)
	case err != nil:
		return d.unsaved(where, b.To, err)
	}
	_, err = fmt.Fprintf(c.out, "%s holds the database as it stood: %d bytes, schema %d, looked through and sound.\n"+
		"It holds no audit key. Keep a copy of %s elsewhere: without it nothing more can be sealed.\n",
		visibleLine(b.To), made.Bytes, made.Schema, visibleLine(filepath.Join(where, operator.AuditKeyName)))
	return err
}

// unsaved tells why there is no backup: for the database, or for where it should go.
func (d database) unsaved(where, to string, err error) error {
	if _, missing := os.Stat(filepath.Join(where, databaseFile)); errors.Is(missing, os.ErrNotExist) {
		return noDatabase(where)
	}
	var path *os.PathError
	if errors.As(err, &path) {
		return fmt.Errorf("no backup was made: %s cannot be written (%w)", to, cause(err))
	}
	return fmt.Errorf("no backup was made: %w", err)
}
