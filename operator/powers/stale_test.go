package powers_test

import (
	"bytes"
	"context"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

// altered is a copy of the tables that a test spoils.
type altered struct {
	tools   []*powers.Tool
	acts    []*powers.Act
	reasons []powers.ReasonInfo
	scopes  []operator.Scope
}

func (w *world) copied() *altered {
	out := &altered{reasons: powers.Reasons(), scopes: operator.Scopes()}
	for _, t := range w.Tools() {
		one := *t
		one.Scopes, one.Routes = slices.Clone(t.Scopes), slices.Clone(t.Routes)
		out.tools = append(out.tools, &one)
	}
	for _, a := range w.Acts() {
		one := *a
		one.Scopes = slices.Clone(a.Scopes)
		out.acts = append(out.acts, &one)
	}
	return out
}

// complaints is what the committed files are found to be of the altered tables.
func (a *altered) complaints(t *testing.T) []string {
	t.Helper()
	docs, err := powers.DocumentsOf(a.tools, a.acts, a.reasons, a.scopes)
	if err != nil {
		t.Fatal(err)
	}
	return stale(files(t), docs)
}

// found demands that a change was found, in each of the files, with the command that
// is to be run.
func found(t *testing.T, complaints []string, files ...string) {
	t.Helper()
	for _, file := range files {
		if !slices.ContainsFunc(complaints, func(c string) bool {
			return strings.HasPrefix(c, file+" ") && strings.HasSuffix(c, "; run: go test ./operator/powers -update")
		}) {
			t.Errorf("nothing is said of %s: %q", file, complaints)
		}
	}
}

const (
	toolsPage    = "docs/tools.md"
	refusalsPage = "docs/refusals.md"
	vocabulary   = contractFolder + "/vocabulary.json"
)

func contractFile(sort, name string) string {
	return contractFolder + "/" + sort + "/" + name + ".json"
}

func TestTablesThatAreTheSameAreNotComplainedAbout(t *testing.T) {
	if c := newWorld(t, "sqlite", nil).copied().complaints(t); len(c) > 0 {
		t.Errorf("%q", c)
	}
}

func TestAToolThatIsAddedRemovedOrRenamedIsFound(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	added := w.copied()
	row := powers.Row(spec("test_look", powers.Read, "goals"), func(context.Context, operator.Principal, nothing) (did, error) { return did{}, nil })
	added.tools = append(added.tools, &row)
	found(t, added.complaints(t), toolsPage, contractFile("tools", "test_look"))
	for i, tool := range w.Tools() {
		removed, renamed := w.copied(), w.copied()
		removed.tools = slices.Delete(removed.tools, i, i+1)
		found(t, removed.complaints(t), toolsPage, contractFile("tools", tool.Name))
		renamed.tools[i].Name += "_2"
		found(t, renamed.complaints(t), toolsPage, contractFile("tools", tool.Name), contractFile("tools", tool.Name+"_2"))
	}
	for i, act := range w.Acts() {
		removed, renamed := w.copied(), w.copied()
		removed.acts = slices.Delete(removed.acts, i, i+1)
		found(t, removed.complaints(t), toolsPage, contractFile("acts", act.Name))
		renamed.acts[i].Name += "_2"
		found(t, renamed.complaints(t), toolsPage, contractFile("acts", act.Name), contractFile("acts", act.Name+"_2"))
	}
}

// spoiled changes the properties of a schema: without one of them, with one by
// another name, with one more. The rest of its bytes stay as they are.
func spoiled(t *testing.T, schema []byte) (out [][]byte) {
	t.Helper()
	var properties []powers.Member
	var whole []byte
	for _, m := range powersMembers(t, schema) {
		if m.Name == "properties" {
			whole, properties = m.Value, powersMembers(t, m.Value)
		}
	}
	write := func(all []powers.Member) {
		var b bytes.Buffer
		for i, m := range all {
			b.WriteString(map[bool]string{true: "{", false: ","}[i == 0] + `"` + m.Name + `":`)
			b.Write(m.Value)
		}
		if len(all) == 0 {
			b.WriteByte('{')
		}
		b.WriteByte('}')
		out = append(out, bytes.Replace(schema, whole, b.Bytes(), 1))
	}
	write(append(slices.Clone(properties), powers.Member{Name: "one_more", Value: []byte(`{"type":"string","description":"One more."}`)}))
	for i := range properties {
		write(slices.Delete(slices.Clone(properties), i, i+1))
		renamed := slices.Clone(properties)
		renamed[i].Name += "_2"
		write(renamed)
	}
	return out
}

func powersMembers(t *testing.T, raw []byte) []powers.Member {
	t.Helper()
	out, err := powers.Members(raw)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAParameterThatIsAddedRemovedOrRenamedIsFound(t *testing.T) {
	w, tried := newWorld(t, "sqlite", nil), 0
	for i, tool := range w.Tools() {
		for _, schema := range spoiled(t, tool.InputSchema) {
			a := w.copied()
			a.tools[i].InputSchema = schema
			found(t, a.complaints(t), toolsPage, contractFile("tools", tool.Name))
			tried++
		}
	}
	for i, act := range w.Acts() {
		for _, schema := range spoiled(t, act.InputSchema) {
			a := w.copied()
			a.acts[i].InputSchema = schema
			found(t, a.complaints(t), toolsPage, contractFile("acts", act.Name))
			tried++
		}
	}
	if tried < 100 {
		t.Errorf("only %d changes were tried", tried)
	}
}

func TestAScopeThatIsAddedRemovedOrRenamedIsFound(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	change := map[string]func([]operator.Scope) []operator.Scope{
		"added":   func(s []operator.Scope) []operator.Scope { return append(s, "test:write") },
		"removed": func(s []operator.Scope) []operator.Scope { return s[1:] },
		"renamed": func(s []operator.Scope) []operator.Scope { s[0] += "_2"; return s },
	}
	for how, f := range change {
		t.Run(how, func(t *testing.T) {
			for i, tool := range w.Tools() {
				a := w.copied()
				a.tools[i].Scopes = f(a.tools[i].Scopes)
				found(t, a.complaints(t), toolsPage, contractFile("tools", tool.Name))
			}
			for i, act := range w.Acts() {
				a := w.copied()
				a.acts[i].Scopes = f(a.acts[i].Scopes)
				found(t, a.complaints(t), toolsPage, contractFile("acts", act.Name))
			}
			a := w.copied()
			a.scopes = f(a.scopes)
			found(t, a.complaints(t), toolsPage, vocabulary)
		})
	}
}

func TestAReasonThatIsAddedRemovedOrRenamedIsFound(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	a := w.copied()
	one := a.reasons[0]
	one.Reason = "one_more"
	a.reasons = append(a.reasons, one)
	found(t, a.complaints(t), refusalsPage, vocabulary)
	for i := range a.reasons[:len(a.reasons)-1] {
		removed, renamed, moved := w.copied(), w.copied(), w.copied()
		removed.reasons = slices.Delete(removed.reasons, i, i+1)
		renamed.reasons[i].Reason += "_2"
		moved.reasons[i].Status++
		for _, changed := range []*altered{removed, renamed, moved} {
			found(t, changed.complaints(t), refusalsPage, vocabulary)
		}
	}
}

// Whatever else of a tool a client may depend on.
func TestAnythingElseOfAToolThatChangesIsFound(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	for what, f := range map[string]func(*powers.Tool){
		"its title":       func(t *powers.Tool) { t.Title += "!" },
		"its description": func(t *powers.Tool) { t.Description += "!" },
		"its class":       func(t *powers.Tool) { t.Class = powers.Gated },
		"its toolset":     func(t *powers.Tool) { t.Toolset = "other" },
		"its primitive":   func(t *powers.Tool) { t.Primitive = "org" },
		"its kinds":       func(t *powers.Tool) { t.Kinds = t.Kinds[:1] },
		"a route":         func(t *powers.Tool) { t.Routes[0].Path += "2" },
		"a hint":          func(t *powers.Tool) { t.OpenWorld = !t.OpenWorld },
		"what it answers": func(t *powers.Tool) { t.OutputSchema = []byte(`{"type":"object"}`) },
		"a name in a route": func(t *powers.Tool) {
			t.Routes[0].Rename = map[string]string{"a": "b"}
		},
		"what serves instead": func(t *powers.Tool) { t.Instead = append(t.Instead, powers.Instead{Tool: t.Name, Why: "x"}) },
	} {
		t.Run(what, func(t *testing.T) {
			for i, tool := range w.Tools() {
				a := w.copied()
				f(a.tools[i])
				found(t, a.complaints(t), contractFile("tools", tool.Name))
			}
		})
	}
}

// The same from the other side: the tables stand, and a committed file is changed.
func TestACommittedFileThatIsChangedMissingOrTooManyIsFound(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	want := w.documents(t)
	good := fstest.MapFS{}
	for _, d := range want {
		good[d.Path] = &fstest.MapFile{Data: d.Content}
	}
	if c := stale(good, want); len(c) > 0 {
		t.Fatalf("%q", c)
	}
	with := func(name string, content []byte) fs.FS {
		out := fstest.MapFS{}
		for file, f := range good {
			out[file] = f
		}
		delete(out, name)
		if content != nil {
			out[name] = &fstest.MapFile{Data: content}
		}
		return out
	}
	for _, d := range want {
		found(t, stale(with(d.Path, nil), want), d.Path)
		found(t, stale(with(d.Path, append(slices.Clone(d.Content), '\n')), want), d.Path)
		found(t, stale(with(d.Path, bytes.Replace(d.Content, []byte("e"), []byte("E"), 1)), want), d.Path)
	}
	more := contractFile("tools", "gone")
	found(t, stale(with(more, []byte("{}")), want), more)
}

// A row that is served changes what the server says of itself, and so the file.
func TestARowMoreIsFoundInTheOpenAPIDocument(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	w.withRows()
	found(t, stale(files(t), w.documents(t)), openAPIDocument, toolsPage)
}
