package restadapter

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

// The two documents that a server has of itself, as the record and the OpenAPI
// document call looking at them.
const (
	listPath      = "/v1/tools"
	listAction    = "list_tools"
	openAPIAction = "openapi"
)

// addDocuments renders both, once.
func (a *adapter) addDocuments(t *table) error {
	tools, acts := a.schedule.Tools(), a.schedule.Acts()
	whole, err := list(tools)
	if err != nil {
		return err
	}
	api, err := openAPI(tools, acts)
	if err != nil {
		return err
	}
	t.add(http.MethodGet, listPath, listAction, nil, a.documentEndpoint(listAction, whole))
	t.add(http.MethodGet, openAPIPath, openAPIAction, nil, a.documentEndpoint(openAPIAction, api))
	return nil
}

// documentEndpoint is a document for callers of every kind. It says what there is,
// and a look at it grants nothing, but nobody has it without a credential.
func (a *adapter) documentEndpoint(action string, body []byte) *endpoint {
	sum := sha256.Sum256(body)
	return &endpoint{
		etag: `"` + hex.EncodeToString(sum[:16]) + `"`,
		permit: func(ctx context.Context, c powers.Caller) *powers.Answer {
			return a.schedule.Admit(ctx, c, action)
		},
		call: func(ctx context.Context, c powers.Caller, raw []byte) powers.Answer {
			if members, err := powers.Members(raw); err != nil || len(members) > 0 {
				return a.schedule.Refuse(ctx, c, action, operator.Refuse(operator.ReasonUnknownKey, "The listing takes no parameters; it is always whole."))
			}
			return powers.Answer{JSON: body, OK: true, Status: http.StatusOK}
		},
	}
}

// unchanged answers 304 where the client has the document already. Whoever keeps it
// asks each time, with a credential.
func (x *exchange) unchanged(etag string) bool {
	h := x.w.Header()
	h.Set("ETag", etag)
	h.Set("Cache-Control", "private, no-cache")
	if !matches(x.r.Header.Values("If-None-Match"), etag) {
		return false
	}
	x.send(http.StatusNotModified, nil)
	return true
}

// matches compares weakly (RFC 9110, 13.1.2). No tag of ours has a comma in it.
func matches(header []string, etag string) bool {
	for one := range strings.SplitSeq(strings.Join(header, ","), ",") {
		one = strings.TrimSpace(one)
		if one == "*" || strings.TrimPrefix(one, "W/") == etag {
			return true
		}
	}
	return false
}
