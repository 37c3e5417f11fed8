package powers_test

import (
	"bytes"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the files that are generated from the tables")

const referencePage = "../../docs/reference.md"

func TestTheReferencePageIsWhatTheTablesSay(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	want := w.Reference()
	if *update {
		if err := os.WriteFile(referencePage, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(referencePage)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/reference.md is not what the tables say (%v); run: go test ./operator/powers -update", err)
	}
}
