package powers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

// breaking is a tool that does its work within the call's transaction, and then
// fails as it is told to.
type breaking struct {
	op   *operator.Operator
	fail func()
	err  error
}

func (b *breaking) tool() powers.Tool {
	return powers.Row(powers.Spec{Name: "test_breaking", Title: "Break", What: "Records an intent and fails.", Class: powers.Write, Primitive: powers.Intents,
		Kinds: kinds()[1:2], Scopes: []operator.Scope{operator.ScopeIntentsWrite}, Routes: []powers.Route{{Method: "POST", Path: "/v1/breaking"}}},
		func(ctx context.Context, p operator.Principal, in operator.RecordIntentInput) (operator.Intent, error) {
			out, err := b.op.RecordIntent(ctx, p, in)
			if err == nil && b.fail != nil {
				b.fail()
			}
			if err == nil {
				err = b.err
			}
			return out, err
		})
}

func TestAfterAPanicNeitherTheMutationNorTheAnswerIsThere(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		b := &breaking{op: w.Operator}
		s, err := powers.WithRows(w.Operator, b.tool())
		if err != nil {
			t.Fatal(err)
		}
		c, before := w.full(operator.KindAgent), w.digest()
		raw := []byte(`{"action":{"type":"spend","title":"Plan","amount_cents":1}}`)
		ctx, gone := context.WithCancel(keyed(t, "k"))
		defer gone()
		for name, how := range map[string]struct {
			ctx  context.Context
			fail func()
			err  error
		}{
			"a panic":          {keyed(t, "k"), func() { panic("in the middle") }, nil},
			"an error":         {keyed(t, "k"), nil, fmt.Errorf("afterwards")},
			"a caller's leave": {ctx, gone, nil},
		} {
			b.fail, b.err = how.fail, how.err
			if a := s.Call(how.ctx, c, "test_breaking", raw); a.OK {
				t.Errorf("%s: %s", name, a.JSON)
			}
			if w.digest() != before {
				t.Errorf("%s: a part was kept", name)
			}
		}
		b.fail, b.err = nil, nil
		if a := s.Call(keyed(t, "k"), c, "test_breaking", raw); !a.OK || a.Replayed || !json.Valid(a.JSON) {
			t.Errorf("the key is not free: %s", a.JSON)
		}
	})
}

// killed is how the test tells its own child which database to work on, as whom, and
// when to end.
const killed = "REEVE_TEST_KILLED"

// A process that is killed leaves the mutation and its answer, or neither.
func TestAKilledProcessLeavesBothOrNeither(t *testing.T) {
	if how := os.Getenv(killed); how != "" {
		dieIn(t, strings.Split(how, "\n"))
		return
	}
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		b := &breaking{op: w.Operator}
		s, err := powers.WithRows(w.Operator, b.tool())
		if err != nil {
			t.Fatal(err)
		}
		c := w.full(operator.KindAgent)
		for i, when := range []string{"before", "after"} {
			child := exec.Command(os.Args[0], "-test.run=^TestAKilledProcessLeavesBothOrNeither$")
			child.Env = append(os.Environ(), killed+"="+strings.Join([]string{w.Where, w.token(operator.KindAgent, operator.Scopes()...), when}, "\n"))
			if out, err := child.CombinedOutput(); err == nil || strings.Contains(string(out), "FAIL") {
				t.Fatalf("the child was not killed: %s", out)
			}
			intents, answers := w.query(`select count(*) from reeve_intents`)[0][0], w.stored()
			if want := fmt.Sprint(i); intents != want || answers != want {
				t.Errorf("killed %s the commit: %s intents, %s answers", when, intents, answers)
			}
		}
		if a := s.Call(keyed(t, "after"), c, "test_breaking", toDieFor); !a.Replayed {
			t.Errorf("%s", a.JSON)
		}
		if a := s.Call(keyed(t, "before"), c, "test_breaking", toDieFor); !a.OK || a.Replayed {
			t.Errorf("%s", a.JSON)
		}
	})
}

var toDieFor = []byte(`{"action":{"type":"spend","title":"Plan","amount_cents":1}}`)

func dieIn(t *testing.T, how []string) {
	where, token, when := how[0], how[1], how[2]
	die := func() {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		t.Log(err)
		select {}
	}
	op := operatortest.Open(t, where, &operator.Options{Clock: operatortest.NewClock(operatortest.Start)})
	b := &breaking{op: op}
	if when == "before" {
		b.fail = die
	}
	s, err := powers.WithRows(op, b.tool())
	if err != nil {
		t.Fatal(err)
	}
	c, refused := s.Authenticate(t.Context(), powers.Presented{Authorization: []string{"Bearer " + token}})
	if refused != nil {
		t.Fatalf("%s", refused.JSON)
	}
	if a := s.Call(keyed(t, when), c, "test_breaking", toDieFor); a.OK {
		die()
	}
}
