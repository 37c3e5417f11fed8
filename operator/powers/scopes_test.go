package powers_test

import (
	"slices"
	"testing"

	"github.com/reeve-go/reeve/operator/internal/core"
	"github.com/reeve-go/reeve/operator/powers"
)

// The library's defaults are the table's: who adds a tool with a new scope is
// told so here.
func TestAFreshInstallGivesWhatTheTablesNeed(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	if got, want := w.AgentScopes(powers.ToolsetOperator), core.AgentScopes(); !slices.Equal(got, want) {
		t.Errorf("the tools need %v, an agent gets %v", got, want)
	}
	if got, want := w.OwnerScopes(), core.OwnerScopes(); !slices.Equal(got, want) {
		t.Errorf("acts and looks need %v, a person gets %v", got, want)
	}
}
