package mcpadapter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

// Why a request was given up. They are causes of contexts, and told apart by
// errors.Is.
var (
	errCancelled = errors.New("the host takes the request back")
	errStopping  = errors.New("the bridge stops")
	errTooSlow   = errors.New("the server took too long")
)

// session is one run of a bridge.
type session struct {
	*Bridge
	out   *lineWriter
	slots chan struct{} // one per message under way
	group sync.WaitGroup

	// under is what every request runs under. It outlives the input, and ends with
	// the grace.
	under context.Context
	cut   context.CancelCauseFunc

	mu         sync.Mutex
	underWay   map[*exchange]struct{}
	negotiated string // protocol version of the last handshake's answer, or empty
	spoken     string // protocol version that was named last, by either side
}

func newSession(b *Bridge, out io.Writer) *session {
	s := &session{Bridge: b, out: newLineWriter(out), slots: make(chan struct{}, maxUnderWay), underWay: map[*exchange]struct{}{}}
	s.under, s.cut = context.WithCancelCause(context.Background())
	return s
}

// read is a line of the input, or the error after the last one.
type read struct {
	line line
	err  error
}

// readAll takes lines until there are none, ctx ends, or nothing can be written
// any more.
func (s *session) readAll(ctx context.Context, in io.Reader) error {
	done := make(chan struct{})
	defer close(done)
	lines := make(chan read)
	go readLines(in, lines, done)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.out.broken:
			return nil
		case r := <-lines:
			switch {
			case errors.Is(r.err, io.EOF):
				return nil
			case r.err != nil:
				return fmt.Errorf("the input cannot be read: %w", r.err)
			}
			s.take(ctx, r.line)
		}
	}
}

func readLines(in io.Reader, lines chan<- read, done <-chan struct{}) {
	r := newLineReader(in, DefaultMaxBody)
	for {
		l, err := r.next()
		select {
		case lines <- read{l, err}:
		case <-done:
			return
		}
		if err != nil {
			return
		}
	}
}

// take begins to answer one line, once there is room for it.
func (s *session) take(ctx context.Context, l line) {
	if l.blank() {
		return
	}
	if l.tooLong != nil {
		s.out.write((&exchange{id: l.tooLong.found()}).refusal(jsonrpc.CodeInvalidRequest, powers.Unrecorded(actionNone,
			operator.Refuse(operator.ReasonTooLarge, "A message must not be longer than %d bytes.", DefaultMaxBody))))
		return
	}
	x := newExchange(l.text, s.versions())
	switch {
	case x.response:
		s.opts.Logger.Warn("a response was left aside: the server asks nothing")
		return
	case x.takesBack:
		s.cancel(x.key())
		return
	}
	select {
	case s.slots <- struct{}{}:
		s.start(x)
	case <-s.out.broken:
	case <-ctx.Done():
		s.write(x, s.outage(x, errStopping))
	}
}

func (s *session) start(x *exchange) {
	ctx, cancel := context.WithCancelCause(s.under)
	x.cancel = cancel
	ctx, free := context.WithTimeoutCause(ctx, s.opts.AnswerTimeout, errTooSlow)
	s.mu.Lock()
	s.underWay[x] = struct{}{}
	if slices.Contains(mcp.SupportedProtocolVersions(), x.version) {
		s.spoken = x.version
	}
	s.mu.Unlock()
	s.group.Go(func() {
		defer func() { <-s.slots }()
		defer cancel(nil)
		defer free()
		answer := s.exchange(ctx, x)
		s.mu.Lock()
		delete(s.underWay, x)
		s.mu.Unlock()
		if errors.Is(context.Cause(ctx), errCancelled) {
			return // who takes a request back waits for no answer
		}
		s.write(x, answer)
	})
}

// write writes an answer, where one is due.
func (s *session) write(x *exchange, answer []byte) {
	if !x.silent {
		s.out.write(answer)
	}
}

// cancel gives up the request of that key, if there is one under way.
func (s *session) cancel(key string) {
	if key == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for x := range s.underWay {
		if !x.silent && x.key() == key {
			x.cancel(errCancelled)
		}
	}
}

func (s *session) versions() versions {
	s.mu.Lock()
	defer s.mu.Unlock()
	return versions{s.negotiated, s.spoken}
}

// settle keeps the version that a handshake came to.
func (s *session) settle(version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.negotiated, s.spoken = version, version
}

// drain waits for what is under way, cuts off what takes too long, and gives up
// what cannot even be written.
func (s *session) drain() error {
	defer s.cut(errStopping)
	finished := make(chan struct{})
	go func() { s.group.Wait(); close(finished) }()
	if !s.wait(finished, s.opts.Grace) {
		s.opts.Logger.Warn("some requests were cut off", "after", s.opts.Grace.String())
	}
	s.cut(errStopping)
	ended := s.waitFinished(finished, lastWords)
	if err := s.out.fault(); err != nil {
		return fmt.Errorf("the answers cannot be written: %w", err)
	}
	if !ended {
		return errors.New("the answers cannot be written: nobody reads them")
	}
	return nil
}

// wait says whether everything was finished in time, or nothing matters any more.
func (s *session) wait(finished <-chan struct{}, within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-finished:
	case <-s.out.broken:
	case <-timer.C:
		return false
	}
	return true
}

func (s *session) waitFinished(finished <-chan struct{}, within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-finished:
		return true
	case <-timer.C:
		return false
	}
}
