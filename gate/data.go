package gate

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// checkData judges the one open object of an action. It must be a JSON object
// within the limits, name no key twice, and hold no number that RFC 8785 would
// print back with another value.
func checkData(data jsontext.Value) *FieldError {
	if len(data) > MaxData {
		return fieldError("data", CodeTextTooLong, "data is limited to %d bytes", MaxData)
	}
	if data.Kind() != '{' {
		return fieldError("data", CodeWrongType, "data must be a JSON object")
	}
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	for {
		// ReadToken before the depth check would be too late only at depths of
		// thousands, and the size limit keeps those cheap.
		token, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return dataSyntax(err)
		}
		if dec.StackDepth() == 0 && dec.InputOffset() < int64(len(trimRight(data))) {
			return fieldError("data", CodeMalformed, "data must be one JSON object and nothing behind it")
		}
		if dec.StackDepth() > MaxDataDepth {
			return fieldError("data", CodeTooDeep, "data may nest %d levels deep", MaxDataDepth)
		}
		switch token.Kind() {
		case '0':
			if literal := token.String(); !exactNumber(literal) {
				return fieldError("data", CodeNumberInexact,
					"the number that ends at byte %d is not held exactly by a double; write it as a string", dec.InputOffset())
			}
		case '"':
			if ferr := dataText(token.String(), isKey(dec)); ferr != nil {
				return fieldError("data", CodeTextUnhygienic, "the text that ends at byte %d of data: %s", dec.InputOffset(), ferr.Message)
			}
		}
	}
}

// isKey reports whether the string just read names a member: after one, an
// object has been told an odd number of keys and values.
func isKey(dec *jsontext.Decoder) bool {
	kind, length := dec.StackIndex(dec.StackDepth())
	return kind == '{' && length%2 == 1
}

// dataText holds a key to the hygiene of a line, so that no two keys look alike
// for a hidden character, and a value to that of running text.
func dataText(s string, key bool) *FieldError {
	if plainASCII(s) {
		return nil
	}
	if key {
		return unhygienic(s, Line)
	}
	return unhygienic(s, Block)
}

func trimRight(b []byte) []byte {
	for len(b) > 0 && isJSONSpace(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

// dataSyntax tells a repeated key from other faults.
func dataSyntax(err error) *FieldError {
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return fieldError("data", CodeDuplicateKey, "an object in data names a key twice")
	}
	offset := int64(0)
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		offset = syntactic.ByteOffset
	}
	return fieldError("data", CodeMalformed, "data is not valid JSON at byte %d", offset)
}

// exactNumber reports whether the literal and the text that RFC 8785 prints for
// it name the same decimal value. So 1.50, 1e2 and 0.1 pass (0.1 is what a
// double near it prints); 9007199254740993, 1e400 and a 30-digit fraction do not.
func exactNumber(literal string) bool {
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return false
	}
	wantDigits, wantExp, ok := decimal(literal)
	if !ok {
		return false
	}
	// The shortest text that reads back as f is what RFC 8785 prints, but for
	// its layout.
	gotDigits, gotExp, _ := decimal(strconv.FormatFloat(f, 'e', -1, 64))
	return wantDigits == gotDigits && wantExp == gotExp
}

// decimal reduces a number literal to its significant digits d and the power e
// of ten, so that its size is 0.d × 10^e. Zero has no digits and power 0. The
// sign is left out: a double keeps it, or it is the sign of zero.
func decimal(literal string) (digits string, power int64, ok bool) {
	mantissa, exponent, hasExp := strings.Cut(strings.ToLower(strings.TrimPrefix(literal, "-")), "e")
	shift, ok := parseExponent(exponent, hasExp)
	if !ok {
		return "", 0, false
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	all := whole + fraction
	significant := strings.TrimLeft(all, "0")
	power = int64(len(whole)) - int64(len(all)-len(significant)) + shift
	significant = strings.TrimRight(significant, "0")
	if significant == "" {
		return "", 0, true
	}
	return significant, power, true
}
