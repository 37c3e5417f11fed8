package restadapter

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator"
)

// raw speaks to a server as no proper client would. It sends head and then runs
// more, if any, while the answer is read.
func raw(t *testing.T, url, head string, more func(net.Conn)) reply {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, strings.ReplaceAll(head, "\n", "\r\n")); err != nil {
		t.Fatal(err)
	}
	if more != nil {
		go more(c)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{res.StatusCode, res.Header, body, res.Close}
}

// endless writes piece until nobody takes it any more.
func endless(piece string, pause time.Duration) func(net.Conn) {
	return func(c net.Conn) {
		for {
			if _, err := io.WriteString(c, piece); err != nil {
				return
			}
			time.Sleep(pause)
		}
	}
}

func (h *house) head(k operator.Kind, line, more string) string {
	return fmt.Sprintf("%s HTTP/1.1\nHost: localhost\nAuthorization: Bearer %s\n%s\n", line, h.tokens[k], more)
}

func TestTwoAuthorizationHeadersOnTheWireAreRefused(t *testing.T) {
	h := newHouse(t, "sqlite", nil)
	raw(t, h.url, h.head(operator.KindAgent, "GET /v1/state", "Authorization: Bearer x\n"), nil).refused(t, 401, "unauthenticated")
	raw(t, h.url, h.head(operator.KindAgent, "GET /v1/state", "AUTHORIZATION: Bearer "+h.tokens[operator.KindAgent]+"\n"), nil).refused(t, 401, "unauthenticated")
}

const chunk = "1000\r\n"

func TestABodyWithoutEndIsRefused(t *testing.T) {
	h := newHouse(t, "sqlite", &Options{BodyTimeout: 300 * time.Millisecond})
	fast := endless(chunk+strings.Repeat("x", 0x1000)+"\r\n", 0)
	slow := endless("1\r\nx\r\n", 20*time.Millisecond)
	chunked := "Content-Type: application/json\nTransfer-Encoding: chunked\n"
	sized := "Content-Type: application/json\nContent-Length: 100\n"
	for name, tt := range map[string]struct {
		head   string
		more   func(net.Conn)
		status int
		reason operator.Reason
	}{
		"that comes fast":                     {chunked, fast, 413, "too_large"},
		"that trickles":                       {chunked, slow, 408, "too_slow"},
		"that never comes":                    {sized, nil, 408, "too_slow"},
		"of a stated length that is too long": {"Content-Type: application/json\nContent-Length: 1048577\n", nil, 413, "too_large"},
		"of an absurd stated length":          {"Content-Type: application/json\nContent-Length: 9223372036854775807\n", nil, 413, "too_large"},
	} {
		t.Run(name, func(t *testing.T) {
			watch(t, h.world).onlyRefused(t, func() {
				r := raw(t, h.url, h.head(operator.KindAgent, "POST /v1/intents", tt.head), tt.more)
				r.refused(t, tt.status, tt.reason)
				if !r.closes {
					t.Error("the connection is used again, in the middle of a body")
				}
			})
		})
	}
	h.record(renewal) // and the server goes on
}

// Whoever may not do a thing is told so at once, though the body never ends.
func TestTheKindIsJudgedWithoutWaitingForTheBody(t *testing.T) {
	h := newHouse(t, "sqlite", nil)
	for _, more := range []string{"Content-Type: application/json\nContent-Length: 100\n", "Content-Type: text/plain\nTransfer-Encoding: chunked\n",
		"Content-Length: 9223372036854775807\n", "Content-Length: 5\nExpect: 100-continue\n"} {
		took := time.Hour
		for range 3 { // a machine may be busy once
			start := time.Now()
			raw(t, h.url, h.head(operator.KindAgent, "POST /v1/intents/1/approve", more), nil).refused(t, 403, "kind_not_allowed")
			took = min(took, time.Since(start))
		}
		if took >= lingers {
			t.Errorf("%q: the refusal took %s: it waited for the body", more, took)
		}
	}
}

func TestABodyThatBreaksOffIsRefused(t *testing.T) {
	h := newHouse(t, "sqlite", nil)
	raw(t, h.url, h.head(operator.KindAgent, "POST /v1/intents", "Content-Type: application/json\nContent-Length: 100\n"), func(c net.Conn) {
		_, _ = io.WriteString(c, `{"action":`)
		_ = c.(*net.TCPConn).CloseWrite()
	}).refused(t, 400, "not_json")
	raw(t, h.url, h.head(operator.KindAgent, "POST /v1/intents", "Content-Type: application/json\nTransfer-Encoding: chunked\n"), func(c net.Conn) {
		_, _ = io.WriteString(c, "zz\r\n")
	}).refused(t, 400, "not_json")
}

func TestTheHostOfAnAbsoluteAddressCounts(t *testing.T) {
	h := newHouse(t, "sqlite", nil)
	raw(t, h.url, h.head(operator.KindAgent, "GET http://evil.example/v1/state", ""), nil).refused(t, 403, "foreign_origin")
	if r := raw(t, h.url, h.head(operator.KindAgent, "GET http://localhost/v1/state", ""), nil); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
}

func TestARequestThatNamesNoHostIsRefused(t *testing.T) {
	h := newHouse(t, "sqlite", nil)
	raw(t, h.url, "GET /v1/state HTTP/1.0\nAuthorization: Bearer "+h.tokens[operator.KindAgent]+"\n\n", nil).refused(t, 403, "foreign_origin")
	if r := raw(t, h.url, "GET /v1/state HTTP/1.1\n\n", nil); r.status != 400 {
		t.Errorf("%d: RFC 9112 (3.2) asks for 400", r.status)
	}
}

func TestAnAddressOfAnotherFormIsNotFound(t *testing.T) {
	h := newHouse(t, "sqlite", nil)
	for _, line := range []string{"GET /v1//state", "POST /v1/intents/../intents", "GET /v1/./state", "GET /v1/%2e%2e/v1/state", "GET /v1/state/", "GET //v1/state",
		"GET /V1/state", "GET *", "GET /v1/intents/1/", "POST /v1/work//claim"} {
		r := raw(t, h.url, h.head(operator.KindAgent, line, ""), nil)
		if r.status != 404 || r.header.Get("Location") != "" {
			t.Errorf("%s: %d %s", line, r.status, r.body)
			continue
		}
		r.refused(t, 404, "not_found")
	}
	raw(t, h.url, "CONNECT localhost:443 HTTP/1.1\nHost: localhost\n\n", nil).refused(t, 404, "not_found")
}

func TestHeadersWithoutEndAreRefused(t *testing.T) {
	h := newHouse(t, "sqlite", nil)
	if r := raw(t, h.url, h.head(operator.KindAgent, "GET /v1/state", "X-Long: "+strings.Repeat("x", 32<<10)+"\n"), nil); r.status != 431 {
		t.Errorf("%d", r.status)
	}
}

func TestTheServerGivesHeadersFiveSecondsAndAnswersNoLimit(t *testing.T) {
	s := Server("127.0.0.1:1", http.NotFoundHandler())
	if s.ReadHeaderTimeout != 5*time.Second || s.MaxHeaderBytes != 12<<10 || s.WriteTimeout != 0 || s.ReadTimeout != 0 || s.Addr != "127.0.0.1:1" || s.Handler == nil {
		t.Errorf("%+v", s)
	}
}

// A client that does not take its answer holds its connection no longer than
// the time for it.
func TestAnAnswerThatNobodyTakesIsGivenUp(t *testing.T) {
	h := newHouse(t, "sqlite", &Options{WriteTimeout: 200 * time.Millisecond})
	for i := range 100 {
		h.record(fmt.Sprintf(`{"action":{"type":"note","title":"%d %s"}}`, i, strings.Repeat("x", 280)))
	}
	c, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	one := strings.ReplaceAll(h.head(operator.KindAgent, "GET /v1/state?limit=100", ""), "\n", "\r\n")
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for { // ask on and on, and read nothing, until the server hangs up
			if _, err := io.WriteString(c, one); err != nil {
				return
			}
		}
	}()
	select {
	case <-gone:
	case <-time.After(20 * time.Second):
		t.Error("the server still waits for a client that reads nothing")
	}
}

// TestARequestInChunksIsTheLastOnItsConnection: what follows one that states two
// lengths must never be taken for another request.
func TestARequestInChunksIsTheLastOnItsConnection(t *testing.T) {
	h := newHouse(t, "sqlite", nil)
	for name, head := range map[string]string{"chunks alone": "", "a length as well": "Content-Length: 5\r\n"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /v1/intents HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n%sTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", head)
		all, _ := io.ReadAll(conn)
		if n := strings.Count(string(all), "HTTP/1.1 "); n != 1 || !strings.Contains(string(all), "Connection: close") {
			t.Errorf("%s: %d answers:\n%s", name, n, all)
		}
	}
}

// TestABodyThatIsHeldBackIsJudgedByWhatStandsWhenItComes: the headers come, then the
// kit changes or the credential is taken back, then the body comes.
func TestABodyThatIsHeldBackIsJudgedByWhatStandsWhenItComes(t *testing.T) {
	for name, c := range map[string]struct {
		change func(h *house) error
		reason string
	}{
		"the kit leaves intents off": {func(h *house) error {
			_, err := h.world.SetKit(h.t.Context(), h.world.Owner, operator.KitInput{Primitives: map[string]bool{"intents": false}})
			return err
		}, "capability_denied"},
		"the credential is revoked": {func(h *house) error {
			return h.world.RevokeCredential(h.t.Context(), "", h.world.First.Agent.ID)
		}, "credential_revoked"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, "sqlite", nil)
			head := h.head(operator.KindAgent, "POST /v1/intents", fmt.Sprintf("Content-Type: application/json\nContent-Length: %d\n", len(renewal)))
			r := raw(t, h.url, head, func(conn net.Conn) {
				time.Sleep(700 * time.Millisecond) // longer than what was read of a caller counts
				if err := c.change(h); err != nil {
					t.Error(err)
				}
				_, _ = io.WriteString(conn, renewal)
			})
			if !strings.Contains(string(r.body), `"reason": "`+c.reason+`"`) {
				t.Errorf("%d %s", r.status, r.body)
			}
		})
	}
}
