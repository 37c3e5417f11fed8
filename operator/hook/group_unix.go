//go:build unix

package hook

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// ownGroup puts a command at the head of a process group of its own. A Ctrl-C in
// the terminal then reaches the worker alone, which lets the command finish; and
// what is stopped is stopped with everything that it started.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}
