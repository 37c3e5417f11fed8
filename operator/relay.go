package operator

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// TopicPending is the topic of the notice that an intent waits for a person.
const TopicPending = "intent.pending"

func pendingKey(id int64) string { return TopicPending + ":" + itoa(id) }

// Notice is something that somebody has to be told. It is delivered at least
// once; whoever must not be told twice compares Key.
type Notice struct {
	Key         string         `json:"key"` // the same for every delivery of one notice
	Topic       string         `json:"topic"`
	Redelivery  bool           `json:"redelivery"` // an earlier attempt may have arrived
	CreatedAt   time.Time      `json:"created_at"`
	Payload     jsontext.Value `json:"payload"`
	id          int64
	attempts    int64
	stillWanted bool
}

// Bounds of delivering notices.
const (
	noticeLease = time.Minute
	patience    = 45 * time.Second // of one delivery, which ends before its lease does
	maxAttempts = 12
	firstPause  = time.Second
	longPause   = 15 * time.Minute
)

// Relay hands queued notices to deliver, one at a time, until ctx ends. Any
// number of processes may relay: each notice is held by one of them while it
// tries. An error of deliver is tried again with growing pauses; a notice that
// fails twelve times is set aside and holds up no other. A notice about an
// intent that no longer waits is dropped.
func (op *Operator) Relay(ctx context.Context, deliver func(context.Context, Notice) error) error {
	poll := time.NewTicker(time.Second)
	defer poll.Stop()
	for {
		changed := op.changes.wait()
		n, err := op.RelayOnce(ctx, deliver)
		if err != nil && ctx.Err() == nil {
			op.log.Error("relay failed", "error", err)
		}
		if ctx.Err() != nil {
			return nil
		}
		if n > 0 && err == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-poll.C:
		}
	}
}

// RelayOnce tries every notice that is due now once, and says how many it
// settled, delivered or dropped.
func (op *Operator) RelayOnce(ctx context.Context, deliver func(context.Context, Notice) error) (settled int, err error) {
	holder := core.NewUUID()
	for ctx.Err() == nil {
		n, err := op.takeNotice(ctx, holder)
		if errors.Is(err, sql.ErrNoRows) {
			return settled, nil
		}
		if err != nil {
			return settled, err
		}
		var failure error
		if n.stillWanted {
			failure = deliverWithin(ctx, patience, n, deliver)
		}
		if err := op.settleNotice(ctx, holder, n, failure); err != nil {
			return settled, err
		}
		if failure == nil {
			settled++
		}
	}
	return settled, ctx.Err()
}

// deliverWithin ends a delivery before the notice is another's to try, so that no
// two ever deliver one at the same time.
func deliverWithin(ctx context.Context, limit time.Duration, n Notice, deliver func(context.Context, Notice) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer func() {
		// One notice must not stop the relay for all that come after it.
		if r := recover(); r != nil {
			err = fmt.Errorf("the delivery panicked: %T", r)
		}
	}()
	return deliver(ctx, n)
}

// takeNotice holds the oldest notice that is due. It is chosen by its state, and
// never by being newer than the last one seen: rows commit out of order.
func (op *Operator) takeNotice(ctx context.Context, holder string) (Notice, error) {
	var row struct {
		ID        int64  `db:"id"`
		ProjectID int64  `db:"project_id"`
		Topic     string `db:"topic"`
		Key       string `db:"message_key"`
		Payload   string `db:"payload"`
		CreatedAt int64  `db:"created_at"`
		Attempts  int64  `db:"attempts"`
	}
	n := Notice{stillWanted: true}
	err := op.inTx(ctx, func(tx core.Tx) error {
		err := tx.Get(ctx, &row, `update reeve_outbox set held_by = $1, held_until = $2, attempts = attempts + 1
			where id = (select id from reeve_outbox where delivered_at is null and dead_at is null and next_at <= $3
				and (held_until is null or held_until <= $3) order by next_at, id limit 1 `+tx.Dialect().SkipLocks+`)
			returning id, project_id, topic, message_key, payload, created_at, attempts`,
			holder, core.Micros(tx.Now().Add(noticeLease)), tx.Micros())
		if err != nil {
			return err
		}
		switch row.Topic {
		case TopicPending:
			n.stillWanted, err = stillWaits(ctx, tx, row.Key)
		case TopicApproval:
			n.stillWanted, err = approvalWaits(ctx, tx, row.Key)
		}
		return err
	})
	n.id, n.attempts, n.Key, n.Topic = row.ID, row.Attempts, row.Key, row.Topic
	n.Redelivery, n.CreatedAt, n.Payload = row.Attempts > 1, core.FromMicros(row.CreatedAt), jsontext.Value(row.Payload)
	return n, err
}

// stillWaits says whether there is anything left to tell. A notice that names no
// intent is moot as well: an error here would hold up every later one.
func stillWaits(ctx context.Context, tx core.Tx, key string) (bool, error) {
	id, err := strconv.ParseInt(strings.TrimPrefix(key, TopicPending+":"), 10, 64)
	if err != nil {
		return false, nil
	}
	err = tx.Get(ctx, &id, `select id from reeve_intents where id = $1 and status = $2 and expires_at > $3`,
		id, string(gate.StatusPendingApproval), tx.Micros())
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

func (op *Operator) settleNotice(ctx context.Context, holder string, n Notice, failure error) error {
	ctx = context.WithoutCancel(ctx) // what was delivered is said so, also while stopping
	return op.inTx(ctx, func(tx core.Tx) error {
		if failure == nil {
			_, err := tx.Exec(ctx, `update reeve_outbox set delivered_at = $1, held_by = null, held_until = null
				where id = $2 and held_by = $3 and delivered_at is null`, tx.Micros(), n.id, holder)
			return err
		}
		op.log.Warn("notice not delivered", "key", n.Key, "attempt", n.attempts, "error", readable(failure.Error()))
		next := core.Micros(tx.Now().Add(min(firstPause<<(n.attempts-1), longPause)))
		var dead sql.NullInt64
		if n.attempts >= maxAttempts {
			dead = sql.NullInt64{Int64: tx.Micros(), Valid: true}
			op.log.Error("notice set aside", "key", n.Key, "attempts", n.attempts)
		}
		_, err := tx.Exec(ctx, `update reeve_outbox set next_at = $1, last_error = $2, dead_at = $3, held_by = null, held_until = null
			where id = $4 and held_by = $5 and delivered_at is null`, next, readable(failure.Error()), dead, n.id, holder)
		return err
	})
}
