package operator_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

func TestTheAgentsRecordingOfExactlyAnEditIsTheEdit(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		in := w.Record(t, renewal())
		edited := spend("Annual plan renewal", 4800)
		edit, err := w.Edit(ctx, w.Owner, operator.EditInput{ID: in.ID, Digest: in.Digest, Action: edited.Action})
		mustHave(t, err)
		for _, again := range []operator.RecordIntentInput{edited, renewal()} {
			out, err := w.RecordIntent(ctx, w.Agent, again)
			if err != nil || out.ID != edit.ID || out.Created {
				t.Errorf("%d, created %v, %v: the edit is %d", out.ID, out.Created, err, edit.ID)
			}
		}
		if n := count(t, operatortest.Database(t, w.Where), `select count(*) from reeve_intents`); n != 2 {
			t.Errorf("%d rows", n)
		}
	})
}

func TestAnEditRacingTheSameRecordingLeavesOneThatRuns(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		other := w.Again(t, nil)
		for i := range 20 {
			w.Clock.Advance(time.Second)
			name := "Desk " + itoa(int64(i))
			in := w.Record(t, spend(name, 100))
			want := spend(name, 90)
			together(2, func(i int) error {
				if i == 0 {
					_, err := w.Edit(ctx, w.Owner, operator.EditInput{ID: in.ID, Digest: in.Digest, Action: want.Action})
					return err
				}
				_, err := other.RecordIntent(ctx, w.Agent, want)
				return err
			})
			db := operatortest.Database(t, w.Where)
			// Either the recording is answered by the edit, or the edit is refused for it.
			n := count(t, db, `select count(*) from reeve_intents where title = $1 and amount_cents = 90
				and status in ('pending_approval', 'approved', 'allowed', 'executing', 'unknown', 'succeeded')`, name)
			if n != 1 {
				t.Errorf("%s: %d that run", name, n)
			}
		}
	})
}

func TestAReissueOfAnEditKeepsWhatTheOriginalWasAsked(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, &operator.Options{Policy: policy(t, quorumOrAllow)})
		mel, _ := w.NewPerson(t, "mel", operator.RoleMember)
		in := w.Record(t, spend("Desks", 5000))
		edit, err := w.Edit(ctx, w.Owner, operator.EditInput{ID: in.ID, Digest: in.Digest, Action: spend("Desks", 500).Action})
		mustHave(t, err)
		_, err = w.Reject(ctx, w.Owner, act(edit))
		mustHave(t, err)
		_, err = w.Reissue(ctx, mel, operator.ReissueInput{ID: edit.ID})
		mustBe(t, err, operator.ErrApproverNotAllowed)
		again, err := w.Reissue(ctx, w.Owner, operator.ReissueInput{ID: edit.ID})
		if err != nil || again.Status != gate.StatusPendingApproval || again.Quorum != 2 {
			t.Errorf("%s, quorum %d, %v", again.Status, again.Quorum, err)
		}
	})
}

func TestAReissueThatThePolicyDeniesLeavesTheChance(t *testing.T) {
	w := operatortest.New(t, "sqlite", nil)
	ctx := context.Background()
	in := w.Record(t, renewal())
	_, err := w.Reject(ctx, w.Owner, act(in))
	mustHave(t, err)
	hard := "version: 1\nextends: default\nrules:\n  - {id: no-spending, match: {types: [spend]}, effect: deny, reason: Not this month.}\n"
	w.SetPolicy(t, hard)
	_, err = w.Reissue(ctx, w.Owner, operator.ReissueInput{ID: in.ID})
	mustBe(t, err, operator.ErrDenied)
	w.SetPolicy(t, string(gate.DefaultYAML()))
	if out, err := w.Reissue(ctx, w.Owner, operator.ReissueInput{ID: in.ID}); err != nil || out.Status != gate.StatusPendingApproval {
		t.Errorf("%s, %v", out.Status, err)
	}
}

const quorumOrAllow = `version: 1
extends: default
rules:
  - id: large
    match: {types: [spend], amount: {currency: USD, min: 1000}}
    effect: requires_approval
    reason: Two people.
    approval: {quorum: 2, from: [owner, admin]}
  - id: small
    match: {types: [spend], amount: {currency: USD, max: 999}}
    effect: allow
    instead_of: [spending]
    reason: Small.
`

func TestOnePersonsEditSetsNothingGoingThatTakesTwo(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, &operator.Options{Policy: policy(t, quorumOrAllow)})
		mel, _ := w.NewPerson(t, "mel", operator.RoleMember)
		in := w.Record(t, spend("Desks", 5000))
		small := operator.EditInput{ID: in.ID, Digest: in.Digest, Action: spend("Desks", 500).Action}
		_, err := w.Edit(ctx, mel, small)
		mustBe(t, err, operator.ErrApproverNotAllowed)
		out, err := w.Edit(ctx, w.Owner, small)
		if err != nil || out.Status != gate.StatusPendingApproval || out.Quorum != 2 || out.Payload == nil || out.ExpiresAt == nil {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

func TestAnEditDoesNotWashOffATaint(t *testing.T) {
	w := operatortest.New(t, "sqlite", nil)
	tainted := renewal()
	tainted.Action.TaintedBy = []string{"obs-1"}
	in := w.Record(t, tainted)
	out, err := w.Edit(context.Background(), w.Owner, operator.EditInput{ID: in.ID, Digest: in.Digest, Action: spend("Annual plan", 100).Action})
	if err != nil || len(out.Payload.TaintedBy) != 1 || out.Payload.TaintedBy[0] != "obs-1" {
		t.Errorf("%+v, %v", out.Payload, err)
	}
}

func TestWordsOfPeopleAndAgentsHoldNoCredential(t *testing.T) {
	w := operatortest.New(t, "sqlite", nil)
	ctx := context.Background()
	secret := "use " + w.First.Person.Token
	in := w.Record(t, renewal())
	tries := map[string]func() error{
		"a note": func() error {
			_, err := w.Reject(ctx, w.Owner, operator.ActInput{ID: in.ID, Digest: in.Digest, Note: secret})
			return err
		},
		"a response": func() error {
			_, err := w.Respond(ctx, w.Owner, operator.RespondInput{ID: in.ID, Text: secret})
			return err
		},
		"a comment": func() error {
			_, err := w.Comment(ctx, w.Owner, operator.CommentInput{Text: secret})
			return err
		},
		"a title on the board": func() error {
			_, err := w.OpenDecision(ctx, w.Agent, secret)
			return err
		},
	}
	for name, try := range tries {
		t.Run(name, func(t *testing.T) {
			r := mustBe(t, try(), reason("bad_text"))
			if strings.Contains(r.Error(), w.First.Person.Token) {
				t.Error("the refusal repeats it")
			}
		})
	}
	if _, err := w.UpdateIntent(ctx, w.Agent, operator.UpdateIntentInput{ID: in.ID, Status: "cancelled", Outcome: &secret}); err != nil {
		t.Fatal(err)
	}
	out, err := w.ShowIntent(ctx, w.Owner, in.ID)
	if err != nil || strings.Contains(*out.Outcome, w.First.Person.Token) {
		t.Errorf("%v, %v", out.Outcome, err)
	}
}

func TestADatabaseFileThatWasMovedAwayAcknowledgesNothing(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, file string){
		"moved":           func(t *testing.T, file string) { mustHave(t, os.Rename(file, file+".old")) },
		"deleted":         func(t *testing.T, file string) { mustHave(t, os.Remove(file)) },
		"without its log": func(t *testing.T, file string) { mustHave(t, os.Remove(file+"-wal")) },
		"replaced": func(t *testing.T, file string) {
			mustHave(t, os.Rename(file, file+".old"))
			mustHave(t, os.WriteFile(file, nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := operatortest.New(t, "sqlite", nil)
			ctx := context.Background()
			mustHave(t, w.Ping(ctx))
			spoil(t, filepath.Join(w.Where, "reeve.db"))
			if w.Ping(ctx) == nil {
				t.Error("it says that it is ready")
			}
			_, err := w.RecordIntent(ctx, w.Agent, renewal())
			mustBe(t, err, operator.ErrUnavailable)
		})
	}
}

// A worker that loses its database, and nothing else, must stop before somebody
// else may begin.
func TestAHandlerIsStoppedWhenItsLeaseCannotBeExtended(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		other := w.Again(t, nil)
		in := w.Approved(t, renewal())
		stopped := make(chan time.Duration, 1)
		run := func(ctx context.Context, _ operator.Job) (string, error) {
			began := time.Now()
			mustHave(t, other.Close())
			<-ctx.Done()
			stopped <- time.Since(began)
			return "", ctx.Err()
		}
		go other.Work(ctx, w.Worker, handler(run), &operator.WorkOptions{Once: true, Lease: time.Second})
		select {
		case after := <-stopped:
			if after > 1100*time.Millisecond {
				t.Errorf("it went on for %s on a lease of a second", after)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("it was never stopped")
		}
		db := operatortest.Database(t, w.Where)
		eventually(t, "the store says that nobody knows", func() bool {
			_, err := w.Sweep(ctx)
			mustHave(t, err)
			return statusOf(t, db, in.ID) == "unknown"
		})
	})
}

func TestThePolicyOfTheDatabaseHoldsInEveryProcessFromTheNextLookOn(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		other := w.Again(t, nil)
		in := w.Approved(t, renewal())
		hard := []byte("version: 1\nextends: default\nrules:\n  - {id: no-spending, match: {types: [spend]}, effect: deny, reason: Not this month.}\n")
		w.SetPolicy(t, string(hard))
		w.SetPolicy(t, string(hard))
		db := operatortest.Database(t, w.Where)
		if n := count(t, db, `select count(*) from reeve_audit where action = 'set_policy'`); n != 1 {
			t.Errorf("%d loads on record", n)
		}
		out, err := other.RecordIntent(ctx, w.Agent, spend("Desks", 100))
		if err != nil || out.Status != gate.StatusDenied {
			t.Errorf("%s, %v", out.Status, err)
		}
		got, err := other.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"spend"}})
		if err != nil || got.Job != nil || statusOf(t, db, in.ID) != "cancelled" {
			t.Errorf("%+v, %v, %s", got.Job, err, statusOf(t, db, in.ID))
		}
		p, err := other.Policy(ctx, "")
		if err != nil || p.Version() != out.PolicyVersion {
			t.Errorf("%v, %v", p.Version(), err)
		}
		if _, err := w.LoadPolicy(ctx, "", "bad.yaml", []byte("version: 1\nrules: [{}]\n")); err == nil {
			t.Error("a bad policy was loaded")
		}
		later := operatortest.Open(t, w.Where, &operator.Options{Clock: w.Clock})
		if p, err := later.Policy(ctx, ""); err != nil || p.Version() != out.PolicyVersion {
			t.Errorf("a process that starts later judges by %v, %v", p, err)
		}
	})
}

func TestAStoredPolicyThatThisVersionCannotReadStopsEverything(t *testing.T) {
	w := operatortest.New(t, "sqlite", nil)
	ctx := context.Background()
	db := operatortest.Database(t, w.Where)
	execute(t, db, `insert into reeve_policies (account_id, seq, version, digest, sum, file, text, loaded_at, loaded_by, via)
		values (1, 1, '', '', $1, '', 'version: 9', 1, 'x', '')`, strings.Repeat("0", 64))
	_, err := w.RecordIntent(ctx, w.Agent, note("x"))
	mustBe(t, err, operator.ErrUnavailable)
}

func TestNoTwinIsMadeAcrossMidnight(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		rejected, kept := w.Record(t, spend("Desks", 100)), w.Record(t, spend("Chairs", 100))
		_, err := w.Reject(ctx, w.Owner, act(rejected))
		mustHave(t, err)
		edit, err := w.Edit(ctx, w.Owner, operator.EditInput{ID: kept.ID, Digest: kept.Digest, Action: spend("Desks", 100).Action})
		mustHave(t, err)
		w.Clock.Advance(14 * time.Hour) // the next day, and the edit still waits for a worker
		_, err = w.Reissue(ctx, w.Owner, operator.ReissueInput{ID: rejected.ID})
		if r := mustBe(t, err, operator.ErrTwin); r.Details["intent_id"] != edit.ID {
			t.Errorf("%v", r.Details)
		}
		other := w.Record(t, spend("Lamps", 100))
		_, err = w.Edit(ctx, w.Owner, operator.EditInput{ID: other.ID, Digest: other.Digest, Action: spend("Desks", 100).Action})
		mustBe(t, err, operator.ErrTwin)
	})
}

func TestWhatHasLapsedIsNobodysTwin(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		w.Record(t, spend("Desks", 100))
		w.Clock.Advance(25 * time.Hour) // it lapsed, and nothing has swept
		other := w.Record(t, spend("Chairs", 100))
		_, err := w.Edit(ctx, w.Owner, operator.EditInput{ID: other.ID, Digest: other.Digest, Action: spend("Desks", 100).Action})
		mustHave(t, err)
	})
}

func TestEditsIntoEachOthersKeysEndAndLeaveNoTwins(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		other := w.Again(t, nil)
		a, b := w.Record(t, spend("A", 100)), w.Record(t, spend("B", 100))
		for _, err := range together(2, func(i int) error {
			in, to, op := a, "B", w.Operator
			if i == 1 {
				in, to, op = b, "A", other
			}
			_, err := op.Edit(ctx, w.Owner, operator.EditInput{ID: in.ID, Digest: in.Digest, Action: spend(to, 100).Action})
			return err
		}) {
			if err != nil {
				mustBe(t, err, operator.ErrTwin)
			}
		}
		n := count(t, operatortest.Database(t, w.Where), `select count(*) from (select digest from reeve_intents
			where status in ('pending_approval', 'approved') group by digest having count(*) > 1) as twins`)
		if n != 0 {
			t.Errorf("%d payloads are open twice", n)
		}
	})
}
