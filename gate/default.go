package gate

import (
	_ "embed"
	"slices"
	"sync"
)

//go:embed default.yaml
var defaultYAML []byte

// defaultFile is the name of the embedded policy in messages and positions.
const defaultFile = "default.yaml"

// DefaultPolicy returns the embedded policy of 15 rules: default.yaml beside
// this file, read by the same parser as any other. It is compiled once.
func DefaultPolicy() *Policy { return compileDefault() }

// DefaultYAML returns a copy of the text of the default policy.
func DefaultYAML() []byte { return append([]byte(nil), defaultYAML...) }

var compileDefault = sync.OnceValue(func() *Policy {
	source, err := ParsePolicy(defaultFile, defaultYAML)
	if err != nil {
		panic("gate: the embedded policy does not parse: " + err.Error())
	}
	policy, err := source.compile(nil, nil)
	if err != nil {
		panic("gate: the embedded policy does not compile: " + err.Error())
	}
	return policy
})

// Monetary reports whether the default policy takes a type for one that spends
// money.
func Monetary(actionType string) bool {
	r, _ := DefaultPolicy().Rule("spending")
	return slices.Contains(r.Match.Types, actionType)
}
