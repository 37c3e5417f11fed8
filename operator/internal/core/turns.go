package core

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"
)

// DefaultPatience bounds how long a transaction waits for its turn. A caller hears
// within ten seconds that the store is busy: after this, and after the short wait
// of the row that records its refusal.
const DefaultPatience = 8 * time.Second

// maxTries bounds how often a transaction that lost a race inside the database
// is run again before the caller is told to retry.
const maxTries = 8

// lessPatience divides the wait of everybody who comes while nobody gets a turn.
const lessPatience = 8

// errWaited is the end of a wait for a turn, in the queue or at the database's lock.
var errWaited = errors.New("its turn did not come in time")

type brieflyKey struct{}

// Briefly is for what somebody else waits for already: a transaction with ctx has a
// fraction of the patience.
func Briefly(ctx context.Context) context.Context { return context.WithValue(ctx, brieflyKey{}, true) }

// turns is the queue for a turn, and knows whether transactions get to begin at all.
type turns struct {
	queue queue
	begun atomic.Uint64 // how many did
	stuck atomic.Bool   // somebody's whole wait went by without any
}

// wait is one caller's wait for its turn, and for the rows that others hold, over all
// its tries.
type wait struct {
	turns *turns
	begun uint64 // when it started to wait
	until time.Time
	lock  time.Duration // how long the database lets it wait for one row; 0: it does not say
}

func (t *turns) wait(ctx context.Context, patience, lock time.Duration) wait {
	if patience <= 0 {
		patience = DefaultPatience
	}
	if t.stuck.Load() || ctx.Value(brieflyKey{}) != nil {
		patience /= lessPatience
	}
	return wait{turns: t, begun: t.begun.Load(), until: time.Now().Add(patience), lock: lock}
}

func (w wait) over() bool { return !time.Now().Before(w.until) }

// again says whether there is time for another try after one that ended with err. Who
// waited for a row would wait as long again, and however often, while there is time
// for the whole of it; races are a number of tries.
func (w wait) again(err error, try int) bool {
	if isHeld(err) {
		return time.Until(w.until) > w.lock
	}
	return try < maxTries && !w.over()
}

// fruitless notes that a wait ended in vain.
func (w wait) fruitless() {
	if w.over() && w.turns.begun.Load() == w.begun {
		w.turns.stuck.Store(true)
	}
}

// begin begins a transaction, or leaves the queue when the wait is over. What has
// begun lives as long as ctx, whatever the wait; end must be called after it.
func (w wait) begin(ctx context.Context, pool *sqlx.DB, opts *sql.TxOptions) (tx *sql.Tx, end func(), err error) {
	waiting, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(time.Until(w.until), cancel)
	leave, err := w.turns.queue.enter(waiting)
	if err == nil {
		tx, err = pool.BeginTx(waiting, opts)
	}
	inTime := timer.Stop()
	if err == nil && inTime {
		w.turns.begun.Add(1)
		if w.turns.stuck.Load() {
			w.turns.stuck.Store(false)
		}
		return tx, func() { cancel(); leave() }, nil
	}
	defer cancel()
	if leave != nil {
		defer leave()
	}
	if err == nil { // it began just when the wait was over
		tx.Rollback()
		return nil, nil, errWaited
	}
	if !inTime && ctx.Err() == nil && errors.Is(err, context.Canceled) {
		return nil, nil, errWaited
	}
	return nil, nil, err
}

// pause lets others go first, longer from try to try.
func (w wait) pause(ctx context.Context, try int) {
	pause := time.Duration(1+rand.IntN(4<<min(try, maxTries))) * time.Millisecond
	timer := time.NewTimer(min(pause, time.Until(w.until)))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
