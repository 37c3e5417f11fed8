package gate

import (
	"fmt"
	"strings"
)

// Code is the machine-readable name of what is wrong with a field. The list
// below is closed.
type Code string

// The codes of a [FieldError].
const (
	CodeMissing               Code = "missing"                 // a required field is empty
	CodeWrongType             Code = "wrong_type"              // the JSON value is of another kind
	CodeInvalidType           Code = "invalid_type"            // an action type that is no lower_snake name
	CodeAmountOutOfRange      Code = "amount_out_of_range"     // beyond MaxCents
	CodeAmountNotPositive     Code = "amount_not_positive"     // zero or below
	CodeAmountMismatch        Code = "amount_mismatch"         // two statements that disagree
	CodeAmountMalformed       Code = "amount_malformed"        // no plain decimal, or too many decimal places
	CodeAmountMissingCurrency Code = "amount_missing_currency" // a decimal with no currency behind it
	CodeUnknownCurrency       Code = "unknown_currency"        // no active ISO 4217 code with a minor unit
	CodeTextUnhygienic        Code = "text_unhygienic"         // characters that hide or reorder text
	CodeTextTooLong           Code = "text_too_long"           // beyond the field's limit
	CodeTooMany               Code = "too_many"                // a list beyond its limit
	CodeTooDeep               Code = "too_deep"                // data nested beyond MaxDataDepth
	CodeNumberInexact         Code = "number_inexact"          // a number that a double does not hold
	CodeDuplicateKey          Code = "duplicate_key"           // an object of data names a key twice
	CodeMalformed             Code = "malformed"               // data that is no JSON
)

// FieldError says which field of an action is malformed, why, and what to do.
type FieldError struct {
	Field   string // the JSON name of the field, for example "amount_cents"
	Code    Code   // for programs
	Message string // for people: one sentence, never quoting text of the action
}

// Error returns "field: message (code)".
func (e *FieldError) Error() string {
	return fmt.Sprintf("%s: %s (%s)", e.Field, e.Message, e.Code)
}

// Is makes errors.Is(err, &FieldError{Code: c}) and
// errors.Is(err, &FieldError{Field: f, Code: c}) work: empty parts of the
// target are not compared.
func (e *FieldError) Is(target error) bool {
	t, ok := target.(*FieldError)
	if !ok {
		return false
	}
	return (t.Field == "" || t.Field == e.Field) && (t.Code == "" || t.Code == e.Code)
}

// FieldErrors holds everything that is wrong with an action, in the order of
// its fields. errors.As finds both the list and its first member.
type FieldErrors []*FieldError

// Error joins the messages with "; ".
func (es FieldErrors) Error() string {
	parts := make([]string, len(es))
	for i, e := range es {
		parts[i] = e.Error()
	}
	return strings.Join(parts, "; ")
}

// Unwrap lets errors.Is and errors.As look at every member.
func (es FieldErrors) Unwrap() []error {
	out := make([]error, len(es))
	for i, e := range es {
		out[i] = e
	}
	return out
}

// orNil avoids the trap of a non-nil error interface around an empty list.
func (es FieldErrors) orNil() error {
	if len(es) == 0 {
		return nil
	}
	return es
}

func (es *FieldErrors) add(field string, code Code, format string, args ...any) {
	*es = append(*es, fieldError(field, code, format, args...))
}

func fieldError(field string, code Code, format string, args ...any) *FieldError {
	return &FieldError{Field: field, Code: code, Message: fmt.Sprintf(format, args...)}
}
