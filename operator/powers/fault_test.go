package powers_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/internal/core"
	"github.com/reeve-go/reeve/operator/internal/sqlstore"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

// spoken is a value whose own words are a secret, however it is printed.
type spoken struct{ token string }

func (s spoken) Error() string  { return "it was " + s.token }
func (s spoken) String() string { return "it was " + s.token }

// shouts panics while it is printed.
type shouts struct{ token string }

func (s shouts) String() string { panic(s.token) }

// faulty is a row whose handler does what a test says.
type faulty struct {
	*world
	book   *logbook
	caller powers.Caller
	token  string
	handle func(context.Context) (any, error)
}

type anything struct {
	Value  any            `json:"-"`
	Number float64        `json:"number"`
	Raw    jsontext.Value `json:"raw"`
	Text   string         `json:"text"`
}

// withFaultyRow has one more tool and one more act, which run f.handle.
func withFaultyRow(t *testing.T, store string) (*faulty, *powers.Tool, *powers.Act) {
	t.Helper()
	f := &faulty{}
	f.world, f.book = logged(t, store)
	row := powers.Row(goodSpec(), func(ctx context.Context, _ operator.Principal, _ nothing) (anything, error) {
		out, err := f.handle(ctx)
		value, _ := out.(anything)
		return value, err
	})
	act := powers.PersonRow(powers.ActSpec{Name: "test_act", Title: "An act", What: "For a test.", Method: "POST", Path: "/v1/test-act",
		Scopes: []operator.Scope{operator.ScopeIntentsDecide}}, func(ctx context.Context, _ operator.Person, _ nothing) (anything, error) {
		out, err := f.handle(ctx)
		value, _ := out.(anything)
		return value, err
	})
	var err error
	if f.Schedule, err = powers.WithRows(f.Operator, row); err != nil {
		t.Fatal(err)
	}
	f.caller, f.token = f.full(operator.KindAgent), f.Mint(t, operator.NewCredential{Kind: operator.KindAgent, Name: "leaked"}).Token
	f.full(operator.KindHuman)
	return f, f.row("POST", "/v1/test"), act
}

// fails runs the handler by the tool and by the act, and holds both answers to an
// outage that says nothing, one row in the record, and nothing else changed.
func (f *faulty) fails(t *testing.T, name, reason string, tool *powers.Tool, act *powers.Act) {
	t.Helper()
	for way, try := range map[string]func() reply{
		"tool": func() reply { return f.call(f.caller, tool, `{}`) },
		"act":  func() reply { return f.do(f.full(operator.KindHuman), act, `{}`) },
	} {
		before, n, logged := f.digest(), f.lines(), len(f.book.String())
		r := try()
		r.wants(t, reason)
		if r.env.Verdict != "unavailable" || !r.IsError || r.Status != http.StatusServiceUnavailable || !r.env.Retryable {
			t.Errorf("%s by %s: %s", name, way, r.JSON)
		}
		if got := f.since(n); len(got) != 1 || got[0].reason != reason || got[0].verdict != "unavailable" {
			t.Errorf("%s by %s: the record says %+v", name, way, got)
		}
		if f.digest() != before {
			t.Errorf("%s by %s: something of it was kept", name, way)
		}
		told := f.book.String()[logged:]
		if !strings.Contains(told, `"level":"ERROR"`) || !strings.Contains(told, `"request_id":"req-1"`) || !strings.Contains(told, r.env.Action) {
			t.Errorf("%s by %s: the log says %q", name, way, told)
		}
		for _, text := range []string{string(r.JSON), told, fmt.Sprint(f.since(n))} {
			if part := gives(text, f.token); part != "" {
				t.Errorf("%s by %s: %q is given away by %s", name, way, part, text)
			}
		}
		if strings.Contains(string(r.JSON), "deep inside") {
			t.Errorf("%s by %s: the caller is told what lay beneath: %s", name, way, r.JSON)
		}
	}
}

func TestAHandlerThatPanicsIsAnEnvelopeAndTheProcessLives(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		f, tool, act := withFaultyRow(t, store)
		var missing *operator.Intent
		for name, panics := range map[string]func(){
			"a text":                           func() { panic("deep inside " + f.token) },
			"an error":                         func() { panic(spoken{f.token}) },
			"a refusal":                        func() { panic(core.Refuse(core.ReasonNotFound, "deep inside %s", f.token)) },
			"a value that panics when printed": func() { panic(shouts{f.token}) },
			"nothing":                          func() { panic(nil) },
			"a null pointer":                   func() { _ = missing.ID },
			"an index":                         func() { _ = []int{}[len(missingList)] },
			"an aborted request":               func() { panic(http.ErrAbortHandler) },
			"a map that was never made":        func() { set := func(m map[string]int) { m["deep inside"] = 1 }; set(nil) },
		} {
			f.handle = func(context.Context) (any, error) { panics(); return nil, nil }
			f.fails(t, name, "internal_error", tool, act)
		}
		if !strings.Contains(f.book.String(), "fault_test.go") {
			t.Error("the log does not say where")
		}
		f.intent(f.caller) // and it goes on
	})
}

var missingList []int

// The transaction that a panic left is rolled back whole, and its locks with it:
// SQLite's one writer would wait for ever otherwise.
func TestThePanicOfAHandlerRollsItsTransactionBack(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		f, tool, act := withFaultyRow(t, store)
		db := f.second(t)
		project := f.caller.Principal.ProjectID()
		for name, end := range map[string]func() error{
			"a panic":  func() error { panic("deep inside " + f.token) },
			"an error": func() error { return fmt.Errorf("deep inside: %s", f.token) },
		} {
			wrote := 0
			f.handle = func(ctx context.Context) (any, error) {
				return nil, db.InTx(ctx, func(tx core.Tx) error {
					_, err := tx.Exec(ctx, `insert into reeve_decisions (project_id, title, status, made_by, updated_by, via, digest, policy_version, note, created_at, updated_at)
						values ($1, 'half done', 'pending', 'test', 'test', 'test', '', '', '', 1, 1)`, project)
					if err != nil {
						t.Error(err)
					}
					if err := tx.Audit(ctx, core.AuditRow{Principal: "test", Action: "half_done", Verdict: core.VerdictDone}); err != nil {
						t.Error(err)
					}
					wrote++
					return end()
				})
			}
			f.fails(t, name, map[string]string{"a panic": "internal_error", "an error": "unavailable"}[name], tool, act)
			if wrote != 2 {
				t.Errorf("%s: the handler wrote %d times", name, wrote)
			}
		}
		if rows := f.query(`select 1 from reeve_audit where action = 'half_done'`); len(rows) != 0 {
			t.Errorf("%d rows of the record stayed", len(rows))
		}
		f.intent(f.caller)
	})
}

// second opens the same database once more, for handlers that write past the Operator.
func (f *faulty) second(t *testing.T) *core.DB {
	t.Helper()
	open := sqlstore.OpenPostgres
	if f.store == "sqlite" {
		open = sqlstore.OpenSQLite
	}
	db, err := open(t.Context(), f.Where, f.Clock, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestABareErrorIsAnOutageThatSaysNothing(t *testing.T) {
	f, tool, act := withFaultyRow(t, "sqlite")
	for name, err := range map[string]error{
		"plain":       errors.New("deep inside " + f.token),
		"wrapped":     fmt.Errorf("deep inside: %w", spoken{f.token}),
		"joined":      errors.Join(errors.New("deep inside"), spoken{f.token}),
		"a deadline":  fmt.Errorf("deep inside: %w", context.DeadlineExceeded),
		"with a URL":  errors.New("deep inside postgres://reeve:" + f.token + "@db.example/reeve"),
		"a long one":  errors.New(strings.Repeat("deep inside ", 10_000) + f.token),
		"a cancelled": fmt.Errorf("deep inside: %w", context.Canceled),
	} {
		f.handle = func(context.Context) (any, error) { return nil, err }
		f.fails(t, name, "unavailable", tool, act)
	}
}

func TestAnAnswerThatHasNoJSONIsAnOutage(t *testing.T) {
	f, tool, act := withFaultyRow(t, "sqlite")
	for name, out := range map[string]anything{
		"a number that is none": {Number: math.NaN(), Raw: jsontext.Value(`{}`)},
		"raw text":              {Raw: jsontext.Value(`{"deep inside":`)},
		"a key twice":           {Raw: jsontext.Value(`{"a":1,"a":2}`)},
		"not UTF-8":             {Raw: jsontext.Value(`{}`), Text: "deep inside \xff"},
	} {
		f.handle = func(context.Context) (any, error) { return out, nil }
		f.fails(t, name, "unavailable", tool, act)
	}
}

func TestARefusalWithinAnErrorIsThatRefusal(t *testing.T) {
	f, tool, _ := withFaultyRow(t, "sqlite")
	f.handle = func(context.Context) (any, error) {
		return nil, fmt.Errorf("while looking: %w", core.Refuse(core.ReasonNotFound, "No such thing.").Because(errors.New(f.token)))
	}
	r := f.call(f.caller, tool, `{}`)
	if r.wants(t, "not_found"); r.env.Message != "No such thing." || gives(string(r.JSON), f.token) != "" {
		t.Errorf("%s", r.JSON)
	}
}

// Leaving early must not be a way around the record: what was refused is on it.
func TestARefusalIsOnRecordAlthoughTheCallerLeft(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		gone, leave := context.WithCancel(t.Context())
		leave()
		for _, kind := range kinds() {
			c := w.full(kind)
			for _, tool := range w.Tools() {
				n := w.lines()
				read(t, w.Call(gone, c, tool.Name, []byte(garbage)))
				if got := w.since(n); len(got) != 1 || got[0].verdict != "deny" {
					t.Errorf("%s calls %s and leaves: %+v", kind, tool.Name, got)
				}
			}
			for _, a := range w.Acts() {
				n := w.lines()
				read(t, w.CallAct(gone, c, a, []byte(garbage)))
				if got := w.since(n); len(got) != 1 || got[0].verdict != "deny" {
					t.Errorf("%s does %s and leaves: %+v", kind, a.Name, got)
				}
			}
		}
	})
}

// And what was not refused yet is neither a refusal nor an outage, and changes nothing.
func TestACallerWhoLeftGetsNothingDone(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		gone, leave := context.WithCancel(t.Context())
		leave()
		for _, c := range w.calls(t) {
			raw := text(c.fresh())
			before := w.digest()
			var r reply
			if i := slices.IndexFunc(w.Tools(), func(tool *powers.Tool) bool { return tool.Name == c.name }); i >= 0 {
				r = read(t, w.Call(gone, c.caller, c.name, []byte(raw)))
			} else {
				j := slices.IndexFunc(w.Acts(), func(a *powers.Act) bool { return a.Name == c.name })
				r = read(t, w.CallAct(gone, c.caller, w.Acts()[j], []byte(raw)))
			}
			if r.OK || w.digest() != before {
				t.Errorf("%s: %s", c.name, r.JSON)
			}
		}
	})
}

func TestAStoreThatIsGoneIsAnOutage(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w, book := logged(t, store)
		calls := w.calls(t)
		raws := make([]string, len(calls))
		for i, c := range calls {
			raws[i] = text(c.fresh())
		}
		token := w.token(operator.KindAgent, operator.Scopes()...)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for i, c := range calls {
			if r := c.try(raws[i]); r.env.Reason != "unavailable" || r.RetryAfter == 0 || r.env.Repeat != 1 {
				t.Errorf("%s: %s", c.name, r.JSON)
			}
			// A tool's kit comes before its arguments, and cannot be read.
			layer := "input"
			if slices.ContainsFunc(w.Tools(), func(tool *powers.Tool) bool { return tool.Name == c.name && tool.Toolset != powers.ToolsetApprovals }) {
				layer = "store"
			}
			if r := c.try(garbage); r.env.Layer != layer {
				t.Errorf("%s: %s", c.name, r.JSON)
			}
		}
		_, refused := w.Authenticate(t.Context(), powers.Presented{Authorization: []string{"Bearer " + token}, Action: "POST /mcp"})
		if refused == nil || refused.Reason != operator.ReasonUnavailable || refused.Status != 503 {
			t.Errorf("authenticate: %+v", refused)
		}
		if !strings.Contains(book.String(), "could not be recorded") || gives(book.String(), token) != "" {
			t.Errorf("the log: %s", book)
		}
	})
}
