package mcpadapter

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator/powers"
)

func TestOnlyLoopbackAndAllowedHostsAreAnswered(t *testing.T) {
	h := newHouse(t, &Options{AllowedHosts: []string{"Reeve.example", "other.example:8443"}})
	for _, name := range []string{"localhost", "localhost:3401", "LOCALHOST", "127.0.0.1", "127.0.0.1:80", "127.8.9.10", "[::1]", "[::1]:3401",
		"reeve.example", "REEVE.example:99", "other.example:8443"} {
		t.Run("in: "+name, func(t *testing.T) { h.post(record, host(name)).called(t) })
	}
	for _, name := range []string{"evil.example", "evil.example:3401", "localhost.evil.example", "127.0.0.1.evil.example", "localhost.", "0.0.0.0", "[::]",
		"192.168.1.5", "10.0.0.1:3401", "[fe80::1]", "other.example", "other.example:1", "xreeve.example", "2130706433", "0x7f000001"} {
		t.Run("out: "+name, func(t *testing.T) {
			a := h.post(record, host(name))
			a.barred(t, http.StatusForbidden, "foreign_origin")
		})
	}
}

func TestALoopbackAddressOfAZoneIsNotAnswered(t *testing.T) {
	d, err := powers.NewDoors(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"[::1%25lo]", "[::1%lo]:80", "::1%eth0", ""} {
		if d.Host(name) {
			t.Errorf("%q was let in", name)
		}
	}
}

func TestOnlyPagesOfLoopbackAndAllowedOriginsMayCall(t *testing.T) {
	h := newHouse(t, &Options{AllowedOrigins: []string{"https://App.example", "http://plain.example:8080", "tauri://desk"}})
	for _, origin := range []string{"http://localhost", "http://localhost:5173", "https://127.0.0.1:3401", "http://[::1]:1", "https://app.example", "https://app.example:443",
		"HTTPS://APP.EXAMPLE", "http://plain.example:8080", "tauri://desk"} {
		t.Run("in: "+origin, func(t *testing.T) {
			a := h.post(record, header("Origin", origin))
			a.called(t)
			if got := a.header.Get("Access-Control-Allow-Origin"); got != origin {
				t.Errorf("allowed %q", got)
			}
			if a.header.Get("Access-Control-Allow-Credentials") != "" || !strings.Contains(a.header.Get("Vary"), "Origin") {
				t.Errorf("headers %v", a.header)
			}
		})
	}
	for _, origin := range []string{"null", "", "https://evil.example", "http://app.example", "https://app.example:444", "https://app.example.evil.example", "https://xapp.example",
		"https://app.example/", "https://app.example/path", "https://user@app.example", "http://localhost.evil.example", "ftp://localhost", "file://", "localhost",
		"http://localhost#", "http://localhost?", "chrome-extension://abc", "https://app.example, https://evil.example"} {
		t.Run("out: "+origin, func(t *testing.T) {
			a := h.post(record, header("Origin", origin))
			a.barred(t, http.StatusForbidden, "foreign_origin")
			if a.header.Get("Access-Control-Allow-Origin") != "" {
				t.Error("a foreign page may read the refusal")
			}
		})
	}
	t.Run("out: two at once", func(t *testing.T) {
		h.post(record, header("Origin", "http://localhost", "http://localhost")).barred(t, http.StatusForbidden, "foreign_origin")
	})
	t.Run("in: none", func(t *testing.T) { h.post(record, header("Origin")).called(t) })
}

func TestAForeignPageLearnsNothingOfACredential(t *testing.T) {
	h := newHouse(t, nil)
	good := h.post(record, header("Origin", "https://evil.example"))
	bad := h.post(record, header("Origin", "https://evil.example"), header("Authorization", "Bearer nonsense"))
	if good.status != bad.status || !bytes.Equal(good.body, bad.body) || bad.header.Get("WWW-Authenticate") != "" {
		t.Errorf("%s\n%s", good.body, bad.body)
	}
}

func TestAPreflightIsAnsweredWithoutACredential(t *testing.T) {
	h := newHouse(t, nil)
	ask := []change{method("OPTIONS"), header("Authorization"), header("Content-Type"),
		header("Access-Control-Request-Method", "POST"), header("Access-Control-Request-Headers", "authorization,content-type,mcp-protocol-version")}
	a := h.post("", append(ask, header("Origin", "http://localhost:5173"))...)
	if a.status != http.StatusNoContent || a.header.Get("Access-Control-Allow-Origin") != "http://localhost:5173" {
		t.Fatalf("%d %v", a.status, a.header)
	}
	allowed := strings.ToLower(a.header.Get("Access-Control-Allow-Headers"))
	for _, name := range []string{"authorization", "content-type", "accept", "mcp-protocol-version", "mcp-method", "mcp-name"} {
		if !strings.Contains(allowed, name) {
			t.Errorf("the header %s is not allowed", name)
		}
	}
	if m := a.header.Get("Access-Control-Allow-Methods"); !strings.Contains(m, "POST") || strings.Contains(m, "GET") {
		t.Errorf("methods %q", m)
	}
	h.post("", append(ask, header("Origin", "https://evil.example"))...).barred(t, http.StatusForbidden, "foreign_origin")
	if a := h.post("", method("OPTIONS"), header("Authorization")); a.status != http.StatusNoContent || !strings.Contains(a.header.Get("Allow"), "POST") {
		t.Errorf("a plain OPTIONS: %d %v", a.status, a.header)
	}
}

func TestOtherMethodsThanPOSTAreNotAllowed(t *testing.T) {
	h := newHouse(t, nil)
	for _, m := range []string{"GET", "DELETE", "PUT", "PATCH", "QUERY"} {
		a := h.post("", method(m), header("Accept", "text/event-stream"))
		a.barred(t, http.StatusMethodNotAllowed, "method_not_allowed")
		if !strings.Contains(a.header.Get("Allow"), "POST") {
			t.Errorf("%s: %d %v", m, a.status, a.header)
		}
	}
	if a := h.post("", method("HEAD")); a.status != http.StatusMethodNotAllowed {
		t.Errorf("HEAD: %d", a.status)
	}
}

func TestACallerWithoutOneGoodCredentialIsChallenged(t *testing.T) {
	h := untouched(t, nil)
	const unknown = "rv_agent_0000000000000000000000000000000000000000000"
	for name, c := range map[string]change{
		"none":                header("Authorization"),
		"an empty one":        header("Authorization", ""),
		"two":                 header("Authorization", "Bearer "+h.agent, "Bearer "+h.agent),
		"two in one":          header("Authorization", "Bearer "+h.agent+", Bearer "+h.agent),
		"another scheme":      header("Authorization", "Basic "+h.agent),
		"no scheme":           header("Authorization", h.agent),
		"an unknown one":      header("Authorization", "Bearer "+unknown),
		"one with a tail":     header("Authorization", "Bearer "+h.agent+" x"),
		"in the query string": func(r *http.Request) { r.Header.Del("Authorization"); r.URL.RawQuery = "access_token=" + h.agent },
		"in both places":      func(r *http.Request) { r.URL.RawQuery = "access_token=" + h.agent },
	} {
		t.Run(name, func(t *testing.T) {
			a := h.post(record, c)
			e := readEnvelope(t, a.body)
			if a.status != http.StatusUnauthorized || e.Verdict != "deny" {
				t.Fatalf("%d %s", a.status, a.body)
			}
			if w := a.header.Get("WWW-Authenticate"); !strings.HasPrefix(w, "Bearer ") || !strings.Contains(w, `error="`) {
				t.Errorf("the challenge is %q", w)
			}
			for _, secret := range []string{h.agent, unknown} {
				if bytes.Contains(a.body, []byte(secret)) || strings.Contains(a.header.Get("WWW-Authenticate"), secret) {
					t.Errorf("the credential came back: %v %s", a.header, a.body)
				}
			}
		})
	}
}

func TestTheBodyOfAStrangerIsNotWaitedFor(t *testing.T) {
	h := untouched(t, nil)
	a := send(t, h.url, "nonsense", neverendingAfter(strings.NewReader(record)))
	if a.status != http.StatusUnauthorized {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestOptionsThatCannotHoldAreRefusedByName(t *testing.T) {
	s, _, _, _ := openSchedule(t)
	for name, c := range map[string]struct {
		opts Options
		want string
	}{
		"a prefix in capitals":           {Options{ToolPrefix: "Acme_"}, "ToolPrefix"},
		"a prefix with a dash":           {Options{ToolPrefix: "acme-"}, "ToolPrefix"},
		"a prefix that begins with _":    {Options{ToolPrefix: "_a"}, "ToolPrefix"},
		"a prefix too long for a name":   {Options{ToolPrefix: strings.Repeat("a", 30)}, "ToolPrefix"},
		"a negative limit":               {Options{MaxBody: -1}, "MaxBody"},
		"a limit beyond what is checked": {Options{MaxBody: 1<<20 + 1}, "MaxBody"},
		"a negative timeout":             {Options{BodyTimeout: -1}, "BodyTimeout"},
		"no time for an answer":          {Options{WriteTimeout: -1}, "WriteTimeout"},
		"every host":                     {Options{AllowedHosts: []string{"*"}}, "AllowedHosts"},
		"a host with a scheme":           {Options{AllowedHosts: []string{"https://a.example"}}, "AllowedHosts"},
		"an empty host":                  {Options{AllowedHosts: []string{""}}, "AllowedHosts"},
		"every origin":                   {Options{AllowedOrigins: []string{"*"}}, "AllowedOrigins"},
		"a wild origin":                  {Options{AllowedOrigins: []string{"https://*.example"}}, "AllowedOrigins"},
		"the origin null":                {Options{AllowedOrigins: []string{"null"}}, "AllowedOrigins"},
		"an origin with a path":          {Options{AllowedOrigins: []string{"https://a.example/"}}, "AllowedOrigins"},
		"an origin without a scheme":     {Options{AllowedOrigins: []string{"a.example"}}, "AllowedOrigins"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := newHandler(s, &c.opts); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error that names %s", err, c.want)
			}
		})
	}
}

func FuzzHostAndOrigin(f *testing.F) {
	for _, s := range []string{"localhost", "[::1]:80", "http://localhost:1", "null", "https://evil.example", "http://localhost@evil.example", "[::1%25lo]"} {
		f.Add(s)
	}
	d, err := powers.NewDoors(nil, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d.Host(s) && !mentionsLoopback(s) {
			t.Errorf("host %q was let in", s)
		}
		if d.Origin([]string{s}) && !mentionsLoopback(s) {
			t.Errorf("origin %q was let in", s)
		}
	})
}

// mentionsLoopback is the bluntest reading of what a loopback name can be.
func mentionsLoopback(s string) bool {
	s = strings.ToLower(s)
	return strings.Contains(s, "localhost") || strings.Contains(s, "127.") || strings.Contains(s, "::1") ||
		strings.Contains(s, "0:1]") || strings.Contains(s, "::ffff:7f") || strings.Contains(s, "0001]") || strings.Contains(s, "ffff:7f")
}
