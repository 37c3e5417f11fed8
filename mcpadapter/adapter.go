package mcpadapter

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

// schedule is what the adapter needs of a *powers.Schedule.
type schedule interface {
	Tools() []*powers.Tool
	Visible(operator.Principal, powers.Face) []*powers.Tool
	Authenticate(context.Context, powers.Presented) (powers.Caller, *powers.Answer)
	Call(context.Context, powers.Caller, string, []byte) powers.Answer
	Refuse(context.Context, powers.Caller, string, error) powers.Answer
	Admit(context.Context, powers.Caller, string) *powers.Answer
	RefuseCall(context.Context, powers.Caller, string, []byte, error) powers.Answer
}

// adapter is the part that knows no transport: one server for everybody, the
// listing, and the middleware that tells callers apart.
type adapter struct {
	schedule schedule
	catalog  *catalog
	server   *mcp.Server
	log      *slog.Logger
}

// New serves the schedule as MCP over streamable HTTP, stateless. The handler
// answers on whatever path it is mounted, usually /mcp, and is safe for any
// number of requests at once.
//
// An error says which option, or which row of the schedule, cannot be served.
func New(s *powers.Schedule, opts *Options) (http.Handler, error) {
	return newHandler(s, opts)
}

func newHandler(s schedule, opts *Options) (http.Handler, error) {
	o, err := opts.settled()
	if err != nil {
		return nil, err
	}
	a, err := newAdapter(s, o)
	if err != nil {
		return nil, err
	}
	return newFront(a, o)
}

func newAdapter(s schedule, o Options) (*adapter, error) {
	c, err := newCatalog(s.Tools(), o.ToolPrefix)
	if err != nil {
		return nil, err
	}
	a := &adapter{schedule: s, catalog: c, log: o.Logger}
	a.server = a.newServer(o)
	return a, nil
}

// inbound is one request on its way through the SDK. It travels in the context,
// under a key that nothing outside this package can name, so no header, no
// _meta and no argument can take its place.
type inbound struct {
	caller powers.Caller

	// gone ends when the client leaves. The SDK cuts its own contexts off from
	// that, so it is carried along and joined again in the middleware.
	gone context.Context

	body      []byte         // the whole message, once it has arrived
	tool      string         // the tool's name as the client wrote it
	arguments []byte         // the call's arguments, which the SDK never sees
	keys      []string       // the call's idempotency keys, as they came
	refused   *powers.Answer // what was decided before the SDK was asked, if anything
	told      atomic.Pointer[powers.Answer]
}

type inboundKey struct{}

func withInbound(ctx context.Context, in *inbound) context.Context {
	return context.WithValue(ctx, inboundKey{}, in)
}

// inboundOf finds the request in ctx, or nil. Nil means that a request came in
// by a way that authenticates nobody, and must be refused.
func inboundOf(ctx context.Context) *inbound {
	in, _ := ctx.Value(inboundKey{}).(*inbound)
	return in
}

// joined is ctx that ends also when the client leaves.
func (in *inbound) joined(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(in.gone, cancel)
	return ctx, func() { stop(); cancel() }
}
