package operator_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

// ending takes a credential back, in each of the ways there are.
type ending struct {
	name string
	kind operator.Kind
	end  func(t *testing.T, w *operatortest.World, m operator.Minted)
	want error
}

func endings() []ending {
	revoke := func(t *testing.T, w *operatortest.World, m operator.Minted) {
		mustHave(t, w.RevokeCredential(context.Background(), "", m.ID))
	}
	return []ending{
		{"it is revoked", operator.KindAgent, revoke, operator.ErrCredentialRevoked},
		{"it is rotated", operator.KindAgent, func(t *testing.T, w *operatortest.World, m operator.Minted) {
			_, err := w.RotateCredential(context.Background(), "", m.ID)
			mustHave(t, err)
		}, operator.ErrCredentialRevoked},
		{"it expires", operator.KindAgent, func(_ *testing.T, w *operatortest.World, _ operator.Minted) { w.Clock.Advance(time.Hour) }, operator.ErrCredentialExpired},
		{"the person is removed", operator.KindHuman, func(t *testing.T, w *operatortest.World, _ operator.Minted) {
			mustHave(t, w.RemovePerson(context.Background(), "", "ana"))
		}, operator.ErrCredentialRevoked},
		{"the person is removed and comes back", operator.KindHuman, func(t *testing.T, w *operatortest.World, _ operator.Minted) {
			mustHave(t, w.RemovePerson(context.Background(), "", "ana"))
			mustHave(t, w.AddPerson(context.Background(), operator.NewPerson{Handle: "ana", Name: "Another", Role: operator.RoleOwner}))
		}, operator.ErrCredentialRevoked},
		{"the worker's is revoked", operator.KindWorker, revoke, operator.ErrCredentialRevoked},
	}
}

// brief makes a credential that lives for an hour, and ana for a person.
func brief(t *testing.T, w *operatortest.World, kind operator.Kind) operator.Minted {
	t.Helper()
	in := operator.NewCredential{Kind: kind, Name: "brief", Scopes: operator.Scopes(), Life: time.Hour}
	if kind == operator.KindHuman {
		mustHave(t, w.AddPerson(context.Background(), operator.NewPerson{Handle: "ana", Name: "Ana", Role: operator.RoleOwner}))
		in.Person = "ana"
	}
	return w.Mint(t, in)
}

func TestNobodyIsAnsweredAfterAWaitInWhichTheirCredentialEnded(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		for _, e := range endings() {
			t.Run(e.name, func(t *testing.T) {
				ctx := context.Background()
				w := operatortest.New(t, store, nil)
				m := brief(t, w, e.kind)
				p := w.Principal(t, m.Token)
				in := w.Record(t, renewal())
				answered := make(chan error)
				go func() {
					_, err := w.State(ctx, p, operator.StateInput{IntentID: &in.ID, WaitSeconds: number(60)})
					answered <- err
				}()
				e.end(t, w, m)
				if _, err := w.Reject(ctx, w.Owner, act(in)); err != nil { // which ends the wait
					mustBe(t, err, operator.ErrLapsed)
				}
				mustBe(t, <-answered, e.want)
			})
		}
	})
}

// A Principal may be kept for days, and its credential may have ended since.
func TestAKeptPrincipalMayDoNothingOnceItsCredentialEnded(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		for _, e := range endings() {
			t.Run(e.name, func(t *testing.T) {
				ctx := context.Background()
				w := operatortest.New(t, store, nil)
				db := operatortest.Database(t, w.Where)
				m := brief(t, w, e.kind)
				p := w.Principal(t, m.Token)
				own, err := w.RecordIntent(ctx, p, renewal())
				mustHave(t, err)
				open, err := w.OpenDecision(ctx, p, "Which vendor?")
				mustHave(t, err)
				w.Approved(t, spend("Ready", 100))
				var job operator.Job
				if e.kind == operator.KindWorker {
					w.Approved(t, spend("Held", 100))
					got, err := w.Claim(ctx, p, operator.ClaimInput{Types: []string{"spend"}})
					mustHave(t, err)
					job = *got.Job
				}
				e.end(t, w, m)
				before := count(t, db, `select count(*) from reeve_audit`) + count(t, db, `select sum(updated_at) from reeve_intents`)
				for name, err := range map[string]error{
					"record":  errOf(w.RecordIntent(ctx, p, note("another"))),
					"again":   errOf(w.RecordIntent(ctx, p, renewal())),
					"cancel":  errOf(w.UpdateIntent(ctx, p, operator.UpdateIntentInput{ID: own.ID, Status: "cancelled"})),
					"state":   errOf(w.State(ctx, p, operator.StateInput{})),
					"one":     errOf(w.State(ctx, p, operator.StateInput{IntentID: &own.ID})),
					"open":    errOf(w.OpenDecision(ctx, p, "Which one?")),
					"decide":  errOf(w.UpdateDecision(ctx, p, operator.UpdateDecisionInput{ID: open.ID, Status: "parked"})),
					"powers":  errOf(w.PowersOf(ctx, p)),
					"spend":   errOf(w.HoldSpending(ctx, p, nil)),
					"park":    errOf(w.Park(ctx, p, operator.NewParked{Question: operator.Question{Title: "May I?"}, Tool: "some_tool"})),
					"parked":  errOf(w.Approval(ctx, p, operator.ApprovalQuery{ID: 1})),
					"is live": w.StillLive(ctx, p),
				} {
					if r := refusalOf(err); r == nil || r.Reason != refusalOf(e.want).Reason {
						t.Errorf("%s: %v", name, err)
					}
				}
				if e.kind == operator.KindWorker {
					for name, err := range map[string]error{
						"claim":  errOf(w.Claim(ctx, p, operator.ClaimInput{Types: []string{"spend"}})),
						"extend": errOf(w.Extend(ctx, p, operator.ExtendInput{ID: job.Intent.ID, FencingToken: job.FencingToken})),
						"report": errOf(w.Report(ctx, p, operator.ReportInput{ID: job.Intent.ID, FencingToken: job.FencingToken, Status: "succeeded"})),
						"work":   w.Work(ctx, p, map[string]operator.Handler{"spend": {Run: func(context.Context, operator.Job) (string, error) { panic("ran") }}}, nil),
					} {
						mustBe(t, fmt.Errorf("%s: %w", name, err), e.want)
					}
				}
				if after := count(t, db, `select count(*) from reeve_audit`) + count(t, db, `select sum(updated_at) from reeve_intents`); after != before {
					t.Error("something was changed")
				}
			})
		}
	})
}

// A handler that is running when its worker's credential is taken back is stopped, and
// nobody knows how far it came.
func TestAWorkerWhoseCredentialIsTakenBackMeanwhileEnds(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		m := w.Mint(t, operator.NewCredential{Kind: operator.KindWorker, Name: "payer", Scopes: operator.Scopes()})
		in := w.Approved(t, renewal())
		err := w.Work(ctx, w.Principal(t, m.Token), map[string]operator.Handler{"spend": {Run: func(ctx context.Context, _ operator.Job) (string, error) {
			mustHave(t, w.RevokeCredential(ctx, "", m.ID))
			<-ctx.Done()
			return "", ctx.Err()
		}}}, &operator.WorkOptions{Lease: 3 * time.Second})
		mustBe(t, err, operator.ErrCredentialRevoked)
		if got := statusOf(t, db, in.ID); got != "unknown" {
			t.Error(got)
		}
	})
}

func TestOneLeaseIsKeptAndHeld(t *testing.T) {
	w := operatortest.New(t, "sqlite", nil)
	for asked, want := range map[time.Duration]time.Duration{
		0: operator.DefaultLease, -time.Hour: operator.DefaultLease, time.Millisecond: time.Second, 90 * time.Second: 90 * time.Second,
		operator.MaxLease: operator.MaxLease, operator.MaxLease + time.Second: operator.MaxLease, 4 * time.Hour: operator.MaxLease, 1 << 62: operator.MaxLease,
	} {
		kept, claimed, err := operator.LeaseOfWorker(w.Operator, w.Worker, asked)
		if err != nil || kept != want || time.Duration(claimed)*time.Second != want {
			t.Errorf("asked for %s: kept %s, claimed %d s, %v", asked, kept, claimed, err)
		}
	}
}

func TestARunIsNamedByAUUID(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, nil)
		for id, good := range map[string]bool{"0b7e5c0e-8f0e-4c39-9d0f-3f0f5ad1c0de": true, "": false, "r1": false, "0B7E5C0E-8F0E-4C39-9D0F-3F0F5AD1C0DE": false,
			"{0b7e5c0e-8f0e-4c39-9d0f-3f0f5ad1c0de}": false, "0b7e5c0e8f0e4c399d0f3f0f5ad1c0de": false, "urn:uuid:0b7e5c0e-8f0e-4c39-9d0f-3f0f5ad1c0de": false} {
			in := note("For '" + id + "'")
			in.RunID = &id
			out, err := w.RecordIntent(context.Background(), w.Agent, in)
			if !good {
				mustBe(t, err, reason("invalid_value"))
			} else if err != nil || *out.RunID != id {
				t.Errorf("%q: %v, %v", id, out.RunID, err)
			}
		}
	})
}
