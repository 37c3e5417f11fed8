package core

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// KeyedFor is how long an answer is kept under its idempotency key.
const KeyedFor = 24 * time.Hour

// LostAfter is after how long a call of several transactions, that was begun and of
// whose end nothing was heard, counts as lost: its process has ended, and nobody knows
// how far it came.
const LostAfter = 10 * time.Minute

// MaxIdempotencyKey is the longest idempotency key, in characters.
const MaxIdempotencyKey = 255

type keysKey struct{}

// WithIdempotencyKeys lends a call the idempotency keys that came with it. There
// should be one; whatever came is judged by IdempotencyKey.
func WithIdempotencyKeys(ctx context.Context, keys ...string) context.Context {
	return context.WithValue(ctx, keysKey{}, keys)
}

// IdempotencyKey is the key that a call came with; "" where it has none. A refusal
// says what is wrong with it, without repeating it: it may hold anything.
func IdempotencyKey(ctx context.Context) (string, error) {
	keys, _ := ctx.Value(keysKey{}).([]string)
	if len(keys) == 0 {
		return "", nil
	}
	if len(keys) > 1 {
		return "", Refuse(ReasonInvalidValue, "Give one idempotency key; this call has %d.", len(keys)).With("field", "idempotency_key")
	}
	if !isVisible(keys[0]) || len(keys[0]) > MaxIdempotencyKey {
		return "", Refuse(ReasonInvalidValue, "An idempotency key is 1 to %d visible ASCII characters, without spaces.", MaxIdempotencyKey).
			With("field", "idempotency_key")
	}
	return keys[0], nil
}

// isVisible says that a text is of visible ASCII characters alone, one at least.
func isVisible(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return false
		}
	}
	return text != ""
}

type stepsKey struct{}

// WithSteps lends a call of several transactions a note of whether it came to where it
// may have done something.
func WithSteps(ctx context.Context) (context.Context, *bool) {
	begun := new(bool)
	return context.WithValue(ctx, stepsKey{}, begun), begun
}

// BeginSteps makes that note, where WithSteps lent one.
func BeginSteps(ctx context.Context) {
	if begun, ok := ctx.Value(stepsKey{}).(*bool); ok {
		*begun = true
	}
}

// KeyedCall names a call under an idempotency key.
type KeyedCall struct {
	Key     string // as the caller gave it; only its digest is stored
	Request string // the digest of what is called and with what, 64 hex digits
	Steps   bool   // it is several transactions, and its key is taken before the first
}

// KeyedAnswer is an answer as it is stored under a key.
type KeyedAnswer struct {
	JSON     []byte
	Status   int
	Replayed bool // it was stored before, and nothing was done
}

// KeyedRow is a row of reeve_idempotency, as far as it is read back.
type KeyedRow struct {
	ID      int64         `db:"id"`
	Request string        `db:"request"`
	Answer  string        `db:"answer"`
	Status  int64         `db:"status"`
	AuditID sql.NullInt64 `db:"audit_id"`
	Begun   int64         `db:"created_at"`
	// RunsUntil is of a call that was begun and has no answer: from then on it is lost.
	RunsUntil sql.NullInt64 `db:"runs_until"`
}

// TakeKey takes a key: for the rest of the transaction, or where the call is several
// of them, until it is settled, given back, or lost. Somebody else who has it just
// then is waited for. taken says that it has no answer yet, and row is this call's
// own to settle; else row is the answer of before.
//
// One statement decides: the key is inserted, or taken over where its time is up.
func (tx Tx) TakeKey(ctx context.Context, p Principal, call KeyedCall) (row KeyedRow, taken bool, err error) {
	key := SHA256Hex([]byte(call.Key))
	err = tx.Get(ctx, &row.ID, `insert into reeve_idempotency (account_id, project_id, principal, key_digest, request, answer, status, created_at, expires_at, runs_until)
		values ($1, $2, $3, $4, $5, '', 0, $6, $7, $8)
		on conflict (project_id, principal, key_digest) do update
			set request = excluded.request, answer = '', status = 0, audit_id = null, created_at = excluded.created_at, expires_at = excluded.expires_at,
				runs_until = excluded.runs_until
			where reeve_idempotency.expires_at <= excluded.created_at
		returning id`, p.AccountID(), p.ProjectID(), p.ID(), key, call.Request, tx.Micros(), Micros(tx.Now().Add(KeyedFor)),
		sql.NullInt64{Int64: Micros(tx.Now().Add(LostAfter)), Valid: call.Steps})
	if err == nil || !errors.Is(err, sql.ErrNoRows) {
		return row, err == nil, err
	}
	err = tx.Get(ctx, &row, `select id, request, answer, status, audit_id, created_at, runs_until from reeve_idempotency
		where project_id = $1 and principal = $2 and key_digest = $3`, p.ProjectID(), p.ID(), key)
	return row, false, err
}

// SettleKey stores the answer of a call whose key was taken, in this transaction or
// before its steps. awaited is the row of the record that has to be sealed before anybody is told.
func (tx Tx) SettleKey(ctx context.Context, id int64, answer KeyedAnswer, awaited Audited) error {
	_, err := tx.Exec(ctx, `update reeve_idempotency set answer = $1, status = $2, audit_id = $3, runs_until = null where id = $4`,
		string(answer.JSON), int64(answer.Status), known(awaited.ID), id)
	return err
}

// LoseKey notes that nobody knows how far a call of several steps came.
func (tx Tx) LoseKey(ctx context.Context, id int64) error {
	_, err := tx.Exec(ctx, `update reeve_idempotency set runs_until = $1 where id = $2 and runs_until > $1`, tx.Micros(), id)
	return err
}

// FreeKey gives back a key that was taken, for a call that was refused after all.
func (tx Tx) FreeKey(ctx context.Context, id int64) error {
	_, err := tx.Exec(ctx, `delete from reeve_idempotency where id = $1`, id)
	return err
}

// ForgetKeys deletes up to limit answers whose time is up, and says how many.
func (tx Tx) ForgetKeys(ctx context.Context, limit int64) (int64, error) {
	return tx.Exec(ctx, `delete from reeve_idempotency where id in (select id from reeve_idempotency
		where expires_at <= $1 order by expires_at limit $2 `+tx.Dialect().SkipLocks+`)`, tx.Micros(), limit)
}
