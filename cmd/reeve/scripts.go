package main

import (
	"fmt"
	"strings"
	"unicode"
)

// A letter of one script can look like one of another: the Cyrillic а in pаypal.
// Unicode Technical Standard 39 calls a word that mixes such scripts a sign of
// spoofing. It is no proof, so the word stays and a note is put after it.

// alike are the scripts whose letters pass for each other's.
func alike() []*unicode.RangeTable {
	return []*unicode.RangeTable{unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Coptic}
}

// mostOdd bounds how many letters one note names.
const mostOdd = 8

// oddLetters says which letters of a word are not of the script that most of its
// letters are of, or nothing when it keeps to one script. Of two scripts with as
// many letters each, the one that comes first in alike is the word's own.
func oddLetters(word []rune) string {
	scripts, count := alike(), make([]int, len(alike()))
	for _, r := range word {
		if s := scriptOf(r, scripts); s >= 0 {
			count[s]++
		}
	}
	own, used := 0, 0
	for s, n := range count {
		if n > 0 {
			used++
		}
		if n > count[own] {
			own = s
		}
	}
	if used < 2 {
		return ""
	}
	var odd []string
	seen := map[rune]bool{}
	for _, r := range word {
		if s := scriptOf(r, scripts); s >= 0 && s != own && !seen[r] {
			seen[r] = true
			odd = append(odd, fmt.Sprintf("U+%04X", r))
		}
	}
	if len(odd) > mostOdd {
		odd = append(odd[:mostOdd], "…")
	}
	return "mixed scripts: " + strings.Join(odd, " ")
}

// oddInJSON is oddLetters for the words of a string in JSON: what follows a backslash
// is a letter of JSON's, and ends a word.
func oddInJSON(text []rune) string {
	begin := 0
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		if odd := oddLetters(text[begin:i]); odd != "" {
			return odd
		}
		i++
		if i < len(text) && text[i] == 'u' {
			i += 4
		}
		begin = min(i+1, len(text))
	}
	return oddLetters(text[begin:])
}

func scriptOf(r rune, scripts []*unicode.RangeTable) int {
	if r < 0x80 && !unicode.IsLetter(r) {
		return -1
	}
	for i, s := range scripts {
		if unicode.Is(s, r) {
			return i
		}
	}
	return -1
}
