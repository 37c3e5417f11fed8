package operator_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

// TestAPolicyFileThatIsChangedWhileEightCallersRecord: each intent is judged by one
// version, which its row names, and no call fails.
func TestAPolicyFileThatIsChangedWhileEightCallersRecord(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		const callers, each = 8, 25
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		texts := docsPolicies(t)
		w.NewPerson(t, "ana", operator.RoleAdmin)
		w.NewPerson(t, "bo", operator.RoleOwner)
		second := w.Again(t, nil)
		stop := make(chan struct{})
		var loading sync.WaitGroup
		var loads atomic.Int64
		loading.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if changed(t, w, texts[i%len(texts)]) {
					loads.Add(1)
				}
			}
		})
		failed := together(callers, func(i int) error {
			op := []*operator.Operator{w.Operator, second}[i%2]
			// On, until the policy has changed a few times: a slow machine must not decide.
			for j := 0; j < each || loads.Load() < 4 && j < 100*each; j++ {
				in := sampled(fmt.Sprintf("%d of %d", j, i), i+j)
				if _, err := op.RecordIntent(ctx, w.Agent, in); err != nil {
					return err
				}
			}
			return nil
		})
		close(stop)
		loading.Wait()
		for _, err := range failed {
			if err != nil {
				t.Error("a call failed:", err)
			}
		}
		judgedByTheirVersion(t, db, callers*each)
		if n := loads.Load(); n < 4 {
			t.Errorf("only %d policies were loaded meanwhile", n)
		}
	})
}

// docsPolicies are worked policies of the docs whose verdicts need no count of money.
func docsPolicies(t *testing.T) []string {
	t.Helper()
	var out []string
	names, err := os.ReadDir("../docs/policies")
	mustHave(t, err)
	for _, name := range names {
		text, err := os.ReadFile("../docs/policies/" + name.Name())
		mustHave(t, err)
		out = append(out, string(text))
	}
	return out
}

// changed loads a policy as the owner, who accepts what it loosens. Denials that are
// recorded between the two calls have to be accepted as well, so it tries again.
func changed(t *testing.T, w *operatortest.World, text string) bool {
	in := operator.PolicyInput{Policy: text}
	for range 20 {
		_, err := w.ChangePolicy(context.Background(), w.Owner, in)
		if err == nil {
			return true
		}
		r := refusalOf(err)
		if r == nil || !slices.Contains([]operator.Reason{"policy_loosens", "version_conflict"}, r.Reason) {
			t.Error(err)
			return false
		}
		if loosens := (*operator.LoosensError)(nil); asLoosens(err, &loosens) {
			in.Accept = append(slices.DeleteFunc(in.Accept, func(id string) bool { return slices.Contains(loosens.Unknown, id) }), loosens.Missing...)
		}
	}
	return false
}

// sampled is an action without money, of many kinds.
func sampled(title string, n int) operator.RecordIntentInput {
	types := []string{"send", "publish", "note", "deploy", "delete", "draft", "policy_change", "access", "tidy_up"}
	recipients := []string{"", "bo@elsewhere.example", "shop@vendor.example", "grandma@family.example"}
	return operator.RecordIntentInput{Action: gate.Action{Type: types[n%len(types)], Title: title, Recipient: recipients[n%len(recipients)], Labels: []string{"weekly"}[:n%2]}}
}

// judgedByTheirVersion judges each intent again by the policy that its row names.
func judgedByTheirVersion(t *testing.T, db *sql.DB, want int) {
	t.Helper()
	policies := map[string]*gate.Policy{gate.DefaultPolicy().Version(): gate.DefaultPolicy()}
	rows, err := db.Query(`select text from reeve_policies`)
	mustHave(t, err)
	for rows.Next() {
		var text string
		mustHave(t, rows.Scan(&text))
		p := policy(t, text)
		policies[p.Version()] = p
	}
	mustHave(t, rows.Close())
	rows, err = db.Query(`select type, title, recipient, labels, policy_version, policy_decision, policy_rules, created_at from reeve_intents`)
	mustHave(t, err)
	defer rows.Close()
	met, seen := map[string]int{}, 0
	for ; rows.Next(); seen++ {
		var a gate.Action
		var labels, version, decision, rules string
		var at int64
		mustHave(t, rows.Scan(&a.Type, &a.Title, &a.Recipient, &labels, &version, &decision, &rules, &at))
		if labels != "[]" {
			a.Labels = []string{"weekly"}
		}
		p := policies[version]
		if p == nil {
			t.Fatalf("a row names the version %s, which was never loaded", version)
		}
		v := p.Evaluate(a, gate.Facts{Now: time.UnixMicro(at).UTC(), Zone: time.UTC, Currency: "USD", Principal: "agent:agent"})
		if v.Effect.String() != decision || rulesOf(v) != rules {
			t.Errorf("%s: %s %s is on record, and %s judges %s %s", a.Title, decision, rules, version, v.Effect, rulesOf(v))
		}
		met[version]++
	}
	if seen < want || len(met) < 2 {
		t.Errorf("%d intents, want %d: %v", seen, want, met)
	}
}
