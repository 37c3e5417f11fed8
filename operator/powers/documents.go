package powers

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-go/reeve/operator/internal/core"
)

// Document is a file that is made from the tables.
type Document struct {
	Path    string // from the module's root, with slashes
	Content []byte
}

const (
	toolsPath    = "docs/tools.md"
	refusalsPath = "docs/refusals.md"
	contractPath = "operator/powers/testdata/contract/"

	// generated is what every generated page says of itself.
	generated = "Written from the tables of `operator/powers`; change those, then run `go test ./operator/powers -update`.\n"
)

// tables is what the documents are made of.
type tables struct {
	tools   []*Tool
	acts    []*Act
	reasons []core.ReasonInfo
	scopes  []core.Scope
}

// Documents writes what is committed of the tables: the pages for people
// (docs/tools.md, docs/refusals.md), and the contract, one file per tool, per act and
// for the closed lists. A test holds the files to it.
func (s *Schedule) Documents() ([]Document, error) {
	return tables{s.tools, s.acts, core.Reasons(), core.Scopes()}.documents()
}

func (t tables) documents() ([]Document, error) {
	out := []Document{{toolsPath, t.toolsPage()}, {refusalsPath, t.refusalsPage()}}
	add := func(name string, v any) error {
		body, err := json.Marshal(v, jsontext.WithIndent("  "), json.Deterministic(true))
		if err != nil {
			return fmt.Errorf("the contract of %s: %w", name, err)
		}
		out = append(out, Document{contractPath + name + ".json", append(bytes.TrimSpace(body), '\n')})
		return nil
	}
	for _, tool := range t.tools {
		if err := add("tools/"+tool.Name, contractOf(tool)); err != nil {
			return nil, err
		}
	}
	for _, act := range t.acts {
		if err := add("acts/"+act.Name, contractOfAct(act)); err != nil {
			return nil, err
		}
	}
	return out, add("vocabulary", t.vocabulary())
}
