package operator_test

import (
	"context"
	"testing"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

func TestAPersonGivesWhatEndedAnotherChance(t *testing.T) {
	ends := map[gate.Status]func(t *testing.T, w *operatortest.World, in operator.Intent){
		gate.StatusRejected: func(t *testing.T, w *operatortest.World, in operator.Intent) {
			_, err := w.Reject(context.Background(), w.Owner, act(in))
			mustHave(t, err)
		},
		gate.StatusExpired: func(t *testing.T, w *operatortest.World, in operator.Intent) {
			w.Clock.Advance(24*time.Hour - 12*time.Hour - time.Second) // still the same day
			execute(t, operatortest.Database(t, w.Where), `update reeve_intents set expires_at = 1 where id = $1`, in.ID)
			_, err := w.Sweep(context.Background())
			mustHave(t, err)
		},
		gate.StatusFailed: func(t *testing.T, w *operatortest.World, in operator.Intent) {
			ctx := context.Background()
			_, err := w.Approve(ctx, w.Owner, act(in))
			mustHave(t, err)
			got, err := w.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"spend"}})
			mustHave(t, err)
			_, err = w.Report(ctx, w.Worker, operator.ReportInput{ID: in.ID, FencingToken: got.Job.FencingToken, Status: "failed"})
			mustHave(t, err)
		},
	}
	operatortest.EachStore(t, func(t *testing.T, store string) {
		for status, end := range ends {
			t.Run(string(status), func(t *testing.T) {
				ctx := context.Background()
				w := operatortest.New(t, store, nil)
				old := w.Record(t, renewal())
				end(t, w, old)
				if got := statusOf(t, operatortest.Database(t, w.Where), old.ID); got != string(status) {
					t.Fatalf("it is %s", got)
				}
				fresh, err := w.Reissue(ctx, w.Owner, operator.ReissueInput{ID: old.ID})
				if err != nil || fresh.Status != gate.StatusPendingApproval || fresh.Digest != old.Digest || *fresh.Reissues != old.ID || !fresh.Created {
					t.Fatalf("%+v, %v", fresh, err)
				}
				again, err := w.RecordIntent(ctx, w.Agent, renewal())
				if err != nil || again.ID != fresh.ID || again.Created {
					t.Errorf("a re-send answers %d, %v", again.ID, err)
				}
				_, err = w.Reissue(ctx, w.Owner, operator.ReissueInput{ID: old.ID})
				mustBe(t, err, operator.ErrTransition)
				if got := statusOf(t, operatortest.Database(t, w.Where), old.ID); got != string(status) {
					t.Errorf("the old one became %s", got)
				}
				if out, err := w.Approve(ctx, w.Owner, act(fresh)); err != nil || out.Status != gate.StatusApproved {
					t.Errorf("%+v, %v", out, err)
				}
			})
		}
	})
}

func TestOnlyWhatWasRejectedFailedOrLapsedGetsAnotherChance(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, nil)
		m := &makers{w: w, db: operatortest.Database(t, w.Where)}
		for _, status := range gate.Statuses() {
			switch status {
			case gate.StatusRejected, gate.StatusFailed, gate.StatusExpired:
				continue
			}
			in, _ := m.at(t, status)
			before := operatortest.Fingerprint(t, m.db)
			_, err := w.Reissue(context.Background(), w.Owner, operator.ReissueInput{ID: in.ID})
			mustBe(t, err, operator.ErrTransition)
			if operatortest.Fingerprint(t, m.db) != before {
				t.Errorf("%s: something was written", status)
			}
		}
	})
}

func TestSixteenChancesGivenAtOnceAreOne(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		other := w.Again(t, nil)
		in := w.Record(t, renewal())
		_, err := w.Reject(ctx, w.Owner, act(in))
		mustHave(t, err)
		won := 0
		for _, err := range together(16, func(i int) error {
			op := w.Operator
			if i%2 == 1 {
				op = other
			}
			_, err := op.Reissue(ctx, w.Owner, operator.ReissueInput{ID: in.ID})
			return err
		}) {
			if err == nil {
				won++
			} else {
				mustBe(t, err, operator.ErrTransition)
			}
		}
		if n := count(t, operatortest.Database(t, w.Where), `select count(*) from reeve_intents`); won != 1 || n != 2 {
			t.Errorf("%d won, %d rows", won, n)
		}
	})
}

func TestTheLastOwnerStays(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		w.NewPerson(t, "ana", operator.RoleAdmin)
		mustBe(t, w.RemovePerson(ctx, "", "owner"), reason("last_owner"))
		if _, err := w.ShowIntent(ctx, w.Owner, w.Record(t, renewal()).ID); err != nil {
			t.Errorf("the owner who stays can do nothing: %v", err)
		}
		w.NewPerson(t, "bea", operator.RoleOwner)
		w.NewPerson(t, "cleo", operator.RoleOwner)
		other := w.Again(t, nil)
		mustHave(t, w.RemovePerson(ctx, "", "owner"))
		gone := 0
		for _, err := range together(2, func(i int) error {
			return []*operator.Operator{w.Operator, other}[i].RemovePerson(ctx, "", []string{"bea", "cleo"}[i])
		}) {
			if err == nil {
				gone++
			}
		}
		if gone != 1 {
			t.Errorf("%d of the last two owners went at once", gone)
		}
	})
}
