package reeve

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Every library that go.mod requires directly has its line in the decision on
// dependencies: which, and why it.
func TestEveryDirectDependencyIsNamedWithItsReason(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	why, err := os.ReadFile("docs/decisions/0001-dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	direct := regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllStringSubmatch(string(mod), -1)
	if len(direct) < 10 {
		t.Fatalf("%d direct dependencies: this test sees nothing", len(direct))
	}
	for _, d := range direct {
		if name := shortOf(d[1]); !regexp.MustCompile(`(^|[^a-z0-9-])` + regexp.QuoteMeta(name) + `($|[^a-z0-9-])`).Match(why) {
			t.Errorf("%s is not named (as %s) in docs/decisions/0001-dependencies.md", d[1], name)
		}
	}
}

// shortOf is a module as people call it: without its host where that is GitHub, and
// without its major version.
func shortOf(module string) string {
	name := regexp.MustCompile(`/v[0-9]+$`).ReplaceAllString(strings.TrimPrefix(module, "github.com/"), "")
	return strings.TrimPrefix(name, "golang.org/") // several stand in one line: golang.org/x/term, x/text
}
