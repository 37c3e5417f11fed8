package mcpadapter

import (
	"crypto/rand"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

// front is what a request meets before the SDK does. It judges where the
// request comes from, who sends it and what it says, and hands the SDK a
// request of its own making: what the SDK is never given it cannot misread.
type front struct {
	*adapter
	doors       *powers.Doors
	maxBody     int64
	bodyTimeout time.Duration
	writing     time.Duration // how long a part of an answer may take to be received
	asJSON      http.Handler
	asStream    http.Handler
}

func newFront(a *adapter, o Options) (*front, error) {
	d, err := powers.NewDoors(o.AllowedHosts, o.AllowedOrigins)
	if err != nil {
		return nil, err
	}
	sdk := func(json bool) http.Handler {
		return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return a.server }, &mcp.StreamableHTTPOptions{
			Stateless:    true,
			JSONResponse: json,
			Logger:       quiet(o.Logger),
			// The doors check Host more strictly, and answer in an envelope.
			DisableLocalhostProtection: true,
		})
	}
	return &front{
		adapter: a, doors: d, maxBody: o.MaxBody, bodyTimeout: o.BodyTimeout, writing: o.WriteTimeout,
		asJSON: sdk(true), asStream: sdk(false),
	}, nil
}

// ServeHTTP answers one request.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	in := &inbound{caller: powers.Stranger(powers.FaceMCP, rand.Text(), r.RemoteAddr), gone: r.Context()}
	w = &replyWriter{ResponseWriter: w, in: in, within: f.writing}
	defer f.recovered(w, r, in)
	h := w.Header()
	h.Set("X-Request-Id", in.caller.RequestID)
	h.Set("X-Content-Type-Options", "nosniff")
	powers.CloseChunked(h, r)
	if !f.enter(w, r, in) || !f.authenticate(w, r, in) {
		return
	}
	body, fail := f.read(w, r)
	if fail != nil {
		f.refuseRPC(w, r, in, fail)
		return
	}
	f.serve(w, r, in, body)
}

// recovered answers a panic of the front itself. What the SDK runs elsewhere is
// guarded by the middleware.
func (f *front) recovered(w http.ResponseWriter, r *http.Request, in *inbound) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler {
		panic(p)
	}
	f.logPanic(in, "http", p)
	abandon(w, r)
	writeRPCError(w, http.StatusInternalServerError, nil, jsonrpc.CodeInternalError, "internal error", broken(actionNone).JSON)
}

// enter judges what can be judged of anybody, before a credential is looked at:
// a page that must not be here shall not learn whether its credential is good.
func (f *front) enter(w http.ResponseWriter, r *http.Request, in *inbound) bool {
	origins := r.Header.Values("Origin")
	if !f.doors.Host(r.Host) {
		f.refuseHTTP(w, r, in, operator.Refuse(operator.ReasonForeignOrigin,
			"This server does not answer to the name in the Host header."))
		return false
	}
	if !f.doors.Origin(origins) {
		f.refuseHTTP(w, r, in, operator.Refuse(operator.ReasonForeignOrigin,
			"Pages of this Origin may not call this server."))
		return false
	}
	powers.LetRead(w.Header(), origins)
	switch r.Method {
	case http.MethodPost:
		return f.isJSON(w, r, in)
	case http.MethodOptions:
		preflight(w, r)
	default:
		w.Header().Set("Allow", allowedMethods)
		f.refuseHTTP(w, r, in, operator.Refuse(operator.ReasonMethod,
			"This address takes POST only: it keeps no session, so there is no stream to open and none to end."))
	}
	return false
}

// isJSON judges the headers that describe the body. UTF-8 is the only charset
// that JSON has between systems (RFC 8259, 8.1).
func (f *front) isJSON(w http.ResponseWriter, r *http.Request, in *inbound) bool {
	// Of two that differ nobody knows which one the sender meant.
	media, params, err := mime.ParseMediaType(one(r.Header, "Content-Type"))
	charset := strings.ToLower(params["charset"])
	plain := slices.Contains([]string{"", "identity"}, strings.ToLower(one(r.Header, "Content-Encoding")))
	if err == nil && media == "application/json" && (charset == "" || charset == "utf-8") && plain {
		return true
	}
	f.refuseHTTP(w, r, in, operator.Refuse(operator.ReasonMediaType,
		"The body must be JSON in UTF-8, uncompressed, sent as Content-Type: application/json."))
	return false
}

func (f *front) authenticate(w http.ResponseWriter, r *http.Request, in *inbound) bool {
	caller, refused := f.schedule.Authenticate(r.Context(), powers.Presented{
		Authorization: r.Header.Values("Authorization"),
		RawQuery:      r.URL.RawQuery,
		Face:          powers.FaceMCP,
		RequestID:     in.caller.RequestID,
		RemoteAddr:    r.RemoteAddr,
		Action:        actionNone,
		Once:          true,
	})
	if refused != nil {
		abandon(w, r)
		writeEnvelope(w, *refused)
		return false
	}
	caller.ToolPrefix = f.catalog.prefix
	in.caller = caller
	return true
}

// serve answers a body that has arrived.
func (f *front) serve(w http.ResponseWriter, r *http.Request, in *inbound, body []byte) {
	in.body = body
	m, fail := parse(body)
	if unspoken := unspoken(r.Header, m, fail); unspoken != nil {
		fail = unspoken
	}
	if fail != nil {
		f.refuseRPC(w, r, in, fail)
		return
	}
	if m.id == nil {
		// Nothing that expects no answer is ever carried out.
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if !declared(m.method) || !existsIn(m.method, newerEra(r.Header)) {
		status := http.StatusOK
		if newerEra(r.Header) {
			status = http.StatusNotFound
		}
		f.refuseRPC(w, r, in, &fault{status: status, code: jsonrpc.CodeMethodNotFound, id: m.id,
			err: operator.Refuse(operator.ReasonUnknownTool, "This server has no such method.")})
		return
	}
	if m.method == methodCallTool {
		if in.tool, in.arguments, fail = m.callOf(); fail != nil {
			f.refuseRPC(w, r, in, fail)
			return
		}
		if in.keys, fail = m.keysOf(r.Header, in.tool); fail != nil {
			f.refuseRPC(w, r, in, fail)
			return
		}
	} else if refused := f.schedule.Admit(r.Context(), in.caller, actionNone); refused != nil {
		writeTooMany(w, m.id, *refused)
		return
	}
	f.pass(w, r, in, m)
}

// refuseRPC tells a refusal of the body: as the result of the call where it is
// sure which call that is, else as a JSON-RPC error with the envelope in it.
func (f *front) refuseRPC(w http.ResponseWriter, r *http.Request, in *inbound, fail *fault) {
	answer := f.refuse(r.Context(), in.caller, f.catalog.action(fail.tool), in.body, fail.err)
	if fail.call {
		in.tool, in.refused = fail.tool, &answer
		f.passRefused(w, r, in, fail.id)
		return
	}
	if answer.Reason == operator.ReasonRateLimited {
		writeTooMany(w, fail.id, answer)
		return
	}
	writeRPCError(w, fail.status, fail.id, fail.code, rpcMessage(fail.code), beside(answer.JSON, fail.more))
}

// refuseHTTP tells a refusal of the request as such, before its body is read.
func (f *front) refuseHTTP(w http.ResponseWriter, r *http.Request, in *inbound, err error) {
	abandon(w, r)
	writeEnvelope(w, f.refuse(r.Context(), in.caller, actionNone, nil, err))
}
