package mcpadapter

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/reeve-go/reeve/operator"
)

// pass hands the request to the SDK. The SDK gets a request of our own making,
// with what it needs and nothing else: not the credential, not the arguments,
// no header that would switch something on.
func (f *front) pass(w http.ResponseWriter, r *http.Request, in *inbound, m *message) {
	params, fail := m.sdkParams(in, one(r.Header, headerVersion))
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
	params := appendMember([]byte{'{'}, "name", quoted(elsewhere))
	h := http.Header{}
	if version := one(r.Header, headerVersion); version != "" {
		h.Set(headerVersion, version)
		if version >= newEra {
			h.Set(headerMethod, methodCallTool)
			h.Set(headerName, elsewhere)
			params = appendMember(params, "_meta", metaOf(version))
		}
	}
	f.toSDK(w, r, in, h, sdkBody(id, methodCallTool, append(params, '}')))
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

// sdkParams is what the SDK gets of the request's params. Of _meta it gets what the
// newer era cannot do without, in words of ours: what a client can do, or is called, is
// of no use to a server that asks nothing.
func (m *message) sdkParams(in *inbound, version string) ([]byte, *fault) {
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
			if text(cursor) != "" {
				// The list is one page, so no cursor was ever given out.
				return nil, &fault{status: http.StatusBadRequest, code: jsonrpc.CodeInvalidParams, id: m.id,
					err: operator.Refuse(operator.ReasonInvalidCursor, "The list is one page, and has no cursor: leave it out.")}
			}
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
	if version >= newEra {
		out = appendMember(out, "_meta", metaOf(version))
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
