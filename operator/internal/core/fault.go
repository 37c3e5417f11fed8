package core

import (
	"errors"
	"fmt"
)

// The faults of a database that a person can do something about. errors.Is finds
// them in whatever the store returns.
var (
	ErrBusy          = errors.New("the database is busy")
	ErrDiskFull      = errors.New("the disk is full")
	ErrReadOnly      = errors.New("the database cannot be written")
	ErrCannotOpen    = errors.New("the database cannot be opened")
	ErrNotADatabase  = errors.New("this is not a database")
	ErrDamaged       = errors.New("the database is damaged")
	ErrDisk          = errors.New("the disk failed")
	ErrFilesReplaced = errors.New("the database's files were changed from outside")
	ErrSecondName    = errors.New("the database has a second name")
)

// Fault is an error of the database with what a person can do about it.
type Fault struct {
	Kind  error  // one of the errors above
	Where string // the database's file; empty on PostgreSQL
	What  string // what was seen, where Kind alone does not say it
	Cause error  // the driver's or the system's own error; may be nil
}

// Error names the file, says what can be done, and repeats the cause.
func (f *Fault) Error() string {
	text := f.Advice()
	if f.Cause != nil {
		text += fmt.Sprintf(" (%v)", f.Cause)
	}
	return text
}

// Advice is what a person can do. It names the file, so it is for whoever runs the
// program and not for its callers.
func (f *Fault) Advice() string {
	where := f.Where
	if where == "" {
		where = "the database"
	}
	if f.What != "" {
		where += " " + f.What
	}
	advice := faultAdvice[f.Kind]
	if advice == "" {
		return fmt.Sprintf("%s: %v", where, f.Kind)
	}
	return fmt.Sprintf(advice, where)
}

// Unwrap gives the kind and the cause.
func (f *Fault) Unwrap() []error {
	if f.Cause == nil {
		return []error{f.Kind}
	}
	return []error{f.Kind, f.Cause}
}

var faultAdvice = map[error]string{
	ErrBusy:          "another program writes to %s and does not let go: wait for it or end it, then try again",
	ErrDiskFull:      "the disk that holds %s is full: make room and try again; what was acknowledged is safe",
	ErrReadOnly:      "%s cannot be written: let the user that runs this program write both the file and its folder, or choose another folder",
	ErrCannotOpen:    "%s cannot be opened: the user that runs this program must be able to read and write both the file and its folder",
	ErrNotADatabase:  "%s is not an SQLite database: move it away, or choose another folder",
	ErrDamaged:       "%s is damaged: stop what uses it, keep a copy of it and of the files beside it, and restore a backup",
	ErrDisk:          "the disk that holds %s failed: look at the system's log before you go on",
	ErrSecondName:    "%s has a second name (a hard link), under which another program could write it unseen: remove that name",
	ErrFilesReplaced: "%s: stop every program that uses this database, see that its files are whole, and start again",
}

// faultKinds are SQLite's primary result codes. Busy is no fault yet: it is tried
// again first.
var faultKinds = map[int]error{
	8: ErrReadOnly, 10: ErrDisk, 11: ErrDamaged, 13: ErrDiskFull, 14: ErrCannotOpen, 26: ErrNotADatabase,
}

// faultStates are the same for PostgreSQL.
var faultStates = map[string]error{
	"25006": ErrReadOnly, "53100": ErrDiskFull, "58030": ErrDisk, "XX001": ErrDamaged, "XX002": ErrDamaged,
}

// Explain makes a Fault of a driver's error where a person can do something about
// it, and returns every other error as it is.
func Explain(where string, err error) error {
	var known *Fault
	if err == nil || errors.As(err, &known) {
		return err
	}
	kind := faultKinds[sqliteErrorCode(err)&0xff]
	if kind == nil {
		kind = faultStates[SQLState(err)]
	}
	if kind == nil {
		return err
	}
	return &Fault{Kind: kind, Where: where, Cause: err}
}
