//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// inputQueue is FREAD of <sys/fcntl.h>: of the two queues, the one that is read.
const inputQueue = 1

// discardInput throws away what was typed and not read yet.
func discardInput(tty *os.File) error {
	return unix.IoctlSetPointerInt(int(tty.Fd()), unix.TIOCFLUSH, inputQueue)
}
