package core

import (
	"container/list"
	"context"
	"sync"
)

// The queue for a turn to write. database/sql hands a connection to any one of those
// who wait for it, so under load somebody may wait very long while others come and
// go. Here whoever came first goes first, except that a brake goes before all that
// is none: to stop something must not wait for what it would stop.
//
// Whoever holds a place begins one transaction, and gives the place back when that
// has ended. A turn is one transaction: one that lost a race queues again.

// brakesInARow bounds how many brakes pass somebody who waits. Brakes are cheap for
// who makes them, and must not be a way to keep everybody else from writing.
const brakesInARow = 16

type urgentKey struct{}

// Urgent marks what is done with ctx as a brake: its transactions go first.
func Urgent(ctx context.Context) context.Context { return context.WithValue(ctx, urgentKey{}, true) }

func isUrgent(ctx context.Context) bool { return ctx.Value(urgentKey{}) != nil }

// queue has a number of places, and two lines of those who wait for one. The zero
// value has any number of places.
type queue struct {
	mu             sync.Mutex
	places         int // 0: any number
	taken          int
	brakes, others list.List // of chan struct{}, closed once the place is its own
	passed         int       // brakes in a row that went before somebody else
}

// enter waits for a place until ctx ends, whose error it is then. leave gives the
// place back, and is called once.
func (q *queue) enter(ctx context.Context) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	q.mu.Lock()
	if q.places == 0 || q.taken < q.places {
		q.taken++
		q.mu.Unlock()
		return q.leave, nil
	}
	line := &q.others
	if isUrgent(ctx) {
		line = &q.brakes
	}
	mine := make(chan struct{})
	at := line.PushBack(mine)
	q.mu.Unlock()
	select {
	case <-mine:
		return q.leave, nil
	case <-ctx.Done():
		q.withdraw(line, at, mine)
		return nil, ctx.Err()
	}
}

// withdraw takes somebody out of a line, or hands on the place that was given to it
// just then.
func (q *queue) withdraw(line *list.List, at *list.Element, mine chan struct{}) {
	q.mu.Lock()
	select {
	case <-mine:
		q.mu.Unlock()
		q.leave()
		return
	default:
	}
	line.Remove(at)
	q.mu.Unlock()
}

// leave hands a place to whoever is next, or keeps it for who comes.
func (q *queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	line := q.next()
	if line == nil {
		q.taken--
		return
	}
	close(line.Remove(line.Front()).(chan struct{}))
}

func (q *queue) next() *list.List {
	switch {
	case q.brakes.Len() > 0 && (q.others.Len() == 0 || q.passed < brakesInARow):
		q.passed++
		return &q.brakes
	case q.others.Len() > 0:
		q.passed = 0
		return &q.others
	}
	return nil
}

// waiting is how many wait.
func (q *queue) waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.brakes.Len() + q.others.Len()
}
