package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reeve-go/reeve/operator/operatortest"
)

// eachWay runs a test with the arguments of both ways to an agent's tools: a
// server, and the database itself.
func eachWay(t *testing.T, test func(t *testing.T, p place, args []string)) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		p := newPlace(t, store)
		s := p.serve(t)
		token := p.file(t, "agent.token", s.agent+"\n")
		database := []string{"--dir", "reeve-data"}
		if store == "postgres" {
			database = []string{"--database-url", strings.TrimPrefix(p.env[0], "REEVE_DATABASE_URL=")}
		}
		for name, where := range map[string][]string{"by a server": {"--url", s.url}, "by the database": database} {
			t.Run(name, func(t *testing.T) { test(t, p, append([]string{"mcp", "--token-file", token}, where...)) })
		}
	})
}

func TestTheOfficialClientStartsItAndCallsInBothEras(t *testing.T) {
	eachWay(t, func(t *testing.T, p place, args []string) {
		for _, version := range []string{"2026-07-28", "2025-11-25", "2024-11-05"} {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			cmd := p.command(context.Background(), args...)
			log := &lines{}
			cmd.Stderr = log
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
			session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			if got := session.InitializeResult(); got.ProtocolVersion != version || got.ServerInfo.Name != "reeve" {
				t.Errorf("negotiated %+v", got)
			}
			list, err := session.ListTools(ctx, nil)
			if err != nil || len(list.Tools) == 0 {
				t.Fatalf("listed %v, %v", list, err)
			}
			res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "operator_record_action_intent", Arguments: json.RawMessage(`{"action":` + renewal + `}`)})
			if err != nil || res.IsError || res.StructuredContent.(map[string]any)["status"] != "pending_approval" {
				t.Fatalf("%+v, %v", res, err)
			}
			res, err = session.CallTool(ctx, &mcp.CallToolParams{Name: "nobody_knows"})
			if err != nil || !res.IsError {
				t.Errorf("%+v, %v", res, err)
			}
			if err := session.Close(); err != nil {
				t.Errorf("it did not end well: %v\n%s", err, log)
			}
			if anyToken.MatchString(log.String()) {
				t.Error("a credential is in the log")
			}
			if warned := strings.Contains(log.String(), "holds the database"); warned == strings.Contains(strings.Join(args, " "), "--url ") {
				t.Errorf("the log says: %s", log)
			}
		}
	})
}

// reply is what the tests look at of an answer.
type reply struct {
	ID     json.RawMessage
	Result *struct {
		StructuredContent struct {
			Status, Reason, Verdict string
		}
	}
	Error *struct{ Code int }
}

func replies(t *testing.T, out string) map[string]reply {
	t.Helper()
	all := map[string]reply{}
	for _, l := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
		var r reply
		if err := json.Unmarshal([]byte(l), &r); err != nil {
			t.Fatalf("%q is no message: %v", l, err)
		}
		all[string(r.ID)] = r
	}
	return all
}

func recordCall(id int, title string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"operator_record_action_intent","arguments":{"action":{"type":"spend","title":%q,"amount_cents":4900}}}}`, id, title)
}

func TestEverythingUnderWayAtTheEndOfTheInputIsAnswered(t *testing.T) {
	eachWay(t, func(t *testing.T, p place, args []string) {
		var input strings.Builder
		for i := range 8 {
			input.WriteString(recordCall(i+1, fmt.Sprint("Renewal ", i)) + "\r\n\n")
		}
		input.WriteString("garbage\n" + recordCall(9, "half")[:60])
		r := p.feed(t, input.String(), args...)
		got := replies(t, r.out)
		for i := range 8 {
			a := got[strconv.Itoa(i+1)]
			if a.Result == nil || a.Result.StructuredContent.Status != "pending_approval" {
				t.Errorf("call %d: %+v", i+1, a)
			}
		}
		if r.code != 0 || got["null"].Error == nil || got["null"].Error.Code != -32700 || strings.Count(r.out, "\n") != 10 {
			t.Errorf("exit %d, %q", r.code, r.out)
		}
	})
}

func TestALongWaitIsAnsweredWhenTheInputEndsOnTheDatabase(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	in := s.record(t, renewal)
	token := p.file(t, "agent.token", s.agent)
	begun := time.Now()
	r := p.feed(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"operator_state","arguments":{"intent_id":`+number(in.ID)+`,"wait_seconds":60}}}`,
		"mcp", "--dir", "reeve-data", "--token-file", token)
	if r.code != 0 || !strings.Contains(r.out, "pending_approval") {
		t.Errorf("exit %d after %s: %s%s", r.code, time.Since(begun), r.out, r.err)
	}
}

// bridge is a running mcp that a test talks to.
type bridge struct {
	*background
	in  io.WriteCloser
	out *bufio.Reader
}

func (p place) bridge(t *testing.T, args ...string) *bridge {
	t.Helper()
	b := &bridge{background: &background{cmd: p.command(context.Background(), args...), out: &lines{}, err: &lines{}, done: make(chan struct{})}}
	var err error
	if b.in, err = b.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	b.cmd.Stdout, b.cmd.Stderr, b.out = w, b.background.err, bufio.NewReader(r)
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	go func() { _ = b.cmd.Wait(); close(b.done) }()
	t.Cleanup(func() {
		b.cmd.Process.Kill()
		<-b.done
		r.Close()
	})
	return b
}

func (b *bridge) ask(t *testing.T, line string) reply {
	t.Helper()
	if _, err := io.WriteString(b.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := b.out.ReadString('\n')
	if err != nil {
		t.Fatalf("no answer to %s: %v\n%s", line, err, b.err)
	}
	for _, r := range replies(t, answer) {
		return r
	}
	return reply{}
}

func TestABridgeOutlivesItsServer(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	address := strings.TrimPrefix(s.url, "http://")
	b := p.bridge(t, "mcp", "--url", s.url, "--token-file", p.file(t, "agent.token", s.agent))
	if r := b.ask(t, recordCall(1, "One")); r.Result == nil || r.Result.StructuredContent.Status != "pending_approval" {
		t.Fatalf("%+v", r)
	}
	s.signal(t, syscall.SIGTERM)
	s.ended(t, 20*time.Second)
	if r := b.ask(t, recordCall(2, "Two")); r.Result == nil || r.Result.StructuredContent.Verdict != "unavailable" {
		t.Errorf("without a server: %+v", r)
	}
	if r := b.ask(t, "garbage"); r.Error == nil || r.Error.Code != -32700 {
		t.Errorf("garbage without a server: %+v", r)
	}
	if l, err := net.Listen("tcp", address); err != nil {
		t.Skipf("the port went to somebody else: %v", err)
	} else {
		l.Close()
	}
	again := &server{background: p.start(t, "serve", "--listen", address)}
	again.waitReady(t)
	if r := b.ask(t, recordCall(3, "Two")); r.Result == nil || r.Result.StructuredContent.Status != "pending_approval" {
		t.Errorf("with one again: %+v", r)
	}
	b.in.Close()
	if code := b.ended(t, 20*time.Second); code != 0 {
		t.Errorf("exit %d\n%s", code, b.err)
	}
	if anyToken.MatchString(b.err.String()) {
		t.Error("a credential is in the log")
	}
}

func TestASignalEndsABridge(t *testing.T) {
	eachWay(t, func(t *testing.T, p place, args []string) {
		for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
			b := p.bridge(t, args...)
			if r := b.ask(t, recordCall(1, "One")); r.Result == nil {
				t.Fatalf("%+v", r)
			}
			b.signal(t, sig)
			if code := b.ended(t, 20*time.Second); code != 0 {
				t.Errorf("exit %d after %s\n%s", code, sig, b.err)
			}
		}
	})
}

func TestAHostThatHasGoneIsAnError(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	cmd := p.command(t.Context(), "mcp", "--url", s.url, "--token-file", p.file(t, "agent.token", s.agent))
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &complaints
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := io.WriteString(in, recordCall(1, "One")+"\n"); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its exit code is looked at below
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(complaints.String(), "the answers cannot be written") {
		t.Errorf("exit %d: %s", code, complaints.String())
	}
	in.Close()
}

var peakMemory = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// TestALineOf64MiBIsNotKept watches the process from outside.
func TestALineOf64MiBIsNotKept(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("/proc is Linux's")
	}
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	b := p.bridge(t, "mcp", "--url", s.url, "--token-file", p.file(t, "agent.token", s.agent))
	b.ask(t, recordCall(1, "One"))
	before := peakKiB(t, b.cmd)
	piece := strings.Repeat("x", 1<<20)
	for range 64 {
		if _, err := io.WriteString(b.in, piece); err != nil {
			t.Fatal(err)
		}
	}
	if r := b.ask(t, ""); r.Error == nil || r.Error.Code != -32600 || string(r.ID) != "null" {
		t.Errorf("answered %+v", r)
	}
	if r := b.ask(t, recordCall(2, "Two")); r.Result == nil {
		t.Errorf("the next line: %+v", r)
	}
	if grown := peakKiB(t, b.cmd) - before; grown > 24<<10 {
		t.Errorf("it grew by %d KiB", grown)
	} else {
		t.Logf("it grew by %d KiB", grown)
	}
}

func peakKiB(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	m := peakMemory.FindSubmatch(status)
	if m == nil {
		t.Skip("this kernel keeps no peak of a process's memory")
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestACredentialOfNobodyIsToldToTheHost(t *testing.T) {
	eachWay(t, func(t *testing.T, p place, args []string) {
		args = append(args, "--token-file", p.file(t, "wrong.token", "rv_agent_0000000000000000000000000000000000000000000"))
		r := p.feed(t, recordCall(1, "One")+"\n"+`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, args...)
		got := replies(t, r.out)
		if a := got["1"]; a.Result == nil || a.Result.StructuredContent.Reason != "unauthenticated" {
			t.Errorf("the call: %+v", a)
		}
		if a := got["2"]; a.Error == nil {
			t.Errorf("the handshake: %+v", a)
		}
		if r.code != 0 || anyToken.MatchString(r.out+r.err) {
			t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
		}
	})
}

func TestABridgeRefusesBeforeItReads(t *testing.T) {
	p := newPlace(t, "sqlite")
	token := p.file(t, "agent.token", "rv_agent_0000000000000000000000000000000000000000000")
	empty := p.file(t, "empty.token", "\n")
	for _, c := range []struct {
		name string
		args []string
		env  []string
		code int
		say  string
	}{
		{"no credential", nil, nil, 2, "--token-file"},
		{"a credential on the command line", []string{"--token", "rv_x"}, nil, 2, "unknown flag"},
		{"a file that does not exist", []string{"--token-file", "none"}, nil, 1, "cannot be read: no such file"},
		{"a file that is empty", []string{"--token-file", empty}, nil, 1, "is no good"},
		{"http to somebody else", []string{"--token-file", token, "--url", "http://reeve.example"}, nil, 2, "use https"},
		{"an address with a credential in it", []string{"--token-file", token, "--url", "https://a:rv_agent_x@reeve.example"}, nil, 2, "no user"},
		{"no address", []string{"--token-file", token, "--url", "reeve"}, nil, 2, "an address is http"},
		{"a server and a database", []string{"--token-file", token, "--url", "http://127.0.0.1:1", "--dir", "x"}, nil, 2, "give one of them"},
		{"both in the environment", []string{"--token-file", token}, []string{"REEVE_URL=http://127.0.0.1:1", "REEVE_DIR=x"}, 2, "unset one"},
		{"a prefix for a server", []string{"--token-file", token, "--tool-prefix", "a_"}, nil, 2, "a server has its own"},
		{"no grace", []string{"--token-file", token, "--grace", "-1s"}, nil, 2, "--grace"},
		{"a database that is not there", []string{"--token-file", token, "--dir", "nowhere"}, nil, 1, "there is no database in nowhere"},
		{"one that the environment names", []string{"--token-file", token}, []string{"REEVE_DIR=nowhere"}, 1, "there is no database in nowhere"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := p.with(c.env...).run(t, append([]string{"mcp"}, c.args...)...)
			r.refused(t, c.code, c.say)
			if r.out != "" {
				t.Errorf("it wrote %q where messages belong", r.out)
			}
		})
	}
	t.Run("a flag wins over the environment", func(t *testing.T) {
		r := p.with("REEVE_DIR=nowhere").feed(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "mcp", "--token-file", token, "--url", "http://127.0.0.1:1")
		if r.code != 0 || !strings.Contains(r.out, "127.0.0.1:1 cannot be reached") {
			t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
		}
	})
	t.Run("a file that others can read is warned of", func(t *testing.T) {
		if err := os.Chmod(token, 0o644); err != nil {
			t.Fatal(err)
		}
		if r := p.run(t, "mcp", "--token-file", token, "--url", "http://127.0.0.1:1"); r.code != 0 || r.out != "" || !strings.Contains(r.err, "others can read") {
			t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
		}
	})
}
