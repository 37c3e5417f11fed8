//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

// noSuspend keeps Ctrl-Z from stopping the program until resume is called.
func noSuspend() (resume func()) {
	signal.Ignore(syscall.SIGTSTP)
	return func() { signal.Reset(syscall.SIGTSTP) }
}
