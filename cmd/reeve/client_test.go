package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// server is a running serve, as its first start told of it.
type server struct {
	*background
	url           string
	agent, person string // the credentials of a first start
}

var (
	readyLine   = regexp.MustCompile(`(?m)^reeve is ready on (http://\S+) .*$`)
	agentToken  = regexp.MustCompile(`rv_agent_[A-Za-z0-9_-]{43}`)
	personToken = regexp.MustCompile(`rv_human_[A-Za-z0-9_-]{43}`)
	anyToken    = regexp.MustCompile(`rv_[a-z]+_[A-Za-z0-9_-]{20,}`)
)

// serve starts a server on a free port and waits until it says that it is ready.
func (p place) serve(t *testing.T, args ...string) *server {
	t.Helper()
	s := &server{background: p.start(t, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)}
	s.waitReady(t)
	return s
}

func (s *server) waitReady(t *testing.T) {
	t.Helper()
	begun := time.Now()
	for {
		if m := readyLine.FindStringSubmatch(s.out.String()); m != nil {
			s.url = m[1]
			break
		}
		select {
		case <-s.done:
			t.Fatalf("serve ended: %s%s", s.out, s.err)
		case <-time.After(5 * time.Millisecond):
		}
		if time.Since(begun) > 15*time.Second {
			t.Fatalf("serve is not ready: %s%s", s.out, s.err)
		}
	}
	s.agent, s.person = agentToken.FindString(s.out.String()), personToken.FindString(s.out.String())
}

// renewal is the action that the tests record.
const renewal = `{"type":"spend","title":"Annual plan renewal","amount_cents":4900}`

// intent is what the tests look at of one.
type intent struct {
	ID                 int64    `json:"id"`
	Status             string   `json:"status"`
	PolicyDecision     string   `json:"policy_decision"`
	PolicyReasons      []string `json:"policy_reasons"`
	ApprovalDecisionID *int64   `json:"approval_decision_id"`
	IdempotencyKey     string   `json:"idempotency_key"`
	Digest             string   `json:"digest"`
	Affordances        []string `json:"affordances"`
	Created            bool     `json:"created"`
	Outcome            *string  `json:"outcome"`
	SupersededBy       *int64   `json:"superseded_by"`
	Payload            any      `json:"payload"`
	Responses          []struct{ By, Text string }
}

// record calls the tool over MCP as a bare request: no session, no handshake.
func (s *server) record(t *testing.T, action string) intent {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"operator_record_action_intent","arguments":{"action":` + action + `}}}`
	status, answer := s.send(t, "POST", "/mcp", s.agent, body)
	var out struct {
		Result struct {
			StructuredContent intent `json:"structuredContent"`
			IsError           bool   `json:"isError"`
		}
	}
	if err := json.Unmarshal(answer, &out); err != nil || status != 200 || out.Result.IsError || out.Result.StructuredContent.ID == 0 {
		t.Fatalf("record %s: %d, %v\n%s", action, status, err, answer)
	}
	return out.Result.StructuredContent
}

// look reads an intent over REST.
func (s *server) look(t *testing.T, id int64) intent {
	t.Helper()
	status, answer := s.send(t, "GET", "/v1/intents/"+number(id), s.agent, "")
	var out intent
	if err := json.Unmarshal(answer, &out); err != nil || status != 200 {
		t.Fatalf("look at %d: %d, %v\n%s", id, status, err, answer)
	}
	return out
}

func (s *server) send(t *testing.T, method, path, token, body string) (int, []byte) {
	t.Helper()
	return s.sendWith(t, method, path, token, body, nil)
}

func (s *server) sendWith(t *testing.T, method, path, token, body string, headers map[string]string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, answer
}

func number(id int64) string {
	text, _ := json.Marshal(id) // an integer always marshals
	return string(text)
}

// person is a place where the person's credential is in a file.
func (s *server) personIn(t *testing.T, p place) place {
	t.Helper()
	return p.with("REEVE_TOKEN_FILE=" + p.file(t, "person-token", s.person+"\n"))
}

// approve records the renewal, or another action, and approves it in the terminal.
func (s *server) approve(t *testing.T, person place, action string) intent {
	t.Helper()
	in := s.record(t, action)
	out := person.ok(t, "inbox", "approve", number(in.ID), "--digest", in.Digest)
	if !strings.Contains(out, "is approved") {
		t.Fatalf("approve: %s", out)
	}
	return in
}

// missing skips a test for what the machine lacks, and fails it under CI, where
// nothing may be left out unseen.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(what)
	}
	t.Skip(what)
}
