package operator_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

const monthlyCap = "version: 1\nextends: default\ncaps: [{currency: USD, max: 10000, window: month}]\n"

// smallAllowed settles up to 20 dollars, 50 a month.
const smallAllowed = `version: 1
extends: default
rules:
  - id: small
    match: {types: [spend], amount: {currency: USD, max: 2000}}
    effect: allow
    instead_of: [spending]
    reason: Small sums are settled.
    budget: {window: month, currency: USD, max: 5000}
`

func simulate(t *testing.T, w *operatortest.World, text string) operator.Simulation {
	t.Helper()
	out, err := w.Simulate(context.Background(), "", operator.SimulateInput{File: "other.yaml", Text: []byte(text)})
	mustHave(t, err)
	return out
}

func TestASimulationTellsWhatWouldBeOtherwiseAndChangesNothing(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		for i := range 4 {
			w.Record(t, spend(fmt.Sprintf("Small %d", i), 2000))
		}
		w.Record(t, spend("Large", 4900))
		w.Record(t, note("Inside"))
		before := operatortest.Fingerprint(t, db)
		same := simulate(t, w, string(gate.DefaultYAML()))
		if same.Judged != 6 || same.Changed != 0 || len(same.Groups)+len(same.Undone)+len(same.Loosens) != 0 {
			t.Errorf("the same policy: %+v", same)
		}
		out := simulate(t, w, smallAllowed)
		if len(out.Groups) != 1 || out.Changed != 2 {
			t.Fatalf("two fit into the budget of a month: %+v", out)
		}
		g := out.Groups[0]
		if g.From != "requires_approval" || g.To != "allow" || g.Rule != "small" || g.Count != 2 || g.Money[0] != (operator.SimulationMoney{Currency: "USD", Cents: 4000}) {
			t.Errorf("%+v", g)
		}
		if len(g.Examples) != 2 || g.Examples[0].Title != "Small 0" || len(out.Loosens) != 1 || out.Loosens[0].ID != "small" {
			t.Errorf("%+v, %+v", g.Examples, out.Loosens)
		}
		w.Clock.Advance(time.Hour)
		late := w.Record(t, spend("Late", 100))
		recent, err := w.Simulate(context.Background(), "", operator.SimulateInput{Text: []byte(smallAllowed), Since: w.Clock.Now()})
		if err != nil || recent.Judged != 1 || recent.Changed != 1 || recent.Groups[0].Examples[0].ID != late.ID {
			t.Errorf("what was before counts, and is not told: %+v, %v", recent, err)
		}
		execute(t, db, `delete from reeve_audit where intent_id = $1`, late.ID)
		if _, err := db.Exec(`delete from reeve_outbox where payload like '%Late%'`); err != nil {
			t.Fatal(err)
		}
		execute(t, db, `delete from reeve_intents where id = $1`, late.ID)
		if operatortest.Fingerprint(t, db) != before {
			t.Error("something was changed")
		}
	})
}

func TestASimulationCountsWhatWasApprovedUntilItWasGivenBack(t *testing.T) {
	ctx := context.Background()
	w := operatortest.New(t, "sqlite", nil)
	w.Approved(t, spend("Kept", 6000))
	back := w.Approved(t, spend("Given back", 3000))
	w.Clock.Advance(time.Minute)
	beyond := w.Record(t, spend("Beyond", 2000))
	w.Clock.Advance(time.Minute)
	_, err := w.Revoke(ctx, w.Owner, act(back))
	mustHave(t, err)
	w.Clock.Advance(time.Minute)
	within := w.Record(t, spend("Within", 2000))
	out := simulate(t, w, monthlyCap)
	if len(out.Groups) != 1 || out.Groups[0].To != "deny" || out.Groups[0].Rule != "caps" || out.Groups[0].Count != 1 || out.Groups[0].Examples[0].ID != beyond.ID {
		t.Errorf("only the one that came before 30 dollars were given back passes the cap, not %d: %+v", within.ID, out.Groups)
	}
}

func TestEveryDenialThatWouldBeUndoneIsListedByItsNumber(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		w.SetPolicy(t, noSpending)
		var want []int64
		for i := range 60 {
			want = append(want, w.Record(t, spend(fmt.Sprintf("No %d", i), 100)).ID)
			w.Record(t, note(fmt.Sprintf("Yes %d", i)))
		}
		_, err := w.AddProject(ctx, "", "other")
		mustHave(t, err)
		m := w.Mint(t, operator.NewCredential{Kind: operator.KindAgent, Name: "other", Project: "other", Scopes: operator.Scopes()})
		elsewhere, err := w.RecordIntent(ctx, w.Principal(t, m.Token), spend("Elsewhere", 100))
		mustHave(t, err)
		want = append(want, elsewhere.ID)
		out := simulate(t, w, string(gate.DefaultYAML()))
		if !slices.Equal(out.Undone, want) || out.Groups[0].Rule != "no-spending" || out.Groups[0].From != "deny" || out.Groups[0].To != "requires_approval" {
			t.Errorf("%v, want %v: %+v", out.Undone, want, out.Groups)
		}
		if len(out.Loosens) != 1+len(want) || out.Loosens[0].ID != "no-spending" || out.Loosens[len(want)].ID != "intent-"+itoa(elsewhere.ID) {
			t.Errorf("%+v", out.Loosens)
		}
	})
}

// TestAMillionIntentsAreSimulatedInUnderAMinute needs REEVE_BENCH_SIMULATE=N, with N
// intents; it says how long it took.
func TestAMillionIntentsAreSimulatedInUnderAMinute(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("REEVE_BENCH_SIMULATE"))
	if n == 0 {
		t.Skip("set REEVE_BENCH_SIMULATE=1000000")
	}
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, nil)
		manyIntents(t, w, n)
		for name, text := range map[string]string{"a budget": smallAllowed, "no budget": string(gate.DefaultYAML())} {
			begun := time.Now()
			out := simulate(t, w, text)
			t.Logf("%s, %s: %d intents in %s; %d would change, %d denials undone", store, name, out.Judged, time.Since(begun).Round(10*time.Millisecond), out.Changed, len(out.Undone))
			if out.Judged < int64(n) {
				t.Errorf("only %d were judged", out.Judged)
			}
		}
		begun := time.Now() // twice: refused with the list, and then accepted
		info := w.SetPolicy(t, "version: 1\nrules: [{id: notes, match: {types: [note]}, effect: allow, reason: Inside.}]\n")
		t.Logf("%s: two loads that look through the denials, of which %d are undone and accepted, in %s", store, info.Total, time.Since(begun).Round(10*time.Millisecond))
	})
}

// manyIntents copies a few recorded intents many times, by SQL alone.
func manyIntents(t *testing.T, w *operatortest.World, n int) {
	t.Helper()
	db := operatortest.Database(t, w.Where)
	body := "Dear all, this is to say that the plan is renewed for another year, at the price that was agreed on. Kind regards."
	w.Record(t, operator.RecordIntentInput{Action: gate.Action{Type: "spend", Title: "Ink", Recipient: "shop@vendor.example", AmountCents: cents(1200), Body: body}})
	w.Record(t, operator.RecordIntentInput{Action: gate.Action{Type: "send", Title: "Hello", Recipient: "bo@elsewhere.example", Body: body, Labels: []string{"weekly"}}})
	w.Record(t, operator.RecordIntentInput{Action: gate.Action{Type: "note", Title: "A note", Body: body}})
	w.Record(t, operator.RecordIntentInput{Action: gate.Action{Type: "policy_change", Title: "More"}})
	series := `(with recursive n(i) as (select 1 union all select i + 1 from n where i < ` + strconv.Itoa(n/4) + `) select i from n) as s`
	list := `project_id, day, digest, type, title, recipient, amount_cents, currency, body, labels, tainted_by, data, status, policy_decision, policy_reasons,
		policy_rules, policy_version, approvers, recorded_by, recorded_kind, expires_at, settled_by, settled_at, updated_at`
	execute(t, db, `insert into reeve_intents (original, idempotency_key, created_at, `+list+`)
		select 0, '', created_at + cast(s.i as bigint) * 60000000, `+list+` from reeve_intents t, `+series)
	execute(t, db, `analyze`)
}
