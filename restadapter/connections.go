package restadapter

import (
	queue "container/list"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"

	"github.com/reeve-go/reeve/operator/powers"
)

const (
	// DefaultConnections is how many connections a server holds at once.
	DefaultConnections = 1024
	// DefaultConnectionsPerAddress is how many of them one address may have.
	DefaultConnectionsPerAddress = 512
)

// Connections bounds how many connections a server holds. Where one more comes than
// there may be, the one that has been without a whole request for the longest is
// closed in its favour: whoever opens many and sends little is in nobody's way. So is
// whoever does not take its answers: while one is written nobody works on it, and its
// connection counts as one without a request. Where every one of them is being
// answered, the new one is closed.
type Connections struct {
	// Total is how many there may be; 0: DefaultConnections.
	Total int
	// PerAddress is how many one address may have (of IPv6 its first 64 bits);
	// 0: DefaultConnectionsPerAddress. Behind a proxy every caller has the proxy's.
	PerAddress int
}

// Guard sets a server up to be bounded, and gives the listener that it is to serve.
// It wraps the server's handler and takes its ConnContext, so it comes last.
func (c Connections) Guard(server *http.Server, l net.Listener) *Guarded {
	if c.Total <= 0 {
		c.Total = DefaultConnections
	}
	if c.PerAddress <= 0 {
		c.PerAddress = DefaultConnectionsPerAddress
	}
	g := &guard{limits: c, of: map[string]int{}, waiting: queue.New()}
	inner := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h, ok := r.Context().Value(heldKey{}).(*held); ok {
			defer h.begin(r)()
		}
		inner.ServeHTTP(w, r)
	})
	server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		if h, ok := conn.(*held); ok {
			return context.WithValue(ctx, heldKey{}, h)
		}
		return ctx
	}
	return &Guarded{l, g}
}

type heldKey struct{}

// guard knows every connection that is open.
type guard struct {
	limits Connections

	mu      sync.Mutex
	open    int
	of      map[string]int // by address
	waiting *queue.List    // of *held, without a whole request for the longest first
}

// held is a connection that is counted until it is closed.
type held struct {
	net.Conn
	guard   *guard
	address string
	place   *queue.Element // among those that wait; nil: it is being answered
	whole   bool           // a whole request has come, and its handler is at work
	gone    bool
}

// begin notes that a request's headers have come, and by its body when all of it has.
// end is called once the handler has returned.
func (h *held) begin(r *http.Request) (end func()) {
	if r.ContentLength == 0 {
		h.guard.answers(h)
	} else {
		r.Body = &arriving{r.Body, h}
	}
	return func() { h.guard.ends(h) }
}

// arriving is a body that has not come to its end yet.
type arriving struct {
	io.ReadCloser
	held *held
}

func (a *arriving) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		a.held.guard.answers(a.held)
	}
	return n, err
}

// Write writes a part of an answer. Whether it is taken is up to the client.
func (h *held) Write(p []byte) (int, error) {
	h.guard.waits(h)
	n, err := h.Conn.Write(p)
	h.guard.resumes(h)
	return n, err
}

// Close closes the connection, and makes room for another.
func (h *held) Close() error {
	h.guard.mu.Lock()
	h.guard.remove(h)
	h.guard.mu.Unlock()
	return h.Conn.Close()
}

// admit makes room for a connection, or says that there is none. What was closed for
// it is given back, to be closed without the lock.
func (g *guard) admit(conn net.Conn) (h, closed *held) {
	address := powers.AddressOf(conn.RemoteAddr().String())
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.of[address] >= g.limits.PerAddress:
		closed = g.longest(address)
	case g.open >= g.limits.Total:
		closed = g.longest("")
	default:
		return g.add(conn, address), nil
	}
	if closed == nil {
		return nil, nil
	}
	g.remove(closed)
	return g.add(conn, address), closed
}

// longest is the connection, of an address or of any, that has waited for the longest.
func (g *guard) longest(address string) *held {
	for e := g.waiting.Front(); e != nil; e = e.Next() {
		if h := e.Value.(*held); address == "" || h.address == address {
			return h
		}
	}
	return nil
}

func (g *guard) add(conn net.Conn, address string) *held {
	h := &held{Conn: conn, guard: g, address: address}
	h.place = g.waiting.PushBack(h)
	g.open++
	g.of[address]++
	return h
}

func (g *guard) remove(h *held) {
	if h.gone {
		return
	}
	h.gone = true
	if h.place != nil {
		g.waiting.Remove(h.place)
		h.place = nil
	}
	g.open--
	if g.of[h.address]--; g.of[h.address] == 0 {
		delete(g.of, h.address)
	}
}

// answers notes that a whole request has come, and is being answered.
func (g *guard) answers(h *held) {
	g.mu.Lock()
	h.whole = true
	g.mu.Unlock()
	g.resumes(h)
}

// ends notes that it was.
func (g *guard) ends(h *held) {
	g.mu.Lock()
	h.whole = false
	g.mu.Unlock()
	g.waits(h)
}

// waits notes that what comes next is up to the client.
func (g *guard) waits(h *held) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !h.gone && h.place == nil {
		h.place = g.waiting.PushBack(h)
	}
}

// resumes notes that it is up to the handler, if there is one at work.
func (g *guard) resumes(h *held) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if h.whole && h.place != nil {
		g.waiting.Remove(h.place)
		h.place = nil
	}
}

// Guarded is a listener whose connections are counted.
type Guarded struct {
	net.Listener
	guard *guard
}

// Open is how many connections are open now.
func (l *Guarded) Open() int {
	l.guard.mu.Lock()
	defer l.guard.mu.Unlock()
	return l.guard.open
}

// Accept waits for a connection that there is room for.
func (l *Guarded) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		h, closed := l.guard.admit(conn)
		if closed != nil {
			_ = closed.Conn.Close()
		}
		if h != nil {
			return h, nil
		}
		_ = conn.Close()
	}
}
