package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"
)

// endpoint is a hook that is called by POST.
type endpoint struct {
	address *url.URL
	client  *http.Client
}

func newEndpoint(address *url.URL) *endpoint {
	return &endpoint{address: address, client: &http.Client{
		// net/http sends a request that carries an Idempotency-Key again by
		// itself when a connection that it reused breaks. Whether to try again is
		// not its decision, so no connection is ever reused.
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
		// A redirect would carry the action to somewhere nobody named.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (e *endpoint) patience() time.Duration { return urlTimeout }

func (e *endpoint) send(ctx context.Context, m message) (outcome string, err error) {
	var reached atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { reached.Store(true) },
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.address.String(), bytes.NewReader(m.body))
	if err != nil {
		return "", errors.New("the request could not be made: check the address")
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range m.headers {
		req.Header.Set(name, value)
	}
	resp, err := e.client.Do(req)
	switch {
	case err != nil && reached.Load():
		return "", unknown("the call broke off: %w", withoutAddress(err))
	case err != nil:
		return "", fmt.Errorf("nothing was sent: %w", withoutAddress(err))
	}
	defer resp.Body.Close()
	// The status has been given. What becomes of the rest of the answer, cut
	// short or broken off, changes nothing of that.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	return judge(resp, said(body))
}

// judge says what a status means.
func judge(resp *http.Response, body string) (outcome string, err error) {
	answer := fmt.Errorf("it answered %s", resp.Status)
	if body != "" {
		answer = fmt.Errorf("it answered %s: %s", resp.Status, body)
	}
	switch code := resp.StatusCode; {
	case code >= 200 && code < 300:
		if body == "" {
			body = resp.Status
		}
		return body, nil
	case code == http.StatusMovedPermanently, code == http.StatusTemporaryRedirect, code == http.StatusPermanentRedirect:
		return "", fmt.Errorf("it answered %s, and redirects are not followed: name the address itself", resp.Status)
	case code == http.StatusRequestTimeout, code == http.StatusConflict:
		// A 409 to an idempotency key says that the first call is still under way.
		return "", unknown("%w", answer)
	case code >= 400 && code < 500:
		return "", answer
	default:
		// A 303 after a POST usually means that it was done; a 5xx may come from a
		// gateway after the server behind it acted.
		return "", unknown("%w", answer)
	}
}

// withoutAddress keeps a URL, which may hold a password, out of the record.
func withoutAddress(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
