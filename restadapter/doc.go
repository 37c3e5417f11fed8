// Package restadapter shows the schedule of powers, and the acts of people and
// workers, as resources over HTTP. It is a loop over two tables: every route
// comes from a row of [powers.Schedule.Tools] or [powers.Schedule.Acts], and the
// package knows none of them by name.
//
// # A request
//
// What lies under /v1, and /openapi.json, is judged in this order, and the first refusal is the
// answer:
//
//  1. Host and Origin. A foreign one is refused before a credential is looked at.
//  2. The credential: exactly one Authorization header, never the query.
//  3. The address and the method.
//  4. The kind of the caller, then its scopes. So a caller who may not do a thing
//     is told that, and nothing of what it sent is read.
//  5. The body: its type, its length, the time it takes.
//  6. The arguments: one JSON object of the path's parameters, and of the body or
//     (with GET) of the query. The body's bytes are never decoded and written
//     again, so no number is rounded and no repeated key is lost on the way to
//     the decoder that judges them.
//
// Steps 4 and 6 belong to the schedule, which does them again for every face.
//
// # An answer
//
// A success is the result, and nothing around it. A refusal is the schedule's
// envelope, with the HTTP status of its reason; where the Accept header prefers
// application/problem+json it is the same envelope as a problem of RFC 9457.
// Every answer names its request in X-Request-Id, the name under which the record
// and the log have it. The caller's own X-Request-Id is not trusted and not used.
//
// GET /v1/tools lists the schedule, and GET /openapi.json describes every operation
// as OpenAPI 3.1, made of the same two tables when the handler is made. Both are for
// whoever has a credential, of any kind; they carry an ETag, and If-None-Match is
// answered with 304.
//
// Whatever is no read may be sent with one Idempotency-Key. The same request again
// is answered as it was, with Idempotency-Replayed: true, and changes nothing.
//
// # What is open
//
// /healthz says that the process lives, /readyz that the database takes writes.
// Nothing else is answered without a credential, but OPTIONS, which reads
// nothing.
//
// # The server
//
// A look at one intent may wait up to a minute for a person, so the server must
// have no WriteTimeout. [Server] makes one that fits. Deadlines are set per
// request: one for the whole body, and one for each answer to be taken.
// [Connections] bounds how many there are, so that whoever sends slowly, or nothing,
// is in nobody's way.
package restadapter
