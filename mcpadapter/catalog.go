package mcpadapter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reeve-go/reeve/operator/powers"
)

// catalog is every row of the schedule as MCP lists it, marshalled once.
type catalog struct {
	prefix string
	rows   []row
	byName map[string]*row // by the name of the schedule, without prefix
}

type row struct {
	name   string // as listed, with the prefix
	tool   *powers.Tool
	listed []byte // the entry of tools/list
}

// entry is one tool on the wire. It is not the SDK's own type, which leaves out
// annotations that are false when a debug variable of the process says so.
type entry struct {
	Name         string             `json:"name"`
	Title        string             `json:"title"`
	Description  string             `json:"description"`
	InputSchema  json.RawMessage    `json:"inputSchema"`
	OutputSchema json.RawMessage    `json:"outputSchema"`
	Annotations  powers.Annotations `json:"annotations"`
}

// anyObject is the listed output schema of every tool. It is this wide because
// a refusal comes back in the same place as a success, and some clients throw
// where an answer does not fit. It serves as the input schema of the SDK's own
// records too: the SDK walks that schema again on every call.
var anyObject = json.RawMessage(`{"type":"object"}`)

func newCatalog(tools []*powers.Tool, prefix string) (*catalog, error) {
	c := &catalog{prefix: prefix, rows: make([]row, 0, len(tools)), byName: make(map[string]*row, len(tools))}
	rename := renamer(tools, prefix)
	for _, t := range tools {
		r, err := newRow(t, prefix, rename)
		if err != nil {
			return nil, fmt.Errorf("mcpadapter: tool %q: %w", t.Name, err)
		}
		if c.byName[t.Name] != nil {
			return nil, fmt.Errorf("mcpadapter: tool %q stands twice in the schedule", t.Name)
		}
		c.rows = append(c.rows, r)
		c.byName[t.Name] = &c.rows[len(c.rows)-1]
	}
	return c, nil
}

func newRow(t *powers.Tool, prefix string, rename func(string) string) (row, error) {
	name := prefix + t.Name
	if !prefixForm.MatchString(name) {
		return row{}, fmt.Errorf("the name must match [a-z][a-z0-9_]*")
	}
	if len(name) > maxName {
		return row{}, fmt.Errorf("the name %q has %d bytes, more than %d: shorten Options.ToolPrefix", name, len(name), maxName)
	}
	var schema bytes.Buffer
	if err := json.Compact(&schema, t.InputSchema); err != nil || !isObject(schema.Bytes()) {
		return row{}, fmt.Errorf("the input schema must be a JSON object")
	}
	listed, err := json.Marshal(entry{
		Name:         name,
		Title:        t.Title,
		Description:  rename(t.Description),
		InputSchema:  renameInSchema(schema.Bytes(), rename),
		OutputSchema: anyObject,
		Annotations:  t.Annotations(),
	})
	return row{name: name, tool: t, listed: listed}, err
}

// find is the row that a client's name means, or nil.
func (c *catalog) find(name string) *row {
	plain, ok := strings.CutPrefix(name, c.prefix)
	if !ok {
		return nil
	}
	return c.byName[plain]
}

// actionNone is what an envelope calls a request that named no tool.
const actionNone = "mcp"

// action is what an envelope calls the tool of that name. A name that no row
// has may be anything, of any length, and is not repeated.
func (c *catalog) action(name string) string {
	if r := c.find(name); r != nil {
		return r.tool.Name
	}
	return actionNone
}

var (
	word              = regexp.MustCompile(`[a-z][a-z0-9_]*`)
	schemaDescription = regexp.MustCompile(`"description":"(?:[^"\\]|\\.)*"`)
)

// renamer puts the prefix before every tool that a text names, so that a
// description never sends a reader to a name that is not listed.
func renamer(tools []*powers.Tool, prefix string) func(string) string {
	if prefix == "" {
		return func(s string) string { return s }
	}
	names := make(map[string]bool, len(tools))
	for _, t := range tools {
		names[t.Name] = true
	}
	return func(s string) string {
		return word.ReplaceAllStringFunc(s, func(w string) string {
			if names[w] {
				return prefix + w
			}
			return w
		})
	}
}

// renameInSchema renames in descriptions alone: a property may well be called
// like a tool. A property called "description" holds an object, not a string.
func renameInSchema(schema []byte, rename func(string) string) []byte {
	return schemaDescription.ReplaceAllFunc(schema, func(member []byte) []byte {
		text := strings.TrimPrefix(string(member), `"description":`)
		return []byte(`"description":` + rename(text))
	})
}

// listing is the answer to tools/list. It borrows the SDK's result for what the
// protocol adds to it (its kind and the server's name, in the newer era), and
// writes the entries as they were marshalled once.
type listing struct {
	*mcp.ListToolsResult
	entries [][]byte
}

// newListing lists tools for one caller. The answer is the caller's own and may
// not be kept: a person can switch a tool off, and the very next call must know.
func (c *catalog) newListing(tools []*powers.Tool) *listing {
	l := &listing{ListToolsResult: &mcp.ListToolsResult{Cacheable: uncached}, entries: make([][]byte, 0, len(tools))}
	for _, t := range tools {
		if r := c.byName[t.Name]; r != nil {
			l.entries = append(l.entries, r.listed)
		}
	}
	return l
}

// uncached is what every cacheable answer says of itself. The SDK's default is
// "public", which would let a cache hand one caller's tools to another.
var uncached = mcp.Cacheable{TTLMs: 0, CacheScope: "private"}

// MarshalJSON writes the answer to tools/list.
func (l *listing) MarshalJSON() ([]byte, error) {
	head, err := json.Marshal(struct {
		ResultType string         `json:"resultType,omitempty"`
		Meta       map[string]any `json:"_meta,omitempty"`
		mcp.Cacheable
	}{string(l.ResultType), l.GetMeta(), l.Cacheable})
	if err != nil {
		return nil, err
	}
	size := len(head) + len(`,"tools":[]`)
	for _, e := range l.entries {
		size += len(e) + 1
	}
	out := make([]byte, 0, size)
	out = append(out, head[:len(head)-1]...)
	out = append(out, `,"tools":[`...)
	for i, e := range l.entries {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, e...)
	}
	return append(out, `]}`...), nil
}
