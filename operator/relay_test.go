package operator_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

// courier keeps what it was asked to deliver, and fails as it is told.
type courier struct {
	mu   sync.Mutex
	got  []operator.Notice
	fail func(operator.Notice) error
}

func (c *courier) deliver(_ context.Context, n operator.Notice) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got = append(c.got, n)
	if c.fail != nil {
		return c.fail(n)
	}
	return nil
}

func relay(t *testing.T, op *operator.Operator, c *courier) int {
	t.Helper()
	n, err := op.RelayOnce(context.Background(), c.deliver)
	mustHave(t, err)
	return n
}

func TestANoticeTellsWhatWaitsAndComesOnce(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, nil)
		in := w.Record(t, renewal())
		w.Record(t, renewal())
		w.Record(t, note("nobody need know"))
		c := &courier{}
		if n := relay(t, w.Operator, c); n != 1 || len(c.got) != 1 {
			t.Fatalf("%d settled, %+v", n, c.got)
		}
		var payload struct {
			IntentID    int64  `json:"intent_id"`
			Title       string `json:"title"`
			AmountCents int64  `json:"amount_cents"`
			Currency    string `json:"currency"`
			Digest      string `json:"digest"`
		}
		got := c.got[0]
		mustHave(t, json.Unmarshal(got.Payload, &payload))
		if got.Topic != operator.TopicPending || got.Redelivery || payload.IntentID != in.ID || payload.Digest != in.Digest ||
			payload.Title != "Annual plan renewal" || payload.AmountCents != 4900 || payload.Currency != "USD" {
			t.Errorf("%+v, %s", got, got.Payload)
		}
		if n := relay(t, w.Operator, c); n != 0 || len(c.got) != 1 {
			t.Errorf("it came again: %d", n)
		}
	})
}

func TestANoticeThatFailsComesAgainAndSaysSo(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, nil)
		w.Record(t, renewal())
		c := &courier{fail: func(operator.Notice) error { return errors.New("no route") }}
		if n := relay(t, w.Operator, c); n != 0 {
			t.Errorf("a failure counts as settled: %d", n)
		}
		relay(t, w.Operator, c) // not due yet
		w.Clock.Advance(time.Second)
		c.fail = nil
		if n := relay(t, w.Operator, c); n != 1 || len(c.got) != 2 {
			t.Fatalf("%d, %d deliveries", n, len(c.got))
		}
		if c.got[0].Redelivery || !c.got[1].Redelivery || c.got[0].Key != c.got[1].Key {
			t.Errorf("%+v", c.got)
		}
	})
}

func TestANoticeIsSetAsideAfterTwelveFailuresAndHoldsUpNoOther(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, &operator.Options{Pending: 1000 * time.Hour})
		db := operatortest.Database(t, w.Where)
		poison := w.Record(t, spend("Poison", 1))
		good := w.Record(t, spend("Good", 1))
		c := &courier{fail: func(n operator.Notice) error {
			if n.Key == operator.TopicPending+":"+itoa(poison.ID) {
				return errors.New("the far side says no")
			}
			return nil
		}}
		if n := relay(t, w.Operator, c); n != 1 {
			t.Errorf("intent %d was held up", good.ID)
		}
		for range 30 {
			w.Clock.Advance(15 * time.Minute)
			relay(t, w.Operator, c)
		}
		if n := len(c.got); n != 13 { // twelve of one, one of the other
			t.Errorf("%d deliveries", n)
		}
		got := operatortest.Rows(t, db, `select attempts, last_error, case when dead_at is null then 'alive' else 'dead' end from reeve_outbox order by id`)
		if len(got) != 2 || got[0] != "12|the far side says no|dead" || got[1] != "1||alive" {
			t.Errorf("%v", got)
		}
	})
}

func TestANoticeAboutWhatNoLongerWaitsIsDropped(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		w.Approved(t, spend("Approved", 1))
		withdrawn, edited, lapsed := w.Record(t, spend("Withdrawn", 1)), w.Record(t, spend("Edited", 1)), w.Record(t, spend("Lapsed", 1))
		_, err := w.UpdateIntent(ctx, w.Agent, operator.UpdateIntentInput{ID: withdrawn.ID, Status: "cancelled"})
		mustHave(t, err)
		_, err = w.Edit(ctx, w.Owner, operator.EditInput{ID: edited.ID, Digest: edited.Digest, Action: spend("As edited", 1).Action})
		mustHave(t, err)
		w.Clock.Set(*lapsed.ExpiresAt) // and nobody has swept
		c := &courier{}
		if n := relay(t, w.Operator, c); n != 5 || len(c.got) != 0 {
			t.Errorf("%d settled, told of %+v", n, c.got)
		}
	})
}

func TestANoticeThatCannotBeReadHoldsUpNoOther(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		for _, key := range []string{"intent.pending:abc", "intent.pending:987654", "intent.pending:", "other"} {
			execute(t, db, `insert into reeve_outbox (account_id, project_id, topic, message_key, payload, created_at, next_at)
				values (1, 1, 'intent.pending', $1, '{}', 1, 1)`, key)
		}
		in := w.Record(t, renewal())
		c := &courier{}
		relay(t, w.Operator, c)
		if len(c.got) != 1 || c.got[0].Key != operator.TopicPending+":"+itoa(in.ID) {
			t.Errorf("%+v", c.got)
		}
	})
}

func TestARelayThatDiesLeavesItsNoticeToTheNext(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, nil)
		other := w.Again(t, nil)
		w.Record(t, renewal())
		dead := make(chan struct{})
		go func() {
			defer close(dead)
			_, _ = w.RelayOnce(context.Background(), func(context.Context, operator.Notice) error { runtime.Goexit(); return nil })
		}()
		<-dead
		c := &courier{}
		w.Clock.Advance(time.Minute - time.Microsecond)
		if n := relay(t, other, c); n != 0 || len(c.got) != 0 {
			t.Errorf("what somebody still holds was delivered: %+v", c.got)
		}
		w.Clock.Advance(time.Microsecond)
		if n := relay(t, other, c); n != 1 || !c.got[0].Redelivery {
			t.Errorf("%d, %+v", n, c.got)
		}
	})
}

func TestADeliveryThatPanicsIsTriedAgainAndHoldsUpNoOther(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, nil)
		first, second := w.Record(t, renewal()), w.Record(t, note("x"))
		if second.Status == gate.StatusPendingApproval {
			t.Fatal("a note waits for nobody")
		}
		c := &courier{}
		if _, err := w.RelayOnce(context.Background(), func(context.Context, operator.Notice) error { panic("rv_agent_secret") }); err != nil {
			t.Fatal(err)
		}
		w.Clock.Advance(time.Hour)
		if n := relay(t, w.Operator, c); n != 1 || c.got[0].Key != operator.TopicPending+":"+itoa(first.ID) || !c.got[0].Redelivery {
			t.Errorf("%d, %+v", n, c.got)
		}
	})
}

func TestADeliveryEndsBeforeItsNoticeGoesToAnother(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, nil)
		w.Record(t, renewal())
		_, err := w.RelayOnce(context.Background(), func(ctx context.Context, _ operator.Notice) error {
			if end, ok := ctx.Deadline(); !ok || time.Until(end) >= time.Minute {
				t.Errorf("it may take until %v (%v)", end, ok)
			}
			return nil
		})
		mustHave(t, err)
	})
}

func TestTwoRelaysNeverDeliverOneNoticeAtOnce(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, nil)
		other := w.Again(t, nil)
		const notices = 40
		for n := range notices {
			w.Record(t, spend(fmt.Sprintf("Notice %d", n), 1))
		}
		var mu sync.Mutex
		under, times := map[string]bool{}, map[string]int{}
		deliver := func(_ context.Context, n operator.Notice) error {
			mu.Lock()
			if under[n.Key] {
				t.Errorf("%s is being delivered already", n.Key)
			}
			under[n.Key] = true
			times[n.Key]++
			mu.Unlock()
			time.Sleep(time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			under[n.Key] = false
			return nil
		}
		counts := together(4, func(i int) int {
			op := w.Operator
			if i%2 == 1 {
				op = other
			}
			n, err := op.RelayOnce(context.Background(), deliver)
			if err != nil {
				t.Error(err)
			}
			return n
		})
		if sum := counts[0] + counts[1] + counts[2] + counts[3]; sum != notices || len(times) != notices {
			t.Errorf("%d settled, %d different ones", sum, len(times))
		}
		for key, n := range times {
			if n != 1 {
				t.Errorf("%s came %d times", key, n)
			}
		}
	})
}

func TestARelayIsWokenByARecordingAndEndsWithItsContext(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		w := operatortest.New(t, store, nil)
		came := make(chan operator.Notice, 1)
		ended := make(chan error, 1)
		go func() {
			ended <- w.Relay(ctx, func(_ context.Context, n operator.Notice) error { came <- n; return nil })
		}()
		w.Record(t, renewal())
		select {
		case <-came:
		case <-ctx.Done():
			t.Error("nothing came")
		}
		cancel()
		mustHave(t, <-ended)
	})
}
