package gate

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

func FuzzParsePolicy(f *testing.F) {
	f.Add(string(DefaultYAML()))
	f.Add(ownPolicy)
	f.Add(aRule("", ""))
	f.Add(`{"version":1,"rules":[{"id":"x","match":{},"effect":"deny","reason":"\ud83d\ude00."}]}`)
	f.Add("version: 1\n? {a: [b, &c d]}\n: *c\n---\n- !!binary x\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := LoadPolicy("f.yaml", []byte(text))
		if err != nil {
			all, ok := errors.AsType[PolicyErrors](err)
			if p != nil || !ok || len(all) == 0 || all[0].File != "f.yaml" {
				t.Fatalf("%v, %v", p, err)
			}
			return
		}
		for _, r := range p.Rules() {
			if !r.Effect.Valid() || r.ID == "" || r.Reason == "" || (r.Pos.Line == 0) {
				t.Fatalf("a rule came through: %+v", r)
			}
		}
		a := Action{Type: "spend", Title: "x", AmountCents: cents(1)}
		if p.Evaluate(a, Facts{}).Effect != p.Decide(a, Facts{}) || len(p.Digest()) != 64 {
			t.Fatal("the policy does not judge")
		}
	})
}

func FuzzKey(f *testing.F) {
	f.Add("spend", "Annual plan renewal", "", "", int64(4900))
	f.Add(`a|b`, `c\`, `|d`, `\|`, int64(-1))
	f.Fuzz(func(t *testing.T, typ, title, recipient, body string, amount int64) {
		a := Action{Type: typ, Title: title, Recipient: recipient, Body: body, AmountCents: cents(Cents(amount))}
		key := Key(a)
		if len(key) != 32 || strings.Trim(key, "0123456789abcdef") != "" {
			t.Fatalf("the key is %q", key)
		}
		// Moving the first byte of a field into the one before it is another split.
		if title != "" {
			b := a
			b.Type, b.Title = typ+title[:1], title[1:]
			if Key(b) == key {
				t.Fatalf("%+v and %+v share a key", a, b)
			}
		}
		digest, err := Digest("a", "p", a)
		valid := utf8.ValidString(typ) && utf8.ValidString(title) && utf8.ValidString(recipient) && utf8.ValidString(body)
		inRange := amount <= int64(MaxCents) && amount >= -int64(MaxCents)
		if (err == nil) != (valid && inRange) || (err == nil) != (len(digest) == 64) {
			t.Fatalf("digest %q, %v", digest, err)
		}
	})
}

func FuzzCheck(f *testing.F) {
	f.Add(`{"type":"spend","title":"x","amount_cents":4900,"amount":"49.00 USD","data":{"n":[1,{"a":0.1}]}}`)
	f.Add(`{"type":"send","title":"a\u200db","body":"\r\n\t","labels":["a"],"tainted_by":["b"]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var a Action
		if json.Unmarshal([]byte(text), &a) != nil {
			return
		}
		v := DefaultPolicy().Evaluate(a, Facts{})
		if !v.Effect.Valid() || v.Effect != DefaultPolicy().Decide(a, Facts{}) || (v.Effect == Allow && Outward(a.Type)) {
			t.Fatalf("%+v of %+v", v, a)
		}
		if err := a.Check(); err != nil {
			if _, ok := errors.AsType[FieldErrors](err); !ok {
				t.Fatalf("%T", err)
			}
			return
		}
		restated, err := a.Restated("USD")
		if err != nil {
			t.Fatalf("well-formed, and cannot be restated: %v", err)
		}
		canonical, err := Canonical("a", "p", restated)
		if err != nil {
			t.Fatalf("well-formed, and has no digest: %v", err)
		}
		again := jsontext.Value(bytes.Clone(canonical))
		if err := again.Canonicalize(); err != nil || !bytes.Equal(again, canonical) {
			t.Fatalf("not canonical: %s, %v", canonical, err)
		}
	})
}

func FuzzAmount(f *testing.F) {
	for _, s := range []string{"49.00 USD", "49 JPY", "0.001 KWD", "90071992547409.91 EUR", "1e5 USD", "-1 USD"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, code, ferr := parseAmount(s)
		if ferr != nil {
			return
		}
		text, err := Money(c, code)
		if err != nil || c < 0 || c > MaxCents {
			t.Fatalf("%q reads as %d %s", s, c, code)
		}
		if again, _, ferr := parseAmount(text); ferr != nil || again != c {
			t.Fatalf("%q is written %q", s, text)
		}
		if number, _, _ := strings.Cut(s, " "); !strings.HasPrefix(text, number) {
			t.Fatalf("%q became %q", s, text)
		}
	})
}

func FuzzCents(f *testing.F) {
	for _, s := range []string{"4900", "1e400", "49.5", "9007199254740992", "-0", "null", `"1"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var c Cents
		err := c.UnmarshalJSON([]byte(s))
		if code := codeOf(err); err != nil && code != CodeWrongType && code != CodeAmountOutOfRange {
			t.Fatal(err)
		}
		if err == nil && (c > MaxCents || c < -MaxCents) {
			t.Fatalf("%q reads as %d", s, c)
		}
	})
}

func FuzzRedact(f *testing.F) {
	for _, secret := range fakeSecrets() {
		f.Add("x " + secret + " y")
	}
	f.Add("postgres://ada:secret@db")
	f.Add(`{"a":"\\n%253D&amp;lt;\u003d\x3d\075"}` + "\x1b[1m")
	f.Add("://a:b/c?d#e@f@g ://[::1]:80@ ://[redacted:aws]:x@y")
	f.Add("Authorization: Basic YWRhOnNlY3JldDE= AWS secret access key value aB3/")
	f.Add("p\x86os://a//ada://s:dapos:sea://s:dapos:cead:@a\xfc\xbc\xde\"\x86c")
	f.Fuzz(func(t *testing.T, s string) {
		at := 0
		for _, span := range FindSecrets(s) {
			if span.Start < at || span.End <= span.Start || span.End > len(s) || span.Kind == "" {
				t.Fatalf("%+v in %q", span, s)
			}
			at = span.End
		}
		once := Redact(s)
		if left := FindSecrets(once); len(left) != 0 {
			t.Fatalf("%q becomes %q, which still has %+v", s, once, left)
		}
		if (at == 0) != (once == s) || hasSecret(s) != (at > 0) {
			t.Fatalf("%q becomes %q", s, once)
		}
	})
}

// Whatever stands around a credential, on other lines or behind line breaks that
// were escaped, it is found.
func FuzzACredentialIsFound(f *testing.F) {
	f.Add("token:", "}", false)
	f.Add(`{"a":"\\`, `\u0`, true)
	f.Add("\x1b[", "%0", true)
	f.Add("://a:", "@h", false)
	f.Add("eyJhbGciOiJub25lIn0.", "&amp", true)
	f.Fuzz(func(t *testing.T, before, after string, escaped bool) {
		newline := "\n"
		if escaped {
			newline = `\n`
		}
		for name, secret := range placedSecrets() {
			text := before + newline + secret[0] + newline + after
			got := Redact(text)
			was := strings.Count(before+after, secret[1])
			if left := strings.Count(got, secret[1]); left > 0 && left >= was+1 {
				t.Fatalf("%s: %q becomes %q", name, text, got)
			}
			if hasSecret(got) {
				t.Fatalf("%s: %q still has one", name, got)
			}
		}
	})
}

func FuzzCheckText(f *testing.F) {
	f.Add("a\u200db", false)
	f.Add("x\r\ny", true)
	f.Fuzz(func(t *testing.T, s string, block bool) {
		kind := Line
		if block {
			kind = Block
		}
		err := CheckText(s, kind)
		if err != nil {
			return
		}
		if !utf8.ValidString(s) || strings.ContainsAny(s, "\x00\x1b\u202e\u2066\ufeff\u200b\u2060") {
			t.Fatalf("%q passes", s)
		}
		if kind == Line && strings.ContainsAny(s, "\n\r\t") {
			t.Fatalf("%q passes as a line", s)
		}
	})
}
