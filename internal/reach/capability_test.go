//go:build !race

package reach

import (
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// capability is a type that means a power: whoever has a value of it may act.
type capability struct {
	it    types.Type
	known map[types.Type]bool // what holds said before
}

// is says that t is the capability, or a pointer to it.
func (c capability) is(t types.Type) bool { return types.Identical(behindPointers(t), c.it) }

func behindPointers(t types.Type) types.Type {
	for {
		t = types.Unalias(t)
		p, ok := t.(*types.Pointer)
		if !ok {
			return t
		}
		t = p.Elem()
	}
}

// holds says that a value of type t is the capability, or has one somewhere
// inside. A function holds none: it is given one, and asked for in other ways.
func (c capability) holds(t types.Type) bool {
	answer, asked := c.known[t]
	if !asked {
		answer = c.within(t, map[types.Type]bool{})
		c.known[t] = answer
	}
	return answer
}

func (c capability) within(t types.Type, seen map[types.Type]bool) bool {
	if t == nil || seen[t] {
		return false
	}
	seen[t] = true
	if types.Identical(t, c.it) {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		return c.within(u.Elem(), seen)
	case *types.Slice:
		return c.within(u.Elem(), seen)
	case *types.Array:
		return c.within(u.Elem(), seen)
	case *types.Chan:
		return c.within(u.Elem(), seen)
	case *types.Map:
		return c.within(u.Key(), seen) || c.within(u.Elem(), seen)
	case *types.Struct:
		for f := range u.Fields() {
			if c.within(f.Type(), seen) {
				return true
			}
		}
	}
	return false
}

// takes says that f can only run with a capability: as its receiver, as an
// argument, or closed over.
func (c capability) takes(f *ssa.Function) bool {
	for _, p := range f.Params {
		if c.holds(p.Type()) {
			return true
		}
	}
	for _, v := range f.FreeVars {
		if c.holds(v.Type()) {
			return true
		}
	}
	return c.among(f.Signature.Params())
}

func (c capability) among(vars *types.Tuple) bool {
	for v := range vars.Variables() {
		if c.holds(v.Type()) {
			return true
		}
	}
	return false
}

// makes says that f brings a capability about: it answers one, fills one in, or
// takes one out of a value of another type. Nothing here knows a name.
func (c capability) makes(f *ssa.Function) bool {
	if c.among(f.Signature.Results()) {
		return true
	}
	for _, b := range f.Blocks {
		for _, i := range b.Instrs {
			if c.fillsIn(i) || c.takesOut(i) {
				return true
			}
		}
	}
	return false
}

// fillsIn finds a store to a field of a capability, as a literal with fields and
// an assignment to one both are.
func (c capability) fillsIn(i ssa.Instruction) bool {
	store, ok := i.(*ssa.Store)
	if !ok {
		return false
	}
	field, ok := store.Addr.(*ssa.FieldAddr)
	return ok && c.is(field.X.Type())
}

func (c capability) takesOut(i ssa.Instruction) bool {
	switch i := i.(type) {
	case *ssa.TypeAssert:
		return c.holds(i.AssertedType)
	case *ssa.ChangeType:
		return c.holds(i.Type()) && !c.holds(i.X.Type())
	case *ssa.Convert:
		return c.holds(i.Type())
	}
	return false
}
