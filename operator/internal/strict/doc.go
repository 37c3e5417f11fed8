// Package strict reads JSON at the edge, where the text comes from somebody
// else. It accepts one reading of a text or none: what two parsers could
// understand differently is refused, with a code, a place and a sentence that
// says what to change.
//
// There are four steps, and each may be used alone:
//
//   - [Members] cuts an object into its top-level members without looking
//     inside them, so that the id of a request is still found when its
//     arguments are rotten.
//   - [Check] judges a whole text: one value, valid UTF-8, no repeated key at
//     any depth, no lone surrogate, no NUL, no more than a given depth and size.
//   - [Decoder.Decode] checks, decodes into a struct that lists every key it
//     takes, and validates the result by the struct's own tags.
//   - [Canonical] gives the bytes that a digest of the text is made over, and
//     gives some for every input, valid or not.
//
// Names of keys are compared as they decode: "a" and "\u0061" are one key.
// They are exact in case: "Status" is not "status". Nothing is folded, trimmed,
// rounded or guessed, with one exception: an integer field also takes a string
// that holds the integer in its only canonical spelling ("41", "-3"). A type
// that reads itself (UnmarshalJSON, UnmarshalJSONFrom, UnmarshalText) does not
// get that exception, which is how amounts of money stay strict.
//
// The rules follow RFC 8259 (JSON), RFC 7493 (I-JSON), RFC 6901 (JSON Pointer)
// and RFC 8785 (canonical form).
package strict
