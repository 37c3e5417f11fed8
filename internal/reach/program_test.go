//go:build !race

package reach

import (
	"go/types"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"
)

const (
	module       = "github.com/reeve-go/reeve"
	operatorPath = module + "/operator"
	powersPath   = operatorPath + "/powers"
	root         = "../.." // the module's, from here
)

// program is the whole product, every package of the module but operatortest, with
// everything that it imports, from source.
type program struct {
	ours   []*packages.Package
	ssa    *ssa.Program
	funcs  map[*ssa.Function]bool
	person capability

	staying map[*ssa.Function]bool // what stays said before
}

// load reads the module as it would be with the files of overlay in it, by their
// path from the module's root.
func load(t *testing.T, overlay map[string][]byte) *program {
	t.Helper()
	if testing.Short() {
		t.Skip("this reads and compiles the module with all that it imports: about 20 seconds and 2 GB")
	}
	before := debug.SetMemoryLimit(1900 << 20) // collect sooner rather than take 2.4 GB
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	config := &packages.Config{
		Mode: packages.LoadAllSyntax, Dir: root, Overlay: map[string][]byte{},
		Env: append(os.Environ(), "CGO_ENABLED=0"), // no C compiler, and no function without a body
	}
	for file, text := range overlay {
		whole, err := filepath.Abs(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		config.Overlay[whole] = text
	}
	ours, err := packages.Load(config, module+"/...")
	if err != nil {
		t.Fatal(err)
	}
	packages.Visit(ours, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			t.Errorf("%s: %v", p.PkgPath, e)
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	ours = slices.DeleteFunc(ours, func(p *packages.Package) bool { return p.PkgPath == operatorPath+"/operatortest" })
	prog, _ := ssautil.AllPackages(ours, ssa.InstantiateGenerics)
	prog.Build()
	packages.Visit(ours, nil, func(p *packages.Package) {
		if !isOurs(p.PkgPath) { // a quarter of the memory, and not read again
			p.Syntax, p.TypesInfo = nil, nil
		}
	})
	p := &program{ours: ours, ssa: prog, funcs: ssautil.AllFunctions(prog), staying: map[*ssa.Function]bool{}}
	if prog.ImportedPackage(operatorPath+"/operatortest") != nil {
		t.Fatal("operatortest is for tests, and keeps people for them; no package of the product may import it")
	}
	p.person = capability{it: p.named(t, operatorPath, "Person"), known: map[types.Type]bool{}}
	return p
}

func (p *program) pkg(t *testing.T, path string) *ssa.Package {
	t.Helper()
	out := p.ssa.ImportedPackage(path)
	if out == nil {
		t.Fatalf("there is no package %s", path)
	}
	return out
}

func (p *program) named(t *testing.T, path, name string) types.Type {
	t.Helper()
	out := p.pkg(t, path).Type(name)
	if out == nil {
		t.Fatalf("there is no type %s.%s", path, name)
	}
	return out.Type()
}

// home is the package that a function was written in: for a closure its
// function's, for a generic's instance and a wrapper the original's.
func home(f *ssa.Function) string {
	for f.Parent() != nil {
		f = f.Parent()
	}
	if o := f.Origin(); o != nil {
		f = o
	}
	switch {
	case f.Pkg != nil:
		return f.Pkg.Pkg.Path()
	case f.Object() != nil && f.Object().Pkg() != nil:
		return f.Object().Pkg().Path()
	}
	return ""
}

func isOurs(path string) bool { return path == module || strings.HasPrefix(path, module+"/") }

// fileOf is the name of the file that a function was written in, "" where it was
// in none.
func (p *program) fileOf(f *ssa.Function) string {
	if !f.Pos().IsValid() {
		return ""
	}
	return filepath.Base(p.ssa.Fset.Position(f.Pos()).Filename)
}
