// Package powers is the schedule: one table of every tool that an agent can be
// handed, and one of every act that a person, a channel or a worker can do over
// REST. The MCP tools, the REST routes, the authorization checks and the
// documentation all come from these tables and from nothing else, so adding a
// tool is adding a row.
//
// # The power that is withheld
//
// No row of the schedule approves anything, and none ever will. An agent that
// wants to reach the outside world records an intent; a person countersigns it
// through a channel that calls the operator package's acts as a library. Whoever
// builds a new approval channel calls those functions. Adding a tool for it here
// would hand the countersignature to the one who asks for it.
//
// # A call
//
// [Schedule.Call] runs the same steps for every face, in this order: the kind of
// the caller, the account's kit, the caller's scopes, the arguments' form, both
// locks on spending, the handler. The credential was resolved before, by
// [Schedule.Authenticate]. A refusal at any step is an envelope and a row in the
// record; a listing is only a convenience, and every check runs again on every call.
//
// Brakes, and reads of what runs (AlwaysOn), skip the kit, the locks and the
// escalation of repeated refusals, and no check of who is calling.
//
// A row that spends is made by spend, which takes the shape of what a call would
// do; the schedule then asks before every call, and no handler can forget to. A row
// that a person may have to complete is made by park: the call is kept as data, and
// carried out by the person's act.
package powers
