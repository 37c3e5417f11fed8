package mcpadapter

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
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

// agrees holds the headers of the newer era to the body. The SDK does so too,
// but repeats both in its error, whatever they hold.
func (m *message) agrees(h http.Header, in *inbound) *fault {
	mismatch := func(header string) *fault {
		return &fault{status: http.StatusBadRequest, code: mcp.CodeHeaderMismatch, id: m.id,
			err: operator.Refuse(operator.ReasonInvalidValue, "The header %s must say what the body says.", header)}
	}
	if version, ok := m.version(); ok && version != one(h, headerVersion) {
		return mismatch(headerVersion)
	}
	if !newerEra(h) {
		return nil
	}
	if one(h, headerMethod) != m.method {
		return mismatch(headerMethod)
	}
	if m.method == methodCallTool && !m.saysEra() {
		return &fault{status: http.StatusBadRequest, code: jsonrpc.CodeInvalidParams, id: m.id, call: true, tool: in.tool,
			err: operator.Refuse(operator.ReasonMissingField,
				"A request of this protocol version names its version and the client's capabilities in params._meta, as %s and %s.",
				mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientCapabilities)}
	}
	if m.method == methodCallTool && one(h, headerName) != in.tool {
		return mismatch(headerName)
	}
	return nil
}

// version is the protocol version in _meta, where there is one.
func (m *message) version() (string, bool) {
	meta, ok := only(m.params, "_meta")
	if !ok {
		return "", false
	}
	inner, err := powers.Members(meta)
	if err != nil {
		return "", false
	}
	version, ok := only(inner, mcp.MetaKeyProtocolVersion)
	return text(version), ok && startsWith(version, '"')
}

// saysEra says that _meta holds what each request of the newer era says of itself.
func (m *message) saysEra() bool {
	if _, ok := m.version(); !ok {
		return false
	}
	meta, _ := only(m.params, "_meta")
	inner, err := powers.Members(meta)
	if err != nil {
		return false
	}
	capabilities, ok := only(inner, mcp.MetaKeyClientCapabilities)
	return ok && isObject(capabilities)
}

// pass hands the request to the SDK. The SDK gets a request of our own making,
// with what it needs and nothing else: not the credential, not the arguments,
// no header that would switch something on.
func (f *front) pass(w http.ResponseWriter, r *http.Request, in *inbound, m *message) {
	params, fail := m.sdkParams(in)
	if fail == nil {
		fail = m.agrees(r.Header, in)
	}
	if fail != nil {
		f.refuseRPC(w, r, in, fail)
		return
	}
	h := http.Header{}
	for _, name := range []string{headerVersion, headerMethod, headerName} {
		if v := one(r.Header, name); v != "" {
			h.Set(name, v)
		}
	}
	f.toSDK(w, r, in, h, sdkBody(m.id, m.method, params))
}

// passRefused lets the SDK tell a refusal as the result of the call, so that
// every result is framed in one place. What it gets agrees with itself by
// making: whether the call did no longer matters.
func (f *front) passRefused(w http.ResponseWriter, r *http.Request, in *inbound, id []byte) {
	params := map[string]any{"name": elsewhere}
	h := http.Header{}
	if version := one(r.Header, headerVersion); version != "" {
		h.Set(headerVersion, version)
		if version >= newEra {
			h.Set(headerMethod, methodCallTool)
			h.Set(headerName, elsewhere)
			params["_meta"] = map[string]any{mcp.MetaKeyProtocolVersion: version, mcp.MetaKeyClientCapabilities: struct{}{}}
		}
	}
	raw, err := json.Marshal(params)
	if err != nil {
		panic(err) // of strings alone
	}
	f.toSDK(w, r, in, h, sdkBody(id, methodCallTool, raw))
}

func (f *front) toSDK(w http.ResponseWriter, r *http.Request, in *inbound, h http.Header, body []byte) {
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	out := r.WithContext(withInbound(r.Context(), in))
	out.Header = h
	out.Body = io.NopCloser(bytes.NewReader(body))
	out.ContentLength = int64(len(body))
	if wantsStream(r.Header.Values("Accept")) {
		f.asStream.ServeHTTP(w, out)
		return
	}
	f.asJSON.ServeHTTP(w, out)
}

// sdkParams is what the SDK gets of the request's params.
func (m *message) sdkParams(in *inbound) ([]byte, *fault) {
	wrong := func(what string) ([]byte, *fault) {
		return nil, &fault{status: http.StatusBadRequest, code: jsonrpc.CodeInvalidParams, id: m.id,
			err: operator.Refuse(operator.ReasonWrongType, "%s must be a string.", what)}
	}
	out := []byte{'{'}
	switch m.method {
	case methodCallTool:
		out = appendMember(out, "name", quoted(in.tool))
	case methodListTools:
		if cursor, ok := only(m.params, "cursor"); ok && string(cursor) != "null" {
			if !startsWith(cursor, '"') {
				return wrong("The cursor")
			}
			out = appendMember(out, "cursor", cursor)
		}
	case methodInitialize:
		// No session is kept, so nothing that a client can do is of use here.
		version, ok := only(m.params, "protocolVersion")
		if ok && !startsWith(version, '"') {
			return wrong("The protocolVersion")
		}
		out = appendMember(out, "protocolVersion", quoted(text(version)))
		out = appendMember(out, "capabilities", []byte("{}"))
		out = appendMember(out, "clientInfo", []byte(`{"name":"","version":""}`))
	}
	if meta, ok := only(m.params, "_meta"); ok && isObject(meta) {
		out = appendMember(out, "_meta", meta)
	}
	return append(out, '}'), nil
}

func sdkBody(id []byte, method string, params []byte) []byte {
	out := appendMember([]byte{'{'}, "jsonrpc", []byte(`"2.0"`))
	out = appendMember(out, "id", id)
	out = appendMember(out, "method", quoted(method))
	out = appendMember(out, "params", params)
	return append(out, '}')
}

func appendMember(out []byte, name string, value []byte) []byte {
	if len(out) > 1 {
		out = append(out, ',')
	}
	out = append(out, '"')
	out = append(out, name...)
	out = append(out, '"', ':')
	return append(out, value...)
}

func quoted(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // no string fails to marshal
	}
	return b
}

// wantsStream says whether an answer goes out as an event stream: where the
// Accept header names that type and does not weigh it away. Whatever else it
// says, the answer is JSON (RFC 9110, 12.5.1, lets a server disregard it).
func wantsStream(accept []string) bool {
	for _, value := range accept {
		for part := range strings.SplitSeq(value, ",") {
			media, params, err := mime.ParseMediaType(part)
			if err == nil && media == "text/event-stream" && !weightless(params["q"]) {
				return true
			}
		}
	}
	return false
}

// weightless knows the ways to write a weight of nothing: 0, 0.0, 0.000.
func weightless(q string) bool { return q != "" && strings.Trim(q, "0.") == "" }
