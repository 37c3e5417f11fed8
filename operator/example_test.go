package operator_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
)

// start opens a fresh database in a folder of its own, with one person and one
// agent. A real program keeps the folder, and gets the tokens from whoever calls.
func start() (op *operator.Operator, agent operator.Principal, owner operator.Person, stop func()) {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "reeve-example-")
	check(err)
	op, err = operator.OpenDir(ctx, dir, nil)
	check(err)
	first, _, err := op.Install(ctx, operator.Initial{AgentScopes: operator.Scopes(), OwnerScopes: operator.Scopes()})
	check(err)
	agent, err = op.Authenticate(ctx, first.Agent.Token, operator.ViaLibrary)
	check(err)
	owner, err = op.PersonByCredential(ctx, first.Person.Token, operator.ViaLibrary)
	check(err)
	return op, agent, owner, func() { op.Close(); os.RemoveAll(dir) }
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func plan() operator.RecordIntentInput {
	price := gate.Cents(4900)
	return operator.RecordIntentInput{Action: gate.Action{Type: "spend", Title: "Annual plan renewal", AmountCents: &price}}
}

// An agent records what it wants done, a person countersigns exactly that, and a
// worker carries it out, once.
func Example() {
	op, agent, owner, stop := start()
	defer stop()
	ctx := context.Background()

	intent, err := op.RecordIntent(ctx, agent, plan())
	check(err)
	fmt.Println(intent.Status, intent.PolicyReasons)

	waiting, err := op.Waiting(ctx, owner, 10)
	check(err)
	for _, in := range waiting {
		approved, err := op.Approve(ctx, owner, operator.ActInput{ID: in.ID, Digest: in.Digest, Note: "Go on."})
		check(err)
		fmt.Println(approved.Status, "by", *approved.DecidedBy)
	}

	worker, err := op.LocalWorker(ctx, "", "", "payments")
	check(err)
	handlers := map[string]operator.Handler{"spend": {Run: func(ctx context.Context, job operator.Job) (string, error) {
		money, err := gate.Money(*job.Intent.Payload.AmountCents, job.Intent.Payload.Currency)
		return "Paid " + money + ".", err // a real one hands job.IdempotencyKey to the far side
	}}}
	check(op.Work(ctx, worker, handlers, &operator.WorkOptions{Once: true}))

	state, err := op.State(ctx, agent, operator.StateInput{IntentID: &intent.ID})
	check(err)
	fmt.Println(state.Intents[0].Status, *state.Intents[0].Outcome)
	// Output:
	// pending_approval [Spending money, or promising to, needs a person.]
	// approved by human:owner
	// succeeded Paid 49.00 USD.
}

// The same wish on the same day is the same intent, and nobody is told twice.
func ExampleOperator_RecordIntent() {
	op, agent, _, stop := start()
	defer stop()
	ctx := context.Background()
	for range 2 {
		intent, err := op.RecordIntent(ctx, agent, plan())
		check(err)
		fmt.Println(intent.ID, intent.Created)
	}
	labelled := plan()
	labelled.Action.Labels = []string{"urgent"}
	_, err := op.RecordIntent(ctx, agent, labelled)
	fmt.Println(errors.Is(err, operator.ErrIdempotencyMismatch))
	// Output:
	// 1 true
	// 1 false
	// true
}

// An intent and the caller's own rows stand together, or not at all.
func ExampleOperator_RecordIntentTx() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "reeve-example-")
	check(err)
	defer os.RemoveAll(dir)
	op, err := operator.OpenDir(ctx, dir, nil)
	check(err)
	defer op.Close()
	first, _, err := op.Install(ctx, operator.Initial{})
	check(err)
	agent, err := op.Authenticate(ctx, first.Agent.Token, operator.ViaLibrary)
	check(err)

	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "reeve.db")+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	check(err)
	defer db.Close()
	_, err = db.Exec(`create table orders (title text)`)
	check(err)

	tx, err := db.BeginTx(ctx, nil)
	check(err)
	_, err = tx.Exec(`insert into orders values ('Annual plan')`)
	check(err)
	intent, err := op.RecordIntentTx(ctx, tx, agent, plan())
	check(err)
	check(tx.Rollback())

	_, err = op.State(ctx, agent, operator.StateInput{IntentID: &intent.ID})
	fmt.Println(errors.Is(err, operator.ErrNotFound))
	// Output: true
}

// An approval names what the person saw. Where that is not what would be carried
// out, the refusal shows what is.
func ExampleOperator_Approve() {
	op, agent, owner, stop := start()
	defer stop()
	ctx := context.Background()
	intent, err := op.RecordIntent(ctx, agent, plan())
	check(err)

	_, err = op.Approve(ctx, owner, operator.ActInput{ID: intent.ID, Digest: "what I remember of it"})
	var refusal *operator.Refusal
	if errors.As(err, &refusal) && errors.Is(err, operator.ErrDigestMismatch) {
		present := refusal.Details["present"].(operator.Intent)
		fmt.Println("it is:", present.Title, *present.AmountCents, *present.Currency)
	}

	_, err = op.Reject(ctx, owner, operator.ActInput{ID: intent.ID, Digest: intent.Digest})
	check(err)
	_, err = op.Approve(ctx, owner, operator.ActInput{ID: intent.ID, Digest: intent.Digest})
	if errors.As(err, &refusal) && errors.Is(err, operator.ErrAlreadySettled) {
		fmt.Println(refusal.Details["status"], "by", refusal.Details["settled_by"])
	}
	// Output:
	// it is: Annual plan renewal 4900 USD
	// rejected by human:owner
}

// A person can put their own version in an intent's place. It is their approval
// of exactly what they wrote.
func ExampleOperator_Edit() {
	op, agent, owner, stop := start()
	defer stop()
	ctx := context.Background()
	intent, err := op.RecordIntent(ctx, agent, plan())
	check(err)

	cheaper := plan().Action
	price := gate.Cents(500)
	cheaper.Title, cheaper.AmountCents = "Monthly plan", &price
	edited, err := op.Edit(ctx, owner, operator.EditInput{ID: intent.ID, Digest: intent.Digest, Action: cheaper})
	check(err)
	fmt.Println(edited.Status, edited.Title)

	again, err := op.RecordIntent(ctx, agent, plan())
	check(err)
	fmt.Println("the agent's wish has become:", again.Title)
	// Output:
	// approved Monthly plan
	// the agent's wish has become: Monthly plan
}

// Somebody has to be told that something waits. This tells them on standard
// output; a bot would send a message and compare Key to tell repeats apart.
func ExampleOperator_RelayOnce() {
	op, agent, _, stop := start()
	defer stop()
	ctx := context.Background()
	_, err := op.RecordIntent(ctx, agent, plan())
	check(err)
	n, err := op.RelayOnce(ctx, func(_ context.Context, n operator.Notice) error {
		fmt.Println(n.Topic, n.Key, n.Redelivery)
		return nil
	})
	check(err)
	fmt.Println(n)
	// Output:
	// intent.pending intent.pending:1 false
	// 1
}

// A handler that cannot tell whether it acted says so, and a person finds out.
func ExampleOperator_Settle() {
	op, agent, owner, stop := start()
	defer stop()
	ctx := context.Background()
	intent, err := op.RecordIntent(ctx, agent, operator.RecordIntentInput{Action: gate.Action{Type: "draft", Title: "Quarterly letter"}})
	check(err)
	worker, err := op.LocalWorker(ctx, "", "", "writer")
	check(err)
	handlers := map[string]operator.Handler{"draft": {Run: func(context.Context, operator.Job) (string, error) {
		return "", fmt.Errorf("the connection broke: %w", operator.ErrOutcomeUnknown)
	}}}
	check(op.Work(ctx, worker, handlers, &operator.WorkOptions{Once: true}))

	shown, err := op.ShowIntent(ctx, owner, intent.ID)
	check(err)
	fmt.Println(shown.Status)
	settled, err := op.Settle(ctx, owner, operator.SettleInput{ID: intent.ID, Status: "succeeded", Note: "The letter is there."})
	check(err)
	fmt.Println(settled.Status, *settled.Outcome)
	// Output:
	// unknown
	// succeeded The letter is there.
}

// The record of what was done is exported, and verified by somebody who has nothing
// but the file and the public key.
func ExampleVerifyAudit() {
	op, agent, owner, stop := start()
	defer stop()
	ctx := context.Background()
	intent, err := op.RecordIntent(ctx, agent, plan())
	check(err)
	_, err = op.Approve(ctx, owner, operator.ActInput{ID: intent.ID, Digest: intent.Digest})
	check(err)
	var file bytes.Buffer
	check(op.ExportAudit(ctx, "", &file))
	key, err := op.SealedBy(ctx)
	check(err)

	known := &operator.VerifyAuditOptions{Keys: []operator.AuditPublicKey{key}}
	report, err := operator.VerifyAudit(bytes.NewReader(file.Bytes()), known)
	check(err)
	fmt.Println(report.Origin, report.Trusted)

	tidied := bytes.Replace(file.Bytes(), []byte(`"human:owner"`), []byte(`"human:other"`), 1)
	_, err = operator.VerifyAudit(bytes.NewReader(tidied), known)
	fmt.Println(errors.Is(err, operator.ErrAuditAltered))
	// Output:
	// reeve/default true
	// true
}
