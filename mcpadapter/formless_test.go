package mcpadapter

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reeve-go/reeve/operator/powers"
)

// Whatever a member of a request holds, in either era and for every method: the answer
// is a result, or holds an envelope that is on record.
func TestEveryRefusalOfARequestIsAnEnvelopeAndOnRecord(t *testing.T) {
	real, agent, _, _ := openSchedule(t)
	noted := &noting{schedule: real}
	h := &house{t: t, url: serve(t, noted, nil), agent: agent}
	const version, capabilities, client = `"io.modelcontextprotocol/protocolVersion":`, `"io.modelcontextprotocol/clientCapabilities":`, `"io.modelcontextprotocol/clientInfo":`
	values := []string{`null`, `true`, `5`, `1e400`, `""`, `"x"`, `[]`, `{}`, `{"sampling":5}`, `{"roots":"x","elicitation":[],"experimental":5}`, `{"name":5}`, `{"name":"a","version":["1"]}`}
	whole := version + `"2026-07-28",` + capabilities + `{}`
	params := []string{``}
	for _, v := range values {
		params = append(params,
			`"_meta":`+v,
			`"_meta":{`+version+v+`,`+capabilities+`{}}`,
			`"_meta":{`+version+`"2026-07-28",`+capabilities+v+`}`,
			`"_meta":{`+whole+`,`+client+v+`}`,
			`"_meta":{`+whole+`,"io.modelcontextprotocol/logLevel":`+v+`,"progressToken":`+v+`}`,
			`"_meta":{`+whole+`},"cursor":`+v,
			`"_meta":{`+whole+`},"name":`+v,
			`"_meta":{`+whole+`},"protocolVersion":`+v+`,"capabilities":`+v+`,"clientInfo":`+v,
			`"_meta":{`+whole+`},"arguments":`+v+`,"inputResponses":`+v+`,"requestState":`+v,
			`"cursor":`+v, `"protocolVersion":`+v+`,"capabilities":`+v+`,"clientInfo":`+v, `"_meta":{"progressToken":`+v+`}`)
	}
	methods := []string{methodInitialize, methodPing, methodDiscover, methodListTools, methodCallTool, "prompts/list", "subscriptions/listen"}
	for _, method := range methods {
		for _, era := range []string{"", "2025-11-25", "2026-07-28", "2099-01-01"} {
			for _, p := range params {
				body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`, method, p)
				changes := []change{}
				if era != "" {
					changes = append(changes, header("Mcp-Protocol-Version", era), header("Mcp-Method", method))
				}
				noted.answersInForm(t, h, body, changes)
			}
			for _, p := range append(values, `{"_meta":{`+whole+`}`) {
				noted.answersInForm(t, h, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, p), []change{header("Mcp-Protocol-Version", era)})
			}
		}
	}
}

// noting remembers for what it refused last.
type noting struct {
	schedule
	last atomic.Value
}

func (n *noting) note(a powers.Answer) powers.Answer { n.last.Store(string(a.Reason)); return a }

func (n *noting) Call(ctx context.Context, c powers.Caller, tool string, raw []byte) powers.Answer {
	return n.note(n.schedule.Call(ctx, c, tool, raw))
}

func (n *noting) Refuse(ctx context.Context, c powers.Caller, action string, err error) powers.Answer {
	return n.note(n.schedule.Refuse(ctx, c, action, err))
}

func (n *noting) RefuseCall(ctx context.Context, c powers.Caller, action string, raw []byte, err error) powers.Answer {
	return n.note(n.schedule.RefuseCall(ctx, c, action, raw, err))
}

func (n *noting) answersInForm(t *testing.T, h *house, body string, changes []change) {
	t.Helper()
	n.last.Store("")
	a := h.post(body, changes...)
	r := a.rpc(t)
	told := ""
	switch {
	case r.Error != nil:
		told = readEnvelope(t, r.Error.Data).Reason
	case len(r.Result) == 0:
		t.Errorf("%s: neither a result nor an error: %s", body, a.body)
	case strings.Contains(string(r.Result), `"structuredContent"`):
		var e envelope
		if json.Unmarshal(a.called(t).Structured, &e) == nil {
			told = e.Reason
		}
	}
	if told != n.last.Load() {
		t.Errorf("%s: told %q, and %q is on record", body, told, n.last.Load())
	}
}

func TestAMethodOfTheOtherEraIsNotFound(t *testing.T) {
	h := newHouse(t, nil)
	h.post(`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`).failed(t, http.StatusOK, -32601, "1", "unknown_tool")
	for _, method := range []string{methodInitialize, methodPing} {
		h.post(newer(method, ""), newerHeaders(method, "")...).failed(t, http.StatusNotFound, -32601, "1", "unknown_tool")
	}
}

// A client that is newer than the server looks for the versions beside the envelope.
func TestAVersionFromBeyondIsToldTheVersionsThatThereAre(t *testing.T) {
	h := newHouse(t, nil)
	for _, method := range []string{methodListTools, methodCallTool, methodDiscover} {
		a := h.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"name":"operator_state"}}`, method),
			header("Mcp-Protocol-Version", "2099-01-01"), header("Mcp-Method", method))
		a.failed(t, http.StatusBadRequest, -32022, "1", "invalid_value")
		if data := string(a.rpc(t).Error.Data); !strings.Contains(data, `"supported":["2026-07-28"`) || !strings.Contains(data, `"requested":"2099-01-01"`) {
			t.Error(data)
		}
	}
}

// A header that can have one value is not read where it has two: whoever stands between
// may believe the other one.
func TestAHeaderOfOneValueThatComesTwiceIsRefused(t *testing.T) {
	h := newHouse(t, nil)
	for name, c := range map[string]change{
		"two types":        header("Content-Type", "application/json", "text/plain"),
		"the type twice":   header("Content-Type", "application/json", "application/json"),
		"a type beside it": header("Content-Type", "text/plain", "application/json"),
		"two encodings":    header("Content-Encoding", "identity", "gzip"),
	} {
		t.Run(name, func(t *testing.T) {
			h.post(record, c).barred(t, http.StatusUnsupportedMediaType, "unsupported_media_type")
		})
	}
	h.post(record, header("Authorization", "Bearer "+h.agent, "Bearer "+h.person)).barred(t, http.StatusUnauthorized, "unauthenticated")
	h.post(record, header("Origin", "http://localhost", "http://evil.example")).barred(t, http.StatusForbidden, "foreign_origin")
	h.post(record, header("Idempotency-Key", "a", "b")).refused(t, "1", "invalid_value")
	h.post(record, header("Mcp-Protocol-Version", "2025-11-25", "2025-11-25")).failed(t, http.StatusBadRequest, -32022, "1", "invalid_value")
	h.post(record, header("Accept", "application/json", "text/event-stream")).called(t) // this one may
}

// A place in the arguments has one name, whoever finds the fault.
func TestAFaultOfTheArgumentsIsNamedAsTheArgumentIs(t *testing.T) {
	h := newHouse(t, nil)
	for _, value := range []string{`"a\u0000b"`, `"\ud800"`, `5`, `"\u202e"`} {
		a := h.post(strings.Replace(record, `"Annual plan renewal"`, value, 1))
		if e := readEnvelope(t, a.called(t).Structured); !strings.Contains(string(a.body), `"field":"action.title"`) || strings.Contains(string(a.body), "params.arguments") {
			t.Errorf("%s: %s: %s", value, e.Reason, a.body)
		}
	}
}
