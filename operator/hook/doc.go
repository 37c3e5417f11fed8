// Package hook runs a person's own command, or calls their own address, where
// reeve has nothing built in: to carry an approved action out, and to tell
// somebody that something waits.
//
// A hook is written as one line:
//
//	exec:COMMAND            run by sh -c
//	http://host/path        called by POST; https:// too
//	http:http://host/path   the same, spelled with the transport in front
//
// # What a hook is given
//
// For a job, the exact action as JSON, word for word as it was approved, on the
// command's standard input or as the request's body. What stands around it comes
// in the command's environment or in the request's headers:
//
//	REEVE_INTENT_ID        Reeve-Intent-Id      the intent's number
//	REEVE_DIGEST           Reeve-Digest         what the approval names
//	REEVE_ACTION_TYPE      (in the action)      the action's type
//	REEVE_IDEMPOTENCY_KEY  Idempotency-Key      the wish: the same for every attempt at it
//	REEVE_EXECUTION_KEY    Reeve-Execution-Key  the same for every attempt at this one intent
//
// The execution key is for far sides that remember keys longer than a day: the
// same wish on another day has the same idempotency key. Header values stand
// bare, without the quotes of a structured field, since that is what the services
// that honour such a key compare.
//
// For a notice, the notice as JSON, and its key in REEVE_MESSAGE_KEY or in the
// Reeve-Message-Key header. The same key twice is the same notice again.
//
// # What a hook answers
//
// Done, not done, or nobody knows: the third matters most, because a job of which
// nobody knows is never run again by itself unless its handler is declared
// idempotent.
//
//	         done     not done                       nobody knows
//	exec     exit 0   any other exit code            killed by a signal; stopped half-way
//	http     2xx      4xx; 301, 307, 308;            5xx and any other status; the connection
//	                  no connection was ever made    broke or time ran out after it was made
//
// A shell reports a child that a signal killed as 128 plus the signal's number,
// so exit codes 129 to 192 count as killed.
package hook
