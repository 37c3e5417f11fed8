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
// through), line and paragraph separators, private-use characters, noncharacters,
// and whatever Unicode lets a program show as nothing or has as a format character:
// Default_Ignorable_Code_Point and the category Cf, by the tables of the unicode
// package. Those are characters that reorder text, tags, fillers, zero-width and
// invisible ones, soft hyphens, musical and shorthand controls, and the code points
// that are kept free for more of them. Of Cf only Prepended_Concatenation_Mark is
// let through, which is visible.
//
// Honest text needs a few. The zero-width joiner and non-joiner, for several scripts
// and emoji, are accepted between two characters that are neither white space,
// punctuation nor ASCII. A variation selector of U+FE00 to U+FE0F, as emoji have it,
// is accepted once, right after a character that it can vary: not after ASCII, but
// for the bases of keycaps, and not after white space. Mongolian's own selectors
// (U+180B to U+180F) are refused: nobody could tell two words apart by them.
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
	case isSelector(r):
		return variable(prev)
	}
	return !hidden(r)
}

// isSelector reports whether r is one of the sixteen variation selectors that emoji
// and scripts in use have.
func isSelector(r rune) bool { return r >= 0xFE00 && r <= 0xFE0F }

// variable reports whether a variation selector makes sense after r.
func variable(r rune) bool {
	if r < 0x80 {
		return r == '#' || r == '*' || r >= '0' && r <= '9'
	}
	return r != utf8.RuneError && !unicode.IsSpace(r) && !hidden(r)
}

// joinable reports whether a joiner makes sense beside r.
func joinable(r rune) bool {
	if r < 0x80 || r == utf8.RuneError || hidden(r) && !isSelector(r) {
		return false
	}
	return !unicode.IsSpace(r) && !unicode.IsPunct(r)
}

// hidden reports whether r controls, reorders or hides text, or has no agreed
// meaning. ASCII is judged by the caller, joiners and selectors by where they stand.
func hidden(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7F && r <= 0x9F: // C0, DEL, C1
		return true
	case r == 0x2028, r == 0x2029: // line and paragraph separator
		return true
	case unicode.Is(unicode.Cf, r):
		return !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
	}
	return unicode.In(r, unicode.Co, unicode.Noncharacter_Code_Point, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
