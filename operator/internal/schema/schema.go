package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Options says what the schema is for. The zero value is for arguments.
type Options struct {
	// Output makes the schema of an answer instead of arguments: every field that
	// is not omitted when empty is required, whatever `validate` says; a pointer
	// that is not omitted may be null; a description may be missing.
	Output bool
	// Types describes types that read themselves from JSON and cannot carry a
	// JSONSchema method. The description of the field is added to it.
	Types map[reflect.Type]map[string]any
}

// Schemer is a type that describes itself. The map is written with its keys in
// order; an empty one means any value.
type Schemer interface {
	JSONSchema() map[string]any
}

// FieldError is one field that no honest schema can be made for.
type FieldError struct {
	Type    reflect.Type // the struct that was asked for
	Field   string       // the field as JSON names it, with dots between levels
	Problem string       // what to change
}

// Error returns one sentence that names type, field and remedy.
func (e *FieldError) Error() string {
	return fmt.Sprintf("schema: %v, field %s: %s", e.Type, e.Field, e.Problem)
}

// For returns the schema of t, which is a struct or a pointer to one. The same
// type and options give the same bytes. The error joins one [*FieldError] for
// each field that is wrong.
func For(t reflect.Type, opts Options) (json.RawMessage, error) {
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("schema: a struct is needed, not %v", t)
	}
	g := generator{root: t, opts: opts}
	object := g.object(t, "")
	if len(g.problems) > 0 {
		return nil, errors.Join(g.problems...)
	}
	return object.append(nil)
}

type generator struct {
	root     reflect.Type
	opts     Options
	inside   []reflect.Type // the structs being described, to find one inside itself
	problems []error
}

func (g *generator) refuse(path, format string, args ...any) {
	if path == "" {
		path = "(root)"
	}
	g.problems = append(g.problems, &FieldError{Type: g.root, Field: path, Problem: fmt.Sprintf(format, args...)})
}

// object describes a struct as a closed object.
func (g *generator) object(t reflect.Type, path string) node {
	for _, outer := range g.inside {
		if outer == t {
			g.refuse(path, "%v holds itself, which a schema without references cannot say", t)
			return nil
		}
	}
	g.inside = append(g.inside, t)
	defer func() { g.inside = g.inside[:len(g.inside)-1] }()

	properties, required := node{}, []string{}
	g.collect(t, path, &properties, &required)
	out := node{{"type", "object"}, {"properties", properties}}
	if len(required) > 0 {
		out = append(out, pair{"required", required})
	}
	return append(out, pair{"additionalProperties", false})
}

// collect adds the fields of t, and those of structs embedded in it, in order.
func (g *generator) collect(t reflect.Type, path string, properties *node, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		if tag == "-" || !f.IsExported() && !f.Anonymous {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if f.Anonymous && name == "" {
			g.embedded(f, path, properties, required)
			continue
		}
		field := g.field(f, join(path, name), name, options)
		if properties.has(name) {
			g.refuse(field.path, "two fields have this name")
		}
		*properties = append(*properties, pair{name, g.property(field)})
		if g.isRequired(field) {
			*required = append(*required, name)
		}
	}
}

func (g *generator) embedded(f reflect.StructField, path string, properties *node, required *[]string) {
	if f.Type.Kind() != reflect.Struct {
		g.refuse(join(path, f.Name), "only a struct may be embedded, not %v", f.Type)
		return
	}
	g.collect(f.Type, path, properties, required)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// field is what the tags of one struct field say.
type field struct {
	path    string
	typ     reflect.Type
	pointer bool // the declared type is a pointer to typ
	omitted bool // left out of an answer when it is empty or zero
	doc     string
	needed  bool // announced as required, although the empty text is judged elsewhere
	rules   rules
}

func (g *generator) field(f reflect.StructField, path, name, options string) field {
	if name == "" {
		path = join(path, f.Name)
	}
	if !isWord(name) {
		g.refuse(path, "the JSON name %q must be a lower-case word of at most 40 letters, digits and underscores", name)
	}
	out := field{path: path, typ: f.Type, doc: f.Tag.Get("doc"), needed: f.Tag.Get("needed") == "true"}
	if f.Type.Kind() == reflect.Pointer {
		out.typ, out.pointer = f.Type.Elem(), true
	}
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "omitzero", "omitempty":
			out.omitted = true
		case "":
		default:
			g.refuse(path, "the json option %q is not supported", option)
		}
	}
	if out.doc == "" && !g.opts.Output {
		g.refuse(path, "a description is missing; add a doc tag")
	}
	parsed, err := parseRules(f.Tag.Get("validate"))
	if err != nil {
		g.refuse(path, "%v", err)
	}
	out.rules = parsed
	if !g.opts.Output {
		g.lint(out)
	}
	return out
}

func (g *generator) isRequired(f field) bool {
	if g.opts.Output {
		return !f.omitted
	}
	return f.rules.required || f.needed
}

// property describes a field with its description last, where a reader of a long
// listing looks for it.
func (g *generator) property(f field) node {
	out := g.value(f.typ, f.rules, f.path)
	if g.opts.Output && f.pointer && !f.omitted {
		out = node{{"anyOf", []node{out, {{"type", "null"}}}}}
	}
	if f.doc != "" {
		out = append(out, pair{"description", f.doc})
	}
	return out
}

func isWord(s string) bool {
	if s == "" || len(s) > 40 || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}
