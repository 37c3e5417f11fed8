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
// the caller, its scopes, the arguments' form, the handler. The credential was
// resolved before, by [Schedule.Authenticate]. A refusal at any step is an
// envelope and a row in the record; a listing is only a convenience, and every
// check runs again on every call.
package powers
