package powers

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Doors says which Host and Origin headers a request may carry. Both are about
// web pages: one that points its own name at this machine sends a Host of its
// own, and one that simply calls sends its Origin. Loopback names are always ours.
type Doors struct {
	hosts   map[string]bool // lower case, with a port or without
	origins map[string]bool // as canonicalOrigin writes them
}

// NewDoors takes the host names and origins that are let in beside loopback's: a
// name with a port or without, and scheme://host with a port or without.
func NewDoors(hosts, origins []string) (*Doors, error) {
	d := &Doors{hosts: map[string]bool{}, origins: map[string]bool{}}
	for _, h := range hosts {
		if hostName(h) == "" || strings.ContainsAny(h, "/*@ ?#\\") {
			return nil, fmt.Errorf("AllowedHosts: %q must be a host name, with a port or without", h)
		}
		d.hosts[strings.ToLower(h)] = true
	}
	for _, o := range origins {
		canonical := canonicalOrigin(o)
		if canonical == "" {
			return nil, fmt.Errorf("AllowedOrigins: %q must be scheme://host, with a port or without, and nothing after it", o)
		}
		d.origins[canonical] = true
	}
	return d, nil
}

// Host judges what the request calls this server. Where the request line names
// a whole address, net/http has put its host in the place of the header's, as
// RFC 9112 (3.2.2) has it.
func (d *Doors) Host(host string) bool {
	host = strings.ToLower(host)
	name := hostName(host)
	return isLoopback(name) || d.hosts[host] || d.hosts[name]
}

// Origin judges the Origin headers. None is no page's, and fine. "null" stands
// for any page that hides its origin, so it is nobody's in particular.
func (d *Doors) Origin(headers []string) bool {
	if len(headers) == 0 {
		return true
	}
	if len(headers) > 1 {
		return false
	}
	canonical := canonicalOrigin(headers[0])
	return canonical != "" && (d.origins[canonical] || isLoopbackOrigin(canonical))
}

// hostName is a host without its port and brackets.
func hostName(host string) string { return (&url.URL{Host: host}).Hostname() }

func isLoopbackOrigin(canonical string) bool {
	scheme, host, _ := strings.Cut(canonical, "://")
	return (scheme == "http" || scheme == "https") && isLoopback(hostName(host))
}

// isLoopback knows the one name that RFC 6761 keeps for it, and the addresses.
func isLoopback(name string) bool {
	if name == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Zone() == "" && ip.Unmap().IsLoopback()
}

// canonicalOrigin writes an origin as RFC 6454 (6.2) does: in lower case, without
// the scheme's own port. It answers "" for what is no scheme, host and port.
func canonicalOrigin(origin string) string {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme == "" || u.Hostname() == "" || strings.ContainsAny(origin, "?#*") {
		return ""
	}
	if u.User != nil || u.Path != "" {
		return ""
	}
	host := strings.ToLower(u.Host)
	if own, has := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]; has {
		host = strings.TrimSuffix(host, own)
	}
	return u.Scheme + "://" + host
}

// CloseChunked makes a request whose length is told in chunks the last one on its
// connection. net/http takes one that states a length as well, and drops that
// header, so the two cannot be told apart here; behind a proxy that believed the
// other, what follows could be somebody else's request (RFC 9112, 6.1 and 11.2).
func CloseChunked(h http.Header, r *http.Request) {
	if len(r.TransferEncoding) > 0 {
		h.Set("Connection", "close")
	}
}

// LetRead allows an accepted page to read the answer. Cookies are never part of
// it: the page has to hold the credential and send it in a header.
func LetRead(h http.Header, origins []string) {
	h.Add("Vary", "Origin")
	if len(origins) == 1 {
		h.Set("Access-Control-Allow-Origin", origins[0])
		h.Set("Access-Control-Expose-Headers", "Idempotency-Replayed, Retry-After, WWW-Authenticate, X-Request-Id")
	}
}
