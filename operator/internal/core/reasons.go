package core

// Reason is a snake_case word from the closed list below.
type Reason string

// ReasonInfo is what every refusal for one reason has in common.
type ReasonInfo struct {
	Reason  Reason
	Layer   Layer
	Verdict Verdict
	Status  int      // the HTTP status over REST
	Code    string   // error.code in the envelope
	Hint    string   // error.hint: what would change it
	Step    StepKind // the recovery step offered when the refusal names none
}

// The reasons. Each stands in the table once, with its meaning.
const (
	ReasonUnauthenticated   Reason = "unauthenticated"
	ReasonCredentialExpired Reason = "credential_expired"
	ReasonCredentialRevoked Reason = "credential_revoked"
	ReasonCredentialInQuery Reason = "credential_in_query"
	ReasonForeignOrigin     Reason = "foreign_origin"
	ReasonRateLimited       Reason = "rate_limited"

	ReasonKindNotAllowed Reason = "kind_not_allowed"
	ReasonMissingScope   Reason = "missing_scope"
	ReasonRoleNotAllowed Reason = "role_not_allowed"
	ReasonUnknownTool    Reason = "unknown_tool"
	ReasonCapability     Reason = "capability_denied"

	ReasonNotJSON           Reason = "not_json"
	ReasonNotObject         Reason = "not_an_object"
	ReasonBatch             Reason = "batch_not_supported"
	ReasonTooLarge          Reason = "too_large"
	ReasonTooSlow           Reason = "too_slow"
	ReasonMediaType         Reason = "unsupported_media_type"
	ReasonMethod            Reason = "method_not_allowed"
	ReasonTooDeep           Reason = "too_deep"
	ReasonRepeatedKey       Reason = "repeated_key"
	ReasonUnknownKey        Reason = "unknown_key"
	ReasonBadText           Reason = "bad_text"
	ReasonWrongType         Reason = "wrong_type"
	ReasonOutOfRange        Reason = "number_out_of_range"
	ReasonNotAnInteger      Reason = "not_an_integer"
	ReasonMissingField      Reason = "missing_field"
	ReasonInvalidValue      Reason = "invalid_value"
	ReasonInvalidStatus     Reason = "invalid_status"
	ReasonAmountOutOfRange  Reason = "amount_out_of_range"
	ReasonAmountNotPositive Reason = "amount_not_positive"
	ReasonAmountMismatch    Reason = "amount_mismatch"
	ReasonAmountMissing     Reason = "amount_missing"
	ReasonUnknownCurrency   Reason = "unknown_currency"
	ReasonPolicyInvalid     Reason = "policy_invalid"
	ReasonInexactNumber     Reason = "number_inexact"
	ReasonInvalidCursor     Reason = "invalid_cursor"

	ReasonFrozen             Reason = "frozen"
	ReasonSpendingNotGranted Reason = "spending_not_granted"
	ReasonSpendingLimit      Reason = "spending_limit_reached"

	ReasonApprovalRequired Reason = "approval_required"
	ReasonEvidenceRequired Reason = "evidence_required"

	ReasonNotFound            Reason = "not_found"
	ReasonIdempotencyMismatch Reason = "idempotency_mismatch"
	ReasonKeyReused           Reason = "idempotency_key_reused"
	ReasonDigestMismatch      Reason = "digest_mismatch"
	ReasonTwin                Reason = "already_recorded"
	ReasonAlreadySettled      Reason = "already_settled"
	ReasonAlreadyApproved     Reason = "already_approved_by_you"
	ReasonNotYours            Reason = "not_yours"
	ReasonTransition          Reason = "transition_not_allowed"
	ReasonLapsed              Reason = "window_lapsed"
	ReasonMayHaveRun          Reason = "may_have_been_carried_out"
	ReasonStaleToken          Reason = "stale_fencing_token"
	ReasonSelfApproval        Reason = "own_request"
	ReasonApproverNotAllowed  Reason = "approver_not_allowed"
	ReasonEditChangesKind     Reason = "edit_changes_kind"
	ReasonDenied              Reason = "denied_by_policy"
	ReasonBudget              Reason = "budget_exceeded"
	ReasonPolicyLoosens       Reason = "policy_loosens"
	ReasonQuorum              Reason = "quorum_unreachable"
	ReasonPolicyFixed         Reason = "policy_fixed"
	ReasonDecisionSettled     Reason = "decision_settled"
	ReasonTaken               Reason = "name_taken"
	ReasonLastOwner           Reason = "last_owner"
	ReasonVersionConflict     Reason = "version_conflict"
	ReasonVersionRace         Reason = "version_race"
	ReasonUnavailable         Reason = "unavailable"
	ReasonAuditUnsealed       Reason = "audit_unsealed"
	ReasonInternal            Reason = "internal_error"
)

var reasonTable = []ReasonInfo{
	{ReasonUnauthenticated, LayerCredential, VerdictDeny, 401, "unauthenticated", "Send exactly one header `Authorization: Bearer <credential>` with a live credential.", StepEscalateToHuman},
	{ReasonCredentialExpired, LayerCredential, VerdictDeny, 401, "unauthenticated", "The credential's time is over; a person can make a new one.", StepEscalateToHuman},
	{ReasonCredentialRevoked, LayerCredential, VerdictDeny, 401, "unauthenticated", "The credential was taken back; a person can make a new one.", StepEscalateToHuman},
	{ReasonCredentialInQuery, LayerCredential, VerdictDeny, 401, "unauthenticated", "A credential belongs in the Authorization header, never in an address.", StepCorrectArguments},
	{ReasonForeignOrigin, LayerCredential, VerdictDeny, 403, "forbidden", "The request's Host or Origin is not one this server answers to.", StepEscalateToHuman},
	{ReasonRateLimited, LayerCredential, VerdictDeny, 429, "rate_limited", "Wait as long as it says, and send fewer requests.", StepRetryAfter},

	{ReasonKindNotAllowed, LayerScope, VerdictDeny, 403, "forbidden", "This is not for callers of this kind.", StepEscalateToHuman},
	{ReasonCapability, LayerCompany, VerdictDeny, 403, "forbidden", "The account's kit leaves this off; an owner can turn it on.", StepRequestCapability},
	{ReasonMissingScope, LayerScope, VerdictDeny, 403, "forbidden", "The credential lacks a scope that a person can grant.", StepRequestScope},
	{ReasonRoleNotAllowed, LayerScope, VerdictDeny, 403, "forbidden", "Somebody with another role in this account has to do this.", StepEscalateToHuman},
	{ReasonUnknownTool, LayerScope, VerdictDeny, 404, "not_found", "List the tools and call one of those.", StepCorrectArguments},

	{ReasonNotJSON, LayerInput, VerdictDeny, 400, "invalid", "Send one JSON object.", StepCorrectArguments},
	{ReasonNotObject, LayerInput, VerdictDeny, 400, "invalid", "Send one JSON object.", StepCorrectArguments},
	{ReasonBatch, LayerInput, VerdictDeny, 400, "invalid", "Send one request at a time.", StepCorrectArguments},
	{ReasonTooLarge, LayerInput, VerdictDeny, 413, "invalid", "Send less.", StepCorrectArguments},
	{ReasonTooSlow, LayerInput, VerdictDeny, 408, "invalid", "Send the whole request at once.", StepCorrectArguments},
	{ReasonMediaType, LayerInput, VerdictDeny, 415, "invalid", "Send Content-Type: application/json.", StepCorrectArguments},
	{ReasonMethod, LayerInput, VerdictDeny, 405, "invalid", "Use the documented method.", StepCorrectArguments},
	{ReasonTooDeep, LayerInput, VerdictDeny, 400, "invalid", "Nest less deeply.", StepCorrectArguments},
	{ReasonRepeatedKey, LayerInput, VerdictDeny, 400, "invalid", "Name each key once.", StepCorrectArguments},
	{ReasonUnknownKey, LayerInput, VerdictDeny, 400, "invalid", "Use only the documented keys, spelled as documented.", StepCorrectArguments},
	{ReasonBadText, LayerInput, VerdictDeny, 400, "invalid", "Send plain, valid UTF-8 text without control or direction-changing characters.", StepCorrectArguments},
	{ReasonWrongType, LayerInput, VerdictDeny, 400, "invalid", "Send the documented type.", StepCorrectArguments},
	{ReasonOutOfRange, LayerInput, VerdictDeny, 400, "invalid", "Send a number within the documented range.", StepCorrectArguments},
	{ReasonNotAnInteger, LayerInput, VerdictDeny, 400, "invalid", "Send a whole number.", StepCorrectArguments},
	{ReasonMissingField, LayerInput, VerdictDeny, 400, "invalid", "Add what is missing.", StepCorrectArguments},
	{ReasonInvalidValue, LayerInput, VerdictDeny, 400, "invalid", "Send a documented value.", StepCorrectArguments},
	{ReasonInvalidStatus, LayerInput, VerdictDeny, 400, "invalid", "Use one of the documented words exactly. No tool approves: a person does, elsewhere.", StepCorrectArguments},
	{ReasonAmountOutOfRange, LayerInput, VerdictDeny, 400, "invalid", "Amounts are whole minor units from 1 to 9007199254740991.", StepCorrectArguments},
	{ReasonAmountNotPositive, LayerInput, VerdictDeny, 400, "invalid", "Amounts are whole minor units from 1 to 9007199254740991.", StepCorrectArguments},
	{ReasonAmountMismatch, LayerInput, VerdictDeny, 400, "invalid", "State the same amount in both fields.", StepCorrectArguments},
	{ReasonAmountMissing, LayerInput, VerdictDeny, 400, "invalid", "A spend states its amount in minor units.", StepCorrectArguments},
	{ReasonUnknownCurrency, LayerInput, VerdictDeny, 400, "invalid", "Use an ISO 4217 code in capitals, such as USD.", StepCorrectArguments},
	{ReasonPolicyInvalid, LayerInput, VerdictDeny, 400, "invalid", "Correct the file where the faults point to, and send it again.", StepCorrectArguments},
	{ReasonInexactNumber, LayerInput, VerdictDeny, 400, "invalid", "Send that number as a string; a double cannot hold it exactly.", StepCorrectArguments},
	{ReasonInvalidCursor, LayerInput, VerdictDeny, 400, "invalid", "Pass a cursor back exactly as it was given, or leave it out.", StepCorrectArguments},

	{ReasonFrozen, LayerSpend, VerdictDeny, 403, "forbidden", "A person has stopped whatever reaches outside; an owner or an admin can lift that.", StepEscalateToHuman},
	{ReasonSpendingNotGranted, LayerSpend, VerdictDeny, 403, "forbidden", "A person has to press Start for this principal first.", StepRequestStart},
	{ReasonSpendingLimit, LayerSpend, VerdictDeny, 403, "forbidden", "It does not fit what is left of the spending grant; a person can give another one.", StepRequestStart},

	{ReasonApprovalRequired, LayerPolicy, VerdictPark, 202, "approval_required", "A person has to decide this; the call is kept, and is carried out if they approve it.", StepWaitForApproval},
	{ReasonEvidenceRequired, LayerPolicy, VerdictAttest, 428, "evidence_required", "Give the evidence that is asked for, and call again.", StepProvideEvidence},

	{ReasonNotFound, LayerState, VerdictDeny, 404, "not_found", "Nothing of that id is visible to this credential.", StepReRead},
	{ReasonIdempotencyMismatch, LayerState, VerdictDeny, 409, "conflict", "The same type, title, recipient, amount and body were recorded today with another payload.", StepReRead},
	{ReasonKeyReused, LayerState, VerdictDeny, 409, "conflict", "A key is for one call and its repetitions: send this call with a key of its own.", StepCorrectArguments},
	{ReasonDigestMismatch, LayerState, VerdictDeny, 409, "conflict", "What would be carried out is not what was shown; look at it as it is now.", StepReRead},
	{ReasonTwin, LayerState, VerdictDeny, 409, "conflict", "Look at the other intent, which has the same payload; two of them would both be carried out.", StepReRead},
	{ReasonAlreadySettled, LayerState, VerdictDeny, 409, "conflict", "It was settled before.", StepReRead},
	{ReasonAlreadyApproved, LayerState, VerdictDeny, 409, "conflict", "The rule asks for different people.", StepEscalateToHuman},
	{ReasonNotYours, LayerScope, VerdictDeny, 403, "forbidden", "Only the principal that recorded it, or a person, may do this.", StepEscalateToHuman},
	{ReasonTransition, LayerState, VerdictDeny, 409, "conflict", "From its present status it cannot go there.", StepReRead},
	{ReasonLapsed, LayerState, VerdictDeny, 409, "conflict", "Its window is over.", StepReRead},
	{ReasonMayHaveRun, LayerState, VerdictDeny, 409, "conflict", "Nobody knows whether it was carried out: a person looks it up where it would have had its effect, and goes on from there.", StepEscalateToHuman},
	{ReasonStaleToken, LayerState, VerdictDeny, 409, "conflict", "Another holder has the lease, or it has lapsed.", StepReRead},
	{ReasonSelfApproval, LayerScope, VerdictDeny, 403, "forbidden", "Somebody else has to approve it.", StepEscalateToHuman},
	{ReasonApproverNotAllowed, LayerPolicy, VerdictDeny, 403, "forbidden", "The rule names who may approve this.", StepEscalateToHuman},
	{ReasonEditChangesKind, LayerState, VerdictDeny, 409, "conflict", "Reject this one; another kind of action is another intent.", StepEscalateToHuman},
	{ReasonDenied, LayerPolicy, VerdictDeny, 403, "forbidden", "Only another policy would change that.", StepEscalateToHuman},
	{ReasonBudget, LayerPolicy, VerdictDeny, 409, "conflict", "The amount does not fit what is left: wait for the next window, approve less, or have an owner change the policy.", StepEscalateToHuman},
	{ReasonPolicyLoosens, LayerPolicy, VerdictDeny, 409, "conflict", "An owner accepts each loosening by its id, or the policy is made as strict as the one that holds.", StepEscalateToHuman},
	{ReasonQuorum, LayerPolicy, VerdictDeny, 409, "conflict", "Add people who may approve, or ask for fewer; else nobody could ever give that approval.", StepEscalateToHuman},
	{ReasonPolicyFixed, LayerPolicy, VerdictDeny, 409, "conflict", "Only the service that gave the policy can change it.", StepEscalateToHuman},
	{ReasonDecisionSettled, LayerState, VerdictDeny, 409, "conflict", "A person's act is a record; only a person's further act changes what follows from it.", StepEscalateToHuman},
	{ReasonTaken, LayerState, VerdictDeny, 409, "conflict", "Choose another name, or rotate or revoke what has it.", StepCorrectArguments},
	{ReasonLastOwner, LayerState, VerdictDeny, 409, "conflict", "An account keeps at least one owner.", StepEscalateToHuman},
	{ReasonVersionConflict, LayerState, VerdictDeny, 409, "conflict", "Look at it as it is now, and decide anew.", StepReRead},
	{ReasonVersionRace, LayerStore, VerdictUnavailable, 503, "unavailable", "Another write came first; nothing of this one was kept.", StepRetryAfter},
	{ReasonUnavailable, LayerStore, VerdictUnavailable, 503, "unavailable", "The store could not be reached in time.", StepRetryAfter},
	{ReasonAuditUnsealed, LayerStore, VerdictUnavailable, 503, "unavailable", "The act was recorded and stands; its row in the record is not sealed yet. An approval is carried out once it is; anything else, a stop above all, holds already. Do not repeat it.", StepRetryAfter},
	{ReasonInternal, LayerStore, VerdictUnavailable, 503, "unavailable", "A fault of reeve's own; it is in the log under the request's id.", StepRetryAfter},
}

var reasonIndex = func() map[Reason]ReasonInfo {
	index := make(map[Reason]ReasonInfo, len(reasonTable))
	for _, row := range reasonTable {
		index[row.Reason] = row
	}
	return index
}()

// Reasons lists every reason there is, in the order of the pipeline.
func Reasons() []ReasonInfo { return append([]ReasonInfo(nil), reasonTable...) }

// Info finds the reason's row; an unknown one reads as an internal error.
func (r Reason) Info() ReasonInfo {
	if info, ok := reasonIndex[r]; ok {
		return info
	}
	return reasonIndex[ReasonInternal]
}
