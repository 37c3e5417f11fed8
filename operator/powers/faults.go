package powers

import (
	"errors"
	"strings"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/internal/core"
	"github.com/reeve-go/reeve/operator/internal/strict"
)

// Member is one member of a JSON object, for adapters that look at a message
// before it is decoded.
type Member = strict.Member

// Members splits one JSON object into its members, whatever is wrong inside them.
func Members(raw []byte) ([]Member, error) { return strict.Members(raw) }

// CheckJSON holds one JSON value to the form that every argument has.
func CheckJSON(raw []byte) error { return strict.Check(raw, strict.Limits{}) }

// OfArguments is a fault of a whole message, told as that of a call's arguments where
// it lies in them: a place has one name, whichever way a call came.
func OfArguments(err error) error {
	const within = "/params/arguments/"
	faults := strict.All(err)
	out := make(strict.Errors, len(faults))
	for i, f := range faults {
		own := *f
		own.Path = strings.TrimPrefix(own.Path, within[:len(within)-1])
		if !strings.HasPrefix(f.Path, within) {
			own.Path = f.Path
		}
		out[i] = &own
	}
	if len(out) == 0 {
		return err
	}
	return out
}

// wholeFirst says what is wrong with the text as a whole before what is wrong
// inside it, whichever of two faults a decoder met first: one text is refused for
// one reason by every row.
func wholeFirst(raw []byte, err error) error {
	if err == nil {
		return nil
	}
	if whole := CheckJSON(raw); whole != nil {
		return whole
	}
	return err
}

// inputReasons says which refusal each fault of form is.
var inputReasons = map[strict.Code]core.Reason{
	strict.TooLarge:         core.ReasonTooLarge,
	strict.InvalidUTF8:      core.ReasonBadText,
	strict.TooDeep:          core.ReasonTooDeep,
	strict.NULCharacter:     core.ReasonBadText,
	strict.LoneSurrogate:    core.ReasonBadText,
	strict.NotJSON:          core.ReasonNotJSON,
	strict.TrailingData:     core.ReasonNotJSON,
	strict.NotObject:        core.ReasonNotObject,
	strict.RepeatedKey:      core.ReasonRepeatedKey,
	strict.UnknownKey:       core.ReasonUnknownKey,
	strict.WrongType:        core.ReasonWrongType,
	strict.NotAnInteger:     core.ReasonNotAnInteger,
	strict.NumberOutOfRange: core.ReasonOutOfRange,
	strict.MissingField:     core.ReasonMissingField,
	strict.InvalidValue:     core.ReasonInvalidValue,
}

// statusPath is the argument whose words are a closed list of standings. It has
// a reason of its own, because the word that is most often tried there is the
// one that no tool takes.
const statusPath = "/status"

// inputRefusal turns the faults of a call's arguments into one refusal, named
// after the first of them.
func inputRefusal(faults strict.Errors, err error) *core.Refusal {
	list := make([]operator.Fault, 0, len(faults))
	for _, f := range faults {
		list = append(list, operator.Fault{Field: place(field(f.Path)), Code: string(f.Code), Message: sentence(wording(f))})
	}
	first := faults[0]
	reason, ok := inputReasons[first.Code]
	if !ok {
		reason = core.ReasonInvalidValue
	}
	if first.Path == statusPath && (first.Code == strict.InvalidValue || first.Code == strict.WrongType) {
		reason = core.ReasonInvalidStatus
	}
	var money *gate.FieldError
	if errors.As(first, &money) {
		if own := moneyReason(money.Code); own != "" {
			reason = own
		}
	}
	message := list[0].Message
	if list[0].Field != "" {
		message = list[0].Field + ": " + message
	}
	return core.Refuse(reason, "%s", message).With("faults", list).Because(err)
}

// wording is the sentence of a fault: money's own, where money read itself, since
// that says what an amount has to be.
func wording(f *strict.Error) string {
	var money *gate.FieldError
	if errors.As(f, &money) {
		return money.Message
	}
	return f.Message
}

func moneyReason(code gate.Code) core.Reason {
	switch code {
	case gate.CodeAmountOutOfRange:
		return core.ReasonAmountOutOfRange
	case gate.CodeAmountNotPositive:
		return core.ReasonAmountNotPositive
	case gate.CodeWrongType:
		return core.ReasonWrongType
	}
	return ""
}

// field writes a JSON Pointer as people write fields: action.amount_cents.
func field(pointer string) string {
	const enough = 100 // bytes; a place deeper than that is known well enough
	path := strings.ReplaceAll(strings.TrimPrefix(pointer, "/"), "/", ".")
	if len(path) > enough {
		path = strings.ToValidUTF8(path[:enough], "") + "…"
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(path)
}
