package reeve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

// node is what the sweep reads of a schema.
type node struct {
	Type       string          `json:"type"`
	Properties map[string]node `json:"properties"`
	Required   []string        `json:"required"`
	Items      *node           `json:"items"`
	Enum       []any           `json:"enum"`
	Minimum    *float64        `json:"minimum"`
	Format     string          `json:"format"`
}

func (n node) least() any {
	switch {
	case len(n.Enum) > 0:
		return n.Enum[0]
	case n.Type == "object":
		out := map[string]any{}
		for _, name := range n.Required {
			out[name] = n.Properties[name].least()
		}
		return out
	case n.Type == "array":
		return []any{n.Items.least()}
	case n.Type == "integer":
		return 1
	case n.Type == "boolean":
		return true
	case n.Format == "date-time":
		return operatortest.Start.Add(time.Hour).Format(time.RFC3339)
	}
	return "note"
}

// bodies puts a canary into every place of a body: as each field's value, within a
// sentence, in a list, as a key of each object, and where no JSON should be.
func (n node) bodies(c canary) map[string]string {
	out := map[string]string{"instead of a body": c.text, "half a body": `{"` + c.text}
	n.plant("", func() (any, func(any)) { root := n.least(); return root, nil }, c, out)
	return out
}

func (n node) plant(at string, fresh func() (any, func(any)), c canary, out map[string]string) {
	text := func(root any) string {
		raw, err := json.Marshal(root)
		if err != nil {
			panic(err)
		}
		return string(raw)
	}
	names := slices.Sorted(maps.Keys(n.Properties))
	for _, name := range append(names, c.text) {
		values := map[string]any{"": c.text, " in a sentence": "with " + c.text + " in it", " in a list": []any{c.text}, " as a key": map[string]any{c.text: 1}}
		for how, value := range values {
			root, _ := fresh()
			object := root
			for _, step := range strings.Split(at, ".") {
				if step != "" {
					inner, ok := object.(map[string]any)[step].(map[string]any)
					if !ok {
						inner = map[string]any{}
						object.(map[string]any)[step] = inner
					}
					object = inner
				}
			}
			object.(map[string]any)[name] = value
			out["the field "+at+"."+strings.ReplaceAll(name, c.text, "(itself)")+how] = text(root)
		}
	}
	for _, name := range names {
		if p := n.Properties[name]; p.Type == "object" {
			p.plant(at+"."+name, fresh, c, out)
		}
	}
}

func TestAPlantedCredentialComesBackNowhere(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of requests")
	}
	operatortest.EachStore(t, func(t *testing.T, store string) {
		m, clock := newMine(t, store)
		m.sweepREST()
		m.sweepMCP()
		m.sweepPanics(clock)
		m.sweepPolicies()
		m.sweepDatabase(store)
		if m.answers < 1_000 {
			t.Errorf("only %d answers were looked at", m.answers)
		}
		m.sweepRecord()
		m.sweepTelemetry()
	})
}

// rotated gives the next few canaries, so that each place gets some and each canary
// is planted everywhere in turn.
func (m *mine) rotated(turn *int) []canary {
	var out []canary
	for range 2 {
		out = append(out, m.canaries[*turn%len(m.canaries)])
		*turn++
	}
	return out
}

// headers are those that a server might make something of.
var plantedHeaders = []string{"X-Request-Id", "X-Forwarded-For", "User-Agent", "Accept", "Content-Type", "Content-Encoding", "Cookie", "Idempotency-Key", "Traceparent", "Tracestate", "Baggage",
	"Origin", "Host", "Authorization", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Session-Id", "Last-Event-Id", "Referer", "If-Match", "X-Actor"}

func (m *mine) sweepREST() {
	turn := 0
	row := func(method, path string, kind operator.Kind, schema []byte) {
		var n node
		if err := json.Unmarshal(schema, &n); err != nil {
			m.t.Fatal(err)
		}
		delete(n.Properties, "id")
		n.Required = slices.DeleteFunc(n.Required, func(name string) bool { return name == "id" })
		address := strings.ReplaceAll(path, "{id}", "1")
		for _, c := range m.rotated(&turn) {
			if method == "GET" {
				for _, name := range append(slices.Sorted(maps.Keys(n.Properties)), "x", "access_token", c.text) {
					m.send(sent{where: "the query " + name, method: method, path: address + "?" + escape(name) + "=" + escape(c.text), as: kind}, c)
				}
				continue
			}
			for where, body := range n.bodies(c) {
				m.send(sent{where: where, method: method, path: address, body: body, as: kind, given: true}, c)
			}
			m.send(sent{where: "the path", method: method, path: strings.ReplaceAll(path, "{id}", escape(c.text)), body: "{}", as: kind}, c)
		}
	}
	for _, tool := range m.schedule.Tools() {
		for _, route := range tool.Routes {
			row(route.Method, route.Path, operator.KindAgent, tool.InputSchema)
		}
	}
	for _, a := range m.schedule.Acts() {
		row(a.Method, a.Path, a.Kinds[0], a.InputSchema)
	}
	for _, c := range m.canaries {
		for _, name := range plantedHeaders {
			m.send(sent{where: "the header " + name, method: "POST", path: "/v1/intents", body: `{"action":{"type":"note","title":"n"}}`, as: operator.KindAgent, headers: map[string]string{name: c.text}}, c)
		}
		m.send(sent{where: "the scheme", method: "GET", path: "/v1/state", as: operator.KindAgent, headers: map[string]string{"Authorization": "Bearer " + c.text}}, c)
		m.send(sent{where: "an address", method: "GET", path: "/" + escape(c.text), as: operator.KindAgent}, c)
		m.send(sent{where: "an address", method: "GET", path: "/v1/" + escape(c.text) + "?" + escape(c.text), as: operator.KindAgent}, c)
	}
}

// escape writes a text for an address, every byte of it that could mean something.
func escape(s string) string {
	var out strings.Builder
	for i := range len(s) {
		if c := s[i]; c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' {
			out.WriteByte(c)
			continue
		}
		fmt.Fprintf(&out, "%%%02X", s[i])
	}
	return out.String()
}

func (m *mine) sweepMCP() {
	quote := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	post := func(where, body string, given bool, c canary, headers map[string]string) {
		for _, accept := range []string{"application/json", "application/json, text/event-stream"} {
			all := map[string]string{"Accept": accept}
			maps.Copy(all, headers)
			m.send(sent{where: where, method: "POST", path: "/mcp", body: body, as: operator.KindAgent, headers: all, given: given}, c)
		}
	}
	turn := 0
	for _, tool := range m.schedule.Tools() {
		var n node
		if err := json.Unmarshal(tool.InputSchema, &n); err != nil {
			m.t.Fatal(err)
		}
		for _, c := range m.rotated(&turn) {
			for where, args := range n.bodies(c) {
				post(where, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool.Name, args), tool.Class != powers.Read, c, nil)
			}
		}
	}
	for _, c := range m.canaries {
		s := quote(c.text)
		for where, body := range map[string]string{
			"the method":                 `{"jsonrpc":"2.0","id":1,"method":` + s + `}`,
			"the version":                `{"jsonrpc":` + s + `,"id":1,"method":"tools/list"}`,
			"a key of the message":       `{"jsonrpc":"2.0","id":1,"method":"tools/list",` + s + `:1}`,
			"a key in another case":      `{"jsonrpc":"2.0","id":1,"method":"tools/list","PARAMS":` + s + `}`,
			"a key of the params":        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + s + `:1}}`,
			"the tool":                   `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":` + s + `}}`,
			"the arguments":              `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"operator_state","arguments":` + s + `}}`,
			"the params":                 `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":` + s + `}`,
			"a value of _meta":           `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"operator_state","_meta":{"a/b":` + s + `}}}`,
			"a key of _meta":             `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"operator_state","_meta":{` + s + `:1}}}`,
			"_meta itself":               `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"operator_state","_meta":` + s + `}}`,
			"the protocol's version":     `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":` + s + `,"clientInfo":{"name":` + s + `}}}`,
			"the version in _meta":       `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":` + s + `}}}`,
			"the cursor":                 `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":` + s + `}}`,
			"the idempotency key":        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"operator_record_action_intent","_meta":{"reeve/idempotency-key":` + s + `},"arguments":{"action":{"type":"note","title":` + quote("n "+c.name) + `}}}}`,
			"an idempotency key, reused": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"operator_record_action_intent","_meta":{"reeve/idempotency-key":` + s + `},"arguments":{"action":{"type":"note","title":"another"}}}}`,
			"garbage":                    c.text,
			"a batch":                    `[` + s + `]`,
		} {
			post(where, body, false, c, nil)
		}
		// An id goes back to who sent it, and nowhere else.
		post("the id", `{"jsonrpc":"2.0","id":`+s+`,"method":"tools/call","params":{"name":"operator_state"}}`, true, c, nil)
		for _, name := range plantedHeaders {
			m.send(sent{where: "the header " + name, method: "POST", path: "/mcp", body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, as: operator.KindAgent, headers: map[string]string{name: c.text}}, c)
		}
	}
}

// sweepPanics has a handler panic with a credential, on both faces.
func (m *mine) sweepPanics(clock *faulty) {
	for _, c := range m.canaries {
		for _, with := range []any{c.text, errors.New(c.text), fmt.Errorf("wrapped: %w", errors.New(c.text)), struct{ Token string }{c.text}, []string{c.text}} {
			for after := range 6 { // while the credential is looked at, and while the call is carried out
				clock.panics(after, with)
				m.send(sent{where: "a panic", method: "POST", path: "/v1/intents", body: `{"action":{"type":"note","title":"n"}}`, as: operator.KindAgent}, c)
				clock.panics(after, with)
				m.send(sent{where: "a panic", method: "POST", path: "/mcp", as: operator.KindAgent,
					body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"operator_record_action_intent","arguments":{"action":{"type":"note","title":"n"}}}}`}, c)
				clock.panics(0, nil)
			}
		}
	}
	if !strings.Contains(m.log.String(), "a handler panicked") || !strings.Contains(m.log.String(), "a panic while answering") {
		m.t.Error("no panic was met: the sweep is blind")
	}
}

// sweepPolicies loads policies that are no good, with a credential in each place
// that a person writes.
func (m *mine) sweepPolicies() {
	for _, c := range m.canaries {
		for name, text := range map[string]string{
			"a rule's id": "version: 1\nrules:\n  - id: %s\n    effect: maybe\n", "a key": "version: 1\n%s: 1\n", "an effect": "version: 1\nrules:\n  - id: a\n    effect: %s\n",
			"a recipient": "version: 1\nrules:\n  - id: a\n    match: {recipients: [%s]}\n    effect: x\n", "a version": "version: %s\n", "a reason": "version: 1\nrules:\n  - id: a\n    reason: %s\n",
		} {
			quoted, _ := json.Marshal(c.text)
			_, err := m.LoadPolicy(m.t.Context(), "", "policy.yaml", fmt.Appendf(nil, text, quoted))
			if err == nil {
				m.t.Errorf("%s: it was loaded", name)
				continue
			}
			m.holdsNone("the policy's "+name, err.Error(), c)
		}
	}
}

// sweepDatabase has the database itself refuse a row with a credential in its words.
func (m *mine) sweepDatabase(store string) {
	db := operatortest.Database(m.t, m.Where)
	for _, c := range m.canaries {
		words := strings.NewReplacer("'", "''", "%", "%%").Replace(c.text)
		make, drop := []string{`create trigger canary before insert on reeve_intents begin select raise(abort, '` + words + `'); end`}, []string{`drop trigger canary`}
		if store == "postgres" {
			make = []string{`create function canary() returns trigger language plpgsql as $$ begin raise exception '` + words + `'; end $$`,
				`create trigger canary before insert on reeve_intents for each row execute function canary()`}
			drop = []string{`drop trigger canary on reeve_intents`, `drop function canary`}
		}
		for _, q := range make {
			if _, err := db.Exec(q); err != nil {
				m.t.Fatal(err)
			}
		}
		for _, key := range []string{"", "k-" + c.name} {
			m.send(sent{where: "an error of the database", method: "POST", path: "/v1/intents", body: `{"action":{"type":"note","title":"n"}}`, as: operator.KindAgent,
				headers: map[string]string{"X-Nothing": key}}, c)
		}
		for _, q := range drop {
			if _, err := db.Exec(q); err != nil {
				m.t.Fatal(err)
			}
		}
	}
	if !strings.Contains(m.log.String(), "the store did not answer") {
		m.t.Error("no error of the database was met: the sweep is blind")
	}
}

// sweepRecord looks at everything that was written besides answers.
func (m *mine) sweepRecord() {
	db := operatortest.Database(m.t, m.Where)
	for _, table := range []string{"reeve_audit", "reeve_outbox", "reeve_idempotency", "reeve_checkpoints", "reeve_logs", "reeve_credentials", "reeve_settings"} {
		rows := operatortest.Rows(m.t, db, `select * from `+table)
		if table == "reeve_audit" && len(rows) < 1_000 {
			m.t.Errorf("only %d rows of the record", len(rows))
		}
		for _, row := range rows {
			m.holdsNone("the table "+table, row, m.canaries...)
		}
	}
	var export bytes.Buffer
	if err := m.ExportAudit(context.Background(), "", &export); err != nil {
		m.t.Fatal(err)
	}
	m.holdsNone("the export", export.String(), m.canaries...)
	for line := range strings.Lines(m.log.String()) {
		m.holdsNone("the log", line, m.canaries...)
	}
}

// sweepTelemetry looks at what is told to whoever watches the server: a scrape, and
// what was sent to a collector of traces.
func (m *mine) sweepTelemetry() {
	text, err := m.metrics.Text(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	if !strings.Contains(string(text), `reeve_calls_total{action="operator_state"`) {
		m.t.Error("no call was counted: the sweep is blind")
	}
	m.holdsNone("a scrape", string(text), m.canaries...)
	if series := strings.Count(string(text), "\nreeve_calls_total{"); series > 600 {
		m.t.Errorf("what callers wrote made %d series of one metric", series)
	}
	if err := m.tracing.Close(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
	if !strings.Contains(m.spans.String(), "operator_state") {
		m.t.Error("no span was sent: the sweep is blind")
	}
	m.holdsNone("the spans", m.spans.String(), m.canaries...)
}
