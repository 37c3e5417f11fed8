package hook

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/reeve-go/reeve/operator"
)

// ErrSpec is what every error of Parse is: the line is no hook.
var ErrSpec = errors.New("not a hook")

const (
	// urlTimeout is how long a URL may take to answer for a job.
	urlTimeout = 60 * time.Second
	// noticeTimeout is shorter than a relay holds a notice, so that no second
	// process tries it while the first still does.
	noticeTimeout = 30 * time.Second

	// maxOutcome is how much of what a hook says is kept, in bytes.
	maxOutcome = 4000
	// maxResponse is how much of a response is read, in bytes.
	maxResponse = 64 << 10
)

// Options adjusts a hook. A nil *Options is all zero values.
type Options struct {
	// Timeout bounds one run for a job. What is stopped by it half-way is of
	// unknown outcome. 0: 60 s for a URL, and no bound for a command, whose
	// worker keeps the lease for as long as it runs. A notice never gets more
	// than 30 s.
	Timeout time.Duration

	// Environ is what a command inherits, as NAME=value. Names that begin with
	// REEVE_TOKEN, and REEVE_DATABASE_URL, are left out: they open what the
	// command has no business with. Nil: the process's own environment.
	Environ []string
}

// Hook is a parsed hook. It never changes and is safe for concurrent use.
type Hook struct {
	transport transport
	timeout   time.Duration // 0: the transport's own
}

// transport carries a message to a hook and says what it answered.
type transport interface {
	send(ctx context.Context, m message) (outcome string, err error)
	patience() time.Duration // how long a job may take; 0: no bound
	reach(ctx context.Context) error
}

// message is what a hook is given.
type message struct {
	body    []byte
	environ []string          // for a command
	headers map[string]string // for a URL
}

// Parse reads a hook from its one line. Every error wraps ErrSpec and says what
// to write instead.
func Parse(spec string, opts *Options) (*Hook, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	transport, err := parse(spec, o)
	if err != nil {
		return nil, err
	}
	return &Hook{transport: transport, timeout: o.Timeout}, nil
}

func parse(spec string, o Options) (transport, error) {
	if line, ok := strings.CutPrefix(spec, "exec:"); ok {
		if strings.TrimSpace(line) == "" || strings.ContainsRune(line, 0) {
			return nil, fmt.Errorf("%w: exec: needs a command after it, as in exec:./pay.sh", ErrSpec)
		}
		return &command{line: line, environ: inherited(o.Environ)}, nil
	}
	address := spec
	if rest, ok := strings.CutPrefix(spec, "http:"); ok && !strings.HasPrefix(rest, "//") {
		address = rest
	}
	if !strings.HasPrefix(address, "http://") && !strings.HasPrefix(address, "https://") {
		return nil, fmt.Errorf("%w: write exec:COMMAND, or an address that begins with http:// or https://", ErrSpec)
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Fragment != "" {
		// The address is not repeated: it may hold a password.
		return nil, fmt.Errorf("%w: the address must be http://host/path or https://host/path, with no fragment", ErrSpec)
	}
	return newEndpoint(u), nil
}

// Run carries a job out and says what came of it; it is made to be the Run of an
// operator.Handler. An error means that nothing was done, unless it wraps
// operator.ErrOutcomeUnknown: then nobody knows.
func (h *Hook) Run(ctx context.Context, job operator.Job) (outcome string, err error) {
	if job.Intent.Payload == nil {
		return "", errors.New("the job came without its action, so there is nothing to carry out")
	}
	body, err := json.Marshal(job.Intent.Payload)
	if err != nil {
		return "", fmt.Errorf("the action could not be written as JSON: %w", err)
	}
	ctx, cancel := within(ctx, h.timeout, h.transport.patience())
	defer cancel()
	id := strconv.FormatInt(job.Intent.ID, 10)
	return h.transport.send(ctx, message{
		body: body,
		environ: []string{
			"REEVE_INTENT_ID=" + id,
			"REEVE_ACTION_TYPE=" + job.Intent.ActionType,
			"REEVE_DIGEST=" + job.Intent.Digest,
			"REEVE_IDEMPOTENCY_KEY=" + job.IdempotencyKey,
			"REEVE_EXECUTION_KEY=" + job.ExecutionKey,
		},
		headers: map[string]string{
			"Reeve-Intent-Id":     id,
			"Reeve-Digest":        job.Intent.Digest,
			"Reeve-Execution-Key": job.ExecutionKey,
			"Idempotency-Key":     job.IdempotencyKey,
		},
	})
}

// Notify delivers a notice; it is made for Operator.Relay, which tries again
// after any error.
func (h *Hook) Notify(ctx context.Context, n operator.Notice) error {
	body, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("the notice could not be written as JSON: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, noticeTimeout)
	defer cancel()
	_, err = h.transport.send(ctx, message{
		body:    body,
		environ: []string{"REEVE_MESSAGE_KEY=" + n.Key},
		headers: map[string]string{"Reeve-Message-Key": n.Key},
	})
	return err
}

// within bounds ctx by the first of the limits that is not zero.
func within(ctx context.Context, limits ...time.Duration) (context.Context, context.CancelFunc) {
	for _, limit := range limits {
		if limit > 0 {
			return context.WithTimeout(ctx, limit)
		}
	}
	return context.WithCancel(ctx)
}

// unknown is an outcome that nobody can tell.
func unknown(format string, args ...any) error {
	return fmt.Errorf("%w: %w", operator.ErrOutcomeUnknown, fmt.Errorf(format, args...))
}

// said is what a hook said, fit to be kept: valid UTF-8 of bounded length.
func said(text []byte) string {
	s := strings.TrimSpace(strings.ToValidUTF8(string(text), "\uFFFD"))
	if len(s) <= maxOutcome {
		return s
	}
	return strings.ToValidUTF8(s[:maxOutcome-len("…")], "") + "…"
}
