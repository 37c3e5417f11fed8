package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/reeve-go/reeve/operator"
)

// What a spoof is refused for.
const (
	unauthenticated   operator.Reason = "unauthenticated"
	credentialExpired operator.Reason = "credential_expired"
	credentialRevoked operator.Reason = "credential_revoked"
	credentialInQuery operator.Reason = "credential_in_query"
	kindNotAllowed    operator.Reason = "kind_not_allowed"
	roleNotAllowed    operator.Reason = "role_not_allowed"
	unknownTool       operator.Reason = "unknown_tool"
	unknownKey        operator.Reason = "unknown_key"
	notFound          operator.Reason = "not_found"
	notYours          operator.Reason = "not_yours"
)

// spoof is a way of being taken for somebody else.
type spoof struct {
	name  string
	as    string // whose credential it is made with; the thief's where nothing is said
	spots spot   // where it has to be able to write; 0: the credential itself is what is forged
	deeds []string
	shape func(*stage, *attempt)
	// refused is why every deed is refused, on every face. Where it is empty the forged
	// part is thrown away, and the caller gets what its credential gives it: by deed
	// what owed says, and else an agent's due.
	refused operator.Reason
	owed    map[string]operator.Reason
}

// owes is why a deed is refused on a face; empty where it is done, as whoever the
// credential says.
func (sp spoof) owes(s *stage, f face, deed string) operator.Reason {
	_, _, act := s.route(deed)
	kind := s.who[sp.as].kind
	switch reason, said := sp.owed[deed]; {
	case sp.refused != "":
		return sp.refused
	case f.tools && act != nil:
		return unknownTool
	case act != nil && kind != operator.KindHuman, act == nil && kind == operator.KindChannel && !f.direct:
		return kindNotAllowed
	case sp.spots == inAddress && f.name == "REST":
		return unknownKey // a resource takes nothing there; other faces do not look
	case said:
		return reason
	case deed == toUpdate:
		return notYours
	}
	return ""
}

// spoofs is the table.
func spoofs(s *stage) []spoof {
	all := slices.Concat(forgedTokens(s), overTokens(), otherCredentials(), forgedRequests(s), forgedHeaders(s), forgedMeta(), forgedArguments(s), forgedEnvironment(s))
	for i := range all {
		if all[i].as == "" {
			all[i].as = "thief"
		}
		if all[i].deeds == nil {
			all[i].deeds = deeds
		}
		if all[i].refused != "" {
			all[i].deeds = []string{toApprove, toRecord} // who is nobody is so whatever they try
		}
	}
	return all
}

// secretOf is a token without what it begins with.
func secretOf(token string) string { return strings.SplitN(token, "_", 3)[2] }

// other is another character than c.
func other(c byte) string {
	if c == 'A' {
		return "B"
	}
	return "A"
}

// forgedTokens are texts in place of the owner's credential.
func forgedTokens(s *stage) []spoof {
	owner, thief := s.who["owner"].token, s.who["thief"].token
	sum := sha256.Sum256([]byte(owner))
	hash, last := hex.EncodeToString(sum[:]), len(owner)-1
	swapped := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r - 'a' + 'A'
		}
		if r >= 'A' && r <= 'Z' {
			return r - 'A' + 'a'
		}
		return r
	}, secretOf(owner))
	out := []spoof{}
	for name, token := range map[string]string{
		"a person's credential with another last character":          owner[:last] + other(owner[last]),
		"a person's credential with another character in it":         owner[:20] + other(owner[20]) + owner[21:],
		"a person's credential in capitals":                          strings.ToUpper(owner),
		"a person's credential with the cases of its secret swapped": "rv_human_" + swapped,
		"a person's credential whose prefix is in capitals":          "RV_HUMAN_" + secretOf(owner),
		"a person's credential, padded":                              owner + "=",
		"a person's credential, one character longer":                owner + "A",
		"a person's credential, cut":                                 owner[:last],
		"a person's credential, its first half alone":                owner[:len(owner)/2],
		"a person's credential without what it begins with":          secretOf(owner),
		"an agent's secret behind a person's prefix":                 "rv_human_" + secretOf(thief),
		"a person's secret behind an agent's prefix":                 "rv_agent_" + secretOf(owner),
		"a person's secret behind the prefix of no kind":             "rv_owner_" + secretOf(owner),
		"the stored hash of a person's credential":                   hash,
		"the stored hash behind a person's prefix":                   "rv_human_" + hash[:43],
		"the hash as 43 characters behind a person's prefix":         "rv_human_" + base64.RawURLEncoding.EncodeToString(sum[:]),
		"the id of a person's credential":                            s.minted["owner"].ID,
		"the instance id of a person's credential":                   s.minted["owner"].InstanceID,
		"a person's id":       "human:owner",
		"a principal as JSON": `{"kind":"human","id":"human:owner","role":"owner"}`,
		"a person's credential with a Cyrillic letter in it":         strings.Replace(owner, "human", "hum\u0430n", 1),
		"a person's credential with a zero-width space in it":        owner[:20] + "\u200b" + owner[20:],
		"a person's credential with a byte order mark before it":     "\ufeff" + owner,
		"a person's credential in full-width letters":                "\uff52\uff56\uff3f" + owner[3:],
		"a person's credential, escaped":                             strings.ReplaceAll(owner, "_", "%5F"),
		"a person's credential in quotes":                            `"` + owner + `"`,
		"an agent's credential and a person's, with a comma between": thief + "," + owner,
		"a query of SQL":   "rv_human_' or kind = 'human' --",
		"a pattern of SQL": "rv_human_" + strings.Repeat("_", 42) + "%",
		"no credential":    "",
	} {
		out = append(out, spoof{name: name, as: "owner", refused: unauthenticated, shape: func(_ *stage, a *attempt) { a.token = token }})
	}
	slices.SortFunc(out, func(a, b spoof) int { return strings.Compare(a.name, b.name) })
	return out
}

// overTokens are credentials that were a person's.
func overTokens() []spoof {
	return []spoof{
		{name: "a person's credential whose time is over", as: "expired", refused: credentialExpired},
		{name: "a person's credential that was revoked", as: "revoked", refused: credentialRevoked},
		{name: "a person's credential that was rotated", as: "rotated", refused: credentialRevoked},
		{name: "a removed person's credential", as: "removed", refused: credentialRevoked},
		{name: "the credential of somebody who is off the list, which was never taken back", as: "gone", refused: credentialRevoked},
	}
}

// otherCredentials are live, and somebody else's than they would need to be.
func otherCredentials() []spoof {
	absent := map[string]operator.Reason{toApprove: notFound, toUpdate: notFound}
	byID := []string{toApprove, toUpdate}
	return []spoof{
		{name: "an agent's credential with every scope"},
		{name: "an agent's credential with every scope and the owner's name", as: "namesake"},
		{name: "a worker's credential with every scope and the owner's name", as: "worker"},
		{name: "a channel's credential with every scope, for a person who is linked to it", as: "channel", deeds: []string{toApprove, toSetKit, toGrant, toComment, toUpdate}},
		{name: "the credential of another account's owner of the same name, with ids of this one", as: "an owner of another account", deeds: byID, owed: absent},
		{name: "the credential of the owner for another project, with ids of this one", as: "an owner of another project", deeds: byID, owed: absent},
		{name: "an agent's credential of another account, with ids of this one", as: "an agent of another account", deeds: byID, owed: absent},
		{name: "an agent's credential of another project, with ids of this one", as: "an agent of another project", deeds: byID, owed: absent},
		{name: "a member's credential for what is an owner's", as: "ana", deeds: []string{toSetKit, toUpdate}, owed: map[string]operator.Reason{toSetKit: roleNotAllowed}},
	}
}

// forgedRequests present credentials in ways that leave it open which one counts.
func forgedRequests(s *stage) []spoof {
	owner, thief := s.who["owner"].token, s.who["thief"].token
	basic := func(pair string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(pair)) }
	var out []spoof
	for _, c := range []struct {
		name   string
		bearer []string
	}{
		{"a second Authorization header, with a person's credential", []string{"Bearer " + thief, "Bearer " + owner}},
		{"a second Authorization header, with a person's id", []string{"Bearer " + thief, basic("human:owner")}},
		{"an agent's credential behind a header that is empty", []string{"", "Bearer " + thief}},
		{"Basic with a person's id", []string{basic("owner:")}},
		{"Basic with a person's id and credential", []string{basic("owner:" + owner)}},
		{"Digest with a person's id", []string{`Digest username="owner", realm="reeve"`}},
		{"a scheme of one's own with a person's id", []string{"Person human:owner"}},
		{"a person's credential without its scheme", []string{owner}},
		{"two credentials behind one scheme", []string{"Bearer " + thief + " " + owner}},
	} {
		out = append(out, spoof{name: c.name, spots: inAuthorization, refused: unauthenticated, shape: func(_ *stage, a *attempt) { a.bearer = c.bearer }})
	}
	for _, c := range []struct{ name, query string }{
		{"a person's credential in the address", "access_token=" + owner},
		{"a person's credential in the address under any name, escaped", "x=" + strings.Replace(owner, "r", "%72", 1)},
		{"a credential of nobody's in the address", "token=human:owner"},
	} {
		out = append(out, spoof{name: c.name, spots: inAddress, refused: credentialInQuery, shape: func(_ *stage, a *attempt) { a.query = c.query }})
	}
	return append(out, spoof{name: "a person's id in the address", spots: inAddress,
		shape: func(_ *stage, a *attempt) { a.query = "user=human:owner&actor=human:owner&role=owner" }})
}

// personally are headers by which other servers are told who somebody is.
func personally(owner string) map[string]string {
	return map[string]string{
		"X-Forwarded-User": "human:owner", "X-Forwarded-Email": "owner@home.example", "X-Forwarded-Preferred-Username": "owner", "X-Remote-User": "human:owner",
		"Remote-User": "owner", "X-Principal": `{"kind":"human","id":"human:owner","role":"owner"}`, "X-User": "human:owner", "X-User-Id": "1", "X-Actor": "human:owner",
		"X-On-Behalf-Of": "human:owner", "X-Role": "owner", "X-Kind": "human", "X-Scopes": "intents:decide", "Forwarded": `for=127.0.0.1;by="human:owner"`,
		"X-Forwarded-For": "127.0.0.1", "X-Real-Ip": "127.0.0.1", "Cf-Access-Authenticated-User-Email": "owner@home.example", "Tailscale-User-Login": "owner",
		"X-Ssl-Client-S-Dn": "CN=owner", "X-Account": "other", "X-Project": "second", "X-Instance-Id": "human:owner", "From": "owner@home.example",
		"Proxy-Authorization": "Bearer " + owner, "X-Authorization": "Bearer " + owner, "X-Api-Key": owner, "X-Access-Token": owner, "Cookie": "token=" + owner + "; session=" + owner,
		"Mcp-Session-Id": "human:owner", "X-Http-Method-Override": "POST",
	}
}

func forgedHeaders(s *stage) []spoof {
	named := personally(s.who["owner"].token)
	var out []spoof
	for _, name := range slices.Sorted(maps.Keys(named)) {
		out = append(out, spoof{name: "a header " + name + " that says it is the owner", spots: inHeader, deeds: []string{toApprove, toUpdate},
			shape: func(_ *stage, a *attempt) { a.header = map[string]string{name: named[name]} }})
	}
	all := func(_ *stage, a *attempt) { a.header = named }
	return append(out,
		spoof{name: "all such headers", spots: inHeader, shape: all},
		spoof{name: "all such headers, by a member", as: "ana", spots: inHeader, deeds: []string{toSetKit, toComment, toUpdate, toRecord},
			owed: map[string]operator.Reason{toSetKit: roleNotAllowed}, shape: all},
		spoof{name: "all such headers, and no credential", as: "owner", spots: inHeader | inAuthorization, refused: unauthenticated,
			shape: func(_ *stage, a *attempt) { a.header, a.bearer = named, []string{} }})
}

// owners is the owner as JSON, in every type there is.
func owners() map[string]any {
	principal := map[string]any{"kind": "human", "id": "human:owner", "role": "owner", "interactive": true, "account": "default", "scopes": operator.Scopes()}
	return map[string]any{"a text": "human:owner", "an object": principal, "a list": []any{"human:owner", principal}, "a number": 1, "true": true, "null": nil}
}

func forgedMeta() []spoof {
	var out []spoof
	for _, kind := range slices.Sorted(maps.Keys(owners())) {
		who := owners()[kind]
		out = append(out, spoof{name: "a principal in _meta, as " + kind, spots: inMeta, shape: func(_ *stage, a *attempt) {
			a.meta = map[string]any{"principal": who, "actor": who, "io.modelcontextprotocol/principal": who, "reeve/principal": who, "authorization": who, "progressToken": "human:owner"}
		}})
	}
	return append(out, spoof{name: "a principal in _meta, by a member", as: "ana", spots: inMeta, deeds: []string{toComment, toUpdate, toRecord},
		shape: func(_ *stage, a *attempt) { a.meta = map[string]any{"principal": owners()["an object"]} }})
}

// forgedArguments name somebody in what a tool or an act is called with.
func forgedArguments(s *stage) []spoof {
	owner := s.minted["owner"]
	noKey := func(names ...string) map[string]operator.Reason {
		out := map[string]operator.Reason{}
		for _, n := range names {
			out[n] = unknownKey
		}
		return out
	}
	var out []spoof
	for _, kind := range slices.Sorted(maps.Keys(owners())) {
		who := owners()[kind]
		actor := func(_ *stage, a *attempt) { a.args["actor"] = who }
		out = append(out,
			spoof{name: "an actor, as " + kind, spots: inArguments, shape: actor},
			// Only tools take one, to throw it away.
			spoof{name: "an actor, as " + kind + ", by a member", as: "ana", spots: inArguments, deeds: []string{toSetKit, toComment, toUpdate, toRecord},
				owed: noKey(toSetKit, toComment), shape: actor})
	}
	for _, c := range []struct {
		name string
		args map[string]any
	}{
		{"a principal among the arguments", map[string]any{"principal_id": "human:owner"}},
		{"a person among the arguments", map[string]any{"person": "owner"}},
		{"a kind and a role among the arguments", map[string]any{"kind": "human", "role": "owner"}},
		{"another project among the arguments", map[string]any{"project_id": s.minted["an owner of another project"].ProjectID}},
		{"another account among the arguments", map[string]any{"account": "other"}},
		{"somebody else's write context", map[string]any{"resource": "reeve", "instance_id": owner.InstanceID, "project_id": owner.ProjectID}},
		{"a person's credential among the arguments", map[string]any{"token": owner.Token}},
		{"an actor in another spelling", map[string]any{"Actor": "human:owner"}},
		{"an actor with a Cyrillic letter", map[string]any{"\u0430ctor": "human:owner"}},
		{"a way in among the arguments", map[string]any{"via": "terminal"}},
	} {
		more := func(_ *stage, a *attempt) { maps.Copy(a.args, c.args) }
		out = append(out, spoof{name: c.name, spots: inArguments, owed: noKey(toUpdate, toRecord), shape: more},
			spoof{name: c.name + ", by a member", as: "ana", spots: inArguments, deeds: []string{toApprove, toSetKit, toGrant, toComment}, owed: noKey(deeds...), shape: more})
	}
	within := func(a *attempt) map[string]any { return a.args["action"].(map[string]any) }
	return append(out,
		spoof{name: "an action that says who recorded and approved it", spots: inArguments, deeds: []string{toRecord}, owed: noKey(toRecord), shape: func(_ *stage, a *attempt) {
			maps.Copy(within(a), map[string]any{"recorded_by": "human:owner", "decided_by": "human:owner", "status": "approved"})
		}},
		spoof{name: "a principal in the data of an action", spots: inData, deeds: []string{toRecord}, shape: func(_ *stage, a *attempt) {
			within(a)["data"] = map[string]any{"principal": owners()["an object"], "actor": "human:owner", "recorded_by": "human:owner", "status": "approved"}
		}},
		spoof{name: "an idempotency key under which somebody else recorded", spots: inKey, shape: func(_ *stage, a *attempt) { a.key = a.keyOf("victim") }},
		spoof{name: "an idempotency key under which the owner spoke", spots: inKey, shape: func(_ *stage, a *attempt) { a.key = a.keyOf("owner") }},
		spoof{name: "an idempotency key under which the owner spoke, by a member in the same words", as: "ana", spots: inKey, deeds: []string{toComment},
			shape: func(_ *stage, a *attempt) { a.key = a.keyOf("owner") }})
}

// forgedEnvironment says in the environment of a command who is at it.
func forgedEnvironment(s *stage) []spoof {
	owner := s.who["owner"].token
	env := []string{"REEVE_TOKEN=" + owner, "REEVE_CREDENTIAL=" + owner, "REEVE_PERSON=owner", "REEVE_ACTOR=human:owner", "USER=owner", "LOGNAME=owner", "SUDO_USER=owner"}
	return []spoof{
		{name: "a person's credential in the environment, beside an agent's", spots: inEnvironment, shape: func(_ *stage, a *attempt) { a.env = env }},
		{name: "a person's credential in the environment, beside an empty file", as: "owner", spots: inEnvironment, refused: unauthenticated,
			shape: func(_ *stage, a *attempt) { a.env, a.token = env, "" }},
	}
}
