package gate

import (
	"encoding/base64"
	"strings"
	"unicode"
	"unicode/utf8"
)

// authorization finds the credentials of RFC 6750 and RFC 7617 behind their
// scheme. The schemes are plain English words, so what follows must look the
// part; less is asked of it in a header named Authorization.
func authorization(s string, i int) int {
	for _, scheme := range [...]string{"bearer", "basic", "token"} {
		if !hasFold(s, i, scheme) {
			continue
		}
		gap := runUpTo(s, i+len(scheme), &gapBytes, 16)
		at := i + len(scheme) + gap
		n := runUpTo(s, at, &bearer, longestJudged)
		if gap == 0 || n == 0 {
			return 0
		}
		if isCredential(scheme, s[at:at+n], inHeader(s, i)) {
			return at + run(s, at, &bearer)
		}
	}
	return 0
}

// longestJudged is how much is read of a value before it is known to be a
// credential, a whole number of base64 groups.
const longestJudged = 256

func isCredential(scheme, value string, header bool) bool {
	const short, bare, long = 12, 20, 24
	switch {
	case scheme == "basic" && isUserAndPassword(value):
		return true
	case header:
		return len(value) >= short && (looksRandom(value, 2) || run(value, 0, &alnum) >= long)
	case scheme == "bearer":
		return len(value) >= bare && strings.ContainsAny(value, "0123456789") && looksRandom(value, drawn)
	}
	return false
}

// inHeader reports whether the scheme at i stands behind the name Authorization,
// whatever notation puts between the two on one line.
func inHeader(s string, i int) bool {
	const name, gap = "authorization", 16
	at := i
	for at > 0 && i-at < gap && !isAlnum(s[at-1]) && s[at-1] != '\n' {
		at--
	}
	return at < i && at >= len(name) && hasFold(s, at-len(name), name)
}

// isUserAndPassword reports whether a value is base64 of "user:password" that a
// person could type (RFC 7617 §2). A word of one case is never one, though some
// decode to bytes with a colon in them.
func isUserAndPassword(value string) bool {
	value = value[:runUpTo(value, 0, &base64s, len(value))]
	if len(value) < 8 || !(looksRandom(value, 1) || strings.ContainsAny(value, "=+/")) {
		return false
	}
	plain, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
	if err != nil {
		return false
	}
	text := strings.TrimRight(string(plain), "\r\n") // a shell's echo adds one
	if len(value) == longestJudged {                 // cut, perhaps within a character
		text = strings.ToValidUTF8(text, "")
	}
	untyped := func(r rune) bool { return !unicode.IsPrint(r) }
	return utf8.ValidString(text) && strings.Contains(text, ":") && strings.IndexFunc(text, untyped) < 0
}

// urlPassword finds ://user:password@ and returns the place of the @ or 0.
//
// People put passwords into URLs without escaping them, so the password reaches
// to the last @ of the word and may hold / ? # as well. What looks like a port, a
// placeholder such as ${PASSWORD} or ***, or the path of a file is none.
func urlPassword(s string, i int) int {
	if !strings.HasPrefix(s[i:], "://") {
		return 0
	}
	user := i + len("://")
	colon := userEnd(s, user)
	if colon < 0 || isAddress(s[user:colon]) || isPort(s, colon+1) {
		return 0
	}
	password := colon + 1
	first, last, end := ats(s, password)
	switch {
	case first == password: // an empty one, unless more of the authority follows
		if last == first {
			return 0
		}
	case first > 0 && isPlaceholder(s[password:first]):
		return 0
	case first > 0 && run(s, password, &decimals) == first-password && isLogin(s[:i]):
		return 0
	case first == 0 && !isLoose(s, user, colon, end):
		return 0
	}
	if beyond := lastAt(s, end); beyond > 0 && (first > 0 || hostAt(s, beyond+1)) {
		last = beyond
	}
	if last == 0 || strings.HasPrefix(s[last+1:], "sha256:") {
		return 0
	}
	return last
}

// userEnd returns the place of the colon behind the user, or -1. What stands in
// brackets is one piece: an address of IPv6, or what a redaction left.
func userEnd(s string, i int) int {
	const longest = 64
	for at := i; at < len(s); at++ {
		switch c := s[at]; {
		case c == ':':
			return at
		case c == '[':
			if n := strings.IndexByte(s[at:min(len(s), at+longest)], ']'); n > 0 {
				at += n
			}
		case endsURL(c), c == '/', c == '?', c == '#', c == '@', c == ',', c == '|':
			return -1
		}
	}
	return -1
}

// ats returns the places of the first and the last @ of an authority, or 0, and
// the authority's end.
func ats(s string, i int) (first, last, end int) {
	for end = i; end < len(s); end++ {
		switch c := s[end]; {
		case c == '@':
			if last = end; first == 0 {
				first = end
			}
		case endsURL(c), c == '/', c == '?', c == '#':
			return first, last, end
		}
	}
	return first, last, end
}

// lastAt returns the place of the last @ of the rest of a URL, or 0.
func lastAt(s string, i int) (last int) {
	const longest = 256
	for at := i; at < min(len(s), i+longest) && !endsURL(s[at]); at++ {
		if s[at] == '@' {
			last = at
		}
	}
	return last
}

func endsURL(c byte) bool {
	return c <= ' ' || c == '"' || c == '\'' || c == '`' || c == '<' || c == '>'
}

// isLoose reports whether what ends at a slash, question mark or hash can be the
// first piece of a password: not of a host with a path.
func isLoose(s string, user, colon, end int) bool {
	piece := s[colon+1 : end]
	return piece != "" && !strings.Contains(s[user:colon], ".") && !isPlaceholder(piece) && !isPlaceholder(strings.Trim(piece, "<>${}")) && !strings.EqualFold(piece, "port")
}

func hostAt(s string, i int) bool {
	return i < len(s) && (isAlnum(s[i]) || s[i] == '[')
}

// isAddress reports whether what stands for the user is an address of IPv6, or
// the beginning of a list of something else.
func isAddress(user string) bool {
	if len(user) > 2 && user[0] == '[' && user[len(user)-1] == ']' {
		return strings.Trim(user[1:len(user)-1], "0123456789abcdefABCDEF:.") == ""
	}
	return strings.HasSuffix(user, "mailto")
}

// isPort reports whether a number begins at i that ends as a port does.
func isPort(s string, i int) bool {
	const longest = 5
	n := runUpTo(s, i, &decimals, longest)
	if n == 0 || i+n == len(s) {
		return n > 0
	}
	return !isAlnum(s[i+n]) && strings.IndexByte("@-._~!$*+=^:", s[i+n]) < 0
}

// isLogin reports whether the scheme is one where a number behind the user is a
// port that went astray.
func isLogin(scheme string) bool {
	for _, name := range [...]string{"ssh", "git", "svn", "sftp", "rsync"} {
		if len(scheme) >= len(name) && equalASCIIFold(scheme[len(scheme)-len(name):], name) {
			return true
		}
	}
	return false
}

// isPlaceholder reports whether a password says only that one belongs there.
func isPlaceholder(p string) bool {
	if p == "" {
		return false
	}
	if strings.Trim(p, "*xX.") == "" {
		return true
	}
	for _, pair := range [...][2]string{{"<", ">"}, {"[", "]"}, {"{", "}"}, {"${", "}"}, {"$(", ")"}, {"%(", ")s"}} {
		if rest, ok := strings.CutPrefix(p, pair[0]); ok {
			if inner, ok := strings.CutSuffix(rest, pair[1]); ok && !strings.Contains(strings.Trim(inner, "{} ."), pair[1][:1]) {
				return true
			}
		}
	}
	if name, ok := strings.CutPrefix(p, "$"); ok {
		return name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
	}
	switch strings.ToLower(p) {
	case "%s", "%v", "%q", "%d", "pass", "passwd", "password", "pwd", "yourpassword", "your-password", "your_password":
		return true
	}
	return false
}
