package strict

import (
	"encoding"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/go-playground/validator/v10"
)

// Options configures a [Decoder]. The zero value is usable.
type Options struct {
	// Limits bounds every text; zero fields mean the defaults of [Limits].
	Limits Limits
	// Text judges the strings of fields tagged `validate:"hygienic"`. Its error
	// is shown to the caller, so its words must not repeat the string. Nil
	// refuses control characters other than line feed and tab, and nothing else.
	Text func(string) error
}

// Decoder decodes and validates. It is safe for concurrent use, and costs enough
// to build that one should be made at start and kept.
type Decoder struct {
	limits   Limits
	text     func(string) error
	validate *validator.Validate
	exact    json.Options // takes every value as its type writes it
	liberal  json.Options // also takes null for absence, and integers in strings
}

// New makes a decoder. It panics where a rule cannot be registered, which only a
// change of this package can cause.
func New(opts Options) *Decoder {
	d := &Decoder{limits: opts.Limits.withDefaults(), text: opts.Text}
	if d.text == nil {
		d.text = noControls
	}
	d.validate = newValidator(d.text)
	d.exact = json.JoinOptions(json.RejectUnknownMembers(true), json.WithUnmarshalers(json.JoinUnmarshalers(
		json.UnmarshalFromFunc(func(d *jsontext.Decoder, v *jsontext.Value) error { return intoObject(d, (*[]byte)(v)) }),
		json.UnmarshalFromFunc(func(d *jsontext.Decoder, v *stdjson.RawMessage) error { return intoObject(d, (*[]byte)(v)) }),
	)))
	d.liberal = json.JoinOptions(json.RejectUnknownMembers(true), json.WithUnmarshalers(json.UnmarshalFromFunc(intoField)))
	return d
}

// Decode reads the one JSON object in raw into the struct that into points to,
// and validates it by its `validate` tags.
//
// On top of what [Check] refuses: a key the struct does not list, or lists in
// another case; a value of another JSON type; an integer with a fraction, an
// exponent or too many digits; null as an element of an array or a map. Null as
// a member of an object is the same as leaving it out. An integer field takes
// "41" for 41 unless its type reads itself. A field of type jsontext.Value or
// json.RawMessage takes an object, and keeps its text; one of type [Discard]
// takes anything.
//
// The struct is cleared first. A fault of form is a [*Error], the first one met;
// faults of validation are [Errors], the first 32 of them. After an error the
// value of into is undefined.
func (d *Decoder) Decode(raw []byte, into any) error {
	if v := reflect.ValueOf(into); v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("strict: Decode needs a pointer to a struct, not %T", into)
	}
	nulls, fault := prescan(raw, d.limits)
	if fault != nil {
		return fault
	}
	if fault := mustBeObject(raw); fault != nil {
		return fault
	}
	if err := d.unmarshal(raw, into, nulls); err != nil {
		return d.decodeFault(raw, err)
	}
	if faults := d.faults(into, raw); len(faults) > 0 {
		return faults
	}
	return nil
}

// unmarshal takes the exact way first, and the liberal one, which asks us about
// every single value, where the text holds null or the exact way fails. Only a
// null may pass the exact way with another meaning, so both agree on what both
// accept.
func (d *Decoder) unmarshal(raw []byte, into any, nulls bool) error {
	v := reflect.ValueOf(into).Elem()
	v.SetZero()
	if !nulls {
		if err := json.Unmarshal(raw, into, d.exact); err == nil {
			return nil
		}
		v.SetZero()
	}
	return json.Unmarshal(raw, into, d.liberal)
}

// fieldFault carries a fault found here through the JSON library, which knows the
// place of it. It is a type of its own so that a type that reads itself, and
// happens to return our [*Error], is not mistaken for us.
type fieldFault struct {
	code    Code
	path    string // where the library would name the wrong place
	message string
}

func (f *fieldFault) Error() string { return f.message }

// intoField is asked for every value before the decoder's own way is taken. It
// handles what differs from that way and leaves the rest to it.
func intoField(d *jsontext.Decoder, into any) error {
	kind := d.PeekKind()
	if kind == 'n' {
		return intoNull(d, into)
	}
	switch v := into.(type) {
	case *string, *bool, *Discard:
		return errors.ErrUnsupported
	case *jsontext.Value:
		return intoObject(d, (*[]byte)(v))
	case *stdjson.RawMessage:
		return intoObject(d, (*[]byte)(v))
	}
	t := reflect.TypeOf(into).Elem()
	switch {
	case kind == '"' && isInteger(t.Kind()) && !readsItself(into):
		return intoInteger(d, reflect.ValueOf(into).Elem())
	case kind == '{' && t.Kind() == reflect.Map && t.Key().Kind() == reflect.String && !readsItself(into):
		return intoMap(d, reflect.ValueOf(into).Elem())
	}
	return errors.ErrUnsupported
}

// intoNull takes null for absence, which it can only be for a member.
func intoNull(d *jsontext.Decoder, into any) error {
	if parent, _ := d.StackIndex(d.StackDepth()); parent == '[' {
		return &fieldFault{code: WrongType, message: "Null is not an element of this array; leave the element out."}
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	reflect.ValueOf(into).Elem().SetZero()
	return nil
}

func intoObject(d *jsontext.Decoder, into *[]byte) error {
	if kind := d.PeekKind(); kind != '{' && kind != 0 {
		return &fieldFault{code: WrongType, message: "A JSON object was expected here, not " + kindName(kind) + "."}
	}
	v, err := d.ReadValue()
	if err != nil {
		return err
	}
	*into = append((*into)[:0], v...)
	return nil
}

// intoInteger takes the canonical spelling of an integer out of a string.
func intoInteger(d *jsontext.Decoder, into reflect.Value) error {
	tok, err := d.ReadToken()
	if err != nil {
		return err
	}
	s := tok.String()
	if !canonicalInteger(s) {
		return &fieldFault{code: WrongType, message: "An integer was expected here, not the string " + quote(s) + "; send a number without quotes."}
	}
	if into.CanInt() {
		n, err := strconv.ParseInt(s, 10, into.Type().Bits())
		if err != nil {
			return &fieldFault{code: NumberOutOfRange, message: outOfRange(s)}
		}
		into.SetInt(n)
		return nil
	}
	n, err := strconv.ParseUint(s, 10, into.Type().Bits())
	if err != nil {
		return &fieldFault{code: NumberOutOfRange, message: outOfRange(s)}
	}
	into.SetUint(n)
	return nil
}

// intoMap reads a map by hand, because null for one of its values would
// otherwise pass for the zero value.
func intoMap(d *jsontext.Decoder, into reflect.Value) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	t := into.Type()
	into.Set(reflect.MakeMap(t))
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		key := reflect.New(t.Key()).Elem()
		key.SetString(name.String())
		if d.PeekKind() == 'n' && t.Elem() != discardType {
			return &fieldFault{code: WrongType, path: string(d.StackPointer()), message: "Null is not a value of this object; leave the key out."}
		}
		value := reflect.New(t.Elem())
		if err := json.UnmarshalDecode(d, value.Interface()); err != nil {
			return err
		}
		into.SetMapIndex(key, value.Elem())
	}
	_, err := d.ReadToken()
	return err
}

var discardType = reflect.TypeFor[Discard]()

func isInteger(k reflect.Kind) bool {
	return reflect.Int <= k && k <= reflect.Int64 || reflect.Uint <= k && k <= reflect.Uint64
}

func readsItself(v any) bool {
	switch v.(type) {
	case json.Unmarshaler, json.UnmarshalerFrom, encoding.TextUnmarshaler:
		return true
	}
	return false
}
