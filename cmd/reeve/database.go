package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
)

// defaultDir is where the embedded database lives when nothing else is said.
const defaultDir = "./reeve-data"

// databaseFile is the file that a data folder holds once it is in use.
const databaseFile = "reeve.db"

// database names the database that a command works on.
type database struct {
	Dir         string `default:"./reeve-data" placeholder:"DIR" help:"Folder of the embedded database; ${default} when left out."`
	DatabaseURL string `name:"database-url" placeholder:"URL" help:"PostgreSQL in place of the folder, as postgres://user@host/database. Where it holds a password, set it in the environment: everybody on the machine can see arguments."`
	AuditKey    string `placeholder:"FILE" help:"The key that seals the record; audit.key in the folder when left out. On PostgreSQL this command seals nothing without it, and leaves that to \"reeve serve\"."`
}

// where is the folder or the URL. The one given as a flag wins over the one in
// the environment; two of equal standing are refused, since guessing wrong would
// show one person another database.
func (d database) where(k *kong.Context) (string, error) {
	if d.DatabaseURL == "" {
		return d.folder(), nil
	}
	if !strings.HasPrefix(d.DatabaseURL, "postgres://") && !strings.HasPrefix(d.DatabaseURL, "postgresql://") {
		return "", usagef("a database URL begins with postgres:// or postgresql://; for a folder use --dir")
	}
	dir, url := onCommandLine(k, "dir"), onCommandLine(k, "database-url")
	_, dirSet := os.LookupEnv("REEVE_DIR")
	switch {
	case dir && url:
		return "", usagef("--dir and --database-url name two databases: give one of them")
	case dir:
		return d.folder(), nil
	case url || !dirSet:
		return d.DatabaseURL, nil
	}
	return "", usagef("REEVE_DIR and REEVE_DATABASE_URL name two databases: unset one, or give one as a flag")
}

func (d database) folder() string {
	if d.Dir == "" {
		return defaultDir
	}
	return d.Dir
}

// open opens a database that exists. A folder that holds none is refused: a
// typing error must not make an empty one.
func (d database) open(ctx context.Context, k *kong.Context, opts *operator.Options) (*operator.Operator, error) {
	where, err := d.where(k)
	if err != nil {
		return nil, err
	}
	if where != d.DatabaseURL {
		if _, err := os.Stat(filepath.Join(where, databaseFile)); errors.Is(err, fs.ErrNotExist) {
			return nil, noDatabase(where)
		}
	}
	return d.at(ctx, where, opts)
}

func noDatabase(where string) error {
	return fmt.Errorf("there is no database in %s: make one with \"reeve serve\" or \"reeve init\", or name another folder with --dir", where)
}

// make opens a database, and makes it where there is none.
func (d database) make(ctx context.Context, k *kong.Context, opts *operator.Options) (*operator.Operator, error) {
	where, err := d.where(k)
	if err != nil {
		return nil, err
	}
	return d.at(ctx, where, opts)
}

func (d database) at(ctx context.Context, where string, opts *operator.Options) (*operator.Operator, error) {
	if opts == nil {
		opts = &operator.Options{}
	}
	opts.AuditKey = d.AuditKey
	op, err := operator.Open(ctx, where, opts)
	var key *operator.AuditKeyError
	if errors.As(err, &key) {
		return nil, err
	}
	return op, d.unwritable(where, err)
}

// unwritable tells that a folder cannot be written, if that is what an error is.
func (d database) unwritable(where string, err error) error {
	var path *fs.PathError
	if err != nil && where != d.DatabaseURL && (errors.As(err, &path) || errors.Is(err, syscall.EROFS)) {
		return fmt.Errorf("the folder %s cannot be written (%w): choose another with --dir", where, cause(err))
	}
	return err
}

// cause is the system's own word beneath an error about a file.
func cause(err error) error {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number
	}
	return err
}

// keyFile is the file of the audit key for a command that has to have one, also on
// PostgreSQL.
func (d database) keyFile(k *kong.Context) string {
	if d.AuditKey != "" {
		return d.AuditKey
	}
	if where, err := d.where(k); err != nil || where != d.DatabaseURL {
		return "" // the library's own: in the folder of the database
	}
	return filepath.Join(d.folder(), operator.AuditKeyName)
}

// readPolicy reads and checks a policy file, before anything is opened or made.
func readPolicy(file string) (text []byte, policy *gate.Policy, err error) {
	text, err = readWhole(file)
	if err != nil {
		return nil, nil, fmt.Errorf("the policy file %s cannot be read: %w", file, cause(err))
	}
	if len(gate.FindSecrets(string(text))) > 0 {
		return nil, nil, fmt.Errorf("the policy file %s holds a credential: take it out, and replace that credential", file)
	}
	policy, err = gate.LoadPolicy(file, text)
	if err != nil {
		return nil, nil, fmt.Errorf("the policy file is not valid:\n%w", err)
	}
	return text, policy, nil
}
