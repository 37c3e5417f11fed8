package strict

import (
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Code says what is wrong with a text. The list is closed: a caller may switch
// over it and needs no other reading of an error.
type Code string

// The codes, in the order in which a text with several faults is judged.
const (
	TooLarge         Code = "too_large"           // more bytes than the limit
	InvalidUTF8      Code = "invalid_utf8"        // a byte sequence that is not UTF-8
	TooDeep          Code = "too_deep"            // more nested arrays and objects than the limit
	NULCharacter     Code = "nul_character"       // U+0000, raw or escaped, in a string or key
	LoneSurrogate    Code = "lone_surrogate"      // an escaped half of a UTF-16 pair without the other half
	NotJSON          Code = "not_json"            // not the grammar of RFC 8259
	TrailingData     Code = "trailing_data"       // something after the first value
	NotObject        Code = "not_object"          // a JSON value, but not an object
	RepeatedKey      Code = "repeated_key"        // one key twice in one object
	UnknownKey       Code = "unknown_key"         // a key that the receiving type does not list
	WrongType        Code = "wrong_type"          // another JSON type than the one asked for
	NotAnInteger     Code = "not_an_integer"      // a number with a fraction or exponent, for an integer
	NumberOutOfRange Code = "number_out_of_range" // a number that the field, or a double, cannot hold
	MissingField     Code = "missing_field"       // a required key is absent or null
	InvalidValue     Code = "invalid_value"       // the right type, but a value outside its rules
)

// Codes returns every code, in the order in which they are judged.
func Codes() []Code {
	return []Code{TooLarge, InvalidUTF8, TooDeep, NULCharacter, LoneSurrogate, NotJSON, TrailingData, NotObject,
		RepeatedKey, UnknownKey, WrongType, NotAnInteger, NumberOutOfRange, MissingField, InvalidValue}
}

// Error is one fault of one text.
type Error struct {
	// Code is the kind of fault.
	Code Code
	// Path is the place as a JSON Pointer (RFC 6901), like /action/title; empty
	// for the whole text. It is safe to show: characters of a key that do not
	// print are replaced by U+FFFD, and a path longer than 256 bytes is cut and
	// then ends in "…".
	Path string
	// Message is one plain sentence that says what to change. It holds at most
	// 64 bytes of the caller's text, and no control character.
	Message string
	// Offset is the place in bytes from the start of the text, or -1 where there
	// is none.
	Offset int
	// Cause is the error of a type that reads itself, or of the text rules. It
	// is reached by errors.As and errors.Is.
	Cause error
}

// Error returns the path and the message in one line.
func (e *Error) Error() string {
	if e.Path == "" {
		return string(e.Code) + ": " + e.Message
	}
	return string(e.Code) + " at " + e.Path + ": " + e.Message
}

// Unwrap returns the cause, if any.
func (e *Error) Unwrap() error { return e.Cause }

// Errors is every fault that validation found, in the order of the fields.
type Errors []*Error

// Error returns the faults in one line, at most eight of them.
func (es Errors) Error() string {
	const show = 8
	parts := make([]string, 0, show+1)
	for i, e := range es {
		if i == show {
			parts = append(parts, "and "+strconv.Itoa(len(es)-show)+" more")
			break
		}
		parts = append(parts, e.Error())
	}
	return strings.Join(parts, "; ")
}

// Unwrap returns the faults for errors.Is and errors.As.
func (es Errors) Unwrap() []error {
	out := make([]error, len(es))
	for i, e := range es {
		out[i] = e
	}
	return out
}

// All returns every fault in err as one list, whichever way err was built, and
// nil when there is none.
func All(err error) Errors {
	if many, ok := errors.AsType[Errors](err); ok {
		return many
	}
	if one, ok := errors.AsType[*Error](err); ok {
		return Errors{one}
	}
	return nil
}

func fault(code Code, path string, offset int, message string) *Error {
	return &Error{Code: code, Path: cleanPath(path), Offset: offset, Message: message}
}

const (
	maxPath  = 256 // bytes of a path that is shown
	maxQuote = 40  // bytes of the caller's text that a message quotes
	maxCause = 200 // bytes of the words of a text rule that a message repeats
)

// quote shows some of the caller's text. What does not print comes out as an
// escape, so that neither a terminal nor a page is steered by it.
func quote(s string) string {
	if cut := clip(s, maxQuote); len(cut) < len(s) {
		return strconv.QuoteToGraphic(cut + "…")
	}
	return strconv.QuoteToGraphic(s)
}

// clip cuts s to at most n bytes, between two characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// clean replaces what does not print.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return utf8.RuneError
	}, s)
}

func cleanPath(p string) string {
	short := clip(p, maxPath)
	out := clean(short)
	if len(short) < len(p) {
		out += "…"
	}
	return out
}
