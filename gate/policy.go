package gate

import (
	"encoding/json"
	"time"
)

// Pos is a place in a policy file. Lines and columns count from 1; a rule that
// was built in code has neither.
type Pos struct {
	File   string
	Line   int
	Column int
}

// Source is a policy file in parsed form, before its rules are checked against
// each other. [Source.Compile] makes it a [Policy].
type Source struct {
	// File is the name that messages use.
	File string
	// Version is the version of the file format: 1.
	Version int
	// Extends is "default" or empty.
	Extends string
	// Caps bound money over the whole policy.
	Caps []Cap
	// Rules stand in the order of the file.
	Rules []Rule
}

// Cap is a bound on money for the whole account: per act where Window is
// [PerAct], else for everything in that window together. Once a policy has a
// cap, money in a currency that no cap names is beyond it.
type Cap struct {
	Currency string `json:"currency"`
	Max      Cents  `json:"max"`
	Window   Window `json:"window,omitzero"`
	Each     Each   `json:"each,omitzero"` // only with a window
	Pos      Pos    `json:"-"`
}

// Rule is one sentence of a policy.
type Rule struct {
	// ID is unique in a policy: lower case letters, digits and dashes.
	ID string `json:"id"`
	// Match says which actions the rule speaks about.
	Match Match `json:"match"`
	// Effect is what it says about them.
	Effect Effect `json:"effect"`
	// InsteadOf names the requires_approval rules that an allow stands in for.
	InsteadOf []string `json:"instead_of,omitzero"`
	// Reason is one sentence for people.
	Reason string `json:"reason"`
	// Approval says who must approve. Only with [RequiresApproval].
	Approval Approval `json:"approval,omitzero"`
	// Budget bounds the money of this rule in a window. An allow beyond its
	// budget is silent, so that other rules decide, mostly a person; any other
	// rule beyond its budget refuses.
	Budget *Budget `json:"budget,omitzero"`
	// Notify names who is told. The gate only passes it on.
	Notify []string `json:"notify,omitzero"`
	// Until ends an allow. Zero is no end, except for a standing approval.
	Until time.Time `json:"until,omitzero"`
	// Pos is where the rule stands.
	Pos Pos `json:"-"`
}

// Match holds the conditions of a rule. All that are given must hold; of a
// list, one entry is enough. The zero Match holds for every action.
type Match struct {
	// Types are exact action types.
	Types []string `json:"types,omitzero"`
	// Recipients are patterns: "a@x.example" exactly, "*@x.example" with * for
	// any run of characters but @, or "domain:x.example" for the domain itself
	// and every address at it, without its subdomains.
	Recipients []string `json:"recipients,omitzero"`
	// Amount bounds the money. It holds for its own currency only.
	Amount *AmountRange `json:"amount,omitzero"`
	// Labels are exact.
	Labels []string `json:"labels,omitzero"`
	// Tainted asks whether the content draws upon an observation.
	Tainted *bool `json:"tainted,omitzero"`
	// Principals are exact ids.
	Principals []string `json:"principals,omitzero"`
	// Hours is a span of the local clock.
	Hours *Hours `json:"hours,omitzero"`
	// Outward asks whether the type may reach the outside world ([Outward]).
	Outward *bool `json:"outward,omitzero"`
	// Outside asks whether the recipient is not the account itself.
	Outside *bool `json:"outside,omitzero"`
	// Secrets holds where title, body or data carry a credential.
	Secrets bool `json:"secrets,omitzero"`
	// AmountInvalid holds where there is no amount, or one that is not
	// positive, out of range or stated in two ways that disagree.
	AmountInvalid bool `json:"amount_invalid,omitzero"`
	// OverBudget holds where a cap, or the budget of a matching rule that does
	// not allow, would be passed or cannot be counted. Only in a rule that denies.
	OverBudget bool `json:"over_budget,omitzero"`
	// Unknown holds where the type is none that the default policy names, and
	// no matching allow names it. So beside a rule that matches by it an allow
	// with no types does not reach unknown types; giving it a list with one in
	// it is a widening.
	Unknown bool `json:"unknown,omitzero"`
}

// AmountRange bounds an amount in minor units of one currency, both ends
// included. A nil end is open.
type AmountRange struct {
	Currency string `json:"currency"`
	Min      *Cents `json:"min,omitzero"`
	Max      *Cents `json:"max,omitzero"`
}

// Hours is a span of minutes after local midnight, From included, To not. Where
// From is later than To it runs over midnight. It reads the clock on the wall:
// an hour that daylight saving repeats counts both times.
type Hours struct {
	From int `json:"from"` // 0 to 1439
	To   int `json:"to"`   // 0 to 1440
}

// Approval says what approving takes.
type Approval struct {
	// Quorum is how many different people must approve; 0 where a rule says
	// nothing, at least 1 in a verdict that requires approval.
	Quorum int
	// From lists the roles that may approve. Empty means any person.
	From []string
	// Expires is how long the approval may be given; 0 where a rule says
	// nothing, [DefaultExpiry] in a verdict then.
	Expires time.Duration
}

// DefaultExpiry is how long a pending action waits where no rule says.
const DefaultExpiry = 24 * time.Hour

// MaxQuorum is the largest quorum that a rule may ask for.
const MaxQuorum = 100

// IsZero reports whether the approval asks for nothing in particular.
func (a Approval) IsZero() bool { return a.Quorum == 0 && len(a.From) == 0 && a.Expires == 0 }

// MarshalJSON writes the form of a policy file, with the expiry as "48h0m0s".
func (a Approval) MarshalJSON() ([]byte, error) {
	out := struct {
		Quorum  int      `json:"quorum,omitzero"`
		From    []string `json:"from,omitzero"`
		Expires string   `json:"expires,omitzero"`
	}{Quorum: a.Quorum, From: a.From}
	if a.Expires != 0 {
		out.Expires = a.Expires.String()
	}
	return json.Marshal(out)
}

// Budget bounds the money that one rule may speak about in a window.
type Budget struct {
	// Rule is the id of the rule; "" for a cap of the policy.
	Rule     string `json:"-"`
	Window   Window `json:"window"`
	Currency string `json:"currency"`
	Max      Cents  `json:"max"`
	// Each says whose money is counted together.
	Each Each `json:"each,omitzero"`
}
