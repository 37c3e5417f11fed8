package operator_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

// hangsOn counts what a person of that handle holds, gave, or was given by name, and
// that is not ended.
const hangsOn = `select (select count(*) from reeve_links l join reeve_people h on h.id = l.person_id where h.handle = $1)
	+ (select count(*) from reeve_credentials c join reeve_people h on h.id = c.person_id where h.handle = $1 and c.revoked_at is null)
	+ (select count(*) from reeve_standing s join reeve_people h on h.id = s.person_id where h.handle = $1 and s.revoked_at is null)
	+ (select count(*) from reeve_spending_grants g join reeve_people h on h.id = g.person_id
		where (h.handle = $1 or g.principal = 'human:' || $1) and g.revoked_at is null)`

func TestNothingThatIsMadeBesideAPersonsRemovalOutlivesIt(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		other := w.Again(t, nil)
		db := operatortest.Database(t, w.Where)
		until := w.Clock.Now().Add(time.Hour)
		for round := range 20 {
			h := fmt.Sprintf("p%d", round)
			p, m := w.NewPerson(t, h, operator.RoleOwner)
			errs := together(6, func(i int) error {
				switch i {
				case 0:
					return errOf(w.CreateCredential(ctx, operator.NewCredential{Kind: operator.KindHuman, Name: h + "-more", Person: h, Scopes: operator.Scopes()}))
				case 1:
					return w.LinkPerson(ctx, "", h, "slack", h)
				case 2:
					return errOf(w.RotateCredential(ctx, "", m.ID))
				case 3:
					return errOf(w.GrantSpending(ctx, w.Owner, operator.GrantInput{Principal: "human:" + h, Until: until, Reason: "To try."}))
				case 4:
					return errOf(w.StandingApproval(ctx, p, vendor(until)))
				}
				return other.RemovePerson(ctx, "", h)
			})
			mustHave(t, errs[5])
			for i, err := range errs {
				if err != nil && refusalOf(err) == nil {
					t.Errorf("round %d, %d: a bare error: %v", round, i, err)
				}
			}
			if n := count(t, db, hangsOn, h); n != 0 {
				t.Fatalf("round %d: %d outlived the removal: %v", round, n, errs)
			}
		}
	})
}

// Where an older reeve left something, whoever comes back by the handle does not get it.
func TestWhoComesBackFindsNothingOfWhoWasHereBefore(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		until := w.Clock.Now().Add(time.Hour)
		p, m := w.NewPerson(t, "ana", operator.RoleOwner)
		mustHave(t, w.LinkPerson(ctx, "", "ana", "slack", "U1"))
		_, err := w.StandingApproval(ctx, p, vendor(until))
		mustHave(t, err)
		for _, who := range []string{"human:ana", "agent:agent"} {
			_, err = w.GrantSpending(ctx, p, operator.GrantInput{Principal: who, Until: until, Reason: "To try."})
			mustHave(t, err)
		}
		execute(t, db, `update reeve_people set removed_at = 1 where handle = 'ana'`)
		if n := count(t, db, hangsOn, "ana"); n != 5 {
			t.Fatalf("%d of 5 are left: this test would see nothing", n)
		}
		mustHave(t, w.AddPerson(ctx, operator.NewPerson{Handle: "ana", Name: "Another", Role: operator.RoleOwner}))
		if n := count(t, db, hangsOn, "ana"); n != 0 {
			t.Errorf("%d are left", n)
		}
		_, err = w.PersonByCredential(ctx, m.Token, operator.ViaLibrary)
		mustBe(t, err, operator.ErrCredentialRevoked)
	})
}

// A proof is of somebody, and not of a handle: whoever was proved before the removal
// stays nobody when the handle comes back.
func TestNoProofOfBeforeCountsForWhoComesBack(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		own, _ := w.NewPerson(t, "ana", operator.RoleAdmin)
		slack := w.Mint(t, operator.NewCredential{Kind: operator.KindChannel, Name: "slack"})
		mustHave(t, w.LinkPerson(ctx, "", "ana", "slack", "U1"))
		vouched, err := w.Vouch(ctx, slack.Token, "U1")
		mustHave(t, err)
		in := w.Record(t, renewal())
		_, err = w.Respond(ctx, vouched, operator.RespondInput{ID: in.ID, Text: "What for?"})
		mustHave(t, err) // it counts for as long as the link stands
		mustHave(t, w.RemovePerson(ctx, "", "ana"))
		for _, back := range []bool{false, true} {
			if back {
				mustHave(t, w.AddPerson(ctx, operator.NewPerson{Handle: "ana", Name: "Another", Role: operator.RoleAdmin}))
				mustHave(t, w.LinkPerson(ctx, "", "ana", "slack", "U1"))
			}
			for name, p := range map[string]operator.Person{"by a credential": own, "vouched for": vouched} {
				for what, err := range map[string]error{
					"approve": errOf(w.Approve(ctx, p, act(in))),
					"look":    errOf(w.ShowIntent(ctx, p, in.ID)),
					"list":    errOf(w.Waiting(ctx, p, 10)),
				} {
					mustBe(t, fmt.Errorf("%s, back %v, %s: %w", name, back, what, err), operator.ErrCredentialRevoked)
				}
			}
		}
		now, err := w.Vouch(ctx, slack.Token, "U1")
		mustHave(t, err)
		_, err = w.Approve(ctx, now, act(in))
		mustHave(t, err)
	})
}

func TestAPersonWhoseCredentialExpiredIsToldSo(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, nil)
		p, err := w.PersonByCredential(context.Background(), brief(t, w, operator.KindHuman).Token, operator.ViaLibrary)
		mustHave(t, err)
		w.Clock.Advance(time.Hour)
		_, err = w.Waiting(context.Background(), p, 1)
		mustBe(t, err, operator.ErrCredentialExpired)
	})
}
