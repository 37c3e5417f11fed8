package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/reeve-go/reeve/operator"
)

// answered is a refusal whose envelope was printed already.
type answered struct{ error }

func (a answered) Unwrap() error { return a.error }

// refused says no: the sentence, and what would change it.
func (c console) refused(err error) int {
	var done answered
	if errors.As(err, &done) {
		return exitRefused
	}
	var r *operator.Refusal
	if !errors.As(err, &r) {
		fmt.Fprintf(c.err, "reeve: %s\n", visibleText(err.Error(), "       "))
		return exitRefused
	}
	sayRefusal(c.err, r)
	// Who runs a command on the database is told what a caller of the server is not.
	var fault interface{ Advice() string }
	if errors.As(err, &fault) {
		fmt.Fprintf(c.err, "       %s\n", visibleText(fault.Advice(), "       "))
	}
	return exitRefused
}

func sayRefusal(w io.Writer, r *operator.Refusal) {
	message := r.Message
	if message == "" {
		message = string(r.Reason)
	}
	fmt.Fprintf(w, "reeve: %s\n", visibleLine(message))
	if hint := r.Info().Hint; hint != "" && hint != message {
		fmt.Fprintf(w, "       %s\n", hint)
	}
}
