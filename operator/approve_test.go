package operator_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

// hourLong is how long an intent waits in the tests of windows.
var hourLong = &operator.Options{Pending: time.Hour, Granted: time.Hour}

func TestAnApprovalNamesExactlyWhatWillBeCarriedOut(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		in := w.Record(t, renewal())
		other := w.Record(t, spend("Something else", 1))
		before := operatortest.Fingerprint(t, db)
		for name, digest := range map[string]string{
			"none": "", "another intent's": other.Digest, "in capitals": strings.ToUpper(in.Digest), "with a space": in.Digest + " ",
			"the first half": in.Digest[:32], "the key": in.IdempotencyKey, "NUL": "\x00", "with NUL": in.Digest + "\x00",
		} {
			for act, f := range map[string]func(context.Context, operator.Person, operator.ActInput) (operator.Intent, error){
				"approve": w.Approve, "reject": w.Reject, "ignore": w.Ignore, "revoke": w.Revoke,
			} {
				_, err := f(ctx, w.Owner, operator.ActInput{ID: in.ID, Digest: digest})
				r := mustBe(t, err, operator.ErrDigestMismatch)
				present, ok := r.Details["present"].(operator.Intent)
				if !ok || present.Digest != in.Digest || present.Payload == nil || present.Payload.Title != "Annual plan renewal" {
					t.Errorf("%s with the digest %s: the content as it is now is not shown: %+v", act, name, r.Details)
				}
			}
		}
		if operatortest.Fingerprint(t, db) != before {
			t.Error("something was written")
		}
		out, err := w.Approve(ctx, w.Owner, operator.ActInput{ID: in.ID, Digest: in.Digest, Note: "Go on"})
		if err != nil || out.Status != gate.StatusApproved || out.ApprovalDecisionID == nil || out.DecidedBy == nil || *out.DecidedBy != "human:owner" || len(out.Affordances) != 0 {
			t.Fatalf("%+v, %v", out, err)
		}
		want := "approved|human:owner|library|" + in.Digest + "|" + in.PolicyVersion + "|Go on"
		if got := operatortest.Rows(t, db, `select status, made_by, via, digest, policy_version, note from reeve_decisions`); len(got) != 1 || got[0] != want {
			t.Errorf("the decision: %q, want %q", got, want)
		}
		line := "human:owner|human|library|approve|" + in.Digest + "|" + in.PolicyVersion + "|pending_approval -> approved"
		got := operatortest.Rows(t, db, `select principal, kind, via, action, digest, policy_version, outcome from reeve_audit where action = 'approve'`)
		if len(got) != 1 || got[0] != line {
			t.Errorf("the record: %q, want %q", got, line)
		}
	})
}

func TestAWindowEndsToTheMicrosecond(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, hourLong)
		db := operatortest.Database(t, w.Where)
		judged := func(f func(context.Context, operator.Person, operator.ActInput) (operator.Intent, error)) func(operator.Intent) error {
			return func(late operator.Intent) error { _, err := f(ctx, w.Owner, act(late)); return err }
		}
		acts := map[string]func(operator.Intent) error{
			"approve": judged(w.Approve), "reject": judged(w.Reject), "ignore": judged(w.Ignore), "revoke": judged(w.Revoke),
			"edit": func(late operator.Intent) error {
				_, err := w.Edit(ctx, w.Owner, operator.EditInput{ID: late.ID, Digest: late.Digest, Action: spend("Later", 1).Action})
				return err
			},
			"respond": func(late operator.Intent) error {
				_, err := w.Respond(ctx, w.Owner, operator.RespondInput{ID: late.ID, Text: "too late"})
				return err
			},
		}
		in, late := w.Record(t, renewal()), map[string]operator.Intent{}
		for name := range acts {
			late[name] = w.Record(t, spend("Late to "+name, 1))
		}
		w.Clock.Advance(time.Hour - time.Microsecond)
		_, err := w.Approve(ctx, w.Owner, act(in))
		mustHave(t, err)
		w.Clock.Advance(time.Microsecond)
		decisions := count(t, db, `select count(*) from reeve_decisions`)
		for name, f := range acts {
			if err := f(late[name]); !errors.Is(err, operator.ErrLapsed) {
				t.Errorf("%s at the end of the window: %v", name, err)
			}
			if got := statusOf(t, db, late[name].ID); got != "expired" {
				t.Errorf("%s left it %s: what was said to have lapsed has", name, got)
			}
		}
		if n := count(t, db, `select count(*) from reeve_decisions`); n != decisions {
			t.Error("a decision was written")
		}
		if waiting, err := w.Waiting(ctx, w.Owner, 10); err != nil || len(waiting) != 0 {
			t.Errorf("what lapsed still waits: %+v, %v", waiting, err)
		}
	})
}

func TestAClockThatIsSetBackReopensNothingThatTheRecordHasClosed(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, hourLong)
		pending, approved := w.Record(t, renewal()), w.Approved(t, spend("Approved", 1))
		w.Clock.Advance(2 * time.Hour)
		if n, err := w.Sweep(ctx); err != nil || n != 2 {
			t.Fatalf("sweep: %d, %v", n, err)
		}
		w.Clock.Advance(-2 * time.Hour)
		r := mustBe(t, errOf(w.Approve(ctx, w.Owner, act(pending))), operator.ErrAlreadySettled)
		if r.Details["settled_by"] != "store" || r.Details["status"] != gate.StatusExpired {
			t.Errorf("%v", r.Details)
		}
		r = mustBe(t, errOf(w.Reject(ctx, w.Owner, act(approved))), operator.ErrAlreadySettled)
		if r.Details["settled_by"] != "store" {
			t.Errorf("an approval that lapsed was settled by %v", r.Details["settled_by"])
		}
		got, err := w.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"spend"}})
		if err != nil || got.Job != nil {
			t.Errorf("claimed: %+v, %v", got.Job, err)
		}
		// A person can still act on what is new, although the clock stands before it.
		fresh := w.Record(t, spend("Fresh", 1))
		w.Clock.Advance(-time.Minute)
		if out, err := w.Approve(ctx, w.Owner, act(fresh)); err != nil || out.Status != gate.StatusApproved {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

func errOf[T any](_ T, err error) error { return err }

func TestAnApprovalThatNobodyClaimsLapsesToTheMicrosecond(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, &operator.Options{Granted: time.Hour})
		in := w.Record(t, renewal())
		w.Clock.Advance(10 * time.Minute)
		out, err := w.Approve(ctx, w.Owner, act(in))
		mustHave(t, err)
		if want := w.Clock.Now().Add(time.Hour); out.ExpiresAt == nil || !out.ExpiresAt.Equal(want) {
			t.Fatalf("lapses at %v, want %v", out.ExpiresAt, want)
		}
		w.Clock.Advance(time.Hour)
		got, err := w.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"spend"}})
		if err != nil || got.Job != nil {
			t.Fatalf("at the end of the window: %+v, %v", got.Job, err)
		}
		w.Clock.Advance(-time.Microsecond)
		got, err = w.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"spend"}})
		if err != nil || got.Job == nil {
			t.Fatalf("a microsecond before: %+v, %v", got.Job, err)
		}
	})
}

func TestAQuorumTakesDifferentPeopleOfTheNamedRoles(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, &operator.Options{Policy: policy(t, twoPeople)})
		db := operatortest.Database(t, w.Where)
		ana, _ := w.NewPerson(t, "ana", operator.RoleAdmin)
		max, _ := w.NewPerson(t, "max", operator.RoleMember)
		in := w.Record(t, spend("Desks", 100000))
		if in.Quorum != 2 {
			t.Fatalf("quorum %d", in.Quorum)
		}
		refused := func(p operator.Person, want error) {
			t.Helper()
			before := operatortest.Fingerprint(t, db)
			_, err := w.Approve(ctx, p, act(in))
			mustBe(t, err, want)
			if operatortest.Fingerprint(t, db) != before {
				t.Error("a refused approval wrote something")
			}
		}
		refused(max, operator.ErrApproverNotAllowed)
		out, err := w.Approve(ctx, ana, act(in))
		if err != nil || out.Status != gate.StatusPendingApproval || out.ApprovalDecisionID != nil || out.DecidedBy != nil {
			t.Fatalf("after the first of two: %+v, %v", out, err)
		}
		refused(ana, operator.ErrAlreadyApproved)
		// Another credential of one person is still one person.
		second := w.Mint(t, operator.NewCredential{Kind: operator.KindHuman, Name: "ana-phone", Person: "ana", Scopes: operator.Scopes()})
		phone, err := w.PersonByCredential(ctx, second.Token, operator.ViaTerminal)
		mustHave(t, err)
		refused(phone, operator.ErrAlreadyApproved)
		out, err = w.Approve(ctx, w.Owner, act(in))
		if err != nil || out.Status != gate.StatusApproved || *out.DecidedBy != "human:owner" {
			t.Fatalf("after the second of two: %+v, %v", out, err)
		}
		if n := count(t, db, `select count(*) from reeve_decisions where intent_id = $1 and status = 'approved'`, in.ID); n != 2 {
			t.Errorf("%d approvals on record", n)
		}
	})
}

func TestWhoRecordedItCountsOnlyWhereOnePersonIsEnough(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, &operator.Options{Policy: policy(t, twoPeople)})
		ana, m := w.NewPerson(t, "ana", operator.RoleAdmin)
		self := w.Principal(t, m.Token)
		large, err := w.RecordIntent(ctx, self, spend("Desks", 100000))
		mustHave(t, err)
		_, err = w.Approve(ctx, ana, act(large))
		mustBe(t, err, operator.ErrOwnRequest)
		small, err := w.RecordIntent(ctx, self, spend("Pens", 100))
		mustHave(t, err)
		if out, err := w.Approve(ctx, ana, act(small)); err != nil || out.Status != gate.StatusApproved {
			t.Fatalf("%+v, %v", out, err)
		}
	})
}

func TestAnEditNeverLoosensWhoHasToApprove(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, &operator.Options{Policy: policy(t, twoPeople)})
		max, _ := w.NewPerson(t, "max", operator.RoleMember)
		eva, _ := w.NewPerson(t, "eva", operator.RoleMember)
		in := w.Record(t, spend("Desks", 100000))
		// Below the bound the rule would ask for nobody in particular.
		below := operator.EditInput{ID: in.ID, Digest: in.Digest, Action: spend("Desks", 99999).Action}
		_, err := w.Edit(ctx, max, below)
		mustBe(t, err, operator.ErrApproverNotAllowed)
		edited, err := w.Edit(ctx, w.Owner, below)
		mustHave(t, err)
		if edited.Quorum != 2 || edited.Status != gate.StatusPendingApproval {
			t.Fatalf("%+v", edited)
		}
		for _, p := range []operator.Person{max, eva} {
			_, err = w.Approve(ctx, p, act(edited))
			mustBe(t, err, operator.ErrApproverNotAllowed)
		}
	})
}

func TestAnEditIsItsEditorsApprovalOfExactlyWhatTheyWrote(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		in := w.Record(t, renewal())
		before := operatortest.Fingerprint(t, db)
		edit := func(a gate.Action) error {
			_, err := w.Edit(ctx, w.Owner, operator.EditInput{ID: in.ID, Digest: in.Digest, Action: a})
			return err
		}
		mustBe(t, edit(gate.Action{Type: "send", Title: "Annual plan renewal"}), operator.ErrEditChangesKind)
		mustBe(t, edit(gate.Action{Type: "spend", Title: "Annual plan renewal", AmountCents: cents(4900), Currency: "EUR"}), operator.ErrEditChangesKind)
		mustBe(t, edit(renewal().Action), reason("invalid_value"))
		mustBe(t, edit(gate.Action{Type: "spend", Title: "No amount"}), reason("amount_missing"))
		secret := renewal().Action
		secret.Recipient, secret.Body = "a@vendor.example", "key "+"AKIA"+"IOSFODNN7EXAMPLE"
		mustBe(t, edit(secret), operator.ErrDenied)
		if operatortest.Fingerprint(t, db) != before {
			t.Fatal("a refused edit wrote something")
		}
		out, err := w.Edit(ctx, w.Owner, operator.EditInput{ID: in.ID, Digest: in.Digest, Action: spend("Monthly plan renewal", 500).Action})
		if err != nil || out.Status != gate.StatusApproved || out.Title != "Monthly plan renewal" || *out.AmountCents != 500 || *out.DecidedBy != "human:owner" || out.RecordedBy != w.Agent.ID() {
			t.Fatalf("%+v, %v", out, err)
		}
		got := operatortest.Rows(t, db, `select intent_id, digest, made_by, status from reeve_decisions`)
		if len(got) != 1 || got[0] != itoa(out.ID)+"|"+out.Digest+"|human:owner|approved" {
			t.Errorf("decisions: %v", got)
		}
		r := mustBe(t, errOf(w.Approve(ctx, w.Owner, act(in))), operator.ErrAlreadySettled)
		if r.Details["superseded_by"] != out.ID || r.Details["settled_by"] != "human:owner" {
			t.Errorf("%v", r.Details)
		}
	})
}

func TestPowersThatWereTakenBackEndBetweenTheProofAndTheAct(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		other := w.Again(t, nil)
		db := operatortest.Database(t, w.Where)
		in := w.Record(t, renewal())
		refusals := map[string]operator.Person{}
		ana, _ := w.NewPerson(t, "ana", operator.RoleOwner)
		mustHave(t, other.RemovePerson(ctx, "", "ana"))
		refusals["a person who was removed"] = ana
		mustHave(t, other.AddPerson(ctx, operator.NewPerson{Handle: "ana", Name: "Ana", Role: operator.RoleOwner}))
		refusals["a person who was removed and came back, by the old proof"] = ana
		bob, m := w.NewPerson(t, "bob", operator.RoleOwner)
		mustHave(t, other.RevokeCredential(ctx, "", m.ID))
		refusals["a credential that was revoked"] = bob
		eve, m := w.NewPerson(t, "eve", operator.RoleOwner)
		_, err := other.RotateCredential(ctx, "", m.ID)
		mustHave(t, err)
		refusals["a credential that was rotated"] = eve
		short := w.Mint(t, operator.NewCredential{Kind: operator.KindHuman, Name: "short", Person: "owner", Scopes: operator.Scopes(), Life: time.Minute})
		brief, err := w.PersonByCredential(ctx, short.Token, operator.ViaLibrary)
		mustHave(t, err)
		w.Clock.Advance(time.Minute)
		refusals["a credential that has expired"] = brief
		before := operatortest.Fingerprint(t, db)
		for name, p := range refusals {
			want := operator.ErrCredentialRevoked
			if strings.Contains(name, "expired") {
				want = operator.ErrCredentialExpired
			}
			for act, err := range actsOf(w, p, in) {
				if !errors.Is(err, want) {
					t.Errorf("%s by %s: %v", act, name, err)
				}
			}
		}
		for act, err := range actsOf(w, operator.Person{}, in) {
			if !errors.Is(err, operator.ErrUnauthenticated) {
				t.Errorf("%s by nobody: %v", act, err)
			}
		}
		if operatortest.Fingerprint(t, db) != before {
			t.Error("something was written")
		}
	})
}

// actsOf tries everything that takes a person.
func actsOf(w *operatortest.World, p operator.Person, in operator.Intent) map[string]error {
	ctx := context.Background()
	return map[string]error{
		"approve": errOf(w.Approve(ctx, p, act(in))),
		"reject":  errOf(w.Reject(ctx, p, act(in))),
		"ignore":  errOf(w.Ignore(ctx, p, act(in))),
		"revoke":  errOf(w.Revoke(ctx, p, act(in))),
		"edit":    errOf(w.Edit(ctx, p, operator.EditInput{ID: in.ID, Digest: in.Digest, Action: spend("x", 1).Action})),
		"respond": errOf(w.Respond(ctx, p, operator.RespondInput{ID: in.ID, Text: "x"})),
		"settle":  errOf(w.Settle(ctx, p, operator.SettleInput{ID: in.ID, Status: "failed"})),
		"comment": errOf(w.Comment(ctx, p, operator.CommentInput{Text: "x"})),
		"show":    errOf(w.ShowIntent(ctx, p, in.ID)),
		"list":    errOf(w.Waiting(ctx, p, 10)),
	}
}

func TestAPersonActsOnlyWithinTheScopesOfWhatProvedThem(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		in := w.Record(t, renewal())
		m := w.Mint(t, operator.NewCredential{Kind: operator.KindHuman, Name: "reader", Person: "owner", Scopes: []operator.Scope{operator.ScopeStateRead}})
		reader, err := w.PersonByCredential(ctx, m.Token, operator.ViaLibrary)
		mustHave(t, err)
		for name, err := range actsOf(w, reader, in) {
			if name == "show" || name == "list" {
				mustHave(t, err)
			} else if !errors.Is(err, operator.ErrMissingScope) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestAChannelVouchesOnlyForWhomIsLinkedToIt(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		w.NewPerson(t, "ana", operator.RoleAdmin)
		slack := w.Mint(t, operator.NewCredential{Kind: operator.KindChannel, Name: "slack"})
		mail := w.Mint(t, operator.NewCredential{Kind: operator.KindChannel, Name: "mail"})
		mustHave(t, w.LinkPerson(ctx, "", "ana", "slack", "U123"))
		mustBe(t, w.LinkPerson(ctx, "", "owner", "slack", "U123"), operator.ErrTaken)
		p, err := w.Vouch(ctx, slack.Token, "U123")
		mustHave(t, err)
		in := w.Record(t, renewal())
		out, err := w.Approve(ctx, p, act(in))
		if err != nil || *out.DecidedBy != "human:ana" {
			t.Fatalf("%+v, %v", out, err)
		}
		_, err = w.Vouch(ctx, slack.Token, "U124")
		mustBe(t, err, operator.ErrNotFound)
		_, err = w.Vouch(ctx, mail.Token, "U123")
		mustBe(t, err, operator.ErrNotFound)
		for _, token := range []string{w.First.Agent.Token, w.First.Person.Token} {
			_, err = w.Vouch(ctx, token, "U123")
			mustBe(t, err, operator.ErrKindNotAllowed)
		}
		_, err = w.PersonByCredential(ctx, slack.Token, operator.ViaLibrary)
		mustBe(t, err, operator.ErrKindNotAllowed)
		// The channel's own credential is what proved the person.
		next := w.Record(t, spend("Next", 1))
		mustHave(t, w.RevokeCredential(ctx, "", slack.ID))
		_, err = w.Approve(ctx, p, act(next))
		mustBe(t, err, operator.ErrCredentialRevoked)
		_, err = w.Vouch(ctx, slack.Token, "U123")
		mustBe(t, err, operator.ErrCredentialRevoked)
	})
}

func TestAChannelCannotTakeTheNameOfAWayInThatReeveStamps(t *testing.T) {
	w := operatortest.New(t, "sqlite", nil)
	for _, name := range []string{"mcp", "rest", "library", "terminal", "worker", "store"} {
		_, err := w.CreateCredential(context.Background(), operator.NewCredential{Kind: operator.KindChannel, Name: name})
		mustBe(t, err, reason("invalid_value"))
	}
}
