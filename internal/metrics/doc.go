// Package metrics counts what a server does, in Prometheus' terms. It is told of calls
// by the schedule and of moves by the Operator, and looks at the database by itself,
// every few seconds at most. No label has a value that a caller could choose, and none
// names a principal, an intent or a path: docs/operation.md lists every metric, and a
// test holds the two to each other.
package metrics
