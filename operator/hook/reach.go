package hook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
)

// Reach says whether a hook could be called now, without calling it: whether something
// listens at its address, or whether the shell knows its command. A nil error promises
// nothing of what the hook would do.
func (h *Hook) Reach(ctx context.Context) error { return h.transport.reach(ctx) }

func (e *endpoint) reach(ctx context.Context) error {
	port := e.address.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[e.address.Scheme]
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(e.address.Hostname(), port))
	if err != nil {
		return fmt.Errorf("nothing answers there: %w", withoutAddress(err))
	}
	return conn.Close()
}

// reach asks the shell, which knows words of its own beside the programs. What begins
// with more than a plain word is only read through.
func (c *command) reach(ctx context.Context) error {
	if out, err := exec.CommandContext(ctx, "sh", "-n", "-c", c.line).CombinedOutput(); err != nil {
		return fmt.Errorf("the shell cannot read the command: %s", strings.TrimSpace(string(out)))
	}
	first := strings.Fields(c.line)[0]
	if strings.ContainsAny(first, `"'$\;|&()<>{}=*?[]#~!`+"`") {
		return nil
	}
	if err := exec.CommandContext(ctx, "sh", "-c", `command -v -- "$1" >/dev/null`, "sh", first).Run(); err != nil {
		return errors.New("there is no command " + first + " here")
	}
	return nil
}
