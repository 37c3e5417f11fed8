package powers

import (
	"context"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// Presented is what a request shows of who sends it.
type Presented struct {
	Authorization []string // every Authorization header, as they came
	RawQuery      string   // a credential in here is refused
	Face          Face
	RequestID     string
	RemoteAddr    string // of the connection, as net/http has it; "" within the process
	Action        string // the route, for the record of a refusal
	Once          bool   // one call is made as this caller, at once: it is judged by what is read now
}

// Authenticate resolves a request's credential. A non-nil Answer is the refusal,
// already recorded.
func (s *Schedule) Authenticate(ctx context.Context, in Presented) (Caller, *Answer) {
	c := Caller{Face: in.Face, RequestID: in.RequestID, Address: AddressOf(in.RemoteAddr)}
	token, err := bearer(in)
	if err == nil {
		c.Principal, err = s.op.Authenticate(ctx, token, core.Via(in.Face))
	}
	if err != nil {
		refused := s.Refuse(ctx, c, in.Action, err)
		return c, &refused
	}
	if in.Once {
		c.once, c.proved = new(once), time.Now()
	}
	c.wait = s.limits.known(c.Principal)
	return c, nil
}

// Stranger is a request of which nobody knows yet who sends it.
func Stranger(face Face, requestID, remoteAddr string) Caller {
	return Caller{Face: face, RequestID: requestID, Address: AddressOf(remoteAddr)}
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

// ownToken is how a credential of ours begins, whole or cut short.
var ownToken = regexp.MustCompile(`(?i)rv_(human|agent|worker|channel)_`)

// tokenNames are the names that other servers take a credential by in a query
// (RFC 6750, section 2.3, and habit).
var tokenNames = []string{"access_token", "authorization", "token", "bearer", "api_key", "apikey", "x_api_key", "auth", "credential"}

// credentialInQuery looks for a credential of ours anywhere in the query, in any
// escaping, and for the names that other servers take one by. A query that is
// malformed elsewhere is searched all the same.
func credentialInQuery(raw string) bool {
	for part := range strings.FieldsFuncSeq(raw, func(r rune) bool { return r == '&' || r == ';' }) {
		part = unescaped(part)
		name, _, _ := strings.Cut(part, "=")
		name, _, _ = strings.Cut(name, "[") // the lists of some frameworks: token[]=…
		name = strings.ReplaceAll(strings.ToLower(strings.Trim(name, " +")), "-", "_")
		if slices.Contains(tokenNames, name) || ownToken.MatchString(part) || len(gate.FindSecrets(part)) > 0 {
			return true
		}
	}
	return false
}

var escape = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// unescaped undoes what percent escapes there are, broken ones left as they
// stand, and does so again for a proxy that would decode once more.
func unescaped(part string) string {
	for range 3 {
		part = escape.ReplaceAllStringFunc(part, func(e string) string {
			plain, err := url.PathUnescape(e)
			if err != nil {
				return e
			}
			return plain
		})
	}
	return part
}

// personOf is for the acts' own root: the person behind a caller.
func (s *Schedule) personOf(c Caller) (operator.Person, error) {
	return s.op.PersonOf(c.Principal.WithVia(core.Via(c.Face)))
}
