package operator_test

import (
	"context"
	"testing"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

// TestWhoComesBackVotesAnew: the vote of somebody who was removed counts no more, also
// where they come back by the same handle; and then they may vote, once.
func TestWhoComesBackVotesAnew(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, &operator.Options{Policy: policy(t, twoPeople)})
		ana, _ := w.NewPerson(t, "ana", operator.RoleAdmin)
		in := w.Record(t, spend("large", 200000))
		votes := func(p operator.Person, want gate.Status) {
			t.Helper()
			if out, err := w.Approve(ctx, p, act(in)); err != nil || out.Status != want {
				t.Fatalf("%s votes: %s, %v", p.ID(), out.Status, err)
			}
			if want != gate.StatusPendingApproval {
				return
			}
			_, err := w.Approve(ctx, p, act(in))
			mustBe(t, err, operator.ErrAlreadyApproved)
		}
		votes(ana, gate.StatusPendingApproval)
		for range 3 { // more than once, and at once again
			mustHave(t, w.RemovePerson(ctx, "", "ana"))
			old := ana
			ana, _ = w.NewPerson(t, "ana", operator.RoleAdmin)
			_, err := w.Approve(ctx, old, act(in))
			mustBe(t, err, operator.ErrCredentialRevoked)
			votes(ana, gate.StatusPendingApproval)
		}
		mustHave(t, w.RemovePerson(ctx, "", "ana"))
		ana, _ = w.NewPerson(t, "ana", operator.RoleAdmin)
		votes(w.Owner, gate.StatusPendingApproval) // no vote of hers counts now
		votes(ana, gate.StatusApproved)
		db := operatortest.Database(t, w.Where)
		if n := count(t, db, `select count(*) from reeve_decisions d join reeve_people h on h.id = d.person_id where d.status = 'approved' and d.member_from = h.votes_from`); n != 2 {
			t.Errorf("%d votes count", n)
		}
	})
}

func TestSixteenClicksOfWhoCameBackAreOneVote(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		opts := &operator.Options{Policy: policy(t, twoPeople)}
		w := operatortest.New(t, store, opts)
		other := w.Again(t, opts)
		ana, _ := w.NewPerson(t, "ana", operator.RoleAdmin)
		in := w.Record(t, spend("large", 200000))
		_, err := w.Approve(ctx, ana, act(in))
		mustHave(t, err)
		mustHave(t, w.RemovePerson(ctx, "", "ana"))
		ana, _ = w.NewPerson(t, "ana", operator.RoleAdmin)
		counted := 0
		for _, err := range together(16, func(i int) error {
			_, err := []*operator.Operator{w.Operator, other}[i%2].Approve(ctx, ana, act(in))
			return err
		}) {
			if err == nil {
				counted++
			} else {
				mustBe(t, err, operator.ErrAlreadyApproved)
			}
		}
		if got := statusOf(t, operatortest.Database(t, w.Where), in.ID); counted != 1 || got != "pending_approval" {
			t.Errorf("%d of her clicks were votes, and it is %s", counted, got)
		}
	})
}

// TestARemovalInTheMiddleOfAVoteComesBeforeOrAfterIt: whatever the order, who is on the
// list at the end has at most one vote that counts.
func TestARemovalInTheMiddleOfAVoteComesBeforeOrAfterIt(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, &operator.Options{Policy: policy(t, twoPeople)})
		db := operatortest.Database(t, w.Where)
		ana, _ := w.NewPerson(t, "ana", operator.RoleAdmin)
		in := w.Record(t, spend("large", 200000))
		for range 8 {
			errs := together(5, func(i int) error {
				if i == 0 {
					if err := w.RemovePerson(ctx, "", "ana"); err != nil {
						return err
					}
					return w.AddPerson(ctx, operator.NewPerson{Handle: "ana", Name: "Ana", Role: operator.RoleAdmin})
				}
				_, err := w.Approve(ctx, ana, act(in))
				return err
			})
			mustHave(t, errs[0])
			if n := count(t, db, `select count(*) from reeve_decisions d join reeve_people h on h.id = d.person_id
				where d.status = 'approved' and d.member_from = h.votes_from`); n > 1 {
				t.Fatalf("%d votes of one person count", n)
			}
			m := w.Mint(t, operator.NewCredential{Kind: operator.KindHuman, Name: "ana", Person: "ana", Scopes: operator.Scopes()})
			var err error
			ana, err = w.PersonByCredential(ctx, m.Token, operator.ViaLibrary)
			mustHave(t, err)
		}
		if got := statusOf(t, db, in.ID); got != "pending_approval" {
			t.Errorf("one person made it %s", got)
		}
	})
}
