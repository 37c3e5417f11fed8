package sqlstore_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator/internal/core"
	"github.com/reeve-go/reeve/operator/internal/sqlstore"
	"github.com/reeve-go/reeve/operator/operatortest"
)

// hold takes the writer's lock of a database, as another program would, and keeps
// it until the test ends or gives it back.
func hold(t *testing.T, where string) *sql.Tx {
	t.Helper()
	tx, err := operatortest.Database(t, where).Begin()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tx.Rollback() })
	return tx
}

func add(ctx context.Context, db *core.DB, slug string) error {
	return db.InTx(ctx, func(tx core.Tx) error { return addAccount(ctx, tx, slug) })
}

// The lock is given back only after all of them heard: who waited for it, or for
// the one that waits for it, would never return.
func TestAllWhoWaitForABusyWriterHearOfItInTime(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, dir)
	foreign := hold(t, dir)
	db.Patience = 100 * time.Millisecond
	for round := range 2 { // the second time it is known that nobody gets a turn
		var all sync.WaitGroup
		for range 12 {
			all.Go(func() {
				err := add(t.Context(), db, "a")
				var r *core.Refusal
				if !errors.As(err, &r) || r.Reason != core.ReasonUnavailable || !errors.Is(err, core.ErrBusy) || errors.Is(err, context.Canceled) {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		all.Wait()
	}
	if err := foreign.Rollback(); err != nil {
		t.Fatal(err)
	}
	db.Patience = time.Hour
	for _, slug := range []string{"a", "b"} {
		if err := add(t.Context(), db, slug); err != nil {
			t.Errorf("when it is free again: %v", err)
		}
	}
	if n := get(t, db, `select count(*) from reeve_accounts`); n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
}

func TestWhoLeavesTheQueueIsToldOfItsOwnDeadline(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, dir)
	hold(t, dir)
	db.Patience = time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			err := add(ctx, db, "a")
			var r *core.Refusal
			if !errors.Is(err, context.DeadlineExceeded) || errors.As(err, &r) {
				t.Errorf("%v", err)
			}
		})
	}
	all.Wait()
}

func TestATransactionThatHasBegunIsNotCutOffByTheWaitForIt(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		db := mustOpen(t, operatortest.Where(t, store))
		db.Patience = 50 * time.Millisecond
		longer := func(tx core.Tx) error {
			late, cancel := context.WithTimeout(t.Context(), 2*db.Patience)
			defer cancel()
			<-late.Done()
			return addAccount(t.Context(), tx, "a")
		}
		err := db.InTx(t.Context(), longer)
		for errors.Is(err, core.ErrBusy) { // a slow machine may not let it begin in time
			err = db.InTx(t.Context(), longer)
		}
		if err != nil || get(t, db, `select count(*) from reeve_accounts`) != 1 {
			t.Error(err)
		}
	})
}

func TestOpeningDoesNotWaitForWhoeverWrites(t *testing.T) {
	dir := t.TempDir()
	mustOpen(t, dir).Close()
	hold(t, dir)
	db, err := open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if n := get(t, db, `select count(*) from reeve_schema`); n != sqlstore.Newest(t) {
		t.Errorf("%d migrations", n)
	}
}

func TestADatabaseThatCannotBeWrittenIsNotReady(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, dir)
	db.ProbeEvery = time.Nanosecond
	before := operatortest.Fingerprint(t, operatortest.Database(t, dir))
	if err := db.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	foreign := hold(t, dir)
	db.Patience = 50 * time.Millisecond
	if err := db.Ping(t.Context()); !errors.Is(err, core.ErrBusy) {
		t.Errorf("while another program writes: %v", err)
	}
	if err := foreign.Rollback(); err != nil {
		t.Fatal(err)
	}
	db.Patience = time.Hour
	if err := db.Ping(t.Context()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if operatortest.Fingerprint(t, operatortest.Database(t, dir)) != before {
		t.Error("to try it changed a row")
	}
}

func TestWhoAsksWhetherItIsReadyIsAnsweredInTime(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		db := mustOpen(t, operatortest.Where(t, store))
		free := make(chan struct{})
		defer close(free)
		db.Writable = func(context.Context) error { <-free; return nil } // as a driver does whose server stands still
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if err := db.Ping(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

func TestAPostgreSQLThatTakesNoWritesIsNotReady(t *testing.T) {
	where := operatortest.Where(t, "postgres")
	if err := mustOpen(t, where).Ping(t.Context()); err != nil {
		t.Error(err)
	}
	db := operatortest.Database(t, where)
	reader := "reeve_test_reader_" + strings.ToLower(rand.Text())
	execute(t, db, `create role `+reader+` login`, `grant usage on schema public to `+reader, `grant select on all tables in schema public to `+reader)
	t.Cleanup(func() { execute(t, db, `drop owned by `+reader, `drop role `+reader) })
	as, err := url.Parse(where)
	if err != nil {
		t.Fatal(err)
	}
	as.User = url.User(reader)
	if err := mustOpen(t, as.String()).Ping(t.Context()); !errors.Is(err, core.ErrReadOnly) {
		t.Errorf("%v", err)
	}
}

func execute(t *testing.T, db *sql.DB, queries ...string) {
	t.Helper()
	for _, q := range queries {
		if _, err := db.Exec(q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}

func TestTheFirstConnectionIsTriedUntilItsCallerLeaves(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tries := 0
	err := sqlstore.Patiently(ctx, func() error {
		if tries++; tries == 3 {
			cancel()
		}
		return busy{5}
	})
	if !errors.Is(err, context.Canceled) || tries != 3 {
		t.Errorf("%v after %d tries", err, tries)
	}
	tries = 0
	err = sqlstore.Patiently(t.Context(), func() error {
		if tries++; tries < 3 {
			return busy{5}
		}
		return nil
	})
	if err != nil || tries != 3 {
		t.Errorf("%v after %d tries", err, tries)
	}
}
