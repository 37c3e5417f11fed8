package main

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"github.com/reeve-go/reeve/gate"
)

// What an agent wrote is printed so that a person sees what is there, and
// nothing else happens: no escape sequence reaches the terminal, no line break
// makes a line that looks like ours, nothing invisible stays invisible. Whatever
// does not show itself is written as a note in angle brackets, ⟨U+001B⟩ or
// ⟨40 spaces⟩; a bracket of that kind in the text is itself written as a note, so
// that no note can be forged.

// manner is how strictly a text is shown.
type manner struct {
	// exact shows every invisible character. Otherwise those stay that a script
	// or an emoji needs in the middle of a word.
	exact bool
	// scripts marks words that mix scripts whose letters look alike.
	scripts bool
	// escapes says that a backslash begins an escape of JSON, which is no part of a word.
	escapes bool
	// blanks is the longest run of spaces that is written as spaces.
	blanks int
}

// prose is for what people read: a body, an outcome, a reason.
func prose() manner { return manner{blanks: 2} }

// exactly is for what machines act on: a type, a label, data.
func exactly() manner { return manner{exact: true, blanks: 2} }

// watched is m, with words that mix scripts marked.
func (m manner) watched() manner { m.scripts = true; return m }

// json is m for what stands in JSON.
func (m manner) json() manner { m.escapes = true; return m }

// cluster is what is never torn apart while there is room for it: a character
// with its marks, or a note. Cells is the room it takes on a terminal.
type cluster struct {
	text  string
	cells int
}

// visibleLine writes a text on one line, with every character that does not show
// itself written as a note. It does not know how wide a terminal is: see page.
func visibleLine(s string) string { return joined(visible(s, prose())) }

// visibleText writes a text of several lines of ours, each after the first
// behind the margin.
func visibleText(s, margin string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = visibleLine(line)
	}
	return strings.Join(lines, "\n"+margin)
}

func joined(text []cluster) string {
	var out strings.Builder
	for _, c := range text {
		out.WriteString(c.text)
	}
	return out.String()
}

// visible takes one line apart into what is shown of it.
func visible(s string, m manner) []cluster {
	runes := []rune(strings.ToValidUTF8(s, "\uFFFD"))
	v := viewer{manner: m}
	for i := 0; i < len(runes); {
		end := i + wordAt(runes[i:])
		v.word(runes[i:end])
		i = end + spacesAt(runes[end:])
		v.spaces(i-end, end == 0 || i == len(runes))
	}
	return v.out
}

func wordAt(runes []rune) (n int) {
	for n < len(runes) && runes[n] != ' ' {
		n++
	}
	return n
}

func spacesAt(runes []rune) (n int) {
	for n < len(runes) && runes[n] == ' ' {
		n++
	}
	return n
}

// viewer builds the clusters of a line.
type viewer struct {
	manner
	out  []cluster
	size int // characters in the last cluster, 0 when nothing may join it
}

func (v *viewer) word(runes []rune) {
	v.size = 0
	for i, r := range runes {
		prev, next := rune(-1), rune(-1)
		if i > 0 {
			prev = runes[i-1]
		}
		if i+1 < len(runes) {
			next = runes[i+1]
		}
		v.character(prev, r, next)
	}
	if v.scripts {
		odd := oddLetters
		if v.escapes {
			odd = oddInJSON
		}
		if odd := odd(runes); odd != "" {
			v.out = append(v.out, cluster{" ", 1})
			v.note(odd)
		}
	}
}

func (v *viewer) spaces(n int, atAnEnd bool) {
	switch {
	case n == 1 && v.exact && atAnEnd:
		v.note("1 space")
	case n > v.blanks || n > 0 && v.exact && atAnEnd:
		v.note(fmt.Sprintf("%d spaces", n))
	default:
		for range n {
			v.out = append(v.out, cluster{" ", 1})
		}
	}
}

func (v *viewer) note(what string) {
	v.size = 0
	v.out = append(v.out, cluster{"⟨" + what + "⟩", len([]rune(what)) + 2})
}

// longestCluster bounds how many marks and joined emoji pile up in one place.
const longestCluster = 10

func (v *viewer) character(prev, r, next rune) {
	switch {
	case v.size > 0 && v.size < longestCluster && v.joins(prev, r, next):
		last := &v.out[len(v.out)-1]
		last.text += string(r)
		last.cells += cells(r)
		v.size++
		if r == emojiSelector {
			last.cells = max(last.cells, 2)
		}
	case shows(r) && !unicode.Is(unicode.M, r):
		v.out = append(v.out, cluster{string(r), cells(r)})
		v.size = 1
	default:
		// A mark with nothing before it would land on our margin.
		v.note(fmt.Sprintf("U+%04X", r))
	}
}

const (
	nonJoiner, joiner           = '\u200C', '\u200D'
	textSelector, emojiSelector = '\uFE0E', '\uFE0F'
)

// joins tells whether r belongs to the character before it.
func (v *viewer) joins(prev, r, next rune) bool {
	switch {
	case r == nonJoiner || r == joiner:
		return !v.exact && (unicode.In(prev, joining()...) && unicode.In(next, joining()...) ||
			r == joiner && picture(prev) && picture(next))
	case r == textSelector || r == emojiSelector:
		return !v.exact && picture(prev)
	case prev == joiner:
		return shows(r)
	}
	return unicode.Is(unicode.M, r) && shows(r)
}

// joining are the scripts that are not spelt right without the joiners.
func joining() []*unicode.RangeTable {
	return []*unicode.RangeTable{unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko, unicode.Devanagari, unicode.Bengali,
		unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam,
		unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan}
}

// picture tells whether a character is of an emoji.
func picture(r rune) bool {
	return unicode.Is(unicode.So, r) || r == emojiSelector || r >= 0x1F3FB && r <= 0x1F3FF
}

// shows tells whether a character is seen for what it is, beside others.
func shows(r rune) bool {
	switch {
	case r == ' ':
		return true
	case !unicode.IsGraphic(r), unicode.Is(unicode.Zs, r), gate.CheckText(string(r), gate.Line) != nil:
		return false
	case unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point, unicode.Join_Control):
		return false
	}
	switch r {
	case 0x2800, 0xFFFC, 0x16FE4, 0x1D159: // a blank pattern, an object, a filler, a note without a head
		return false
	case '⟨', '⟩', 0x2329, 0x232A: // the brackets of our notes, and their twins
		return false
	}
	return true
}

// cells is the room that a character takes on a terminal. Where terminals
// disagree, as they do on symbols, it is the larger number: a row that ends too
// early does no harm, and one that ends too late is broken by the terminal.
// Letters that Unicode Annex 11 calls ambiguous, as Greek and Cyrillic ones, count
// one: only terminals set up for East Asian encodings draw them wider.
func cells(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r == 0x2E3B: // the three-em dash
		return 3
	case r >= 0x3248 && r <= 0x324F: // numbers in circles on black squares: terminals draw them wide
		return 2
	case r == 0x2E3A, unicode.Is(unicode.So, r), r >= 0x4DC0 && r <= 0x4DFF, r >= 0x1D300 && r <= 0x1D37F:
		return 2
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}
