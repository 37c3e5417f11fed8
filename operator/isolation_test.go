package operator_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

// byID is every method that takes an id, called by somebody on an id.
func byID(w *operatortest.World, who operatortest.Elsewhere, digest string) map[string]func(id int64) error {
	ctx := context.Background()
	input := func(id int64) operator.ActInput { return operator.ActInput{ID: id, Digest: digest} }
	drop := func(_ operator.Intent, err error) error { return err }
	return map[string]func(int64) error{
		"Approve": func(id int64) error { return drop(w.Approve(ctx, who.Person, input(id))) },
		"Reject":  func(id int64) error { return drop(w.Reject(ctx, who.Person, input(id))) },
		"Ignore":  func(id int64) error { return drop(w.Ignore(ctx, who.Person, input(id))) },
		"Revoke":  func(id int64) error { return drop(w.Revoke(ctx, who.Person, input(id))) },
		"Edit": func(id int64) error {
			return drop(w.Edit(ctx, who.Person, operator.EditInput{ID: id, Digest: digest, Action: spend("Other", 1).Action}))
		},
		"Respond": func(id int64) error {
			return drop(w.Respond(ctx, who.Person, operator.RespondInput{ID: id, Digest: digest, Text: "hello"}))
		},
		"Respond without a digest": func(id int64) error {
			return drop(w.Respond(ctx, who.Person, operator.RespondInput{ID: id, Text: "hello"}))
		},
		"Settle": func(id int64) error {
			return drop(w.Settle(ctx, who.Person, operator.SettleInput{ID: id, Status: "succeeded"}))
		},
		"ShowIntent": func(id int64) error { return drop(w.ShowIntent(ctx, who.Person, id)) },
		"State": func(id int64) error {
			_, err := w.State(ctx, who.Agent, operator.StateInput{IntentID: &id})
			return err
		},
		"State with a wait": func(id int64) error {
			_, err := w.State(ctx, who.Agent, operator.StateInput{IntentID: &id, WaitSeconds: number(5)})
			return err
		},
		"UpdateIntent to cancelled": func(id int64) error {
			return drop(w.UpdateIntent(ctx, who.Agent, operator.UpdateIntentInput{ID: id, Status: "cancelled"}))
		},
		"UpdateIntent to succeeded": func(id int64) error {
			return drop(w.UpdateIntent(ctx, who.Worker, operator.UpdateIntentInput{ID: id, Status: "succeeded", FencingToken: number(1)}))
		},
		"Report": func(id int64) error {
			return drop(w.Report(ctx, who.Worker, operator.ReportInput{ID: id, FencingToken: 1, Status: "failed"}))
		},
	}
}

func TestAnIdOfAnotherProjectOrAccountIsAnsweredExactlyLikeAnUnknownOne(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		m := &makers{w: w, db: db}
		strangers := map[string]operatortest.Elsewhere{
			"another project": w.Elsewhere(t, operator.DefaultSlug, "second"),
			"another account": w.Elsewhere(t, "other", operator.DefaultSlug),
		}
		ours := []operator.Intent{}
		for _, status := range []gate.Status{gate.StatusPendingApproval, gate.StatusExecuting, gate.StatusUnknown, gate.StatusRejected} {
			in, _ := m.at(t, status)
			ours = append(ours, in)
		}
		before := operatortest.Fingerprint(t, db)
		for where, who := range strangers {
			for _, in := range ours {
				for name, call := range byID(w, who, in.Digest) {
					foreign, unknown := call(in.ID), call(987654321)
					if !errors.Is(foreign, operator.ErrNotFound) || !reflect.DeepEqual(foreign, unknown) {
						t.Errorf("%s, %s of what is %s: %v; of an unknown id: %v", where, name, in.Status, foreign, unknown)
					}
				}
			}
		}
		if operatortest.Fingerprint(t, db) != before {
			t.Error("a stranger's call wrote something")
		}
	})
}

func TestADecisionOfAnotherProjectIsAnsweredLikeAnUnknownOne(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		d, err := w.OpenDecision(ctx, w.Agent, "Which vendor?")
		mustHave(t, err)
		who := w.Elsewhere(t, operator.DefaultSlug, "second")
		_, foreign := w.UpdateDecision(ctx, who.Agent, operator.UpdateDecisionInput{ID: d.ID, Status: "rejected"})
		_, unknown := w.UpdateDecision(ctx, who.Agent, operator.UpdateDecisionInput{ID: 987654321, Status: "rejected"})
		if !errors.Is(foreign, operator.ErrNotFound) || !reflect.DeepEqual(foreign, unknown) {
			t.Fatalf("%v; %v", foreign, unknown)
		}
	})
}

func TestNoListEverShowsWhatIsInAnotherProject(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		w.Record(t, renewal())
		approved := w.Approved(t, spend("Approved", 100))
		_, err := w.OpenDecision(ctx, w.Agent, "Which vendor?")
		mustHave(t, err)
		for _, who := range []operatortest.Elsewhere{w.Elsewhere(t, operator.DefaultSlug, "second"), w.Elsewhere(t, "other", operator.DefaultSlug)} {
			state, err := w.State(ctx, who.Agent, operator.StateInput{})
			if err != nil || len(state.Intents)+len(state.Decisions) != 0 {
				t.Errorf("state: %+v, %v", state, err)
			}
			for _, line := range state.Audit {
				if line.IntentID != nil {
					t.Errorf("a line of the record of another project: %+v", line)
				}
			}
			waiting, err := w.Waiting(ctx, who.Person, 100)
			if err != nil || len(waiting) != 0 {
				t.Errorf("waiting: %v, %v", waiting, err)
			}
			got, err := w.Claim(ctx, who.Worker, operator.ClaimInput{Types: []string{"spend"}})
			if err != nil || got.Job != nil {
				t.Errorf("claim: %+v, %v", got.Job, err)
			}
			// The same action is another intent there, with another digest.
			in, err := w.RecordIntent(ctx, who.Agent, spend("Approved", 100))
			if err != nil || in.ID == approved.ID || !in.Created || in.Digest == approved.Digest || in.Status != gate.StatusPendingApproval {
				t.Errorf("the same action elsewhere: %+v, %v", in, err)
			}
		}
	})
}

func TestAccountsKeepTheirOwnPeopleAndCredentials(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		w.Elsewhere(t, "other", operator.DefaultSlug)
		id := w.First.Agent.ID
		mustBe(t, w.RevokeCredential(ctx, "other", id), operator.ErrNotFound)
		_, err := w.RotateCredential(ctx, "other", id)
		mustBe(t, err, operator.ErrNotFound)
		mustBe(t, w.RemovePerson(ctx, "other", "owner"), operator.ErrNotFound)
		mustBe(t, w.LinkPerson(ctx, "other", "owner", "chat", "U1"), operator.ErrNotFound)
		_, err = w.CreateCredential(ctx, operator.NewCredential{Account: "other", Kind: operator.KindHuman, Name: "x", Person: "owner"})
		mustBe(t, err, operator.ErrNotFound)
		people, err := w.People(ctx, "other")
		if err != nil || len(people) != 1 || people[0].Handle != "other-default" {
			t.Errorf("people: %+v, %v", people, err)
		}
		credentials, err := w.Credentials(ctx, "other")
		if err != nil || len(credentials) != 3 {
			t.Errorf("%d credentials, %v", len(credentials), err)
		}
		if _, err := w.Authenticate(ctx, w.First.Agent.Token, operator.ViaLibrary); err != nil {
			t.Errorf("the first account's agent: %v", err)
		}
	})
}

func TestProjectsAreListedPerAccount(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		w.Elsewhere(t, "other", "second")
		for account, want := range map[string][]string{"": {"default"}, "other": {"default", "second"}} {
			got, err := w.Projects(ctx, account)
			names := []string{}
			for _, p := range got {
				names = append(names, p.Name)
			}
			if err != nil || !reflect.DeepEqual(names, want) {
				t.Errorf("%q: %v, %v", account, names, err)
			}
		}
		_, err := w.AddProject(ctx, "other", "second")
		mustBe(t, err, operator.ErrTaken)
		mustBe(t, w.AddAccount(ctx, "other", "UTC", "USD"), operator.ErrTaken)
		_, err = w.Projects(ctx, "nobody")
		mustBe(t, err, operator.ErrNotFound)
	})
}
