package gate

import (
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// layers bounds how many kinds of escaping may lie over each other: a URL in HTML
// in JSON in JSON. One kind upon itself, such as \\\\n, counts as one.
const layers = 4

// view is a text after its escapes were resolved, and where each byte of it came
// from.
type view struct {
	text  string
	depth int
	steps [layers][]cut
}

// cut says that from byte at of the resolved text on, up to the next cut, the
// bytes stand in the text before from byte src on.
type cut struct{ at, src int }

// resolved returns the view one layer further, or reports that there is none.
// Each escape becomes one byte, so that offsets stay simple; beyond ASCII it does
// not matter which.
func (v view) resolved() (view, bool) {
	if v.depth == layers {
		return v, false
	}
	var b strings.Builder
	var cuts []cut
	copied := 0
	for i := 0; i < len(v.text); {
		if !mayEscape[v.text[i]] {
			i++
			continue
		}
		n, c, ok := escapeAt(v.text[i:])
		if ok {
			if cuts == nil {
				b.Grow(len(v.text))
			}
			b.WriteString(v.text[copied:i])
			b.WriteByte(c)
			copied = i + n
			cuts = append(cuts, cut{at: b.Len(), src: copied})
		}
		i += n
	}
	if cuts == nil {
		return v, false
	}
	b.WriteString(v.text[copied:])
	v.text = b.String()
	v.steps[v.depth] = cuts
	v.depth++
	return v, true
}

// source returns where a byte of the view stands in the text that it was made of.
func (v view) source(at int) int {
	for step := v.depth - 1; step >= 0; step-- {
		cuts := v.steps[step]
		if k := sort.Search(len(cuts), func(k int) bool { return cuts[k].at > at }); k > 0 {
			at += cuts[k-1].src - cuts[k-1].at
		}
	}
	return at
}

// mayEscape holds every byte that an escape begins with.
var mayEscape = func() (set alphabet) {
	for _, c := range []byte("\\%&\x1b") {
		set[c] = true
	}
	return set
}()

// escapeAt reads the escape that a text begins with: its length, and the byte it
// stands for. Where there is none the length is that of what need not be looked
// at again.
func escapeAt(s string) (n int, c byte, ok bool) {
	switch s[0] {
	case '\\':
		return backslashed(s)
	case '%':
		return percent(s)
	case '&':
		return entity(s)
	}
	return terminal(s)
}

// backslashed reads \n, \", \/, \u003d, \x3d, \075 and their kind, behind any
// number of backslashes: each layer of JSON doubles them.
func backslashed(s string) (int, byte, bool) {
	i := 0
	for i < len(s) && s[i] == '\\' {
		i++
	}
	if i == len(s) {
		return i, 0, false
	}
	switch c := s[i]; c {
	case 'n', 'r', 't', 'b', 'f', 'v', 'a', 'e':
		return i + 1, ' ', true
	case '"', '\'', '/', '`':
		return i + 1, c, true
	case 'u':
		return coded(s, i+1, 4, 16)
	case 'U':
		return coded(s, i+1, 8, 16)
	case 'x':
		return coded(s, i+1, 2, 16)
	case '0', '1', '2', '3':
		if n, c, ok := coded(s, i, 3, 8); ok {
			return n, c, true
		}
		return i + 1, ' ', c == '0'
	}
	return i, 0, false
}

// percent reads %3D, and %253D, which is the same written twice.
func percent(s string) (int, byte, bool) {
	i := 1
	for strings.HasPrefix(s[i:], "25") && i+4 <= len(s) && isHex(s[i+2]) && isHex(s[i+3]) {
		i += 2
	}
	n, c, ok := coded(s, i, 2, 16)
	if !ok {
		return 1, 0, false
	}
	return n, c, true
}

// coded reads a code point of so many digits that begin at i.
func coded(s string, i, digits, base int) (int, byte, bool) {
	if len(s) < i+digits || !isHex(s[i]) { // ParseUint alone would take a sign
		return i, 0, false
	}
	point, err := strconv.ParseUint(s[i:i+digits], base, 32)
	if err != nil {
		return i, 0, false
	}
	return i + digits, oneByte(point), true
}

// oneByte stands for a code point. What is no ASCII is told apart from it, and
// no more.
func oneByte(point uint64) byte {
	return byte(min(point, utf8.RuneSelf))
}

// entity reads &#x3d; and &#61;, with the semicolon or without, and the names of
// the ASCII characters that matter. &amp;lt; is &lt; written twice.
func entity(s string) (int, byte, bool) {
	i := 1
	for strings.HasPrefix(s[i:], "amp;") {
		i += len("amp;")
	}
	if strings.HasPrefix(s[i:], "#") {
		return numericEntity(s, i+1)
	}
	for _, e := range entities {
		if strings.HasPrefix(s[i:], e.name) {
			return semicolon(s, i+len(e.name)), e.char, true
		}
	}
	if i > 1 {
		return i, '&', true
	}
	return 1, 0, false
}

func numericEntity(s string, i int) (int, byte, bool) {
	const longest = 8 // digits; leading zeros are allowed
	base, set := 10, &decimals
	if i < len(s) && (s[i] == 'x' || s[i] == 'X') {
		i, base, set = i+1, 16, &hexDigits
	}
	n := runUpTo(s, i, set, longest)
	point, err := strconv.ParseUint(s[i:i+n], base, 32)
	if err != nil {
		return 1, 0, false
	}
	return semicolon(s, i+n), oneByte(point), true
}

func semicolon(s string, i int) int {
	if i < len(s) && s[i] == ';' {
		return i + 1
	}
	return i
}

var entities = [...]struct {
	name string
	char byte
}{
	{"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}, {"nbsp", ' '}, {"amp", '&'}, {"colon;", ':'},
	{"sol;", '/'}, {"commat;", '@'}, {"equals;", '='}, {"lowbar;", '_'}, {"period;", '.'}, {"plus;", '+'},
	{"Tab;", ' '}, {"NewLine;", ' '},
}

// terminal reads what sets a colour, such as ESC [ 31 m: its last letter would
// count as the beginning of the word behind it.
func terminal(s string) (int, byte, bool) {
	const longest = 24
	if len(s) < 3 || s[1] != '[' {
		return 1, 0, false
	}
	for i := 2; i < min(len(s), longest); i++ {
		switch c := s[i]; {
		case isUpper(c) || isLower(c):
			return i + 1, ' ', true
		case c < ' ' || c > '?':
			return 1, 0, false
		}
	}
	return 1, 0, false
}

func isHex(c byte) bool { return hexDigits[c] }
