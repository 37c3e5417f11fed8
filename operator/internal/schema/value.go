package schema

import (
	"encoding"
	stdjson "encoding/json"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var (
	schemerType = reflect.TypeFor[Schemer]()
	timeType    = reflect.TypeFor[time.Time]()
	openObjects = []reflect.Type{reflect.TypeFor[jsontext.Value](), reflect.TypeFor[stdjson.RawMessage]()}
)

// value describes a value of type t under rules r.
func (g *generator) value(t reflect.Type, r rules, path string) node {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if described, ok := g.described(t); ok {
		return fromMap(described)
	}
	switch {
	case t == timeType:
		return node{{"type", "string"}, {"format", "date-time"}}
	case slices.Contains(openObjects, t):
		return node{{"type", "object"}, {"additionalProperties", true}}
	case readsItself(t):
		g.refuse(path, "%v reads itself from JSON; give it a JSONSchema method, or describe it in Options.Types", t)
		return nil
	}
	return g.kind(t, r, path)
}

func (g *generator) kind(t reflect.Type, r rules, path string) node {
	switch k := t.Kind(); k {
	case reflect.String:
		return r.ofString()
	case reflect.Bool:
		return node{{"type", "boolean"}}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return r.ofNumber("integer", false)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return r.ofNumber("integer", true)
	case reflect.Float32, reflect.Float64:
		return r.ofNumber("number", false)
	case reflect.Struct:
		return g.object(t, path)
	case reflect.Slice:
		return g.array(t, r, path)
	case reflect.Map:
		return g.dictionary(t, r, path)
	default:
		g.refuse(path, "a value of type %v has no schema; use a struct, or a type that describes itself", t)
		return nil
	}
}

func (g *generator) array(t reflect.Type, r rules, path string) node {
	if t.Elem().Kind() == reflect.Uint8 {
		g.refuse(path, "bytes have no schema; use a string")
		return nil
	}
	out := node{{"type", "array"}, {"items", g.value(t.Elem(), r.inner(), path+"[]")}}
	out = r.sizes(out, "minItems", "maxItems")
	if r.unique {
		out = append(out, pair{"uniqueItems", true})
	}
	return out
}

func (g *generator) dictionary(t reflect.Type, r rules, path string) node {
	if t.Key().Kind() != reflect.String {
		g.refuse(path, "the keys of a map must be strings, not %v", t.Key())
		return nil
	}
	out := node{{"type", "object"}, {"additionalProperties", g.value(t.Elem(), r.inner(), path+".*")}}
	return r.sizes(out, "minProperties", "maxProperties")
}

// described returns the schema that a type gives of itself, or was given.
func (g *generator) described(t reflect.Type) (map[string]any, bool) {
	if m, ok := g.opts.Types[t]; ok {
		return m, true
	}
	if t.Kind() == reflect.Interface || !reflect.PointerTo(t).Implements(schemerType) {
		return nil, false
	}
	return reflect.New(t).Interface().(Schemer).JSONSchema(), true
}

func readsItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[json.UnmarshalerFrom]()) ||
		p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// fromMap orders the keys of a schema that somebody wrote as a map: the type
// first, as everywhere else, then the rest by name.
func fromMap(m map[string]any) node {
	out := node{}
	if t, ok := m["type"]; ok {
		out = append(out, pair{"type", t})
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if k != "type" {
			out = append(out, pair{k, m[k]})
		}
	}
	return out
}

// node is a JSON object that keeps the order of its members.
type node []pair

type pair struct {
	key   string
	value any
}

func (n node) has(key string) bool {
	return slices.ContainsFunc(n, func(p pair) bool { return p.key == key })
}

func (n node) append(dst []byte) ([]byte, error) {
	dst = append(dst, '{')
	for i, p := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = jsontext.AppendQuote(dst, p.key); err != nil {
			return nil, err
		}
		if dst, err = appendValue(append(dst, ':'), p.value); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func appendValue(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case node:
		return v.append(dst)
	case []node:
		dst = append(dst, '[')
		for i, n := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = n.append(dst); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	}
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return append(dst, b...), nil
}
