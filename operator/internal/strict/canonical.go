package strict

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"

	"github.com/go-json-experiment/json/jsontext"
)

// canonicalDepth bounds the recursion of the canonical form. Texts from outside
// meet the lower limit of Check first.
const canonicalDepth = 1000

// Canonical returns the bytes that stand for raw in a digest. There are always
// some, so that a refused call has a digest as well:
//
//   - the canonical form of RFC 8785 and a nil error, when raw is one valid I-JSON
//     value whose numbers the canonical form keeps exactly;
//   - otherwise a marker and the reason: the text "!sha256:" and 64 hexadecimal
//     digits, the SHA-256 of raw as it is. No JSON text begins with "!", so a
//     marker is never the canonical form of anything.
//
// A number that a double cannot hold (9007199254740993, 1e400) is such a reason,
// with the code number_out_of_range: RFC 8785 would round it, and two calls that
// differ would get one digest.
func Canonical(raw []byte) ([]byte, error) {
	if _, err := prescanStructure(raw, canonicalDepth); err != nil && err.Code == TooDeep {
		return marker(raw), err
	}
	if err := explain(raw); err != nil {
		return marker(raw), err
	}
	if err := exactNumbers(raw); err != nil {
		return marker(raw), err
	}
	v := jsontext.Value(bytes.Clone(raw))
	if err := v.Canonicalize(); err != nil {
		return marker(raw), syntaxFault(raw, err)
	}
	return v, nil
}

func marker(raw []byte) []byte {
	sum := sha256.Sum256(raw)
	return hex.AppendEncode([]byte("!sha256:"), sum[:])
}

func exactNumbers(raw []byte) *Error {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	for {
		tok, err := d.ReadToken()
		if err != nil {
			return nil // the end: the text was judged before
		}
		if tok.Kind() != '0' {
			continue
		}
		if lit := tok.String(); !exact(lit) {
			at := int(d.InputOffset()) - len(lit)
			return fault(NumberOutOfRange, string(d.StackPointer()), at, "The number "+quote(lit)+" cannot be held exactly; send it as a string.")
		}
	}
}
