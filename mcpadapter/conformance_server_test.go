package mcpadapter

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

// fixtures is a real schedule with the tools that the official suite asks for by
// name, as far as reeve has such a thing: tools that answer, and tools that refuse.
// What would answer with a picture, ask the client something or report its progress
// is not here, because no row of a schedule can.
type fixtures struct {
	schedule
	rows []fixture
}

// fixture is a row that the product never serves.
type fixture struct {
	*powers.Tool
	refuses bool
}

func newFixture(name, schema string) fixture {
	t := &powers.Tool{Toolset: "conformance", InputSchema: []byte(schema),
		Description: "Answers a plain sentence. Use it to see how an answer is told. Not for anything else."}
	t.Name, t.Title, t.Class, t.Idempotent = name, "A tool of the suite", powers.Read, true
	return fixture{Tool: t}
}

const noArguments = `{"type":"object","properties":{},"additionalProperties":false}`

// withFixtures puts the suite's tools beside the real ones.
func withFixtures(s schedule) *fixtures {
	refuses := newFixture("test_error_handling", noArguments)
	refuses.refuses = true
	return &fixtures{s, []fixture{refuses,
		newFixture("test_simple_text", noArguments),
		newFixture("test_logging_tool", noArguments),
		newFixture("test_reconnection", noArguments),
		newFixture("test_streaming_elicitation", noArguments),
		newFixture("json_schema_2020_12_tool", schemaOfTheSuite),
	}}
}

func (f *fixtures) with(tools []*powers.Tool) []*powers.Tool {
	for _, row := range f.rows {
		tools = append(tools, row.Tool)
	}
	return tools
}

func (f *fixtures) Tools() []*powers.Tool { return f.with(f.schedule.Tools()) }

func (f *fixtures) Visible(p operator.Principal, face powers.Face) []*powers.Tool {
	return f.with(f.schedule.Visible(p, face))
}

func (f *fixtures) Call(ctx context.Context, c powers.Caller, tool string, raw []byte) powers.Answer {
	for _, row := range f.rows {
		switch {
		case row.Name != tool:
		case row.refuses:
			return f.schedule.Refuse(ctx, c, tool, operator.Refuse(operator.ReasonNotFound, "This tool intentionally returns an error for testing."))
		default:
			return powers.Answer{JSON: []byte("{\n  \"text\": \"This is a simple text response for testing.\"\n}"), OK: true, Status: http.StatusOK}
		}
	}
	return f.schedule.Call(ctx, c, tool, raw)
}

// behindProxy serves a schedule, by the same adapter as everywhere, and in front of
// it a proxy that adds the credential, for the suite sends none. It gives back the
// proxy's address. The suite leaves some requests alone halfway; that is not told.
func behindProxy(t *testing.T, s schedule, token string) string {
	t.Helper()
	target, err := url.Parse(serve(t, s, nil))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0), Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
		r.Out.Host = r.In.Host // who is spoken to is part of what is tested
		r.Out.Header.Set("Authorization", "Bearer "+token)
	}})
	t.Cleanup(proxy.Close)
	return proxy.URL + target.Path
}

// schemaOfTheSuite is what its tool json_schema_2020_12_tool has to be listed with.
// Our own lint complains of nearly all of it.
const schemaOfTheSuite = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "$defs": {
    "address": {
      "$anchor": "addressDef",
      "type": "object",
      "properties": {"street": {"type": "string"}, "city": {"type": "string"}}
    }
  },
  "properties": {
    "name": {"type": "string"},
    "address": {"$ref": "#/$defs/address"},
    "contactMethod": {"type": "string", "enum": ["phone", "email"]},
    "phone": {"type": "string"},
    "email": {"type": "string"}
  },
  "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
  "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
  "then": {"required": ["phone"]},
  "else": {"required": ["email"]},
  "additionalProperties": false
}`
