package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// ErrOutcomeUnknown is what a handler returns when it cannot tell whether it
// acted: the far side hung up, a command was killed half-way. The intent is then
// left to lapse, and becomes unknown or, where the handler is declared
// idempotent, ready again.
var ErrOutcomeUnknown = errors.New("it cannot be told whether the action was carried out")

// Handler carries one type of action out.
type Handler struct {
	// Run acts on a job and says in a few words what came of it. An error means
	// that nothing was done; ErrOutcomeUnknown, wrapped or not, that nobody knows.
	Run func(ctx context.Context, job Job) (outcome string, err error)
	// Idempotent says that running twice with one key does no more than running
	// once. Only such a handler is ever run again by itself.
	Idempotent bool
}

// WorkOptions adjusts a worker. The zero value is good for production.
type WorkOptions struct {
	Lease time.Duration // how long a claim outlives a dead worker, in whole seconds up to MaxLease, as Claim has it; 0: DefaultLease
	Poll  time.Duration // how often to look for work that another process made; 0: 500 ms
	Grace time.Duration // how long a running handler may go on once ctx has ended; 0: it is stopped at once
	Once  bool          // work off what is ready, then return
}

// Work claims intents of the types that handlers names and carries each out,
// one at a time, until ctx ends or, with Once, nothing is ready. It ends also where
// the worker's credential was taken back or has expired, with that refusal: each
// claim, extension and report asks for it. While a handler
// runs its lease is extended; a worker that dies leaves it to lapse. Meanwhile the
// record is sealed, where this process has the key.
func (op *Operator) Work(ctx context.Context, p Principal, handlers map[string]Handler, opts *WorkOptions) error {
	w, err := op.worker(p, handlers, opts)
	if err != nil {
		return err
	}
	defer op.sealBeside(ctx)()
	poll := time.NewTicker(w.poll)
	defer poll.Stop()
	for {
		changed := op.changes.wait()
		worked, err := w.next(ctx)
		switch {
		case ctx.Err() != nil:
			if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
				op.log.Error("the last job of a stopping worker", "error", gate.Redact(err.Error()))
			}
			return nil
		case err != nil && (w.once || isDecision(err)):
			return err
		case err != nil:
			// The database may be restarting. A worker that ended for that would
			// have to be started again by hand.
			op.log.Error("the worker could not work", "error", gate.Redact(err.Error()))
		case worked:
			continue
		case w.once:
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-poll.C:
		}
	}
}

// isDecision tells a refusal, which trying again cannot change, from an outage.
func isDecision(err error) bool {
	var r *Refusal
	return errors.As(err, &r) && r.Info().Verdict != core.VerdictUnavailable
}

type worker struct {
	op       *Operator
	p        Principal
	handlers map[string]Handler
	claim    ClaimInput
	lease    time.Duration
	poll     time.Duration
	grace    time.Duration
	once     bool
	frozen   bool // what it was last told
}

func (op *Operator) worker(p Principal, handlers map[string]Handler, opts *WorkOptions) (*worker, error) {
	if err := isWorker(p); err != nil {
		return nil, err
	}
	if len(handlers) == 0 {
		return nil, errors.New("a worker needs at least one handler")
	}
	w := &worker{op: op, p: p, handlers: handlers, poll: 500 * time.Millisecond}
	seconds := int64(DefaultLease / time.Second)
	if opts != nil {
		w.once, w.grace = opts.Once, opts.Grace
		if opts.Lease > 0 {
			seconds = int64(opts.Lease / time.Second)
		}
		if opts.Poll > 0 {
			w.poll = opts.Poll
		}
	}
	// What is kept here and what Claim and Extend hold are one lease, by one bound.
	w.lease = leaseOf(&seconds)
	seconds = int64(w.lease / time.Second)
	w.claim.LeaseSeconds = &seconds
	for name, h := range handlers {
		if h.Run == nil {
			return nil, fmt.Errorf("the handler for %q has no Run", name)
		}
		w.claim.Types = append(w.claim.Types, name)
		if h.Idempotent {
			w.claim.Idempotent = append(w.claim.Idempotent, name)
		}
	}
	slices.Sort(w.claim.Types)
	return w, nil
}

// next carries out at most one intent.
func (w *worker) next(ctx context.Context) (worked bool, err error) {
	asked := time.Now() // the lease begins no earlier
	got, err := w.op.Claim(ctx, w.p, w.claim)
	if err != nil {
		return false, err
	}
	if got.Frozen != w.frozen { // said once, and not at every look
		if w.frozen = got.Frozen; got.Frozen {
			w.op.log.Warn("frozen: nothing that reaches outside is begun", "why", *got.FrozenWhy)
		} else {
			w.op.log.Warn("no longer frozen")
		}
	}
	if got.Job == nil {
		return false, nil
	}
	job := *got.Job
	outcome, err := w.run(ctx, job, asked.Add(w.lease))
	if errors.Is(err, ErrOutcomeUnknown) {
		w.op.log.Warn("outcome unknown", "intent", job.Intent.ID, "error", gate.Redact(err.Error()))
		if w.idempotent(job) && ctx.Err() == nil {
			// It may run again, but not at once and for ever: the rest of the lease
			// is its pause, and other intents have their turn.
			return true, nil
		}
		return true, w.letGo(ctx, job, readable(err.Error()))
	}
	report := ReportInput{ID: job.Intent.ID, FencingToken: job.FencingToken, Status: string(gate.StatusSucceeded), Outcome: outcome}
	if err != nil {
		report.Status, report.Outcome = string(gate.StatusFailed), err.Error()
	}
	report.Outcome = readable(report.Outcome)
	return true, w.report(ctx, report)
}

// run calls the handler while another goroutine keeps the lease. A panic means
// that nobody knows how far the handler came.
func (w *worker) run(ctx context.Context, job Job, until time.Time) (outcome string, err error) {
	ctx, stop := w.jobContext(ctx)
	var keeper sync.WaitGroup
	keeper.Go(func() { w.keep(ctx, stop, job, until) })
	defer keeper.Wait()
	defer stop()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: the handler panicked", ErrOutcomeUnknown)
			w.op.log.Error("handler panicked", "intent", job.Intent.ID, "panic", gate.Redact(fmt.Sprint(r)))
		}
	}()
	outcome, err = w.handlers[job.Intent.ActionType].Run(ctx, job)
	if err != nil && ctx.Err() != nil {
		// It was told to stop in the middle, so its error says nothing of what it did before.
		err = fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}
	return outcome, err
}

// jobContext ends when the worker is told to stop and the grace for it has
// passed, so that what nearly happened happens and is reported.
func (w *worker) jobContext(ctx context.Context) (context.Context, context.CancelFunc) {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-own.Done():
		case <-time.After(w.grace):
			cancel()
		}
	})
	return own, func() { stop(); cancel() }
}

// keep extends the lease three times in its length, and stops the handler when
// the lease is lost, or may be for all that this process can tell: from then on
// somebody else may act.
func (w *worker) keep(ctx context.Context, stop context.CancelFunc, job Job, until time.Time) {
	tick := time.NewTicker(w.lease / 3)
	defer tick.Stop()
	end := time.NewTimer(time.Until(until))
	defer end.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-end.C:
			// The database may be out of reach for this process alone.
			w.op.log.Error("the lease could not be extended; the handler is stopped", "intent", job.Intent.ID)
			stop()
			return
		case <-tick.C:
		}
		asked := time.Now()
		err := w.extend(ctx, job)
		if isDecision(err) {
			// Somebody else has it, or the worker's credential was taken back: the same
			// answer would come again.
			w.op.log.Warn("the lease is not extended; the handler is stopped", "intent", job.Intent.ID, "error", gate.Redact(err.Error()))
			stop()
			return
		}
		if err == nil {
			end.Reset(time.Until(asked.Add(w.lease)))
		}
	}
}

// extend must answer well within the lease, or keep would learn of its end too late.
func (w *worker) extend(ctx context.Context, job Job) error {
	ctx, cancel := context.WithTimeout(ctx, w.lease/3)
	defer cancel()
	_, err := w.op.Extend(ctx, w.p, ExtendInput{ID: job.Intent.ID, FencingToken: job.FencingToken, LeaseSeconds: w.claim.LeaseSeconds})
	return err
}

// report must reach the store even when the worker is being stopped: the effect
// has happened, and an unreported one costs a person's time.
func (w *worker) report(ctx context.Context, in ReportInput) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.lease)
	defer cancel()
	for pause := 50 * time.Millisecond; ; pause *= 2 {
		_, err := w.op.Report(ctx, w.p, in)
		if err == nil || errors.Is(err, ErrStaleToken) {
			return nil // a stale token: the record already says that nobody knows
		}
		if isDecision(err) {
			return fmt.Errorf("report on intent %d: %w", in.ID, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("report on intent %d: %w", in.ID, err)
		case <-time.After(pause):
		}
	}
}

func (w *worker) idempotent(job Job) bool { return w.handlers[job.Intent.ActionType].Idempotent }

// letGo ends the lease at once, so that the store need not wait for it to lapse.
// That has to reach the store also when the worker is being stopped.
func (w *worker) letGo(ctx context.Context, job Job, why string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.lease)
	defer cancel()
	return w.op.inTx(ctx, func(tx core.Tx) error {
		_, err := tx.Exec(ctx, `update reeve_intents set outcome = $3, lease_until = `+tx.Dialect().NowMicros+`
			where id = $1 and status = 'executing' and fencing_token = $2`, job.Intent.ID, job.FencingToken, why)
		if err != nil {
			return err
		}
		_, err = w.op.reclaim(ctx, tx)
		tx.AfterCommit(w.op.changes.raise)
		return err
	})
}

// readable makes a handler's words fit to be stored: redacted, cut, and without
// what could steer a terminal.
func readable(s string) string {
	s = gate.Redact(s)
	out := make([]rune, 0, min(len(s), 4000))
	size := 0
	for _, r := range s {
		if r != '\n' && r != '\t' && gate.CheckText(string(r), gate.Block) != nil && !varies(out, r) {
			r = '\uFFFD'
		}
		if size += len(string(r)); size > 3900 {
			return string(out) + "…"
		}
		out = append(out, r)
	}
	return string(out)
}

// varies says that r is the selector of the character before it, as emoji have one.
func varies(before []rune, r rune) bool {
	n := len(before)
	return r >= 0xFE00 && r <= 0xFE0F && n > 0 && gate.CheckText(string([]rune{before[n-1], r}), gate.Block) == nil
}
