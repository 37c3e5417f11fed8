package restadapter

import (
	"bytes"
	"errors"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/reeve-go/reeve/operator"
)

// atOnce is how many bytes are set aside for a body before any of it has come.
const atOnce = 16 << 10

// hasBody says that something follows the headers, or may: -1 is a length that
// nobody stated.
func (x *exchange) hasBody() bool { return x.r.ContentLength != 0 }

// body takes in the whole body, of the type, up to the limit and within the
// time. No body at all is an empty one.
func (x *exchange) body() ([]byte, error) {
	if err := mediaType(x.r, x.hasBody()); err != nil {
		return nil, err
	}
	limit := x.a.opts.MaxBody
	if x.r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	if !x.hasBody() {
		return nil, nil
	}
	// A deadline for the whole, not for each read: a body that trickles in would
	// meet every one of those. Where none can be set (a recorder in a test) there
	// is no connection that could be slow.
	control := http.NewResponseController(x.w)
	_ = control.SetReadDeadline(x.a.opts.Now().Add(x.a.opts.BodyTimeout))
	var buf bytes.Buffer
	// A length that is only claimed must not cost memory.
	buf.Grow(int(min(max(x.r.ContentLength, 0), atOnce)) + bytes.MinRead)
	_, err := buf.ReadFrom(http.MaxBytesReader(x.w, x.r.Body, limit))
	if err != nil {
		return nil, x.unreadable(err)
	}
	x.whole = true
	_ = control.SetReadDeadline(time.Time{})
	return buf.Bytes(), nil
}

// mediaType judges the headers that describe the body. UTF-8 is the only charset
// that JSON has between systems (RFC 8259, 8.1).
func mediaType(r *http.Request, hasBody bool) error {
	types := r.Header.Values("Content-Type")
	if len(types) == 0 && !hasBody {
		return nil
	}
	if len(types) == 1 && isPlain(strings.Join(r.Header.Values("Content-Encoding"), ", ")) {
		media, params, err := mime.ParseMediaType(types[0])
		charset := strings.ToLower(params["charset"])
		if err == nil && media == mediaJSON && (charset == "" || charset == "utf-8") {
			return nil
		}
	}
	return operator.Refuse(operator.ReasonMediaType, "The body must be JSON in UTF-8, uncompressed, sent as Content-Type: application/json.")
}

func isPlain(encoding string) bool { return encoding == "" || strings.EqualFold(encoding, "identity") }

func tooLarge(limit int64) error {
	return operator.Refuse(operator.ReasonTooLarge, "The body must not be longer than %d bytes.", limit)
}

func (x *exchange) unreadable(err error) error {
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return tooLarge(over.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return operator.Refuse(operator.ReasonTooSlow, "The body did not arrive whole within %s.", x.a.opts.BodyTimeout)
	}
	return operator.Refuse(operator.ReasonNotJSON, "The body ended before it was whole.")
}
