package restadapter

import (
	"strings"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

func TestABadCredentialIsRefusedWithAChallengeAndChangesNothing(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		good := h.tokens[operator.KindAgent]
		for name, tt := range map[string]struct {
			path    string
			reason  operator.Reason
			changes []change
		}{
			"none":                       {"/v1/intents", "unauthenticated", []change{header("Authorization")}},
			"two":                        {"/v1/intents", "unauthenticated", []change{header("Authorization", "Bearer "+good, "Bearer "+good)}},
			"two in one header":          {"/v1/intents", "unauthenticated", []change{header("Authorization", "Bearer "+good+", Bearer "+good)}},
			"Basic":                      {"/v1/intents", "unauthenticated", []change{header("Authorization", "Basic "+good)}},
			"a token without its scheme": {"/v1/intents", "unauthenticated", []change{header("Authorization", good)}},
			"a token of nobody's":        {"/v1/intents", "unauthenticated", []change{header("Authorization", "Bearer rv_agent_"+strings.Repeat("x", 43))}},
			"an empty token":             {"/v1/intents", "unauthenticated", []change{header("Authorization", "Bearer ")}},
			"a cookie":                   {"/v1/intents", "unauthenticated", []change{header("Authorization"), header("Cookie", "token="+good)}},
			"in the query":               {"/v1/intents?access_token=" + good, "credential_in_query", []change{header("Authorization")}},
			"in the query as well":       {"/v1/intents?x=" + good, "credential_in_query", nil},
			"in the query under /v1":     {"/v1/nowhere?token=a", "credential_in_query", nil},
		} {
			t.Run(name, func(t *testing.T) {
				watch(t, h.world).onlyRefused(t, func() {
					r := h.call(good, "POST", tt.path, renewal, tt.changes...)
					r.refused(t, 401, tt.reason)
					if c := r.header.Get("WWW-Authenticate"); !strings.HasPrefix(c, "Bearer ") || !strings.Contains(c, `error="invalid_token"`) {
						t.Errorf("challenge %q", c)
					}
					if strings.Contains(string(r.body)+r.header.Get("WWW-Authenticate"), good) {
						t.Error("the refusal repeats the credential")
					}
					if r.header.Get("X-Reeve-Version") != "" {
						t.Error("nobody was told the version")
					}
				})
			})
		}
	})
}

func TestACredentialRevokedAMillisecondAgoIsRefused(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.as(operator.KindAgent, "GET", "/v1/state", "").is(t, 200, &struct{}{})
		if err := h.world.RevokeCredential(t.Context(), "", h.world.First.Agent.ID); err != nil {
			t.Fatal(err)
		}
		h.world.Clock.Advance(time.Millisecond)
		watch(t, h.world).onlyRefused(t, func() {
			h.as(operator.KindAgent, "POST", "/v1/intents", renewal).refused(t, 401, "credential_revoked")
		})
	})
}

func TestAnExpiredCredentialIsRefused(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.world.Clock.Advance(operator.FirstLife)
		h.as(operator.KindHuman, "GET", "/v1/state", "").refused(t, 401, "credential_expired")
	})
}

func TestARemovedPersonsActIsRefused(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		in := h.record(renewal)
		_, m := h.world.NewPerson(t, "ana", operator.RoleAdmin)
		if err := h.world.RemovePerson(t.Context(), "", "ana"); err != nil {
			t.Fatal(err)
		}
		watch(t, h.world).onlyRefused(t, func() {
			h.call(m.Token, "POST", act(in.ID, "approve"), digest(in)).refused(t, 401, "credential_revoked")
		})
	})
}

// Every scope that a row asks for is needed: without any one of them the caller
// is told which, before anything it sent is looked at.
func TestEveryScopeOfARowIsNeeded(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		for _, d := range h.doings() {
			for _, kind := range d.kinds {
				for _, missing := range d.scopes {
					rest := []operator.Scope{}
					for _, s := range operator.Scopes() {
						if s != missing {
							rest = append(rest, s)
						}
					}
					r := h.call(h.mint(kind, rest), d.method, d.address(1), "not even JSON", d.asText())
					e := r.refused(t, 403, "missing_scope")
					if e.Action != d.name || e.Error.Details["missing"].([]any)[0] != string(missing) {
						t.Errorf("%s: %s", d, r.body)
					}
					if c := r.header.Get("WWW-Authenticate"); !strings.Contains(c, `insufficient_scope`) || !strings.Contains(c, string(missing)) {
						t.Errorf("%s: challenge %q", d, c)
					}
				}
			}
		}
	})
}

// And none that it does not ask for.
func TestTheScopesOfARowAreEnough(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		for _, d := range h.doings() {
			for _, kind := range d.kinds {
				r := h.call(h.mint(kind, d.scopes), d.method, d.address(1), d.sample(t))
				if r.status == 401 || strings.Contains(string(r.body), `"missing_scope"`) || strings.Contains(string(r.body), `"kind_not_allowed"`) {
					t.Errorf("%s as %s: %d %s", d, kind, r.status, r.body)
				}
			}
		}
	})
}

func TestACredentialWithoutAnyScopeReachesTheListingOnly(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		h := newHouse(t, store, nil)
		token := h.mint(operator.KindAgent, nil)
		h.call(token, "GET", "/v1/tools", "").is(t, 200, &struct{}{})
		h.call(token, "GET", "/v1/state", "").refused(t, 403, "missing_scope")
	})
}
