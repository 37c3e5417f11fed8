//go:build !race

package reach

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/go/ssa"
)

// planted are the faults that the checks are tried on, in testdata/planted: each
// a tool as somebody might come to write it. They stand where they would in the
// module, under names of their own, and are there for this test's compiler alone.
// flow and grown say which of the two checks find it: each has its blind spots,
// and what one does not see is the other's to find.
var planted = []struct {
	name, what  string
	flow, grown bool
	init        bool // its act stands ready once powers' init has run
}{
	{name: "Direct", what: "a handler that makes a Person and approves", flow: true, grown: true},
	{name: "Interface", what: "the same behind an interface", flow: true, grown: true},
	{name: "Map", what: "the same as a function value in a map", flow: true, grown: true},
	{name: "Generic", what: "the same through a generic function", flow: true, grown: true},
	{name: "Callback", what: "the same, called back by another package", flow: true, grown: true},
	{name: "Timer", what: "the same, called back by the runtime", grown: true},
	{name: "Face", what: "the same behind a handler of HTTP, called by the tool", flow: true, grown: true},
	{name: "Init", what: "the same in a package's variable", flow: true, grown: true, init: true},
	{name: "Context", what: "a Person that was put into the context", flow: true, grown: true},
	{name: "Forged", what: "a Person written as a literal", flow: true, grown: true},
	{name: "Field", what: "a closure that other code put into a struct's field", flow: true},
	{name: "Wired", what: "a closure that the program put into a hook", flow: true},
	{name: "Given", what: "a Person that somebody left in a variable", grown: true},
	{name: "Shared", what: "no fault: a helper that runs a tool's closure, and elsewhere an act's"},
	{name: "Reflection", what: "a method found by its name: for the doors to find"},
}

func TestPlantedFaultsAreFound(t *testing.T) {
	p := load(t, plants(t))
	tools, _ := p.faces(t)
	initial := p.pkg(t, powersPath).Func("init")
	g := p.flows()
	reached := p.from(g, tools, nil)
	others := func(name string) func(*ssa.Function) bool { // each way must be the fault's own
		own := "planted_" + strings.ToLower(name) + ".go"
		return func(f *ssa.Function) bool {
			file := p.fileOf(f)
			return strings.HasPrefix(file, "planted_") && file != own
		}
	}
	for _, c := range planted {
		handlers := handedOn(p.pkg(t, powersPath).Func("planted" + c.name))
		t.Run("flow/"+c.name, func(t *testing.T) {
			if !slices.ContainsFunc(handlers, func(f *ssa.Function) bool { _, is := reached[f]; return is }) {
				t.Errorf("a call of the schedule does not lead to it: %v", handlers)
			}
			expect(t, c.what, p.from(g, handlers, others(c.name)).first(p.person.makes), c.flow)
		})
		t.Run("grown/"+c.name, func(t *testing.T) {
			roots := slices.Clone(handlers)
			if c.init {
				roots = append(roots, initial)
			}
			expect(t, c.what, p.takers(p.grown(roots), roots, others(c.name)), c.grown)
		})
	}
	t.Run("nobodys/Admin", func(t *testing.T) {
		handlers := handedOn(p.pkg(t, powersPath).Func("plantedAdmin"))
		expect(t, "a handler that makes a credential", p.from(g, handlers, nil).first(p.nobodys(t)), true)
	})
	t.Run("kept", func(t *testing.T) { wanted(t, "kept", p.kept(t)) })
	t.Run("doors/reflection", func(t *testing.T) { wanted(t, "reflection", p.doors(t)) })
	t.Run("doors/hidden", func(t *testing.T) { wanted(t, "hidden", p.doors(t)) })
	t.Run("doors/assembly", func(t *testing.T) {
		if !slices.ContainsFunc(p.doors(t), func(f finding) bool { return strings.HasSuffix(f.file, "planted_assembly.s") }) {
			t.Errorf("it is not found in %v", p.doors(t))
		}
	})
}

func expect(t *testing.T, what string, way []*ssa.Function, want bool) {
	t.Helper()
	if (way != nil) != want {
		t.Errorf("%s: found is %v, and should be %v\n\t%s", what, way != nil, want, text(way))
	}
}

// plants reads testdata/planted as an overlay of the module.
func plants(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := fs.WalkDir(os.DirFS("testdata/planted"), ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		folder, name := path.Split(file)
		out[folder+"planted_"+name], err = os.ReadFile(filepath.Join("testdata/planted", file))
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("%d files: %v", len(out), err)
	}
	return out
}

var mark = regexp.MustCompile(`// want(?:\((-?\d+)\))? ("(?:[^"\\]|\\.)*")`)

// wanted holds the findings in one planted file against its marks: a finding for
// each mark, on its line (or so many before it), and none besides.
func wanted(t *testing.T, name string, all []finding) {
	t.Helper()
	file := "operator/powers/planted_" + name + ".go"
	byLine := map[int][]string{}
	for _, f := range all {
		if f.file == file {
			byLine[f.line] = append(byLine[f.line], f.what)
		}
	}
	source, err := os.ReadFile("testdata/planted/operator/powers/" + name + ".go")
	if err != nil {
		t.Fatal(err)
	}
	marks := 0
	for n, line := range strings.Split(string(source), "\n") {
		m := mark.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		marks++
		shift, _ := strconv.Atoi(m[1])
		text, err := strconv.Unquote(m[2])
		if err != nil {
			t.Fatal(err)
		}
		at := n + 1 + shift
		t.Run(fmt.Sprintf("line %d", at), func(t *testing.T) {
			if !slices.ContainsFunc(byLine[at], func(what string) bool { return strings.Contains(what, text) }) {
				t.Errorf("%s\nfound: %q", strings.TrimSpace(line), byLine[at])
			}
		})
		delete(byLine, at)
	}
	if marks == 0 || len(byLine) > 0 {
		t.Errorf("%d marks; found besides: %v", marks, byLine)
	}
}
