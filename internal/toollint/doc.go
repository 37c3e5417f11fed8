// Package toollint says what clients and models would stumble over in a listing of
// tools. The rules are stricter than those of the protocol, and than those of the
// Inspector's --strict; each is a function here, and a planted fault in the tests.
// It is for tests only.
package toollint

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// Tool is a row as a server lists it, and what the server knows of it besides.
type Tool struct {
	Listed json.RawMessage // its entry in the answer to tools/list
	Class  string          // what it may do: read, write, gated, gate, spend or brake
	Output json.RawMessage // the exact schema of what it answers
}

// TokenBudget is the most that a listing of the operator's own tools may cost.
const TokenBudget = 7000

// bytesPerToken is on the safe side: the tokenizers in use take about four bytes of
// English, and of JSON, for a token.
const bytesPerToken = 3.5

// Tokens is what a model pays for reading the entries: the bytes of their JSON as it
// is listed, at 3.5 bytes a token, rounded up.
func Tokens(entries ...json.RawMessage) int {
	size := 0
	for _, e := range entries {
		size += len(e)
	}
	return int(math.Ceil(float64(size) / bytesPerToken))
}

// Listing complains of a whole listing: of each tool, and of names that stand twice.
func Listing(tools []Tool) []string {
	var out []string
	var names []string
	for _, t := range tools {
		e, found := Lint(t)
		for _, f := range found {
			out = append(out, e+": "+f)
		}
		if slices.Contains(names, e) {
			out = append(out, e+": the name stands twice")
		}
		names = append(names, e)
	}
	return out
}

// Lint complains of one tool, and gives its name.
func Lint(t Tool) (name string, complaints []string) {
	var e entry
	if err := decodeStrictly(t.Listed, &e); err != nil {
		return "?", []string{err.Error()}
	}
	var c collector
	c.name(e.Name)
	c.words(e)
	c.annotations(e, t.Class)
	c.input(e.InputSchema)
	if string(e.OutputSchema) != `{"type":"object"}` {
		c.say("the listed output schema is %s, and not {\"type\":\"object\"}", e.OutputSchema)
	}
	c.output(t.Output)
	return e.Name, c.found
}

type collector struct{ found []string }

func (c *collector) say(format string, args ...any) {
	c.found = append(c.found, fmt.Sprintf(format, args...))
}

// want complains where something does not hold.
func (c *collector) want(holds bool, format string, args ...any) {
	if !holds {
		c.say(format, args...)
	}
}
