package core

import (
	"slices"
	"strings"
)

// Kind says what sort of caller a principal is. It is checked before scope,
// and scope before role. The zero Kind may call nothing.
type Kind string

// The kinds of principal.
const (
	KindHuman   Kind = "human"   // a person on the account's list of people
	KindAgent   Kind = "agent"   // an autonomous caller
	KindWorker  Kind = "worker"  // executors, batch jobs and schedulers of our own
	KindChannel Kind = "channel" // an approval channel: relays a linked person's act, calls no tool
)

// Kinds lists every kind there is, in the order of the documentation.
func Kinds() []Kind { return []Kind{KindHuman, KindAgent, KindWorker, KindChannel} }

// Role is a person's standing in an account. Only people have one.
type Role string

// The roles, from the widest to the narrowest.
const (
	RoleOwner  Role = "owner"
	RoleAdmin  Role = "admin"
	RoleMember Role = "member"
)

// Roles lists every role, widest first.
func Roles() []Role { return []Role{RoleOwner, RoleAdmin, RoleMember} }

// Scope is one permission, `<area>:<verb>`, matched exactly and never by prefix.
type Scope string

// Via says which way in a call or an act came: a face of the schedule or an
// approval channel. It is stamped by the code that received the call.
type Via string

// The ways in that reeve itself stamps. A channel of one's own adds its name.
const (
	ViaMCP      Via = "mcp"
	ViaREST     Via = "rest"
	ViaLibrary  Via = "library"
	ViaTerminal Via = "terminal"
	ViaWorker   Via = "worker"
	ViaStore    Via = "store" // the store itself: expiry, reclaim
)

// Vias lists the ways in that reeve itself stamps. No channel may take the name
// of one, or what it relays would read as something else in the record.
func Vias() []Via {
	return []Via{ViaMCP, ViaREST, ViaLibrary, ViaTerminal, ViaWorker, ViaStore}
}

// Principal is who is calling, as resolved from a credential and from nothing
// else. Outside this module it can only be had from Operator.Authenticate or
// Operator.LocalWorker; the zero Principal is nobody and may do nothing.
//
// It says who called when the credential was read, and may be kept: whatever an
// Operator does or shows for it asks in its own transaction whether that credential is
// still live (RecordIntent, State, Claim, Report and their like), and refuses with
// ErrCredentialRevoked or ErrCredentialExpired. Scopes, role and kit are those of the
// moment of proof; the schedule of powers reads the kit anew for each call. A
// LocalWorker has no credential: it lasts as long as the process that opened the
// database.
type Principal struct{ f PrincipalFields }

// PrincipalFields is what a principal is made of. It lives in an internal
// package, so only reeve's own code can make a Principal from it.
type PrincipalFields struct {
	ID          string // "agent:main", "human:ana"
	Kind        Kind
	AccountID   int64
	Account     string // the account's slug
	ProjectID   int64
	ProjectUID  string
	Project     string // the project's slug
	Scopes      []Scope
	Role        Role // empty unless Kind is human
	Interactive bool
	CredentialID,
	PersonID int64
	InstanceID string
	Via        Via
	Powers     Powers // as they stood when the credential was read
}

// NewPrincipal makes a Principal of fields that a credential proved.
func NewPrincipal(f PrincipalFields) Principal { return Principal{f} }

// ID is the principal's name within its account, such as "agent:main".
func (p Principal) ID() string { return p.f.ID }

// Kind is the sort of caller.
func (p Principal) Kind() Kind { return p.f.Kind }

// Account is the slug of the account that the credential belongs to.
func (p Principal) Account() string { return p.f.Account }

// AccountID is the account's internal number, 0 for nobody.
func (p Principal) AccountID() int64 { return p.f.AccountID }

// Project is the slug of the project that the credential works in.
func (p Principal) Project() string { return p.f.Project }

// ProjectID is the project's internal number.
func (p Principal) ProjectID() int64 { return p.f.ProjectID }

// ProjectUID is the project's public id, a UUID.
func (p Principal) ProjectUID() string { return p.f.ProjectUID }

// Role is the person's role; empty for whatever is not a person.
func (p Principal) Role() Role { return p.f.Role }

// Interactive says that a person is present behind the credential.
func (p Principal) Interactive() bool { return p.f.Interactive }

// InstanceID is the UUID minted with the credential.
func (p Principal) InstanceID() string { return p.f.InstanceID }

// CredentialID is the internal number of the credential that proved it.
func (p Principal) CredentialID() int64 { return p.f.CredentialID }

// PersonID is the internal number of the person behind a human credential, else 0.
func (p Principal) PersonID() int64 { return p.f.PersonID }

// Via is the way in that the call came by.
func (p Principal) Via() Via { return p.f.Via }

// Powers is what the account's kit and its people let the principal do, as it
// stood when the credential was read. A call is judged by what stands by then.
func (p Principal) Powers() Powers { return p.f.Powers }

// WithPowers is the same principal with what was read anew.
func (p Principal) WithPowers(now Powers) Principal { p.f.Powers = now; return p }

// WithVia is the same principal, stamped with its way in.
func (p Principal) WithVia(v Via) Principal { p.f.Via = v; return p }

// Known says that the principal was proved; the zero Principal was not.
func (p Principal) Known() bool { return p.f.AccountID != 0 && p.f.Kind != "" }

// Scopes is a copy of what the credential was granted.
func (p Principal) Scopes() []Scope { return slices.Clone(p.f.Scopes) }

// Missing lists those of want that the principal was not granted.
func (p Principal) Missing(want []Scope) []Scope {
	var out []Scope
	for _, s := range want {
		if !slices.Contains(p.f.Scopes, s) {
			out = append(out, s)
		}
	}
	return out
}

// JoinScopes writes scopes as they are stored: sorted, once each, one space apart.
func JoinScopes(scopes []Scope) string {
	words := make([]string, 0, len(scopes))
	for _, s := range scopes {
		words = append(words, string(s))
	}
	slices.Sort(words)
	return strings.Join(slices.Compact(words), " ")
}

// SplitScopes reads what JoinScopes wrote.
func SplitScopes(stored string) []Scope {
	var out []Scope
	for _, w := range strings.Fields(stored) {
		out = append(out, Scope(w))
	}
	return out
}
