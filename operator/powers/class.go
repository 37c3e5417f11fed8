package powers

// Class says what a tool may do. The zero value is invalid, so that a row whose
// class was forgotten cannot pass for one that only reads.
type Class uint8

// The classes.
const (
	Read  Class = iota + 1 // looks, changes nothing
	Write                  // changes the board or the record; reversible and audited
	Gated                  // changes what the system believes of a person: needs evidence
	Gate                   // the intent path, the only road to the outside world
	Spend                  // commits money, now or later
	Brake                  // stops something
)

var classNames = [...]string{Read: "read", Write: "write", Gated: "gated", Gate: "gate", Spend: "spend", Brake: "brake"}

// String is the class's name, or "invalid".
func (c Class) String() string {
	if !c.Valid() {
		return "invalid"
	}
	return classNames[c]
}

// Valid says whether c is one of the classes.
func (c Class) Valid() bool { return c >= Read && c <= Brake }

// Spends says that a call commits money, now or later.
func (c Class) Spends() bool { return c == Spend }
