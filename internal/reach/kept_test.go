//go:build !race

package reach

import (
	"cmp"
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/tools/go/ssa"
)

// finding is one place in the code, and what is wrong with it.
type finding struct {
	file string // its path from the module's root, or a whole one outside of it
	line int
	what string
}

func (f finding) String() string { return fmt.Sprintf("%s:%d: %s", f.file, f.line, f.what) }

// findings holds each finding once.
type findings struct {
	fset *token.FileSet
	root string
	all  map[finding]bool
}

func (p *program) findings(t *testing.T) *findings {
	t.Helper()
	whole, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	return &findings{fset: p.ssa.Fset, root: whole, all: map[finding]bool{}}
}

func (f *findings) add(pos token.Pos, format string, args ...any) {
	at := f.fset.Position(pos)
	file := at.Filename
	if within, err := filepath.Rel(f.root, file); err == nil && filepath.IsLocal(within) {
		file = filepath.ToSlash(within)
	}
	f.all[finding{file, at.Line, fmt.Sprintf(format, args...)}] = true
}

func (f *findings) sorted() []finding {
	return slices.SortedFunc(maps.Keys(f.all), func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line), cmp.Compare(a.what, b.what))
	})
}

// kept finds where a capability outlives the call that it was proved for, or may:
// it stands in a field, a variable of a package, a list, a map or a channel, it is
// turned into an interface (as context.WithValue does, and every encoder), or a
// function that closes over it is itself put away. Arguments and variables of a
// function's own are free.
func (p *program) kept(t *testing.T) []finding {
	out := p.findings(t)
	p.declared(out)
	for f := range p.funcs {
		if isGeneric(f) {
			continue
		}
		for _, b := range f.Blocks {
			for _, i := range b.Instrs {
				p.used(out, i)
			}
		}
	}
	return out.sorted()
}

// declared looks at the fields and the packages' variables of ours, also those
// that nothing uses.
func (p *program) declared(out *findings) {
	for _, pkg := range p.ours {
		for _, object := range pkg.TypesInfo.Defs {
			v, ok := object.(*types.Var)
			if !ok || !p.person.holds(v.Type()) {
				continue
			}
			switch {
			case v.IsField():
				out.add(v.Pos(), "the field %s keeps a Person", v.Name())
			case v.Parent() == pkg.Types.Scope():
				out.add(v.Pos(), "the variable %s keeps a Person", v.Name())
			}
		}
	}
}

// used looks at an instruction of any package: a generic one may have been
// instantiated with a capability.
func (p *program) used(out *findings, i ssa.Instruction) {
	if v, ok := i.(ssa.Value); ok {
		t := behindPointers(v.Type())
		if _, several := t.(*types.Tuple); !several && p.person.holds(t) && !p.person.is(t) {
			out.add(place(i), "a value of type %s keeps a Person", t)
		}
	}
	switch i := i.(type) {
	case *ssa.MakeInterface:
		if p.person.holds(i.X.Type()) {
			out.add(place(i), "a Person becomes an %s", i.Type())
		}
	case *ssa.MakeClosure:
		if slices.ContainsFunc(i.Bindings, func(b ssa.Value) bool { return p.person.holds(b.Type()) }) {
			l := &leaks{seen: map[ssa.Value]bool{}, tell: func(at ssa.Instruction, unknown bool) {
				if !unknown {
					out.add(place(at), "a function that holds a Person is put away")
				}
			}}
			l.follow(i)
		}
	}
}

// place is where an instruction stands. What the source does not say (a value
// becomes an interface without a word) stands where the next thing happens.
func place(i ssa.Instruction) token.Pos {
	all := i.Block().Instrs
	for _, next := range all[slices.Index(all, i):] {
		if next.Pos().IsValid() {
			return next.Pos()
		}
	}
	return i.Parent().Pos()
}
