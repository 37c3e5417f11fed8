package restadapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

// walker calls a server from its OpenAPI document alone.
type walker struct {
	*house
	doc          *openapi3.T
	method, path string
	op           *openapi3.Operation
}

// every runs f for each operation of the document, on a server of its own.
func every(t *testing.T, f func(*testing.T, *walker)) {
	for path, item := range newHouse(t, "sqlite", nil).api().Paths.Map() {
		for method := range item.Operations() {
			t.Run(method+" "+path, func(t *testing.T) {
				h := newHouse(t, "sqlite", nil)
				doc := h.api()
				f(t, &walker{h, doc, method, path, operationOf(doc, method, path)})
			})
		}
	}
}

// Every operation is called with what its schemas ask for, on every seeded row of
// its sort, and at least one call succeeds. Whatever is answered is as announced.
func TestEveryOperationAnswersWhatTheDocumentSays(t *testing.T) {
	every(t, func(t *testing.T, w *walker) {
		var said []string
		succeeded := false
		for _, sow := range w.seeds(t) {
			for _, all := range []bool{false, true} {
				r := w.send(t, sow(t), all)
				if w.announced(t, r); r.status < 300 && !succeeded {
					w.notice(t, r)
					succeeded = true
				}
				said = append(said, fmt.Sprintf("%d %.300s", r.status, r.body))
			}
		}
		if !succeeded {
			t.Errorf("no call succeeded; seed a row that it is for, or give a value in known:\n%s", strings.Join(said, "\n"))
		}
	})
}

func TestEveryOperationIsRefusedAsTheDocumentSays(t *testing.T) {
	every(t, func(t *testing.T, w *walker) {
		if len(*w.op.Security) == 0 {
			t.Skip("it is open, and takes nothing that could be wrong")
		}
		problem := header("Accept", mediaProblem)
		body := ""
		if w.method != "GET" {
			body = `{"no_such_key":1}`
		}
		address := strings.ReplaceAll(w.path, "{id}", "1")
		for status, r := range map[int]reply{
			401: w.call("", w.method, address, body),
			400: w.as(w.kind(t), w.method, address+map[bool]string{true: "?no_such_key=1"}[body == ""], body),
		} {
			w.announced(t, r).refused(t, status, operator.Reason(readEnvelope(t, r.body).Reason))
		}
		for _, kind := range kinds {
			if !slices.Contains(kindsOf(t, w.op), kind) {
				r := w.announced(t, w.as(kind, w.method, address, body, problem))
				if r.status != 403 || r.header.Get("Content-Type") != mediaProblem {
					t.Errorf("as %s: %d %v", kind, r.status, r.header)
				}
			}
		}
		w.announced(t, w.call("", w.method, address, body, problem))
	})
}

// announced holds a reply to what the document says.
func (w *walker) announced(t *testing.T, r reply) reply {
	t.Helper()
	if err := w.complaint(r); err != nil {
		t.Fatalf("%d is not as announced: %v\n%s", r.status, err, r.body)
	}
	return r
}

// complaint is what of a reply the document does not say: its status, its type, its
// headers or its body.
func (w *walker) complaint(r reply) error {
	told := w.op.Responses.Status(r.status)
	if told == nil {
		return errors.New("there is no such status")
	}
	media := told.Value.Content[r.header.Get("Content-Type")]
	if media == nil {
		return fmt.Errorf("there is no such type as %s", r.header.Get("Content-Type"))
	}
	if told.Value.Headers["X-Request-Id"] == nil || r.header.Get("X-Request-Id") == "" {
		return errors.New("the request has no name")
	}
	var body any
	if err := json.Unmarshal(r.body, &body); err != nil {
		return err
	}
	return media.Schema.Value.VisitJSON(body, openapi3.EnableJSONSchema2020(), openapi3.EnableFormatValidation(), openapi3.MultiErrors())
}

// notice demands that what is changed of a good reply is found: what is held against
// the document is held against all of it.
func (w *walker) notice(t *testing.T, good reply) {
	t.Helper()
	status, media, list := good, good, good
	status.status, list.body = 299, []byte("[]")
	media.header = good.header.Clone()
	media.header.Set("Content-Type", "text/plain")
	bad := map[string]reply{"another status": status, "another type": media, "a list": list}
	if w.path != openAPIPath { // which is announced as any object
		var members map[string]any
		err := json.Unmarshal(good.body, &members)
		must(t, nil, err)
		more, none := good, good
		members["no_such_member"], none.body = 1, []byte("{}")
		more.body, err = json.Marshal(members)
		must(t, nil, err)
		bad["one member more"], bad["no member"] = more, none
	}
	for name, r := range bad {
		if w.complaint(r) == nil {
			t.Errorf("%s was not found", name)
		}
	}
}

func (w *walker) kind(t *testing.T) operator.Kind { return kindsOf(t, w.op)[0] }

// values are what a schema cannot know: the names of things that stand in this
// database, and words of the caller's.
type values map[string]any

var known = values{
	"type": "draft", "types": []any{"draft"}, "idempotent": []any{"draft"}, "instead_of": []any{"messages"}, "principal": "agent:agent",
	"primitives": map[string]any{"board": true}, "currency": "USD", "amount": "49.00 USD", "amount_cents": 4900, "cursor": "",
	"policy": "version: 1\nextends: default\n", "accept": []any{}, "base": "",
}

// send makes a request of the schemas: what is required, or all there is.
func (w *walker) send(t *testing.T, v values, all bool) reply {
	t.Helper()
	address, query, headers := w.path, url.Values{}, []change{}
	for _, p := range w.op.Parameters {
		value := fmt.Sprint(w.sample(p.Value.Name, p.Value.Schema.Value, v, all))
		switch {
		case p.Value.In == "path":
			address = strings.ReplaceAll(address, "{"+p.Value.Name+"}", value)
		case p.Value.In == "query" && (all || p.Value.Required) && value != "":
			query.Set(p.Value.Name, value)
		case p.Value.In == "header" && all:
			w.minted++
			headers = append(headers, header(p.Value.Name, fmt.Sprint(value, w.minted)))
		}
	}
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	body := ""
	if w.op.RequestBody != nil {
		raw, err := json.Marshal(w.sample("", w.op.RequestBody.Value.Content[mediaJSON].Schema.Value, v, all))
		if err != nil {
			t.Fatal(err)
		}
		body = string(raw)
	}
	token := ""
	if len(*w.op.Security) > 0 {
		token = w.tokens[w.kind(t)]
	}
	return w.call(token, w.method, address, body, headers...)
}

// sample is a value that the schema takes.
func (w *walker) sample(name string, s *openapi3.Schema, v values, all bool) any {
	for _, from := range []values{v, known} {
		if value, there := from[name]; there {
			return value
		}
	}
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Type.Is("object"):
		out := map[string]any{}
		for inner, p := range s.Properties {
			if all && inner != "actor" || slices.Contains(s.Required, inner) {
				out[inner] = w.sample(inner, p.Value, v, all)
			}
		}
		return out
	case s.Type.Is("array"):
		return []any{w.sample("", s.Items.Value, v, all)}
	case s.Type.Is("integer") && s.Min != nil:
		return int64(*s.Min)
	case s.Type.Is("integer"):
		return 1
	case s.Type.Is("boolean"):
		return true
	case s.Format == "date-time":
		return operatortest.Start.Add(24 * time.Hour).Format(time.RFC3339)
	}
	return strings.Repeat("word", 1+int(s.MinLength)/4)
}

var ofOne = regexp.MustCompile(`^/v1/([a-z-]+)/\{id\}`)

// seeds are the ways to sow a row that the operation could be for: each of its
// resource's.
func (w *walker) seeds(t *testing.T) []func(*testing.T) values {
	t.Helper()
	m := ofOne.FindStringSubmatch(w.path)
	if m == nil {
		return []func(*testing.T) values{func(*testing.T) values { return nil }, w.furnished, w.frozen}
	}
	sown := map[string][]func(*testing.T) values{
		"intents":            {w.pending, w.rejected, w.unknown, w.held},
		"decisions":          {w.question},
		"approvals":          {w.parked},
		"standing-approvals": {w.standing},
		"spending-grants":    {w.granted},
		"work":               {w.held},
	}[m[1]]
	if len(sown) == 0 {
		t.Fatalf("the test sows no %s; add a seed", m[1])
	}
	return sown
}

// draft records something that is inside, and so is allowed at once.
func (w *walker) draft(t *testing.T) operator.Intent { return w.note(t, "draft") }

func (w *walker) note(t *testing.T, word string) operator.Intent {
	w.minted++
	return w.world.Record(t, operator.RecordIntentInput{Action: gate.Action{Type: word, Title: fmt.Sprint("Seed ", w.minted)}})
}

func about(in operator.Intent) values {
	return values{"id": in.ID, "digest": in.Digest, "type": in.ActionType}
}

func (w *walker) pending(t *testing.T) values { return about(w.note(t, "send")) }

func (w *walker) rejected(t *testing.T) values {
	in := w.note(t, "send")
	out, err := w.world.Reject(t.Context(), w.world.Owner, operator.ActInput{ID: in.ID, Digest: in.Digest})
	return must(t, about(out), err)
}

// unknown is one whose worker cannot tell what became of it.
func (w *walker) unknown(t *testing.T) values {
	in := w.draft(t)
	lost := func(context.Context, operator.Job) (string, error) { return "", operator.ErrOutcomeUnknown }
	err := w.world.Work(t.Context(), w.world.Worker, map[string]operator.Handler{"draft": {Run: lost}}, &operator.WorkOptions{Once: true})
	return must(t, about(in), err)
}

// held is one that the test's worker has claimed, by the credential it calls with.
func (w *walker) held(t *testing.T) values {
	w.draft(t)
	got, err := w.world.Claim(t.Context(), w.world.Principal(t, w.tokens[operator.KindWorker]), operator.ClaimInput{Types: []string{"draft"}})
	if err != nil || got.Job == nil {
		t.Fatalf("claim: %+v, %v", got, err)
	}
	out := about(got.Job.Intent)
	out["fencing_token"] = got.Job.FencingToken
	return out
}

func (w *walker) question(t *testing.T) values {
	d, err := w.world.OpenDecision(t.Context(), w.world.Agent, "Which vendor?")
	return must(t, values{"id": d.ID}, err)
}

// parked keeps a call of the document's first tool that moves something.
func (w *walker) parked(t *testing.T) values {
	d, err := w.world.OpenDecision(t.Context(), w.world.Agent, "Which vendor?")
	must(t, nil, err)
	var tool string
	for _, item := range w.doc.Paths.Map() {
		if op := item.Patch; op != nil && strings.Contains(op.OperationID, "decision") {
			tool = op.OperationID
		}
	}
	kept, err := w.world.Park(t.Context(), w.world.Agent, operator.NewParked{Question: operator.Question{Title: "Shall it?"}, Tool: tool,
		Arguments: fmt.Appendf(nil, `{"id":%d,"status":"parked"}`, d.ID)})
	return must(t, values{"id": kept.ID, "digest": kept.Digest}, err)
}

func (w *walker) standing(t *testing.T) values {
	s, err := w.world.StandingApproval(t.Context(), w.world.Owner, operator.StandingInput{Types: []string{"publish"}, InsteadOf: []string{"publishing"},
		Until: operatortest.Start.Add(time.Hour), Reason: "It is routine."})
	return must(t, values{"id": s.ID}, err)
}

func (w *walker) granted(t *testing.T) values {
	g, err := w.world.GrantSpending(t.Context(), w.world.Owner, operator.GrantInput{Principal: w.world.Agent.ID(), Until: operatortest.Start.Add(time.Hour), Reason: "It is small."})
	return must(t, values{"id": g.ID}, err)
}

func (w *walker) frozen(t *testing.T) values {
	_, err := w.world.Freeze(t.Context(), w.world.Owner, operator.FreezeInput{Scope: "project", Reason: "Wait."})
	return must(t, nil, err)
}

// furnished has a row of every sort, so that no list is empty.
func (w *walker) furnished(t *testing.T) values {
	for _, sow := range []func(*testing.T) values{w.pending, w.rejected, w.unknown, w.held, w.question, w.parked, w.standing, w.granted} {
		sow(t)
	}
	w.draft(t)
	return nil
}

func must(t *testing.T, v values, err error) values {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return maps.Clone(v)
}
