package powers_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/reeve-go/reeve/internal/toollint"
	"github.com/reeve-go/reeve/mcpadapter"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

// Every row that a server lists is held to the lint: those of the product, and those
// of the tests, which have every class.
func TestEveryRowOfEveryToolsetIsListedAsTheLintWants(t *testing.T) {
	w := everythingOn(t)
	w.withRows()
	all, err := w.WithToolsets(append(powers.Toolsets(), "test")...)
	if err != nil {
		t.Fatal(err)
	}
	h, err := mcpadapter.New(all, nil)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Result struct{ Tools []json.RawMessage }
	}
	if err := json.Unmarshal(ask(t, w, h, "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), &answer); err != nil {
		t.Fatal(err)
	}
	rows := map[string]*powers.Tool{}
	for _, row := range all.Tools() {
		rows[row.Name] = row
	}
	var listed []toollint.Tool
	var ours []json.RawMessage
	for _, entry := range answer.Result.Tools {
		row := rows[parsed(t, entry)["name"].(string)]
		if row == nil {
			t.Fatalf("%s is listed, though no row has it", entry)
		}
		listed = append(listed, toollint.Tool{Listed: entry, Class: row.Class.String(), Output: json.RawMessage(row.OutputSchema)})
		if row.Toolset == powers.ToolsetOperator {
			ours = append(ours, entry)
		}
		delete(rows, row.Name)
	}
	for name, row := range rows {
		if slices.Contains(row.Kinds, operator.KindAgent) {
			t.Errorf("%s is not listed, so it is not looked at", name)
		}
	}
	for _, complaint := range toollint.Listing(listed) {
		t.Error(complaint)
	}
	tokens := toollint.Tokens(ours...)
	t.Logf("%d tools, %d tokens; of the operator's %d, %d tokens", len(listed), toollint.Tokens(answer.Result.Tools...), len(ours), tokens)
	if tokens > toollint.TokenBudget {
		t.Errorf("the operator's tools are listed in %d tokens, more than %d", tokens, toollint.TokenBudget)
	}
}
