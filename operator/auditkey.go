package operator

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
	"time"

	"github.com/reeve-go/reeve/operator/internal/auditlog"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// AuditKeyName is the file of the audit key within a data folder.
const AuditKeyName = "audit.key"

// AuditKeyError says what is wrong with the file of the audit key, and what to do.
// Its fields: Path; Fault, one of the ErrAuditKey sentinels, which errors.Is finds;
// Do, a sentence; Cause, the system's own word.
type AuditKeyError = auditlog.KeyError

// What can be wrong with the file of the audit key.
var (
	ErrAuditKeyMissing   = auditlog.ErrKeyMissing   // the database's record is sealed, and the file is not there
	ErrAuditKeyExposed   = auditlog.ErrKeyExposed   // its group or others can read it
	ErrAuditKeyMalformed = auditlog.ErrKeyMalformed // a link, a folder, empty, or no key
	ErrAuditKeyWrong     = auditlog.ErrKeyWrong     // a key, and not the one that seals now
	ErrAuditKeyThere     = auditlog.ErrKeyThere     // a new key is to be made where a file stands
	ErrAuditKeyAccess    = auditlog.ErrKeyAccess    // the system refused
)

// sealer is what this process needs to seal: the key, if it has one.
type sealer struct {
	file       string                    // where the key was looked for at the start; "": none
	held       atomic.Pointer[heldKey]   // nil: this process seals nothing
	registered atomic.Bool               // the database has a key. It never loses it again.
	patience   time.Duration             // how long an act waits for its seal
	fault      atomic.Pointer[string]    // what was last logged, so that it is logged once
	between    func(ctx context.Context) // for tests: called between two batches
}

// heldKey is the key, and the file that it came from.
type heldKey struct {
	key  auditlog.Key
	file string
}

// AuditKey is the file of the key that this process seals the record with, and the
// public half of it, by which an exported log is verified; empty where it has none.
func (op *Operator) AuditKey() (file, public string) {
	held := op.seals.held.Load()
	if held == nil {
		return "", ""
	}
	return held.file, string(held.key.Public())
}

// openAuditKey gets hold of the key that seals this database, and registers one
// where none is. Its errors are about a file, and not an outage of the store.
func (op *Operator) openAuditKey(ctx context.Context, lost bool) error {
	s := op.seals
	if s.file == "" {
		return nil
	}
	active, err := activeKey(ctx, op.db.View(), "")
	if err != nil {
		return err
	}
	var key auditlog.Key
	switch {
	case active == "":
		key, err = op.registerKey(ctx)
	case lost:
		return op.replaceKey(ctx, active)
	default:
		key, err = rightKey(s.file, active)
	}
	if err != nil {
		return err
	}
	s.hold(key, s.file)
	return nil
}

func (s *sealer) hold(key auditlog.Key, file string) {
	s.held.Store(&heldKey{key, file})
	s.registered.Store(true)
}

// activeKey is the key that seals now, or "" where none was ever registered. lock
// is empty or a row lock.
func activeKey(ctx context.Context, tx core.Tx, lock string) (auditlog.PublicKey, error) {
	var key string
	err := tx.Get(ctx, &key, `select verifier_key from reeve_audit_keys where active = 1 `+lock)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return auditlog.PublicKey(key), err
}

// wanted says whether the record of this database is sealed.
func (s *sealer) wanted(ctx context.Context, tx core.Tx) (bool, error) {
	if s.registered.Load() {
		return true, nil
	}
	active, err := activeKey(ctx, tx, "")
	if active != "" {
		s.registered.Store(true)
	}
	return active != "", err
}

// registerKey makes the first key of a database, or takes the one whose file is
// there. Processes that start at once queue here, and agree on one.
func (op *Operator) registerKey(ctx context.Context) (key auditlog.Key, err error) {
	err = op.db.InTx(ctx, func(tx core.Tx) error {
		if err := lockKeys(ctx, tx); err != nil {
			return err
		}
		active, err := activeKey(ctx, tx, "")
		if err != nil {
			return err
		}
		if active != "" {
			key, err = rightKey(op.seals.file, active)
			return err
		}
		if key, err = readOrMakeKey(op.seals.file); err != nil {
			return err
		}
		return insertKey(ctx, tx, key)
	})
	return key, err
}

// lockKeys keeps the list of keys as it is for the rest of the transaction. SQLite
// has one writer.
func lockKeys(ctx context.Context, tx core.Tx) error {
	if tx.Dialect().Name != "postgres" {
		return nil
	}
	_, err := tx.Exec(ctx, `lock table reeve_audit_keys in share row exclusive mode`)
	return err
}

func readOrMakeKey(file string) (auditlog.Key, error) {
	key, err := auditlog.ReadKeyFile(file)
	if errors.Is(err, ErrAuditKeyMissing) {
		return auditlog.MakeKeyFile(file)
	}
	return key, err
}

func insertKey(ctx context.Context, tx core.Tx, key auditlog.Key) error {
	_, err := tx.Exec(ctx, `insert into reeve_audit_keys (verifier_key, added_at, active) values ($1, $2, 1)`,
		string(key.Public()), tx.Micros())
	return err
}

// newKeySuffix is what the file of a key that is about to take another's place
// ends in.
const newKeySuffix = ".new"

// rightKey reads the key that seals now. A rotation that was cut off after it was
// committed is brought to its end: the new key stands beside the old one.
func rightKey(file string, active auditlog.PublicKey) (auditlog.Key, error) {
	key, err := auditlog.ReadKeyFile(file)
	if err == nil && key.Public() == active {
		return key, nil
	}
	if next, nextErr := auditlog.ReadKeyFile(file + newKeySuffix); nextErr == nil && next.Public() == active {
		if err := auditlog.MoveKeyFile(file+newKeySuffix, file); err == nil {
			return next, nil
		}
		// Another process may have moved it at the same moment.
		if key, err = auditlog.ReadKeyFile(file); err == nil && key.Public() == active {
			return key, nil
		}
	}
	const do = "The record of this database is sealed by "
	var fault *AuditKeyError
	switch {
	case err == nil:
		return key, &AuditKeyError{Path: file, Fault: ErrAuditKeyWrong, Do: do + string(active) + ", and this is " + string(key.Public()) +
			": name the right file (--audit-key)."}
	case errors.Is(err, ErrAuditKeyMissing) && errors.As(err, &fault):
		fault.Do = do + string(active) + ": put the file back from a backup, or name where it is (--audit-key). If it is lost for good, see reeve audit rotate --help."
	}
	return key, err
}

// RotateAuditKey hands the record over to a new key. The new key is made in
// newKeyFile, or read from it where that file is there; "" puts a new key in the
// old one's place. In one transaction every log gets a row that announces the new
// key, and is sealed with that row by both keys, so that an exported log can be
// verified by either. This process seals with the new key from then on, and so does
// every other one that finds it in the file that its old one came from.
//
// Whoever had the old key alone can no longer extend the log. Destroy it.
func (op *Operator) RotateAuditKey(ctx context.Context, newKeyFile string) (public string, err error) {
	held := op.seals.held.Load()
	if held == nil {
		return "", &AuditKeyError{Path: op.seals.file, Fault: ErrAuditKeyMissing, Do: "To hand over, the present key is needed: name its file (--audit-key)."}
	}
	inPlace := newKeyFile == ""
	if inPlace {
		newKeyFile = held.file + newKeySuffix
	}
	next, err := readOrMakeKey(newKeyFile)
	if err != nil {
		return "", err
	}
	if _, err := op.Seal(ctx); err != nil { // so that little is left for the one transaction
		return "", err
	}
	err = op.db.InTx(ctx, func(tx core.Tx) error { return handOver(ctx, tx, &held.key, held.file, next, newKeyFile) })
	if err != nil {
		return "", err
	}
	if inPlace {
		if _, err := rightKey(held.file, next.Public()); err != nil {
			return "", err // it is handed over; the next start moves the file
		}
		newKeyFile = held.file
	}
	op.seals.hold(next, newKeyFile)
	op.log.Warn("the record has a new audit key", "key", next.Public(), "file", newKeyFile)
	return string(next.Public()), nil
}

// ReplaceLostAuditKey gives a database whose audit key is lost for good a new one,
// made in the file that opts names. Nobody can sign for the old key any more, so
// whoever trusts the old one will not trust the log from then on, until they are
// told the new one; earlier checkpoints still bind it.
func ReplaceLostAuditKey(ctx context.Context, where string, opts *Options) (public string, err error) {
	o := opts.filled()
	o.keyLost = true
	op, err := Open(ctx, where, &o)
	if err != nil {
		return "", err
	}
	_, public = op.AuditKey()
	return public, op.Close()
}

func (op *Operator) replaceKey(ctx context.Context, active auditlog.PublicKey) error {
	file := op.seals.file
	if _, err := rightKey(file, active); err == nil {
		return &AuditKeyError{Path: file, Fault: ErrAuditKeyThere, Do: "It is the right one, and not lost: rotate it."}
	}
	next, err := readOrMakeKey(file)
	if err != nil {
		return err
	}
	err = op.db.InTx(ctx, func(tx core.Tx) error { return handOver(ctx, tx, nil, "", next, file) })
	if err == nil {
		op.seals.hold(next, file)
	}
	return err
}

// handOver makes next the key of every log. from is nil where it was lost.
func handOver(ctx context.Context, tx core.Tx, from *auditlog.Key, fromFile string, next auditlog.Key, nextFile string) error {
	if err := lockKeys(ctx, tx); err != nil {
		return err
	}
	active, err := activeKey(ctx, tx, "")
	if err != nil {
		return err
	}
	if from != nil && active != from.Public() {
		return &AuditKeyError{Path: fromFile, Fault: ErrAuditKeyWrong, Do: "Another process has handed over to " + string(active) + "."}
	}
	var used int64
	if err := tx.Get(ctx, &used, `select count(*) from reeve_audit_keys where verifier_key = $1`, string(next.Public())); err != nil {
		return err
	}
	if used > 0 {
		return &AuditKeyError{Path: nextFile, Fault: ErrAuditKeyThere, Do: "That key has been used here before. Name a file that does not exist yet."}
	}
	if _, err := tx.Exec(ctx, `update reeve_audit_keys set active = null, retired_at = $1 where active = 1`, tx.Micros()); err != nil {
		return err
	}
	if err := insertKey(ctx, tx, next); err != nil {
		return err
	}
	var logs []struct {
		ID int64 `db:"id"`
	}
	if err := tx.Select(ctx, &logs, `select 0 as id union select id from reeve_accounts order by 1`); err != nil {
		return err
	}
	for _, l := range logs {
		if err := handOverLog(ctx, tx, l.ID, active, from, next); err != nil {
			return err
		}
	}
	return nil
}

func handOverLog(ctx context.Context, tx core.Tx, account int64, active auditlog.PublicKey, from *auditlog.Key, next auditlog.Key) error {
	action := auditlog.ActionReplace
	if from != nil {
		action = auditlog.ActionRotate
	}
	err := tx.Audit(ctx, core.AuditRow{AccountID: account, Principal: localPrincipal, Via: core.ViaLibrary, Action: action,
		Verdict: core.VerdictDone, Outcome: string(next.Public())})
	if err != nil {
		return err
	}
	l, err := lockLog(ctx, tx, account)
	if err != nil {
		return err
	}
	for more := true; more; {
		batch, err := l.number(ctx, tx)
		if err != nil {
			return err
		}
		more = len(batch) == sealBatch
	}
	if err := l.sign(ctx, tx, next); err != nil {
		return err
	}
	shared := "" // nobody can sign for a key that was lost
	if from != nil {
		if shared, err = l.checkpoint().Sign(*from, next); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, `insert into reeve_checkpoints (account_id, size, note, from_key, to_key, at) values ($1, $2, $3, $4, $5, $6)`,
		account, l.tree.Size(), shared, string(active), string(next.Public()), tx.Micros())
	return err
}

// SealedBy is the public half of the key that seals the record of this database, by
// whichever process; ErrNotFound where it is not sealed.
func (op *Operator) SealedBy(ctx context.Context) (AuditPublicKey, error) {
	active, err := activeKey(ctx, op.db.View(), "")
	if err != nil {
		return "", told(ctx, err)
	}
	if active == "" {
		return "", core.Refuse(core.ReasonNotFound, "The record of this database is not sealed: no process with an audit key has opened it.")
	}
	return active, nil
}
