package operator_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

func cents(n int64) *gate.Cents { c := gate.Cents(n); return &c }

func number(n int64) *int64 { return &n }

func words(s string) *string { return &s }

// renewal is the action that most tests record: it waits for a person.
func renewal() operator.RecordIntentInput { return spend("Annual plan renewal", 4900) }

func spend(title string, amount int64) operator.RecordIntentInput {
	return operator.RecordIntentInput{Action: gate.Action{Type: "spend", Title: title, AmountCents: cents(amount)}}
}

// note is an action that the policy allows without asking anybody.
func note(title string) operator.RecordIntentInput {
	return operator.RecordIntentInput{Action: gate.Action{Type: "note", Title: title}}
}

func act(in operator.Intent) operator.ActInput {
	return operator.ActInput{ID: in.ID, Digest: in.Digest}
}

// mustBe fails unless err is a refusal for the same reason as want, and gives it.
func mustBe(t *testing.T, err, want error) *operator.Refusal {
	t.Helper()
	var r *operator.Refusal
	if !errors.Is(err, want) || !errors.As(err, &r) {
		t.Fatalf("got error %v, want %v", err, want)
	}
	return r
}

func mustHave(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// reason is the sentinel of a refusal that has no exported name.
func reason(word operator.Reason) error { return &operator.Refusal{Reason: word} }

func policy(t testing.TB, text string) *gate.Policy {
	t.Helper()
	p, err := gate.LoadPolicy("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// twoPeople asks for two of owner and admin from 1,000 dollars on.
const twoPeople = `
version: 1
extends: default
rules:
  - id: large
    match: {types: [spend], amount: {currency: USD, min: 100000}}
    effect: requires_approval
    reason: This much needs two people.
    approval: {quorum: 2, from: [owner, admin]}
`

// count answers a query for one number.
func count(t testing.TB, db *sql.DB, query string, args ...any) int64 {
	t.Helper()
	var n int64
	if err := db.QueryRow(query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func execute(t testing.TB, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// lapse ends a lease by the database's clock, which no test can move: as if its
// whole length had passed.
func lapse(t testing.TB, db *sql.DB, id int64) {
	t.Helper()
	execute(t, db, `update reeve_intents set lease_until = 1 where id = $1 and status = 'executing'`, id)
}

// together runs f n times at once and gives what each returned.
func together[T any](n int, f func(i int) T) []T {
	out := make([]T, n)
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	ready.Add(n)
	for i := range n {
		done.Go(func() {
			ready.Done()
			<-start
			out[i] = f(i)
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
	return out
}

// eventually polls until f holds, and fails after ten seconds.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if f() {
			return
		}
	}
	t.Fatalf("within ten seconds it never came about that %s", what)
}

// makers bring a new intent to each status there is.
type makers struct {
	w  *operatortest.World
	db *sql.DB
	n  int
}

func (m *makers) at(t *testing.T, status gate.Status) (in operator.Intent, token int64) {
	t.Helper()
	ctx := context.Background()
	m.n++
	word := "job_" + strconv.Itoa(m.n)
	record := func(a gate.Action) operator.Intent {
		return m.w.Record(t, operator.RecordIntentInput{Action: a})
	}
	pending := gate.Action{Type: word, Title: "Do " + word}
	hold := func() (operator.Intent, int64) {
		in := m.w.Approved(t, operator.RecordIntentInput{Action: pending})
		got, err := m.w.Claim(ctx, m.w.Worker, operator.ClaimInput{Types: []string{word}, LeaseSeconds: number(3600)})
		if err != nil || got.Job == nil || got.Job.Intent.ID != in.ID {
			t.Fatalf("claim %s: %+v, %v", word, got, err)
		}
		return got.Job.Intent, got.Job.FencingToken
	}
	must := func(in operator.Intent, err error) operator.Intent { mustHave(t, err); return in }
	switch status {
	case gate.StatusAllowed:
		in = record(gate.Action{Type: "note", Title: word})
	case gate.StatusPendingApproval:
		in = record(pending)
	case gate.StatusDenied:
		in = record(gate.Action{Type: "policy_change", Title: word})
	case gate.StatusApproved:
		in = m.w.Approved(t, operator.RecordIntentInput{Action: pending})
	case gate.StatusRejected:
		in = must(m.w.Reject(ctx, m.w.Owner, act(record(pending))))
	case gate.StatusCancelled:
		in = must(m.w.Ignore(ctx, m.w.Owner, act(record(pending))))
	case gate.StatusSuperseded:
		in = record(pending)
		edit := pending
		edit.Body = "as edited"
		must(m.w.Edit(ctx, m.w.Owner, operator.EditInput{ID: in.ID, Digest: in.Digest, Action: edit}))
	case gate.StatusExpired:
		in = record(pending)
		m.w.Clock.Advance(25 * time.Hour)
		_, err := m.w.Sweep(ctx)
		mustHave(t, err)
	case gate.StatusExecuting:
		in, token = hold()
	case gate.StatusUnknown:
		in, token = hold()
		lapse(t, m.db, in.ID)
		_, err := m.w.Sweep(ctx)
		mustHave(t, err)
	case gate.StatusSucceeded, gate.StatusFailed:
		in, token = hold()
		in = must(m.w.Report(ctx, m.w.Worker, operator.ReportInput{ID: in.ID, FencingToken: token, Status: string(status)}))
	default:
		t.Fatalf("no way to reach %q is known", status)
	}
	in = must(m.w.ShowIntent(ctx, m.w.Owner, in.ID))
	if in.Status != status {
		t.Fatalf("wanted an intent that is %s, made one that is %s", status, in.Status)
	}
	return in, max(token, 1)
}

func statusOf(t testing.TB, db *sql.DB, id int64) string {
	t.Helper()
	got := operatortest.Rows(t, db, `select status from reeve_intents where id = `+fmt.Sprint(id))
	if len(got) != 1 {
		t.Fatalf("intent %d: %d rows", id, len(got))
	}
	return got[0]
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// refusalOf is the refusal in an error, or nil.
func refusalOf(err error) *operator.Refusal {
	var r *operator.Refusal
	if !errors.As(err, &r) {
		return nil
	}
	return r
}

func sha256Hex(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// rulesOf is the ids of a verdict's rules as they are stored.
func rulesOf(v gate.Verdict) string {
	ids := make([]string, 0, len(v.Reasons))
	for _, r := range v.Reasons {
		ids = append(ids, r.Rule)
	}
	text, _ := json.Marshal(ids)
	return string(text)
}

func asLoosens(err error, into **operator.LoosensError) bool { return errors.As(err, into) }
