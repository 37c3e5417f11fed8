package restadapter

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

const (
	// actionNone stands in the record where no row of a table was meant.
	actionNone = "rest"

	mediaJSON    = "application/json"
	mediaProblem = "application/problem+json"

	// lingers is how long what is left of an unread body is waited for, so that
	// closing the connection does not take the answer with it.
	lingers = 500 * time.Millisecond
)

// exchange is one request and its answer.
type exchange struct {
	a      *adapter
	w      http.ResponseWriter
	r      *http.Request
	caller powers.Caller // nobody, until the credential was judged
	action string
	route  string // the path as the table has it; "" where none has it
	status int    // 0 until the answer is written
	whole  bool   // the body was read to its end
	quiet  bool   // a probe, not worth a line
	start  time.Time
}

// id is the request's name in the record, the log and the answer.
func (x *exchange) id() string { return x.caller.RequestID }

// refuse answers with the envelope of err, and leaves it in the record.
func (x *exchange) refuse(err error) {
	x.answer(x.a.schedule.Refuse(x.r.Context(), x.caller, x.action, err))
}

func (x *exchange) refuseMethod(allow string) {
	x.w.Header().Set("Allow", allow)
	x.refuse(operator.Refuse(operator.ReasonMethod, "This address takes %s.", allow))
}

// answer writes what the schedule answered, as it is or as a problem.
func (x *exchange) answer(a powers.Answer) {
	h := x.w.Header()
	if a.Challenge != "" {
		h.Set("WWW-Authenticate", a.Challenge)
	}
	if a.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(a.RetryAfter))
	}
	if a.Replayed {
		h.Set("Idempotency-Replayed", "true")
	}
	if !a.OK && a.Status >= http.StatusBadRequest && prefersProblem(x.r.Header.Values("Accept")) {
		x.write(a.Status, mediaProblem, problem(a, x.id()))
		return
	}
	x.write(a.Status, mediaJSON, a.JSON)
}

// write sends an answer whole, within its own deadline. A client that is slow to
// take it holds a goroutine and a connection, and no more than that for so long.
func (x *exchange) write(status int, media string, body []byte) {
	h := x.w.Header()
	h.Set("Content-Type", media)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	x.send(status, body)
}

func (x *exchange) send(status int, body []byte) {
	x.status = status
	control, now := http.NewResponseController(x.w), x.a.opts.Now()
	if x.hasBody() && !x.whole {
		// What was not read must not be taken for the next request, and is not
		// worth reading: net/http would do so before it answers.
		x.w.Header().Set("Connection", "close")
		_ = control.SetReadDeadline(now.Add(lingers))
	}
	_ = control.SetWriteDeadline(now.Add(x.a.opts.WriteTimeout))
	x.w.WriteHeader(status)
	_, _ = x.w.Write(body) // who has left is not told
	_ = control.Flush()
	_ = control.SetWriteDeadline(time.Time{})
}

// recovered answers a panic of the adapter's own; the schedule answers its own.
// Neither the panic's words nor the envelope's are the request's.
func (x *exchange) recovered() {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler {
		panic(p)
	}
	x.a.log().Error("a panic while answering", "request_id", x.id(), "action", x.action, "panic", panicKind(p), "stack", string(debug.Stack()))
	if x.status != 0 {
		panic(http.ErrAbortHandler) // half an answer must not pass for a whole one
	}
	x.answer(x.broken())
}

// panicKind is what may be logged of a panic: a fault of the runtime says what
// it is, anything else may hold words of the request.
func panicKind(p any) string {
	if fault, ok := p.(runtime.Error); ok {
		return fault.Error()
	}
	return fmt.Sprintf("%T", p)
}

// broken is the envelope of a fault of ours, made without the schedule where
// that is what is broken.
func (x *exchange) broken() (a powers.Answer) {
	defer func() {
		if recover() != nil {
			a = powers.Answer{JSON: []byte(brokenEnvelope), IsError: true, Status: http.StatusServiceUnavailable, RetryAfter: 2, Reason: operator.ReasonInternal}
		}
	}()
	return x.a.schedule.Refuse(context.WithoutCancel(x.r.Context()), x.caller, x.action,
		operator.Refuse(operator.ReasonInternal, "A fault of reeve's own stopped this request."))
}

const brokenEnvelope = `{
  "ok": false,
  "verdict": "unavailable",
  "reason": "internal_error",
  "action": "rest",
  "layer": "store",
  "retryable": true,
  "repeat": 1,
  "message": "A fault of reeve's own stopped this request.",
  "error": {
    "code": "unavailable",
    "hint": "A fault of reeve's own; it is in the log under the request's id.",
    "details": {}
  },
  "recovery": [
    {
      "kind": "retry_after",
      "change": "A fault of reeve's own; it is in the log under the request's id.",
      "retry_after_seconds": 2
    }
  ],
  "alternatives": []
}`

var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	http.MethodOptions, http.MethodConnect, http.MethodTrace}

// logged writes the line of the access log. The path, the query and a method
// that nobody knows are the caller's words, and are not in it.
func (x *exchange) logged() {
	level, method, route := slog.LevelInfo, x.r.Method, x.route
	if x.quiet {
		level = slog.LevelDebug
	}
	if !slices.Contains(methods, method) {
		method = "other"
	}
	if route == "" {
		route = "none"
	}
	x.a.log().LogAttrs(x.r.Context(), level, "request", slog.String("method", method), slog.String("route", route),
		slog.Int("status", x.status), slog.Duration("duration", x.a.opts.Now().Sub(x.start)),
		slog.String("principal", x.caller.Principal.ID()), slog.String("request_id", x.id()))
}
