package restadapter

import (
	"context"
	"net/http"
	"time"
)

// readyWithin bounds how long a probe waits for the database.
const readyWithin = 5 * time.Second

// The two open addresses. They skip the check of Host, because a probe calls by
// whatever address it has, and they say nothing that is worth hiding.
const (
	livePath  = "/healthz"
	readyPath = "/readyz"
)

// probe answers the two open addresses.
func (a *adapter) probe(x *exchange) {
	x.quiet = true
	if x.r.Method != http.MethodGet && x.r.Method != http.MethodHead {
		x.refuseMethod("GET, HEAD")
		return
	}
	if x.r.URL.Path == livePath {
		x.write(http.StatusOK, mediaJSON, []byte(`{"status":"ok"}`))
		return
	}
	ctx, cancel := context.WithTimeout(x.r.Context(), readyWithin)
	defer cancel()
	if err := a.opts.Ready(ctx); err != nil {
		a.log().Warn("not ready", "request_id", x.id(), "error", err)
		x.write(http.StatusServiceUnavailable, mediaJSON, []byte(`{"status":"unavailable"}`))
		return
	}
	x.write(http.StatusOK, mediaJSON, []byte(`{"status":"ready"}`))
}
