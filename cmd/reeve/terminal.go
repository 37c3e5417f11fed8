package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"
)

// exitInterrupted is the shell's code for a program that SIGINT ended.
const exitInterrupted = 130

// errNoTerminal says that nobody can be asked.
var errNoTerminal = errors.New("there is no terminal to ask on")

// terminal opens the terminal that the person sits at, whatever the command's
// input and output are tied to.
func terminal() (*os.File, error) {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, errNoTerminal
	}
	return f, nil
}

// askSecret asks for one line that is not shown while it is typed.
func askSecret(prompt string) (string, error) {
	tty, err := terminal()
	if err != nil {
		return "", fmt.Errorf("%w for your credential: put it in a file that only you can read, and give --token-file", err)
	}
	defer tty.Close()
	before, err := term.GetState(int(tty.Fd()))
	if err != nil {
		return "", fmt.Errorf("%w for your credential: give --token-file", errNoTerminal)
	}
	// Ctrl-C must not leave a terminal behind that shows nothing, and a shell that
	// gets the terminal back by Ctrl-Z would have it show what is typed.
	defer noSuspend()()
	stop := onInterrupt(func() { _ = term.Restore(int(tty.Fd()), before) })
	defer stop()
	fmt.Fprint(tty, prompt)
	secret, err := term.ReadPassword(int(tty.Fd()))
	fmt.Fprintln(tty)
	if err != nil {
		return "", fmt.Errorf("the credential could not be read: %w", err)
	}
	return strings.TrimSpace(string(secret)), nil
}

// onInterrupt tidies up and ends the program when a signal arrives.
func onInterrupt(tidy func()) (stop func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	go func() {
		select {
		case <-signals:
			tidy()
			os.Exit(exitInterrupted)
		case <-done:
		}
	}()
	return func() { signal.Stop(signals); close(done) }
}

// attended opens the terminal where a person is there to be asked: where the
// command's own input is one.
func attended(in *os.File) (*os.File, error) {
	if !term.IsTerminal(int(in.Fd())) {
		return nil, errNoTerminal
	}
	return terminal()
}

// longestAnswer bounds the answer to a question, in bytes.
const longestAnswer = 64

// confirm asks for a word that could not be known before it was shown. What was
// typed or pasted before the question is thrown away: nobody answers what they
// were not asked. An empty word is never confirmed.
func confirm(tty *os.File, question, word string) (bool, error) {
	if err := discardUntilQuiet(tty); err != nil {
		return false, fmt.Errorf("what was typed before the question could not be thrown away, so it is not asked; give --digest: %w", err)
	}
	fmt.Fprint(tty, question)
	answer := make([]byte, longestAnswer)
	n, err := tty.Read(answer) // a terminal gives a line at a time
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("the answer could not be read: %w", err)
	}
	// The rest of a longer line must not become the shell's next command.
	if err := discardInput(tty); err != nil {
		return false, fmt.Errorf("the rest of the answer could not be thrown away: %w", err)
	}
	return word != "" && strings.EqualFold(strings.TrimSpace(string(answer[:n])), word), nil
}

// A paste that is longer than the terminal's queue goes on coming in after the
// queue was emptied, so it is emptied several times over.
const (
	discards     = 6
	discardPause = 40 * time.Millisecond
)

func discardUntilQuiet(tty *os.File) error {
	for range discards {
		if err := discardInput(tty); err != nil {
			return err
		}
		time.Sleep(discardPause)
	}
	return discardInput(tty)
}

// readUpTo fills b as far as there is something to read.
func readUpTo(r io.Reader, b []byte) (int, error) {
	n, err := io.ReadFull(r, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, err
}
