// Package auditlog is the form of the record once it is sealed, and the proof
// that nobody tidied it. It knows no database and no operator.
//
// An [Entry] is one row of the record, as canonical JSON (RFC 8785). Its leaf is
// the hash of those bytes as in RFC 6962, so a row can carry it from the moment it
// is written, whatever other rows are written beside it. A [Tree] takes leaves in
// the order in which a sealer numbers them; a [Checkpoint] is the size and the root
// of a tree, signed as a note (C2SP tlog-checkpoint) by a [Key] that lives in a file
// of its own.
//
// [Verify] reads an exported log and nothing else. It computes the root again, by
// other code than the sealer's, and shows that the rows are those that were sealed,
// in that order, and that every execution among them follows what allowed it.
package auditlog
