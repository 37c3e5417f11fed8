package operator

import "sync"

// signal wakes everyone who waits in this process when something was committed.
// It is coalesced (a thousand changes wake a waiter once) and only a hint: other
// processes commit too, so whoever waits also polls.
type signal struct {
	mu sync.Mutex
	ch chan struct{}
}

func newSignal() *signal { return &signal{ch: make(chan struct{})} }

// wait gives a channel that is closed at the next change. Take it before looking
// at the database, or a change between the two is slept through.
func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ch
}

func (s *signal) raise() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.ch)
	s.ch = make(chan struct{})
}

// stopper is closed once, by whoever drains first.
type stopper struct {
	once sync.Once
	ch   chan struct{}
}

func newStopper() *stopper { return &stopper{ch: make(chan struct{})} }

func (s *stopper) stop() { s.once.Do(func() { close(s.ch) }) }
