package mcpadapter

import (
	"net/http"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

const (
	headerKey      = "Idempotency-Key"
	headerReplayed = "Idempotency-Replayed"

	// metaKey is an idempotency key in a call's _meta, for hosts that set no header.
	metaKey = "reeve/idempotency-key"
	// metaReplayed is true in the _meta of a result that was given before.
	metaReplayed = "reeve/idempotency-replayed"
)

// keysOf is the call's idempotency keys, of the header and of _meta. Both may name
// the same one: a proxy can make a header of what is in the body.
func (m *message) keysOf(h http.Header, tool string) ([]string, *fault) {
	keys := h.Values(headerKey)
	meta, ok := only(m.params, "_meta")
	if !ok {
		return keys, nil
	}
	inner, err := powers.Members(meta)
	if err != nil {
		return keys, nil // null: every other value was refused before
	}
	key, ok := only(inner, metaKey)
	if !ok {
		return keys, nil
	}
	if !startsWith(key, '"') {
		return nil, &fault{status: http.StatusBadRequest, code: jsonrpc.CodeInvalidParams, id: m.id, call: true, tool: tool,
			err: operator.Refuse(operator.ReasonWrongType, "The call's _meta.%s must be a string.", metaKey)}
	}
	if len(keys) == 1 && keys[0] == text(key) {
		return keys, nil
	}
	return append([]string{text(key)}, keys...), nil
}

// replyWriter adds to the headers what is known only once the call is answered.
type replyWriter struct {
	http.ResponseWriter
	in     *inbound
	headed bool
}

// Unwrap lets a ResponseController through.
func (w *replyWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *replyWriter) WriteHeader(status int) {
	w.head()
	w.ResponseWriter.WriteHeader(status)
}

func (w *replyWriter) Write(p []byte) (int, error) {
	w.head()
	return w.ResponseWriter.Write(p)
}

// Flush is for the SDK, which asks for it by this name.
func (w *replyWriter) Flush() {
	w.head()
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

func (w *replyWriter) head() {
	answer := w.in.told.Load()
	if w.headed || answer == nil {
		return
	}
	w.headed = true
	if answer.Replayed {
		w.Header().Set(headerReplayed, "true")
	}
	if answer.Reason == operator.ReasonRateLimited {
		w.Header().Set("Retry-After", strconv.Itoa(answer.RetryAfter))
	}
}
