// Package gate judges what an autonomous agent intends to do, before it is done.
//
// # Words
//
// An [Action] is one thing an agent intends: its type, its title, who it
// reaches, what it costs, and what it says. A [Policy] is a list of rules that
// people wrote; a [Rule] has an id, a [Match] that says which actions it speaks
// about, an [Effect], a reason that a person can read, and obligations. [Facts]
// are what only the caller knows: the time, the account's zone, who is inside.
// A [Verdict] is the judgement, with every rule that matched. An intent, which
// this package does not store, is an action with its verdict and a [Status].
//
// # Judging
//
// [Policy.Evaluate] and [Policy.Decide] are pure. They read no clock, file,
// network, environment or changing global, so the same policy, action and facts
// give the same verdict on every machine, always.
//
// Of all rules that match, the strictest effect wins: deny, then
// requires_approval, then allow. There is one exception, and it has to be
// written down: an allow stands in for the requires_approval rules that its
// instead_of names, and for no other. Nothing stands in for a deny. Where
// nothing matches, a person decides. The order of rules has no influence.
//
// It follows that a policy is monotone: adding a rule that does not allow,
// adding an obligation, or narrowing the match of an allow never loosens a
// verdict. Two details keep this true. An allow beyond its own budget is silent
// instead of refusing, else taking the allow away would loosen. And where a rule
// holds back what match.unknown matches, as the default policy's does, an allow
// with no types does not reach types that the default policy does not know. A
// policy that stands alone and has no such rule has no such bound: there, an allow
// with no types reaches every type.
//
// What is not known counts against the action. An allow whose condition cannot
// be decided, because a fact is missing or a recipient can be read in two ways,
// does not match; a rule that holds back then does. The zero Policy, a nil
// Policy and the zero Effect deny.
//
// # Policy files
//
// A file is YAML or JSON. It stands alone, or extends the default policy:
//
//	version: 1
//	extends: default              # the 15 rules of default.yaml, before one's own
//	caps:                         # what all money together may not pass
//	  - {currency: USD, max: 500000}                  # a single act
//	  - {currency: USD, max: 2000000, window: month}  # or day, week, year
//	  - {currency: USD, max: 50000, window: day, each: principal}  # each by itself
//	rules:
//	  - id: small-subscriptions
//	    match:                    # all keys must hold, of a list one entry
//	      types: [spend]
//	      recipients: ["a@x.example", "*@y.example", "domain:z.example"]
//	      amount: {currency: USD, min: 100, max: 2000}  # minor units, both included
//	      labels: [subscription]
//	      tainted: false
//	      principals: [agent-1]
//	      hours: {from: "07:00", to: "22:00"}           # the account's wall clock
//	      outward: true           # the type may reach the outside
//	      outside: true           # the recipient is not the account itself
//	    effect: allow             # or requires_approval, deny
//	    instead_of: [spending]    # of an allow
//	    reason: Subscriptions at this vendor up to 20 dollars are settled.
//	    until: 2027-01-31T00:00:00Z                     # of an allow
//	    budget: {window: month, currency: USD, max: 10000}
//	    notify: [finance]
//	  - id: large-spend
//	    match: {types: [spend], amount: {currency: USD, min: 100000}}
//	    effect: requires_approval
//	    reason: Spending of 1,000 dollars and more needs two people.
//	    approval: {quorum: 2, from: [owner, admin], expires: 48h}
//
// Four more conditions serve the default policy, and can only be true: secrets
// (title, body or data carry a credential), amount_invalid (no amount, or none
// that is positive, in range and stated in one way), over_budget (a cap or a
// budget would be passed), unknown (no one knows the type).
//
// Once a policy has caps, money in a currency that no cap names is beyond them.
// A budget that the facts say nothing about counts as used up.
//
// # Working on a policy
//
// [Policy.Explain] says what part every rule and cap had in a verdict, and of what
// did not match, why. [Policy.Warnings] names what is valid and surely not meant,
// [Policy.Quorums] what only a caller who knows the people can check. [Loosenings]
// lists everything by which one policy could be milder than another; where it lists
// nothing, none of its verdicts is. [Policy.YAML] writes a policy out whole.
//
// # Identity
//
// [Key] finds an action that was recorded before; [Digest] covers everything
// that would be carried out, and is what a person approves. The canonical form
// is that of RFC 8785, currencies and their minor units are those of ISO 4217.
//
// # Form and hygiene
//
// [Action.Check] refuses what is malformed, with every fault at once.
// [CheckText] refuses text that hides or reorders itself. [FindSecrets] and
// [Redact] recognise credentials by their form, also behind and under the escapes
// of JSON, URLs, HTML and terminals. They are a net and no proof: what has no
// form of its own passes, and so does what was encoded as a whole. Where the two
// cannot both be had, a name made of words is left alone.
package gate
