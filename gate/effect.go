package gate

import (
	"errors"
	"fmt"
)

// Effect is what a rule, or a whole verdict, says about an action.
//
// The zero value is not an effect. Wherever one turns up it is treated as
// [Deny], so that a forgotten assignment can never open anything.
type Effect uint8

// The three effects, from the mildest to the strictest.
const (
	// Allow lets the action go ahead without asking anybody.
	Allow Effect = iota + 1
	// RequiresApproval leaves the action with a person.
	RequiresApproval
	// Deny refuses the action. Nothing stands in for it.
	Deny
)

// ErrUnknownEffect is returned by [ParseEffect] for any word but the three.
var ErrUnknownEffect = errors.New("gate: unknown effect")

// String returns "allow", "requires_approval" or "deny". An invalid effect
// reads "deny", because that is how it is treated.
func (e Effect) String() string {
	switch e {
	case Allow:
		return "allow"
	case RequiresApproval:
		return "requires_approval"
	default:
		return "deny"
	}
}

// Valid reports whether e is one of the three effects.
func (e Effect) Valid() bool { return e >= Allow && e <= Deny }

// strict maps every invalid value to Deny.
func (e Effect) strict() Effect {
	if !e.Valid() {
		return Deny
	}
	return e
}

// MarshalText writes the word of the effect. An invalid effect is an error:
// a record must not say "deny" where nobody decided.
func (e Effect) MarshalText() ([]byte, error) {
	if !e.Valid() {
		return nil, fmt.Errorf("%w: %d has no word", ErrUnknownEffect, uint8(e))
	}
	return []byte(e.String()), nil
}

// UnmarshalText reads a word as [ParseEffect] does.
func (e *Effect) UnmarshalText(text []byte) error {
	parsed, err := ParseEffect(string(text))
	if err != nil {
		return err
	}
	*e = parsed
	return nil
}

// ParseEffect reads exactly "allow", "requires_approval" or "deny". Other
// spellings, cases and surrounding space are refused with [ErrUnknownEffect].
func ParseEffect(s string) (Effect, error) {
	for e := Allow; e <= Deny; e++ {
		if s == e.String() {
			return e, nil
		}
	}
	return 0, fmt.Errorf("%w %q: write allow, requires_approval or deny", ErrUnknownEffect, s)
}
