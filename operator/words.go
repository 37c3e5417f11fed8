package operator

import (
	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// What the services of this module share is declared once, in an internal
// package, and named here for those who import the library. `go doc` does not
// follow an alias, so each says what it holds.

// Principal is who is calling, as resolved from a credential: the result of
// Operator.Authenticate or Operator.LocalWorker, and not to be had otherwise. Its
// methods: ID() ("agent:main"), Kind(), Account(), Project(), ProjectUID(),
// Role(), Scopes(), Missing(scopes), Interactive(), InstanceID(), Via(), Known().
// The zero Principal is nobody and may do nothing.
type Principal = core.Principal

// Kind is the sort of caller: KindHuman, KindAgent, KindWorker or KindChannel. It
// is a string.
type Kind = core.Kind

// Role is a person's standing in an account: RoleOwner, RoleAdmin or RoleMember.
// It is a string.
type Role = core.Role

// Scope is one permission, `<area>:<verb>`, matched exactly. It is a string.
type Scope = core.Scope

// Via is the way in that a call or an act came by, as the record has it. It is a
// string: one of the Via constants, or the name of a channel.
type Via = core.Via

// Clock tells the time: Now() time.Time. Only a lease is judged by the database's
// own clock.
type Clock = core.Clock

// Refusal is the one error type by which reeve says no. Its fields: Reason, the
// word from the closed list; Message, one sentence for a person or a model;
// Details, what a program can act on; Recovery, the steps that would change the
// outcome; Cause, what lay beneath. errors.Is compares the Reason alone, with the
// Err sentinels below; errors.As gives the whole. Info() gives the verdict, the
// layer and the HTTP status that all refusals for a reason share.
type Refusal = core.Refusal

// Reason is why a call was refused: a snake_case word. docs/refusals.md lists
// them all, with what would change each.
type Reason = core.Reason

// Step is one thing that would change a refusal: Kind (from a closed list),
// Change (a sentence), and where they apply Tool, HumanAction, RetryAfter in
// seconds, ApprovalID, ExpiresAt, OnExpiry.
type Step = core.Step

// Status is where an intent stands; gate has the constants and the lifecycle.
type Status = gate.Status

// Querier is what reeve needs of a transaction that somebody else owns:
// ExecContext and QueryContext, as *sql.Tx has them.
type Querier = core.Querier

// The kinds of principal.
const (
	KindHuman   = core.KindHuman
	KindAgent   = core.KindAgent
	KindWorker  = core.KindWorker
	KindChannel = core.KindChannel
)

// A person's roles.
const (
	RoleOwner  = core.RoleOwner
	RoleAdmin  = core.RoleAdmin
	RoleMember = core.RoleMember
)

// The ways in that reeve stamps itself.
const (
	ViaMCP      = core.ViaMCP
	ViaREST     = core.ViaREST
	ViaLibrary  = core.ViaLibrary
	ViaTerminal = core.ViaTerminal
)

// Sentinels for errors.Is. Every refusal is a *Refusal, whose fields say more.
var (
	ErrUnauthenticated      error = &Refusal{Reason: core.ReasonUnauthenticated}
	ErrCredentialExpired    error = &Refusal{Reason: core.ReasonCredentialExpired}
	ErrCredentialRevoked    error = &Refusal{Reason: core.ReasonCredentialRevoked}
	ErrKindNotAllowed       error = &Refusal{Reason: core.ReasonKindNotAllowed}
	ErrMissingScope         error = &Refusal{Reason: core.ReasonMissingScope}
	ErrNotFound             error = &Refusal{Reason: core.ReasonNotFound}
	ErrIdempotencyKeyReused error = &Refusal{Reason: core.ReasonKeyReused}
	ErrIdempotencyMismatch  error = &Refusal{Reason: core.ReasonIdempotencyMismatch}
	ErrDigestMismatch       error = &Refusal{Reason: core.ReasonDigestMismatch}
	ErrTwin                 error = &Refusal{Reason: core.ReasonTwin}
	ErrAlreadySettled       error = &Refusal{Reason: core.ReasonAlreadySettled}
	ErrLapsed               error = &Refusal{Reason: core.ReasonLapsed}
	ErrMayHaveRun           error = &Refusal{Reason: core.ReasonMayHaveRun}
	ErrNotYours             error = &Refusal{Reason: core.ReasonNotYours}
	ErrTransition           error = &Refusal{Reason: core.ReasonTransition}
	ErrAlreadyApproved      error = &Refusal{Reason: core.ReasonAlreadyApproved}
	ErrOwnRequest           error = &Refusal{Reason: core.ReasonSelfApproval}
	ErrApproverNotAllowed   error = &Refusal{Reason: core.ReasonApproverNotAllowed}
	ErrEditChangesKind      error = &Refusal{Reason: core.ReasonEditChangesKind}
	ErrDenied               error = &Refusal{Reason: core.ReasonDenied}
	ErrBudget               error = &Refusal{Reason: core.ReasonBudget}
	ErrStaleToken           error = &Refusal{Reason: core.ReasonStaleToken}
	ErrDecisionSettled      error = &Refusal{Reason: core.ReasonDecisionSettled}
	ErrTaken                error = &Refusal{Reason: core.ReasonTaken}
	ErrVersionRace          error = &Refusal{Reason: core.ReasonVersionRace}
	ErrIsolation                  = core.ErrIsolation // of a transaction that a caller owns, on PostgreSQL
	ErrUnavailable          error = &Refusal{Reason: core.ReasonUnavailable}
	ErrAuditUnsealed        error = &Refusal{Reason: core.ReasonAuditUnsealed}
	ErrRoleNotAllowed       error = &Refusal{Reason: core.ReasonRoleNotAllowed}
	ErrCapability           error = &Refusal{Reason: core.ReasonCapability}
	ErrFrozen               error = &Refusal{Reason: core.ReasonFrozen}
	ErrSpendingNotGranted   error = &Refusal{Reason: core.ReasonSpendingNotGranted}
	ErrSpendingLimit        error = &Refusal{Reason: core.ReasonSpendingLimit}
	ErrApprovalRequired     error = &Refusal{Reason: core.ReasonApprovalRequired}
	ErrInvalidValue         error = &Refusal{Reason: core.ReasonInvalidValue}
	ErrPolicyInvalid        error = &Refusal{Reason: core.ReasonPolicyInvalid}
	ErrPolicyLoosens        error = &Refusal{Reason: core.ReasonPolicyLoosens}
	ErrPolicyFixed          error = &Refusal{Reason: core.ReasonPolicyFixed}
	ErrQuorum               error = &Refusal{Reason: core.ReasonQuorum}
	ErrVersionConflict      error = &Refusal{Reason: core.ReasonVersionConflict}
	ErrUnknownKey           error = &Refusal{Reason: core.ReasonUnknownKey}
)

// Scopes lists every scope that a credential can have.
func Scopes() []Scope { return core.Scopes() }

// The scopes.
const (
	ScopeStateRead      = core.ScopeStateRead
	ScopeIntentsWrite   = core.ScopeIntentsWrite
	ScopeDecisionsWrite = core.ScopeDecisionsWrite
	ScopeIntentsDecide  = core.ScopeIntentsDecide
	ScopeCommentsWrite  = core.ScopeCommentsWrite
	ScopeWorkClaim      = core.ScopeWorkClaim
	ScopeKitWrite       = core.ScopeKitWrite
	ScopeGrantsWrite    = core.ScopeGrantsWrite
	ScopeApprovals      = core.ScopeApprovals
	ScopePolicyWrite    = core.ScopePolicyWrite
)

// The reasons that an adapter refuses for by itself. core's table has them all.
const (
	ReasonForeignOrigin = core.ReasonForeignOrigin
	ReasonRateLimited   = core.ReasonRateLimited
	ReasonMediaType     = core.ReasonMediaType
	ReasonMethod        = core.ReasonMethod
	ReasonBatch         = core.ReasonBatch
	ReasonNotJSON       = core.ReasonNotJSON
	ReasonNotObject     = core.ReasonNotObject
	ReasonRepeatedKey   = core.ReasonRepeatedKey
	ReasonUnknownKey    = core.ReasonUnknownKey
	ReasonWrongType     = core.ReasonWrongType
	ReasonMissingField  = core.ReasonMissingField
	ReasonInvalidValue  = core.ReasonInvalidValue
	ReasonInvalidCursor = core.ReasonInvalidCursor
	ReasonTooLarge      = core.ReasonTooLarge
	ReasonTooSlow       = core.ReasonTooSlow
	ReasonUnknownTool   = core.ReasonUnknownTool
	ReasonNotFound      = core.ReasonNotFound
	ReasonInternal      = core.ReasonInternal
	ReasonUnavailable   = core.ReasonUnavailable
)
