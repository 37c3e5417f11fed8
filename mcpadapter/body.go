package mcpadapter

import (
	"bytes"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/reeve-go/reeve/operator"
)

// atOnce is how many bytes are set aside for a body before any of it has come.
const atOnce = 16 << 10

// longPast is a read deadline that has gone by, which ends a read that waits.
var longPast = time.Unix(1, 0)

// abandon gives up a body that will not be read. net/http would wait for its
// end before it answers, which the header stops, and before it lets go of the
// connection, which the deadline stops.
func abandon(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		return
	}
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(longPast)
}

// read takes in the whole body, up to the limit and within the time.
func (f *front) read(w http.ResponseWriter, r *http.Request) ([]byte, *fault) {
	tooLarge := &fault{status: http.StatusRequestEntityTooLarge, code: jsonrpc.CodeInvalidRequest,
		err: operator.Refuse(operator.ReasonTooLarge, "The body must not be longer than %d bytes.", f.maxBody)}
	if r.ContentLength > f.maxBody {
		abandon(w, r)
		return nil, tooLarge
	}
	var late atomic.Bool
	timer := time.AfterFunc(f.bodyTimeout, func() {
		late.Store(true)
		_ = http.NewResponseController(w).SetReadDeadline(longPast)
	})
	var buf bytes.Buffer
	// A length that is only claimed must not cost memory.
	buf.Grow(int(min(max(r.ContentLength, 0), atOnce)) + bytes.MinRead)
	_, err := buf.ReadFrom(http.MaxBytesReader(netHTTPs(w), r.Body, f.maxBody))
	if !timer.Stop() || late.Load() {
		abandon(w, r)
		return nil, &fault{status: http.StatusRequestTimeout, code: jsonrpc.CodeInvalidRequest,
			err: operator.Refuse(operator.ReasonTooSlow, "The body did not arrive whole within %s.", f.bodyTimeout)}
	}
	if isTooLarge(err) {
		abandon(w, r)
		return nil, tooLarge
	}
	if err != nil {
		return nil, &fault{status: http.StatusBadRequest, code: jsonrpc.CodeParseError,
			err: operator.Refuse(operator.ReasonNotJSON, "The body ended before it was whole.")}
	}
	return buf.Bytes(), nil
}

func isTooLarge(err error) bool {
	var over *http.MaxBytesError
	return errors.As(err, &over)
}
