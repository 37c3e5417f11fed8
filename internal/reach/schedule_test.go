//go:build !race

package reach

import (
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/ssa"
)

// faces are the ways into the schedule: the exported methods of Schedule, parted
// into those of the tools and those that are given an Act.
func (p *program) faces(t *testing.T) (tools, acts []*ssa.Function) {
	t.Helper()
	schedule, act := types.NewPointer(p.named(t, powersPath, "Schedule")), types.NewPointer(p.named(t, powersPath, "Act"))
	for m := range p.ssa.MethodSets.MethodSet(schedule).Methods() {
		f := p.ssa.MethodValue(m)
		isAct := false
		for v := range f.Signature.Params().Variables() {
			isAct = isAct || types.Identical(v.Type(), act)
		}
		switch {
		case isAct:
			acts = append(acts, f)
		case m.Obj().Exported():
			tools = append(tools, f)
		}
	}
	return tools, acts
}

// rows are the functions that powers puts into values of one of its types (Tool
// or Act, or groups of them), and so into the table: the handlers, and what the
// routes have of their own. It looks at every function of powers that answers
// such a value.
//
// The closures that define itself wraps around each handler are left out. They
// find the handler's receiver by its reflect.Type, and to the second graph a type
// that has been asked for so is one whose every exported method may run: all of
// the acts. The first check goes through them.
func (p *program) rows(t *testing.T, of ...string) []*ssa.Function {
	t.Helper()
	var rows []types.Type
	for _, name := range of {
		rows = append(rows, p.named(t, powersPath, name))
	}
	found := map[*ssa.Function]bool{}
	for f := range p.funcs {
		if home(f) != powersPath || isGeneric(f) || !answers(f, rows) {
			continue
		}
		for _, g := range handedOn(f) {
			if g.Parent() == nil || g.Parent().Origin() == nil {
				found[g] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b *ssa.Function) int { return strings.Compare(a.String(), b.String()) })
}

// isGeneric says that f is the pattern of a generic function, which never runs:
// its instances do.
func isGeneric(f *ssa.Function) bool { return f.TypeParams().Len() > len(f.TypeArgs()) }

func answers(f *ssa.Function, rows []types.Type) bool {
	for v := range f.Signature.Results().Variables() {
		result := behindPointers(v.Type())
		if list, ok := result.(*types.Slice); ok {
			result = behindPointers(list.Elem())
		}
		if slices.ContainsFunc(rows, func(row types.Type) bool { return types.Identical(row, result) }) {
			return true
		}
	}
	return false
}

// handedOn are the functions that f uses as values, and does not just call.
func handedOn(f *ssa.Function) []*ssa.Function {
	var out []*ssa.Function
	var operands []*ssa.Value
	for _, b := range f.Blocks {
		for _, i := range b.Instrs {
			operands = i.Operands(operands[:0])
			if call, ok := i.(ssa.CallInstruction); ok && call.Common().StaticCallee() != nil {
				operands = operands[1:]
			}
			for _, v := range operands {
				if g, ok := (*v).(*ssa.Function); ok {
					out = append(out, g)
				}
			}
		}
	}
	return out
}

// handling counts the functions that work for a principal, as handlers do and
// what the routes have of their own does not.
func (p *program) handling(t *testing.T, rows []*ssa.Function) int {
	t.Helper()
	principal, n := p.named(t, operatorPath, "Principal"), 0
	for _, f := range rows {
		for v := range f.Signature.Params().Variables() {
			if types.Identical(v.Type(), principal) {
				n++
			}
		}
	}
	return n
}
