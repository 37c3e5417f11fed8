package mcpadapter

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/reeve-go/reeve/operator/powers"
)

const methodCancelled = "notifications/cancelled"

// exchange is one line of the host's and what is known of it. It is read as the
// server reads it, so that headers can be set, and so that it can be answered
// where the server does not.
type exchange struct {
	body    []byte
	id      []byte // whom an answer is for; nil where none can be believed
	method  string
	tool    string // of a call, as the client wrote it
	version string // of the protocol, as the header says it; may be empty
	call    bool   // this much is sure: one tools/call with that id
	silent  bool   // a notification, which is never answered

	wrong     *fault // why it is no request, if it is none
	response  bool   // it answers something, though nothing was asked
	takesBack bool   // it takes the request of that id back

	under  context.Context // what it is answered under, once it is under way
	cancel context.CancelCauseFunc
}

// versions are the protocol versions of a session so far, each of which may be
// empty.
type versions struct{ negotiated, spoken string }

func newExchange(body []byte, v versions) *exchange {
	m, wrong := parse(body)
	if wrong != nil {
		return newFaulty(body, wrong, v)
	}
	x := &exchange{body: body, id: m.id, method: m.method, silent: m.id == nil, version: v.negotiated}
	if own, ok := m.version(); ok {
		x.version = own
	}
	if m.method == methodCallTool && m.id != nil {
		x.call = true
		x.tool, _, x.wrong = m.callOf()
	}
	if m.method == methodCancelled && m.id == nil {
		x.takesBack = true
		x.id, _ = only(m.params, "requestId")
	}
	return x
}

// newFaulty is what the server will refuse, if it can be reached. Which version
// such a message is of cannot be asked of it.
func newFaulty(body []byte, wrong *fault, v versions) *exchange {
	x := &exchange{body: body, wrong: wrong, id: wrong.id, tool: wrong.tool, call: wrong.call, version: v.spoken}
	if members, err := powers.Members(body); err == nil {
		_, result := only(members, "result")
		_, failed := only(members, "error")
		_, asks := only(members, "method")
		x.response = !asks && (result || failed)
	}
	return x
}

// key tells the id of one request from that of another.
func (x *exchange) key() string { return idKey(x.id) }

// idKey is the same for two spellings of one id. The quote in front of a string
// keeps "7" apart from 7.
func idKey(id []byte) string {
	if !exactID(id) {
		return ""
	}
	if startsWith(id, '"') {
		return `"` + text(id)
	}
	return string(id)
}

// request is the message as HTTP carries it.
func (x *exchange) request(ctx context.Context, b *Bridge) (*http.Request, error) {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json")
	h.Set("Authorization", "Bearer "+b.token)
	h.Set("User-Agent", serverName)
	setFitting(h, headerVersion, x.version)
	if x.version >= newEra {
		setFitting(h, headerMethod, x.method)
		setFitting(h, headerName, x.tool)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.endpoint.String(), bytes.NewReader(x.body))
	if err != nil {
		return nil, err
	}
	r.Header = h
	return r, nil
}

// setFitting sets a header to what the message says, where a header can. Where it
// cannot, the server misses it, and says so.
func setFitting(h http.Header, name, value string) {
	const longest = 256
	if value == "" || len(value) > longest || value[0] == ' ' || value[len(value)-1] == ' ' {
		return
	}
	for _, c := range []byte(value) {
		if c < ' ' || c > '~' {
			return
		}
	}
	h.Set(name, value)
}

// answerIn is the answer to x in a body, as one line, or nil where there is none.
// An error that names nobody answers x, since x alone was sent with it.
func (x *exchange) answerIn(raw []byte) []byte {
	var one bytes.Buffer
	if !utf8.Valid(raw) || json.Compact(&one, raw) != nil {
		return nil
	}
	members, err := powers.Members(one.Bytes())
	if err != nil {
		return nil
	}
	version, _ := only(members, "jsonrpc")
	id, named := only(members, "id")
	_, result := only(members, "result")
	problem, failed := only(members, "error")
	switch {
	case text(version) != "2.0" || !named || result == failed:
		return nil
	case string(id) == "null" && failed && x.id != nil:
		return problemFor(x.id, problem)
	case string(id) == "null" && failed, string(id) == string(x.id), x.id != nil && idKey(id) == x.key() && x.key() != "":
		return one.Bytes()
	}
	return nil
}

func problemFor(id, problem []byte) []byte {
	out := appendMember([]byte{'{'}, "jsonrpc", []byte(`"2.0"`))
	out = appendMember(out, "id", id)
	out = appendMember(out, "error", problem)
	return append(out, '}')
}

// refusal tells an envelope as an answer to x: as the result of a call, where x
// is sure to be one, else as an error.
func (x *exchange) refusal(code int64, a powers.Answer) []byte {
	if x.call && x.id != nil {
		return x.result(a)
	}
	return x.problem(code, rpcMessage(code), a.JSON)
}

func (x *exchange) problem(code int64, message string, envelope []byte) []byte {
	id := x.id
	if id == nil {
		id = []byte("null")
	}
	problem, err := json.Marshal(rpcErrorBody{Code: code, Message: message, Data: envelope})
	if err != nil {
		problem = []byte(`{"code":-32603,"message":"internal error"}`)
	}
	return problemFor(id, problem)
}

// toolResult is the result of a call as the server writes it.
type toolResult struct {
	ResultType string          `json:"resultType,omitempty"`
	Content    []toolText      `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool            `json:"isError,omitempty"`
}

type toolText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func (x *exchange) result(a powers.Answer) []byte {
	res := toolResult{Content: []toolText{{"text", string(a.JSON)}}, Structured: a.JSON, IsError: a.IsError}
	if x.version >= newEra {
		res.ResultType = "complete"
	}
	result, err := json.Marshal(res)
	if err != nil {
		return x.problem(jsonrpc.CodeInternalError, "internal error", nil)
	}
	out := appendMember([]byte{'{'}, "jsonrpc", []byte(`"2.0"`))
	out = appendMember(out, "id", x.id)
	out = appendMember(out, "result", result)
	return append(out, '}')
}

// local answers what is no request in place of a server that did not.
func (x *exchange) local() []byte {
	return x.refusal(x.wrong.code, powers.Unrecorded(x.action(), x.wrong.err))
}

// action is what an envelope calls x.
func (x *exchange) action() string {
	if x.call && x.tool != "" {
		return x.tool
	}
	return actionNone
}
