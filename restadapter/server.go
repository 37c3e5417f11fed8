package restadapter

import (
	"net/http"
	"time"
)

// Limits of the server that [Server] makes.
const (
	// HeaderTimeout is how long a client may take to send a request's headers.
	HeaderTimeout = 5 * time.Second
	// MaxHeader is the most that a request's headers may hold, in bytes.
	MaxHeader = 16 << 10

	// netHTTPSlack is what net/http allows on top of what it is told, before it
	// answers 431 by itself.
	netHTTPSlack = 4 << 10

	idleTimeout = 2 * time.Minute
)

// Server makes a server for a handler of [New], also beside others: addr is
// "host:port", as for [http.Server].
//
// It has no WriteTimeout, which would cut a long poll, and no ReadTimeout, which
// would end the request's context while its answer is still being waited for.
// The handler sets a deadline of its own for each body and each answer.
//
// Shutdown waits for what is under way, also for the long polls. Register the
// operator's StopWaiting with RegisterOnShutdown, so that these answer at once
// with what stands:
//
//	server := restadapter.Server(addr, handler)
//	server.RegisterOnShutdown(op.StopWaiting)
func Server(addr string, handler http.Handler) *http.Server {
	return &http.Server{
		Addr:              addr,
		Handler:           handler,
		ReadHeaderTimeout: HeaderTimeout,
		MaxHeaderBytes:    MaxHeader - netHTTPSlack,
		IdleTimeout:       idleTimeout,
	}
}
