package strict

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/go-playground/validator/v10"
)

// Tags of our own, beside those of the validator library:
//
//	word      a lower-case ASCII word: [a-z][a-z0-9_]*, at most 40 bytes
//	hygienic  text that Options.Text accepts
const (
	tagWord     = "word"
	tagHygienic = "hygienic"

	// MaxWord is the length in bytes of the longest word that the tag `word` takes.
	MaxWord = 40

	// maxFaults bounds how many faults are worded, since each costs a look at the
	// text and a caller decides how many there are.
	maxFaults = 32

	// embedded stands for an embedded struct in the validator's names, since JSON
	// has no level there. No JSON name holds this character.
	embedded = "\x00"
)

func newValidator(text func(string) error) *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(reportedName)
	register(v, tagWord, func(f validator.FieldLevel) bool { return IsWord(f.Field().String()) })
	register(v, tagHygienic, func(f validator.FieldLevel) bool { return text(f.Field().String()) == nil })
	return v
}

func register(v *validator.Validate, tag string, rule validator.Func) {
	if err := v.RegisterValidation(tag, onStrings(rule)); err != nil {
		panic("strict: " + err.Error())
	}
}

// onStrings refuses a field that is no string, rather than judging its Go name.
func onStrings(rule validator.Func) validator.Func {
	return func(f validator.FieldLevel) bool { return f.Field().Kind() == reflect.String && rule(f) }
}

func reportedName(f reflect.StructField) string {
	name := tagName(f)
	if name == "" && f.Anonymous {
		return embedded
	}
	return name
}

// IsWord reports whether s is what the tag `word` takes.
func IsWord(s string) bool {
	if s == "" || len(s) > MaxWord || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_') {
			return false
		}
	}
	return true
}

// noControls is the text rule of a decoder that was given none.
func noControls(s string) error {
	for _, r := range s {
		if r < ' ' && r != '\n' && r != '\t' || 0x7f <= r && r < 0xa0 {
			return fmt.Errorf("the control character %U is not allowed", r)
		}
	}
	return nil
}

// Validate judges a struct, or a pointer to one, by its `validate` tags and
// returns every fault as [Errors], or nil. A required field that holds its zero
// value is reported as missing_field, since nothing here says whether it was
// sent; [Decoder.Decode] knows, and says invalid_value where it was.
func (d *Decoder) Validate(v any) error {
	if faults := d.faults(v, nil); len(faults) > 0 {
		return faults
	}
	return nil
}

// faults validates v, which was decoded from raw where raw is not nil.
func (d *Decoder) faults(v any, raw []byte) Errors {
	err := d.validate.Struct(v)
	if err == nil {
		return nil
	}
	found, ok := errors.AsType[validator.ValidationErrors](err)
	if !ok {
		return Errors{{Code: InvalidValue, Offset: -1, Message: "This value cannot be validated.", Cause: err}}
	}
	t := reflect.TypeOf(v)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var out Errors
	for _, f := range found {
		out = append(out, d.ruleFaults(f, pointerOf(t, f.Namespace()), raw)...)
		if len(out) >= maxFaults {
			break
		}
	}
	return out
}

// ruleFaults words one failure of the validator.
func (d *Decoder) ruleFaults(f validator.FieldError, path string, raw []byte) Errors {
	at, sent := locate(raw, path)
	if f.Tag() != "required" {
		return Errors{d.brokenRule(f, path, at)}
	}
	if !sent {
		return Errors{fault(MissingField, path, at, subject(path)+" is missing; send it.")}
	}
	if value := reflect.ValueOf(f.Value()); value.Kind() == reflect.Struct {
		return d.emptyStruct(value, path, raw)
	}
	return Errors{fault(InvalidValue, path, at, subject(path)+" must not be empty or zero.")}
}

// emptyStruct looks into an object that was sent with nothing in it. It is there,
// so what may be wrong is what it lacks.
func (d *Decoder) emptyStruct(value reflect.Value, path string, raw []byte) Errors {
	err := d.validate.Struct(value.Interface())
	found, _ := errors.AsType[validator.ValidationErrors](err)
	var out Errors
	for _, f := range found {
		out = append(out, d.ruleFaults(f, path+pointerOf(value.Type(), f.Namespace()), raw)...)
	}
	return out
}

func (d *Decoder) brokenRule(f validator.FieldError, path string, at int) *Error {
	e := fault(InvalidValue, path, at, subject(path)+" "+ruleWords(f)+".")
	if f.Tag() != tagHygienic {
		return e
	}
	if s, ok := asString(f.Value()); ok {
		if cause := d.text(s); cause != nil {
			e.Cause = cause
			e.Message = subject(path) + ": " + strings.TrimSuffix(clean(clip(cause.Error(), maxCause)), ".") + "."
		}
	}
	return e
}

func asString(v any) (string, bool) {
	value := reflect.Indirect(reflect.ValueOf(v))
	if value.Kind() != reflect.String {
		return "", false
	}
	return value.String(), true
}

// ruleWords says what a tag demands. Tags not named here are rare enough for a
// general sentence.
func ruleWords(f validator.FieldError) string {
	p := f.Param()
	switch f.Tag() {
	case "min", "gte":
		return "must be at least " + p + unit(f)
	case "max", "lte":
		return "must be at most " + p + unit(f)
	case "len":
		return "must have exactly " + p + unit(f)
	case "gt":
		return "must be more than " + p + unit(f)
	case "lt":
		return "must be less than " + p + unit(f)
	case "oneof":
		return "must be one of " + strings.Join(strings.Fields(p), ", ") + ", in exactly this case"
	case tagWord:
		return "must be a lower-case word of letters, digits and underscores, at most 40, beginning with a letter"
	case tagHygienic:
		return "holds characters that are not allowed"
	case "unique":
		return "must not hold the same element twice"
	case "uuid", "uuid4", "uuid7":
		return "must be a UUID"
	default:
		return "is not valid (" + f.Tag() + ")"
	}
}

func unit(f validator.FieldError) string {
	t := f.Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		return " characters"
	case reflect.Slice, reflect.Array, reflect.Map:
		return " elements"
	}
	return ""
}

// subject names the place a sentence is about: "The field title", or "Element 2
// of labels".
func subject(path string) string {
	p := jsontext.Pointer(path)
	name := func(p jsontext.Pointer) string { return clean(clip(p.LastToken(), maxQuote)) }
	if i := name(p); integerLiteral(i) && p.Parent() != "" {
		return "Element " + i + " of " + name(p.Parent())
	}
	return "The field " + name(p)
}

// pointerOf turns the validator's name of a field ("In.action.labels[2]") into a
// JSON Pointer. The name begins with the name of the struct's type, which may
// itself hold dots where the type is generic.
func pointerOf(t reflect.Type, namespace string) string {
	rest := strings.TrimPrefix(strings.TrimPrefix(namespace, t.Name()), ".")
	var p jsontext.Pointer
	for rest != "" {
		var token string
		if token, rest = nextToken(rest); token != embedded {
			p = p.AppendToken(token)
		}
	}
	return string(p)
}

// nextToken cuts a field name, or an index or key in brackets, off the front.
func nextToken(s string) (token, rest string) {
	if s[0] == '[' {
		if i := closingBracket(s); i > 0 {
			return s[1:i], strings.TrimPrefix(s[i+1:], ".")
		}
	}
	if i := strings.IndexAny(s[1:], ".["); i >= 0 {
		return s[:i+1], strings.TrimPrefix(s[i+1:], ".")
	}
	return s, ""
}

// closingBracket finds the bracket that ends an index: the first one with
// nothing, a dot or another bracket behind it.
func closingBracket(s string) int {
	for i := 1; i < len(s); i++ {
		if s[i] == ']' && (i+1 == len(s) || s[i+1] == '.' || s[i+1] == '[') {
			return i
		}
	}
	return -1
}

// locate finds the value at path in raw: its offset, and whether it was sent and
// is not null. Where it is absent the offset is that of the nearest object around
// it.
func locate(raw []byte, path string) (offset int, sent bool) {
	if raw == nil {
		return -1, false
	}
	value, offset := raw, 0
	for token := range jsontext.Pointer(path).Tokens() {
		next, ok := child(value, token)
		if !ok {
			return offset, false
		}
		value, offset = next.Value, offset+next.Offset
	}
	return offset, string(value) != "null"
}
