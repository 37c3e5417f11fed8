package hook

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// leftOpen is how long a command's output is still read after it has ended: a
// process that it left in the background may hold it open for ever.
const leftOpen = 2 * time.Second

// command is a hook that runs a line of shell.
type command struct {
	line    string
	environ []string
}

// patience is none: a command may take as long as its work takes.
func (c *command) patience() time.Duration { return 0 }

func (c *command) send(ctx context.Context, m message) (outcome string, err error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", c.line)
	// What is added stands last, and so wins over what was inherited.
	cmd.Env = append(append([]string{}, c.environ...), m.environ...)
	cmd.Stdin = bytes.NewReader(m.body)
	out, complaints := &head{limit: maxResponse}, &tail{limit: maxOutcome}
	cmd.Stdout, cmd.Stderr = out, complaints
	cmd.WaitDelay = leftOpen
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("the command could not be started: %w", err)
	}
	err = cmd.Wait()
	return said(out.kept), c.judge(ctx, cmd, err, complaints)
}

// judge says what a command's end means.
func (c *command) judge(ctx context.Context, cmd *exec.Cmd, err error, complaints *tail) error {
	state := cmd.ProcessState
	switch {
	case state == nil:
		return unknown("the command's end was missed: %w", err)
	case state.Success():
		// It says that it did it, whatever happened to its pipes or to our context.
		return nil
	case killed(state.ExitCode()):
		return unknown("the command was killed (%s)%s", state, because(complaints))
	case ctx.Err() != nil:
		return unknown("the command was stopped half-way: %w", context.Cause(ctx))
	}
	return fmt.Errorf("%s%s", state, because(complaints))
}

// killed tells the exit codes of a command that was cut off: -1 is Go's word for a
// signal, a shell whose child was killed ends with 128 plus the signal's number,
// and 255 is what ssh ends with when the connection broke.
func killed(code int) bool { return code < 0 || code > 128 && code <= 128+64 || code == 255 }

// because is the last thing a command complained of.
func because(complaints *tail) string {
	lines := strings.Split(said(complaints.kept), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return ": " + last
	}
	return ""
}

// inherited is an environment without what opens reeve itself, and without hooks,
// whose addresses may hold a password.
func inherited(environ []string) []string {
	out := make([]string, 0, len(environ))
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		switch {
		case strings.HasPrefix(name, "REEVE_TOKEN"), name == "REEVE_DATABASE_URL", name == "REEVE_NOTIFY", name == "REEVE_HANDLER":
			continue
		}
		out = append(out, entry)
	}
	return out
}

// head keeps the first bytes of what is written to it, and takes the rest so
// that the writer is never blocked or broken by it.
type head struct {
	limit int
	kept  []byte
}

func (h *head) Write(p []byte) (int, error) {
	h.kept = append(h.kept, p[:min(len(p), h.limit-len(h.kept))]...)
	return len(p), nil
}

// tail keeps the last bytes of what is written to it.
type tail struct {
	limit int
	kept  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	if len(p) > t.limit {
		p = p[len(p)-t.limit:]
	}
	if over := len(t.kept) + len(p) - t.limit; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	t.kept = append(t.kept, p...)
	return n, nil
}
