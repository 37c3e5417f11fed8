package reeve

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/reeve-go/reeve"

// mayImport says which packages of ours each package may import. A trailing
// slash means everything below. What is not listed may import nothing of ours.
var mayImport = map[string][]string{
	".":                          {},
	"gate":                       {},
	"worldmodel":                 {},
	"goals":                      {},
	"operator/internal/strict":   {},
	"operator/internal/schema":   {},
	"operator/internal/auditlog": {},
	"operator/internal/core":     {"gate", "worldmodel", "goals", "operator/internal/auditlog"},
	"operator/internal/sqlstore": {"operator/internal/core", "gate", "worldmodel", "goals"},
	"operator":                   {"gate", "worldmodel", "goals", "operator/internal/"},
	"operator/powers":            {"gate", "operator", "operator/internal/"},
	"operator/hook":              {"gate", "operator"},
	"operator/operatortest":      {"operator"},
	"mcpadapter":                 {"operator", "operator/powers"},
	"mcpadapter/clienttest":      {},
	"restadapter":                {"operator", "operator/powers"},
	"internal/reach":             {},
	"internal/toollint":          {},
	"internal/metrics":           {"operator", "operator/powers"},
	"internal/tracing":           {"operator", "operator/powers"},
	"cmd/reeve":                  {"gate", "operator", "operator/powers", "operator/hook", "mcpadapter", "restadapter", "internal/metrics", "internal/tracing"},
}

func TestImportsRunOneWay(t *testing.T) {
	for _, f := range goFiles(t) {
		folder := path.Dir(f)
		allowed, listed := mayImport[folder]
		if !listed {
			t.Errorf("%s: the folder %s is not in the table of imports; add it with what it may import", f, folder)
			continue
		}
		for _, imported := range importsOf(t, f) {
			if !permitted(imported, allowed) {
				t.Errorf("%s imports %s; %s may import %v", f, imported, folder, allowed)
			}
		}
	}
}

// The pure packages decide, so the same inputs must give the same answer for
// ever: no clock, no environment, no files, no network.
func TestThePurePackagesReachNothingOutside(t *testing.T) {
	outside := []string{"os", "os/exec", "net", "net/http", "math/rand", "math/rand/v2", "crypto/rand", "database/sql", "log", "log/slog", "context", "sync"}
	for _, f := range goFiles(t) {
		if !slices.Contains([]string{"gate", "worldmodel", "goals"}, path.Dir(f)) {
			continue
		}
		if text, err := os.ReadFile(f); err != nil || strings.Contains(string(text), "time.Now") || strings.Contains(string(text), "time.Since") {
			t.Errorf("%s asks a clock (%v); the time is an argument", f, err)
		}
		for _, imported := range allImportsOf(t, f) {
			if slices.Contains(outside, imported) && !(imported == "sync" && path.Base(f) == "default.go") {
				t.Errorf("%s imports %s", f, imported)
			}
		}
	}
}

func permitted(imported string, allowed []string) bool {
	for _, a := range allowed {
		if imported == a || strings.HasSuffix(a, "/") && strings.HasPrefix(imported, a) {
			return true
		}
	}
	return false
}

// goFiles lists the module's Go files that are not tests. Tests may import what
// they test with.
func goFiles(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (name == "testdata" || name == "node_modules" || p != "." && strings.HasPrefix(name, ".")) {
			return filepath.SkipDir
		}
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			out = append(out, filepath.ToSlash(p))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 20 {
		t.Fatalf("found only %d Go files: is the test in the module's root?", len(out))
	}
	return out
}

func importsOf(t *testing.T, file string) []string {
	var ours []string
	for _, i := range allImportsOf(t, file) {
		if i == module {
			ours = append(ours, ".")
		} else if rest, ok := strings.CutPrefix(i, module+"/"); ok {
			ours = append(ours, rest)
		}
	}
	return ours
}

func allImportsOf(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, i := range parsed.Imports {
		name, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, name)
	}
	return out
}
