package mcpadapter

import (
	"net/http"
	"strconv"
	"time"

	"github.com/reeve-go/reeve/operator"
)

// replyWriter gives a client so long to receive each part of an answer, and adds to
// the headers what is known only once the call is answered.
type replyWriter struct {
	http.ResponseWriter
	in     *inbound
	within time.Duration
	headed bool
}

// Unwrap lets a ResponseController through.
func (w *replyWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// netHTTPs is the writer beneath: a body over its limit is told to it by a method
// that only net/http's own has, and only then is the answer waited to be taken.
func netHTTPs(w http.ResponseWriter) http.ResponseWriter {
	if own, ok := w.(*replyWriter); ok {
		return own.ResponseWriter
	}
	return w
}

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

// head comes before whatever is written. The deadline stays on the connection, since
// the rest is sent after the handler has returned; whatever is written later on sets
// its own. Where no deadline can be set (a recorder in
// a test) there is no connection that could be slow.
func (w *replyWriter) head() {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.within))
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
