package operator

import (
	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// What the services of this module share is declared once, in an internal
// package, and named here for those who import the library.
type (
	Principal = core.Principal
	Kind      = core.Kind
	Role      = core.Role
	Scope     = core.Scope
	Via       = core.Via
	Clock     = core.Clock
	Refusal   = core.Refusal
	Reason    = core.Reason
	Step      = core.Step
	Status    = gate.Status
	Querier   = core.Querier
)

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
	ErrUnauthenticated     error = &Refusal{Reason: core.ReasonUnauthenticated}
	ErrCredentialExpired   error = &Refusal{Reason: core.ReasonCredentialExpired}
	ErrCredentialRevoked   error = &Refusal{Reason: core.ReasonCredentialRevoked}
	ErrKindNotAllowed      error = &Refusal{Reason: core.ReasonKindNotAllowed}
	ErrMissingScope        error = &Refusal{Reason: core.ReasonMissingScope}
	ErrNotFound            error = &Refusal{Reason: core.ReasonNotFound}
	ErrIdempotencyMismatch error = &Refusal{Reason: core.ReasonIdempotencyMismatch}
	ErrDigestMismatch      error = &Refusal{Reason: core.ReasonDigestMismatch}
	ErrAlreadySettled      error = &Refusal{Reason: core.ReasonAlreadySettled}
	ErrLapsed              error = &Refusal{Reason: core.ReasonLapsed}
	ErrNotYours            error = &Refusal{Reason: core.ReasonNotYours}
	ErrTransition          error = &Refusal{Reason: core.ReasonTransition}
	ErrAlreadyApproved     error = &Refusal{Reason: core.ReasonAlreadyApproved}
	ErrOwnRequest          error = &Refusal{Reason: core.ReasonSelfApproval}
	ErrApproverNotAllowed  error = &Refusal{Reason: core.ReasonApproverNotAllowed}
	ErrEditChangesKind     error = &Refusal{Reason: core.ReasonEditChangesKind}
	ErrDenied              error = &Refusal{Reason: core.ReasonDenied}
	ErrStaleToken          error = &Refusal{Reason: core.ReasonStaleToken}
	ErrDecisionSettled     error = &Refusal{Reason: core.ReasonDecisionSettled}
	ErrTaken               error = &Refusal{Reason: core.ReasonTaken}
	ErrVersionRace         error = &Refusal{Reason: core.ReasonVersionRace}
	ErrUnavailable         error = &Refusal{Reason: core.ReasonUnavailable}
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
)

// The reasons that an adapter refuses for by itself. core's table has them all.
const (
	ReasonForeignOrigin = core.ReasonForeignOrigin
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
	ReasonTooLarge      = core.ReasonTooLarge
	ReasonTooSlow       = core.ReasonTooSlow
	ReasonUnknownTool   = core.ReasonUnknownTool
	ReasonNotFound      = core.ReasonNotFound
	ReasonInternal      = core.ReasonInternal
	ReasonUnavailable   = core.ReasonUnavailable
)
