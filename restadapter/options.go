package restadapter

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

const (
	// DefaultMaxBody is the most a request's body may hold, in bytes. The
	// schedule's decoder takes no more.
	DefaultMaxBody = 1 << 20
	// DefaultBodyTimeout is how long a client may take to send its whole body.
	DefaultBodyTimeout = 10 * time.Second
	// DefaultWriteTimeout is how long a client may take to receive one answer.
	DefaultWriteTimeout = 30 * time.Second
)

// Options are the settings of the adapter. A nil *Options is all zero values.
type Options struct {
	// Version is told to callers who proved a credential, in the header
	// X-Reeve-Version. Empty: "dev".
	Version string

	// Logger gets one line per request at Info, and faults of our own at Error;
	// never a credential, a query or a body. Nil: nothing is logged.
	Logger *slog.Logger

	// AllowedHosts are names that the Host header may carry besides loopback
	// ones: "reeve.example" with any port, "reeve.example:8443" with that one.
	// Empty: loopback names only.
	AllowedHosts []string

	// AllowedOrigins are web origins (RFC 6454) whose pages may call, besides
	// loopback ones, as in "https://app.example". Empty: pages of loopback
	// origins only. A request without an Origin is no page's and is fine.
	AllowedOrigins []string

	// MaxBody is the most a request's body may hold, in bytes, from 1 to
	// DefaultMaxBody. 0: DefaultMaxBody.
	MaxBody int64

	// BodyTimeout is how long a client may take to send its whole body, from
	// when reading it begins. 0: DefaultBodyTimeout.
	BodyTimeout time.Duration

	// WriteTimeout is how long a client may take to receive one answer, from
	// when it is ready; waiting for a person does not count. 0:
	// DefaultWriteTimeout.
	WriteTimeout time.Duration

	// Ready says whether the database answers, for /readyz; usually
	// Operator.Ping. Its error is logged and not shown. It is given five
	// seconds. Nil: always ready.
	Ready func(context.Context) error

	// Metrics are the process's figures as Prometheus' text, for GET /metrics: a
	// person's or a worker's credential with the scope state:read gets them. An
	// error that is a refusal is told as such. Nil: there is no such address.
	Metrics func(context.Context) ([]byte, error)

	// Now is the machine's clock, for deadlines and for durations in the log.
	// It must advance as that clock does. Nil: time.Now.
	Now func() time.Time
}

// settled is the options with every zero value replaced by what it stands for.
func (o *Options) settled() (Options, error) {
	var s Options
	if o != nil {
		s = *o
	}
	if s.Version == "" {
		s.Version = "dev"
	}
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	if s.MaxBody == 0 {
		s.MaxBody = DefaultMaxBody
	}
	if s.BodyTimeout == 0 {
		s.BodyTimeout = DefaultBodyTimeout
	}
	if s.WriteTimeout == 0 {
		s.WriteTimeout = DefaultWriteTimeout
	}
	if s.Ready == nil {
		s.Ready = func(context.Context) error { return nil }
	}
	if s.Now == nil {
		s.Now = time.Now
	}
	return s, s.check()
}

func (o *Options) check() error {
	if o.MaxBody < 1 || o.MaxBody > DefaultMaxBody {
		return fmt.Errorf("restadapter: Options.MaxBody is %d, must be from 1 to %d bytes", o.MaxBody, DefaultMaxBody)
	}
	if o.BodyTimeout < 0 {
		return fmt.Errorf("restadapter: Options.BodyTimeout is %s, must be positive", o.BodyTimeout)
	}
	if o.WriteTimeout < 0 {
		return fmt.Errorf("restadapter: Options.WriteTimeout is %s, must be positive", o.WriteTimeout)
	}
	return nil
}
