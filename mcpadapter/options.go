package mcpadapter

import (
	"fmt"
	"log/slog"
	"regexp"
	"time"
)

const (
	// DefaultMaxBody is the most a request's body may hold, in bytes.
	DefaultMaxBody = 1 << 20
	// DefaultBodyTimeout is how long a client may take to send its whole body.
	DefaultBodyTimeout = 10 * time.Second
	// DefaultWriteTimeout is how long a client may take to receive a part of an answer.
	DefaultWriteTimeout = 30 * time.Second

	// maxName is the longest tool name that goes out, in bytes, prefix included.
	// Hosts put their own prefix before it and stop at 64.
	maxName = 40
)

// Options are the settings of the adapter. A nil *Options is all zero values.
type Options struct {
	// Version is told to clients beside the server's name, "reeve".
	// Empty: "dev".
	Version string

	// ToolPrefix stands before every tool's name, as in "acme_" for
	// "acme_operator_state". It matches [a-z][a-z0-9_]*, and no name may grow
	// beyond 40 bytes by it. Empty: the names of the schedule as they are.
	ToolPrefix string

	// Logger gets faults of our own and warnings of the SDK, never a credential
	// and never a call's content. Nil: nothing is logged.
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

	// BodyTimeout is how long a client may take to send its whole body. 0:
	// DefaultBodyTimeout. It takes hold by a read deadline, so the
	// http.ResponseWriter must allow one, as those of net/http do.
	BodyTimeout time.Duration

	// WriteTimeout is how long a client may take to receive each part of an answer,
	// from when it is ready; waiting for a person does not count. 0:
	// DefaultWriteTimeout.
	WriteTimeout time.Duration
}

var prefixForm = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

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
	return s, s.check()
}

func (o *Options) check() error {
	if o.ToolPrefix != "" && !prefixForm.MatchString(o.ToolPrefix) {
		return fmt.Errorf("mcpadapter: Options.ToolPrefix %q must match [a-z][a-z0-9_]*", o.ToolPrefix)
	}
	if o.MaxBody < 1 || o.MaxBody > DefaultMaxBody {
		return fmt.Errorf("mcpadapter: Options.MaxBody is %d, must be from 1 to %d bytes", o.MaxBody, DefaultMaxBody)
	}
	if o.WriteTimeout < 0 {
		return fmt.Errorf("mcpadapter: Options.WriteTimeout is %s, must be positive", o.WriteTimeout)
	}
	if o.BodyTimeout < 0 {
		return fmt.Errorf("mcpadapter: Options.BodyTimeout is %s, must be positive", o.BodyTimeout)
	}
	return nil
}
