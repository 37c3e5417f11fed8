package mcpadapter

import (
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/reeve-go/reeve/operator"
)

const (
	headerKey      = "Idempotency-Key"
	headerReplayed = "Idempotency-Replayed"

	// metaKey is an idempotency key in a call's _meta, for hosts that set no header.
	metaKey = "reeve/idempotency-key"
	// metaReplayed is true in the _meta of a result that was given before.
	metaReplayed = "reeve/idempotency-replayed"
)

// keysOf is the call's idempotency keys, of the header and of _meta. Both may name
// the same one: a proxy can make a header of what is in the body.
func (m *message) keysOf(h http.Header, tool string) ([]string, *fault) {
	keys := h.Values(headerKey)
	key, ok := m.meta(metaKey)
	if !ok {
		return keys, nil
	}
	if !startsWith(key, '"') {
		return nil, &fault{status: http.StatusBadRequest, code: jsonrpc.CodeInvalidParams, id: m.id, call: true, tool: tool,
			err: operator.Refuse(operator.ReasonWrongType, "The call's _meta.%s must be a string.", metaKey)}
	}
	if len(keys) == 1 && keys[0] == text(key) {
		return keys, nil
	}
	return append([]string{text(key)}, keys...), nil
}
