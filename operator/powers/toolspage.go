package powers

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/go-json-experiment/json"
)

// toolsIntro opens the page. It states the power that is withheld: whoever looks
// for the tool that approves finds why there is none.
const toolsIntro = `# Tools and acts

` + generated + `
**No tool approves, and none will.** An agent can only record what it wants done; a policy judges it, and a person
countersigns. An approval is a person's act: done by a channel that calls the library, or over REST with a person's own
credential. Whoever builds another channel calls the library as well; a tool for it would hand the countersignature to
the one who asks for it. That no tool reaches an act is computed from the program at every change
([why, and how](decisions/0018-no-tool-reaches-an-act.md)).

Every refusal and what would change it is in [refusals.md](refusals.md). The exact form of every answer is in
[openapi.json](openapi.json), which a server serves at ` + "`/openapi.json`; `GET /v1/tools`" + ` lists the tools.

Whatever is no read may be sent with an idempotency key: the header ` + "`Idempotency-Key`" + `, over MCP also
` + "`reeve/idempotency-key` in the call's `_meta`" + `; 1 to 255 visible ASCII characters. For 24 hours the same call with the same
key is given the answer of the first that succeeded, with ` + "`Idempotency-Replayed: true`" + `, and changes nothing.
`

const toolsHead = `
## Tools

For an agent, over MCP by name and over REST by route. An argument that is not required may be left out or null. A tool of
the operator's own that is not a read also takes ` + "`actor`" + `, of any type, and throws it away.
`

const actsHead = `
## Acts

Over REST only, and in the library as functions of the same meaning. Those for a ` + "`human`" + ` need a person's credential;
` + "`reeve inbox`" + ` does the same in a terminal. No tool leads to any of them.
`

func (t tables) toolsPage() []byte {
	var b bytes.Buffer
	b.WriteString(toolsIntro + toolsHead)
	for _, tool := range t.tools {
		writeTool(&b, tool)
	}
	b.WriteString(actsHead)
	for _, act := range t.acts {
		writeAct(&b, act)
	}
	t.writeScopes(&b)
	return b.Bytes()
}

func writeTool(b *bytes.Buffer, t *Tool) {
	fmt.Fprintf(b, "\n### %s\n\n%s. %s\n\n", t.Name, t.Title, t.Description)
	fmt.Fprintf(b, "Class %s%s · toolset %s · primitive %s · for %s · scopes %s · %s\n\n", t.Class, hints(t), t.Toolset, t.Primitive,
		listed(", ", "", t.Kinds), listed(", ", "`", t.Scopes), listed(", ", "`", t.Listing().Routes))
	for _, r := range t.Routes {
		for _, name := range sortedKeys(r.Rename) {
			fmt.Fprintf(b, "In `%s %s`, `%s` is `%s`.\n\n", r.Method, r.Path, name, r.Rename[name])
		}
	}
	writeArguments(b, t.InputSchema)
}

// hints is what a caller should know beyond the class.
func hints(t *Tool) string {
	var out string
	for _, h := range []struct {
		is   bool
		word string
	}{{t.alwaysOn(), "never held up"}, {t.MayPark(), "may wait for a person"}, {t.Destructive, "destructive"},
		{t.Idempotent && !t.ReadOnly(), "idempotent"}, {t.OpenWorld, "reaches outside"}} {
		if h.is {
			out += ", " + h.word
		}
	}
	return out
}

func writeAct(b *bytes.Buffer, a *Act) {
	fmt.Fprintf(b, "\n### %s %s\n\n%s: %s\n\nIn the record `%s` · for %s · scopes %s", a.Method, a.Path, a.Title, a.What, a.Name, listed(", ", "", a.Kinds), listed(", ", "`", a.Scopes))
	if a.Brake {
		b.WriteString(" · a brake, never held up")
	}
	if a.Steps {
		b.WriteString(" · takes no idempotency key: its digest says what is done, once")
	}
	b.WriteString("\n\n")
	writeArguments(b, a.InputSchema)
}

// writeScopes says what each scope is for.
func (t tables) writeScopes(b *bytes.Buffer) {
	b.WriteString("\n## Scopes\n\nA credential needs every scope of what it calls, matched exactly.\n\n| scope | for |\n|---|---|\n")
	for _, scope := range t.scopes {
		var users []string
		for _, tool := range t.tools {
			if slices.Contains(tool.Scopes, scope) {
				users = append(users, "`"+tool.Name+"`")
			}
		}
		for _, act := range t.acts {
			if slices.Contains(act.Scopes, scope) {
				users = append(users, "`"+act.Method+" "+act.Path+"`")
			}
		}
		fmt.Fprintf(b, "| `%s` | %s |\n", scope, strings.Join(users, ", "))
	}
}

// listed joins words, each between two marks.
func listed[W ~string](between, mark string, words []W) string {
	out := make([]string, 0, len(words))
	for _, w := range words {
		out = append(out, mark+string(w)+mark)
	}
	return strings.Join(out, between)
}

func sortedKeys(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// property is what the page tells of one argument.
type property struct {
	Type        string              `json:"type"`
	Description string              `json:"description"`
	Enum        []string            `json:"enum"`
	Properties  map[string]property `json:"properties"`
	Required    []string            `json:"required"`
}

func writeArguments(b *bytes.Buffer, schema []byte) {
	var root property
	if err := json.Unmarshal(schema, &root); err != nil {
		panic("powers: a schema of ours does not parse: " + err.Error())
	}
	if len(root.Properties) == 0 {
		b.WriteString("No arguments.\n")
		return
	}
	b.WriteString("| argument | type | |\n|---|---|---|\n")
	writeProperties(b, "", root)
}

// writeProperties writes what is required first, then the rest, each by name.
func writeProperties(b *bytes.Buffer, at string, in property) {
	names := make([]string, 0, len(in.Properties))
	for name := range in.Properties {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		if a := slices.Contains(in.Required, names[i]); a != slices.Contains(in.Required, names[j]) {
			return a
		}
		return names[i] < names[j]
	})
	for _, name := range names {
		p := in.Properties[name]
		fmt.Fprintf(b, "| `%s%s` | %s | %s |\n", at, name, p.kind(slices.Contains(in.Required, name)), p.Description)
		writeProperties(b, at+name+".", p)
	}
}

func (p property) kind(required bool) string {
	kind := p.Type
	switch {
	case len(p.Enum) > 0:
		kind = "one of " + listed(", ", "`", p.Enum)
	case kind == "":
		kind = "any"
	}
	if required {
		kind += ", required"
	}
	return kind
}
