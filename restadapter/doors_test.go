package restadapter

import (
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator"

	"github.com/reeve-go/reeve/operator/powers"
)

func TestAForeignHostOrOriginIsRefusedBeforeTheCredential(t *testing.T) {
	h := newHouse(t, "sqlite", &Options{AllowedHosts: []string{"reeve.example", "other.example:8443"}, AllowedOrigins: []string{"https://app.example", "http://app.example:80"}})
	for name, tt := range map[string]struct {
		changes []change
		ours    bool
	}{
		"no origin":                          {nil, true},
		"the name localhost":                 {[]change{host("localhost:3401")}, true},
		"the name localhost, in capitals":    {[]change{host("LOCALHOST")}, true},
		"an IPv6 loopback address":           {[]change{host("[::1]:3401")}, true},
		"another IPv4 loopback address":      {[]change{host("127.8.9.1")}, true},
		"a configured host":                  {[]change{host("reeve.example")}, true},
		"a configured host on any port":      {[]change{host("Reeve.Example:99")}, true},
		"a configured host and port":         {[]change{host("other.example:8443")}, true},
		"that host on another port":          {[]change{host("other.example:8444")}, false},
		"a foreign host":                     {[]change{host("evil.example")}, false},
		"a foreign host that begins as ours": {[]change{host("localhost.evil.example")}, false},
		"a foreign host that ends as ours":   {[]change{host("evil-reeve.example")}, false},
		"a private address":                  {[]change{host("192.168.1.1:3401")}, false},
		"the address of everything":          {[]change{host("0.0.0.0:3401")}, false},
		"a loopback page":                    {[]change{header("Origin", "http://localhost:5173")}, true},
		"a configured page":                  {[]change{header("Origin", "https://app.example")}, true},
		"a configured page, port stated":     {[]change{header("Origin", "https://app.example:443")}, true},
		"the same page over http":            {[]change{header("Origin", "http://app.example")}, true},
		"the same page on another port":      {[]change{header("Origin", "https://app.example:444")}, false},
		"a foreign page":                     {[]change{header("Origin", "https://evil.example")}, false},
		"a page that hides":                  {[]change{header("Origin", "null")}, false},
		"an empty origin":                    {[]change{header("Origin", "")}, false},
		"two origins":                        {[]change{header("Origin", "http://localhost", "http://localhost")}, false},
		"an origin with a path":              {[]change{header("Origin", "http://localhost/x")}, false},
		"a loopback page of another scheme":  {[]change{header("Origin", "chrome-extension://localhost")}, false},
		"a page of a name like localhost":    {[]change{header("Origin", "http://localhost.evil.example")}, false},
		"a loopback name as user":            {[]change{header("Origin", "http://localhost@evil.example")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := h.as(operator.KindAgent, "GET", "/v1/state", "", tt.changes...)
			if !tt.ours {
				r.refused(t, 403, "foreign_origin")
				if r.header.Get("Access-Control-Allow-Origin") != "" {
					t.Error("a foreign page may read the refusal")
				}
				h.call("nonsense", "GET", "/v1/state", "", tt.changes...).refused(t, 403, "foreign_origin")
				h.call("", "OPTIONS", "/v1/state", "", tt.changes...).refused(t, 403, "foreign_origin")
				h.call("", "GET", "/elsewhere", "", tt.changes...).refused(t, 403, "foreign_origin")
				return
			}
			if r.status != 200 {
				t.Errorf("%d %s", r.status, r.body)
			}
		})
	}
}

func TestOptionsIsAnsweredWithoutACredential(t *testing.T) {
	h := newHouse(t, "sqlite", nil)
	for _, d := range h.doings() {
		r := h.call("", "OPTIONS", d.address(1), "")
		if r.status != 204 || len(r.body) != 0 || !strings.Contains(r.header.Get("Allow"), d.method) || r.header.Get("Access-Control-Allow-Methods") != "" {
			t.Errorf("%s: %d %v", d, r.status, r.header)
		}
		r = h.call("", "OPTIONS", d.address(1), "", header("Origin", "http://localhost:1"), header("Access-Control-Request-Method", d.method))
		if r.header.Get("Access-Control-Allow-Origin") != "http://localhost:1" || !strings.Contains(r.header.Get("Access-Control-Allow-Methods"), d.method) ||
			!strings.Contains(r.header.Get("Access-Control-Allow-Headers"), "Authorization") || r.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: %v", d, r.header)
		}
	}
	h.call("", "OPTIONS", "/v1/nowhere", "").refused(t, 401, "unauthenticated")
}

func TestOptionsThatCannotBeKeptAreNamed(t *testing.T) {
	for field, opts := range map[string]Options{
		"AllowedHosts":   {AllowedHosts: []string{"https://reeve.example"}},
		"AllowedOrigins": {AllowedOrigins: []string{"reeve.example"}},
		"MaxBody":        {MaxBody: DefaultMaxBody + 1},
		"BodyTimeout":    {BodyTimeout: -1},
		"WriteTimeout":   {WriteTimeout: -1},
	} {
		if _, err := newAdapter(&faked{}, &opts); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, bad := range []string{"*", "null", "https://*.example", "https://a.example/", "https://a.example?x", "https://a.example#", "//a.example", "https://u@a.example", ""} {
		if _, err := powers.NewDoors(nil, []string{bad}); err == nil {
			t.Errorf("the origin %q is accepted", bad)
		}
	}
	for _, bad := range []string{"", "*", "a.example/x", ":80", "a b"} {
		if _, err := powers.NewDoors([]string{bad}, nil); err == nil {
			t.Errorf("the host %q is accepted", bad)
		}
	}
	if _, err := New(nil, nil); err == nil {
		t.Error("New takes no schedule at all")
	}
}
