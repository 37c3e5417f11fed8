package mcpadapter

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

// message is one JSON-RPC 2.0 request, read by our own rules. All slices share
// the body's memory.
type message struct {
	id     []byte // as it stands in the body; nil for a notification
	method string
	params []powers.Member
}

// fault is a body that was refused, and what is known of who sent it.
type fault struct {
	status int    // of HTTP, where it cannot be told as a tool's result
	code   int64  // of JSON-RPC, likewise
	err    error  // for the envelope
	id     []byte // as it stands in the body; nil where none can be believed
	call   bool   // this much is sure: one tools/call with that id
	tool   string // the tool's name, where one can be found
	more   any    // an object whose members the protocol wants beside the envelope's; nil: none
}

func (f *fault) Error() string { return f.err.Error() }

// maxID is the largest integer that a double holds exactly with its neighbours.
// The SDK passes ids through a double, so a larger one would come back rounded.
const maxID = 1<<53 - 1

// parse reads one request. What JSON-RPC or two JSON parsers could take in two
// ways is a fault: a batch, a repeated key, an id that would not survive.
func parse(raw []byte) (*message, *fault) {
	members, err := powers.Members(raw)
	if err != nil && (!json.Valid(raw) || !startsWith(raw, '{')) {
		return nil, notARequest(raw, err)
	}
	who := sender(members)
	if err != nil {
		return nil, who.as(jsonrpc.CodeInvalidRequest, powers.OfArguments(err))
	}
	if err := powers.CheckJSON(raw); err != nil {
		err = powers.OfArguments(err)
		if !json.Valid(raw) {
			return nil, who.as(jsonrpc.CodeParseError, err)
		}
		return nil, who.as(jsonrpc.CodeInvalidRequest, err)
	}
	return readRequest(members, who)
}

// notARequest refuses a body that is no JSON object as a whole, so that nothing
// in it says whom to answer.
func notARequest(raw []byte, err error) *fault {
	switch {
	case startsWith(raw, '['):
		err = operator.Refuse(operator.ReasonBatch, "The body is an array of requests; send one request at a time.")
	case !json.Valid(raw):
		return &fault{status: http.StatusBadRequest, code: jsonrpc.CodeParseError, err: err}
	}
	return &fault{status: http.StatusBadRequest, code: jsonrpc.CodeInvalidRequest, err: err}
}

func startsWith(raw []byte, c byte) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == c
}

// sender finds out whom a refusal can be told to, whatever else is wrong.
func sender(members []powers.Member) fault {
	who := fault{status: http.StatusBadRequest}
	id, ok := only(members, "id")
	if !ok || !exactID(id) {
		return who
	}
	who.id = id
	version, _ := only(members, "jsonrpc")
	method, _ := only(members, "method")
	if text(version) != "2.0" || text(method) != methodCallTool || misspelt(members, requestKeys) != "" {
		return who
	}
	who.call = true
	if params, ok := only(members, "params"); ok {
		inner, _ := powers.Members(params) // what it finds before a fault is enough
		name, _ := only(inner, "name")
		who.tool = text(name)
	}
	return who
}

func (f fault) as(code int64, err error) *fault {
	f.code, f.err = code, err
	return &f
}

var (
	requestKeys = []string{"jsonrpc", "id", "method", "params"}
	callKeys    = []string{"name", "arguments", "_meta"}
)

func readRequest(members []powers.Member, who fault) (*message, *fault) {
	invalid := func(reason operator.Reason, format string, args ...any) (*message, *fault) {
		return nil, who.as(jsonrpc.CodeInvalidRequest, operator.Refuse(reason, format, args...))
	}
	if key := misspelt(members, requestKeys); key != "" {
		return invalid(operator.ReasonUnknownKey, "The request has a key %q; the keys of JSON-RPC are lower case.", key)
	}
	if version, _ := only(members, "jsonrpc"); text(version) != "2.0" {
		return invalid(operator.ReasonInvalidValue, `The request must say "jsonrpc": "2.0".`)
	}
	method, ok := only(members, "method")
	if !ok || !startsWith(method, '"') {
		return invalid(operator.ReasonMissingField, "The request must name its method in a string; this server asks nothing, so there is nothing to respond to.")
	}
	m := &message{method: text(method)}
	if id, ok := only(members, "id"); ok {
		if !exactID(id) {
			who.id = echoable(id)
			return invalid(operator.ReasonInvalidValue, "The request's id must be a string, or a whole number of at most 9007199254740991 either way.")
		}
		m.id = id
	}
	return m.withParams(members, who)
}

// withParams reads params, which every method here takes as an object or not at
// all, and in it _meta, likewise.
func (m *message) withParams(members []powers.Member, who fault) (*message, *fault) {
	params, ok := only(members, "params")
	if !ok || string(params) == "null" {
		return m, nil
	}
	inner, err := powers.Members(params)
	if err != nil {
		return nil, who.as(jsonrpc.CodeInvalidParams, operator.Refuse(operator.ReasonWrongType, "The request's params must be an object."))
	}
	if meta, ok := only(inner, "_meta"); ok && string(meta) != "null" && !isObject(meta) {
		return nil, who.as(jsonrpc.CodeInvalidParams, operator.Refuse(operator.ReasonWrongType, "The request's _meta must be an object."))
	}
	m.params = inner
	return m, nil
}

// callOf is the tool's name and the arguments of a tools/call. Arguments that
// are absent or null are an empty object, as a tool without any has it.
func (m *message) callOf() (tool string, arguments []byte, f *fault) {
	who := fault{status: http.StatusBadRequest, id: m.id, call: true}
	if key := misspelt(m.params, callKeys); key != "" {
		return "", nil, who.as(jsonrpc.CodeInvalidParams,
			operator.Refuse(operator.ReasonUnknownKey, "The call has a key %q; the keys of a call are lower case.", key))
	}
	name, ok := only(m.params, "name")
	if ok && string(name) == `""` {
		return "", nil, who.as(jsonrpc.CodeInvalidParams, operator.Refuse(operator.ReasonUnknownTool, "There is no tool without a name."))
	}
	if !ok || !startsWith(name, '"') {
		return "", nil, who.as(jsonrpc.CodeInvalidParams,
			operator.Refuse(operator.ReasonMissingField, "The call must name its tool in a string, params.name."))
	}
	arguments, ok = only(m.params, "arguments")
	if !ok || string(arguments) == "null" {
		arguments = []byte("{}")
	}
	return text(name), arguments, nil
}

// argumentsIn finds a call's arguments in a message that was refused, so that the
// same mistake counts as the same over every face; the whole message where there
// are none to be sure of.
func argumentsIn(body []byte) []byte {
	at := body
	for _, name := range []string{"params", "arguments"} {
		members, _ := powers.Members(at) // what is wrong with the rest does not matter here
		value, ok := only(members, name)
		if !ok {
			return body
		}
		at = value
	}
	return at
}

// only is the value of the one member of that name. Of two that disagree
// neither may be believed.
func only(members []powers.Member, name string) ([]byte, bool) {
	var found []byte
	count := 0
	for _, m := range members {
		if m.Name == name {
			found = m.Value
			count++
		}
	}
	if count != 1 {
		return nil, false
	}
	return found, true
}

// misspelt finds a key that differs from one of keys in case alone. Taking it
// for an unknown key and ignoring it would change what the request means.
func misspelt(members []powers.Member, keys []string) string {
	for _, m := range members {
		for _, k := range keys {
			if m.Name != k && strings.EqualFold(m.Name, k) {
				return strings.ToValidUTF8(m.Name, "")
			}
		}
	}
	return ""
}

// text is the string that raw holds, or "" where raw is something else.
func text(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	if inner := raw[1 : len(raw)-1]; plain(inner) {
		return string(inner)
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// plain says that a quoted string stands for itself, as nearly every one does.
func plain(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c >= 0x80 || c == '\\' || c == '"' {
			return false
		}
	}
	return true
}

// exactID says that the SDK would give this id back as it came.
func exactID(raw []byte) bool {
	if startsWith(raw, '"') {
		return powers.CheckJSON(raw) == nil
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return err == nil && n <= maxID && n >= -maxID && strconv.FormatInt(n, 10) == string(raw)
}

// echoable is a number that is no good as an id but can be given back letter by
// letter, or nil.
func echoable(raw []byte) []byte {
	const longest = 64
	if len(raw) > longest || len(raw) == 0 || !slices.Contains([]byte("-0123456789"), raw[0]) || !json.Valid(raw) {
		return nil
	}
	return raw
}
