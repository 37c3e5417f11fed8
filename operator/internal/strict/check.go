package strict

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// Check reports whether raw is exactly one JSON value that every parser reads
// alike: valid UTF-8, no repeated key at any depth, no lone surrogate, no NUL in
// a string or key, within limits, with nothing but white space around it.
//
// The fault is a [*Error] with one of the codes too_large, invalid_utf8,
// too_deep, nul_character, lone_surrogate, not_json, trailing_data and
// repeated_key. Size and depth are judged before anything that recurses.
func Check(raw []byte, limits Limits) error {
	if _, err := prescan(raw, limits); err != nil {
		return err
	}
	if jsontext.Value(raw).IsValid() {
		return nil
	}
	if err := explain(raw); err != nil {
		return err
	}
	return fault(NotJSON, "", 0, "The text is not JSON as RFC 8259 has it.")
}

// explain finds out why raw is not one valid value. It returns nil when it is.
func explain(raw []byte) *Error {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	if _, err := d.ReadValue(); err != nil {
		return syntaxFault(raw, err)
	}
	at := int(d.InputOffset())
	if rest := bytes.TrimLeft(raw[at:], " \t\r\n"); len(rest) > 0 {
		return fault(TrailingData, "", len(raw)-len(rest), "There is something after the JSON value; send exactly one value.")
	}
	return nil
}

// syntaxFault words an error of the parser. Which kind it is comes from the
// error's type and from the text itself, never from the parser's words.
func syntaxFault(raw []byte, err error) *Error {
	syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return fault(NotJSON, "", len(raw), unfinished(raw))
	}
	path, at := string(syntax.JSONPointer), int(syntax.ByteOffset)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		name := syntax.JSONPointer.LastToken()
		return fault(RepeatedKey, path, at, "The key "+quote(name)+" stands more than once in its object; send it once.")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fault(NotJSON, path, at, unfinished(raw))
	default:
		return fault(NotJSON, path, at, "The text is not JSON at this place; write it as RFC 8259 has it.")
	}
}

func unfinished(raw []byte) string {
	if len(bytes.TrimLeft(raw, " \t\r\n")) == 0 {
		return "The text is empty; send one JSON value."
	}
	return "The text ends in the middle of a JSON value; send the whole value."
}
