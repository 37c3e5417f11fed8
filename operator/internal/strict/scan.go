package strict

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits bounds a text. A zero field means its default.
type Limits struct {
	MaxBytes int // bytes of the whole text, default 1 MiB
	MaxDepth int // nested arrays and objects, default 64; `{}` has depth 1
}

const (
	defaultMaxBytes = 1 << 20
	defaultMaxDepth = 64
)

func (l Limits) withDefaults() Limits {
	if l.MaxBytes <= 0 {
		l.MaxBytes = defaultMaxBytes
	}
	if l.MaxDepth <= 0 {
		l.MaxDepth = defaultMaxDepth
	}
	return l
}

// prescan finds what a parser would find too late or not at all: a text too
// long or too deep (before anything that recurses sees it), and characters that
// RFC 8259 allows and we do not. It knows strings from structure and nothing
// more, so a text that passes may still not be JSON.
//
// It also says whether there is a null, which is the one value that a decoder may
// take for something else.
func prescan(raw []byte, limits Limits) (nulls bool, err *Error) {
	limits = limits.withDefaults()
	if len(raw) > limits.MaxBytes {
		return false, fault(TooLarge, "", limits.MaxBytes, "The text is longer than "+strconv.Itoa(limits.MaxBytes)+" bytes; send less.")
	}
	if !utf8.Valid(raw) {
		at := firstInvalid(raw)
		return false, fault(InvalidUTF8, pointerAt(raw, at), at, "The text is not valid UTF-8; encode it as UTF-8.")
	}
	return prescanStructure(raw, limits.MaxDepth)
}

func prescanStructure(raw []byte, maxDepth int) (nulls bool, err *Error) {
	depth := 0
	for i := 0; i < len(raw); {
		switch raw[i] {
		case '"':
			end, bad := scanString(raw, i)
			if bad != "" {
				return false, textFault(bad, raw, end)
			}
			i = end
			continue
		case '{', '[':
			if depth++; depth > maxDepth {
				return false, fault(TooDeep, pointerAt(raw, i), i, "Arrays and objects are nested more than "+strconv.Itoa(maxDepth)+" deep; send a flatter value.")
			}
		case '}', ']':
			depth--
		case 'n':
			nulls = true
		}
		i++
	}
	return nulls, nil
}

func textFault(code Code, raw []byte, at int) *Error {
	message := "A string holds the NUL character U+0000; remove it."
	if code == LoneSurrogate {
		message = "A string holds half of a surrogate pair; write the whole character."
	}
	return fault(code, pointerAt(raw, at), at, message)
}

// scanString walks the string that opens at raw[i]. It returns the offset after
// the closing quote, or the offset of the first character that is refused with
// its code. An unterminated string ends with the text.
func scanString(raw []byte, i int) (end int, bad Code) {
	for i++; i < len(raw); {
		switch c := raw[i]; {
		case c > '\\' || c > '"' && c < '\\':
			i++ // most characters
		case c == '"':
			return i + 1, ""
		case c == 0:
			return i, NULCharacter
		case c != '\\':
			i++
		case i+1 < len(raw) && raw[i+1] == 'u':
			n, code := scanEscape(raw[i:])
			if code != "" {
				return i, code
			}
			i += n
		default:
			i += 2
		}
	}
	return len(raw), ""
}

// scanEscape judges the \uXXXX escape that b begins with and returns its length,
// twelve where it is a pair. What is not hexadecimal is left to the parser.
func scanEscape(b []byte) (length int, bad Code) {
	r, ok := hex4(b)
	switch {
	case !ok:
		return 2, ""
	case r == 0:
		return 0, NULCharacter
	case r < 0xD800 || r > 0xDFFF:
		return 6, ""
	case r >= 0xDC00:
		return 0, LoneSurrogate
	}
	if low, ok := hex4(b[6:]); ok && low >= 0xDC00 && low <= 0xDFFF {
		return 12, ""
	}
	return 0, LoneSurrogate
}

// hex4 reads a whole \uXXXX escape at the start of b.
func hex4(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range b[2:6] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

func firstInvalid(raw []byte) int {
	at := 0
	for at < len(raw) {
		r, n := utf8.DecodeRune(raw[at:])
		if r == utf8.RuneError && n <= 1 {
			break
		}
		at += n
	}
	return at
}

// pointerAt names the value that the byte at offset belongs to. It is asked
// only once a text is refused, so it may take its time, but not grow: it reads
// tokens one by one and stops at the offset.
func pointerAt(raw []byte, offset int) string {
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		_, err := d.ReadToken()
		if err != nil || d.InputOffset() > int64(offset) {
			return string(d.StackPointer())
		}
	}
}
