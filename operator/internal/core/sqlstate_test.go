package core_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/reeve-go/reeve/operator/internal/core"
)

type pgError struct{ code string }

func (e pgError) Error() string    { return "pg " + e.code }
func (e pgError) SQLState() string { return e.code }

type liteError struct{ code int }

func (e liteError) Error() string { return fmt.Sprint("sqlite ", e.code) }
func (e liteError) Code() int     { return e.code }

func TestAnErrorsCodeIsFoundWhateverDriverMadeIt(t *testing.T) {
	for _, c := range []struct {
		err          error
		race, unique bool
	}{
		{nil, false, false},
		{errors.New("40001"), false, false},
		{pgError{"40001"}, true, false},
		{pgError{"40P01"}, true, false},
		{pgError{"40003"}, false, false}, // whether it was completed is not known: not safe to run again
		{pgError{"57014"}, false, false},
		{pgError{"23505"}, false, true},
		{pgError{"23503"}, false, false},
		{liteError{5}, true, false},
		{liteError{517}, true, false}, // SQLITE_BUSY_SNAPSHOT
		{liteError{261}, true, false}, // SQLITE_BUSY_RECOVERY
		{liteError{6}, true, false},
		{liteError{262}, true, false}, // SQLITE_LOCKED_SHAREDCACHE
		{liteError{9}, false, false},  // SQLITE_INTERRUPT
		{liteError{19}, false, false},
		{liteError{2067}, false, true},
		{liteError{1555}, false, true},
		{liteError{275}, false, false}, // SQLITE_CONSTRAINT_CHECK
		{errors.Join(context.Canceled, liteError{5}), false, false},
		{fmt.Errorf("commit: %w", pgError{"40001"}), true, false},
		{fmt.Errorf("begin: %w", liteError{5}), true, false},
	} {
		if core.IsRace(c.err) != c.race || core.IsUnique(c.err) != c.unique {
			t.Errorf("%v: race %v, unique %v", c.err, core.IsRace(c.err), core.IsUnique(c.err))
		}
	}
}
