package mcpadapter

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestEveryRoughEdgeNamesATestThatExists(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(raw)
	}
	named := regexp.MustCompile(`Test[A-Z]\w+`).FindAllString(string(doc), -1)
	if len(named) < 20 {
		t.Fatalf("only %d tests are named", len(named))
	}
	for _, name := range named {
		if !strings.Contains(tests.String(), "\nfunc "+name+"(") {
			t.Errorf("%s is named, but there is no such test", name)
		}
	}
}
