// Package operator lets a program work for people under enumerated powers: it
// records what an agent wants done, has a policy judge it, takes a person's
// countersignature, and hands it to a worker, once. Everything stands in one SQL
// database (SQLite in a folder, or PostgreSQL), with the record of who did what.
//
// # Words
//
// An account is a tenant, and a project a workspace in it. No query, list, error
// or count crosses an account; an id of another project is answered exactly like
// one that never was.
//
// A [Principal] is who calls, as a credential proved it: an agent, a worker of
// one's own, a channel, or a person's client. It comes from
// [Operator.Authenticate], and from [Operator.LocalWorker] for whoever holds the
// database itself.
//
// A [Person] is the power to act as one person on the account's list. It comes
// from a person's own credential ([Operator.PersonByCredential],
// [Operator.PersonOf]) or from a channel that vouches for a linked account
// elsewhere ([Operator.Vouch]). Every act takes one as an argument, and checks in
// its own transaction that the person, and what proved them, still stand.
//
// An [Intent] is an action that somebody wants carried out. Its idempotency key
// says whether it is the same wish again on the same local day; its digest covers
// everything that will be carried out, and is what an approval names.
//
// A [Job] is an intent that a worker holds under a lease. The lease runs by the
// database's clock. Its fencing token goes up with every claim, so that a holder
// who was given up for dead can no longer report.
//
// # Lifecycle
//
// The policy sets the first status. Then:
//
//	from                                 to                    by
//	(new)                                allowed               the policy
//	(new)                                pending_approval      the policy
//	(new)                                denied                the policy
//	pending_approval                     approved              a person: Approve
//	pending_approval                     rejected              a person: Reject
//	pending_approval                     cancelled             a person: Ignore
//	pending_approval                     superseded            a person: Edit
//	pending_approval, approved, allowed  cancelled             whoever recorded it, or a person: Revoke
//	pending_approval, approved, allowed  expired               time
//	approved, allowed                    executing             a worker: Claim
//	approved, allowed                    cancelled             a claim that met a denial of the present policy
//	executing                            succeeded, failed     the holder of the lease: Report
//	executing                            approved, allowed     a lapsed lease whose handler may run twice
//	executing                            unknown               any other lapsed lease: it may have acted
//	unknown                              succeeded, failed     a person: Settle
//
// Nothing leaves denied, rejected, expired, cancelled, superseded, succeeded and
// failed. [github.com/reeve-go/reeve/gate.Transitions] is the same table as data.
//
// # Who may do what
//
//	RecordIntent, State, UpdateIntent, UpdateDecision         any principal
//	Claim, Extend, Report, Work                               a worker
//	Approve, Reject, Ignore, Edit, Respond, Revoke, Settle    a person
//	Comment, ShowIntent, Waiting                              a person
//	Install, AddAccount, AddProject, AddPerson, RemovePerson,
//	LinkPerson, CreateCredential, RotateCredential, …         whoever holds the database
//
// No method that takes a Principal approves anything, whatever words it is
// given. Kinds and scopes of principals are checked by the schedule of powers,
// which is in front of these methods; a program that calls them directly is
// trusted to do the same.
//
// # A transaction of your own
//
// [Operator.RecordIntentTx], [Operator.ApproveTx], [Operator.RejectTx] and
// [Operator.CancelTx] do their work inside a transaction that the caller owns, on
// the same database: an order and the intent to pay for it stand together or not
// at all. They take any [Querier], such as a *sql.Tx of lib/pq, of pgx's stdlib
// package or of SQLite. A duplicate or a refusal leaves the transaction usable:
// none of them relies on a statement that fails. What waits in the process is
// not woken, since nobody here knows when the caller commits; it polls.
//
// # Errors
//
// A decision against the caller is a [*Refusal]: errors.Is tells its reason by
// the sentinels ([ErrNotFound], [ErrDigestMismatch], [ErrAlreadySettled], …),
// errors.As its details. Any other error is the database's or the context's.
// [ErrVersionRace] and [ErrUnavailable] alone are worth trying again;
// [ErrAuditUnsealed] says that the act stands and is not sealed yet.
//
// # The record
//
// Whatever is done or refused is a row of the record. Where the database has an
// audit key ([Options].AuditKey), each row is sealed: [Operator.Tend] and
// [Operator.Work] do so every second, [Operator.Seal] does so now, and a person's
// act answers once its own row is sealed. A worker takes up only what was approved
// under a seal. [Operator.ExportAudit] writes an account's log, and [VerifyAudit]
// shows by that alone that nobody changed it. An act by way of an XTx method cannot
// be sealed before the caller commits.
//
// # Notices
//
// That an intent waits is queued in the transaction that recorded it, and
// delivered by [Operator.Relay], at least once; [Notice.Key] tells repeats apart.
package operator
