package mcpadapter

import "github.com/reeve-go/reeve/operator"

// The reasons that the adapter gives itself, all of operator's closed list.
const (
	reasonForeignOrigin operator.Reason = "foreign_origin"
	reasonMethod        operator.Reason = "method_not_allowed"
	reasonMediaType     operator.Reason = "unsupported_media_type"
	reasonTooLarge      operator.Reason = "too_large"
	reasonTooSlow       operator.Reason = "too_slow"
	reasonNotJSON       operator.Reason = "not_json"
	reasonBatch         operator.Reason = "batch_not_supported"
	reasonUnknownKey    operator.Reason = "unknown_key"
	reasonMissingField  operator.Reason = "missing_field"
	reasonWrongType     operator.Reason = "wrong_type"
	reasonInvalidValue  operator.Reason = "invalid_value"
	reasonUnknownTool   operator.Reason = "unknown_tool"
	reasonInternal      operator.Reason = "internal_error"
)
