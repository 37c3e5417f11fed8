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
	errUnsent    = errors.New("the bridge stopped before it was sent on")
	errCrowded   = errors.New("too many messages wait")
)

// session is one run of a bridge.
type session struct {
	*Bridge
	out      *lineWriter
	refusing chan struct{} // one per refusal of the bridge's own that is being written
	group    sync.WaitGroup

	// under is what every request runs under. It outlives the input, and ends with
	// the grace.
	under context.Context
	cut   context.CancelCauseFunc

	mu         sync.Mutex
	underWay   map[*exchange]struct{}
	busy       int // goroutines that answer, one message after the other
	waiting    []*exchange
	bytes      int    // of what waits
	negotiated string // protocol version of the last handshake's answer, or empty
	spoken     string // protocol version that was named last, by either side
}

func newSession(b *Bridge, out io.Writer) *session {
	s := &session{Bridge: b, out: newLineWriter(out), refusing: make(chan struct{}, maxUnderWay), underWay: map[*exchange]struct{}{}}
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
			s.group.Go(s.refuseWaiting)
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

// take begins to answer one line, or has it wait.
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
	if !s.admit(x) {
		s.refuse(ctx, x)
	}
}

// admit gives a message to a goroutine, or to the queue, or says that there is no
// room for it.
func (s *session) admit(x *exchange) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.busy < maxUnderWay:
		s.busy++
		s.begin(x)
		s.group.Go(func() { s.work(x) })
	case len(s.waiting) < maxWaiting && s.bytes+len(x.body) <= maxWaitingBytes:
		s.waiting = append(s.waiting, x)
		s.bytes += len(x.body)
	default:
		return false
	}
	return true
}

// refuse answers what there is no room for, beside the reading: whoever does not read
// its answers shall be able to end the input all the same.
func (s *session) refuse(ctx context.Context, x *exchange) {
	select {
	case s.refusing <- struct{}{}:
		s.group.Go(func() {
			defer func() { <-s.refusing }()
			s.write(x, s.outage(x, errCrowded))
		})
	case <-s.out.broken:
	case <-ctx.Done():
	}
}

// begin notes, under the lock, that a message is under way: from here on it can be
// taken back.
func (s *session) begin(x *exchange) {
	x.under, x.cancel = context.WithCancelCause(s.under)
	s.underWay[x] = struct{}{}
	if slices.Contains(mcp.SupportedProtocolVersions(), x.version) {
		s.spoken = x.version
	}
}

// work answers a message, and then what waits, until nothing does.
func (s *session) work(x *exchange) {
	for unsent := false; x != nil; x, unsent = s.next() {
		if unsent {
			s.write(x, s.outage(x, errUnsent))
			continue
		}
		s.answer(x)
	}
}

// next takes a message out of the queue, and says whether it comes too late to be sent
// on. Where there is none, or nothing can be written any more, its caller is no longer
// busy.
func (s *session) next() (x *exchange, unsent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 || s.out.fault() != nil {
		s.busy--
		return nil, false
	}
	x = s.waiting[0]
	s.waiting[0] = nil
	s.waiting = s.waiting[1:]
	s.bytes -= len(x.body)
	if context.Cause(s.under) != nil {
		return x, true
	}
	// What was agreed on since it came holds for it as well.
	x = newExchange(x.body, versions{s.negotiated, s.spoken})
	s.begin(x)
	return x, false
}

// refuseWaiting answers everything that waits without sending it on.
func (s *session) refuseWaiting() {
	s.mu.Lock()
	waiting := s.waiting
	s.waiting, s.bytes = nil, 0
	s.mu.Unlock()
	for _, x := range waiting {
		s.write(x, s.outage(x, errUnsent))
	}
}

func (s *session) answer(x *exchange) {
	defer x.cancel(nil)
	ctx, free := context.WithTimeoutCause(x.under, s.opts.AnswerTimeout, errTooSlow)
	defer free()
	answer := s.exchange(ctx, x)
	s.mu.Lock()
	delete(s.underWay, x)
	s.mu.Unlock()
	if errors.Is(context.Cause(ctx), errCancelled) {
		return // who takes a request back waits for no answer
	}
	s.write(x, answer)
}

// write writes an answer, where one is due.
func (s *session) write(x *exchange, answer []byte) {
	if !x.silent {
		s.out.write(answer)
	}
}

// cancel gives up the request of that key, if there is one under way or waiting.
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
	s.waiting = slices.DeleteFunc(s.waiting, func(x *exchange) bool {
		taken := !x.silent && x.key() == key
		if taken {
			s.bytes -= len(x.body)
		}
		return taken
	})
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
