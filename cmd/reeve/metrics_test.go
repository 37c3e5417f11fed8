package main

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator/operatortest"
)

var metricsLine = regexp.MustCompile(`(?m)^Metrics are at (http://\S+), for everybody`)

// figures scrapes the address that a server keeps for that.
func (s *server) figures(t *testing.T) string {
	t.Helper()
	at := metricsLine.FindStringSubmatch(s.out.String())
	if at == nil {
		t.Fatalf("it does not say where its metrics are:\n%s", s.out)
	}
	resp, err := http.Get(at[1])
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%d, %v\n%s", resp.StatusCode, err, text)
	}
	return string(text)
}

func TestAScrapeTellsWhatAServerDid(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		p := newPlace(t, store)
		s := p.serve(t, "--metrics-listen", "127.0.0.1:0", "--notify", "exec:cat")
		in := s.record(t, renewal)
		s.record(t, `{"type":"note","title":"A secret title","recipient":"bo@elsewhere.example"}`)
		s.send(t, "POST", "/v1/intents/"+number(in.ID)+"/approve", s.person, `{"digest":"`+in.Digest+`"}`)
		s.send(t, "POST", "/v1/intents/"+number(in.ID)+"/approve", s.agent, `{"digest":"`+in.Digest+`"}`)
		s.send(t, "GET", "/v1/state", "rv_agent_"+strings.Repeat("x", 43), "")
		s.send(t, "GET", "/v1/no-such-thing-as-this", s.agent, "")
		s.send(t, "POST", "/mcp", s.agent, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"my_own_tool","arguments":{}}}`)
		var text string
		eventually(t, "the notice is delivered", func() bool {
			text = s.figures(t)
			return strings.Contains(text, `reeve_notice_deliveries_total{result="delivered"} 1`)
		})
		for _, line := range []string{
			`reeve_calls_total{action="operator_record_action_intent",face="mcp",reason="",verdict="done"} 2`,
			`reeve_calls_total{action="approve_intent",face="rest",reason="",verdict="done"} 1`,
			`reeve_calls_total{action="approve_intent",face="rest",reason="kind_not_allowed",verdict="deny"} 1`,
			`reeve_calls_total{action="operator_state",face="rest",reason="unauthenticated",verdict="deny"} 1`,
			`reeve_calls_total{action="rest",face="rest",reason="not_found",verdict="deny"} 1`,
			`reeve_calls_total{action="unknown",face="mcp",reason="unknown_tool",verdict="deny"} 1`,
			`reeve_intent_transitions_total{from="pending_approval",to="approved"} 1`,
			`reeve_http_requests_total{code="200",face="mcp"} 3`,
			`reeve_store_up 1`, `reeve_build_info{go_version="go1`, `version="9.8.7"`,
		} {
			if !strings.Contains(text, line) {
				t.Errorf("it does not say %s", line)
			}
		}
		for _, word := range []string{"secret", "renewal", "elsewhere.example", "no-such-thing", "my_own_tool", "rv_", "owner", in.Digest} {
			if strings.Contains(text, word) {
				t.Errorf("it says %q", word)
			}
		}
	})
}

func TestMetricsAskForACredentialWhereCallersCome(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	worker := anyToken.FindString(p.ok(t, "token", "create", "--kind", "worker", "--name", "scraper", "--scope", "state:read"))
	blind := anyToken.FindString(p.ok(t, "token", "create", "--kind", "worker", "--name", "blind", "--scope", "work:claim"))
	for _, c := range []struct {
		name, method, token string
		status              int
	}{
		{"nobody", "GET", "", 401}, {"an agent", "GET", s.agent, 403}, {"a worker that may not look", "GET", blind, 403},
		{"a worker that may", "GET", worker, 200}, {"a person", "GET", s.person, 200}, {"a person who posts", "POST", s.person, 405},
	} {
		status, body := s.send(t, c.method, "/metrics", c.token, "")
		if status != c.status || (status == 200) != strings.Contains(string(body), "reeve_calls_total") {
			t.Errorf("%s: %d\n%.300s", c.name, status, body)
		}
	}
	if strings.Contains(s.out.String(), "Metrics are at") {
		t.Error("it has an address for them, and nobody asked for one")
	}
	p.run(t, "serve", "--listen", "127.0.0.1:0", "--metrics-listen", "9464").refused(t, 2, "--metrics-listen is an address and a port")
	p.run(t, "serve", "--listen", "127.0.0.1:0", "--metrics-listen", strings.TrimPrefix(s.url, "http://")).refused(t, 1, "another program listens on", "with --metrics-listen")
}
