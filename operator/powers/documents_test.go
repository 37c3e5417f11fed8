package powers_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/reeve-go/reeve/operator/powers"
	"github.com/reeve-go/reeve/restadapter"
)

var update = flag.Bool("update", false, "rewrite the files that are generated from the tables")

const (
	moduleRoot      = "../.."
	contractFolder  = "operator/powers/testdata/contract"
	openAPIDocument = "docs/openapi.json"

	// regenerate is what to do about a file that is not what the tables say.
	regenerate = "run: go test ./operator/powers -update"
)

// stale says which committed files are not what the tables say. No file of the
// contract is there without a row.
func stale(root fs.FS, want []powers.Document) []string {
	var out []string
	complain := func(file, what string) { out = append(out, fmt.Sprintf("%s %s; %s", file, what, regenerate)) }
	known := map[string]bool{}
	for _, d := range want {
		known[d.Path] = true
		got, err := fs.ReadFile(root, d.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			complain(d.Path, "is missing")
		case err != nil:
			complain(d.Path, err.Error())
		case !bytes.Equal(got, d.Content):
			complain(d.Path, "is not what the tables say, from line "+fmt.Sprint(firstDifference(got, d.Content))+" on")
		}
	}
	for _, file := range contractFiles(root) {
		if !known[file] {
			complain(file, "is of nothing that the tables have")
		}
	}
	return out
}

func contractFiles(root fs.FS) []string {
	var out []string
	_ = fs.WalkDir(root, contractFolder, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, p)
		}
		return nil // a folder that is missing has no files, which are found missing one by one
	})
	return out
}

func firstDifference(a, b []byte) int {
	one, other := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range one {
		if i >= len(other) || !bytes.Equal(one[i], other[i]) {
			return i + 1
		}
	}
	return len(one)
}

// documents is everything that is committed of a schedule. The OpenAPI document is
// what a server over it serves.
func (w *world) documents(t *testing.T) []powers.Document {
	t.Helper()
	out, err := w.Documents()
	if err != nil {
		t.Fatal(err)
	}
	handler, err := restadapter.New(w.Schedule, nil)
	if err != nil {
		t.Fatal(err)
	}
	return append(out, powers.Document{Path: openAPIDocument, Content: append(served(t, w, handler, "/openapi.json"), '\n')})
}

var rewritten sync.Once

// files is where the committed files are. With -update they are rewritten before
// anybody looks at them.
func files(t *testing.T) fs.FS {
	t.Helper()
	if *update {
		rewritten.Do(func() { rewrite(t, newWorld(t, "sqlite", nil).documents(t)) })
	}
	return os.DirFS(moduleRoot)
}

func TestTheCommittedFilesAreWhatTheTablesSay(t *testing.T) {
	want := newWorld(t, "sqlite", nil).documents(t)
	for _, complaint := range stale(files(t), want) {
		t.Error(complaint)
	}
}

// rewrite writes the files, and takes away those of rows that are gone.
func rewrite(t *testing.T, want []powers.Document) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range contractFiles(os.DirFS(moduleRoot)) {
		if !slices.ContainsFunc(want, func(d powers.Document) bool { return d.Path == file }) {
			must(os.Remove(filepath.Join(moduleRoot, filepath.FromSlash(file))))
		}
	}
	for _, d := range want {
		file := filepath.Join(moduleRoot, filepath.FromSlash(d.Path))
		must(os.MkdirAll(filepath.Dir(file), 0o755))
		must(os.WriteFile(file, d.Content, 0o644))
	}
}
