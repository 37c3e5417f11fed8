package operator_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

// seen collects what pages show, and holds each list to newest first.
type seen struct {
	intents, decisions, audit []int64
}

func (s *seen) page(t *testing.T, state operator.State) {
	t.Helper()
	add := func(list *[]int64, id int64, what string) {
		if n := len(*list); n > 0 && (*list)[n-1] <= id {
			t.Fatalf("%s %d is out of its turn", what, id)
		}
		*list = append(*list, id)
	}
	for _, in := range state.Intents {
		add(&s.intents, in.ID, "intent")
	}
	for _, d := range state.Decisions {
		add(&s.decisions, d.ID, "decision")
	}
	for _, a := range state.Audit {
		add(&s.audit, a.ID, "line")
	}
}

func TestPagesShowEverythingOfEachListOnceNewestFirst(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		for n := range 20 {
			w.Record(t, note(fmt.Sprintf("Note %d", n)))
		}
		for n := range 7 {
			_, err := w.OpenDecision(ctx, w.Agent, fmt.Sprintf("Which of %d?", n))
			mustHave(t, err)
		}
		for _, limit := range []int64{1, 3, 7, 10, 19, 20, 21, 100} {
			var all [3]int64
			for i, table := range []string{"reeve_intents", "reeve_decisions", "reeve_audit"} {
				all[i] = count(t, db, `select count(*) from `+table+` where project_id = $1`, w.Agent.ProjectID())
			}
			var cursor *string
			var got seen
			for pages := int64(1); ; pages++ {
				state, err := w.State(ctx, w.Agent, operator.StateInput{Limit: &limit, Cursor: cursor})
				mustHave(t, err)
				got.page(t, state)
				if pages == 1 {
					w.Record(t, note(fmt.Sprintf("While paging by %d", limit))) // newer: never moves a page
				}
				for i, list := range []int{len(state.Intents), len(state.Decisions), len(state.Audit)} {
					if int64(list) > limit || state.NextCursor == nil && max(0, all[i]-(pages-1)*limit) != int64(list) {
						t.Errorf("limit %d, page %d: list %d has %d", limit, pages, i, list)
					}
				}
				if more := int64(len(got.intents)) < all[0]; more != state.MoreIntents() {
					t.Errorf("limit %d, page %d: says that more intents follow: %v", limit, pages, !more)
				}
				if cursor = state.NextCursor; cursor == nil {
					break
				}
			}
			if n := [3]int64{int64(len(got.intents)), int64(len(got.decisions)), int64(len(got.audit))}; n != all {
				t.Errorf("limit %d: the pages show %v of %v", limit, n, all)
			}
		}
	})
}

// However long the texts, a page stays within its bound, and what did not fit follows.
func TestAPageIsNeverLongAndLeavesNothingOut(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		wide := strings.Repeat("\U0001F600", 290)
		for n := range 100 {
			in := spend(fmt.Sprint(wide, n), 100)
			in.Action.Recipient = wide
			made := w.Record(t, in)
			_, err := w.Reject(ctx, w.Owner, operator.ActInput{ID: made.ID, Digest: made.Digest, Note: strings.Repeat("\U0001F600", 490)})
			mustHave(t, err)
		}
		for _, limit := range []*int64{nil, number(100)} {
			var cursor *string
			var got seen
			for {
				state, err := w.State(ctx, w.Agent, operator.StateInput{Limit: limit, Cursor: cursor})
				mustHave(t, err)
				text, err := json.MarshalIndent(state, "", "  ")
				mustHave(t, err)
				if len(text) > operator.MaxPageBytes+500 {
					t.Errorf("a page of %d bytes", len(text))
				}
				got.page(t, state)
				if cursor = state.NextCursor; cursor == nil {
					break
				}
			}
			if all := count(t, db, `select count(*) from reeve_audit where project_id = $1`, w.Agent.ProjectID()); len(got.intents) != 100 || len(got.decisions) != 100 || int64(len(got.audit)) != all {
				t.Errorf("%d, %d, %d of %d", len(got.intents), len(got.decisions), len(got.audit), all)
			}
			one, err := w.State(ctx, w.Agent, operator.StateInput{IntentID: &got.intents[0]})
			if err != nil || one.Intents[0].Title != fmt.Sprint(wide, 99) || len([]rune(one.Decisions[0].Note)) != 490 {
				t.Errorf("one intent is shown whole: %v", err)
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
		full, err := w.State(ctx, w.Agent, operator.StateInput{Limit: number(operator.MaxPage)})
		mustHave(t, err)
		roomy, roomier := len(full.Intents), len(full.Audit) // as many as a page has room for
		if roomy < 2*operator.DefaultPage || roomier < 2*operator.DefaultPage || roomy > operator.MaxPage || roomier > operator.MaxPage {
			t.Fatalf("a page holds %d intents and %d lines", roomy, roomier)
		}
		for limit, want := range map[int64]int{-1: operator.DefaultPage, 0: operator.DefaultPage, 1: 1, 100: 100, 101: 100, 1 << 62: 100} {
			state, err := w.State(ctx, w.Agent, operator.StateInput{Limit: &limit})
			if err != nil || len(state.Intents) != min(want, roomy) || len(state.Audit) != min(want, roomier) {
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
		for _, bad := range []string{"x", good + "=", good + "A", strings.ToUpper(good), " " + good, encode("s.1.0.0.0"), encode("s.1.-1.1.1"), encode("s.1.01.1.1"),
			encode("s.1.+1.1.1"), encode("s.1.9223372036854775808.1.1"), encode("s.1.1.1.1.1"), encode("i.1.1"), encode("t.1.1.1.1"), encode("s.01.1.1.1"), encode("s.1.1.1"),
			encode("s.1"), encode("s"), encode("s.1.1 or 1=1.1.1"), strings.Repeat("A", 10000), "\x00", "é"} {
			if _, err := w.State(ctx, w.Agent, operator.StateInput{Cursor: &bad}); !errors.Is(err, reason("invalid_cursor")) {
				t.Errorf("%.40q: %v", bad, err)
			}
		}
		const end = "9223372036854775807"
		for cursor, want := range map[string][3]bool{"": {true, true, true}, encode("s.1.1.1.1"): {}, encode("s.1." + end + ".0.0"): {true, false, false}, encode("s.1.0.0." + end): {false, false, true}} {
			state, err := w.State(ctx, w.Agent, operator.StateInput{Cursor: &cursor})
			if got := [3]bool{len(state.Intents) > 0, cursor == "" || len(state.Decisions) > 0, len(state.Audit) > 0}; err != nil || got != want || state.NextCursor != nil || state.Decisions == nil {
				t.Errorf("%q: %v, %v, %v", cursor, got, state.NextCursor, err)
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
