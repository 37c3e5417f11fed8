package operator

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/auditlog"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// Bounds of sealing.
const (
	sealBatch    = 500                   // rows in one transaction
	sealEvery    = time.Second           // how often Tend and Work seal, at least
	sealPoll     = 20 * time.Millisecond // how often an act looks whether another process has sealed it
	sealPatience = 3 * time.Second       // how long it waits in all; more where callers are told to be patient
	drainSeal    = 5 * time.Second       // how long a stopping worker may seal what it did
)

// Sealed says what a call of Seal did.
type Sealed struct {
	Rows int // how many rows of the record it sealed
}

// Seal puts every row of the record that is committed and has no place yet in its
// place: the next number of its account's log, a leaf of the log's Merkle tree, under
// a signed checkpoint. Any number of processes may do so at once. Where this process
// has no audit key it does nothing.
//
// Rows are taken because they have no place yet, and never by being newer than the
// last one seen: they commit out of order.
func (op *Operator) Seal(ctx context.Context) (Sealed, error) {
	var done Sealed
	var failed error
	if op.seals.held.Load() == nil {
		return done, nil
	}
	for after := int64(-1); ; {
		log, err := nextUnsealed(ctx, op.db.View(), after)
		if errors.Is(err, sql.ErrNoRows) {
			return done, failed
		}
		if err != nil {
			return done, errors.Join(failed, told(ctx, err))
		}
		for more := true; more; {
			n, _, err := op.sealOnce(ctx, log)
			if done.Rows += n; err != nil {
				failed = errors.Join(failed, err) // the logs of other accounts do not wait for it
			}
			more = err == nil && n == sealBatch
		}
		after = log
	}
}

// nextUnsealed is the next log after a given one that has rows to seal.
func nextUnsealed(ctx context.Context, tx core.Tx, after int64) (log int64, err error) {
	err = tx.Get(ctx, &log, `select coalesce(account_id, 0) from reeve_audit where seq is null and coalesce(account_id, 0) > $1
		order by coalesce(account_id, 0), id limit 1`, after)
	return log, err
}

// errRetired says that the key in hand is no longer the one that seals.
var errRetired = errors.New("the audit key was retired")

// sealOnce seals a batch of a log in one transaction, and gives how many rows that
// were and the number of the last one. Where the key was rotated meanwhile, it looks
// for the new one where the old one came from.
func (op *Operator) sealOnce(ctx context.Context, log int64) (n int, last int64, err error) {
	if op.seals.between != nil {
		op.seals.between(ctx)
	}
	n, last, err = op.sealWith(ctx, log, op.seals.held.Load())
	if !errors.Is(err, errRetired) {
		return n, last, err
	}
	active, err := activeKey(ctx, op.db.View(), "")
	if err != nil {
		return 0, 0, told(ctx, err)
	}
	file := op.seals.held.Load().file
	key, err := rightKey(file, active)
	if err != nil {
		return 0, 0, err
	}
	op.seals.hold(key, file)
	n, last, err = op.sealWith(ctx, log, op.seals.held.Load())
	return n, last, err
}

func (op *Operator) sealWith(ctx context.Context, log int64, held *heldKey) (n int, last int64, err error) {
	err = op.db.InTx(ctx, func(tx core.Tx) error {
		n, last = 0, 0
		l, err := lockLog(ctx, tx, log)
		if err != nil {
			return err
		}
		// Asked while the log is held: a rotation that comes now waits for it.
		active, err := activeKey(ctx, tx, "")
		if err != nil {
			return err
		}
		if active != held.key.Public() {
			return errRetired
		}
		batch, err := l.number(ctx, tx)
		if err != nil || len(batch) == 0 {
			return err
		}
		n, last = len(batch), batch[len(batch)-1].ID
		if slices.ContainsFunc(batch, func(r numbered) bool { return r.StatusTo == string(gate.StatusApproved) }) {
			tx.AfterCommit(op.changes.raise) // a worker may take it up now
		}
		return l.sign(ctx, tx, held.key)
	})
	if errors.Is(err, errRetired) {
		return 0, 0, err
	}
	if err != nil {
		return 0, 0, told(ctx, err)
	}
	return n, last, nil
}

// sealing is a log that is held for the rest of a transaction.
type sealing struct {
	account int64
	origin  string
	before  int64 // its size when it was taken
	tree    *auditlog.Tree
}

// lockLog holds a log, which is made where it is not there yet.
func lockLog(ctx context.Context, tx core.Tx, account int64) (*sealing, error) {
	var row struct {
		Size int64  `db:"size"`
		Edge string `db:"edge"`
	}
	query := `select size, edge from reeve_logs where account_id = $1 ` + tx.Dialect().ForUpdate
	err := tx.Get(ctx, &row, query, account)
	if errors.Is(err, sql.ErrNoRows) {
		if err := newLog(ctx, tx, account); err != nil {
			return nil, err
		}
		err = tx.Get(ctx, &row, query, account)
	}
	if err != nil {
		return nil, err
	}
	l := &sealing{account: account, before: row.Size}
	if l.tree, err = auditlog.ParseTree(row.Size, row.Edge); err != nil {
		return nil, err
	}
	slug := ""
	if account != 0 {
		if err := tx.Get(ctx, &slug, `select slug from reeve_accounts where id = $1`, account); err != nil {
			return nil, err
		}
	}
	l.origin = auditlog.Origin(slug)
	return l, nil
}

// newLog holds the key as well: a rotation goes over the logs that there are, and
// must not miss one that begins under the old key.
func newLog(ctx context.Context, tx core.Tx, account int64) error {
	lock := ""
	if tx.Dialect().ForUpdate != "" {
		lock = "for share"
	}
	if _, err := activeKey(ctx, tx, lock); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `insert into reeve_logs (account_id, size, edge, checkpoint, sealed_at) values ($1, 0, '', '', 0)
		on conflict (account_id) do nothing`, account)
	return err
}

// numbered is a row that was given its place.
type numbered struct {
	ID       int64  `db:"id"`
	Seq      int64  `db:"seq"`
	Leaf     string `db:"leaf"`
	StatusTo string `db:"status_to"`
}

// numberQuery gives the oldest rows without a place theirs, in one statement: what
// is read and what is numbered cannot differ.
const numberQuery = `update reeve_audit set seq = batch.place from (
		select oldest.id as row_id, $1 + row_number() over (order by oldest.id) as place from (
			select id from reeve_audit where seq is null and coalesce(account_id, 0) = $2 order by id limit $3) as oldest) as batch
	where id = batch.row_id returning id, seq, leaf, status_to`

// number gives a batch of rows their places, and makes them leaves.
func (l *sealing) number(ctx context.Context, tx core.Tx) ([]numbered, error) {
	var batch []numbered
	if err := tx.Select(ctx, &batch, numberQuery, l.tree.Size(), l.account, sealBatch); err != nil {
		return nil, err
	}
	slices.SortFunc(batch, func(a, b numbered) int { return int(a.Seq - b.Seq) })
	for i := range batch {
		if batch[i].Leaf == "" { // written before rows had leaves
			if err := addLeaf(ctx, tx, &batch[i]); err != nil {
				return nil, err
			}
		}
		leaf, err := auditlog.ParseHexHash(batch[i].Leaf)
		if err != nil {
			return nil, err
		}
		l.tree.Append(leaf)
		if batch[i].Seq != l.tree.Size() {
			return nil, errors.New("a row of the record was given another place than its own")
		}
	}
	return batch, nil
}

func addLeaf(ctx context.Context, tx core.Tx, row *numbered) error {
	var e auditRow
	if err := tx.Get(ctx, &e, `select `+auditColumns+` from reeve_audit where id = $1`, row.ID); err != nil {
		return err
	}
	leaf, err := e.entry().Leaf()
	if err != nil {
		return err
	}
	row.Leaf = auditlog.HexHash(leaf)
	_, err = tx.Exec(ctx, `update reeve_audit set leaf = $1 where id = $2`, row.Leaf, row.ID)
	return err
}

func (l *sealing) checkpoint() auditlog.Checkpoint {
	return auditlog.Checkpoint{Origin: l.origin, Size: l.tree.Size(), Root: l.tree.Root()}
}

// sign puts the log where its tree is now, under a checkpoint. Its size of before
// guards it: what two would seal at once, one seals.
func (l *sealing) sign(ctx context.Context, tx core.Tx, key auditlog.Key) error {
	signed, err := l.checkpoint().Sign(key)
	if err != nil {
		return err
	}
	n, err := tx.Exec(ctx, `update reeve_logs set size = $1, edge = $2, checkpoint = $3, sealed_at = $4 where account_id = $5 and size = $6`,
		l.tree.Size(), l.tree.Edge(), signed, tx.Micros(), l.account, l.before)
	return changedOne(n, err)
}

// awaitSeal returns once a row of the record is sealed: by this process, or by
// another one where this one has no key. What the row records is committed, so it
// stands also where the seal does not come in time, whatever that waited for.
func (op *Operator) awaitSeal(ctx context.Context, row core.Audited) error {
	if row.ID == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, op.seals.patience)
	defer cancel()
	wanted, err := op.seals.wanted(ctx, op.db.View())
	if err != nil {
		return op.unsealed(ctx, row, err)
	}
	if !wanted {
		return nil
	}
	why := op.sealUpTo(ctx, row)
	if why == nil {
		return nil
	}
	poll := time.NewTicker(sealPoll)
	defer poll.Stop()
	for {
		sealed, err := isSealed(ctx, op.db.View(), row.ID)
		if sealed {
			return nil
		}
		select {
		case <-ctx.Done():
			return op.unsealed(ctx, row, errors.Join(why, err, ctx.Err()))
		case <-poll.C:
		}
	}
}

// unsealed says what of an act stands already, and what waits for the seal. Only an
// approval has something that waits: a worker passes over it until then.
func (op *Operator) unsealed(ctx context.Context, row core.Audited, why error) error {
	words := "Your act was recorded and stands. Only its row in the record is not sealed yet."
	var to string
	err := op.db.View().Get(context.WithoutCancel(ctx), &to, `select status_to from reeve_audit where id = $1`, row.ID)
	switch {
	case err == nil && to == string(gate.StatusApproved):
		words = "Your approval was recorded and stands. Its row in the record is not sealed yet; no worker carries it out before that is done."
	case err == nil:
		words = "Your act was recorded, and holds already. Only its row in the record is not sealed yet; nothing else waits for that."
	}
	return core.Refuse(core.ReasonAuditUnsealed, "%s", words).Because(why)
}

// errNoKey says that this process cannot seal.
var errNoKey = errors.New("this process has no audit key, and no other one sealed the record in time")

// sealUpTo seals a log until a row of it has its place, where this process can.
func (op *Operator) sealUpTo(ctx context.Context, row core.Audited) error {
	for op.seals.held.Load() != nil {
		n, last, err := op.sealOnce(ctx, row.Account)
		if err != nil {
			return err
		}
		if last >= row.ID {
			return nil
		}
		if n == 0 {
			sealed, err := isSealed(ctx, op.db.View(), row.ID)
			if err == nil && !sealed {
				err = errors.New("the row is not there to be sealed")
			}
			return err
		}
	}
	return errNoKey
}

func isSealed(ctx context.Context, tx core.Tx, id int64) (bool, error) {
	var seq sql.NullInt64
	err := tx.Get(ctx, &seq, `select seq from reeve_audit where id = $1`, id)
	return seq.Valid, err
}

// keepSealed seals, and logs a failure when it is not the one of the last time: it
// is called every second.
func (op *Operator) keepSealed(ctx context.Context) {
	_, err := op.Seal(ctx)
	if ctx.Err() != nil {
		return
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	if last := op.seals.fault.Swap(&text); text != "" && (last == nil || *last != text) {
		op.log.Error("the record could not be sealed", "error", gate.Redact(text))
	}
}

// sealBeside seals now, and then every second until the function that it returns is
// called, which seals a last time.
func (op *Operator) sealBeside(ctx context.Context) (stop func()) {
	if op.seals.held.Load() == nil {
		return func() {}
	}
	op.keepSealed(ctx)
	ctx = context.WithoutCancel(ctx)
	beside, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { every(beside, sealEvery, op.keepSealed) })
	return func() {
		cancel()
		running.Wait()
		last, done := context.WithTimeout(ctx, drainSeal)
		defer done()
		op.keepSealed(last)
	}
}
