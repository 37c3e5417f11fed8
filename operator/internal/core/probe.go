package core

import (
	"context"
	"sync"
	"time"
)

// probeEvery is how often, at most, it is tried whether the database can be written.
const probeEvery = time.Second

// probe remembers a while whether the database could be written, so that those who
// ask cannot load it.
type probe struct {
	mu      sync.Mutex
	running chan struct{} // closed when the try under way has ended; nil: there is none
	at      time.Time     // of the last try that came to an end
	err     error
}

// once answers what the last try found, and tries again where that is longer ago
// than every (0: a second). One caller tries; the others wait for it.
func (p *probe) once(ctx context.Context, every time.Duration, try func(context.Context) error) error {
	if every <= 0 {
		every = probeEvery
	}
	for {
		p.mu.Lock()
		if !p.at.IsZero() && time.Since(p.at) < every {
			defer p.mu.Unlock()
			return p.err
		}
		running := p.running
		if running == nil {
			p.running = make(chan struct{})
			p.mu.Unlock()
			return p.run(ctx, try)
		}
		p.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-running:
		}
	}
}

func (p *probe) run(ctx context.Context, try func(context.Context) error) error {
	err := context.Canceled // of a try that panics
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		close(p.running)
		p.running = nil
		if err == nil || ctx.Err() == nil { // what was cut off says nothing of the database
			p.at, p.err = time.Now(), err
		}
	}()
	err = try(ctx)
	return err
}
