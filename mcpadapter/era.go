package mcpadapter

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

const (
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"

	// newEra is the first protocol version without a handshake: each request
	// carries its version in a header and in _meta, and the two must agree.
	newEra = "2026-07-28"
)

// one is a header as one value. Several are joined as RFC 9110 has it, which
// makes a header that was sent twice agree with nothing.
func one(h http.Header, name string) string { return strings.Join(h.Values(name), ", ") }

func newerEra(h http.Header) bool { return one(h, headerVersion) >= newEra }

// agrees holds the headers of the newer era to the body, and the body to what each
// request of that era says of itself. The SDK does so too, but with errors of its own,
// some of which repeat what they were sent.
func (m *message) agrees(h http.Header, in *inbound) *fault {
	version := one(h, headerVersion)
	if stated, ok := m.version(); ok && stated != version {
		return m.mismatch(headerVersion)
	}
	if !newerEra(h) {
		return nil
	}
	if one(h, headerMethod) != m.method {
		return m.mismatch(headerMethod)
	}
	if fail := m.saysOfItself(in); fail != nil {
		return fail
	}
	if m.method == methodCallTool && one(h, headerName) != in.tool {
		return m.mismatch(headerName)
	}
	return nil
}

func (m *message) mismatch(header string) *fault {
	return &fault{status: http.StatusBadRequest, code: mcp.CodeHeaderMismatch, id: m.id,
		err: operator.Refuse(operator.ReasonInvalidValue, "The header %s must say what the body says.", header)}
}

// existsIn says whether a declared method is one of an era: the handshake and what went
// with it are of the older one alone, what took its place of the newer.
func existsIn(method string, newer bool) bool {
	switch method {
	case methodInitialize, methodPing:
		return !newer
	case methodDiscover:
		return newer
	}
	return true
}

// saysOfItself refuses a request of the newer era whose _meta lacks what each of them
// has, or has it in another form.
func (m *message) saysOfItself(in *inbound) *fault {
	refuse := func(reason operator.Reason, format string, args ...any) *fault {
		return &fault{status: http.StatusBadRequest, code: jsonrpc.CodeInvalidParams, id: m.id, call: m.method == methodCallTool, tool: in.tool,
			err: operator.Refuse(reason, format, args...)}
	}
	_, stated := m.version()
	capabilities, ok := m.meta(mcp.MetaKeyClientCapabilities)
	if !stated || !ok || !isObject(capabilities) {
		return refuse(operator.ReasonMissingField,
			"A request of this protocol version names its version and the client's capabilities in params._meta, as %s and %s.",
			mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientCapabilities)
	}
	if json.Unmarshal(capabilities, new(mcp.ClientCapabilities)) != nil {
		return refuse(operator.ReasonWrongType, "The client's capabilities in params._meta are not of the form that the protocol has.")
	}
	client, ok := m.meta(mcp.MetaKeyClientInfo)
	if ok && string(client) != "null" && json.Unmarshal(client, new(mcp.Implementation)) != nil {
		return refuse(operator.ReasonWrongType, "The client's name in params._meta, as %s, is not of the form that the protocol has.", mcp.MetaKeyClientInfo)
	}
	return nil
}

// meta is one member of _meta.
func (m *message) meta(key string) ([]byte, bool) {
	meta, ok := only(m.params, "_meta")
	if !ok {
		return nil, false
	}
	inner, err := powers.Members(meta)
	if err != nil {
		return nil, false // null: every other value was refused before
	}
	return only(inner, key)
}

// version is the protocol version in _meta, where there is one.
func (m *message) version() (string, bool) {
	version, ok := m.meta(mcp.MetaKeyProtocolVersion)
	return text(version), ok && startsWith(version, '"')
}

// metaOf is the _meta that the SDK gets of a request of the newer era.
func metaOf(version string) []byte {
	out := appendMember([]byte{'{'}, mcp.MetaKeyProtocolVersion, quoted(version))
	return append(appendMember(out, mcp.MetaKeyClientCapabilities, []byte("{}")), '}')
}
