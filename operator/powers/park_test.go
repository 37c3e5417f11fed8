package powers_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

// deciding is what a person does about a parked call.
func (w *world) deciding(verb string) *powers.Act {
	w.t.Helper()
	for _, a := range w.Acts() {
		if a.Path == "/v1/approvals/{id}/"+verb {
			return a
		}
	}
	w.t.Fatalf("no act %ss a parked call", verb)
	return nil
}

// ask calls a row that parks, and gives the approval that it waits for.
func (w *world) ask(c powers.Caller, tool, raw string) operator.ApprovalInfo {
	w.t.Helper()
	r := w.call(c, w.named(tool), raw)
	if r.env.Verdict != "park" {
		w.t.Fatalf("%s is not parked: %s", raw, r.JSON)
	}
	return w.poll(c, r.env.Recovery[0].ApprovalID)
}

func (w *world) poll(c powers.Caller, id int64) operator.ApprovalInfo {
	w.t.Helper()
	r := w.call(c, w.row("GET", "/v1/approvals/{id}"), fmt.Sprintf(`{"approval_id":%d}`, id))
	if !r.OK {
		w.t.Fatalf("approval %d: %s", id, r.JSON)
	}
	var out operator.ApprovalInfo
	if err := json.Unmarshal(r.JSON, &out); err != nil {
		w.t.Fatal(err)
	}
	return out
}

func decision(a operator.ApprovalInfo) string {
	return fmt.Sprintf(`{"id":%d,"digest":%q}`, a.ID, a.Digest)
}

func TestACallThatAPersonMustCompleteIsKept(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		rows := w.withRows()
		c, tool := w.full(operator.KindAgent), w.named("test_ask")
		if r := w.call(c, tool, pay(9, "")); !r.OK || rows.handled.Load() != 1 {
			t.Fatalf("what needs nobody: %s", r.JSON)
		}
		n := w.lines()
		r := w.call(c, tool, pay(10, ""))
		if r.env.Verdict != "park" || r.IsError || r.Status != 202 || r.env.Reason != "approval_required" || rows.handled.Load() != 1 {
			t.Fatalf("%s", r.JSON)
		}
		step := r.env.Recovery[0]
		want := w.Clock.Now().Add(24 * time.Hour).Format(time.RFC3339)
		if len(r.env.Recovery) != 1 || step.Kind != "wait_for_approval" || step.ApprovalID == 0 || step.ExpiresAt != want || step.OnExpiry != "deny" || step.Tool != w.row("GET", "/v1/approvals/{id}").Name {
			t.Errorf("%+v", step)
		}
		if l := w.since(n); len(l) != 1 || l[0].verdict != "park" || l[0].reason != "approval_required" || l[0].action != tool.Name || l[0].principal != c.Principal.ID() {
			t.Errorf("the record says %+v", l)
		}
		// The same call, however it is written, is the same one; another is another.
		if again := w.call(c, tool, ` { "amount_cents" : 10 } `); again.env.Recovery[0].ApprovalID != step.ApprovalID || again.env.Repeat != 1 {
			t.Errorf("%s", again.JSON)
		}
		if other := w.call(c, tool, pay(11, "")); other.env.Recovery[0].ApprovalID == step.ApprovalID {
			t.Errorf("%s", other.JSON)
		}
		if got := w.query(`select count(*) from reeve_outbox where topic = 'approval.pending'`)[0][0]; got != "2" {
			t.Errorf("%s notices", got)
		}
		if got := w.poll(c, step.ApprovalID); got.Status != "pending" || got.Arguments != pay(10, "") || got.Tool != tool.Name || got.RequestedBy != c.Principal.ID() {
			t.Errorf("%+v", got)
		}
	})
}

func TestTheDecisionCarriesTheCallOutOnce(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		rows := w.withRows()
		c, owner := w.full(operator.KindAgent), w.full(operator.KindHuman)
		kept := w.ask(c, "test_ask", pay(10, ""))
		for _, digest := range []string{"", "x", w.ask(c, "test_ask", pay(11, "")).Digest} {
			w.refuses(t, digest, owner, "digest_mismatch", nil, func() reply {
				return w.do(owner, w.deciding("approve"), fmt.Sprintf(`{"id":%d,"digest":%q}`, kept.ID, digest))
			})
		}
		r := w.do(owner, w.deciding("approve"), decision(kept))
		if !r.OK || rows.handled.Load() != 1 {
			t.Fatalf("%s", r.JSON)
		}
		got := w.poll(c, kept.ID)
		if got.Status != "done" || got.Result == nil || !strings.Contains(string(*got.Result), `"paid": 10`) || *got.DecidedBy != "human:owner" {
			t.Errorf("%+v", got)
		}
		for _, verb := range []string{"approve", "reject"} {
			w.refuses(t, verb, owner, "already_settled", nil, func() reply { return w.do(owner, w.deciding(verb), decision(kept)) })
		}
		if rows.handled.Load() != 1 {
			t.Errorf("it ran %d times", rows.handled.Load())
		}
		// Once it is settled the same call is asked anew.
		if again := w.ask(c, "test_ask", pay(10, "")); again.ID == kept.ID || again.Digest != kept.Digest {
			t.Errorf("%+v", again)
		}
	})
}

func TestARejectedCallIsNeverCarriedOut(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		rows := w.withRows()
		c, owner := w.full(operator.KindAgent), w.full(operator.KindHuman)
		kept := w.ask(c, "test_ask", pay(10, ""))
		if r := w.do(owner, w.deciding("reject"), decision(kept)); !r.OK {
			t.Fatalf("%s", r.JSON)
		}
		w.do(owner, w.deciding("approve"), decision(kept)).wants(t, "already_settled")
		if got := w.poll(c, kept.ID); got.Status != "rejected" || rows.handled.Load() != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// Twelve decide at once, in two processes: one of them wins, and the call is
// carried out once or not at all.
func TestOfManyDecisionsAtOnceOneCounts(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		rows := w.withRows()
		there := w.scheduleOf(operatortest.Open(t, w.Where, &operator.Options{Clock: w.Clock}), rows)
		c, owner := w.full(operator.KindAgent), w.full(operator.KindHuman)
		for round := range 5 {
			kept, before := w.ask(c, "test_ask", pay(int64(10+round), "")), rows.handled.Load()
			var won atomic.Int64
			var all sync.WaitGroup
			for i := range 12 {
				s, verb := []*powers.Schedule{w.Schedule, there}[i%2], []string{"approve", "reject"}[i/2%2]
				act := w.deciding(verb)
				for _, a := range s.Acts() {
					if a.Name == act.Name {
						act = a
					}
				}
				all.Go(func() {
					switch a := s.CallAct(t.Context(), owner, act, []byte(decision(kept))); {
					case a.OK:
						won.Add(1)
					case a.Reason != "already_settled":
						t.Errorf("%s", a.JSON)
					}
				})
			}
			all.Wait()
			ran := rows.handled.Load() - before
			if got := w.poll(c, kept.ID); won.Load() != 1 || ran != map[string]int64{"done": 1, "rejected": 0}[got.Status] || got.Status == "approved" {
				t.Errorf("%d won, it ran %d times and is %s", won.Load(), ran, got.Status)
			}
		}
	})
}

func TestNobodyApprovesTheirOwnCall(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	rows := w.withRows()
	owner := w.full(operator.KindHuman)
	kept := w.ask(owner, "test_ask", pay(10, ""))
	w.refuses(t, "their own", owner, "own_request", nil, func() reply { return w.do(owner, w.deciding("approve"), decision(kept)) })
	ana, _ := w.NewPerson(t, "ana", operator.RoleMember)
	if got, err := w.ApproveParked(t.Context(), ana, operator.ApprovalInput{ID: kept.ID, Digest: kept.Digest}, w.Schedule); err != nil || got.Status != "done" || rows.handled.Load() != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	mine := w.ask(owner, "test_ask", pay(11, ""))
	if r := w.do(owner, w.deciding("reject"), decision(mine)); !r.OK {
		t.Errorf("taking one's own back: %s", r.JSON)
	}
}

func TestAWindowThatLapsesIsARefusal(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		rows := w.withRows()
		c, owner := w.full(operator.KindAgent), w.full(operator.KindHuman)
		kept, swept := w.ask(c, "test_ask", pay(10, "")), w.ask(c, "test_ask", pay(12, ""))
		begin := w.Clock.Now()
		w.Clock.Set(begin.Add(24 * time.Hour))
		if got := w.poll(c, kept.ID); got.Status != "expired" {
			t.Errorf("%+v", got)
		}
		w.do(owner, w.deciding("approve"), decision(kept)).wants(t, "window_lapsed")
		if n, err := w.Sweep(t.Context()); err != nil || n != 1 {
			t.Errorf("swept %d, %v", n, err)
		}
		w.Clock.Set(begin) // a clock that is set back opens no window
		for _, a := range []operator.ApprovalInfo{kept, swept} {
			w.do(owner, w.deciding("approve"), decision(a)).wants(t, "window_lapsed")
			if got := w.poll(c, a.ID); got.Status != "expired" {
				t.Errorf("%+v", got)
			}
		}
		last := w.ask(c, "test_ask", pay(13, ""))
		w.Clock.Set(begin.Add(24*time.Hour - time.Microsecond))
		if r := w.do(owner, w.deciding("approve"), decision(last)); !r.OK || rows.handled.Load() != 1 {
			t.Errorf("a microsecond before: %s", r.JSON)
		}
	})
}

// What was allowed when it was asked is judged again when it is carried out.
func TestAnApprovedCallIsJudgedByWhatStandsThen(t *testing.T) {
	for name, c := range map[string]struct {
		args    string
		between func(*world, operator.Minted)
		status  string
		reason  string
	}{
		"the kit was narrowed": {pay(10, ""), func(w *world, _ operator.Minted) {
			w.kit(operator.KitInput{Primitives: map[string]bool{"tasks": false}})
		}, "failed", "capability_denied"},
		"the credential was revoked": {pay(10, ""), func(w *world, m operator.Minted) {
			if err := w.RevokeCredential(w.t.Context(), "", m.ID); err != nil {
				w.t.Fatal(err)
			}
		}, "failed", "credential_revoked"},
		"the handler refuses":     {pay(10, `,"fail":"refused"`), nil, "failed", "not_found"},
		"the handler has no word": {pay(10, `,"fail":"outage"`), nil, "unknown", "unavailable"},
		"the handler panics":      {pay(10, `,"fail":"panic"`), nil, "unknown", "internal_error"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "sqlite", nil)
			rows := w.withRows()
			m := w.Mint(t, operator.NewCredential{Kind: operator.KindAgent, Name: "asker", Scopes: operator.Scopes()})
			asker := powers.Caller{Principal: w.Principal(t, m.Token), Face: powers.FaceREST, RequestID: "req-2"}
			kept := w.ask(asker, "test_ask", c.args)
			if c.between != nil {
				c.between(w, m)
			}
			r := w.do(w.full(operator.KindHuman), w.deciding("approve"), decision(kept))
			got := w.poll(w.full(operator.KindHuman), kept.ID)
			if !r.OK || got.Status != c.status || got.RefusedFor == nil || *got.RefusedFor != c.reason {
				t.Errorf("%+v: %s", got, r.JSON)
			}
			if ran := rows.handled.Load(); (ran == 0) != (c.between != nil) {
				t.Errorf("the handler ran %d times", ran)
			}
		})
	}
}

func TestAParkedSpendIsCountedWhenItIsCarriedOut(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	w.withRows()
	c, owner := w.full(operator.KindAgent), w.full(operator.KindHuman)
	w.call(c, w.named("test_order"), pay(60, "")).wants(t, "spending_not_granted")
	w.grant(c.Principal.ID(), cents(100))
	first, second := w.ask(c, "test_order", pay(60, "")), w.ask(c, "test_order", pay(50, ""))
	if w.used() != "0" {
		t.Errorf("waiting holds %s", w.used())
	}
	for _, a := range []operator.ApprovalInfo{first, second} {
		w.do(owner, w.deciding("approve"), decision(a))
	}
	if a, b := w.poll(c, first.ID), w.poll(c, second.ID); a.Status != "done" || b.Status != "failed" || *b.RefusedFor != "spending_limit_reached" || w.used() != "60" {
		t.Errorf("%+v\n%+v\nused %s", a, b, w.used())
	}
}

// A process that ends between the decision and the call leaves its end unknown;
// nobody carries it out a second time.
func TestACallWhoseProcessEndedIsUnknown(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		rows := w.withRows()
		c, owner := w.full(operator.KindAgent), w.full(operator.KindHuman)
		kept := w.ask(c, "test_ask", pay(10, ""))
		if _, err := w.raw.Exec(`update reeve_parked set status = 'approved', decided_by = 'human:owner', decided_at = $1 where id = $2`, w.Clock.Now().UnixMicro(), kept.ID); err != nil {
			t.Fatal(err)
		}
		w.do(owner, w.deciding("approve"), decision(kept)).wants(t, "already_settled")
		w.Clock.Set(w.Clock.Now().Add(10 * time.Minute))
		if _, err := w.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := w.poll(c, kept.ID); got.Status != "unknown" || rows.handled.Load() != 0 {
			t.Errorf("%+v", got)
		}
	})
}

func TestAnothersParkedCallIsAsAbsentAsOneThatNeverWas(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	w.withRows()
	kept := w.ask(w.full(operator.KindAgent), "test_ask", pay(10, ""))
	if _, err := w.AddProject(t.Context(), "", "other"); err != nil {
		t.Fatal(err)
	}
	elsewhere := w.Mint(t, operator.NewCredential{Kind: operator.KindAgent, Name: "elsewhere", Project: "other", Scopes: operator.Scopes()})
	for _, c := range []powers.Caller{w.as(operator.KindAgent, operator.ScopeStateRead), w.full(operator.KindWorker), {Principal: w.Principal(t, elsewhere.Token), Face: powers.FaceMCP}} {
		poll := w.row("GET", "/v1/approvals/{id}")
		theirs, never := w.call(c, poll, fmt.Sprintf(`{"approval_id":%d}`, kept.ID)), w.call(c, poll, `{"approval_id":99}`)
		if theirs.env.Reason != "not_found" || theirs.env.Message != never.env.Message {
			t.Errorf("%s %s", theirs.JSON, never.JSON)
		}
	}
	if r := w.do(w.full(operator.KindHuman), w.act("/approvals"), `{}`); !r.OK {
		t.Errorf("%s", r.JSON)
	}
}

// The tool that polls is every agent's, whatever the kit and over every face.
func TestApprovalsArePolledWhateverTheKit(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	off := map[string]bool{}
	for _, p := range operator.Primitives() {
		off[string(p)] = false
	}
	w.kit(operator.KitInput{Primitives: off})
	for _, face := range []powers.Face{powers.FaceMCP, powers.FaceREST, powers.FaceLibrary} {
		c := w.as(operator.KindAgent, operator.ScopeStateRead)
		c.Face = face
		seen := w.Visible(c.Principal, face)
		if len(seen) != 1 || !slices.ContainsFunc(seen[0].Routes, func(r powers.Route) bool { return r.Path == "/v1/approvals/{id}" }) {
			t.Errorf("over %s it sees %d tools", face, len(seen))
		}
	}
}

func TestOnlyWhatChangesSomethingMayPark(t *testing.T) {
	for class, may := range map[powers.Class]bool{powers.Read: false, powers.Write: true, powers.Gated: true, powers.Gate: false, powers.Brake: false} {
		row := powers.ParkRow(powers.Row(spec("test_class", class, powers.Board), (&testRows{}).pay), askFrom(1))
		if err := powers.Lint(row); (err == nil) != may {
			t.Errorf("a %s that parks: %v", class, err)
		}
	}
}

func TestNothingIsParkedThatNobodyCouldBeShown(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		w.withRows()
		c := w.full(operator.KindAgent)
		secret := "ghp_" + strings.Repeat("a1B2", 9)
		if r := w.call(c, w.named("test_ask"), pay(10, `,"to":"`+secret+`"`)); r.env.Reason != "bad_text" || strings.Contains(string(r.JSON), secret) {
			t.Errorf("%s", r.JSON)
		}
	})
}
