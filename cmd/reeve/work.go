package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/hook"
)

type workCmd struct {
	database   `embed:""`
	Handler    []string      `required:"" sep:"none" placeholder:"TYPE=HOOK" help:"What carries actions of a type out: TYPE=exec:COMMAND or TYPE=http:URL. May be repeated."`
	Idempotent []string      `placeholder:"TYPE" help:"A type whose handler may safely run twice with one key, and is run again after a crash. May be repeated."`
	Once       bool          `help:"Work off what is ready, then end."`
	Lease      time.Duration `default:"30s" help:"How long a job is held without a sign of life, in whole seconds from 1s to 1h; ${default} when left out."`
	Grace      time.Duration `default:"10s" help:"How long the running job may go on after SIGINT or SIGTERM; ${default} when left out."`
	Name       string        `default:"worker" placeholder:"NAME" help:"This worker's name in the record; ${default} when left out."`
	Project    string        `placeholder:"NAME" help:"The project to work in; default when left out."`
}

func (*workCmd) Help() string {
	return `A command is run by sh, with the action as JSON on its standard input and REEVE_INTENT_ID, REEVE_DIGEST, REEVE_ACTION_TYPE, REEVE_IDEMPOTENCY_KEY and REEVE_EXECUTION_KEY in its environment. Exit code 0 says that it was done, another one that nothing was; a command that is killed leaves the outcome unknown, for a person to settle. An address gets the same by POST: 2xx is done, 4xx is not, 5xx is unknown.

    reeve work --handler 'spend=exec:./pay.sh' --handler send=https://mail.example/hook
    reeve work --once --handler note=exec:cat --idempotent note

It works on the database itself and needs no credential. SIGINT and SIGTERM let the running job finish, within --grace; what is then still running is stopped, and its outcome is unknown.`
}

func (w *workCmd) Run(k *kong.Context, c console) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	log := slog.New(slog.NewJSONHandler(c.err, nil))
	handlers, err := w.handlers(log)
	if err != nil {
		return err
	}
	traces, err := traced(ctx, log)
	if err != nil {
		return err
	}
	defer closeTracing(traces, log)
	for name, h := range handlers {
		h.Run = traces.Job(h.Run)
		handlers[name] = h
	}
	op, err := w.open(ctx, k, &operator.Options{Logger: log})
	if err != nil {
		return err
	}
	defer op.Close()
	worker, err := op.LocalWorker(ctx, "", w.Project, w.Name)
	if err != nil {
		return err
	}
	return op.Work(ctx, worker, handlers, &operator.WorkOptions{Lease: w.Lease, Grace: w.Grace, Once: w.Once})
}

// handlers reads the flags into what a worker is given.
func (w *workCmd) handlers(log *slog.Logger) (map[string]operator.Handler, error) {
	if w.Lease < time.Second || w.Lease > operator.MaxLease || w.Lease%time.Second != 0 {
		return nil, usagef("--lease is a number of whole seconds from 1s to 1h")
	}
	handlers := map[string]operator.Handler{}
	for _, flag := range w.Handler {
		name, spec, ok := strings.Cut(flag, "=")
		if !ok || name == "" {
			return nil, usagef("--handler is TYPE=exec:COMMAND or TYPE=http:URL")
		}
		if _, twice := handlers[name]; twice {
			return nil, usagef("--handler names %q twice", name)
		}
		h, err := hook.Parse(spec, nil)
		if err != nil {
			return nil, usagef("--handler %s: %s", name, err)
		}
		handlers[name] = operator.Handler{Idempotent: slices.Contains(w.Idempotent, name), Run: logged(log, h.Run)}
	}
	for _, name := range w.Idempotent {
		if _, ok := handlers[name]; !ok {
			return nil, usagef("--idempotent names %q, which has no --handler", name)
		}
	}
	return handlers, nil
}

// runner carries a job out.
type runner func(ctx context.Context, job operator.Job) (outcome string, err error)

// logged says in the log what became of each job, without its content.
func logged(log *slog.Logger, run runner) runner {
	return func(ctx context.Context, job operator.Job) (string, error) {
		outcome, err := run(ctx, job)
		result := "succeeded"
		switch {
		case errors.Is(err, operator.ErrOutcomeUnknown):
			result = "unknown"
		case err != nil:
			result = "failed"
		}
		log.Info("carried out", "intent", job.Intent.ID, "type", job.Intent.ActionType, "result", result)
		return outcome, err
	}
}
