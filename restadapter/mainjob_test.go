package restadapter

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reeve-go/reeve/operator"
)

type page struct {
	Intents    []intent `json:"intents"`
	NextCursor *string  `json:"next_cursor"`
}

type claimed struct {
	Job *struct {
		Intent       intent `json:"intent"`
		FencingToken int64  `json:"fencing_token"`
	} `json:"job"`
}

// The whole of it: an agent records, a person countersigns what they saw, a
// worker carries it out once.
func TestTheMainJob(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		in := h.record(renewal)
		if in.Status != "pending_approval" || in.PolicyDecision != "requires_approval" || len(in.PolicyReasons) == 0 || in.ApprovalDecisionID != nil {
			t.Errorf("recorded as %+v", in)
		}
		if !in.Created || len(in.Affordances) != 4 || !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(in.Key) {
			t.Errorf("recorded as %+v", in)
		}
		var again intent
		h.as(operator.KindAgent, "POST", "/v1/intents", renewal).is(t, http.StatusOK, &again)
		if again.ID != in.ID || again.Created {
			t.Errorf("the same again is %+v", again)
		}
		var waiting page
		h.as(operator.KindHuman, "GET", "/v1/intents?status=pending_approval&limit=5", "").is(t, 200, &waiting)
		if len(waiting.Intents) != 1 || waiting.Intents[0].Digest != in.Digest {
			t.Fatalf("waiting: %+v", waiting)
		}
		var approved intent
		h.as(operator.KindHuman, "POST", act(in.ID, "approve"), digest(in)).is(t, 200, &approved)
		if approved.Status != "approved" || approved.DecidedBy != "human:owner" || approved.ApprovalDecisionID == nil || len(approved.Affordances) != 0 {
			t.Errorf("approved as %+v", approved)
		}
		h.carryOut(in)
	})
}

// carryOut claims and reports an approved intent, and finds nothing more to do.
func (h *house) carryOut(in intent) {
	t := h.t
	t.Helper()
	var got, none claimed
	h.as(operator.KindWorker, "POST", "/v1/work/claim", `{"types":["spend"]}`).is(t, 200, &got)
	if got.Job == nil || got.Job.Intent.ID != in.ID || got.Job.Intent.Digest != in.Digest {
		t.Fatalf("claimed %+v", got)
	}
	h.as(operator.KindWorker, "POST", "/v1/work/claim", `{"types":["spend"]}`).is(t, 200, &none)
	if none.Job != nil {
		t.Errorf("claimed twice: %+v", none)
	}
	path := fmt.Sprintf("/v1/work/%d/report", in.ID)
	h.as(operator.KindWorker, "POST", path, fmt.Sprintf(`{"fencing_token":%d,"status":"succeeded"}`, got.Job.FencingToken+1)).refused(t, 409, "stale_fencing_token")
	var done intent
	h.as(operator.KindWorker, "POST", path, fmt.Sprintf(`{"fencing_token":%d,"status":"succeeded","outcome":"paid"}`, got.Job.FencingToken)).is(t, 200, &done)
	if done.Status != "succeeded" || done.Outcome != "paid" {
		t.Errorf("reported as %+v", done)
	}
	h.as(operator.KindAgent, "GET", fmt.Sprintf("/v1/intents/%d", in.ID), "").is(t, 200, &done)
	if done.Status != "succeeded" {
		t.Errorf("the agent sees %+v", done)
	}
}

func TestAStaleDigestIsAnsweredWithTheContentAsItIs(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		in := h.record(renewal)
		for _, d := range []string{`{"digest":"` + strings.Repeat("0", 64) + `"}`, `{"digest":""}`, `{"digest":"` + strings.ToUpper(in.Digest) + `"}`} {
			watch(t, h.world).onlyRefused(t, func() {
				e := h.as(operator.KindHuman, "POST", act(in.ID, "approve"), d).refused(t, 409, "digest_mismatch")
				present, _ := e.Error.Details["present"].(map[string]any)
				if present["digest"] != in.Digest || present["title"] != "Annual plan renewal" || present["payload"] == nil {
					t.Errorf("the content as it is now is missing: %v", e.Error.Details)
				}
			})
		}
	})
}

func TestOfManyWhoJudgeAtOnceOneWinsAndTheOthersAreToldWho(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		const many = 16
		in := h.record(renewal)
		replies := make([]reply, many)
		var all sync.WaitGroup
		for i := range many {
			all.Go(func() {
				replies[i] = h.as(operator.KindHuman, "POST", act(in.ID, []string{"approve", "reject"}[i%2]), digest(in))
			})
		}
		all.Wait()
		won := 0
		for _, r := range replies {
			if r.status == 200 {
				won++
				continue
			}
			e := r.refused(t, 409, "already_settled")
			if e.Error.Details["settled_by"] != "human:owner" || e.Error.Details["settled_at"] == nil {
				t.Errorf("not told by whom and when: %s", r.body)
			}
		}
		if won != 1 {
			t.Errorf("%d won, want 1", won)
		}
	})
}

func TestAPageEndsWhereTheNextBegins(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		var want, got []int64
		for i := range 7 {
			want = append(want, h.record(fmt.Sprintf(`{"action":{"type":"note","title":"%d"}}`, i)).ID)
		}
		slices.Reverse(want)
		for path := "/v1/intents?limit=3"; ; {
			var p page
			h.as(operator.KindAgent, "GET", path, "").is(t, 200, &p)
			for _, in := range p.Intents {
				got = append(got, in.ID)
			}
			if p.NextCursor == nil {
				break
			}
			path = "/v1/intents?limit=3&cursor=" + *p.NextCursor
		}
		if !slices.Equal(got, want) {
			t.Errorf("paged %v, want %v", got, want)
		}
	})
}

// Numbers and words go to the store as the caller wrote them.
func TestABodyIsNotWrittenAgainOnItsWay(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		in := h.record(`{"action":{"type":"send","title":"é & <b>","amount_cents":9007199254740991,"data":{"b":1.50,"a":[1e2,"\u00e9"]}}}`)
		r := h.as(operator.KindHuman, "GET", fmt.Sprintf("/v1/intents/%d", in.ID), "")
		for _, want := range []string{`"amount_cents": 9007199254740991`, `"title": "é & <b>"`, `1.50`, `1e2`} {
			if !strings.Contains(string(r.body), want) {
				t.Errorf("%s is not in %s", want, r.body)
			}
		}
		h.as(operator.KindHuman, "POST", act(in.ID, "edit"), `{"digest":"`+in.Digest+`","action":{"type":"send","title":"shorter","amount_cents":9007199254740990}}`).is(t, 200, &in)
		if in.Status != "approved" {
			t.Errorf("edited as %+v", in)
		}
	})
}
