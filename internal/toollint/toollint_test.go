package toollint

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const (
	goodSchema = `{"type":"object","properties":{` +
		`"id":{"type":"integer","minimum":1,"description":"The row's number."},` +
		`"kind":{"type":"string","enum":["one","two"],"description":"Which sort it is."},` +
		`"part":{"type":"object","properties":{"name":{"type":"string","description":"What it is called."}},"additionalProperties":false,"description":"A part of it."},` +
		`"parts":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string","description":"What it is called."},"data":{"type":"object","additionalProperties":true,"description":"Whatever else there is."}},"additionalProperties":false},"description":"More parts of it."},` +
		`"data":{"type":"object","additionalProperties":true,"description":"Whatever else there is."},` +
		`"actor":{"minLength":0,"description":"Accepted and thrown away."}` +
		`},"required":["id"],"additionalProperties":false}`
	goodWords = "Shows what there is of a thing. Use it to look at one thing by its number. Not for lists of things. Changes nothing."
)

// good is a tool that nothing is to be said about.
func good() Tool {
	return Tool{Class: "read", Output: json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer"}}}`), Listed: json.RawMessage(
		`{"name":"look_at_it","title":"Look at it","description":"` + goodWords + `","inputSchema":` + goodSchema + `,"outputSchema":{"type":"object"},` +
			`"annotations":{"title":"Look at it","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}`)}
}

func TestAGoodToolIsNotComplainedOf(t *testing.T) {
	if name, found := Lint(good()); name != "look_at_it" || len(found) > 0 {
		t.Errorf("%s: %q", name, found)
	}
	for class, hints := range map[string]string{
		"write": `false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":false`,
		"gated": `false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false`,
		"gate":  `false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false`,
		"spend": `false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true`,
		"brake": `false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":false`,
	} {
		one := good()
		one.Class = class
		one.Listed = json.RawMessage(strings.Replace(string(one.Listed), `true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false`, hints, 1))
		if _, found := Lint(one); len(found) > 0 {
			t.Errorf("%s: %q", class, found)
		}
	}
}

// fault is one that is planted in a good tool: old becomes new in what is listed.
type fault struct{ old, new, finds string }

func plant(t *testing.T, faults map[string]fault, spoil func(*Tool, fault)) {
	t.Helper()
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			one := good()
			spoil(&one, f)
			_, found := Lint(one)
			if !strings.Contains(strings.Join(found, "\n"), f.finds) {
				t.Errorf("found %q, want %q", found, f.finds)
			}
		})
	}
}

func inListing(t *testing.T) func(*Tool, fault) {
	return func(one *Tool, f fault) {
		if !strings.Contains(string(one.Listed), f.old) {
			t.Fatalf("there is no %s to spoil", f.old)
		}
		one.Listed = json.RawMessage(strings.Replace(string(one.Listed), f.old, f.new, 1))
	}
}

func TestFaultsOfTheEntryAreFound(t *testing.T) {
	sentence := func(without, with string) string { return strings.Replace(goodWords, without, with, 1) }
	plant(t, map[string]fault{
		"a name in capitals":         {`"look_at_it"`, `"Look_at_it"`, "the name is not"},
		"a name with a hyphen":       {`"look_at_it"`, `"look-at-it"`, "the name is not"},
		"a name that begins with 1":  {`"look_at_it"`, `"1look"`, "the name is not"},
		"no name":                    {`"look_at_it"`, `""`, "the name is not"},
		"a name of 41":               {`"look_at_it"`, `"` + strings.Repeat("a", 41) + `"`, "more than 40"},
		"another member":             {`{"name"`, `{"_meta":{},"name"`, "not of the form"},
		"no title":                   {`"title":"Look at it","desc`, `"desc`, "no title of a few words"},
		"a title too long":           {`"title":"Look at it","desc`, `"title":"` + strings.Repeat("Look ", 20) + `at it","desc`, "no title of a few words"},
		"another annotated title":    {`"annotations":{"title":"Look at it"`, `"annotations":{"title":"Look"`, "annotations.title"},
		"no annotated title":         {`"annotations":{"title":"Look at it",`, `"annotations":{`, "annotations.title"},
		"no readOnlyHint":            {`"readOnlyHint":true,`, ``, "readOnlyHint is not said"},
		"no destructiveHint":         {`"destructiveHint":false,`, ``, "destructiveHint is not said"},
		"no idempotentHint":          {`"idempotentHint":true,`, ``, "idempotentHint is not said"},
		"no openWorldHint":           {`,"openWorldHint":false`, ``, "openWorldHint is not said"},
		"a hint of null":             {`"openWorldHint":false`, `"openWorldHint":null`, "openWorldHint is not said"},
		"a hint of another type":     {`"openWorldHint":false`, `"openWorldHint":"no"`, "not of the form"},
		"another hint":               {`"openWorldHint":false`, `"openWorldHint":false,"safeHint":true`, "not of the form"},
		"a read that writes":         {`"readOnlyHint":true`, `"readOnlyHint":false`, "readOnlyHint is false of the class read"},
		"a read that destroys":       {`"destructiveHint":false`, `"destructiveHint":true`, "a read destroys nothing"},
		"a read that does more":      {`"idempotentHint":true`, `"idempotentHint":false`, "a read destroys nothing"},
		"a read that goes out":       {`"openWorldHint":false`, `"openWorldHint":true`, "openWorldHint is true of the class read"},
		"another output schema":      {`"outputSchema":{"type":"object"}`, `"outputSchema":{"type":"object","properties":{}}`, "the listed output schema"},
		"no output schema":           {`"outputSchema":{"type":"object"},`, ``, "the listed output schema"},
		"no description":             {goodWords, ``, "0 characters"},
		"a short description":        {goodWords, `Shows it. Use it to see. Not for more.`, "characters, and should have"},
		"a long description":         {goodWords, goodWords + strings.Repeat(" Changes nothing.", 60), "characters, and should have"},
		"half a sentence":            {goodWords, goodWords + " And", "ends within a sentence"},
		"it does not say what for":   {goodWords, sentence("Shows what there is of", "This is a tool about"), "what the tool does"},
		"it does not say when":       {goodWords, sentence("Use it to look", "It looks"), "does not say when ("},
		"when, within another word":  {goodWords, sentence("Use it to look", "You may also Use it to look"), "does not say when ("},
		"it does not say when not":   {goodWords, sentence("Not for lists", "It has no lists"), "does not say when not"},
		"not, but of something else": {goodWords, sentence("Not for lists", "It is not slow with lists"), "does not say when not"},
	}, inListing(t))
}

func TestFaultsOfTheArgumentsAreFound(t *testing.T) {
	faults := map[string]fault{
		"a root that is no object":            {`"inputSchema":{"type":"object"`, `"inputSchema":{"type":"array"`, "the arguments are no object"},
		"a root without a type":               {`"inputSchema":{"type":"object",`, `"inputSchema":{`, "the arguments are no object"},
		"an open root":                        {`"required":["id"],"additionalProperties":false`, `"required":["id"]`, "the arguments: an object that takes any key"},
		"a root that is open by a schema":     {`"required":["id"],"additionalProperties":false`, `"required":["id"],"additionalProperties":{"type":"string"}`, "the arguments: an object that takes any key"},
		"an open part":                        {`"What it is called."}},"additionalProperties":false`, `"What it is called."}}`, ".part: an object that takes any key"},
		"an open part of a list":              {`"Whatever else there is."}},"additionalProperties":false`, `"Whatever else there is."}}`, ".parts[]: an object that takes any key"},
		"an object without properties":        {`"part":{"type":"object","properties":{"name":{"type":"string","description":"What it is called."}}`, `"part":{"type":"object"`, ".part: an object without properties"},
		"a list of types":                     {`"id":{"type":"integer"`, `"id":{"type":["integer","null"]`, ".id: a list of types"},
		"a type that there is not":            {`"id":{"type":"integer"`, `"id":{"type":"int"`, ".id: the type int"},
		"null for a type":                     {`"id":{"type":"integer"`, `"id":{"type":"null"`, ".id: the type null"},
		"anything at all":                     {`"id":{"type":"integer","minimum":1,`, `"id":{`, ".id: takes anything"},
		"anything at all, deep inside":        {`"part":{"type":"object","properties":{"name":{"type":"string",`, `"part":{"type":"object","properties":{"name":{`, ".part.name: takes anything"},
		"true for a schema":                   {`"id":{"type":"integer","minimum":1,"description":"The row's number."}`, `"id":true`, ".id: is no schema"},
		"a list of anything":                  {`"kind":{"type":"string","enum":["one","two"]`, `"kind":{"type":"array"`, ".kind: a list of anything"},
		"a list of any items":                 {`"kind":{"type":"string","enum":["one","two"]`, `"kind":{"type":"array","items":{}`, ".kind[]: takes anything"},
		"no description":                      {`,"description":"The row's number."`, ``, ".id: is not described"},
		"a description of a word":             {`"The row's number."`, `"Number."`, ".id: is not described"},
		"a description of white space":        {`"The row's number."`, `"            "`, ".id: is not described"},
		"no description, deep inside":         {`,"description":"What it is called."}},"add`, `}},"add`, ".part.name: is not described"},
		"no description, in a list":           {`"What it is called."},"data"`, `""},"data"`, ".parts[].name: is not described"},
		"a name in camelCase":                 {`"kind":`, `"theKind":`, ".theKind: the name"},
		"an actor without a word":             {`"minLength":0,`, ``, ".actor: no word that could refuse anything"},
		"an actor that is not described":      {`"Accepted and thrown away."`, `""`, ".actor: is not described"},
		"an actor, deep inside":               {`"properties":{"name":{"type":"string","description":"What it is called."}},"add`, `"properties":{"actor":{"minLength":0,"description":"What it is called."}},"add`, ".part.actor: takes anything"},
		"data that is closed":                 {`"data":{"type":"object","additionalProperties":true`, `"data":{"type":"object","additionalProperties":false`, ".parts[].data: an open object says so"},
		"data of any type":                    {`"data":{"type":"object","additionalProperties":true,`, `"data":{`, ".parts[].data: takes anything"},
		"what is required and is not there":   {`"required":["id"]`, `"required":["id","it"]`, "requires it"},
		"what is required twice":              {`"required":["id"]`, `"required":["id","id"]`, "requires id twice"},
		"a choice of nothing":                 {`["one","two"]`, `[]`, ".kind: a choice of nothing"},
		"the same choice twice":               {`["one","two"]`, `["one","one"]`, ".kind: one twice"},
		"a choice of another type":            {`["one","two"]`, `["one",2]`, ".kind: 2 is no string"},
		"null among the choices":              {`["one","two"]`, `["one",null]`, "is no string"},
		"arguments that are no JSON's object": {`"inputSchema":` + goodSchema, `"inputSchema":[]`, "no JSON object"},
		"no arguments":                        {`"inputSchema":` + goodSchema + `,`, ``, "no JSON object"},
	}
	for _, word := range []string{"$ref", "$defs", "$schema", "$id", "$anchor", "$dynamicRef", "definitions", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
		"patternProperties", "propertyNames", "dependentSchemas", "dependentRequired", "unevaluatedProperties", "prefixItems", "contains", "title", "nullable", "x-mcp-header"} {
		faults[word+" at the root"] = fault{`"inputSchema":{`, fmt.Sprintf(`"inputSchema":{%q:{},`, word), "the arguments: the word " + word}
		faults[word+" deep inside"] = fault{`{"name":{`, fmt.Sprintf(`{"name":{%q:{},`, word), ".part.name: the word " + word}
	}
	plant(t, faults, inListing(t))
}

func TestFaultsOfTheClassAreFound(t *testing.T) {
	plant(t, map[string]fault{
		"a write that only reads":       {"write", `true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false`, "readOnlyHint is true of the class write"},
		"a write that goes out":         {"write", `false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":true`, "openWorldHint is true of the class write"},
		"a gated one that goes out":     {"gated", `false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":true`, "openWorldHint is true of the class gated"},
		"an intent that goes out":       {"gate", `false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":true`, "openWorldHint is true of the class gate"},
		"an intent that destroys":       {"gate", `false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":false`, "destroys nothing"},
		"a spending one that stays in":  {"spend", `false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":false`, "openWorldHint is false of the class spend"},
		"a spending one that can undo":  {"spend", `false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":true`, "cannot be taken back"},
		"a brake that only reads":       {"brake", `true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false`, "readOnlyHint is true of the class brake"},
		"a class that there is not":     {"invalid", `false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false`, "there is no class"},
		"a class that nobody has named": {"", `false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false`, "there is no class"},
	}, func(one *Tool, f fault) {
		one.Class = f.old
		one.Listed = json.RawMessage(strings.Replace(string(one.Listed), `true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false`, f.new, 1))
	})
}

func TestFaultsOfTheAnswerAreFound(t *testing.T) {
	faults := map[string]fault{
		"no object":         {new: `{"type":"array","items":{}}`, finds: "it answers no object"},
		"nothing known":     {new: `{"type":"object"}`, finds: "nothing is known"},
		"no schema":         {new: ``, finds: "what it answers"},
		"in an alternative": {new: `{"type":"object","anyOf":[{"properties":{"id":{}}},{"properties":{"reason":{}}}]}`, finds: "it answers reason"},
		"deep alternatives": {new: `{"type":"object","anyOf":[{"allOf":[{"properties":{"verdict":{}}}]}]}`, finds: "it answers verdict"},
	}
	for _, word := range []string{"ok", "verdict", "reason", "action", "layer", "retryable", "repeat", "message", "error", "recovery", "alternatives"} {
		faults[word] = fault{new: fmt.Sprintf(`{"type":"object","properties":{"id":{},%q:{}}}`, word), finds: "it answers " + word}
	}
	plant(t, faults, func(one *Tool, f fault) { one.Output = json.RawMessage(f.new) })
	one := good()
	one.Output = json.RawMessage(`{"type":"object","properties":{"id":{"type":"object","properties":{"reason":{"type":"string"}}}}}`)
	if _, found := Lint(one); len(found) > 0 {
		t.Errorf("a reason further down is no refusal's: %q", found)
	}
}

func TestANameThatStandsTwiceIsFound(t *testing.T) {
	if found := Listing([]Tool{good(), good()}); len(found) != 1 || !strings.Contains(found[0], "look_at_it: the name stands twice") {
		t.Errorf("%q", found)
	}
}

func TestTokensAreCountedOnTheSafeSide(t *testing.T) {
	for size, want := range map[int]int{0: 0, 1: 1, 7: 2, 8: 3, 24_500: TokenBudget, 24_501: TokenBudget + 1} {
		if got := Tokens(json.RawMessage(strings.Repeat("a", size/2)), json.RawMessage(strings.Repeat("a", size-size/2))); got != want {
			t.Errorf("%d bytes are %d tokens, want %d", size, got, want)
		}
	}
}
