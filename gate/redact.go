package gate

import (
	"bytes"
	"slices"
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
// that was cut apart, encrypted, or encoded as base64 or hex.
//
// The text is read as it stands, and as it reads once the escapes of JSON, URLs,
// HTML and terminals in it are resolved, a few layers deep: a credential behind
// an escaped line break is found, and one with an escaped character inside.
//
// What stands behind a known prefix must look random, so that a name such as
// sk-admin-dashboard-settings-page is left alone.
//
// The time it takes grows with the length of the text and nothing else.
func FindSecrets(s string) []Span {
	spans := scan(s, nil)
	plain := len(spans)
	for v := (view{text: s}); ; {
		next, changed := v.resolved()
		if !changed {
			break
		}
		v = next
		for _, span := range scan(v.text, nil) {
			span.Start, span.End = v.source(span.Start), v.source(span.End)
			spans = append(spans, span)
		}
	}
	if len(spans) == plain {
		return spans
	}
	return merged(spans)
}

// merged sorts spans and joins those that overlap. The kind is that of the first,
// and of what was found in the plainer reading where two begin together.
func merged(spans []Span) []Span {
	slices.SortStableFunc(spans, func(a, b Span) int { return a.Start - b.Start })
	out := spans[:1]
	for _, span := range spans[1:] {
		if last := &out[len(out)-1]; span.Start < last.End {
			last.End = max(last.End, span.End)
		} else {
			out = append(out, span)
		}
	}
	return out
}

// Redact replaces every credential of a text by "[redacted:kind]". Nothing that
// [FindSecrets] knows is left, so redacting twice changes nothing more.
func Redact(s string) string {
	for range passes {
		spans := FindSecrets(s)
		if len(spans) == 0 {
			return s
		}
		s = without(s, spans)
	}
	// Only a made-up text comes here. What is left of it goes as a whole.
	for range passes {
		spans := FindSecrets(s)
		if len(spans) == 0 {
			return s
		}
		s = s[:spans[0].Start] + mask(spans[0].Kind)
	}
	return mask("text")
}

// passes bounds how often a text is looked through again: what is left when a
// credential is taken out of another one can be a third.
const passes = 8

func mask(kind string) string { return "[redacted:" + kind + "]" }

func without(s string, spans []Span) string {
	var b strings.Builder
	b.Grow(len(s))
	last := 0
	for _, span := range spans {
		b.WriteString(s[last:span.Start])
		b.WriteString(mask(span.Kind))
		last = span.End
	}
	b.WriteString(s[last:])
	return b.String()
}

// hasSecret reports whether FindSecrets would find any. It allocates nothing for
// a text without escapes.
func hasSecret(s string) bool {
	for v := (view{text: s}); ; {
		sc := scanner{s: v.text}
		if _, found := sc.next(0); found {
			return true
		}
		next, changed := v.resolved()
		if !changed {
			return false
		}
		v = next
	}
}

// dataHasSecret looks at a JSON object as it is written, since some credentials
// are known by the name before them, and at every name and text of it by itself.
// What cannot be read counts as carrying one.
func dataHasSecret(data jsontext.Value) bool {
	if len(data) == 0 {
		return false
	}
	if hasSecret(string(data)) {
		return true
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

func scan(s string, spans []Span) []Span {
	sc := scanner{s: s}
	for at := 0; at < len(s); {
		span, found := sc.next(at)
		if !found {
			break
		}
		spans = append(spans, span)
		at = span.End
	}
	return spans
}

// scanner looks for credentials in one reading of a text, from left to right.
//
// Each detector is asked only where its first byte stands. A failed one has read
// a bounded number of bytes, or a word that no later one reads again. So the scan
// is linear.
type scanner struct {
	s     string
	noJWT int // no web token begins before this offset
}

func (sc *scanner) next(from int) (Span, bool) {
	for i := from; i < len(sc.s); i++ {
		if !mayBegin[sc.s[i]] {
			continue
		}
		begins := i == 0 || !isAlnum(sc.s[i-1])
		if !begins && !mayBeginInside[sc.s[i]] {
			continue
		}
		if end, kind := sc.at(i, begins); end > 0 {
			return Span{Start: i, End: end, Kind: kind}, true
		}
	}
	return Span{}, false
}

// at returns the end and kind of the credential that begins at i, or 0. begins
// says that a word begins there.
func (sc *scanner) at(i int, begins bool) (int, string) {
	s := sc.s
	c := lowerASCII(s[i])
	switch c {
	case '-':
		return pemKey(s, i), "private-key"
	case ':':
		// Reported from the colon on, so that the scheme stays readable.
		return urlPassword(s, i), "url-password"
	}
	if end, kind := prefixed(s, i, begins); end > 0 {
		return end, kind
	}
	switch {
	case c == 'a' || c == 's':
		if i+1 < len(s) && !awsSecond[s[i+1]] {
			return 0, "" // most words
		}
		return awsSecret(s, i), "aws"
	case c >= '0' && c <= '9':
		return telegram(s, i), "telegram"
	case !begins:
		return 0, "" // in the middle of a word
	case c == 'e':
		return sc.jwt(i), "jwt"
	case c == 'b' || c == 't':
		return authorization(s, i), "authorization"
	}
	return 0, ""
}
