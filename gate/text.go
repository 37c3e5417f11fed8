package gate

import (
	"unicode"
	"unicode/utf8"
)

// TextKind says how much layout a text may have.
type TextKind uint8

// The two kinds of text.
const (
	// Line is one line: titles, recipients, labels, names. No control
	// character at all.
	Line TextKind = iota
	// Block is running text: bodies. It may hold \n, \t, and \r before \n.
	Block
)

// CheckText refuses text that a person could not read for what it is: invalid
// UTF-8, control characters (of [Block] only \n, \t and \r before \n are let
// through), characters that reorder text (U+202A to U+202E, U+2066 to U+2069,
// U+061C, U+200E, U+200F), tag characters, private-use characters,
// noncharacters, line and paragraph separators, and zero-width or invisible
// ones (U+00AD, U+034F, U+200B, U+2060 to U+2064, U+FEFF, fillers, variation
// selectors beyond U+FE0F).
//
// The zero-width joiner and non-joiner are needed by several scripts and by
// emoji. They are accepted between two characters that are neither white space,
// punctuation nor ASCII.
//
// The error is a [*FieldError] with [CodeTextUnhygienic] and an empty Field;
// its message names the code point and its byte offset, never the text.
func CheckText(s string, kind TextKind) error {
	if plainASCII(s) {
		return nil
	}
	if ferr := unhygienic(s, kind); ferr != nil {
		return ferr
	}
	return nil
}

// plainASCII is the ordinary case: nothing but printable ASCII.
func plainASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func unhygienic(s string, kind TextKind) *FieldError {
	prev := rune(-1)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			return fieldError("", CodeTextUnhygienic, "not valid UTF-8 at byte %d", i)
		}
		rest := s[i+size:]
		if !acceptable(r, prev, rest, kind) {
			return fieldError("", CodeTextUnhygienic,
				"remove the hidden or control character U+%04X at byte %d", r, i)
		}
		prev, i = r, i+size
	}
	return nil
}

func acceptable(r, prev rune, rest string, kind TextKind) bool {
	switch {
	case r >= ' ' && r <= '~':
		return true
	case r == '\n' || r == '\t':
		return kind == Block
	case r == '\r':
		return kind == Block && len(rest) > 0 && rest[0] == '\n'
	case r == 0x200C || r == 0x200D:
		next, _ := utf8.DecodeRuneInString(rest)
		return joinable(prev) && joinable(next)
	}
	return !hidden(r)
}

// joinable reports whether a joiner makes sense beside r.
func joinable(r rune) bool {
	if r < 0x80 || r == utf8.RuneError || hidden(r) {
		return false
	}
	return !unicode.IsSpace(r) && !unicode.IsPunct(r)
}

// hidden reports whether r controls, reorders or hides text, or has no agreed
// meaning. ASCII is judged by the caller.
func hidden(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7F && r <= 0x9F: // C0, DEL, C1
		return true
	case r == 0x00AD, r == 0x034F, r == 0x061C, r == 0x180E: // soft hyphen, joiner, Arabic mark, Mongolian separator
		return true
	case r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r == 0x3164, r == 0xFFA0: // fillers
		return true
	case r >= 0x200B && r <= 0x200F: // zero width space, joiners out of place, direction marks
		return true
	case r >= 0x2028 && r <= 0x202E: // separators, embeddings and overrides
		return true
	case r >= 0x2060 && r <= 0x206F: // word joiner, invisible operators, isolates, deprecated
		return true
	case r == 0xFEFF, r >= 0xFFF9 && r <= 0xFFFB: // byte order mark, annotations
		return true
	case r >= 0xFDD0 && r <= 0xFDEF, r&0xFFFE == 0xFFFE: // noncharacters
		return true
	case r >= 0xE0000 && r <= 0xE0FFF: // tags, supplementary variation selectors
		return true
	}
	return unicode.Is(unicode.Co, r)
}
