package powers

import (
	"bytes"
	"fmt"
	"sort"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// Reference writes both tables, and the reasons of a refusal, as a page for
// people, in Markdown. A test holds the committed page to it.
func (s *Schedule) Reference() []byte {
	var b bytes.Buffer
	b.WriteString("# Tools, acts and refusals\n\nWritten from the tables of `operator/powers`; change those, then run `go test ./operator/powers -update`.\n\n" +
		"No tool approves. That is a decision: an approval is a person's act, done by a channel that calls the library, or over\nREST with a person's own credential.\n\n" +
		"Whatever is no read may be sent with an idempotency key: the header `Idempotency-Key`, over MCP also\n`reeve/idempotency-key` in the call's `_meta`; 1 to 255 visible ASCII characters. For 24 hours the same call with the same\nkey is given the answer of the first that succeeded, with `Idempotency-Replayed: true`, and changes nothing. A tool that spends\nand the approval of a parked call are begun under the key before anything runs: the same call is told to come back while\nthat runs (`unavailable`), and is refused (`may_have_been_carried_out`), and never run again under that key, where nothing is\nknown of its end.\n\n## Tools\n\n" +
		"For an agent, over MCP by name and over REST by route. A tool that is not a read also takes `actor`, of any type, and\nthrows it away.\n")
	for _, t := range s.tools {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n", t.Name, t.What)
		routes := make([]string, 0, len(t.Routes))
		for _, r := range t.Routes {
			routes = append(routes, "`"+r.Method+" "+r.Path+"`")
		}
		fmt.Fprintf(&b, "Class %s · primitive %s · for %s · scopes %s · %s\n\n", t.Class, t.Primitive, kindList(t.Kinds), scopeList(t.Scopes), strings.Join(routes, ", "))
		writeArguments(&b, t.InputSchema)
	}
	b.WriteString("\n## Acts\n\nOver REST only, and in the library as functions of the same meaning. Those for a `human` need a person's credential;\n`reeve inbox` does the same in a terminal.\n")
	for _, a := range s.acts {
		fmt.Fprintf(&b, "\n### %s %s\n\n%s\n\nFor %s · scopes %s\n\n", a.Method, a.Path, a.What, kindList(a.Kinds), scopeList(a.Scopes))
		writeArguments(&b, a.InputSchema)
	}
	writeReasons(&b)
	return b.Bytes()
}

func kindList(kinds []operator.Kind) string {
	words := make([]string, 0, len(kinds))
	for _, k := range kinds {
		words = append(words, string(k))
	}
	return strings.Join(words, ", ")
}

func scopeList(scopes []operator.Scope) string {
	return "`" + strings.ReplaceAll(core.JoinScopes(scopes), " ", "`, `") + "`"
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
	b.WriteString("| argument | type | |\n|---|---|---|\n")
	writeProperties(b, "", root)
}

func writeProperties(b *bytes.Buffer, at string, in property) {
	names := make([]string, 0, len(in.Properties))
	for name := range in.Properties {
		names = append(names, name)
	}
	required := map[string]bool{}
	for _, name := range in.Required {
		required[name] = true
	}
	sort.Slice(names, func(i, j int) bool {
		if required[names[i]] != required[names[j]] {
			return required[names[i]]
		}
		return names[i] < names[j]
	})
	for _, name := range names {
		p := in.Properties[name]
		kind := p.Type
		if kind == "" {
			kind = "any"
		}
		if required[name] {
			kind += ", required"
		}
		fmt.Fprintf(b, "| `%s%s` | %s | %s |\n", at, name, kind, p.Description)
		writeProperties(b, at+name+".", p)
	}
}

func writeReasons(b *bytes.Buffer) {
	b.WriteString("\n## Refusals\n\nA refusal is an envelope with `ok: false`, the same over MCP and REST. `reason` is one of these.\n\n| reason | verdict | layer | HTTP | what would change it |\n|---|---|---|---|---|\n")
	for _, r := range core.Reasons() {
		fmt.Fprintf(b, "| `%s` | %s | %s | %d | %s |\n", r.Reason, r.Verdict, r.Layer, r.Status, r.Hint)
	}
}
