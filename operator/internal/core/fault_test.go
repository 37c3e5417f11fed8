package core_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator/internal/core"
)

func TestADriversErrorBecomesAFaultThatSaysWhatToDo(t *testing.T) {
	for _, c := range []struct {
		err  error
		kind error
		says string
	}{
		{liteError{8}, core.ErrReadOnly, "choose another folder"},
		{liteError{1544}, core.ErrReadOnly, "and its folder"}, // SQLITE_READONLY_DIRECTORY
		{liteError{10}, core.ErrDisk, "system's log"},
		{liteError{522}, core.ErrDisk, "system's log"}, // SQLITE_IOERR_SHORT_READ
		{liteError{11}, core.ErrDamaged, "restore a backup"},
		{liteError{13}, core.ErrDiskFull, "make room"},
		{liteError{14}, core.ErrCannotOpen, "able to read and write"},
		{liteError{26}, core.ErrNotADatabase, "move it away"},
		{fmt.Errorf("commit: %w", liteError{13}), core.ErrDiskFull, "make room"},
		{pgError{"53100"}, core.ErrDiskFull, "make room"},
		{pgError{"25006"}, core.ErrReadOnly, "cannot be written"},
	} {
		err := core.Explain("/x/reeve.db", c.err)
		var fault *core.Fault
		if !errors.As(err, &fault) || !errors.Is(err, c.kind) || !errors.Is(err, c.err) {
			t.Errorf("%v: %v", c.err, err)
			continue
		}
		for _, word := range []string{"/x/reeve.db", c.says, c.err.Error()} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%v: it does not say %q: %v", c.err, word, err)
			}
		}
		if again := core.Explain("/y", err); again != err {
			t.Errorf("%v: explained twice: %v", c.err, again)
		}
		if core.Outage(err).Error() != core.Outage(errors.New("x")).Error() {
			t.Errorf("a caller is told more than that the store did not answer: %v", core.Outage(err))
		}
	}
}

func TestWhatNobodyCanHelpIsReturnedAsItIs(t *testing.T) {
	for _, err := range []error{nil, errors.New("x"), liteError{19}, liteError{5}, pgError{"23505"}, core.Refuse(core.ReasonNotFound, "x")} {
		if got := core.Explain("/x/reeve.db", err); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
}
