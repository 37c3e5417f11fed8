package strict

import (
	"encoding"
	"errors"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// decodeFault turns an error of the JSON library into one of ours. The library
// says where and in what type; the code comes from sentinels, kinds and the
// literal itself.
func (d *Decoder) decodeFault(raw []byte, err error) *Error {
	semantic, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return d.formFault(raw, err)
	}
	path, at := string(semantic.JSONPointer), int(semantic.ByteOffset)
	if ours, ok := errors.AsType[*fieldFault](semantic.Err); ok {
		if ours.path != "" {
			path = ours.path
		}
		return fault(ours.code, path, at, ours.message)
	}
	if errors.Is(semantic.Err, json.ErrUnknownName) {
		return fault(UnknownKey, path, at, unknownKey(semantic.JSONPointer.LastToken(), semantic.GoType))
	}
	value := valueAt(raw, at)
	if semantic.Err != nil && readsItselfType(semantic.GoType) && !textOf(semantic.GoType, value.Kind()) {
		e := fault(InvalidValue, path, at, selfMessage(semantic))
		e.Cause = semantic.Err
		return e
	}
	return typeFault(semantic, value, path, at)
}

// formFault is for a text that is not one valid value after all.
func (d *Decoder) formFault(raw []byte, err error) *Error {
	if found := explain(raw); found != nil {
		return found
	}
	return syntaxFault(raw, err)
}

// valueAt reads the value that begins at offset; empty where none does.
func valueAt(raw []byte, offset int) jsontext.Value {
	if offset < 0 || offset >= len(raw) {
		return nil
	}
	s := splitter{raw: raw, at: offset}
	s.space()
	from := s.at
	if err := s.value(); err != nil {
		return nil
	}
	return s.raw[from:s.at]
}

func typeFault(semantic *json.SemanticError, value jsontext.Value, path string, at int) *Error {
	kind := value.Kind()
	wanted := reflect.Invalid
	if semantic.GoType != nil {
		wanted = semantic.GoType.Kind()
	}
	switch {
	case kind == '0' && isInteger(wanted) && !integerLiteral(string(value)):
		return fault(NotAnInteger, path, at, "An integer was expected here, not "+quote(string(value))+"; send digits without a fraction or an exponent.")
	case kind == '0' && (isInteger(wanted) || wanted == reflect.Float32 || wanted == reflect.Float64):
		return fault(NumberOutOfRange, path, at, outOfRange(string(value)))
	case semantic.Err != nil && kind == '"':
		e := fault(InvalidValue, path, at, "This string is not a valid "+typeName(semantic.GoType)+".")
		e.Cause = semantic.Err
		return e
	default:
		return fault(WrongType, path, at, "A value of type "+typeName(semantic.GoType)+" was expected here, not "+kindName(kind)+".")
	}
}

func outOfRange(lit string) string {
	return "The number " + quote(lit) + " does not fit this field; send one that does."
}

// selfMessage repeats the words of a type that reads itself only when they are
// short: they may hold the caller's text.
func selfMessage(semantic *json.SemanticError) string {
	if words := clean(semantic.Err.Error()); len(words) <= 64 {
		return "This value is not acceptable: " + strings.TrimSuffix(words, ".") + "."
	}
	return "This value is not a valid " + typeName(semantic.GoType) + "."
}

// textOf reports whether a type that reads itself from text alone was given
// something else, which it then was never asked about.
func textOf(t reflect.Type, kind jsontext.Kind) bool {
	p := reflect.PointerTo(deref(t))
	return kind != '"' && p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) &&
		!p.Implements(reflect.TypeFor[json.Unmarshaler]()) && !p.Implements(reflect.TypeFor[json.UnmarshalerFrom]())
}

func readsItselfType(t reflect.Type) bool {
	if t == nil {
		return false
	}
	p := reflect.PointerTo(deref(t))
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[json.UnmarshalerFrom]()) ||
		p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// kindName names a JSON type as a person would.
func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "an array"
	}
	return "this"
}

// typeName names what a Go type takes, in words of JSON.
func typeName(t reflect.Type) string {
	if t == nil {
		return "value"
	}
	t = deref(t)
	switch k := t.Kind(); {
	case t.PkgPath() == "time" && t.Name() == "Time":
		return "time (RFC 3339)"
	case isInteger(k):
		return "integer"
	case k == reflect.Float32 || k == reflect.Float64:
		return "number"
	case k == reflect.String:
		return "string"
	case k == reflect.Bool:
		return "boolean"
	case readsItselfType(t):
		return "value"
	case k == reflect.Struct || k == reflect.Map:
		return "object"
	case k == reflect.Slice || k == reflect.Array:
		return "array"
	}
	return "value"
}

// unknownKey says which keys there are, or which one was probably meant.
func unknownKey(name string, t reflect.Type) string {
	known := jsonNames(t)
	for _, k := range known {
		if strings.EqualFold(k, name) {
			return "The key " + quote(name) + " is not known here; write " + k + ", in exactly this case."
		}
	}
	const few = 16
	if len(known) == 0 || len(known) > few {
		return "The key " + quote(name) + " is not known here; leave it out."
	}
	return "The key " + quote(name) + " is not known here; the keys are " + strings.Join(known, ", ") + "."
}

// jsonNames lists the keys of a struct, with those of embedded structs.
func jsonNames(t reflect.Type) []string {
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	var names []string
	for f := range fields(t) {
		switch name := tagName(f); {
		case name == "-":
		case name == "" && f.Anonymous:
			names = append(names, jsonNames(deref(f.Type))...)
		case name == "":
			names = append(names, f.Name)
		default:
			names = append(names, name)
		}
	}
	return names
}

// fields are those that JSON may see. An embedded struct counts even where its
// own name is not exported, for the fields inside it.
func fields(t reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if f := t.Field(i); (f.IsExported() || f.Anonymous) && !yield(f) {
				return
			}
		}
	}
}

func deref(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// tagName returns the name in a field's json tag, "-" for a field that JSON does
// not have, and nothing where the tag gives no name.
func tagName(f reflect.StructField) string {
	tag := f.Tag.Get("json")
	if tag == "-" {
		return "-"
	}
	name, _, _ := strings.Cut(tag, ",")
	return name
}
