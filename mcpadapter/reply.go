package mcpadapter

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reeve-go/reeve/operator/powers"
)

// writeEnvelope answers a request that never became a message.
func writeEnvelope(w http.ResponseWriter, a powers.Answer) {
	h := w.Header()
	if a.Challenge != "" {
		h.Set("WWW-Authenticate", a.Challenge)
	}
	if a.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(a.RetryAfter))
	}
	write(w, a.Status, a.JSON)
}

type rpcError struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   rpcErrorBody    `json:"error"`
}

type rpcErrorBody struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// writeRPCError answers a message that is refused as such. The id goes back as
// it came, null where there was none to believe.
func writeRPCError(w http.ResponseWriter, status int, id []byte, code int64, message string, data []byte) {
	if id == nil {
		id = []byte("null")
	}
	body, err := json.Marshal(rpcError{Version: "2.0", ID: id, Error: rpcErrorBody{Code: code, Message: message, Data: data}})
	if err != nil {
		body = []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"internal error"}}`)
	}
	write(w, status, body)
}

// writeTooMany answers a message of a caller that sends too many.
func writeTooMany(w http.ResponseWriter, id []byte, answer powers.Answer) {
	w.Header().Set("Retry-After", strconv.Itoa(answer.RetryAfter))
	writeRPCError(w, answer.Status, id, jsonrpc.CodeInvalidRequest, "Too many requests", answer.JSON)
}

func write(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // who has left is not told
}

// rpcMessage is the sentence that JSON-RPC 2.0, or MCP, keeps for a code.
func rpcMessage(code int64) string {
	switch code {
	case jsonrpc.CodeParseError:
		return "Parse error"
	case jsonrpc.CodeInvalidParams:
		return "Invalid params"
	case mcp.CodeHeaderMismatch:
		return "Header mismatch"
	case mcp.CodeUnsupportedProtocolVersion:
		return "Unsupported protocol version"
	case jsonrpc.CodeMethodNotFound:
		return notFound().Message
	default:
		return "Invalid Request"
	}
}
