package gate

import (
	"encoding/base64"
	"html"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// awsValue has the form of an AWS secret key.
var awsValue = strings.Repeat("aB3/+", 8)

// placedSecrets are the credentials of every kind, and in each what must be gone.
func placedSecrets() map[string][2]string {
	out := map[string][2]string{}
	for kind, secret := range fakeSecrets() {
		out[kind] = [2]string{secret, secret[len(secret)/2:]}
	}
	plain := "aBcDeFgHiJkLmNoPqRsTuVwX"
	basic := base64.StdEncoding.EncodeToString([]byte("ada:secret12"))
	out["private-key"] = [2]string{fakeSecrets()["private-key"], "MIIE"}
	out["aws secret"] = [2]string{"aws_secret_access_key=" + awsValue, awsValue}
	out["aws pair"] = [2]string{fakeSecrets()["aws"] + ":" + awsValue, awsValue}
	out["basic"] = [2]string{"Basic " + basic, basic[4:]}
	out["bearer header"] = [2]string{"Authorization: Bearer " + plain, plain}
	out["url password"] = [2]string{"postgres://ada:hunter2-x@db.example/x", "hunter2"}
	out["telegram address"] = [2]string{"https://api.telegram.org/bot" + fakeSecrets()["telegram"] + "/send", "aB3_-aB3"}
	out["encrypted web token"] = [2]string{"eyJhbGciOiJSU0EifQ.." + strings.Repeat("aB3_", 4) + "." + strings.Repeat("xY7", 8) + "." + strings.Repeat("aB3_", 6), "xY7xY7"}
	return out
}

func asJSON(s string) string { return strconv.QuoteToASCII(s) }

func percentAll(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if isAlnum(s[i]) {
			b.WriteByte(s[i])
		} else {
			b.WriteString("%" + strings.ToUpper(strconv.FormatUint(0x100+uint64(s[i]), 16)[1:]))
		}
	}
	return b.String()
}

// goJSON also escapes what HTML would take for markup, as encoding/json does.
func goJSON(s string) string {
	return strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(asJSON(s))
}

func TestACredentialIsFoundInEveryContext(t *testing.T) {
	object := func(s string) string { return `{"out":` + asJSON("first\n"+s+"\nlast") + `}` }
	contexts := map[string]func(string) string{
		"alone":                            func(s string) string { return s },
		"in a sentence":                    func(s string) string { return "the key is " + s + " and no other" },
		"at the start of a line":           func(s string) string { return "a\n" + s + " b" },
		"at the end of a line":             func(s string) string { return "a " + s + "\nb" },
		"with CRLF":                        func(s string) string { return "a\r\n" + s + "\r\nb" },
		"in JSON":                          object,
		"in JSON in JSON":                  func(s string) string { return object(object(s)) },
		"in JSON in JSON in JSON":          func(s string) string { return object(object(object(s))) },
		"in JSON of Go":                    func(s string) string { return goJSON("<b>" + s + "</b>&" + s) },
		"in JSON, slashes escaped":         func(s string) string { return strings.ReplaceAll(object(s), "/", `\/`) },
		"behind \\t":                       func(s string) string { return `a\t` + s + `\tb` },
		"behind \\r":                       func(s string) string { return `a\r` + s + `\r\nb` },
		"behind \\b, \\f and \\v":          func(s string) string { return `a\b` + s + `\f` + s + `\v` + s },
		"behind \\u0020":                   func(s string) string { return `a\u0020` + s + `\u0020b` },
		"behind \\u00A0":                   func(s string) string { return `a\u00A0` + s + `\u00A0b` },
		"behind \\x20 and \\040":           func(s string) string { return `a\x20` + s + `\040` + s + `\x20` },
		"behind an escaped quote":          func(s string) string { return `a\"` + s + `\"b` },
		"behind many backslashes":          func(s string) string { return `a\\\\\\\\n` + s + `\\\\\\\\nb` },
		"in a query":                       func(s string) string { return "https://x.example/p?a=1&k=" + url.QueryEscape(s) + "&b=2" },
		"in a query, %20":                  func(s string) string { return "https://x.example/p?a=b%20" + url.QueryEscape(s) + "%20c" },
		"percent-encoded =":                func(s string) string { return "a%3D" + s + "%26b" },
		"percent-encoded, small letters":   func(s string) string { return "a%3d" + s + "%0ab" },
		"percent-encoded twice":            func(s string) string { return "a%253D" + s + "%2526b" },
		"percent-encoded as a whole":       func(s string) string { return percentAll("k=" + s + "&b") },
		"percent-encoded as a whole twice": func(s string) string { return percentAll(percentAll("k=" + s + "&b")) },
		"in HTML":                          func(s string) string { return "<p title=\"x\">" + html.EscapeString("<"+s+">") + "</p>" },
		"in HTML in HTML":                  func(s string) string { return html.EscapeString(html.EscapeString("\"" + s + "\"")) },
		"behind numeric entities":          func(s string) string { return "a&#x20;" + s + "&#32;" + s + "&#x0A;" + s + "&#10;" },
		"behind an open entity":            func(s string) string { return "a&nbsp" + s + "&nbsp;b" },
		"in HTML in JSON":                  func(s string) string { return goJSON("a &lt;" + s + "&gt;") },
		"in a query in JSON":               func(s string) string { return goJSON("/p?a=b&k=" + url.QueryEscape(s)) },
		"in JSON in a query":               func(s string) string { return url.QueryEscape(object(s)) },
		"in XML":                           func(s string) string { return "<key>" + s + "</key>" },
		"in a shell command":               func(s string) string { return "curl -H '" + s + "' https://x.example | jq ." },
		"in an assignment":                 func(s string) string { return "export TOKEN=" + s + "; run" },
		"in YAML":                          func(s string) string { return "a:\n  key: " + s + "\n  b: c" },
		"coloured":                         func(s string) string { return "\x1b[1;31m" + s + "\x1b[0m" },
		"coloured, in JSON":                func(s string) string { return goJSON("\x1b[31m" + s + "\x1b[0m") },
	}
	for _, c := range "=:\"'`([{<>,;|&_-/\\@#!?*+~^%$" {
		contexts["after "+string(c)] = func(s string) string { return "a" + string(c) + s + " b" }
	}
	for context, put := range contexts {
		for name, secret := range placedSecrets() {
			mustBeGone(t, name+", "+context, put(secret[0]), secret[1])
		}
	}
}

func mustBeGone(t *testing.T, name, text, secret string) {
	t.Helper()
	got := Redact(text)
	if strings.Contains(got, secret) || len(FindSecrets(text)) == 0 || !hasSecret(text) {
		t.Errorf("%s: %q becomes %q", name, text, got)
	}
	if Redact(got) != got || hasSecret(got) {
		t.Errorf("%s: %q is not the end of it", name, got)
	}
}
