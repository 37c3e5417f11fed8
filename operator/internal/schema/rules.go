package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// rules is what a `validate` tag says, as far as a schema can say it.
type rules struct {
	required  bool
	omitempty bool
	unique    bool
	word      bool
	format    string
	min, max  *bound
	oneof     []string
	any       bool   // there is any rule beside required and omitempty
	dive      *rules // what follows dive
}

// bound is a limit. Exclusive ones are kept as such because they may stand for a
// number that is not an integer.
type bound struct {
	text      string
	value     float64
	exclusive bool
}

// silent are the tags that a schema has no words for: they compare fields, or
// look at the text itself. Anything else unknown is an error, so that no rule is
// announced by accident of being overlooked.
func silent(tag string) bool {
	switch tag {
	case "hygienic", "structonly", "nostructlevel",
		"required_if", "required_unless", "required_with", "required_with_all", "required_without", "required_without_all",
		"excluded_if", "excluded_unless", "excluded_with", "excluded_with_all", "excluded_without", "excluded_without_all",
		"eqfield", "nefield", "gtfield", "gtefield", "ltfield", "ltefield":
		return true
	}
	return false
}

func parseRules(tag string) (rules, error) {
	var r rules
	if tag == "" || tag == "-" {
		return r, nil
	}
	parts := strings.Split(tag, ",")
	for i, part := range parts {
		name, param, _ := strings.Cut(part, "=")
		if name == "dive" {
			rest, err := parseRules(strings.Join(withoutKeys(parts[i+1:]), ","))
			r.dive = &rest
			return r, err
		}
		if err := r.add(name, param); err != nil {
			return r, err
		}
	}
	return r, nil
}

// withoutKeys drops the rules for the keys of a map, which stand between keys and
// endkeys.
func withoutKeys(parts []string) []string {
	if len(parts) == 0 || parts[0] != "keys" {
		return parts
	}
	for i, p := range parts {
		if p == "endkeys" {
			return parts[i+1:]
		}
	}
	return nil
}

func (r *rules) add(name, param string) (err error) {
	switch name {
	case "required":
		r.required = true
		return nil
	case "omitempty", "omitnil", "omitzero":
		r.omitempty = true
		return nil
	}
	r.any = true
	switch name {
	case "min", "gte":
		r.min, err = newBound(name, param, false)
	case "max", "lte":
		r.max, err = newBound(name, param, false)
	case "gt":
		r.min, err = newBound(name, param, true)
	case "lt":
		r.max, err = newBound(name, param, true)
	case "len":
		if r.min, err = newBound(name, param, false); err == nil {
			r.max = r.min
		}
	case "oneof":
		r.oneof, err = words(param)
	case "word":
		r.word = true
	case "unique":
		r.unique = true
	case "uuid", "uuid4", "uuid7":
		r.format = "uuid"
	case "email":
		r.format = "email"
	case "url":
		r.format = "uri"
	default:
		if !silent(name) {
			err = fmt.Errorf("the rule %q of the validate tag has no counterpart in a schema; use another, or teach this package", name)
		}
	}
	return err
}

func newBound(name, param string, exclusive bool) (*bound, error) {
	v, err := strconv.ParseFloat(param, 64)
	if err != nil || !isNumber(param) {
		return nil, fmt.Errorf("the rule %s=%q needs a number", name, param)
	}
	return &bound{text: param, value: v, exclusive: exclusive}, nil
}

// isNumber reports whether s is a number of JSON, which is less than what strconv
// takes.
func isNumber(s string) bool {
	return s != "" && jsontext.Value(s).Kind() == '0' && jsontext.Value(s).IsValid()
}

// words splits the values of oneof, which may stand in single quotes.
func words(param string) ([]string, error) {
	var out []string
	for rest := strings.TrimSpace(param); rest != ""; rest = strings.TrimSpace(rest) {
		var word string
		if quoted, ok := strings.CutPrefix(rest, "'"); ok {
			if word, rest, ok = strings.Cut(quoted, "'"); !ok {
				return nil, fmt.Errorf("the rule oneof=%s has a quote without an end", param)
			}
		} else {
			word, rest, _ = strings.Cut(rest, " ")
		}
		out = append(out, word)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("the rule oneof needs values")
	}
	return out, nil
}

func (r rules) inner() rules {
	if r.dive == nil {
		return rules{}
	}
	return *r.dive
}

func (r rules) ofString() node {
	out := node{{"type", "string"}}
	if r.oneof != nil {
		return append(out, pair{"enum", r.oneof})
	}
	if r.required && (r.min == nil || r.min.whole(true) < 1) {
		r.min = &bound{text: "1", value: 1}
	}
	if r.word {
		out = append(out, pair{"pattern", "^[a-z][a-z0-9_]*$"})
		if r.max == nil || r.max.whole(false) > 40 {
			r.max = &bound{text: "40", value: 40}
		}
	}
	if r.format != "" {
		out = append(out, pair{"format", r.format})
	}
	return r.sizes(out, "minLength", "maxLength")
}

func (r rules) ofNumber(name string, unsigned bool) node {
	out := node{{"type", name}}
	if r.oneof != nil {
		return append(out, pair{"enum", numbers(r.oneof)})
	}
	if unsigned && r.min == nil {
		r.min = &bound{text: "0"}
	}
	out = r.min.appendLimit(out, "minimum", "exclusiveMinimum")
	return r.max.appendLimit(out, "maximum", "exclusiveMaximum")
}

// sizes adds limits that count something: characters, elements, members.
func (r rules) sizes(out node, least, most string) node {
	if r.min != nil && r.min.whole(true) > 0 {
		out = append(out, pair{least, r.min.whole(true)})
	}
	if r.max != nil {
		out = append(out, pair{most, r.max.whole(false)})
	}
	return out
}

// whole is the nearest count that an exclusive limit still allows.
func (b *bound) whole(lower bool) int64 {
	n := int64(b.value)
	switch {
	case b.exclusive && lower:
		return n + 1
	case b.exclusive:
		return n - 1
	}
	return n
}

func (b *bound) appendLimit(out node, inclusive, exclusive string) node {
	if b == nil {
		return out
	}
	key := inclusive
	if b.exclusive {
		key = exclusive
	}
	return append(out, pair{key, numberLiteral(b.text)})
}

func numbers(words []string) []numberLiteral {
	out := make([]numberLiteral, len(words))
	for i, w := range words {
		out[i] = numberLiteral(w)
	}
	return out
}

// numberLiteral is written as it stands, so that a limit of 9007199254740991
// never passes through a double.
type numberLiteral string

// MarshalJSON writes the literal.
func (n numberLiteral) MarshalJSON() ([]byte, error) { return []byte(n), nil }

// lint refuses tags under which the validator would judge differently from what
// the schema says.
func (g *generator) lint(f field) {
	k, r := f.typ.Kind(), f.rules
	g.lintValue(f)
	if r.dive != nil && (k == reflect.Slice || k == reflect.Map) {
		g.lintValue(field{path: f.path + "[]", typ: f.typ.Elem(), rules: *r.dive})
	}
	switch {
	case r.required && f.pointer && r.omitempty:
		g.refuse(f.path, "required and omitempty contradict each other")
	case r.dive == nil && holdsStructs(f.typ):
		g.refuse(f.path, "the rules of its elements are applied only with dive")
	case !r.required && f.pointer && r.any && !r.omitempty:
		g.refuse(f.path, "an optional pointer with rules needs omitempty, or leaving it out is refused")
	case !r.required && !f.pointer && !r.omitempty && r.refusesZero(k):
		g.refuse(f.path, "its rules refuse the empty value, so leaving it out is refused; add omitempty or required")
	}
}

// lintValue is the part of lint that holds for a field and for an element alike.
func (g *generator) lintValue(f field) {
	k, r := f.typ.Kind(), f.rules
	number := reflect.Int <= k && k <= reflect.Float64 && k != reflect.Uintptr
	switch {
	case r.required && !f.pointer && k == reflect.Bool:
		g.refuse(f.path, "a required bool refuses false; use a pointer")
	case r.required && !f.pointer && number && !r.excludesZero():
		g.refuse(f.path, "a required number refuses 0; use a pointer, or limits that leave 0 out")
	case number && slices.ContainsFunc(r.oneof, func(s string) bool { return !isNumber(s) }):
		g.refuse(f.path, "the values of oneof must be numbers")
	}
}

// holdsStructs reports whether t is a list or map of plain structs, whose own
// tags the validator reads only when told to.
func holdsStructs(t reflect.Type) bool {
	if t.Kind() != reflect.Slice && t.Kind() != reflect.Map {
		return false
	}
	e := t.Elem()
	if e.Kind() == reflect.Pointer {
		e = e.Elem()
	}
	return e.Kind() == reflect.Struct && e != timeType && !reflect.PointerTo(e).Implements(schemerType) && !readsItself(e)
}

// excludesZero reports whether the limits leave 0 out.
func (r rules) excludesZero() bool {
	above := r.min != nil && (r.min.value > 0 || r.min.value == 0 && r.min.exclusive)
	below := r.max != nil && (r.max.value < 0 || r.max.value == 0 && r.max.exclusive)
	return above || below || r.oneof != nil && !slices.Contains(r.oneof, "0")
}

// refusesZero reports whether the zero value of a kind breaks the rules.
func (r rules) refusesZero(k reflect.Kind) bool {
	switch k {
	case reflect.Struct, reflect.Bool:
		return false
	}
	return r.excludesZero() || r.word || r.format != ""
}
