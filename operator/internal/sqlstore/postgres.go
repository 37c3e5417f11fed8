package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/reeve-go/reeve/operator/internal/core"
)

// Bounds of the connections to PostgreSQL.
const (
	writers = 16 // transactions of this process that write at once
	readers = 4  // connections beside them, so that who looks does not queue behind who writes

	// longestLockWait is how long a statement waits for what somebody else holds. It
	// is longer than PostgreSQL takes to find a deadlock (1 s).
	longestLockWait = 2 * time.Second
	// idleInTransaction is when PostgreSQL ends a session of ours that stands still in
	// a transaction, and with it the locks of a process that was stopped.
	idleInTransaction = 15 * time.Second
)

// OpenPostgres opens a PostgreSQL database by its URL. Any number of processes
// may share one.
//
// patience is that of core.DB, and 0 its default. No statement waits longer than a
// fraction of it for what others hold, and no session stands still in a transaction
// for long. PostgreSQL sees to both, by settings that each connection is begun with;
// one that the URL names is left as it is. A pooler that takes no settings has to be
// told to pass them over, and the role to have them.
func OpenPostgres(ctx context.Context, rawURL string, clock core.Clock, patience time.Duration) (*core.DB, error) {
	db, err := reachPostgres(ctx, rawURL, clock, patience)
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, db, embedded, postgresSpelling, postgresLock); err != nil {
		return nil, errors.Join(core.Explain("", err), db.Close())
	}
	db.Writable = takesWrites(db)
	return db, nil
}

func reachPostgres(ctx context.Context, rawURL string, clock core.Clock, patience time.Duration) (*core.DB, error) {
	lock := lockWait(patience)
	source := withSettings(rawURL, map[string]time.Duration{"lock_timeout": lock, "idle_in_transaction_session_timeout": idleInTransaction})
	pool, err := sqlx.Open("postgres", source)
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", withoutSecret(err, rawURL, source))
	}
	pool.SetMaxOpenConns(writers + readers)
	pool.SetMaxIdleConns(writers + readers)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	db := &core.DB{Write: pool, Read: pool, Dialect: postgresDialect, Clock: clock, Patience: patience, LockWait: lock}
	db.Writers(writers)
	if err := pool.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("reach PostgreSQL: %w", pooled(withoutSecret(err, rawURL, source))), db.Close())
	}
	return db, nil
}

// lockWait leaves time to try again within the patience. Zero would be for ever.
func lockWait(patience time.Duration) time.Duration {
	if patience <= 0 {
		patience = core.DefaultPatience
	}
	return max(min(longestLockWait, patience/4).Truncate(time.Millisecond), time.Millisecond)
}

// withSettings adds the settings that a connection is begun with to a URL, or to the
// other spelling that the driver knows, unless they are named there already. What
// cannot be read is left to the driver.
func withSettings(source string, settings map[string]time.Duration) string {
	isURL := strings.HasPrefix(source, "postgres://") || strings.HasPrefix(source, "postgresql://")
	u, err := url.Parse(source)
	if isURL && err != nil {
		return source
	}
	for name, value := range settings {
		if strings.Contains(source, name) || strings.Contains(os.Getenv("PGOPTIONS"), name) {
			continue
		}
		ms := strconv.FormatInt(value.Milliseconds(), 10)
		if !isURL {
			source += " " + name + "=" + ms
			continue
		}
		if u.RawQuery != "" {
			u.RawQuery += "&"
		}
		u.RawQuery += name + "=" + ms
	}
	if isURL {
		return u.String()
	}
	return source
}

// pooled adds what to do where a pooler in between takes no settings.
func pooled(err error) error {
	if strings.Contains(err.Error(), "unsupported startup parameter") {
		return fmt.Errorf("%w; let the pooler pass it over (PgBouncer: ignore_startup_parameters), and set lock_timeout and idle_in_transaction_session_timeout for the role", err)
	}
	return err
}

// withoutSecret keeps a driver from repeating a URL that holds a password.
func withoutSecret(err error, sources ...string) error {
	var unreadable *url.Error // quotes the URL, in a spelling that need not be the one given
	if errors.As(err, &unreadable) {
		return errUnreadable
	}
	for _, source := range sources {
		if strings.Contains(err.Error(), source) {
			return errUnreadable
		}
	}
	return err
}

var errUnreadable = errors.New("it could not be read; want postgres://user@host/database")
