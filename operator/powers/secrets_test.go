package powers_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/internal/core"
	"github.com/reeve-go/reeve/operator/powers"
)

// logbook keeps what was logged.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logbook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// logged is a world whose log is kept, with everything in it.
func logged(t *testing.T, store string) (*world, *logbook) {
	book := &logbook{}
	return newWorld(t, store, &operator.Options{Logger: slog.New(slog.NewJSONHandler(book, &slog.HandlerOptions{Level: slog.LevelDebug}))}), book
}

// gives says how much of a token a text gives away: its longest run of characters
// that the text holds as well, counted in the part that is secret.
func gives(text, token string) string {
	secret := token[strings.LastIndex(token[:len(token)-40], "_")+1:]
	const harmless = 8
	for i := 0; i+harmless <= len(secret); i++ {
		if part := secret[i : i+harmless]; strings.Contains(text, part) {
			return part
		}
	}
	return ""
}

// A credential in the wrong place must not be repeated by the refusal that says
// so: not whole, and not the beginning of one that was cut.
func TestNoEnvelopeAndNoRecordRepeatsACredential(t *testing.T) {
	w, book := logged(t, "sqlite")
	token := w.token(operator.KindAgent, operator.Scopes()...)
	refused := 0
	hold := func(name string, r reply) {
		t.Helper()
		if r.OK {
			return // what is carried out is shown word for word
		}
		refused++
		if part := gives(string(r.JSON), token); part != "" {
			t.Errorf("%s: the refusal holds %q: %s", name, part, r.JSON)
		}
	}
	for _, c := range w.calls(t) {
		for raw, name := range w.leaks(c, token) {
			hold(c.name+" "+name, c.try(raw))
		}
	}
	if refused < 300 {
		t.Errorf("only %d refusals were looked at", refused)
	}
	for _, l := range w.query(`select * from reeve_audit`) {
		if part := gives(strings.Join(l, " "), token); part != "" {
			t.Fatalf("the record holds %q: %v", part, l)
		}
	}
	if part := gives(book.String(), token); part != "" {
		t.Errorf("the log holds %q", part)
	}
}

// leaks puts a token into every place of a call's arguments.
func (w *world) leaks(c call, token string) map[string]string {
	out := map[string]string{}
	escaped := strings.Replace(token, "rv_", `\u0072v_`, 1)
	for _, p := range places(c.schema) {
		at := strings.Join(p.path, ".")
		for name, v := range map[string]any{"value": token, "sentence": "with Bearer " + token + " in it", "list": []string{token},
			"object": map[string]any{token: token}, "longer": token + token, "behind much": strings.Repeat("x", 20) + " " + token} {
			args := c.fresh()
			set(args, p.path, v)
			out[text(args)] = name + " at " + at
		}
		args := c.fresh()
		set(args, p.path, "stand-in")
		whole := text(args)
		out[strings.Replace(whole, `"stand-in"`, `"`+escaped+`"`, 1)] = "escaped at " + at
		out[strings.Replace(whole, `"stand-in"`, token, 1)] = "bare at " + at
		out[strings.Replace(whole, `"stand-in"`, `"`+token+`\u0000"`, 1)] = "with NUL at " + at
	}
	for _, at := range objects(c.schema) {
		for name, members := range map[string]string{
			"a key":               fmt.Sprintf(`%q:1`, token),
			"a key, escaped":      fmt.Sprintf(`"%s":1`, escaped),
			"a key twice":         fmt.Sprintf(`%q:1,%q:2`, token, token),
			"a key of much":       fmt.Sprintf(`"%s%s":1`, strings.Repeat("x", 230), " "+token),
			"a key before a flaw": fmt.Sprintf(`%q:9007199254740993`, token),
			"a key around a flaw": fmt.Sprintf(`%q:{"a":"\u0000"}`, token),
			"a key of a list":     fmt.Sprintf(`%q:[{%q:1e400}]`, token, token),
			"too deep":            fmt.Sprintf(`%q:%s`, token, nested("[", "]", 80)),
		} {
			out[splice(c.fresh(), at, members)] = name + " in " + strings.Join(at, ".")
		}
	}
	out[token], out[`"`+token+`"`], out[`{"`+token] = "instead of arguments", "a string", "half an object"
	return out
}

// What a person is shown of the present content in a refusal is blotted out as
// well; the exact words stand where the intent itself is asked for.
func TestTheContentInARefusalIsShownWithoutItsCredentials(t *testing.T) {
	w := newWorld(t, "sqlite", &operator.Options{Policy: lenient(t)})
	token := w.token(operator.KindAgent, operator.Scopes()...)
	in := w.intent(w.full(operator.KindAgent))
	var secret operator.Intent
	decode(t, w.call(w.full(operator.KindAgent), w.recording(),
		fmt.Sprintf(`{"action":{"type":"ask","title":"Use it","body":"The key is %s.","data":{"deep":[{"key":%q,"n":9007199254740991}]}}}`, token, token)).JSON, &secret)
	if secret.Status != "pending_approval" {
		t.Fatalf("%+v", secret)
	}
	r := w.do(w.full(operator.KindHuman), w.act("/approve"), fmt.Sprintf(`{"id":%d,"digest":"%s"}`, secret.ID, in.Digest))
	r.wants(t, "digest_mismatch")
	if got := string(r.JSON); gives(got, token) != "" || !strings.Contains(got, "The key is [redacted:reeve].") || !strings.Contains(got, "9007199254740991") || !strings.Contains(got, secret.Digest) {
		t.Errorf("%s", got)
	}
}

// lenient is a policy that lets a credential wait for a person, which the default
// one does not.
func lenient(t *testing.T) *gate.Policy {
	t.Helper()
	source, err := gate.ParsePolicy("lenient.yaml", []byte("version: 1\nrules:\n  - id: asks\n    match: {types: [spend, ask]}\n    effect: requires_approval\n    reason: A person decides.\n"))
	if err != nil {
		t.Fatal(err)
	}
	policy, err := source.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

func TestACredentialInAnAdaptersRefusalIsBlottedOut(t *testing.T) {
	w, book := logged(t, "sqlite")
	token := w.token(operator.KindAgent)
	c := w.full(operator.KindAgent)
	for name, err := range map[string]error{
		"message":      core.Refuse(core.ReasonNotJSON, "What is %s?", token),
		"detail":       core.Refuse(core.ReasonNotJSON, "No.").With("got", token),
		"nested":       core.Refuse(core.ReasonNotJSON, "No.").With("got", []any{map[string]any{"a": token}}),
		"detail's key": core.Refuse(core.ReasonNotJSON, "No.").With(token, map[string]any{token: 1}),
		"two keys":     core.Refuse(core.ReasonNotJSON, "No.").With(token, 1).With(token+"x", 2),
		"cause":        core.Refuse(core.ReasonNotJSON, "No.").Because(fmt.Errorf("it was %s", token)),
		"bare":         fmt.Errorf("it was %s", token),
		"fault":        core.Refuse(core.ReasonNotJSON, "No.").With("faults", []operator.Fault{{Field: token, Message: token}}),
		"cut":          core.Refuse(core.ReasonNotJSON, `The key "%s…" is not known here.`, token[:40]),
	} {
		if r := w.refuse(c, "test_action", err); gives(string(r.JSON), token) != "" {
			t.Errorf("%s: %s", name, r.JSON)
		}
	}
	if part := gives(book.String(), token); part != "" || !strings.Contains(book.String(), "[redacted:reeve]") {
		t.Errorf("the log holds %q, or does not say what lay beneath: %s", part, book)
	}
}

func TestACredentialThatWasPresentedIsNotRepeated(t *testing.T) {
	w, book := logged(t, "sqlite")
	token := w.token(operator.KindAgent, operator.Scopes()...)
	for name, in := range map[string]powers.Presented{
		"twice":         {Authorization: []string{"Bearer " + token, "Bearer " + token}},
		"as Basic":      {Authorization: []string{"Basic " + token}},
		"no scheme":     {Authorization: []string{token}},
		"in the query":  {Authorization: []string{"Bearer " + token}, RawQuery: "access_token=" + token},
		"with a tail":   {Authorization: []string{"Bearer " + token + "x"}},
		"query escaped": {RawQuery: url.QueryEscape("token=" + token)},
	} {
		in.Action = "POST /mcp"
		_, refused := w.Authenticate(t.Context(), in)
		if refused == nil {
			t.Errorf("%s: it was let in", name)
			continue
		}
		if all := string(refused.JSON) + refused.Challenge; gives(all, token) != "" {
			t.Errorf("%s: %s", name, all)
		}
	}
	for _, l := range w.query(`select * from reeve_audit`) {
		if gives(strings.Join(l, " "), token) != "" {
			t.Errorf("the record: %v", l)
		}
	}
	if gives(book.String(), token) != "" {
		t.Errorf("the log: %s", book)
	}
}
