package main

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator/operatortest"
)

func TestServeBeginsInAnEmptyFolder(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		p := newPlace(t, store)
		begun := time.Now()
		first := p.serve(t)
		took := time.Since(begun)
		t.Logf("ready after %s", took.Round(time.Millisecond))
		if took > 5*time.Second {
			t.Errorf("it took %s to be ready", took)
		}
		if first.agent == "" || first.person == "" {
			t.Fatalf("it printed no credentials:\n%s", first.out)
		}
		for _, path := range []string{"/healthz", "/readyz"} {
			if status, body := first.send(t, "GET", path, "", ""); status != 200 {
				t.Errorf("%s answers %d: %s", path, status, body)
			}
		}
		first.signal(t, syscall.SIGTERM)
		if code := first.ended(t, 10*time.Second); code != 0 {
			t.Errorf("exit %d after SIGTERM\n%s", code, first.err)
		}
		if anyToken.MatchString(first.err.String()) {
			t.Error("a credential is in the log")
		}
		again := p.serve(t)
		if found := anyToken.FindString(again.out.String() + again.err.String()); found != "" {
			t.Errorf("a second start printed a credential")
		}
		again.agent = first.agent
		if in := again.record(t, renewal); in.Status != "pending_approval" {
			t.Errorf("the first start's credential does not work: %+v", in)
		}
		again.signal(t, os.Interrupt)
		if code := again.ended(t, 10*time.Second); code != 0 {
			t.Errorf("exit %d after SIGINT", code)
		}
	})
}

func TestTheExampleOfTheFirstStartWorksAsPrinted(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		missing(t, "no curl on this machine")
	}
	s := newPlace(t, "sqlite").serve(t)
	_, after, ok := strings.Cut(s.out.String(), "\n\n  curl")
	example, _, ok2 := strings.Cut(after, "\n\n")
	if !ok || !ok2 {
		t.Fatalf("no example in:\n%s", s.out)
	}
	answer, err := exec.Command("sh", "-c", "curl"+example).CombinedOutput()
	if err != nil || !strings.Contains(string(answer), `"status":"pending_approval"`) {
		t.Errorf("%v\n%s", err, answer)
	}
}

func TestServeRefusesBeforeItMakesAnything(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct {
		name string
		args []string
		code int
		say  string
	}{
		{"a policy file that does not exist", []string{"--policy", "none.yaml"}, 1, "the policy file none.yaml cannot be read: no such file"},
		{"a policy file that does not parse", []string{"--policy", "bad.yaml"}, 1, "bad.yaml:3:21"},
		{"a port that is in use", []string{"--listen", taken.Addr().String()}, 1, "another program listens on " + taken.Addr().String()},
		{"an address that is none of this machine's", []string{"--listen", "192.0.2.1:3401"}, 1, "cannot listen on 192.0.2.1:3401"},
		{"no address", []string{"--listen", "3401"}, 2, "--listen is an address and a port"},
		{"a notice to nowhere", []string{"--notify", "mail me"}, 2, "--notify: not a hook"},
		{"a rate below nothing", []string{"--rate=-1"}, 2, "--rate is a number of requests a second"},
		{"no connections", []string{"--max-connections", "0"}, 2, "--max-connections and --max-connections-per-address are 1 or more"},
		{"a database of another kind", []string{"--database-url", "mysql://db"}, 2, "begins with postgres://"},
		{"two databases", []string{"--database-url", "postgres://db/x", "--dir", "y"}, 2, "name two databases"},
		{"a flag that does not exist", []string{"--approve"}, 2, "unknown flag --approve"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t, "sqlite")
			p.file(t, "bad.yaml", "version: 1\nrules:\n  - {id: x, effect: maybe}\n")
			args := append([]string{"serve", "--listen", "127.0.0.1:0"}, c.args...)
			p.run(t, args...).refused(t, c.code, c.say)
			if _, err := os.Stat(filepath.Join(p.dir, "reeve-data")); err == nil {
				t.Error("it made the data folder")
			}
		})
	}
	t.Run("a folder that cannot be made", func(t *testing.T) {
		p := newPlace(t, "sqlite")
		p.file(t, "file", "")
		p.run(t, "serve", "--listen", "127.0.0.1:0", "--dir", "file/data").refused(t, 1, "the folder file/data cannot be written", "--dir")
	})
	t.Run("a PostgreSQL that does not answer, without repeating its password", func(t *testing.T) {
		r := newPlace(t, "sqlite").run(t, "serve", "--listen", "127.0.0.1:0", "--database-url", "postgres://me:hunter2@127.0.0.1:1/db?sslmode=disable")
		r.refused(t, 1, "PostgreSQL")
		if strings.Contains(r.err, "hunter2") {
			t.Error(r.err)
		}
	})
}

func TestALongPollIsAnsweredWhenTheServerStops(t *testing.T) {
	s := newPlace(t, "sqlite").serve(t)
	in := s.record(t, renewal)
	type answer struct {
		status int
		body   []byte
	}
	answers := make(chan answer, 1)
	go func() {
		status, body := s.send(t, "GET", "/v1/intents/"+number(in.ID)+"?wait=30", s.agent, "")
		answers <- answer{status, body}
	}()
	time.Sleep(300 * time.Millisecond) // let it begin to wait
	begun := time.Now()
	s.signal(t, syscall.SIGTERM)
	select {
	case a := <-answers:
		if a.status != 200 || !strings.Contains(string(a.body), "pending_approval") {
			t.Errorf("%d %s", a.status, a.body)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the poll was never answered")
	}
	if code := s.ended(t, 10*time.Second); code != 0 {
		t.Errorf("exit %d", code)
	}
	if took := time.Since(begun); took > 8*time.Second {
		t.Errorf("stopping took %s", took)
	}
}

func TestTwoServersShareADatabase(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		p := newPlace(t, store)
		one := p.serve(t)
		two := p.serve(t)
		if two.agent != "" {
			t.Error("the second server made credentials too")
		}
		two.agent = one.agent
		in := one.record(t, renewal)
		if got := two.record(t, renewal); got.ID != in.ID || got.Created {
			t.Errorf("the other server says %+v", got)
		}
		waited := make(chan intent, 1)
		go func() {
			_, body := two.send(t, "GET", "/v1/intents/"+number(in.ID)+"?wait=30", two.agent, "")
			var out intent
			decode(t, body, &out)
			waited <- out
		}()
		one.send(t, "POST", "/v1/intents/"+number(in.ID)+"/approve", one.person, `{"digest":"`+in.Digest+`"}`)
		if got := <-waited; got.Status != "approved" {
			t.Errorf("who waits at the other server is told %+v", got)
		}
	})
}

func TestServersThatBeginAtOnceMakeOneAccount(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		p := newPlace(t, store)
		var all []*server
		for range 4 {
			all = append(all, &server{background: p.start(t, "serve", "--listen", "127.0.0.1:0")})
		}
		made := 0
		for _, s := range all {
			s.waitReady(t)
			if s.agent != "" {
				made++
			}
		}
		if made != 1 {
			t.Errorf("%d of 4 servers made the first credentials", made)
		}
	})
}

func TestBeyondLoopbackIsWarnedOf(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := &server{background: p.start(t, "serve", "--listen", "0.0.0.0:0", "--allow-host", "reeve.example")}
	s.waitReady(t)
	if out := s.out.String(); !strings.Contains(out, "WARNING: ") || !strings.Contains(s.err.String(), `"level":"WARN"`) {
		t.Errorf("no warning:\n%s%s", out, s.err)
	}
	if !strings.HasPrefix(s.url, "http://127.0.0.1:") {
		t.Errorf("it says to connect to %s", s.url)
	}
	for _, path := range []string{"/v1/state", "/mcp"} {
		for host, want := range map[string]bool{"reeve.example": true, "evil.example": false} {
			req, err := http.NewRequestWithContext(t.Context(), "GET", s.url+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Host = host
			req.Header.Set("Authorization", "Bearer "+s.agent)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if (resp.StatusCode != 403) != want {
				t.Errorf("%s as %s answers %d", path, host, resp.StatusCode)
			}
		}
	}
	if quiet := newPlace(t, "sqlite").serve(t); strings.Contains(quiet.out.String(), "WARNING") {
		t.Error("a server on loopback warns too")
	}
}

func TestANoticeIsGivenOncePerIntent(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		p := newPlace(t, store)
		told := filepath.Join(p.dir, "told")
		s := p.serve(t, "--notify", `exec:cat >/dev/null; echo "$REEVE_MESSAGE_KEY" >>`+told)
		first := s.record(t, renewal)
		s.record(t, renewal)
		s.record(t, `{"type":"send","title":"Hello","recipient":"bo@elsewhere.example","body":"Hi"}`)
		s.record(t, renewal)
		eventually(t, "two notices", func() bool { return strings.Count(read(t, told), "\n") >= 2 })
		time.Sleep(1500 * time.Millisecond) // more than a round of the relay
		keys := strings.Fields(read(t, told))
		if len(keys) != 2 || keys[0] == keys[1] || !strings.Contains(strings.Join(keys, " "), number(first.ID)) {
			t.Errorf("told of %v", keys)
		}
	})
}

// read is a file's text, empty while there is no file.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}
