package toollint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// known are the words of JSON Schema that every client understands. Any other is a
// fault: references, combinators and conditions among them.
var known = []string{"type", "description", "properties", "required", "additionalProperties", "items", "enum", "const", "default",
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "pattern", "format",
	"minItems", "maxItems", "uniqueItems"}

// limits are those of them that refuse some value. A schema without any is taken for
// a mistake by some clients.
var limits = []string{"type", "enum", "const", "minimum", "maximum", "minLength", "maxLength", "pattern", "minItems", "maxItems"}

var types = []string{"object", "array", "string", "integer", "number", "boolean"}

const (
	// anyTyped may be of any type, at the root.
	anyTyped = "actor"
	// anyObject may hold any members, wherever it stands.
	anyObject = "data"

	shortestAbout = 10
)

func parse(raw []byte) (map[string]any, error) {
	var out map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		return nil, fmt.Errorf("the schema is no JSON object: %w", err)
	}
	return out, nil
}

func (c *collector) input(raw []byte) {
	root, err := parse(raw)
	if err != nil {
		c.say("%v", err)
		return
	}
	c.want(root["type"] == "object", "the arguments are no object")
	_, has := root["properties"].(map[string]any)
	c.want(has, "the arguments have no properties")
	c.node("", "", root)
}

// node complains of a schema and all below it. name is the property's own.
func (c *collector) node(path, name string, s map[string]any) {
	for _, word := range slices.Sorted(maps.Keys(s)) {
		c.want(slices.Contains(known, word), "%s: the word %s", at(path), word)
	}
	free := path == "."+anyTyped
	kind, plain := s["type"].(string)
	switch _, said := s["type"]; {
	case !said && !free:
		c.say("%s: takes anything", at(path))
	case said && !plain:
		c.say("%s: a list of types", at(path))
	case said && !slices.Contains(types, kind):
		c.say("%s: the type %s", at(path), kind)
	}
	c.want(slices.ContainsFunc(limits, func(w string) bool { _, there := s[w]; return there }), "%s: no word that could refuse anything", at(path))
	if kind == "object" {
		c.object(path, name, s)
	}
	if kind == "array" {
		items, has := s["items"].(map[string]any)
		c.want(has, "%s: a list of anything", at(path))
		if has {
			c.node(path+"[]", "", items)
		}
	}
	c.enum(path, kind, s)
}

func (c *collector) object(path, name string, s map[string]any) {
	properties, has := s["properties"].(map[string]any)
	if name == anyObject {
		c.want(s["additionalProperties"] == true && !has, "%s: an open object says so, and names no properties", at(path))
		return
	}
	c.want(s["additionalProperties"] == false, "%s: an object that takes any key", at(path))
	c.want(has, "%s: an object without properties", at(path))
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		below := path + "." + key
		c.want(nameForm.MatchString(key), "%s: the name is not [a-z][a-z0-9_]*", below)
		inner, isSchema := properties[key].(map[string]any)
		if !isSchema {
			c.say("%s: is no schema", below)
			continue
		}
		about, _ := inner["description"].(string)
		c.want(len(strings.TrimSpace(about)) >= shortestAbout, "%s: is not described", below)
		c.node(below, key, inner)
	}
	seen := map[string]bool{}
	required, _ := s["required"].([]any)
	for _, r := range required {
		key, _ := r.(string)
		c.want(properties[key] != nil, "%s: requires %v, which it has not", at(path), r)
		c.want(!seen[key], "%s: requires %s twice", at(path), key)
		seen[key] = true
	}
}

// enum complains of a choice of nothing, of the same twice, and of another type.
func (c *collector) enum(path, kind string, s map[string]any) {
	said, there := s["enum"]
	if !there {
		return
	}
	values, _ := said.([]any)
	c.want(len(values) > 0, "%s: a choice of nothing", at(path))
	seen := map[string]bool{}
	for _, v := range values {
		_, isText := v.(string)
		c.want(isText == (kind == "string"), "%s: %v is no %s", at(path), v, kind)
		c.want(!seen[fmt.Sprint(v)], "%s: %v twice", at(path), v)
		seen[fmt.Sprint(v)] = true
	}
}

func at(path string) string {
	if path == "" {
		return "the arguments"
	}
	return path
}

// ofEnvelopes are the members of a refusal. A result has none of them, so that one
// look tells the two apart.
var ofEnvelopes = []string{"ok", "retry", "verdict", "reason", "action", "layer", "retryable", "repeat", "message", "error", "recovery", "alternatives"}

// output complains of what a tool answers, where it stands at the top.
func (c *collector) output(raw []byte) {
	root, err := parse(raw)
	if err != nil {
		c.say("what it answers: %v", err)
		return
	}
	c.want(root["type"] == "object", "it answers no object")
	c.want(root["properties"] != nil || root["anyOf"] != nil || root["oneOf"] != nil || root["allOf"] != nil, "nothing is known of what it answers")
	c.answer(root)
}

func (c *collector) answer(s map[string]any) {
	properties, _ := s["properties"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		c.want(!slices.Contains(ofEnvelopes, key), "it answers %s, which is a refusal's own", key)
	}
	for _, word := range []string{"anyOf", "oneOf", "allOf"} {
		branches, _ := s[word].([]any)
		for _, b := range branches {
			if inner, ok := b.(map[string]any); ok {
				c.answer(inner)
			}
		}
	}
}
