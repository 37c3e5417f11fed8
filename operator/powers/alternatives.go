package powers

import (
	"context"
	"fmt"
	"slices"

	"github.com/reeve-go/reeve/operator/internal/core"
)

// Instead is a tool that may serve a caller who was refused another one.
type Instead struct {
	Tool string // the name of a row
	Why  string // one sentence: what it does for such a caller
}

// alternativesFor are the layers whose refusals another tool can be a way around.
// Wrong arguments are corrected, an outage is waited for.
var alternativesFor = []core.Layer{core.LayerCompany, core.LayerScope, core.LayerSpend, core.LayerPolicy, core.LayerState}

// alternatives lists the candidates of a row that would work for this caller right
// now. Each is tried by the pipeline's own checks, without its handler, before it
// is named. Who was refused too often gets none: choices have stopped helping.
func (s *Schedule) alternatives(ctx context.Context, c Caller, t *Tool, info core.ReasonInfo, again repeats) []alternative {
	out := []alternative{}
	if t == nil || again.tooMany() || info.Verdict != core.VerdictDeny || !slices.Contains(alternativesFor, info.Layer) {
		return out
	}
	for _, i := range t.Instead {
		other := s.byName[i.Tool]
		now, err := s.present(ctx, c, other, false)
		if err == nil && s.offers(now.Principal, c.Face, other) {
			out = append(out, alternative{Tool: c.name(other.Name), Why: i.Why})
		}
	}
	return out
}

// lintInstead holds the candidates of a row to the rows that there are.
func (s *Schedule) lintInstead(t *Tool) error {
	for _, i := range t.Instead {
		if s.byName[i.Tool] == nil || i.Tool == t.Name || i.Why == "" {
			return fmt.Errorf("tool %s: %q must be another tool, with a word on why it may serve instead", t.Name, i.Tool)
		}
	}
	return nil
}
