package gate

import "github.com/go-json-experiment/json/jsontext"

// Action is what an agent intends to do, in typed form: the whole of what a
// person sees, and the whole of what a worker carries out.
//
// Only Type and Title are required. Absent and empty mean the same.
type Action struct {
	// Type is a lower_snake name of at most [MaxType] characters: one the
	// default policy knows (spend, send, publish, delete, deploy, access,
	// commit_legal, schedule, note, draft, research, plan, read, …) or any other.
	Type string `json:"type" validate:"required,max=40" doc:"What sort of action: spend, send, publish, delete, deploy, access, commit_legal, schedule, or a lower_snake word of your own."`
	// Title is one line for people, 1 to [MaxTitle] code points.
	Title string `json:"title" validate:"required,max=300" doc:"The action in one line, for the person who decides."`
	// Recipient is the one far side: an address, a domain, a channel, a host.
	// At most [MaxRecipient] code points.
	Recipient string `json:"recipient,omitzero" validate:"max=320" doc:"The one far side: an address, a domain, a channel, a host."`
	// AmountCents counts minor units of Currency, 1 to [MaxCents]. How large a
	// minor unit is, ISO 4217 says: 4900 is 49.00 USD, and 4900 JPY.
	AmountCents *Cents `json:"amount_cents,omitzero" doc:"The amount in whole minor units of the currency (4900 is 49.00 USD), 1 to 9007199254740991, never a string."`
	// Amount states the same again as a decimal with its currency: "49.00 USD".
	// Where both are given they must agree exactly.
	Amount string `json:"amount,omitzero" validate:"max=40" doc:"The same amount stated again as a decimal with its currency, such as 49.00 USD; the two must agree exactly."`
	// Currency is an upper-case ISO 4217 code that has a minor unit.
	Currency string `json:"currency,omitzero" validate:"max=3" doc:"ISO 4217 code in capitals; when left out, that of amount, else the account's own."`
	// Body is the text itself, at most [MaxBody] bytes.
	Body string `json:"body,omitzero" validate:"max=65536" doc:"The text itself, word for word as it is to go out."`
	// Labels are for policies to match: at most [MaxLabels] of at most
	// [MaxLabel] code points.
	Labels []string `json:"labels,omitzero" validate:"max=20,dive,max=64" doc:"Words that a policy can match on."`
	// TaintedBy names the observations that the content draws upon: at most
	// [MaxTaints] of at most [MaxLabel] code points. Any entry taints.
	TaintedBy []string `json:"tainted_by,omitzero" validate:"max=50,dive,max=64" doc:"The observations that the content draws upon, if any."`
	// Data is a JSON object for whoever carries the action out, at most
	// [MaxData] bytes and [MaxDataDepth] levels. JSON null counts as absent.
	Data jsontext.Value `json:"data,omitzero" doc:"An open JSON object for whoever carries the action out."`
}

// Limits of the fields of an [Action].
const (
	MaxType      = 40     // bytes of type
	MaxTitle     = 300    // code points of title
	MaxRecipient = 320    // code points of recipient: 64 + "@" + 255 of RFC 5321
	MaxAmount    = 40     // bytes of amount
	MaxBody      = 65_536 // bytes of body
	MaxLabels    = 20     // entries of labels
	MaxLabel     = 64     // code points of one label or taint
	MaxTaints    = 50     // entries of tainted_by
	MaxData      = 65_536 // bytes of data
	MaxDataDepth = 32     // levels of nesting in data
)

// Tainted reports whether the content draws upon an observation.
func (a Action) Tainted() bool { return len(a.TaintedBy) > 0 }

// hasData reports whether there is data beyond a JSON null.
func (a Action) hasData() bool {
	return len(a.Data) > 0 && string(trimJSONSpace(a.Data)) != "null"
}

// trimJSONSpace cuts the four characters that RFC 8259 calls white space.
func trimJSONSpace(b []byte) []byte {
	for len(b) > 0 && isJSONSpace(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && isJSONSpace(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

func isJSONSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// internalTypes reach nobody outside: they are work at one's own desk.
func isInternal(actionType string) bool {
	switch actionType {
	case "note", "draft", "research", "plan", "read":
		return true
	}
	return false
}

// Outward reports whether an action of this type may reach the outside world.
// Everything does but note, draft, research, plan and read; so an unknown or
// empty type is outward.
func Outward(actionType string) bool { return !isInternal(actionType) }
