package powers_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

// mutation is a row of either table that changes something, with a call that works.
type mutation struct {
	name   string
	caller powers.Caller
	raw    string
	run    func(context.Context, powers.Caller, string) powers.Answer
}

// mutations makes a call of every one of them. Each is made when it is asked for,
// since an earlier one can be in its way.
func (w *world) mutations() (out []func() mutation) {
	for _, tool := range w.Tools() {
		if tool.ReadOnly() {
			continue
		}
		out = append(out, func() mutation {
			c := w.full(operator.KindAgent)
			return mutation{tool.Name, c, text(w.args(c, tool)), func(ctx context.Context, c powers.Caller, raw string) powers.Answer {
				return w.Call(ctx, c, tool.Name, []byte(raw))
			}}
		})
	}
	for _, a := range w.Acts() {
		if a.ReadOnly() {
			continue
		}
		out = append(out, func() mutation {
			c := w.full(a.Kinds[0])
			return mutation{a.Name, c, text(w.doable(c, a)), func(ctx context.Context, c powers.Caller, raw string) powers.Answer {
				return w.CallAct(ctx, c, a, []byte(raw))
			}}
		})
	}
	return out
}

// doable is arguments with which an act works, whatever has to be there first.
func (w *world) doable(c powers.Caller, a *powers.Act) map[string]any {
	w.t.Helper()
	args := w.actArgs(a)
	set := func(query string) {
		if _, err := w.raw.Exec(query, args["id"]); err != nil {
			w.t.Fatal(err)
		}
	}
	held := fmt.Sprintf(`status = 'executing', lease_holder = '%s', fencing_token = 1, claimed_from = 'approved', lease_until = 9000000000000000`, c.Principal.ID())
	switch a.Path[strings.LastIndex(a.Path, "/"):] {
	case "/settle":
		set(`update reeve_intents set status = 'unknown' where id = $1`)
	case "/reissue":
		set(`update reeve_intents set status = 'rejected', settled_by = 'human:owner', settled_at = 1 where id = $1`)
	case "/extend", "/report":
		set(`update reeve_intents set ` + held + ` where id = $1`)
		args["fencing_token"] = 1
	}
	return args
}

func keyed(t *testing.T, key string) context.Context {
	return operator.WithIdempotencyKey(t.Context(), key)
}

func (w *world) stored() string {
	w.t.Helper()
	return w.query(`select count(*) from reeve_idempotency`)[0][0]
}

func TestAMutationUnderAKeyIsDoneOnceAndAnsweredAlike(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		all := w.mutations()
		if len(all) < 15 {
			t.Fatalf("only %d mutations: the sweep is blind", len(all))
		}
		for i, make := range all {
			m := make()
			t.Run(m.name, func(t *testing.T) {
				ctx := keyed(t, fmt.Sprintf("key-%d", i))
				m.caller.Face = []powers.Face{powers.FaceMCP, powers.FaceREST, powers.FaceLibrary}[i%3]
				first := m.run(ctx, m.caller, m.raw)
				if !first.OK || first.Replayed {
					t.Fatalf("the first call: %s", first.JSON)
				}
				before, n := w.digest(), w.lines()
				for _, face := range []powers.Face{powers.FaceMCP, powers.FaceREST, powers.FaceLibrary} {
					c := m.caller
					c.Face, c.RequestID = face, "another"
					again := m.run(ctx, c, " "+m.raw+" ") // the same arguments, written otherwise
					if !again.OK || !again.Replayed || again.Status != first.Status || !bytes.Equal(again.JSON, first.JSON) {
						t.Errorf("again over %s: %+v %s\nfirst %s", face, again, again.JSON, first.JSON)
					}
				}
				if w.digest() != before || w.lines() != n {
					t.Error("a repetition changed something")
				}
				other := read(t, m.run(ctx, m.caller, strings.Replace(m.raw, "{", `{"note":"another",`, 1)))
				other.wants(t, "idempotency_key_reused")
				if other.Status != 409 || other.env.Layer != "state" || other.env.Verdict != "deny" {
					t.Errorf("%s", other.JSON)
				}
				if w.digest() != before || w.lines() != n+1 {
					t.Error("what was refused changed something, or is not on record")
				}
			})
		}
		m, ctx := all[0](), keyed(t, "key-2")
		read(t, m.run(ctx, w.full(operator.KindAgent), m.raw)).wants(t, "idempotency_key_reused") // another tool's key
	})
}

func TestARefusalUnderAKeyStoresNothing(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		c, ctx := w.full(operator.KindAgent), keyed(t, "k")
		next := w.intent(c).ID + 1
		raw := fmt.Sprintf(`{"id":%d,"status":"cancelled"}`, next)
		for n := 1; n <= 2; n++ {
			r := read(t, w.Call(ctx, c, w.moving().Name, []byte(raw)))
			r.wants(t, "not_found")
			r.isTime(t, n, false)
		}
		if w.stored() != "0" {
			t.Fatal("a refusal was stored")
		}
		if in := w.intent(c); in.ID < next {
			t.Fatalf("intent %d", in.ID)
		} else {
			raw = fmt.Sprintf(`{"id":%d,"status":"cancelled"}`, in.ID)
		}
		if r := read(t, w.Call(ctx, c, w.moving().Name, []byte(raw))); !r.OK || r.Replayed {
			t.Errorf("the key is not free for what can be done: %s", r.JSON)
		}
	})
}

func TestAnAnswerIsGivenAgainWhateverHasChanged(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		c, ctx := w.full(operator.KindAgent), keyed(t, "k")
		raw := []byte(`{"action":{"type":"spend","title":"Plan","amount_cents":4900}}`)
		route := &w.recording().Routes[0]
		first := w.CallRoute(ctx, c, w.recording().Name, route, raw)
		var in operator.Intent
		decode(t, first.JSON, &in)
		w.do(w.full(operator.KindHuman), w.act("/reject"), fmt.Sprintf(`{"id":%d,"digest":%q}`, in.ID, in.Digest))
		w.Clock.Advance(23 * time.Hour)
		again := w.CallRoute(ctx, c, w.recording().Name, route, raw)
		if !again.Replayed || again.Status != 201 || !bytes.Equal(again.JSON, first.JSON) {
			t.Errorf("%d %s", again.Status, again.JSON)
		}
		withActor := w.CallRoute(ctx, c, w.recording().Name, route, []byte(strings.Replace(string(raw), "{", `{"actor":"somebody",`, 1)))
		if !withActor.Replayed {
			t.Errorf("an actor, which is thrown away, makes it another call: %s", withActor.JSON)
		}
	})
}

func TestAKeyIsForgottenAfterADay(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		c := w.full(operator.KindAgent)
		try := func(title string) reply {
			t.Helper()
			return read(t, w.Call(keyed(t, "k"), c, w.recording().Name, []byte(`{"action":{"type":"note","title":"`+title+`"}}`)))
		}
		begin := w.Clock.Now()
		if r := try("one"); !r.OK {
			t.Fatalf("%s", r.JSON)
		}
		w.Clock.Set(begin.Add(24*time.Hour - time.Microsecond))
		try("two").wants(t, "idempotency_key_reused")
		w.Clock.Set(begin.Add(24 * time.Hour))
		if r := try("two"); !r.OK || r.Replayed {
			t.Errorf("a day later the key is not free: %s", r.JSON)
		}
		if w.stored() != "1" {
			t.Error("the old answer is still there")
		}
		w.Clock.Advance(24*time.Hour - time.Microsecond)
		sweep := func(left string) {
			t.Helper()
			if _, err := w.Sweep(t.Context()); err != nil || w.stored() != left {
				t.Errorf("%s answers after a sweep, want %s: %v", w.stored(), left, err)
			}
		}
		sweep("1")
		w.Clock.Advance(time.Microsecond)
		sweep("0")
	})
}

func TestSixteenAtOnceWithOneKeyAreOneCall(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		there, err := powers.New(w.Again(t, nil))
		if err != nil {
			t.Fatal(err)
		}
		c := w.full(operator.KindHuman)
		act, n := w.act("/comments"), w.lines()
		answers := make([]powers.Answer, 16)
		var all sync.WaitGroup
		for i := range answers {
			s := []*powers.Schedule{w.Schedule, there}[i%2]
			all.Go(func() { answers[i] = s.CallAct(keyed(t, "k"), c, act, []byte(`{"text":"once"}`)) })
		}
		all.Wait()
		replayed := 0
		for _, a := range answers {
			if !a.OK || !bytes.Equal(a.JSON, answers[0].JSON) {
				t.Errorf("%s", a.JSON)
			}
			if a.Replayed {
				replayed++
			}
		}
		if replayed != 15 || w.query(`select count(*) from reeve_comments`)[0][0] != "1" || w.lines() != n+1 {
			t.Errorf("%d were repetitions, and there are %s comments", replayed, w.query(`select count(*) from reeve_comments`)[0][0])
		}
	})
}

func TestAnotherPrincipalsSameKeyIsItsOwn(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		if _, err := w.AddProject(t.Context(), "", "other"); err != nil {
			t.Fatal(err)
		}
		person := func(project string) powers.Caller {
			m := w.Mint(t, operator.NewCredential{Kind: operator.KindHuman, Name: "in-" + project, Person: "owner", Project: project, Scopes: operator.Scopes()})
			c, refused := w.Authenticate(t.Context(), powers.Presented{Authorization: []string{"Bearer " + m.Token}, Face: powers.FaceREST})
			if refused != nil {
				t.Fatalf("%s", refused.JSON)
			}
			return c
		}
		// An agent, a worker, and one person in two projects.
		for i, c := range []powers.Caller{w.full(operator.KindAgent), w.full(operator.KindWorker), person("default"), person("other")} {
			r := read(t, w.Call(keyed(t, "k"), c, w.recording().Name, fmt.Appendf(nil, `{"action":{"type":"note","title":"n%d"}}`, i)))
			if !r.OK || r.Replayed {
				t.Errorf("%d: %s", i, r.JSON)
			}
		}
	})
}

func TestAKeyIsHeldToItsForm(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	c := w.full(operator.KindAgent)
	token := w.token(operator.KindAgent, operator.Scopes()...)
	before := w.digest()
	for name, keys := range map[string][]string{
		"empty": {""}, "a space": {"a b"}, "a tab": {"a\tb"}, "a NUL": {"a\x00"}, "a letter that is not ASCII": {"é"}, "DEL": {"\x7f"},
		"256 characters": {strings.Repeat("k", 256)}, "twice": {"a", "a"}, "two": {"a", "b"}, "a credential and a space": {token + " "},
	} {
		r := read(t, w.Call(powers.WithIdempotencyKeys(t.Context(), keys), c, w.recording().Name, []byte(`{"action":{"type":"note","title":"n"}}`)))
		r.wants(t, "invalid_value")
		if r.Status != 400 || gives(string(r.JSON), token) != "" {
			t.Errorf("%s: %s", name, r.JSON)
		}
	}
	if w.digest() != before {
		t.Error("something changed")
	}
	for _, key := range []string{"k", "!", "~", `"quoted"`, strings.Repeat("k", 255), token} {
		if r := read(t, w.Call(keyed(t, key), c, w.recording().Name, fmt.Appendf(nil, `{"action":{"type":"note","title":%q}}`, "n"+key[:1]))); !r.OK {
			t.Errorf("%q: %s", key, r.JSON)
		}
	}
	for _, row := range w.query(`select * from reeve_idempotency`) {
		if gives(strings.Join(row, " "), token) != "" {
			t.Errorf("the key itself is stored: %v", row)
		}
	}
	// A read has nothing to repeat, and looks at no key.
	if r := read(t, w.Call(keyed(t, "not ok"), c, w.looking().Name, []byte(`{}`))); !r.OK {
		t.Errorf("%s", r.JSON)
	}
}

// A person's act is answered once it is sealed, and so is its repetition: what was
// not sealed in time stands, and its answer is kept.
func TestARepeatedActIsAnsweredOnceItIsSealed(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, &operator.Options{AuditKey: filepath.Join(t.TempDir(), "audit.key")})
		c := w.full(operator.KindHuman)
		in := w.intent(w.full(operator.KindAgent))
		raw := fmt.Appendf(nil, `{"id":%d,"digest":%q}`, in.ID, in.Digest)
		first := w.CallAct(keyed(t, "k"), c, w.act("/approve"), raw)
		audit := w.query(`select audit_id from reeve_idempotency`)[0][0]
		isSealed := func() bool {
			return w.query(`select count(*) from reeve_audit where id = ` + audit + ` and seq is not null and status_to = 'approved'`)[0][0] == "1"
		}
		if !first.OK || !isSealed() {
			t.Fatalf("%s, and row %s is not sealed", first.JSON, audit)
		}
		// As if the process had ended between the commit and the seal.
		for _, query := range []string{`update reeve_audit set seq = null`, `delete from reeve_logs`} {
			if _, err := w.raw.Exec(query); err != nil {
				t.Fatal(err)
			}
		}
		if again := w.CallAct(keyed(t, "k"), c, w.act("/approve"), raw); !again.Replayed || !bytes.Equal(again.JSON, first.JSON) || !isSealed() {
			t.Errorf("%s", again.JSON)
		}
	})
}

// A window that is found to be over is on record, though the call that found it is
// rolled back whole.
func TestALapseThatAKeyedActFoundIsRecorded(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		in := w.intent(w.full(operator.KindAgent))
		w.Clock.Advance(24 * time.Hour)
		raw := fmt.Appendf(nil, `{"id":%d,"digest":%q}`, in.ID, in.Digest)
		read(t, w.CallAct(keyed(t, "k"), w.full(operator.KindHuman), w.act("/approve"), raw)).wants(t, "window_lapsed")
		if got := w.query(`select status from reeve_intents where id = $1`, in.ID)[0][0]; got != "expired" || w.stored() != "0" {
			t.Errorf("it is %s, %s answers are stored", got, w.stored())
		}
	})
}
