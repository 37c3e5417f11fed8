// Package tracing sends a span for each call that a server answers, and for each job
// that a worker carries out, to an OpenTelemetry collector. It is configured by the
// environment alone, as the OpenTelemetry specification has it, and costs nothing where
// that names no endpoint.
//
// A span tells which row of a table it was, what was answered and which intent it is
// about. It never tells arguments, texts, paths, principals or credentials; of what a
// caller sends it takes in the trace's and the span's number, and not the tracestate,
// which may hold anything.
package tracing
