package gate

import (
	"errors"
	"fmt"
)

// Status is where an intent stands in its lifecycle.
type Status string

// Every status. The gate sets the first one: allowed, pending_approval or denied.
const (
	StatusAllowed         Status = "allowed"          // may be carried out, nobody need be asked
	StatusPendingApproval Status = "pending_approval" // waits for a person
	StatusDenied          Status = "denied"           // refused by the gate
	StatusApproved        Status = "approved"         // a person countersigned
	StatusRejected        Status = "rejected"         // a person refused
	StatusExpired         Status = "expired"          // its window passed
	StatusCancelled       Status = "cancelled"        // withdrawn, ignored, revoked or overtaken
	StatusSuperseded      Status = "superseded"       // a person's edit took its place
	StatusExecuting       Status = "executing"        // a worker holds it
	StatusUnknown         Status = "unknown"          // it may have been carried out; nobody can say
	StatusSucceeded       Status = "succeeded"        // carried out
	StatusFailed          Status = "failed"           // tried, and known not to have worked
)

// Statuses returns every status, in the order of the constants.
func Statuses() []Status {
	return []Status{
		StatusAllowed, StatusPendingApproval, StatusDenied, StatusApproved, StatusRejected, StatusExpired,
		StatusCancelled, StatusSuperseded, StatusExecuting, StatusUnknown, StatusSucceeded, StatusFailed,
	}
}

// ErrUnknownStatus is returned by [ParseStatus].
var ErrUnknownStatus = errors.New("gate: unknown status")

// ParseStatus reads a status word. It must be the exact lower-case ASCII word:
// nothing is trimmed, folded or normalised, so no second spelling of
// "approved" exists.
func ParseStatus(s string) (Status, error) {
	for _, status := range Statuses() {
		if s == string(status) {
			return status, nil
		}
	}
	return "", fmt.Errorf("%w: write the exact lower-case word, such as %q", ErrUnknownStatus, StatusSucceeded)
}

// Valid reports whether s is one of [Statuses].
func (s Status) Valid() bool {
	_, err := ParseStatus(string(s))
	return err == nil
}

// Terminal reports whether nothing leaves this status.
func (s Status) Terminal() bool {
	switch s {
	case StatusDenied, StatusRejected, StatusExpired, StatusCancelled, StatusSuperseded,
		StatusSucceeded, StatusFailed:
		return true
	}
	return false
}

// First returns the status that an intent with this verdict starts in.
func (e Effect) First() Status {
	switch e {
	case Allow:
		return StatusAllowed
	case RequiresApproval:
		return StatusPendingApproval
	default:
		return StatusDenied
	}
}

// Cause says who or what moves an intent.
type Cause string

// Every cause.
const (
	ByGate              Cause = "gate"               // the verdict on a new intent
	ByPerson            Cause = "person"             // a person's act
	ByRecorder          Cause = "recorder"           // the agent that recorded it
	ByTime              Cause = "time"               // its window passed
	ByStaleRun          Cause = "stale_run"          // the store: the run it belongs to went stale
	ByHardDeny          Cause = "hard_deny"          // the store: a claim met a deny of the present policy
	ByClaim             Cause = "claim"              // a worker takes it
	ByHolder            Cause = "holder"             // the holder of the lease reports
	ByReclaim           Cause = "reclaim"            // the store: the lease lapsed, it may have acted
	ByReclaimIdempotent Cause = "reclaim_idempotent" // the store: the lease lapsed, acting twice is declared harmless
	ByReconciliation    Cause = "reconciliation"     // the far side was asked
)

// Causes returns every cause, in the order of the constants.
func Causes() []Cause {
	return []Cause{
		ByGate, ByPerson, ByRecorder, ByTime, ByStaleRun, ByHardDeny, ByClaim, ByHolder,
		ByReclaim, ByReclaimIdempotent, ByReconciliation,
	}
}

// Transition is one permitted move. From is empty for a new intent.
type Transition struct {
	From, To Status
	By       Cause
}

// Transitions returns the whole lifecycle. What is not in it cannot happen.
//
// A reclaim of an idempotent handler goes back to the status that the intent
// was claimed from; the table holds both, and the store knows which.
func Transitions() []Transition {
	return []Transition{
		{"", StatusAllowed, ByGate},
		{"", StatusPendingApproval, ByGate},
		{"", StatusDenied, ByGate},

		{StatusPendingApproval, StatusApproved, ByPerson},
		{StatusPendingApproval, StatusRejected, ByPerson},
		{StatusPendingApproval, StatusSuperseded, ByPerson},

		{StatusPendingApproval, StatusExpired, ByTime},
		{StatusApproved, StatusExpired, ByTime},
		{StatusAllowed, StatusExpired, ByTime},

		{StatusPendingApproval, StatusCancelled, ByPerson},
		{StatusApproved, StatusCancelled, ByPerson},
		{StatusAllowed, StatusCancelled, ByPerson},
		{StatusPendingApproval, StatusCancelled, ByRecorder},
		{StatusApproved, StatusCancelled, ByRecorder},
		{StatusAllowed, StatusCancelled, ByRecorder},

		{StatusApproved, StatusCancelled, ByStaleRun},
		{StatusApproved, StatusCancelled, ByHardDeny},
		{StatusAllowed, StatusCancelled, ByHardDeny},

		{StatusApproved, StatusExecuting, ByClaim},
		{StatusAllowed, StatusExecuting, ByClaim},

		{StatusExecuting, StatusSucceeded, ByHolder},
		{StatusExecuting, StatusFailed, ByHolder},
		{StatusExecuting, StatusApproved, ByReclaimIdempotent},
		{StatusExecuting, StatusAllowed, ByReclaimIdempotent},
		{StatusExecuting, StatusUnknown, ByReclaim},

		{StatusUnknown, StatusSucceeded, ByPerson},
		{StatusUnknown, StatusFailed, ByPerson},
		{StatusUnknown, StatusSucceeded, ByReconciliation},
		{StatusUnknown, StatusFailed, ByReconciliation},
	}
}

// CanMove reports whether the lifecycle lets this cause make this move. An
// unknown status or cause can do nothing.
func CanMove(from, to Status, by Cause) bool {
	for _, t := range Transitions() {
		if t == (Transition{from, to, by}) {
			return true
		}
	}
	return false
}
