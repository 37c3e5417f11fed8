package core

import (
	"slices"
	"time"
)

// Primitive is the unit that an account's kit switches on and off: an area of
// tools, from the closed list below.
type Primitive string

// The primitives.
const (
	PrimitiveIntents     Primitive = "intents"
	PrimitiveBeliefs     Primitive = "beliefs"
	PrimitiveGoals       Primitive = "goals"
	PrimitiveBoard       Primitive = "board"
	PrimitiveRuns        Primitive = "runs"
	PrimitiveMemory      Primitive = "memory"
	PrimitiveTasks       Primitive = "tasks"
	PrimitiveDecisions   Primitive = "decisions"
	PrimitiveOrg         Primitive = "org"
	PrimitiveCatalog     Primitive = "catalog"
	PrimitiveDocuments   Primitive = "documents"
	PrimitiveRepos       Primitive = "repos"
	PrimitivePipelines   Primitive = "pipelines"
	PrimitiveBrain       Primitive = "brain"
	PrimitiveConnections Primitive = "connections"
)

var primitives = [...]Primitive{PrimitiveIntents, PrimitiveBeliefs, PrimitiveGoals, PrimitiveBoard, PrimitiveRuns, PrimitiveMemory, PrimitiveTasks,
	PrimitiveDecisions, PrimitiveOrg, PrimitiveCatalog, PrimitiveDocuments, PrimitiveRepos, PrimitivePipelines, PrimitiveBrain, PrimitiveConnections}

// Primitives lists every primitive there is, in the order of the documentation.
func Primitives() []Primitive { return slices.Clone(primitives[:]) }

// Known says that p is of the list.
func (p Primitive) Known() bool {
	return slices.Contains(primitives[:], p)
}

// OptIn says that a kit which does not name the primitive leaves it off.
func (p Primitive) OptIn() bool { return p == PrimitivePipelines || p == PrimitiveBrain }

// Kit says what an account lets its callers use at all. What it does not name is
// on, but for the primitives that are OptIn. The zero Kit is that of an account
// which never had one.
type Kit struct {
	Name       string
	Primitives map[Primitive]bool
	Tools      map[string]bool
	Toolkits   map[string]bool
}

// Has says whether a primitive is on. One that is not of the list is off.
func (k Kit) Has(p Primitive) bool {
	on, named := k.Primitives[p]
	if !named {
		on = !p.OptIn()
	}
	return on && p.Known()
}

// HasTool says whether the kit lets a tool through, whatever its primitive.
func (k Kit) HasTool(name string) bool {
	on, named := k.Tools[name]
	return on || !named
}

// Powers is what others let a principal do, beside its own credential, as it
// stood when it was read: the account's kit, and a person's word that it may spend.
type Powers struct {
	Kit        Kit
	SpendUntil time.Time // when the last of its spending grants ends; zero: it has none
}

// MaySpend says whether a grant is running at a moment.
func (p Powers) MaySpend(now time.Time) bool { return now.Before(p.SpendUntil) }
