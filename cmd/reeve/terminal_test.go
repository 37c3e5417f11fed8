package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// sitting is a command that a person sits in front of: it runs on a terminal of
// its own, made by script of util-linux.
type sitting struct {
	t     *testing.T
	keys  io.WriteCloser
	out   *lines
	ended chan error
}

func (p place) sit(t *testing.T, args ...string) *sitting {
	t.Helper()
	words := []string{shellQuoted(program)}
	for _, a := range args {
		words = append(words, shellQuoted(a))
	}
	return p.sitShell(t, strings.Join(words, " "))
}

// sitShell is sit for a line of shell.
func (p place) sitShell(t *testing.T, line string) *sitting {
	t.Helper()
	script, err := exec.LookPath("script")
	if err == nil {
		var help []byte
		help, err = exec.Command(script, "--version").CombinedOutput()
		if err == nil && !strings.Contains(string(help), "util-linux") {
			err = exec.ErrNotFound
		}
	}
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("no script of util-linux to make a terminal with")
		}
		t.Skip("no script of util-linux to make a terminal with")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	cmd := p.command(ctx)
	cmd.Path, cmd.Args = script, []string{"script", "-qefc", line, os.DevNull}
	s := &sitting{t: t, out: &lines{}, ended: make(chan error, 1)}
	cmd.Stdout, cmd.Stderr = s.out, s.out
	if s.keys, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.ended <- cmd.Wait() }()
	return s
}

// answer waits until the terminal shows a text, and types.
func (s *sitting) answer(shown, keys string) {
	s.t.Helper()
	eventually(s.t, "the terminal shows "+shown, func() bool { return strings.Contains(s.out.String(), shown) })
	// Echo is switched off right after the prompt; no person types sooner.
	time.Sleep(200 * time.Millisecond)
	if _, err := io.WriteString(s.keys, keys); err != nil {
		s.t.Fatal(err)
	}
}

// end waits for the command's end, and gives its exit code and what was shown.
func (s *sitting) end() (int, string) {
	s.t.Helper()
	select {
	case err := <-s.ended:
		if exit, ok := err.(*exec.ExitError); ok {
			return exit.ExitCode(), s.out.String()
		} else if err != nil {
			s.t.Fatal(err)
		}
		return 0, s.out.String()
	case <-time.After(20 * time.Second):
		s.t.Fatalf("it did not end:\n%s", s.out)
	}
	return -1, ""
}

const askToken, askApproval = "Your credential", "Approve exactly this? [y/N] "

func TestAPersonApprovesOnATerminal(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	for i, c := range []struct {
		name, keys string
		code       int
		status     string
	}{
		{"y approves", "y\n", 0, "approved"},
		{"YES approves", "YES\n", 0, "approved"},
		{"n does not", "n\n", 1, "pending_approval"},
		{"a bare return does not", "\n", 1, "pending_approval"},
		{"another word does not", "yep\n", 1, "pending_approval"},
		{"an end of input does not", "\x04", 1, "pending_approval"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := s.record(t, `{"type":"spend","title":"Wish","amount_cents":`+number(int64(i)+100)+`}`)
			at := p.sit(t, "inbox", "approve", number(in.ID))
			at.answer(askToken, s.person+"\n")
			at.answer(askApproval, c.keys)
			code, shown := at.end()
			if code != c.code {
				t.Errorf("exit %d, want %d:\n%s", code, c.code, shown)
			}
			if !strings.Contains(shown, in.Digest) || strings.Index(shown, in.Digest) > strings.Index(shown, askApproval) {
				t.Errorf("it asks before it shows:\n%s", shown)
			}
			if strings.Contains(shown, s.person) {
				t.Error("the credential is shown while it is typed")
			}
			if got := s.look(t, in.ID); got.Status != c.status {
				t.Errorf("the intent is %s, want %s", got.Status, c.status)
			}
		})
	}
}

func TestAWrongCredentialOnATerminalIsRefused(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	at := p.sit(t, "inbox")
	at.answer(askToken, s.agent+"\n")
	if code, shown := at.end(); code != 1 || !strings.Contains(shown, "is not a person's") || strings.Contains(shown, s.agent) {
		t.Errorf("exit %d:\n%s", code, shown)
	}
}

func TestAnInterruptedPromptLeavesTheTerminalAsItWas(t *testing.T) {
	p := newPlace(t, "sqlite")
	p.serve(t)
	// stty is asked on the same terminal afterwards.
	at := p.sitShell(t, shellQuoted(program)+` inbox; echo "code $?"; stty -a`)
	at.answer(askToken, "\x03")
	_, shown := at.end()
	_, after, _ := strings.Cut(shown, "code ")
	if !strings.HasPrefix(after, "130") || !strings.Contains(after, " echo ") || strings.Contains(after, "-echo ") {
		t.Errorf("afterwards:\n%s", shown)
	}
}
