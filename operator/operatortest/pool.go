package operatortest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"strings"
	"sync"
)

// pool keeps this process's test databases, emptied between tests. Making and
// dropping one per test would cost more, in fsync, than most tests do.
type pool struct {
	mu    sync.Mutex
	admin *sql.Conn // holds a lock per database for as long as this process lives
	free  []string
}

var databases pool

// poolPrefix begins the name of every pooled database. One whose lock nobody
// holds was left behind by a process that has ended.
const poolPrefix = "reeve_pool_"

func (p *pool) take(server string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ctx := context.Background()
	if p.admin == nil {
		if err := p.begin(ctx, server); err != nil {
			return "", err
		}
	}
	if n := len(p.free); n > 0 {
		name := p.free[n-1]
		p.free = p.free[:n-1]
		return name, nil
	}
	name := poolPrefix + strings.ToLower(rand.Text())
	if _, err := p.admin.ExecContext(ctx, `select pg_advisory_lock(hashtext($1))`, name); err != nil {
		return "", err
	}
	if _, err := p.admin.ExecContext(ctx, `create database `+name); err != nil {
		return "", err
	}
	// What is tested on it is thrown away.
	_, err := p.admin.ExecContext(ctx, `alter database `+name+` set synchronous_commit = off`)
	return name, err
}

// begin connects, and clears away what ended processes left.
func (p *pool) begin(ctx context.Context, server string) error {
	db, err := sql.Open("postgres", server)
	if err != nil {
		return err
	}
	if p.admin, err = db.Conn(ctx); err != nil {
		return errors.Join(err, db.Close())
	}
	rows, err := p.admin.QueryContext(ctx, `select datname from pg_database where datname like 'reeve\_pool\_%'`)
	if err != nil {
		return err
	}
	defer rows.Close()
	names := []string{}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		names = append(names, name)
	}
	for _, name := range names {
		p.clear(ctx, name)
	}
	return rows.Err()
}

func (p *pool) clear(ctx context.Context, name string) {
	var mine bool
	err := p.admin.QueryRowContext(ctx, `select pg_try_advisory_lock(hashtext($1))`, name).Scan(&mine)
	if err != nil || !mine {
		return
	}
	// Where it does not go, the next process tries again.
	_, _ = p.admin.ExecContext(ctx, `drop database if exists `+name+` with (force)`)
	_, _ = p.admin.ExecContext(ctx, `select pg_advisory_unlock(hashtext($1))`, name)
}

// giveBack empties a database for the next test. One that cannot be emptied is
// dropped by a later process.
func (p *pool) giveBack(server, name string) error {
	db, err := sql.Open("postgres", named(server, name))
	if err != nil {
		return err
	}
	defer db.Close()
	// Somebody who is still connected must not keep the test from ending.
	_, err = db.Exec(`select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()`, name)
	if err != nil {
		return err
	}
	_, err = db.Exec(`set lock_timeout = '5s'; drop schema public cascade; create schema public`)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, name)
	return nil
}
