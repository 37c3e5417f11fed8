package mcpadapter

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

const (
	// defaultPath is where a server answers MCP unless an address says otherwise.
	defaultPath = "/mcp"

	dialTimeout       = 10 * time.Second
	idleTimeout       = 90 * time.Second
	maxResponseHeader = 64 << 10 // bytes
)

// endpoint is where messages go. What is wrong with an address is told without
// repeating it: it may hold a secret.
func endpoint(address string, plainHTTP bool) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, errors.New("an address is http:// or https:// and a host, as http://127.0.0.1:3401")
	}
	if u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return nil, errors.New("an address has no user, no query and no fragment: the credential goes into a header")
	}
	if u.Scheme == "http" && !isLoopbackName(u.Hostname()) && !plainHTTP {
		return nil, fmt.Errorf("http to %s would send the credential unencrypted: use https", u.Host)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = defaultPath
	}
	return u, nil
}

// isLoopbackName says that a name stands for this machine, whoever is asked.
func isLoopbackName(name string) bool {
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap().IsLoopback() && ip.Zone() == "" || strings.EqualFold(name, "localhost")
}

// overNetwork is the way to an endpoint. Only one that is encrypted end to end
// may lead through a proxy of the environment: any other would see the credential.
func overNetwork(endpoint *url.URL) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout}
	local := isLoopbackName(endpoint.Hostname())
	t := &http.Transport{
		DialContext:            dialer.DialContext,
		MaxIdleConnsPerHost:    maxUnderWay,
		IdleConnTimeout:        idleTimeout,
		TLSHandshakeTimeout:    dialTimeout,
		MaxResponseHeaderBytes: maxResponseHeader,
		DisableCompression:     true,
	}
	if local {
		dialer.Control = onLoopbackOnly
	} else if endpoint.Scheme == "https" {
		t.Proxy = http.ProxyFromEnvironment
	}
	return t
}

var errNotLoopback = errors.New("the name stands for an address that is not on loopback")

// onLoopbackOnly refuses an address that a resolver made of "localhost", where it
// leaves this machine.
func onLoopbackOnly(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !at.Addr().Unmap().IsLoopback() {
		return errNotLoopback
	}
	return nil
}

// inProcess is the way to a handler of this process. A handler ends when its
// request's context does, and is waited for.
type inProcess struct{ handler http.Handler }

var errAborted = errors.New("the handler gave up without an answer")

func (p inProcess) RoundTrip(r *http.Request) (res *http.Response, err error) {
	defer r.Body.Close()
	defer func() {
		if recover() != nil {
			res, err = nil, errAborted
		}
	}()
	in := r.Clone(r.Context())
	in.Host, in.RequestURI, in.RemoteAddr = r.URL.Host, r.URL.RequestURI(), "127.0.0.1:0"
	w := &memory{header: http.Header{}}
	p.handler.ServeHTTP(w, in)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	w.WriteHeader(http.StatusOK)
	return &http.Response{
		StatusCode: w.status, Header: w.sent, ContentLength: int64(w.body.Len()), Request: r,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: io.NopCloser(&w.body),
	}, nil
}

// memory is an answer that is kept until it is whole.
type memory struct {
	header, sent http.Header
	status       int
	body         bytes.Buffer
}

func (m *memory) Header() http.Header { return m.header }

func (m *memory) WriteHeader(status int) {
	if m.status == 0 && status >= http.StatusOK {
		m.status, m.sent = status, m.header.Clone()
	}
}

func (m *memory) Write(p []byte) (int, error) {
	m.WriteHeader(http.StatusOK)
	return m.body.Write(p)
}

// Flush has nothing to do: nobody sees the answer before it is whole.
func (m *memory) Flush() { m.WriteHeader(http.StatusOK) }

// SetReadDeadline has nothing to do: the whole body is there from the start.
func (m *memory) SetReadDeadline(time.Time) error { return nil }
