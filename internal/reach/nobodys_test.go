//go:build !race

package reach

import (
	"go/types"
	"testing"

	"golang.org/x/tools/go/ssa"
)

// inNobodysName are the methods of the Operator that take neither a principal nor a
// person, and that a call of a tool may lead to all the same: what they do is the
// same whoever calls. What administers a database (credentials, people, policies,
// kits) is called in nobody's name as well, and must not be among them.
var inNobodysName = map[string]string{
	"Authenticate":  "it finds out who calls",
	"RecordRefusal": "it writes down that somebody was refused",
	"Logger":        "it is where faults are logged",
	"Now":           "it is the clock",
	"StopWaiting":   "it ends waits when a server drains",
	"Tend":          "what time alone brings about",
	"Sweep":         "what time alone brings about",
	"Seal":          "it seals what is recorded",
	"Relay":         "it delivers notices that are queued",
	"RelayOnce":     "it delivers notices that are queued",
}

// nobodys tells the methods that are called in nobody's name from the others.
func (p *program) nobodys(t *testing.T) func(*ssa.Function) bool {
	t.Helper()
	operator := types.NewPointer(p.named(t, module+"/operator", "Operator"))
	somebody := []types.Type{p.named(t, module+"/operator/internal/core", "Principal"), p.named(t, module+"/operator", "Person")}
	return func(f *ssa.Function) bool {
		recv := f.Signature.Recv()
		if recv == nil || f.Object() == nil || !f.Object().Exported() || !types.Identical(recv.Type(), operator) || inNobodysName[f.Name()] != "" {
			return false
		}
		for v := range f.Signature.Params().Variables() {
			for _, who := range somebody {
				if types.Identical(types.Unalias(v.Type()), who) {
					return false
				}
			}
		}
		return true
	}
}
