package powers_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/internal/core"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

// onlyAPerson says that an envelope leaves one way on: to tell somebody.
func onlyAPerson(r reply) bool {
	return len(r.env.Recovery) == 1 && r.env.Recovery[0].Kind == "escalate_to_human" && r.env.Recovery[0].HumanAction != "" && len(r.env.Alternatives) == 0
}

func (r reply) isTime(t *testing.T, n int, escalates bool) {
	t.Helper()
	if r.env.Repeat != n || onlyAPerson(r) != escalates {
		t.Errorf("want time %d, a person alone %v; got %s", n, escalates, r.JSON)
	}
}

func TestTheThirdIdenticalRefusalOffersAPersonAlone(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		c := w.full(operator.KindAgent)
		for _, tool := range w.Tools() {
			for n := 1; n <= 4; n++ {
				w.call(c, tool, `{"zz":1}`).isTime(t, n, n >= 3)
			}
			// A call that works is not in the way of the count, and does not end it.
			if r := w.call(c, tool, text(w.args(c, tool))); !r.OK {
				t.Fatalf("%s", r.JSON)
			}
			w.call(c, tool, `{"zz":1}`).isTime(t, 5, true)
		}
		for _, a := range w.Acts() {
			for n := 1; n <= 4; n++ {
				w.do(w.full(a.Kinds[0]), a, `{"zz":1}`).isTime(t, n, n >= 3)
			}
		}
	})
}

func TestIdenticalMeansTheSameArgumentsHoweverTheyAreWritten(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	c, tool := w.full(operator.KindAgent), w.moving()
	for i, raw := range []string{`{"id":99,"status":"cancelled"}`, ` { "status" : "cancelled", "id": 99 } `, `{"st\u0061tus":"cancelled","id":99}`, `{"id":9.9e1,"status":"cancelled"}`} {
		if i == 3 { // another literal for the same number is refused for another reason
			w.call(c, tool, raw).isTime(t, 1, false)
			continue
		}
		w.call(c, tool, raw).isTime(t, i+1, i == 2)
	}
	for _, other := range []string{`{"id":98,"status":"cancelled"}`, `{"id":99,"status":"cancelled","outcome":""}`} {
		w.call(c, tool, other).isTime(t, 1, false)
	}
}

func TestTheTenthRefusalForOneReasonOffersAPersonAloneWhateverTheArguments(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		c, tool := w.full(operator.KindAgent), w.moving()
		for n := 1; n <= 12; n++ {
			w.call(c, tool, fmt.Sprintf(`{"id":%d,"status":"cancelled"}`, 1000+n)).isTime(t, 1, n >= 10)
		}
		// For another reason, tool or principal nothing has happened yet.
		w.call(c, tool, `{"id":1,"status":"x"}`).isTime(t, 1, false)
		w.call(c, w.looking(), `{"intent_id":5000}`).isTime(t, 1, false)
		w.call(w.as(operator.KindAgent, operator.ScopeIntentsWrite), tool, `{"id":5000,"status":"cancelled"}`)
		other := w.call(w.full(operator.KindWorker), tool, `{"id":1001,"status":"cancelled"}`)
		other.isTime(t, 1, false)
	})
}

func TestRefusalsAreCountedAcrossFacesAndProcesses(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		there := operatortest.Open(t, w.Where, &operator.Options{Clock: w.Clock})
		second, err := powers.New(there)
		if err != nil {
			t.Fatal(err)
		}
		c, tool := w.full(operator.KindAgent), w.moving()
		n := 0
		for _, s := range []*powers.Schedule{w.Schedule, second, w.Schedule, second} {
			for _, face := range []powers.Face{powers.FaceMCP, powers.FaceREST, powers.FaceLibrary} {
				n++
				c.Face, c.RequestID, c.ToolPrefix = face, fmt.Sprint("req-", n), map[bool]string{true: "acme_"}[n%2 == 0]
				read(t, s.Call(t.Context(), c, tool.Name, []byte(`{"id":99,"status":"cancelled"}`))).isTime(t, n, n >= 3)
			}
		}
	})
}

func TestTwoProjectsAndTwoPrincipalsAreCountedApart(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	if err := w.AddAccount(t.Context(), "other", "", ""); err != nil {
		t.Fatal(err)
	}
	tool := w.moving()
	for _, m := range []operator.Minted{
		w.Mint(t, operator.NewCredential{Kind: operator.KindAgent, Name: "same", Scopes: operator.Scopes()}),
		w.Mint(t, operator.NewCredential{Kind: operator.KindAgent, Name: "same", Account: "other", Scopes: operator.Scopes()}),
		w.Mint(t, operator.NewCredential{Kind: operator.KindWorker, Name: "same", Scopes: operator.Scopes()}),
	} {
		c, refused := w.Authenticate(t.Context(), powers.Presented{Authorization: []string{"Bearer " + m.Token}})
		if refused != nil {
			t.Fatalf("%s", refused.JSON)
		}
		for n := 1; n <= 3; n++ {
			w.call(c, tool, `{"id":99,"status":"cancelled"}`).isTime(t, n, n == 3)
		}
	}
}

func TestOutagesAndNobodysRefusalsAreNotCounted(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		c := w.full(operator.KindAgent)
		for range 12 {
			for _, reason := range []core.Reason{core.ReasonUnavailable, core.ReasonInternal, core.ReasonVersionRace} {
				r := w.refuse(c, "test_action", core.Refuse(reason, "Later."))
				r.isTime(t, 1, false)
				if r.env.Recovery[0].Kind != "retry_after" {
					t.Errorf("%s", r.JSON)
				}
			}
			r := w.refuse(powers.Caller{Face: powers.FaceMCP}, "test_action", core.Refuse(core.ReasonCredentialInQuery, "Not there."))
			r.isTime(t, 1, false)
		}
		// The outages above do not count towards a decision for the same action.
		w.refuse(c, "test_action", core.Refuse(core.ReasonNotJSON, "No.")).isTime(t, 1, false)
	})
}

func TestRefusalsAreForgottenAfterADay(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		c := w.full(operator.KindAgent)
		try := func(n int, escalates bool) {
			t.Helper()
			w.call(c, w.moving(), `{"id":99,"status":"cancelled"}`).isTime(t, n, escalates)
		}
		begin := w.Clock.Now()
		try(1, false)
		try(2, false)
		w.Clock.Set(begin.Add(24*time.Hour - time.Microsecond))
		try(3, true)
		w.Clock.Set(begin.Add(24 * time.Hour))
		try(2, false) // the one a microsecond ago, and this one
		w.Clock.Set(begin.Add(72 * time.Hour))
		try(1, false)
	})
}

// However many come at once, each is on record, and the next one knows of all.
func TestRefusalsThatComeAtOnceAreAllCounted(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		c, tool := w.full(operator.KindAgent), w.moving()
		n := w.lines()
		var all sync.WaitGroup
		answers := make([]powers.Answer, 16)
		for i := range answers {
			all.Go(func() { answers[i] = w.Call(t.Context(), c, tool.Name, []byte(`{"id":99,"status":"cancelled"}`)) })
		}
		all.Wait()
		if len(w.since(n)) != len(answers) {
			t.Errorf("%d of %d are on record", len(w.since(n)), len(answers))
		}
		if slices.ContainsFunc(answers, func(a powers.Answer) bool { return a.Reason != operator.ReasonNotFound }) {
			t.Error("one was refused for something else")
		}
		w.call(c, tool, `{"id":99,"status":"cancelled"}`).isTime(t, 17, true)
	})
}

// Who is named as the actor is thrown away; what is null is absent; an integer's text is
// the number: none of it makes another call of the same one, for the count, for the
// record or for an idempotency key.
func TestWhatDoesNotCountMakesNoOtherCall(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		c, tool := w.full(operator.KindAgent), w.moving()
		n := w.lines()
		for i, raw := range []string{`{"id":99,"status":"cancelled"}`, `{"id":99,"status":"cancelled","actor":"ana"}`, `{"actor":{"kind":7},"id":"99","status":"cancelled"}`,
			`{"id":99,"status":"cancelled","outcome":null,"fencing_token":null,"actor":null}`} {
			w.call(c, tool, raw).isTime(t, i+1, i >= 2)
		}
		digests := map[string]bool{}
		for _, l := range w.since(n) {
			digests[l.argsDigest] = true
		}
		if len(digests) != 1 {
			t.Errorf("the record has them as %d different calls", len(digests))
		}
		for _, other := range []string{`{"id":"099","status":"cancelled"}`, `{"id":99,"status":"cancelled","outcome":"null"}`, `{"id":99,"status":"failed","outcome":null}`, `{"id":99,"status":"cancelled","zz":null}`} {
			w.call(c, tool, other).isTime(t, 1, false)
		}
		act := w.act("/approve")
		for i, raw := range []string{`{"id":99,"digest":"x"}`, `{"id":"99","digest":"x"}`, `{"id":99,"digest":"x","note":null}`} {
			w.do(w.full(operator.KindHuman), act, raw).isTime(t, i+1, i >= 2)
		}
	})
}

// What an action holds for its executor is open: there null is something.
func TestNullWithinDataCounts(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	c, tool := w.full(operator.KindAgent), w.recording()
	for _, data := range []string{`{}`, `{"a":null}`, `{"a":"1"}`, `{"a":1}`} {
		w.call(c, tool, `{"action":{"type":"note","title":"","data":`+data+`}}`).isTime(t, 1, false)
	}
	w.call(c, tool, `{"run_id":null,"action":{"type":"note","title":"","body":null,"data":{"a":1}}}`).isTime(t, 2, false)
}
