package core

import (
	"context"
	"errors"
)

// Joint is a transaction that a context carries, so that every InTx of the same
// database with that context becomes a part of it.
type Joint struct {
	db     *DB
	tx     Tx
	failed error
	await  Audited
}

type jointKey struct{}

// JointOf is the transaction that ctx carries, or nil.
func JointOf(ctx context.Context) *Joint {
	j, _ := ctx.Value(jointKey{}).(*Joint)
	return j
}

// Await notes a row of the record that has to be sealed before the answer goes out,
// for whoever began the transaction.
func (j *Joint) Await(row Audited) { j.await = row }

// Awaited is the row that Await noted.
func (j *Joint) Awaited() Audited { return j.await }

// errPartFailed is for a part that failed with nobody passing its error on.
var errPartFailed = errors.New("a part of the transaction failed")

// InJointTx is InTx for an f that itself calls what uses InTx: with the context that
// f is given those run in this transaction, and stand or fall with it. That context
// must not outlive f.
func (db *DB) InJointTx(ctx context.Context, f func(context.Context, Tx) error) error {
	return db.InTx(ctx, func(tx Tx) error {
		j := &Joint{db: db, tx: tx}
		err := f(context.WithValue(ctx, jointKey{}, j), tx)
		if err == nil && j.failed != nil {
			return j.failed
		}
		return err
	})
}

// part runs f within the transaction that ctx carries. What f did before it failed
// cannot be taken back by itself, so a failure is the whole transaction's.
func (j *Joint) part(f func(Tx) error) error {
	before := j.failed
	j.failed = errPartFailed // also where f panics
	err := f(j.tx)
	if err == nil {
		j.failed = before
		return nil
	}
	j.failed = err
	return Explain(j.db.File, err)
}
