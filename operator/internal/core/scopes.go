package core

// The scopes that exist. A row of the schedule, or an act, lists those it needs.
const (
	ScopeStateRead      Scope = "state:read"
	ScopeIntentsWrite   Scope = "intents:write"
	ScopeDecisionsWrite Scope = "decisions:write"
	ScopeIntentsDecide  Scope = "intents:decide" // a person's judgement of an intent
	ScopeCommentsWrite  Scope = "comments:write"
	ScopeWorkClaim      Scope = "work:claim"
	ScopeKitWrite       Scope = "kit:write"        // an owner's look at the account's kit, and change of it
	ScopeGrantsWrite    Scope = "grants:write"     // a person's Start for a principal that spends
	ScopeApprovals      Scope = "approvals:decide" // a person's judgement of a parked call
	ScopePolicyWrite    Scope = "policy:write"     // an owner's change of the account's policy
)

// AgentScopes is what an agent needs for every tool of the operator's own.
func AgentScopes() []Scope { return []Scope{ScopeDecisionsWrite, ScopeIntentsWrite, ScopeStateRead} }

// OwnerScopes is what a person needs for every act and every look.
func OwnerScopes() []Scope {
	return []Scope{ScopeApprovals, ScopeCommentsWrite, ScopeGrantsWrite, ScopeIntentsDecide, ScopeKitWrite, ScopePolicyWrite, ScopeStateRead}
}

// Scopes lists every scope there is.
func Scopes() []Scope {
	return []Scope{ScopeStateRead, ScopeIntentsWrite, ScopeDecisionsWrite, ScopeIntentsDecide, ScopeCommentsWrite, ScopeWorkClaim,
		ScopeKitWrite, ScopeGrantsWrite, ScopeApprovals, ScopePolicyWrite}
}
