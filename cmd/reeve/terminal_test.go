package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"regexp"
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
		missing(t, "no script of util-linux to make a terminal with")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	cmd := p.command(ctx)
	cmd.Path, cmd.Args = script, []string{"script", "-qefc", line, os.DevNull}
	cmd.Env = append(cmd.Env, "SHELL=/bin/sh") // the same shell on every machine
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

const (
	askToken    = "Your credential"
	askApproval = "to approve exactly this, or press Enter to leave it: "
)

// tail is the end of the digest, which whoever recorded the intent knows.
func tail(in intent) string { return in.Digest[len(in.Digest)-4:] }

var question = regexp.MustCompile(`Type ([a-z0-9]{4}) to `)

// asked waits for a question, and gives the word that answers it.
func (s *sitting) asked(purpose string) string {
	s.t.Helper()
	eventually(s.t, "the terminal asks "+purpose, func() bool { return strings.Contains(s.out.String(), purpose) })
	m := question.FindStringSubmatch(s.out.String())
	if m == nil {
		s.t.Fatalf("no word to type in:\n%s", s.out)
	}
	return m[1]
}

func TestAPersonApprovesOnATerminal(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	for i, c := range []struct {
		name, keys string
		code       int
		status     string
	}{
		{"the word that is shown approves", "WORD\n", 0, "approved"},
		{"the end of the digest does not", "TAIL\n", 1, "pending_approval"},
		{"and so it does in capitals, with blanks around it", " UPPER \n", 0, "approved"},
		{"y does not", "y\n", 1, "pending_approval"},
		{"a bare return does not", "\n", 1, "pending_approval"},
		{"a part of it does not", "PART\n", 1, "pending_approval"},
		{"more than it does not", "xWORD\n", 1, "pending_approval"},
		{"an end of input does not", "\x04", 1, "pending_approval"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := s.record(t, `{"type":"spend","title":"Wish","amount_cents":`+number(int64(i)+100)+`}`)
			at := p.sit(t, "inbox", "approve", number(in.ID))
			at.answer(askToken, s.person+"\n")
			word := at.asked(askApproval)
			keys := strings.NewReplacer("WORD", word, "UPPER", strings.ToUpper(word), "PART", word[1:], "TAIL", tail(in)).Replace(c.keys)
			at.answer(askApproval, keys)
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

func TestEachActOnATerminalAsksForAWordOfTheMoment(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	person := s.personIn(t, p)
	for i, c := range []struct{ act, purpose, status string }{
		{"reject", "to reject this for good", "rejected"}, {"ignore", "to close this without a judgement", "cancelled"}, {"revoke", "to take this back", "cancelled"}} {
		in := s.record(t, `{"type":"spend","title":"Wish","amount_cents":`+number(int64(i)+100)+`}`)
		left := person.sit(t, "inbox", c.act, number(in.ID))
		left.answer(c.purpose, "y\n")
		if code, shown := left.end(); code != 1 || s.look(t, in.ID).Status != "pending_approval" {
			t.Errorf("%s by y: exit %d\n%s", c.act, code, shown)
		}
		at := person.sit(t, "inbox", c.act, number(in.ID))
		at.answer(c.purpose, at.asked(c.purpose)+"\n")
		if code, shown := at.end(); code != 0 || s.look(t, in.ID).Status != c.status {
			t.Errorf("%s: exit %d\n%s", c.act, code, shown)
		}
	}
}

func TestSettlingOnATerminalShowsAndAsks(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	person := s.personIn(t, p)
	in := s.approve(t, person, renewal)
	p.start(t, "work", "--once", "--lease", "1s", "--handler", "spend=exec:kill -9 $PPID; sleep 5").ended(t, 10*time.Second)
	eventually(t, "unknown", func() bool { return s.look(t, in.ID).Status == "unknown" })
	const purpose = "to settle this as failed, or press Enter to leave it: "
	for _, c := range []struct{ keys, status string }{{"\n", "unknown"}, {"WORD\n", "failed"}} {
		at := person.sit(t, "inbox", "settle", number(in.ID), "failed")
		at.answer(purpose, strings.Replace(c.keys, "WORD", at.asked(purpose), 1))
		if _, shown := at.end(); s.look(t, in.ID).Status != c.status || !strings.Contains(shown, "In short, intent") {
			t.Errorf("after %q it is %s:\n%s", c.keys, s.look(t, in.ID).Status, shown)
		}
	}
}

func TestWhatWasTypedBeforeTheQuestionIsNoAnswer(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	in := s.record(t, renewal)
	person := s.personIn(t, p)
	// Somebody knows the digest, and pastes its end while nothing is shown yet.
	at := person.sitShell(t, "echo ready; sleep 1; "+shellQuoted(program)+" inbox approve "+number(in.ID)+"; cat")
	at.answer("ready", tail(in)+"\ny\n"+tail(in)+"\n")
	at.answer(askApproval, "\n")
	at.answer("nothing was changed", "\x04")
	if code, shown := at.end(); s.look(t, in.ID).Status != "pending_approval" {
		t.Errorf("it is %s; exit %d\n%s", s.look(t, in.ID).Status, code, shown)
	}
}

func TestANarrowTerminalIsNotAskedOn(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	in := s.record(t, renewal)
	at := s.personIn(t, p).sitShell(t, "stty cols 19 rows 24; "+shellQuoted(program)+" inbox approve "+number(in.ID))
	if code, shown := at.end(); code != 1 || !strings.Contains(shown, "fewer than 20 columns") || strings.Contains(shown, "In short") {
		t.Errorf("exit %d\n%s", code, shown)
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
	// stty is asked on the same terminal afterwards. Ctrl-C reaches the shell too,
	// which must outlive it; what the shell traps is the default in its children.
	at := p.sitShell(t, "trap : INT; "+shellQuoted(program)+` inbox; echo "code $?"; stty -a`)
	at.answer(askToken, "\x03")
	_, shown := at.end()
	_, after, _ := strings.Cut(shown, "code ")
	if !strings.HasPrefix(after, "130") || !strings.Contains(after, " echo ") || strings.Contains(after, "-echo ") {
		t.Errorf("afterwards:\n%s", shown)
	}
}

func TestACredentialIsNotShownByWayOfASuspendedPrompt(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	at := p.sit(t, "inbox")
	at.answer(askToken, "\x1a")
	if _, err := io.WriteString(at.keys, s.person+"\n"); err != nil {
		t.Fatal(err)
	}
	if code, shown := at.end(); code != 0 || strings.Contains(shown, s.person) {
		t.Errorf("exit %d:\n%s", code, shown)
	}
}

func TestAPromptThatIsQuitLeavesTheTerminalAsItWas(t *testing.T) {
	p := newPlace(t, "sqlite")
	p.serve(t)
	at := p.sitShell(t, "trap : QUIT; "+shellQuoted(program)+` inbox; echo "code $?"; stty -a`)
	at.answer(askToken, "\x1c")
	_, shown := at.end()
	_, after, _ := strings.Cut(shown, "code ")
	if !strings.HasPrefix(after, "130") || strings.Contains(after, "-echo ") {
		t.Errorf("afterwards:\n%s", shown)
	}
}
