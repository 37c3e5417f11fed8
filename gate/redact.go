package gate

import (
	"bytes"
	"encoding/base64"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Span is a credential inside of a text: the bytes from Start up to, but not
// including, End.
type Span struct {
	Start, End int
	Kind       string // what it looks like, such as "github" or "jwt"
}

// FindSecrets returns the credentials in a text, in order and without overlap.
//
// It recognises by form: tokens of reeve itself, keys of AWS, Google, GitHub,
// GitLab, Slack, Stripe, OpenAI, Anthropic, npm, PyPI, SendGrid, Hugging Face
// and Telegram, private keys in PEM, JSON Web Tokens, Bearer and Basic
// credentials, and URLs with a password. A secret without a form of its own,
// such as a password in a sentence, cannot be recognised, and neither can one
// that was encoded or cut apart.
//
// The time it takes grows with the length of the text and nothing else.
func FindSecrets(s string) []Span {
	var spans []Span
	for at := 0; at < len(s); {
		span, found := nextSecret(s, at)
		if !found {
			break
		}
		spans = append(spans, span)
		at = span.End
	}
	return spans
}

// Redact replaces every credential of a text by "[redacted:kind]". Redacting
// twice changes nothing more.
func Redact(s string) string {
	for range passes {
		spans := FindSecrets(s)
		if len(spans) == 0 {
			break
		}
		s = without(s, spans)
	}
	return s
}

// passes bounds how often a text is looked through again: what is left when a
// credential is taken out of another one can be a third. Each pass takes out more
// of the text's own characters, so a few are enough for any but a made-up text.
const passes = 8

func without(s string, spans []Span) string {
	var b strings.Builder
	b.Grow(len(s))
	last := 0
	for _, span := range spans {
		b.WriteString(s[last:span.Start])
		b.WriteString("[redacted:" + span.Kind + "]")
		last = span.End
	}
	b.WriteString(s[last:])
	return b.String()
}

func hasSecret(s string) bool {
	_, found := nextSecret(s, 0)
	return found
}

// dataHasSecret looks at every name and text of a JSON object, unescaped. What
// cannot be read counts as carrying one.
func dataHasSecret(data jsontext.Value) bool {
	if len(data) == 0 {
		return false
	}
	dec := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true))
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return dec.InputOffset() < int64(len(trimRight(data)))
		}
		if token.Kind() == '"' && hasSecret(token.String()) {
			return true
		}
	}
}

// nextSecret scans on from a byte offset. Each detector is asked only where its
// first byte stands; a failed one has read at most as much as its shortest
// credential, or one whole word that it begins. So the scan is linear.
func nextSecret(s string, from int) (Span, bool) {
	for i := from; i < len(s); i++ {
		if !mayBegin[s[i]] {
			continue
		}
		if end, kind := secretAt(s, i); end > 0 {
			return Span{Start: i, End: end, Kind: kind}, true
		}
	}
	return Span{}, false
}

// secretAt returns the end and kind of the credential that begins at i, or 0.
func secretAt(s string, i int) (int, string) {
	switch s[i] {
	case '-':
		return pemKey(s, i), "private-key"
	case ':':
		// Reported from the colon on, so that scheme and host stay readable.
		return urlPassword(s, i), "url-password"
	}
	if i > 0 && isAlnum(s[i-1]) {
		return 0, "" // in the middle of a word
	}
	if end, kind := prefixed(s, i); end > 0 {
		return end, kind
	}
	switch c := s[i]; {
	case c == 'e':
		return jwt(s, i), "jwt"
	case c == 'b' || c == 'B':
		return authorization(s, i), "authorization"
	case c == 'a' || c == 'A' || c == 's' || c == 'S':
		return awsSecret(s, i), "aws"
	case c >= '0' && c <= '9':
		return telegram(s, i), "telegram"
	}
	return 0, ""
}

func prefixed(s string, i int) (int, string) {
	if s[i] == 'r' {
		if end := ownToken(s, i); end > 0 {
			return end, "reeve"
		}
	}
	for _, sh := range byFirst[s[i]] {
		if !strings.HasPrefix(s[i:], sh.prefix) {
			continue
		}
		body := i + len(sh.prefix)
		if n := run(s, body, sh.set); n >= sh.least && (sh.kind != "aws" || n == sh.least) {
			return body + n, sh.kind
		}
	}
	return 0, ""
}

// ownToken finds rv_<kind>_<43 url-safe characters>. Whatever is glued to the
// end goes with it.
func ownToken(s string, i int) int {
	const secret, longestKind = 43, 16
	if !strings.HasPrefix(s[i:], "rv_") {
		return 0
	}
	at := i + len("rv_")
	for at < len(s) && at < i+len("rv_")+longestKind && s[at] >= 'a' && s[at] <= 'z' {
		at++
	}
	if at == i+len("rv_") || at >= len(s) || s[at] != '_' {
		return 0
	}
	if n := run(s, at+1, &urlSafe); n >= secret {
		return at + 1 + n
	}
	return 0
}

// pemKey finds a private key from its first line up to its last one, or up to
// the end of the text where the last line is missing.
func pemKey(s string, i int) int {
	const begin, label = "-----BEGIN ", 40
	if !strings.HasPrefix(s[i:], begin) {
		return 0
	}
	head := s[i+len(begin) : min(len(s), i+len(begin)+label)]
	name, _, closed := strings.Cut(head, "-----")
	if !closed || (!strings.HasSuffix(name, "PRIVATE KEY") && !strings.HasSuffix(name, "PRIVATE KEY BLOCK")) {
		return 0
	}
	last := "-----END " + name + "-----"
	if at := strings.Index(s[i:], last); at >= 0 {
		return i + at + len(last)
	}
	return len(s)
}

// jwt finds three base64url parts of which the first two begin as JSON objects
// do. It begins only where the word begins: else a text of nothing but "eyJ-"
// would be read over and over.
func jwt(s string, i int) int {
	if !strings.HasPrefix(s[i:], "eyJ") || (i > 0 && urlSafe[s[i-1]]) {
		return 0
	}
	at := i + run(s, i, &urlSafe)
	if !strings.HasPrefix(s[at:], ".eyJ") {
		return 0
	}
	at++
	at += run(s, at, &urlSafe)
	if at >= len(s) || s[at] != '.' {
		return 0
	}
	return at + 1 + run(s, at+1, &urlSafe)
}

// authorization finds the credentials of RFC 6750 and RFC 7617 behind their
// scheme. The word alone is plain English, so what follows must look the part.
func authorization(s string, i int) int {
	if end := schemeValue(s, i, "bearer ", &bearer); end > 0 {
		value := s[i+len("bearer ") : end]
		if len(value) >= 20 && strings.ContainsAny(value, "0123456789") {
			return end
		}
	}
	if end := schemeValue(s, i, "basic ", &base64s); end > 0 && holdsColon(s[i+len("basic "):end]) {
		return end
	}
	return 0
}

func schemeValue(s string, i int, scheme string, set *alphabet) int {
	if len(s)-i < len(scheme) || !equalASCIIFold(s[i:i+len(scheme)], scheme) {
		return 0
	}
	return i + len(scheme) + run(s, i+len(scheme), set)
}

// holdsColon reports whether a text is base64 of "user:password" (RFC 7617 §2).
// Only the padded and the bare form of the standard alphabet occur there.
func holdsColon(s string) bool {
	if len(s) < 8 {
		return false
	}
	plain, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
	if err != nil {
		return false
	}
	text := string(plain)
	for i := range len(text) {
		if text[i] < ' ' || text[i] == 0x7F {
			return false
		}
	}
	return strings.Contains(text, ":")
}

// awsSecret finds an AWS secret key by its name, since it has no form itself.
func awsSecret(s string, i int) int {
	const size = 40
	at := i
	for _, name := range [...]string{"aws_secret_access_key", "awssecretkey", "secretaccesskey", "secret_access_key"} {
		if len(s)-i >= len(name) && equalASCIIFold(s[i:i+len(name)], name) {
			at = i + len(name)
			break
		}
	}
	if at == i {
		return 0
	}
	for n := 0; n < 8 && at < len(s) && strings.IndexByte(" \t\"'=:", s[at]) >= 0; n++ {
		at++
	}
	if n := run(s, at, &base64s); n >= size {
		return at + n
	}
	return 0
}

// telegram finds <8 to 10 digits>:<35 url-safe characters>.
func telegram(s string, i int) int {
	const secret = 35
	digits := 0
	for i+digits < len(s) && digits <= 10 && s[i+digits] >= '0' && s[i+digits] <= '9' {
		digits++
	}
	if digits < 8 || digits > 10 || i+digits >= len(s) || s[i+digits] != ':' {
		return 0
	}
	if n := run(s, i+digits+1, &urlSafe); n == secret {
		return i + digits + 1 + n
	}
	return 0
}

// urlPassword finds ://user:password@ and returns the place of the @ or 0. A
// placeholder such as ://user:***@ is none.
func urlPassword(s string, i int) int {
	if !strings.HasPrefix(s[i:], "://") {
		return 0
	}
	colon := -1
	for at := i + len("://"); at < len(s); at++ {
		switch c := s[at]; {
		case c == '@':
			if colon >= 0 && at > colon+1 && strings.Trim(s[colon+1:at], "*xX.<>") != "" && !strings.HasPrefix(s[colon+1:at], "[redacted") {
				return at
			}
			return 0
		case c == ':' && colon < 0:
			colon = at
		case c <= ' ', c == '/', c == '?', c == '#', c == '"', c == '\'':
			return 0
		}
	}
	return 0
}
