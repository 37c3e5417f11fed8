package core

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

func TestHoweverManyAskTheDatabaseIsTriedOnceInAWhile(t *testing.T) {
	var p probe
	tries, fault := 0, errors.New("full")
	try := func(context.Context) error { tries++; return fault }
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if err := p.once(t.Context(), time.Hour, try); !errors.Is(err, fault) {
				t.Errorf("one of them is told %v", err)
			}
		})
	}
	all.Wait()
	if tries != 1 {
		t.Errorf("it was tried %d times", tries)
	}
	fault = nil
	if err := p.once(t.Context(), time.Nanosecond, try); err != nil || tries != 2 {
		t.Errorf("after a while: %v, %d tries", err, tries)
	}
}

func TestATryThatItsCallerCutOffSaysNothingOfTheDatabase(t *testing.T) {
	var p probe
	ctx, cancel := context.WithCancel(t.Context())
	began := make(chan struct{})
	waits := func(ctx context.Context) error { close(began); <-ctx.Done(); return ctx.Err() }
	done := make(chan error)
	go func() { done <- p.once(ctx, time.Hour, waits) }()
	<-began
	gone, leave := context.WithCancel(t.Context())
	leave()
	if err := p.once(gone, time.Hour, waits); !errors.Is(err, context.Canceled) {
		t.Errorf("who leaves while another one tries is told %v", err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("it is told %v", err)
	}
	if err := p.once(t.Context(), time.Hour, func(context.Context) error { return nil }); err != nil {
		t.Errorf("the next one is told %v", err)
	}
}
