// Package reeve is the root of a module that lets an autonomous agent work for
// people under enumerated powers. It holds no code; this page says what is where.
//
// # The idea
//
// An agent is handed a closed schedule of tools. Whatever reaches the outside
// world (spending, sending, publishing, deleting, deploying) it can only record
// as an intent. A policy judges the intent at once, and the same way every time.
// A person countersigns exactly what they were shown, through a channel that
// calls this library. A worker carries it out, once. There is no tool that
// approves, and there never will be.
//
// # The packages
//
//	gate               pure: an action, a policy, a verdict; lifecycle, digest, key, money
//	operator           the service that people import: record, acts, work, over SQL
//	operator/powers    the schedule: one row per tool and act, the pipeline of a call
//	operator/hook      a person's own command or URL, as a worker's handler or a notice
//	operator/operatortest  what users of the library test with
//	mcpadapter         the schedule over the Model Context Protocol
//	restadapter        the schedule and the acts over REST
//	cmd/reeve          the binary: flags and wiring
//
// Imports run one way: gate knows nothing of storage, operator nothing of
// protocols, and the two adapters nothing of each other. A test keeps it so.
//
// # Where to begin
//
// A Go service that only wants verdicts imports gate; see its examples. One that
// wants the record, the people and the workers imports operator; its package
// example goes from recording to carrying out on one page. An agent that speaks
// MCP needs the binary alone.
package reeve
