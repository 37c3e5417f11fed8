package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator/operatortest"
)

// leaseOver is longer than the lease of one second that the tests hold.
const leaseOver = 1500 * time.Millisecond

// TestAWorkerThatIsKilledHalfWay kills a worker with SIGKILL after its handler has
// acted and before it could report.
func TestAWorkerThatIsKilledHalfWay(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		p := newPlace(t, store)
		s := p.serve(t)
		person := s.personIn(t, p)
		effects := filepath.Join(p.dir, "effects")
		acts := `echo "$REEVE_IDEMPOTENCY_KEY" >>` + effects
		thenDies := acts + `; kill -9 $PPID; sleep 5`

		t.Run("leaves it unknown, and nobody runs it again by themselves", func(t *testing.T) {
			in := s.approve(t, person, renewal)
			if code := p.start(t, "work", "--once", "--lease", "1s", "--handler", "spend=exec:"+thenDies).ended(t, 10*time.Second); code != -1 {
				t.Fatalf("the worker was not killed: exit %d", code)
			}
			if got := s.look(t, in.ID); got.Status != "executing" {
				t.Errorf("while the lease lasts it is %s", got.Status)
			}
			eventually(t, "unknown", func() bool { return s.look(t, in.ID).Status == "unknown" })
			// Not even by a worker that says its handler is idempotent: what counts is
			// what was said when it was claimed.
			p.ok(t, "work", "--once", "--handler", "spend=exec:"+acts)
			p.ok(t, "work", "--once", "--handler", "spend=exec:"+acts, "--idempotent", "spend")
			if got := read(t, effects); got != in.IdempotencyKey+"\n" {
				t.Errorf("the effects are %q", got)
			}
			list := person.ok(t, "inbox")
			if !strings.Contains(list, "Nobody knows") || !strings.Contains(list, "Annual plan renewal") {
				t.Errorf("the inbox shows:\n%s", list)
			}
			person.ok(t, "inbox", "settle", number(in.ID), "succeeded", "--digest", in.Digest, "--note", "the bank says so")
			if got := s.look(t, in.ID); got.Status != "succeeded" || *got.Outcome != "the bank says so" {
				t.Errorf("settled as %+v", got)
			}
		})

		t.Run("is run again under the same key where that is harmless", func(t *testing.T) {
			if err := os.Remove(effects); err != nil {
				t.Fatal(err)
			}
			in := s.approve(t, person, `{"type":"deploy","title":"Release 7"}`)
			p.start(t, "work", "--once", "--lease", "1s", "--handler", "deploy=exec:"+thenDies, "--idempotent", "deploy").ended(t, 10*time.Second)
			time.Sleep(leaseOver)
			p.ok(t, "work", "--once", "--handler", "deploy=exec:"+acts, "--idempotent", "deploy")
			if got := read(t, effects); got != strings.Repeat(in.IdempotencyKey+"\n", 2) {
				t.Errorf("the effects are %q", got)
			}
			if got := s.look(t, in.ID); got.Status != "succeeded" {
				t.Errorf("it is %s", got.Status)
			}
		})
	})
}

func TestAHandlerSaysWhatCameOfIt(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	person := s.personIn(t, p)
	var calls atomic.Int64
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "got %s under %s", body, r.Header.Get("Idempotency-Key"))
	}))
	defer far.Close()
	for i, c := range []struct {
		name, handler, status, outcome string
	}{
		{"done", "exec:echo receipt 12", "succeeded", "receipt 12"},
		{"not done", "exec:echo card declined >&2; exit 3", "failed", "exit status 3: card declined"},
		{"killed", "exec:kill -9 $$", "unknown", ""},
		{"done far away", far.URL + "/pay", "succeeded", `got {"type":"spend"`},
		{"nobody there", "http://127.0.0.1:1/pay", "failed", "nothing was sent"},
		{"a secret in what it says", "exec:echo token rv_agent_" + strings.Repeat("x", 43), "succeeded", "[redacted:"},
		{"an escape sequence in what it says", `exec:printf '\033[2Jdone'`, "succeeded", "[2Jdone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := s.approve(t, person, fmt.Sprintf(`{"type":"spend","title":"Wish %d","amount_cents":%d}`, i, i+1))
			p.ok(t, "work", "--once", "--handler", "spend="+c.handler)
			got := s.look(t, in.ID)
			outcome := ""
			if got.Outcome != nil {
				outcome = *got.Outcome
			}
			if got.Status != c.status || !strings.Contains(outcome, c.outcome) {
				t.Errorf("it is %s: %q", got.Status, outcome)
			}
			if shown := person.ok(t, "inbox", "show", number(in.ID)); strings.ContainsRune(shown, '\033') {
				t.Errorf("an escape sequence reaches the terminal: %q", shown)
			}
		})
	}
	if calls.Load() != 1 {
		t.Errorf("the far side was called %d times", calls.Load())
	}
}

func TestAWorkerThatIsToldToStopFinishesItsJob(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	person := s.personIn(t, p)
	first := s.approve(t, person, renewal)
	second := s.approve(t, person, `{"type":"spend","title":"Another","amount_cents":1}`)
	began := filepath.Join(p.dir, "began")
	w := p.start(t, "work", "--handler", "spend=exec:touch "+began+"; sleep 1; echo finished")
	eventually(t, "the job began", func() bool { _, err := os.Stat(began); return err == nil })
	w.signal(t, syscall.SIGTERM)
	if code := w.ended(t, 10*time.Second); code != 0 {
		t.Errorf("exit %d: %s", code, w.err)
	}
	if got := s.look(t, first.ID); got.Status != "succeeded" || *got.Outcome != "finished" {
		t.Errorf("the running job is %+v", got)
	}
	if got := s.look(t, second.ID); got.Status != "approved" {
		t.Errorf("the next job is %s", got.Status)
	}
}

func TestAWorkerDoesNotWaitForAJobWithoutEnd(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	in := s.approve(t, s.personIn(t, p), renewal)
	began, late := filepath.Join(p.dir, "began"), filepath.Join(p.dir, "late")
	w := p.start(t, "work", "--lease", "3s", "--grace", "1s", "--handler", "spend=exec:touch "+began+"; sleep 30; touch "+late)
	eventually(t, "the job began", func() bool { _, err := os.Stat(began); return err == nil })
	w.signal(t, syscall.SIGTERM)
	if code := w.ended(t, 10*time.Second); code != 0 {
		t.Errorf("exit %d: %s", code, w.err)
	}
	if got := s.look(t, in.ID); got.Status != "unknown" {
		t.Errorf("it is %s", got.Status)
	}
}

func TestWhatIsApprovedLaterIsCarriedOutToo(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		p := newPlace(t, store)
		s := p.serve(t)
		p.start(t, "work", "--handler", "spend=exec:true", "--handler", "note=exec:true")
		note := s.record(t, `{"type":"note","title":"Buy milk"}`)
		in := s.approve(t, s.personIn(t, p), renewal)
		for _, id := range []int64{note.ID, in.ID} {
			eventually(t, "succeeded", func() bool { return s.look(t, id).Status == "succeeded" })
		}
	})
}

func TestAWorkerObeysThePolicyThatWasLoadedLast(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	in := s.approve(t, s.personIn(t, p), renewal)
	p.file(t, "hard.yaml", "version: 1\nextends: default\nrules:\n  - {id: no-spending, match: {types: [spend]}, effect: deny, reason: Not this month.}\n")
	other := p.start(t, "serve", "--listen", "127.0.0.1:0", "--policy", "hard.yaml")
	eventually(t, "the second server is ready", func() bool { return strings.Contains(other.out.String(), "ready") })
	p.ok(t, "work", "--once", "--handler", "spend=exec:touch ran")
	if _, err := os.Stat(filepath.Join(p.dir, "ran")); err == nil {
		t.Error("it carried out what its policy denies")
	}
	if got := s.look(t, in.ID); got.Status != "cancelled" {
		t.Errorf("it is %s", got.Status)
	}
}

func TestWhatIsNoWorkerIsRefused(t *testing.T) {
	p := newPlace(t, "sqlite")
	p.ok(t, "init")
	for _, c := range []struct {
		name string
		args []string
		code int
		say  string
	}{
		{"no handler", nil, 2, "--handler"},
		{"a handler without a type", []string{"--handler", "exec:true"}, 2, "--handler is TYPE="},
		{"a handler of another kind", []string{"--handler", "spend=mail:me"}, 2, "write exec:COMMAND"},
		{"a type twice", []string{"--handler", "spend=exec:true", "--handler", "spend=exec:false"}, 2, "twice"},
		{"an idempotent type without a handler", []string{"--handler", "spend=exec:true", "--idempotent", "send"}, 2, "has no --handler"},
		{"a lease of nothing", []string{"--handler", "spend=exec:true", "--lease", "0s"}, 2, "--lease"},
		{"a lease of half a second", []string{"--handler", "spend=exec:true", "--lease", "1500ms"}, 2, "--lease"},
		{"a lease of a day", []string{"--handler", "spend=exec:true", "--lease", "24h"}, 2, "--lease"},
		{"a name in capitals", []string{"--once", "--handler", "spend=exec:true", "--name", "W"}, 1, "lower-case"},
		{"a project that does not exist", []string{"--once", "--handler", "spend=exec:true", "--project", "none"}, 1, "no account"},
		{"a database that does not exist", []string{"--once", "--handler", "spend=exec:true", "--dir", "none"}, 1, "there is no database in none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.run(t, append([]string{"work"}, c.args...)...).refused(t, c.code, c.say)
		})
	}
}

func TestNoCredentialStandsInAnArgument(t *testing.T) {
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skip("no /proc on this machine")
	}
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	person := s.personIn(t, p)
	in := s.approve(t, person, renewal)
	seen := filepath.Join(p.dir, "seen")
	// The handler looks at every process while serve and work run, and so does the
	// hook that the inbox's editor is.
	look := "sh " + p.file(t, "look.sh", "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' >>"+seen+"\n")
	p.ok(t, "work", "--once", "--handler", "spend=exec:"+look)
	next := s.record(t, `{"type":"spend","title":"Another","amount_cents":1}`)
	person.with("EDITOR="+look).run(t, "inbox", "edit", number(next.ID))
	text := read(t, seen)
	if !strings.Contains(text, "inbox\nedit") || !strings.Contains(text, "serve\n") || !strings.Contains(text, "work\n") {
		t.Fatal("the look at the processes saw nothing")
	}
	for _, secret := range []string{s.agent, s.person} {
		if strings.Contains(text, secret) {
			t.Error("a credential stands in a process's arguments")
		}
	}
	if got := s.look(t, in.ID); got.Status != "succeeded" {
		t.Errorf("the job is %s", got.Status)
	}
}
