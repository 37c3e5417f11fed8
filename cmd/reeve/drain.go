package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/hook"
	"github.com/reeve-go/reeve/operator/powers"
)

const (
	// longestDrain bounds --drain-delay: nobody waits longer for a proxy.
	longestDrain = 5 * time.Minute
	// lastSeal is how long a stopping server may seal what it did.
	lastSeal = 5 * time.Second
)

// running is a server and what runs beside it.
type running struct {
	op       *operator.Operator
	schedule *powers.Schedule
	server   *http.Server
	listener net.Listener
	notify   *hook.Hook // nil: nobody is told
	watched  *watched
	policy   *policyFile // nil: none is followed
}

// until runs the server, and what keeps the record true beside it, until ctx
// ends; then it drains. What runs beside goes on until the last request was answered.
func (s *serveCmd) until(ctx context.Context, r *running) error {
	beside, enough := context.WithCancel(context.WithoutCancel(ctx))
	defer enough()
	group, stop := errgroup.WithContext(ctx)
	group.Go(func() error { return served(r.server.Serve(r.listener)) })
	group.Go(func() error {
		<-stop.Done()
		defer enough()
		return r.drain(s.DrainDelay)
	})
	group.Go(func() error {
		r.op.Tend(beside, tendEvery)
		return nil
	})
	group.Go(func() error {
		r.schedule.Tend(beside, tendEvery)
		return nil
	})
	group.Go(func() error { return r.watched.serve(beside) })
	if r.policy != nil {
		followed := make(chan struct{})
		defer func() { <-followed }()
		// Not in the group: a graph of calls would take what a tool starts in a group
		// of its own for this.
		go func() { defer close(followed); r.policy.watchUntil(stop) }()
	}
	if r.notify != nil {
		group.Go(func() error { return r.op.Relay(beside, r.watched.metrics.Notices(r.notify.Notify)) })
	}
	err := group.Wait()
	r.seal()
	return err
}

func served(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("the server stopped: %w", err)
}

// drain says at once that the server is not ready any more, takes requests for the
// delay, then lets what is under way be answered, and cuts off what takes too long.
func (r *running) drain(delay time.Duration) error {
	log := r.op.Logger()
	r.watched.draining.Store(true)
	log.Info("stopping", "delay", delay.String())
	time.Sleep(delay)
	ctx, cancel := context.WithTimeout(context.Background(), drainWithin)
	defer cancel()
	err := r.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		log.Warn("some requests were cut off", "after", drainWithin.String())
		return r.server.Close()
	}
	return err
}

// seal seals what was recorded last, so that none of it waits for the next start.
func (r *running) seal() {
	ctx, cancel := context.WithTimeout(context.Background(), lastSeal)
	defer cancel()
	if _, err := r.op.Seal(ctx); err != nil {
		r.op.Logger().Error("the record could not be sealed", "error", err)
	}
}
