package powers

import (
	"context"
	"net/url"
	"strings"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// Presented is what a request shows of who sends it.
type Presented struct {
	Authorization []string // every Authorization header, as they came
	RawQuery      string   // a credential in here is refused
	Face          Face
	RequestID     string
	Action        string // the route, for the record of a refusal
}

// Authenticate resolves a request's credential. A non-nil Answer is the refusal,
// already recorded.
func (s *Schedule) Authenticate(ctx context.Context, in Presented) (Caller, *Answer) {
	c := Caller{Face: in.Face, RequestID: in.RequestID}
	token, err := bearer(in)
	if err == nil {
		c.Principal, err = s.op.Authenticate(ctx, token, core.Via(in.Face))
	}
	if err != nil {
		refused := s.Refuse(ctx, c, in.Action, err)
		return c, &refused
	}
	return c, nil
}

// bearer finds the one credential that a request presents. Two of them would
// leave it to each reader which one counts.
func bearer(in Presented) (string, error) {
	if credentialInQuery(in.RawQuery) {
		return "", core.Refuse(core.ReasonCredentialInQuery, "A credential in an address ends up in logs: send it in the Authorization header, and replace this one.")
	}
	if len(in.Authorization) != 1 {
		return "", core.Refuse(core.ReasonUnauthenticated, "Send exactly one Authorization header; this request has %d.", len(in.Authorization))
	}
	scheme, token, ok := strings.Cut(in.Authorization[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", core.Refuse(core.ReasonUnauthenticated, "The Authorization header must be of the scheme Bearer.")
	}
	return token, nil
}

// credentialInQuery looks for a credential of ours anywhere in the query, and
// for the names that other servers take one by.
func credentialInQuery(raw string) bool {
	if raw == "" {
		return false
	}
	if strings.Contains(raw, "rv_") || strings.Contains(raw, "rv%5F") || strings.Contains(raw, "rv%5f") {
		return true
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return false // the route refuses it as a malformed query
	}
	for name := range values {
		switch strings.ToLower(name) {
		case "access_token", "authorization", "token", "bearer", "api_key":
			return true
		}
	}
	return false
}

// personOf is for the acts' own root: the person behind a caller.
func (s *Schedule) personOf(c Caller) (operator.Person, error) { return s.op.PersonOf(c.Principal) }
