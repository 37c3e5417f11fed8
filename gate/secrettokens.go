package gate

import "strings"

// prefixed finds what is known by how it begins. begins says that i is where a
// word begins.
func prefixed(s string, i int, begins bool) (int, string) {
	if s[i] == 'r' {
		if end := ownToken(s, i, begins); end > 0 {
			return end, "reeve"
		}
	}
	for _, sh := range byFirst[s[i]] {
		if !(begins || sh.rule == anywhere) || !strings.HasPrefix(s[i:], sh.prefix) {
			continue
		}
		body := i + len(sh.prefix)
		if sh.rule == exact {
			if runUpTo(s, body, &alnum, sh.least+1) == sh.least && runUpTo(s, body, sh.set, sh.least) == sh.least {
				return awsPair(s, body+sh.least), sh.kind
			}
			continue
		}
		if n := runUpTo(s, body, sh.set, headSize); n >= sh.least && looksRandom(s[body:body+n], drawn) {
			end := body + run(s, body, sh.set)
			return end + run(s, end, &word), sh.kind // with what is glued on, which may be another one
		}
	}
	return 0, ""
}

// headSize is how many bytes are enough to tell whether a text looks random. More
// are read only once it does, else a text of nothing but prefixes would be read
// over and over.
const headSize = 80

// ownToken finds rv_<kind>_<43 url-safe characters>. Whatever is glued to the
// end goes with it. In the middle of a word it must look random as well.
func ownToken(s string, i int, begins bool) int {
	const secret, longestKind = 43, 16
	if !strings.HasPrefix(s[i:], "rv_") {
		return 0
	}
	at := i + len("rv_")
	for at < len(s) && at < i+len("rv_")+longestKind && isLower(s[at]) {
		at++
	}
	if at == i+len("rv_") || at >= len(s) || s[at] != '_' {
		return 0
	}
	at++
	if n := runUpTo(s, at, &urlSafe, secret); n < secret || !(begins || looksRandom(s[at:at+n], drawn)) {
		return 0
	}
	return at + run(s, at, &urlSafe)
}

// pemKey finds a private key from its first line up to its last one, or up to
// the end of the text where the last line is missing. In a form its spaces are
// written as plus signs.
func pemKey(s string, i int) int {
	const begin, label = "-----BEGIN", 40
	if !strings.HasPrefix(s[i:], begin) {
		return 0
	}
	head := s[i+len(begin) : min(len(s), i+len(begin)+label)]
	name, _, closed := strings.Cut(head, "-----")
	plain := strings.ReplaceAll(name, "+", " ")
	if !closed || plain == "" || plain[0] != ' ' || (!strings.HasSuffix(plain, " PRIVATE KEY") && !strings.HasSuffix(plain, " PRIVATE KEY BLOCK")) {
		return 0
	}
	last := "-----END" + name + "-----"
	if at := strings.Index(s[i:], last); at >= 0 {
		return i + at + len(last)
	}
	return len(s)
}

// jwt finds three base64url parts of which the first two begin as JSON objects
// do, or the five parts of an encrypted token.
func (sc *scanner) jwt(i int) int {
	s := sc.s
	if i < sc.noJWT || !strings.HasPrefix(s[i:], "eyJ") {
		return 0
	}
	head := i + run(s, i, &urlSafe)
	if end := signedToken(s, head); end > 0 {
		return end
	}
	if end := encryptedToken(s, head); end > 0 {
		return end
	}
	// What begins further on in the same word goes on in the same way.
	sc.noJWT = head
	return 0
}

func signedToken(s string, head int) int {
	if !strings.HasPrefix(s[head:], ".eyJ") {
		return 0
	}
	body := nextPart(s, head)
	return nextPart(s, body)
}

// encryptedToken reads the key, which may be empty, the vector of 96 bits or
// more, the text and the tag (RFC 7516 §7.1).
func encryptedToken(s string, head int) int {
	const vector, tag = 16, 16
	key := nextPart(s, head)
	iv := nextPart(s, key)
	text := nextPart(s, iv)
	end := nextPart(s, text)
	if end == 0 || iv-key-1 < vector || text-iv < 2 || end-text-1 < tag {
		return 0
	}
	return end
}

// nextPart returns the end of the part behind the dot at i, or 0.
func nextPart(s string, i int) int {
	if i == 0 || i >= len(s) || s[i] != '.' {
		return 0
	}
	return i + 1 + run(s, i+1, &urlSafe)
}

// telegram finds <8 to 10 digits>:<35 url-safe characters>, by itself or behind
// the "bot" of the API's addresses. A longer one counts unless it is a checksum.
func telegram(s string, i int) int {
	const secret, longest = 35, 10
	if i > 0 && isAlnum(s[i-1]) && !(i >= 3 && hasFold(s, i-3, "bot") && (i == 3 || !isAlnum(s[i-4]))) {
		return 0
	}
	digits := runUpTo(s, i, &decimals, longest+1)
	body := i + digits + 1
	if digits < 8 || digits > longest || body > len(s) || s[body-1] != ':' {
		return 0
	}
	n := runUpTo(s, body, &urlSafe, headSize)
	if n < secret || runUpTo(s, body, &hexDigits, n) == n || !looksRandom(s[body:body+n], drawn) {
		return 0
	}
	return body + run(s, body, &urlSafe)
}

const awsSecretSize = 40

// awsPair returns the end of an AWS key id that ends at i, with the secret behind
// it where there is one: AKIA…:secret, or two columns of a table.
func awsPair(s string, i int) int {
	const gap = 8
	at := i
	for at < len(s) && at < i+gap && !isAlnum(s[at]) && s[at] != '/' && s[at] != '+' {
		at++
	}
	if at == i || runUpTo(s, at, &base64raw, awsSecretSize+1) != awsSecretSize || !looksRandom(s[at:at+awsSecretSize], drawn) {
		return i
	}
	return at + awsSecretSize
}

// awsSecret finds an AWS secret key by its name, since it has no form itself.
// Between the two stands whatever a format puts there: quotes, colons, the end of
// a tag, a line break, or the word "value".
func awsSecret(s string, i int) int {
	name := awsName(s, i)
	if name == 0 {
		return 0
	}
	at := skipGap(s, name)
	for _, filler := range [...]string{"value", "string", "is"} {
		if hasFold(s, at, filler) && at+len(filler) < len(s) && !isAlnum(s[at+len(filler)]) {
			at = skipGap(s, at+len(filler))
			break
		}
	}
	if at == name {
		return 0
	}
	n := runUpTo(s, at, &base64raw, awsSecretSize)
	if !looksRandom(s[at:at+n], drawn) {
		return 0
	}
	// A plus or slash before may belong to the secret, or to the format.
	for back := at; back > name && base64raw[s[back-1]]; back-- {
		n++
	}
	if n < awsSecretSize {
		return 0
	}
	return at + run(s, at, &base64s)
}

// awsSecond holds the second bytes of the names that awsName knows.
var awsSecond = only("wWeE")

// awsName returns the end of [aws][_]secret[_]access[_]key, or of awssecretkey.
func awsName(s string, i int) int {
	at, named := i, false
	if hasFold(s, at, "aws") {
		at, named = joint(s, at+len("aws")), true
	}
	if !hasFold(s, at, "secret") {
		return 0
	}
	at = joint(s, at+len("secret"))
	if hasFold(s, at, "access") {
		at, named = joint(s, at+len("access")), true
	}
	if !named || !hasFold(s, at, "key") {
		return 0
	}
	return at + len("key")
}

func joint(s string, i int) int {
	if i < len(s) && (s[i] == '_' || s[i] == '-' || s[i] == ' ' || s[i] == '.') {
		return i + 1
	}
	return i
}

func skipGap(s string, i int) int {
	const gap = 40
	at := i
	for at < len(s) && at < i+gap && !isAlnum(s[at]) {
		at++
	}
	return at
}
