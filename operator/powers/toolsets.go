package powers

import (
	"fmt"
	"slices"
)

// WithToolsets is the same schedule, which over MCP also serves the rows of these
// toolsets. The operator's own and the one that polls what was parked are always
// served; over REST and in the library every row is, and the kit alone decides. An
// error names a toolset that the schedule does not have.
func (s *Schedule) WithToolsets(sets ...Toolset) (*Schedule, error) {
	out := *s
	out.overMCP = nil
	for _, set := range sets {
		if !slices.Contains(s.toolsets(), set) {
			return nil, fmt.Errorf("there is no toolset %q; the toolsets are %v", set, s.toolsets())
		}
		out.overMCP = append(out.overMCP, set)
	}
	return &out, nil
}

// Toolsets lists the toolsets of the product, for who has to know before there is a
// database.
func Toolsets() []Toolset { return toolsetsOf(rows(product()...)) }

func (s *Schedule) toolsets() []Toolset { return toolsetsOf(s.tools) }

// toolsetsOf lists every toolset that has a row, in declaration order.
func toolsetsOf(tools []*Tool) []Toolset {
	var out []Toolset
	for _, t := range tools {
		if !slices.Contains(out, t.Toolset) {
			out = append(out, t.Toolset)
		}
	}
	return out
}

// served says whether a face has the row at all. One that it has not is as unknown
// there as a name that no row has.
func (s *Schedule) served(t *Tool, face Face) bool {
	return face != FaceMCP || t.Toolset == ToolsetOperator || t.Toolset == ToolsetApprovals || slices.Contains(s.overMCP, t.Toolset)
}
