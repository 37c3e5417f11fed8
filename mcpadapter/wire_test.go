package mcpadapter

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestABareCallWithoutSessionAndHandshakeAnswers(t *testing.T) {
	h := newHouse(t, nil)
	a := h.post(record, header("Accept", "application/json, text/event-stream"))
	c := a.called(t)
	var intent struct {
		Status string `json:"status"`
	}
	if err := json.Unmarshal(c.Structured, &intent); err != nil || intent.Status != "pending_approval" || c.IsError {
		t.Fatalf("%s", a.body)
	}
	if a.header.Get("Mcp-Session-Id") != "" {
		t.Error("a session id was given out by a server that keeps no sessions")
	}
}

func TestAcceptDecidesBetweenJSONAndAnEventStream(t *testing.T) {
	const asJSON, asStream = "application/json", "text/event-stream"
	h := newHouse(t, nil)
	for _, c := range []struct {
		name   string
		accept []string
		want   string
	}{
		{"both types", []string{"application/json, text/event-stream"}, asStream},
		{"both types in two headers", []string{"application/json", "text/event-stream"}, asStream},
		{"both types with weights", []string{"application/json;q=0.9, text/event-stream;q=0.1"}, asStream},
		{"both types in capitals", []string{"Application/JSON,Text/Event-Stream"}, asStream},
		{"an event stream alone", []string{"text/event-stream"}, asStream},
		{"JSON alone", []string{"application/json"}, asJSON},
		{"anything", []string{"*/*"}, asJSON},
		{"nothing", nil, asJSON},
		{"an event stream weighed away", []string{"application/json, text/event-stream;q=0.0"}, asJSON},
		{"a type that there is not", []string{"text/html"}, asJSON},
		{"what browsers send", []string{"application/json, text/plain, */*"}, asJSON},
	} {
		for _, body := range []string{record, strings.Replace(record, `{"action"`, `{"actor":1,"actor":2,"action"`, 1)} {
			t.Run(c.name, func(t *testing.T) {
				a := h.post(body, header("Accept", c.accept...))
				if got := a.header.Get("Content-Type"); got != c.want {
					t.Fatalf("answered as %q, want %q", got, c.want)
				}
				a.called(t)
			})
		}
	}
}

func TestAnIDComesBackExactlyOrIsRefused(t *testing.T) {
	h := newHouse(t, nil)
	for _, id := range []string{`0`, `1`, `-1`, `9007199254740991`, `-9007199254740991`, `""`, `"a"`, `"1"`, `"ü\n\"<>&"`, `"9007199254740993"`} {
		t.Run("exactly "+id, func(t *testing.T) {
			for _, accept := range []string{"application/json", "application/json, text/event-stream"} {
				a := h.post(strings.Replace(record, `"id":1`, `"id":`+id, 1), header("Accept", accept))
				a.called(t)
				if got := a.rpc(t).ID; !sameJSON(t, got, []byte(id)) {
					t.Fatalf("came back as %s", got)
				}
			}
		})
	}
	for _, c := range []struct{ id, back string }{
		{`9007199254740992`, `9007199254740992`},
		{`9007199254740993`, `9007199254740993`},
		{`-9007199254740993`, `-9007199254740993`},
		{`123456789012345678901234567890`, `123456789012345678901234567890`},
		{`1.5`, `1.5`},
		{`1.0`, `1.0`},
		{`1e3`, `1e3`},
		{`-0`, `-0`},
		{`1e400`, `1e400`},
		{strings.Repeat("9", 100), `null`},
		{`null`, `null`},
		{`true`, `null`},
		{`{"a":1}`, `null`},
		{`[1]`, `null`},
	} {
		t.Run("refused "+c.id, func(t *testing.T) {
			a := h.post(strings.Replace(record, `"id":1`, `"id":`+c.id, 1))
			a.failed(t, http.StatusBadRequest, -32600, c.back, "invalid_value")
		})
	}
}

func TestWhatExpectsNoAnswerIsNotCarriedOut(t *testing.T) {
	for _, body := range []string{
		strings.Replace(record, `"id":1,`, ``, 1),
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","method":"nobody/knows"}`,
	} {
		s, agent, _, _ := openSchedule(t)
		f := &faked{schedule: s}
		a := send(t, serve(t, f, nil), agent, strings.NewReader(body))
		if a.status != http.StatusAccepted || len(a.body) != 0 {
			t.Errorf("%s: answered %d %q", body, a.status, a.body)
		}
		if n := f.calls.Load(); n != 0 {
			t.Errorf("%s: %d calls were carried out", body, n)
		}
	}
}

func TestMethodsThatAreNotDeclaredAreNotFound(t *testing.T) {
	h := newHouse(t, nil)
	for _, m := range []string{"prompts/list", "prompts/get", "resources/list", "resources/templates/list", "resources/read",
		"resources/subscribe", "logging/setLevel", "completion/complete", "subscriptions/listen", "roots/list", "tools/approve", ""} {
		for _, params := range []string{``, `,"params":{}`, `,"params":{"level":"info","uri":"x","notifications":{"toolsListChanged":true}}`, `,"params":[]`} {
			t.Run(m+params, func(t *testing.T) {
				body := fmt.Sprintf(`{"jsonrpc":"2.0","id":"x","method":%q%s}`, m, params)
				older := h.post(body)
				newer := h.post(body, header("Mcp-Protocol-Version", "2026-07-28"), header("Mcp-Method", m))
				if params == `,"params":[]` {
					older.failed(t, http.StatusBadRequest, -32602, `"x"`, "wrong_type")
					return
				}
				for want, a := range map[int]answer{http.StatusOK: older, http.StatusNotFound: newer} {
					a.failed(t, want, -32601, `"x"`, "unknown_tool")
				}
			})
		}
	}
}

func TestAToolThatIsUnknownOrNotTheCallersIsRefusedInAnEnvelope(t *testing.T) {
	h := newHouse(t, nil)
	for _, name := range []string{"nobody_knows", "", "Operator_State", "operator_state ", "../operator_state", "reeve.elsewhere", strings.Repeat("x", 5000)} {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, name)
		t.Run(name[:min(len(name), 20)], func(t *testing.T) {
			h.post(body).refused(t, "1", "unknown_tool")
			h.post(body, header("Mcp-Protocol-Version", "2025-11-25")).refused(t, "1", "unknown_tool")
		})
	}
}

func TestACallWithoutArgumentsHasAnEmptyObject(t *testing.T) {
	for _, arguments := range []string{``, `,"arguments":null`, `,"arguments":{}`, `,"arguments":{ }`} {
		s, agent, _, _ := openSchedule(t)
		f := &faked{schedule: s}
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"operator_state"` + arguments + `}}`
		send(t, serve(t, f, nil), agent, strings.NewReader(body)).called(t)
		if got := f.last.Load().raw; !sameJSON(t, []byte(got), []byte(`{}`)) {
			t.Errorf("%s: the schedule got %s", arguments, got)
		}
	}
}

func TestArgumentsThatAreNoObjectAreRefusedInAnEnvelope(t *testing.T) {
	h := newHouse(t, nil)
	for _, arguments := range []string{`[]`, `[{}]`, `"{}"`, `1`, `true`} {
		a := h.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"operator_state","arguments":` + arguments + `}}`)
		e := readEnvelope(t, a.called(t).Structured)
		if e.Verdict != "deny" {
			t.Errorf("%s: %s", arguments, a.body)
		}
	}
}

func TestTheScheduleGetsTheArgumentsByteForByte(t *testing.T) {
	const arguments = `{ "b" : 9007199254740993, "a":"<\u00fc&>", "n":[1.50,-0,1E5] }`
	s, agent, _, _ := openSchedule(t)
	f := &faked{schedule: s}
	send(t, serve(t, f, nil), agent, strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"operator_state","arguments":`+arguments+`}}`)).called(t)
	if got := f.last.Load().raw; got != arguments {
		t.Errorf("the schedule got\n%s, want\n%s", got, arguments)
	}
}

func TestAnIntegerBeyondADoubleIsNotLostInEitherPlace(t *testing.T) {
	const exact = `{"id": 9007199254740993, "big": 18446744073709551615, "text": "<b>&"}`
	s, agent, _, _ := openSchedule(t)
	f := &faked{schedule: s, answer: []byte(exact)}
	for _, accept := range []string{"application/json", "application/json, text/event-stream"} {
		c := send(t, serve(t, f, nil), agent, strings.NewReader(record), header("Accept", accept)).called(t)
		if c.Content[0].Text != exact {
			t.Errorf("the text block is %s", c.Content[0].Text)
		}
		if !sameJSON(t, c.Structured, []byte(exact)) {
			t.Errorf("the structured content is %s", c.Structured)
		}
	}
}

func TestNamesInAnotherSpellingOfJSONAreTheSameNames(t *testing.T) {
	h := newHouse(t, nil)
	h.post(`{"\u006asonrpc":"2\u002e0","id":1,"method":"tools\/call","params":{"name":"operator\u005fstate","arguments":{}}}`).called(t)
}

func TestPingAnswersInTheOlderEra(t *testing.T) {
	h := newHouse(t, nil)
	a := h.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if r := a.rpc(t); r.Error != nil || string(r.Result) != "{}" {
		t.Fatalf("%s", a.body)
	}
}

func TestInitializeAnswersWhateverItIsToldOfTheClient(t *testing.T) {
	h := newHouse(t, nil)
	for params, want := range map[string]string{
		`{}`:                               "2025-11-25",
		`{"protocolVersion":"2025-06-18"}`: "2025-06-18",
		`{"protocolVersion":"2099-01-01","capabilities":5,"clientInfo":[1]}`:         "2025-11-25",
		`{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":7}}`: "2024-11-05",
	} {
		a := h.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":` + params + `}`)
		var res struct {
			ProtocolVersion string `json:"protocolVersion"`
		}
		if err := json.Unmarshal(a.rpc(t).Result, &res); err != nil || res.ProtocolVersion != want {
			t.Errorf("%s: %s", params, a.body)
		}
	}
	h.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":7}}`).failed(t, http.StatusBadRequest, -32602, "1", "wrong_type")
}

func TestACursorThatWasNeverGivenOutIsRefused(t *testing.T) {
	h := newHouse(t, nil)
	a := h.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"abc"}}`)
	if r := a.rpc(t); r.Error == nil || r.Error.Code != -32602 {
		t.Errorf("%s", a.body)
	}
	h.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":5}}`).failed(t, http.StatusBadRequest, -32602, "1", "wrong_type")
	for _, params := range []string{`{"cursor":null}`, `{"cursor":""}`, `{}`, `null`} {
		if r := h.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":` + params + `}`).rpc(t); r.Error != nil {
			t.Errorf("%s: %v", params, r.Error)
		}
	}
}

func TestEveryAnswerCarriesARequestIDOfItsOwn(t *testing.T) {
	h := newHouse(t, nil)
	seen := map[string]bool{}
	for _, c := range []change{method("POST"), method("GET"), header("Authorization"), header("X-Request-Id", "mine")} {
		id := h.post(record, c).header.Get("X-Request-Id")
		if len(id) < 20 || seen[id] {
			t.Errorf("request id %q", id)
		}
		seen[id] = true
	}
}
