package operator_test

import (
	"context"
	"errors"
	"testing"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

// mutation is one thing that somebody can try with an intent: what it would make
// of it, and by which cause.
type mutation struct {
	name string
	to   gate.Status
	by   gate.Cause
	try  func(operator.Intent, int64) (operator.Intent, error)
}

func mutations(w *operatortest.World) []mutation {
	ctx := context.Background()
	report := func(status string) func(operator.Intent, int64) (operator.Intent, error) {
		return func(in operator.Intent, token int64) (operator.Intent, error) {
			return w.Report(ctx, w.Worker, operator.ReportInput{ID: in.ID, FencingToken: token, Status: status})
		}
	}
	settle := func(status string) func(operator.Intent, int64) (operator.Intent, error) {
		return func(in operator.Intent, _ int64) (operator.Intent, error) {
			return w.Settle(ctx, w.Owner, operator.SettleInput{ID: in.ID, Status: status})
		}
	}
	judge := func(f func(context.Context, operator.Person, operator.ActInput) (operator.Intent, error)) func(operator.Intent, int64) (operator.Intent, error) {
		return func(in operator.Intent, _ int64) (operator.Intent, error) { return f(ctx, w.Owner, act(in)) }
	}
	return []mutation{
		{"approve", gate.StatusApproved, gate.ByPerson, judge(w.Approve)},
		{"reject", gate.StatusRejected, gate.ByPerson, judge(w.Reject)},
		{"revoke", gate.StatusCancelled, gate.ByPerson, judge(w.Revoke)},
		{"edit", gate.StatusSuperseded, gate.ByPerson, func(in operator.Intent, _ int64) (operator.Intent, error) {
			a := *in.Payload
			a.Body += " changed"
			_, err := w.Edit(ctx, w.Owner, operator.EditInput{ID: in.ID, Digest: in.Digest, Action: a})
			return in, err
		}},
		{"settle as succeeded", gate.StatusSucceeded, gate.ByPerson, settle("succeeded")},
		{"settle as failed", gate.StatusFailed, gate.ByPerson, settle("failed")},
		{"withdraw", gate.StatusCancelled, gate.ByRecorder, func(in operator.Intent, _ int64) (operator.Intent, error) {
			return w.UpdateIntent(ctx, w.Agent, operator.UpdateIntentInput{ID: in.ID, Status: "cancelled"})
		}},
		{"report success", gate.StatusSucceeded, gate.ByHolder, report("succeeded")},
		{"report failure", gate.StatusFailed, gate.ByHolder, report("failed")},
	}
}

func TestEveryActFromEveryStatusDoesWhatTheLifecycleSaysOrNothing(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		m := &makers{w: w, db: db}
		for _, from := range gate.Statuses() {
			for _, try := range mutations(w) {
				in, token := m.at(t, from)
				if try.by == gate.ByHolder && string(from) == string(try.to) {
					continue // the same report again is a test of its own
				}
				before := operatortest.Fingerprint(t, db)
				_, err := try.try(in, token)
				now := statusOf(t, db, in.ID)
				if gate.CanMove(from, try.to, try.by) {
					if err != nil || now != string(try.to) {
						t.Errorf("%s what is %s: %v; it is now %s", try.name, from, err, now)
					}
					continue
				}
				var r *operator.Refusal
				if !errors.As(err, &r) || r.Info().Layer != "state" {
					t.Errorf("%s what is %s: got %v, want a refusal", try.name, from, err)
				}
				if operatortest.Fingerprint(t, db) != before {
					t.Errorf("%s what is %s was refused, and yet something was written", try.name, from)
				}
			}
		}
	})
}

func TestIgnoreAndRespondReachOnlyWhatWaits(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		m := &makers{w: w, db: db}
		for _, from := range gate.Statuses() {
			in, _ := m.at(t, from)
			before := operatortest.Fingerprint(t, db)
			_, respond := w.Respond(ctx, w.Owner, operator.RespondInput{ID: in.ID, Text: "why?"})
			if from == gate.StatusPendingApproval {
				mustHave(t, respond)
				if now := statusOf(t, db, in.ID); now != string(from) {
					t.Errorf("a response made it %s", now)
				}
				_, err := w.Ignore(ctx, w.Owner, act(in))
				if now := statusOf(t, db, in.ID); err != nil || now != "cancelled" {
					t.Errorf("ignore: %s, %v", now, err)
				}
				continue
			}
			_, ignore := w.Ignore(ctx, w.Owner, act(in))
			for name, err := range map[string]error{"respond to": respond, "ignore": ignore} {
				if !errors.Is(err, operator.ErrAlreadySettled) {
					t.Errorf("%s what is %s: %v", name, from, err)
				}
			}
			if operatortest.Fingerprint(t, db) != before {
				t.Errorf("something was written about what is %s", from)
			}
		}
	})
}

func TestOnlyWhatIsReadyIsClaimed(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		m := &makers{w: w, db: operatortest.Database(t, w.Where)}
		for _, from := range gate.Statuses() {
			in, _ := m.at(t, from)
			before := operatortest.Fingerprint(t, m.db)
			got, err := w.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{in.ActionType}})
			mustHave(t, err)
			held := got.Job != nil && got.Job.Intent.ID == in.ID // not the edit that took its place
			if want := gate.CanMove(from, gate.StatusExecuting, gate.ByClaim); want != held {
				t.Errorf("claim of what is %s: %+v", from, got.Job)
			}
			if got.Job == nil && operatortest.Fingerprint(t, m.db) != before {
				t.Errorf("a claim that met only what is %s wrote something", from)
			}
		}
	})
}

func TestTheStatusWordsAreExactAndApprovalIsNotAmongThem(t *testing.T) {
	spellings := []string{"approved", "Approved", "APPROVED", " approved", "approved ", "approved\n", "\tapproved", "ａpproved",
		"appr\u043eved", "approve\u0064\u200b", "approved\x00", "approve", "accept", "accepted", "allowed", "Succeeded", "CANCELLED",
		"cancelled ", "executing", "denied", "rejected", "superseded", "expired", "unknown", "pending_approval", "", "null"}
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		m := &makers{w: w, db: operatortest.Database(t, w.Where)}
		pending, _ := m.at(t, gate.StatusPendingApproval)
		executing, token := m.at(t, gate.StatusExecuting)
		unknown, _ := m.at(t, gate.StatusUnknown)
		before := operatortest.Fingerprint(t, m.db)
		for _, word := range spellings {
			for _, p := range []operator.Principal{w.Agent, w.Worker} {
				for _, tok := range []*int64{nil, &token} {
					for _, id := range []int64{pending.ID, executing.ID, unknown.ID} {
						_, err := w.UpdateIntent(ctx, p, operator.UpdateIntentInput{ID: id, Status: word, FencingToken: tok})
						mustBe(t, err, reason("invalid_status"))
					}
				}
			}
			_, err := w.Report(ctx, w.Worker, operator.ReportInput{ID: executing.ID, FencingToken: token, Status: word})
			mustBe(t, err, reason("invalid_status"))
			_, err = w.Settle(ctx, w.Owner, operator.SettleInput{ID: unknown.ID, Status: word})
			mustBe(t, err, reason("invalid_status"))
			_, err = w.State(ctx, w.Agent, operator.StateInput{Status: words(word + "x")})
			mustBe(t, err, reason("invalid_status"))
		}
		if operatortest.Fingerprint(t, m.db) != before {
			t.Error("a refused word wrote something")
		}
		d, err := w.OpenDecision(ctx, w.Agent, "Which vendor?")
		mustHave(t, err)
		before = operatortest.Fingerprint(t, m.db)
		for _, word := range spellings {
			if word == "rejected" {
				continue // the one among them that is a word of the board
			}
			if _, err := w.UpdateDecision(ctx, w.Agent, operator.UpdateDecisionInput{ID: d.ID, Status: word}); err == nil {
				t.Errorf("a decision became %q", word)
			} else {
				mustBe(t, err, reason("invalid_status"))
			}
		}
		if operatortest.Fingerprint(t, m.db) != before {
			t.Error("something was written")
		}
	})
}

func TestNobodyAndTheWrongKindAreRefusedBeforeAnythingIsLookedAt(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		in := w.Record(t, renewal())
		before := operatortest.Fingerprint(t, db)
		var nobody operator.Principal
		_, err := w.RecordIntent(ctx, nobody, renewal())
		mustBe(t, err, operator.ErrUnauthenticated)
		_, err = w.UpdateIntent(ctx, nobody, operator.UpdateIntentInput{ID: in.ID, Status: "cancelled"})
		mustBe(t, err, operator.ErrUnauthenticated)
		_, err = w.State(ctx, nobody, operator.StateInput{IntentID: &in.ID})
		mustBe(t, err, operator.ErrUnauthenticated)
		_, err = w.OpenDecision(ctx, nobody, "x")
		mustBe(t, err, operator.ErrUnauthenticated)
		_, err = w.UpdateDecision(ctx, nobody, operator.UpdateDecisionInput{ID: 1, Status: "parked"})
		mustBe(t, err, operator.ErrUnauthenticated)
		for _, p := range []operator.Principal{nobody, w.Agent} {
			_, err = w.Claim(ctx, p, operator.ClaimInput{Types: []string{"spend"}})
			mustBe(t, err, operator.ErrKindNotAllowed)
			_, err = w.Extend(ctx, p, operator.ExtendInput{ID: in.ID, FencingToken: 1})
			mustBe(t, err, operator.ErrKindNotAllowed)
			_, err = w.Report(ctx, p, operator.ReportInput{ID: in.ID, FencingToken: 1, Status: "succeeded"})
			mustBe(t, err, operator.ErrKindNotAllowed)
			_, err = w.PersonOf(p)
			mustBe(t, err, operator.ErrKindNotAllowed)
			mustBe(t, w.Work(ctx, p, map[string]operator.Handler{}, nil), operator.ErrKindNotAllowed)
		}
		if operatortest.Fingerprint(t, db) != before {
			t.Error("something was written")
		}
	})
}

func TestOnlyTheRecorderWithdraws(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		other := w.Principal(t, w.Mint(t, operator.NewCredential{Kind: operator.KindAgent, Name: "other", Scopes: operator.Scopes()}).Token)
		in := w.Record(t, renewal())
		for _, p := range []operator.Principal{other, w.Worker} {
			_, err := w.UpdateIntent(ctx, p, operator.UpdateIntentInput{ID: in.ID, Status: "cancelled"})
			mustBe(t, err, operator.ErrNotYours)
		}
		out, err := w.UpdateIntent(ctx, w.Agent, operator.UpdateIntentInput{ID: in.ID, Status: "cancelled", Outcome: words("changed my mind")})
		if err != nil || out.Status != gate.StatusCancelled || out.Outcome == nil || *out.Outcome != "changed my mind" || *out.SettledBy != w.Agent.ID() {
			t.Fatalf("%+v, %v", out, err)
		}
	})
}
