package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// inLine has callers come one after another while the only place is taken, gives it
// back, and tells in which order they had it.
func inLine(t *testing.T, callers []string, urgent func(string) bool) (order []string) {
	synctest.Test(t, func(t *testing.T) {
		q := queue{places: 1}
		leave, err := q.enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for _, name := range callers {
			ctx := t.Context()
			if urgent(name) {
				ctx = Urgent(ctx)
			}
			all.Go(func() {
				leave, err := q.enter(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, name) // whoever has the place is alone
				leave()
			})
			synctest.Wait()
		}
		leave()
		all.Wait()
		if q.taken != 0 || q.waiting() != 0 {
			t.Errorf("%d places are taken, %d wait", q.taken, q.waiting())
		}
	})
	return order
}

func TestWhoeverCameFirstGoesFirst(t *testing.T) {
	var callers []string
	for i := range 200 {
		callers = append(callers, fmt.Sprint(i))
	}
	if got := inLine(t, callers, func(string) bool { return false }); !slices.Equal(got, callers) {
		t.Errorf("they came in another order: %v", got)
	}
}

func TestABrakeGoesBeforeAllThatIsNone(t *testing.T) {
	got := inLine(t, []string{"a", "b", "freeze", "c", "revoke"}, func(name string) bool { return len(name) > 1 })
	if want := []string{"freeze", "revoke", "a", "b", "c"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestManyBrakesDoNotShutEverybodyElseOut(t *testing.T) {
	callers := []string{"a", "b"}
	for range 3 * brakesInARow {
		callers = append(callers, "brake")
	}
	got := inLine(t, callers, func(name string) bool { return name == "brake" })
	if at := slices.Index(got, "a"); at != brakesInARow {
		t.Errorf("who came first is number %d", at)
	}
	if at := slices.Index(got, "b"); at != 2*brakesInARow+1 {
		t.Errorf("who came second is number %d", at)
	}
}

func TestWhoLeavesTheQueueKeepsNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue{places: 1}
		leave, err := q.enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 50 {
			own := ctx
			if i%2 == 0 {
				own = Urgent(ctx)
			}
			all.Go(func() {
				if _, err := q.enter(own); !errors.Is(err, context.Canceled) {
					t.Errorf("%v", err)
				}
			})
		}
		synctest.Wait()
		cancel()
		all.Wait()
		if q.waiting() != 0 {
			t.Errorf("%d still wait", q.waiting())
		}
		leave()
		if leave, err = q.enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		leave()
	})
}

// Whoever leaves just when the place becomes its own hands it on.
func TestNoPlaceIsLostHoweverTheyCrowd(t *testing.T) {
	q := queue{places: 3}
	var all sync.WaitGroup
	var mu sync.Mutex
	inside := 0
	for i := range 400 {
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i%3 == 0 {
				go cancel()
			}
			if i%5 == 0 {
				ctx = Urgent(ctx)
			}
			leave, err := q.enter(ctx)
			if err != nil {
				return
			}
			mu.Lock()
			if inside++; inside > 3 {
				t.Errorf("%d have a place", inside)
			}
			mu.Unlock()
			mu.Lock()
			inside--
			mu.Unlock()
			leave()
		})
	}
	all.Wait()
	if q.taken != 0 || q.waiting() != 0 {
		t.Errorf("%d places are taken, %d wait", q.taken, q.waiting())
	}
}

func TestWithoutPlacesNobodyWaits(t *testing.T) {
	var q queue
	for range 100 {
		if _, err := q.enter(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
