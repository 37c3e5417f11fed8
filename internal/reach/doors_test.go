//go:build !race

package reach

import (
	"go/ast"
	"go/types"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// A graph of calls ends where a function is found by its name, by its number or by
// its address. So nothing that a tool is made of may do that. These are the doors,
// and none of them has a use there.
var (
	doorImports = []string{"C", "unsafe", "plugin", "net/rpc", "text/template", "html/template"}
	doorReflect = []string{"Call", "CallSlice", "Method", "MethodByName", "Methods", "MakeFunc",
		"NewAt", "Pointer", "UnsafeAddr", "UnsafePointer", "SetPointer"}
)

// hidden finds those doors in a package of ours.
func (p *program) hidden(out *findings, pkg *packages.Package) {
	for _, file := range pkg.Syntax {
		for _, i := range file.Imports {
			if path, err := strconv.Unquote(i.Path.Value); err != nil || slices.Contains(doorImports, path) {
				out.add(i.Pos(), "imports %s, past which no graph sees", i.Path.Value)
			}
		}
		for _, group := range file.Comments {
			for _, c := range group.List {
				if strings.HasPrefix(c.Text, "//go:linkname") {
					out.add(c.Pos(), "links a name, past which no graph sees")
				}
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if name, ok := n.(*ast.Ident); ok && isDoor(pkg.TypesInfo.Uses[name]) {
				out.add(name.Pos(), "uses reflect's %s, past which no graph sees", name.Name)
			}
			return true
		})
	}
	for _, file := range pkg.OtherFiles {
		if strings.HasSuffix(file, ".s") {
			out.all[finding{file: file, what: "is assembly, which no graph reads"}] = true
		}
	}
}

func isDoor(used types.Object) bool {
	f, ok := used.(*types.Func)
	return ok && f.Pkg() != nil && f.Pkg().Path() == "reflect" && slices.Contains(doorReflect, f.Name())
}

// doors looks through every package of ours that the schedule is made of.
func (p *program) doors(t *testing.T) []finding {
	t.Helper()
	out := p.findings(t)
	behind := p.behindPowers(t)
	for _, pkg := range behind {
		p.hidden(out, pkg)
	}
	return out.sorted()
}

// behindPowers are the packages of ours that a tool can be made of: powers, and
// whatever it imports.
func (p *program) behindPowers(t *testing.T) []*packages.Package {
	t.Helper()
	at := slices.IndexFunc(p.ours, func(pkg *packages.Package) bool { return pkg.PkgPath == powersPath })
	if at < 0 {
		t.Fatalf("there is no package %s", powersPath)
	}
	var out []*packages.Package
	packages.Visit(p.ours[at:at+1], nil, func(pkg *packages.Package) {
		if isOurs(pkg.PkgPath) {
			out = append(out, pkg)
		}
	})
	return out
}
