//go:build unix

package operator_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

// TestAPostgreSQLThatGoesDownHardUnderLoadLosesAndDoublesNothing: eight writers record
// and approve while the server is killed. Whoever got an error sends the same again,
// and is answered by what is there.
func TestAPostgreSQLThatGoesDownHardUnderLoadLosesAndDoublesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a cluster of its own")
	}
	seed := rand.Uint64()
	t.Logf("the seed is %d", seed)
	ctx := context.Background()
	cluster := operatortest.NewCluster(t)
	op := operatortest.Open(t, cluster.URL, nil)
	first, made, err := op.Install(ctx, operator.Initial{})
	if err != nil || !made {
		t.Fatalf("install: %v, %v", made, err)
	}
	agent, err := op.Authenticate(ctx, first.Agent.Token, operator.ViaLibrary)
	mustHave(t, err)
	owner, err := op.PersonByCredential(ctx, first.Person.Token, operator.ViaLibrary)
	mustHave(t, err)

	stop := make(chan struct{})
	var mu sync.Mutex
	acked, resent := map[string]operator.Intent{}, 0
	// again sends until there is an answer, which must come soon after the restart.
	again := func(what string, f func() error) {
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			err := f()
			if err == nil || errors.Is(err, operator.ErrAlreadySettled) {
				return
			}
			mu.Lock()
			resent++
			mu.Unlock()
			if time.Now().After(deadline) {
				t.Errorf("%s: %v, still", what, err)
				return
			}
		}
	}
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				title := fmt.Sprintf("wish %d of writer %d", n, i)
				var in operator.Intent
				again("record "+title, func() (err error) { in, err = op.RecordIntent(ctx, agent, spend(title, 1)); return err })
				again("approve "+title, func() error { _, err := op.Approve(ctx, owner, act(in)); return err })
				mu.Lock()
				acked[title] = in
				mu.Unlock()
			}
		})
	}
	r := rand.New(rand.NewPCG(seed, 1))
	for range 6 {
		time.Sleep(time.Duration(100+r.IntN(400)) * time.Millisecond)
		cluster.Crash()
	}
	close(stop)
	writers.Wait()

	db := operatortest.Database(t, cluster.URL)
	if rows := count(t, db, `select count(*) from reeve_intents`); rows != int64(len(acked)) {
		t.Errorf("%d intents are there, and %d were acknowledged", rows, len(acked))
	}
	for title, in := range acked {
		if got := statusOf(t, db, in.ID); got != string(gate.StatusApproved) {
			t.Errorf("%s was acknowledged as intent %d, which is %s", title, in.ID, got)
		}
	}
	for what, query := range map[string]string{
		"a wish has two rows":            `select count(*) from (select title from reeve_intents group by title having count(*) > 1) as d`,
		"an intent has two decisions":    `select count(*) from (select intent_id from reeve_decisions group by intent_id having count(*) > 1) as d`,
		"a row of the record is missing": `select count(*) from reeve_intents i where not exists (select 1 from reeve_audit a where a.id = i.approval_audit_id)`,
		"a notice is missing":            `select (select count(*) from reeve_intents) - (select count(*) from reeve_outbox)`,
	} {
		if n := count(t, db, query); n != 0 {
			t.Errorf("%s: %d times", what, n)
		}
	}
	if len(acked) < 20 || resent == 0 {
		t.Errorf("%d wishes, %d sent again: nothing was interrupted", len(acked), resent)
	}
	t.Logf("%d wishes were acknowledged, and %d calls sent again", len(acked), resent)
}
