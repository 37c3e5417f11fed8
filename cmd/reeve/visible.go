package main

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/reeve-go/reeve/gate"
)

// What an agent wrote is printed so that a person sees what is there, and
// nothing else happens: no escape sequence reaches the terminal, no line break
// makes a line that looks like ours, nothing invisible stays invisible.

// visibleLine writes a text on one line, with every character that does not show
// itself written as its code point: ⟨U+001B⟩.
func visibleLine(s string) string {
	var out strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		if shows(r) {
			out.WriteRune(r)
		} else {
			fmt.Fprintf(&out, "⟨U+%04X⟩", r)
		}
	}
	return out.String()
}

// visibleText writes a text of several lines, each after the first behind the
// margin, so that no line of it can pass for one of ours.
func visibleText(s, margin string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		// A tab inside a text is layout; elsewhere it would be shown by its number.
		cells := strings.Split(line, "\t")
		for j, cell := range cells {
			cells[j] = visibleLine(cell)
		}
		lines[i] = strings.Join(cells, "\t")
	}
	return strings.Join(lines, "\n"+margin)
}

// shows tells whether a character is seen for what it is. The joiners of Persian,
// Indic scripts and emoji are not seen themselves but shape what is.
func shows(r rune) bool {
	if r == '\u200C' || r == '\u200D' {
		return true
	}
	return unicode.IsGraphic(r) && gate.CheckText(string(r), gate.Line) == nil
}

// short cuts a line to n characters.
func short(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return string(runes[:n-1]) + "…"
}
