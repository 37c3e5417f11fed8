package restadapter

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"strings"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

// schedule is what the adapter needs of a *powers.Schedule.
type schedule interface {
	Tools() []*powers.Tool
	Acts() []*powers.Act
	Authenticate(context.Context, powers.Presented) (powers.Caller, *powers.Answer)
	Permit(context.Context, powers.Caller, *powers.Tool) *powers.Answer
	PermitAct(context.Context, powers.Caller, *powers.Act) *powers.Answer
	CallRoute(context.Context, powers.Caller, string, *powers.Route, []byte) powers.Answer
	CallAct(context.Context, powers.Caller, *powers.Act, []byte) powers.Answer
	Refuse(context.Context, powers.Caller, string, error) powers.Answer
	Admit(context.Context, powers.Caller, string) *powers.Answer
}

// adapter is the handler: both tables, behind the doors.
type adapter struct {
	schedule schedule
	opts     Options
	doors    *powers.Doors
	mux      *http.ServeMux
}

// New serves the schedule and the acts under /v1, their description at /openapi.json,
// and /healthz and /readyz. The handler expects the whole path, so it is mounted at
// "/", or at "/v1/" and the other three addresses. It is safe for any number of requests at once.
//
// An error says which option, or which row of a table, cannot be served.
func New(s *powers.Schedule, opts *Options) (http.Handler, error) {
	if s == nil {
		return nil, errors.New("restadapter: New needs a schedule")
	}
	return newAdapter(s, opts)
}

func newAdapter(s schedule, opts *Options) (*adapter, error) {
	o, err := opts.settled()
	if err != nil {
		return nil, err
	}
	d, err := powers.NewDoors(o.AllowedHosts, o.AllowedOrigins)
	if err != nil {
		return nil, err
	}
	a := &adapter{schedule: s, opts: o, doors: d}
	found, err := a.resources()
	if err != nil {
		return nil, err
	}
	a.mux, err = a.newMux(found)
	return a, err
}

// newMux registers each path once, for every method: what a wrong method is
// answered with is for us to say. The mux panics where two paths could both
// match a request, which only a mistake in the tables can cause.
func (a *adapter) newMux(found []*resource) (mux *http.ServeMux, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("restadapter: the routes do not fit together: %v", r)
		}
	}()
	mux = http.NewServeMux()
	for _, res := range found {
		mux.Handle(res.path, a.entry(func(x *exchange) { a.serve(x, res) }))
	}
	mux.Handle("/", a.entry(a.notFound))
	return mux, nil
}

type exchangeKey struct{}

// entry hands a request that the mux has matched to f, with what the path holds.
func (a *adapter) entry(f func(*exchange)) http.Handler {
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		x := r.Context().Value(exchangeKey{}).(*exchange)
		x.r = r
		f(x)
	})
}

func (a *adapter) log() *slog.Logger { return a.opts.Logger }

// ServeHTTP answers one request.
func (a *adapter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{a: a, w: w, action: actionNone, start: a.opts.Now(),
		caller: powers.Stranger(powers.FaceREST, rand.Text(), r.RemoteAddr)}
	x.r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	defer x.logged()
	defer x.recovered()
	h := w.Header()
	h.Set("X-Request-Id", x.id())
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	powers.CloseChunked(h, r)
	switch {
	case r.URL.Path == livePath || r.URL.Path == readyPath:
		x.route = r.URL.Path
		a.probe(x)
	case !a.enter(x):
	case !isCanonical(r.URL.Path):
		a.notFound(x) // the mux would redirect, and turn a POST into a GET
	default:
		a.mux.ServeHTTP(w, x.r)
	}
}

func isCanonical(p string) bool {
	clean := path.Clean(p)
	return strings.HasPrefix(p, "/") && (p == clean || p == clean+"/")
}

// enter judges where a request comes from, before anything else: a page that
// must not be here shall not learn whether its credential is good.
func (a *adapter) enter(x *exchange) bool {
	origins := x.r.Header.Values("Origin")
	if !a.doors.Host(x.r.Host) {
		x.refuse(operator.Refuse(operator.ReasonForeignOrigin, "This server does not answer to the name in the Host header."))
		return false
	}
	if !a.doors.Origin(origins) {
		x.refuse(operator.Refuse(operator.ReasonForeignOrigin, "Pages of this Origin may not call this server."))
		return false
	}
	powers.LetRead(x.w.Header(), origins)
	return true
}

// authenticate finds out who is calling, or answers that nobody is.
func (a *adapter) authenticate(x *exchange) bool {
	caller, refused := a.schedule.Authenticate(x.r.Context(), powers.Presented{
		Authorization: x.r.Header.Values("Authorization"),
		RawQuery:      x.r.URL.RawQuery,
		Face:          powers.FaceREST,
		RequestID:     x.id(),
		RemoteAddr:    x.r.RemoteAddr,
		Action:        x.action,
		Once:          true,
	})
	if refused != nil {
		x.answer(*refused)
		return false
	}
	x.caller = caller
	x.w.Header().Set("X-Reeve-Version", a.opts.Version)
	return true
}

// notFound answers for every address that no table has. Under /v1 it does so
// only to those who proved who they are.
func (a *adapter) notFound(x *exchange) {
	if p := x.r.URL.Path; (p == "/v1" || strings.HasPrefix(p, "/v1/")) && !a.authenticate(x) {
		return
	}
	refusal := operator.Refuse(operator.ReasonNotFound, "There is nothing at this address.")
	refusal.Recovery = []operator.Step{{Kind: "correct_arguments", Change: "Use one of the routes that GET /v1/tools lists, or a documented act."}}
	x.refuse(refusal)
}
