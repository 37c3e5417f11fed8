package core

import (
	"context"
	"database/sql/driver"
	"errors"
)

// sqlState is how a PostgreSQL driver tells its error's code. lib/pq and pgx
// both have it, so neither need be named.
type sqlState interface{ SQLState() string }

// sqliteCode is how the SQLite driver tells its error's (extended) code.
type sqliteCode interface{ Code() int }

// SQLState finds the five-character code of a PostgreSQL error, whatever driver
// made it; empty when there is none.
func SQLState(err error) string {
	var s sqlState
	if errors.As(err, &s) {
		return s.SQLState()
	}
	return ""
}

// IsRace says that the database rolled a transaction back whole because of
// another one, and that running it again is safe and may succeed.
func IsRace(err error) bool {
	switch SQLState(err) {
	case "40001", "40P01", "55P03": // serialization_failure, deadlock_detected, lock_not_available
		return true
	}
	// 5 is SQLITE_BUSY, 6 SQLITE_LOCKED; the extended codes keep it in the low byte.
	code := sqliteErrorCode(err) & 0xff
	return code == 5 || code == 6
}

// isHeld says that somebody held a row, or another lock of PostgreSQL, for longer
// than the session waits for one.
func isHeld(err error) bool { return SQLState(err) == "55P03" }

// isBusy says that the transaction lost no race, but never got its turn: somebody
// else held the lock. SQLITE_BUSY_SNAPSHOT is the one code that tells of a race.
func isBusy(err error) bool {
	const busySnapshot = 517
	return isHeld(err) || IsRace(err) && SQLState(err) == "" && sqliteErrorCode(err) != busySnapshot
}

// isCutOff says that a transaction's connection ended before it was told to commit:
// PostgreSQL ends a session that stood still in a transaction (25P03), as one does
// whose process was stopped. Nothing of it was kept. Of a commit this must not be
// asked, since a connection that broke then tells nothing.
func isCutOff(err error) bool {
	return SQLState(err) == "25P03" || errors.Is(err, driver.ErrBadConn)
}

// IsUnique says that a unique index refused a row.
func IsUnique(err error) bool {
	const constraintUnique, constraintPrimaryKey = 2067, 1555
	code := sqliteErrorCode(err)
	return SQLState(err) == "23505" || code == constraintUnique || code == constraintPrimaryKey
}

func sqliteErrorCode(err error) int {
	if errors.Is(err, context.Canceled) {
		return 0
	}
	var c sqliteCode
	if errors.As(err, &c) {
		return c.Code()
	}
	return 0
}

// Outage turns an error of the store that is not a refusal into one a caller
// may be shown: retryable, and silent about what lay beneath.
func Outage(err error) *Refusal {
	var r *Refusal
	if errors.As(err, &r) {
		return r
	}
	return Refuse(ReasonUnavailable, "The store did not answer; nothing was acknowledged.").Because(err)
}
