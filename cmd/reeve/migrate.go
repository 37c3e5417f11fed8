package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/alecthomas/kong"

	"github.com/reeve-go/reeve/operator"
)

type migrateCmd struct {
	Dir         string `default:"./reeve-data" placeholder:"DIR" help:"Folder of the embedded database; ${default} when left out."`
	DatabaseURL string `name:"database-url" placeholder:"URL" help:"PostgreSQL in place of the folder, as postgres://user@host/database. Where it holds a password, set it in the environment: everybody on the machine can see arguments."`
	Check       bool   `help:"Change nothing: say where the schema stands, and end with 1 where it is behind."`
}

func (*migrateCmd) Help() string {
	return `"reeve serve" does the same when it starts; this is for who wants it done first, and to know. Make a backup before. A server of an older version that is at work on the database meanwhile says 503 on /readyz from then on, and has to be replaced.

    reeve migrate --check
    reeve backup --to before.db && reeve migrate`
}

func (m *migrateCmd) Run(k *kong.Context, c console) error {
	d := database{Dir: m.Dir, DatabaseURL: m.DatabaseURL}
	where, err := d.where(k)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if m.Check {
		return m.check(ctx, c, d, where)
	}
	from, to, err := operator.Migrate(ctx, where)
	if err != nil {
		return d.unopened(where, err)
	}
	if from.At == to.At {
		_, err = fmt.Fprintf(c.out, "The schema stands at %d; there was nothing to do.\n", to.At)
		return err
	}
	_, err = fmt.Fprintf(c.out, "The schema was brought from %d to %d.\n", from.At, to.At)
	return err
}

// checkWithin bounds a look that changes nothing.
const checkWithin = 15 * time.Second

func (m *migrateCmd) check(ctx context.Context, c console, d database, where string) error {
	ctx, cancel := context.WithTimeout(ctx, checkWithin)
	defer cancel()
	s, err := operator.SchemaOf(ctx, where)
	switch {
	case err != nil:
		return d.unopened(where, err)
	case s.At > s.Known:
		return fmt.Errorf("%w: it stands at %d, this program knows %d; run a newer reeve", operator.ErrNewerSchema, s.At, s.Known)
	case s.At < s.Known:
		return fmt.Errorf("the schema stands at %d, and this program's is %d: \"reeve migrate\" brings it there", s.At, s.Known)
	}
	_, err = fmt.Fprintf(c.out, "The schema stands at %d, as this program's.\n", s.At)
	return err
}

// unopened tells why a database could not be opened.
func (d database) unopened(where string, err error) error {
	if where != d.DatabaseURL && errors.Is(err, fs.ErrNotExist) {
		return noDatabase(where)
	}
	return d.unwritable(where, err)
}
