package operator_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

func TestPagesShowEverythingOnceNewestFirst(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		const all = 20
		for n := range all {
			w.Record(t, note(fmt.Sprintf("Note %d", n)))
		}
		for _, limit := range []int64{1, 3, 7, 10, 19, 20, 21, 100} {
			var cursor *string
			seen, pages, last := map[int64]bool{}, 0, int64(1<<62)
			for {
				state, err := w.State(ctx, w.Agent, operator.StateInput{Limit: &limit, Cursor: cursor})
				mustHave(t, err)
				for _, in := range state.Intents {
					if seen[in.ID] || in.ID >= last {
						t.Fatalf("limit %d: intent %d out of its turn", limit, in.ID)
					}
					seen[in.ID], last = true, in.ID
				}
				pages++
				if pages == 1 {
					w.Record(t, note(fmt.Sprintf("While paging by %d", limit))) // newer: never moves a page
				}
				if cursor = state.NextCursor; cursor == nil {
					break
				}
				if int64(len(state.Intents)) != limit {
					t.Errorf("limit %d: a page of %d in the middle", limit, len(state.Intents))
				}
			}
			total := len(seen)
			if want := int((int64(total) + limit - 1) / limit); pages != want {
				t.Errorf("limit %d: %d pages for %d rows, want %d", limit, pages, total, want)
			}
			if total < all {
				t.Errorf("limit %d: %d of at least %d", limit, total, all)
			}
		}
	})
}

func TestLimitsAreKeptWithinTheirBounds(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		for n := range operator.MaxPage + 5 {
			w.Record(t, note(fmt.Sprintf("Note %d", n)))
		}
		for limit, want := range map[int64]int{-1: operator.DefaultPage, 0: operator.DefaultPage, 1: 1, 100: 100, 101: 100, 1 << 62: 100} {
			state, err := w.State(ctx, w.Agent, operator.StateInput{Limit: &limit})
			if err != nil || len(state.Intents) != want || len(state.Audit) != min(want, operator.MaxPage) {
				t.Errorf("limit %d: %d intents, %d lines, %v", limit, len(state.Intents), len(state.Audit), err)
			}
		}
		state, err := w.State(ctx, w.Agent, operator.StateInput{})
		if err != nil || len(state.Intents) != operator.DefaultPage || state.Tasks == nil || state.Runs == nil || state.Decisions == nil {
			t.Errorf("without a limit: %+v, %v", state, err)
		}
		for _, limit := range []int{-1, 0} {
			if waiting, err := w.Waiting(ctx, w.Owner, limit); err != nil || len(waiting) != 0 {
				t.Errorf("waiting, limit %d: %d, %v", limit, len(waiting), err)
			}
		}
	})
}

func TestACursorIsTakenBackOnlyAsItWasGiven(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		who := w.Elsewhere(t, operator.DefaultSlug, "second")
		for n := range 3 {
			w.Record(t, note(fmt.Sprintf("Note %d", n)))
		}
		state, err := w.State(ctx, w.Agent, operator.StateInput{Limit: number(1)})
		mustHave(t, err)
		good := *state.NextCursor
		_, err = w.State(ctx, who.Agent, operator.StateInput{Cursor: &good})
		mustBe(t, err, reason("invalid_cursor")) // another project's
		encode := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
		for _, bad := range []string{"x", good + "=", good + "A", strings.ToUpper(good), " " + good, encode("i.1.0"), encode("i.1.-1"), encode("i.1.01"),
			encode("i.1.+1"), encode("i.1.9223372036854775808"), encode("i.1.1.1"), encode("j.1.1"), encode("i.01.1"), encode("i.1"), encode("i"),
			encode("i.1.1 or 1=1"), strings.Repeat("A", 10000), "\x00", "é"} {
			if _, err := w.State(ctx, w.Agent, operator.StateInput{Cursor: &bad}); !errors.Is(err, reason("invalid_cursor")) {
				t.Errorf("%.40q: %v", bad, err)
			}
		}
		for cursor, want := range map[string]int{"": 3, encode("i.1.1"): 0, encode("i.1.9223372036854775807"): 3} {
			if state, err := w.State(ctx, w.Agent, operator.StateInput{Cursor: &cursor}); err != nil || len(state.Intents) != want || state.NextCursor != nil {
				t.Errorf("%q: %d, %v, %v", cursor, len(state.Intents), state.NextCursor, err)
			}
		}
	})
}

func TestAStatusPicksOutItsIntents(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		m := &makers{w: w, db: operatortest.Database(t, w.Where)}
		m.at(t, gate.StatusExpired) // first: it moves the clock, and nothing else is to lapse
		for _, s := range gate.Statuses() {
			if s != gate.StatusExpired {
				m.at(t, s)
			}
		}
		for _, s := range gate.Statuses() {
			state, err := w.State(ctx, w.Agent, operator.StateInput{Status: words(string(s)), Limit: number(100)})
			if err != nil || len(state.Intents) == 0 {
				t.Errorf("%s: %d, %v", s, len(state.Intents), err)
			}
			for _, in := range state.Intents {
				if in.Status != s {
					t.Errorf("%s among what is %s", in.Status, s)
				}
			}
		}
	})
}

func TestOneIntentIsShownWholeWithItsAnswersAndItsRecord(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		in := w.Record(t, renewal())
		w.Record(t, spend("Another", 1))
		for _, text := range []string{"Which plan?", "And until when?\nThanks."} {
			w.Clock.Advance(time.Minute)
			_, err := w.Respond(ctx, w.Owner, operator.RespondInput{ID: in.ID, Text: text})
			mustHave(t, err)
		}
		_, err := w.Approve(ctx, w.Owner, act(in))
		mustHave(t, err)
		state, err := w.State(ctx, w.Agent, operator.StateInput{IntentID: &in.ID})
		mustHave(t, err)
		one := state.Intents[0]
		if len(state.Intents) != 1 || one.Payload == nil || len(one.Responses) != 2 || one.Responses[0].Text != "Which plan?" || one.Responses[1].By != "human:owner" {
			t.Errorf("%+v", state.Intents)
		}
		if len(state.Decisions) != 1 || *state.Decisions[0].IntentID != in.ID || state.Decisions[0].ID != *one.ApprovalDecisionID {
			t.Errorf("%+v", state.Decisions)
		}
		acts := []string{}
		for _, line := range state.Audit {
			acts = append(acts, line.Act+" by "+line.Principal)
		}
		if got := strings.Join(acts, ", "); got != "approve by human:owner, respond by human:owner, respond by human:owner, record_intent by agent:agent" {
			t.Errorf("the record, newest first: %s", got)
		}
	})
}

func TestALongOutcomeIsCutInAListAndWholeByItself(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		in, token := (&makers{w: w, db: operatortest.Database(t, w.Where)}).at(t, gate.StatusExecuting)
		long := strings.Repeat("ä", 1000)
		_, err := w.Report(ctx, w.Worker, operator.ReportInput{ID: in.ID, FencingToken: token, Status: "succeeded", Outcome: long})
		mustHave(t, err)
		list, err := w.State(ctx, w.Agent, operator.StateInput{})
		if err != nil || *list.Intents[0].Outcome != strings.Repeat("ä", 200)+"…" {
			t.Errorf("%v, %v", *list.Intents[0].Outcome, err)
		}
		one, err := w.State(ctx, w.Agent, operator.StateInput{IntentID: &in.ID})
		if err != nil || *one.Intents[0].Outcome != long {
			t.Errorf("%d bytes, %v", len(*one.Intents[0].Outcome), err)
		}
	})
}

func TestAWaitEndsWithinASecondOfAnApprovalInAnotherProcess(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		other := w.Again(t, nil)
		for name, op := range map[string]*operator.Operator{"in this process": w.Operator, "in another": other} {
			in := w.Record(t, spend(name, 1))
			type answer struct {
				state operator.State
				err   error
				at    time.Time
			}
			waited := make(chan answer, 1)
			go func() {
				state, err := w.State(ctx, w.Agent, operator.StateInput{IntentID: &in.ID, WaitSeconds: number(30)})
				waited <- answer{state, err, time.Now()}
			}()
			select {
			case a := <-waited:
				t.Fatalf("it did not wait: %+v", a)
			case <-time.After(50 * time.Millisecond):
			}
			_, err := op.Approve(ctx, w.Owner, act(in))
			mustHave(t, err)
			approved := time.Now()
			a := <-waited
			if a.err != nil || a.state.Intents[0].Status != gate.StatusApproved || a.at.Sub(approved) > time.Second {
				t.Errorf("%s: %v after, %+v, %v", name, a.at.Sub(approved), a.state.Intents, a.err)
			}
		}
	})
}

func TestAWaitIsNoLongerThanItWasAskedForAndNothingToWaitForIsAnsweredAtOnce(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		pending, settled := w.Record(t, renewal()), w.Record(t, note("allowed"))
		took := func(id, seconds int64) time.Duration {
			start := time.Now()
			state, err := w.State(ctx, w.Agent, operator.StateInput{IntentID: &id, WaitSeconds: &seconds})
			if err != nil || len(state.Intents) != 1 {
				t.Errorf("%+v, %v", state, err)
			}
			return time.Since(start)
		}
		if d := took(pending.ID, 1); d < time.Second || d > 3*time.Second {
			t.Errorf("one second took %v", d)
		}
		for _, seconds := range []int64{0, -1, -1 << 62} {
			if d := took(pending.ID, seconds); d > time.Second {
				t.Errorf("a wait of %d took %v", seconds, d)
			}
		}
		if d := took(settled.ID, 60); d > time.Second {
			t.Errorf("nothing to wait for took %v", d)
		}
	})
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, nil)
		in := w.Record(t, renewal())
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := w.State(ctx, w.Agent, operator.StateInput{IntentID: &in.ID, WaitSeconds: number(1 << 62)})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestWhatWaitsIsListedOldestFirstWithWhatNobodyKnows(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, &operator.Options{Pending: 1000 * time.Hour})
		m := &makers{w: w, db: operatortest.Database(t, w.Where)}
		want := []int64{}
		for range 2 {
			for _, s := range gate.Statuses() {
				if s == gate.StatusExpired {
					continue
				}
				in, _ := m.at(t, s)
				if s == gate.StatusPendingApproval || s == gate.StatusUnknown {
					want = append(want, in.ID)
				}
			}
		}
		waiting, err := w.Waiting(ctx, w.Owner, 100)
		mustHave(t, err)
		got := []int64{}
		for _, in := range waiting {
			got = append(got, in.ID)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v, want %v", got, want)
		}
		if first, err := w.Waiting(ctx, w.Owner, 1); err != nil || len(first) != 1 || first[0].ID != want[0] {
			t.Errorf("%+v, %v", first, err)
		}
	})
}

func TestADecisionOfTheBoardMovesAndARecordOfAnActNever(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		d, err := w.OpenDecision(ctx, w.Agent, "Which vendor?")
		if err != nil || d.Status != "pending" || d.MadeBy != "agent:agent" {
			t.Fatalf("%+v, %v", d, err)
		}
		for _, word := range []string{"parked", "rejected", "pending", "rejected"} {
			out, err := w.UpdateDecision(ctx, w.Agent, operator.UpdateDecisionInput{ID: d.ID, Status: word, Note: words("because " + word)})
			if err != nil || out.Status != word || out.Note != "because "+word {
				t.Errorf("%s: %+v, %v", word, out, err)
			}
		}
		approved := w.Approved(t, renewal())
		before := operatortest.Fingerprint(t, db)
		for _, word := range []string{"parked", "rejected", "pending"} {
			_, err := w.UpdateDecision(ctx, w.Agent, operator.UpdateDecisionInput{ID: *approved.ApprovalDecisionID, Status: word})
			r := mustBe(t, err, operator.ErrDecisionSettled)
			if r.Details["intent_id"] != approved.ID {
				t.Errorf("%v", r.Details)
			}
		}
		if operatortest.Fingerprint(t, db) != before {
			t.Error("something was written")
		}
	})
}

func TestRefusalsOfOneCallerAreCountedTogetherForADay(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		other := w.Again(t, nil)
		row := operator.RefusalRow(w.Agent)
		for n := 1; n <= 3; n++ {
			op := []*operator.Operator{w.Operator, other}[n%2]
			got, err := op.RecordRefusal(ctx, row)
			if err != nil || got.Identical != n || got.Alike != n {
				t.Fatalf("refusal %d: %+v, %v", n, got, err)
			}
		}
		row.ArgsDigest = "other"
		if got, err := w.RecordRefusal(ctx, row); err != nil || got.Identical != 1 || got.Alike != 4 {
			t.Errorf("other arguments: %+v, %v", got, err)
		}
		outage := row
		outage.Verdict, outage.Reason = "unavailable", "unavailable"
		if got, err := w.RecordRefusal(ctx, outage); err != nil || got != (operator.RefusalCount{}) {
			t.Errorf("an outage: %+v, %v", got, err)
		}
		w.Clock.Advance(24 * time.Hour)
		if got, err := w.RecordRefusal(ctx, row); err != nil || got.Identical != 1 || got.Alike != 1 {
			t.Errorf("a day later: %+v, %v", got, err)
		}
	})
}
