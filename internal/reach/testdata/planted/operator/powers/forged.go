package powers

import "github.com/reeve-go/reeve/operator"

// A tool whose handler is a method of the operator, and looks like all others.
func plantedForged() Tool {
	return define(Spec{}, (*operator.Operator).Tidy)
}
