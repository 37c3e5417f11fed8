package auditlog

import (
	"errors"
	"fmt"
)

// Problem is one difference between an exported log and what was sealed. errors.Is
// finds its kind: ErrForm and the others.
type Problem struct {
	Line int64 // counted from 1; 0: of the file as a whole
	Kind error
	Why  string // a sentence
}

// The kinds of Problem.
var (
	ErrForm      = errors.New("the log has not the form of one")
	ErrAltered   = errors.New("the rows are not those that were sealed")
	ErrKey       = errors.New("the log is not signed by a trusted key")
	ErrTruncated = errors.New("the log is shorter than it was")
	ErrForked    = errors.New("the log is not a continuation of what it was")
	ErrOrigin    = errors.New("this is another log")
	ErrAuthority = errors.New("something was carried out that nothing allowed")
)

// Error names the line and says what is wrong with it.
func (p *Problem) Error() string {
	if p.Line == 0 {
		return p.Kind.Error() + ": " + p.Why
	}
	return fmt.Sprintf("line %d: %s: %s", p.Line, p.Kind, p.Why)
}

// Unwrap gives the kind.
func (p *Problem) Unwrap() error { return p.Kind }

func problem(line int64, kind error, format string, args ...any) *Problem {
	return &Problem{line, kind, fmt.Sprintf(format, args...)}
}
