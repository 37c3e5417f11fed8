package mcpadapter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"
)

const (
	// DefaultGrace is how long answers under way are waited for once the input has
	// ended.
	DefaultGrace = 30 * time.Second
	// DefaultAnswerTimeout is how long a server may take to answer one message. It
	// is longer than the longest wait for a person's decision.
	DefaultAnswerTimeout = 2 * time.Minute

	// maxUnderWay is how many messages are answered side by side. The others wait, in
	// the order in which they came: reading goes on, so that a request can be taken back
	// and the end of the input is seen, whatever is under way.
	maxUnderWay = 16
	// maxWaiting and maxWaitingBytes bound what waits. What comes beyond is refused.
	maxWaiting      = 1000
	maxWaitingBytes = 4 << 20

	// lastWords is how long what was cut off has for saying so.
	lastWords = time.Second
)

// ErrCredential is a credential that cannot be one: empty, or with something in
// it that no header can carry.
var ErrCredential = errors.New("the credential is empty, or holds what no credential holds")

// Bridge carries MCP between a host that starts a command and talks to it over
// standard input and output, and a server that answers over HTTP.
//
// It decides nothing. Each line is one JSON-RPC message and is sent on as it is,
// in a request of its own, so that the server judges it as it judges every other
// one. The bridge keeps the stream: no line ends it, and a request is always
// answered, also where the server is down.
type Bridge struct {
	endpoint  *url.URL
	token     string
	transport http.RoundTripper
	opts      BridgeOptions
}

// BridgeOptions are the settings of a bridge. A nil *BridgeOptions is all zero
// values.
type BridgeOptions struct {
	// Logger gets what went wrong on the way, never a credential and never a
	// message's content. Nil: nothing is logged.
	Logger *slog.Logger

	// PlainHTTP lets the credential cross the network unencrypted. False: http is
	// for loopback addresses alone, everything else wants https.
	PlainHTTP bool

	// AnswerTimeout is how long the server may take to answer one message. 0:
	// DefaultAnswerTimeout.
	AnswerTimeout time.Duration

	// Grace is how long answers under way are waited for once the input has ended,
	// or the context has. 0: DefaultGrace.
	Grace time.Duration
}

// NewBridge bridges to the server at an address, such as http://127.0.0.1:3401 or
// https://reeve.example/mcp; without a path it is /mcp. token is the credential
// that every message is sent with, to that address and no other: no redirect is
// followed.
//
// The error is ErrCredential, or says what is wrong with the address or an option.
func NewBridge(address, token string, opts *BridgeOptions) (*Bridge, error) {
	b, err := newBridge(token, opts)
	if err != nil {
		return nil, err
	}
	if b.endpoint, err = endpoint(address, b.opts.PlainHTTP); err != nil {
		return nil, err
	}
	b.transport = overNetwork(b.endpoint)
	return b, nil
}

// NewLocalBridge bridges to a handler of [New] in this process. It takes the same
// way as a bridge to a server does, credential included.
func NewLocalBridge(handler http.Handler, token string, opts *BridgeOptions) (*Bridge, error) {
	b, err := newBridge(token, opts)
	if err != nil {
		return nil, err
	}
	b.endpoint = &url.URL{Scheme: "http", Host: "localhost", Path: defaultPath}
	b.transport = inProcess{handler}
	return b, nil
}

func newBridge(token string, opts *BridgeOptions) (*Bridge, error) {
	if !isCredential(token) {
		return nil, ErrCredential
	}
	b := &Bridge{token: token}
	if opts != nil {
		b.opts = *opts
	}
	if b.opts.Logger == nil {
		b.opts.Logger = slog.New(slog.DiscardHandler)
	}
	if b.opts.AnswerTimeout == 0 {
		b.opts.AnswerTimeout = DefaultAnswerTimeout
	}
	if b.opts.Grace == 0 {
		b.opts.Grace = DefaultGrace
	}
	if b.opts.AnswerTimeout < 0 || b.opts.Grace < 0 {
		return nil, fmt.Errorf("mcpadapter: BridgeOptions.AnswerTimeout is %s and Grace is %s, must be positive", b.opts.AnswerTimeout, b.opts.Grace)
	}
	return b, nil
}

// isCredential holds a token to what a header carries unchanged (RFC 6750, 2.1).
func isCredential(token string) bool {
	for _, c := range []byte(token) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return token != ""
}

// Run reads messages from in, one a line, and writes each answer to out as one
// line, in the order in which they come about. Nothing else is written to out. At
// most 16 messages are under way at once, and at most 1000, of 4 MiB in all, wait for
// their turn; what comes beyond is answered as unavailable.
//
// It ends when in does, or ctx: no more is read then, and what is under way is
// answered within the grace, and so is what waits where it was in that ended; what is
// not is cut off, and answered as unavailable. Then it returns nil. An error says that in could not be read or out not be
// written.
//
// Reading cannot be interrupted. Where ctx ends first, one read of in is left
// behind, and returns when in next yields something or ends.
func (b *Bridge) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	s := newSession(b, out)
	unread := s.readAll(ctx, in)
	unwritten := s.drain()
	if t, ok := b.transport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
	return errors.Join(unread, unwritten)
}
