package strict

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// wantFault fails unless err is exactly one fault of that code and path.
func wantFault(t *testing.T, err error, code Code, path string) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a fault %s", err, code)
	}
	if e.Code != code || e.Path != path {
		t.Fatalf("got %s at %q (%v), want %s at %q", e.Code, e.Path, err, code, path)
	}
	wantPlain(t, e)
	return e
}

// wantPlain fails where a message is not one clean sentence.
func wantPlain(t *testing.T, e *Error) {
	t.Helper()
	for _, r := range e.Message + e.Path {
		if r < ' ' || 0x7f <= r && r < 0xa0 || 0x202a <= r && r <= 0x202e {
			t.Errorf("%U in %q or %q", r, e.Message, e.Path)
		}
	}
	if !strings.HasSuffix(e.Message, ".") || len(e.Message) > 600 {
		t.Errorf("not one sentence: %q", e.Message)
	}
}

func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestCheckAcceptsWhatEveryParserReadsAlike(t *testing.T) {
	for _, raw := range []string{
		`null`, `true`, ` 1 `, `"x"`, `[]`, `{}`, "\t{\n}\r\n",
		`{"a":{"a":1},"b":[{"a":1},{"a":2}]}`,
		`{"a":1,"A":2}`,
		`"\ud83d\ude00 \u00e9 \" \\ \/ \b\f\n\r\t"`,
		`"\\u0000 \\ud800"`,
		"\"\u2028 \u202e \x7f\"",
		`[1e400,-0,9007199254740993,0.1E+5]`,
		nested(64), strings.Repeat(`{"a":`, 64) + "1" + strings.Repeat("}", 64),
		`"[[[[{{{{"`,
	} {
		if err := Check([]byte(raw), Limits{}); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	tests := map[string]struct {
		raw  string
		code Code
		path string
		at   int
	}{
		"an empty text":                              {"", NotJSON, "", 0},
		"white space alone":                          {" \n", NotJSON, "", 2},
		"a word that is no JSON":                     {"nope", NotJSON, "", 1},
		"a number that JSON does not know":           {"[01]", NotJSON, "", 2},
		"NaN":                                        {"NaN", NotJSON, "", 0},
		"a single quote":                             {"{'a':1}", NotJSON, "", 1},
		"a comma too many":                           {`[1,]`, NotJSON, "/1", 3},
		"a comment":                                  {`{"a":1/**/}`, NotJSON, "", 6},
		"a byte order mark":                          {"\ufeff{}", NotJSON, "", 0},
		"a text that ends early":                     {`{"a":[1`, NotJSON, "/a", 7},
		"brackets that do not match":                 {`{"a":[1}}`, NotJSON, "/a", 7},
		"a raw control character":                    {"\"a\nb\"", NotJSON, "", 2},
		"an escape that JSON does not know":          {`"\x41"`, NotJSON, "", 1},
		"a second value":                             {`{} {}`, TrailingData, "", 3},
		"rubbish after the value":                    {`1 x`, TrailingData, "", 2},
		"a repeated key":                             {`{"a":1,"a":2}`, RepeatedKey, "/a", 7},
		"a key repeated in another spelling":         {`{"a":1,"\u0061":2}`, RepeatedKey, "/a", 7},
		"a repeated key deep inside":                 {`{"x":[0,{"b":1,"c":2,"b":3}]}`, RepeatedKey, "/x/1/b", 21},
		"a repeated empty key":                       {`{"":1,"":2}`, RepeatedKey, "/", 6},
		"NUL, escaped, in a string":                  {`{"a":"x\u0000"}`, NULCharacter, "/a", 7},
		"NUL, escaped, in a key":                     {`{"a\u0000":1}`, NULCharacter, "/a\ufffd", 3},
		"NUL, raw, in a string":                      {"{\"a\":\"\x00\"}", NULCharacter, "/a", 6},
		"NUL, raw, between values":                   {"[1,\x002]", NotJSON, "/1", 3},
		"a high surrogate alone":                     {`["\ud83d"]`, LoneSurrogate, "/0", 2},
		"a low surrogate alone":                      {`["\uDE00"]`, LoneSurrogate, "/0", 2},
		"two high surrogates":                        {`"\ud83d\ud83d"`, LoneSurrogate, "", 1},
		"two low surrogates":                         {`"\ude00\ude00"`, LoneSurrogate, "", 1},
		"a surrogate pair the wrong way round":       {`"\ude00\ud83d"`, LoneSurrogate, "", 1},
		"a high surrogate before an ordinary escape": {`"\ud83d\u0041"`, LoneSurrogate, "", 1},
		"a lone surrogate in a key":                  {`{"\ud800":1}`, LoneSurrogate, "/\ufffd", 2},
		"bytes that are not UTF-8":                   {"{\"k\":\"\xff\"}", InvalidUTF8, "/k", 6},
		"a surrogate encoded as UTF-8":               {"\"\xed\xa0\x80\"", InvalidUTF8, "", 1},
		"an overlong encoding of a slash":            {"\"\xc0\xaf\"", InvalidUTF8, "", 1},
		"65 levels":                                  {nested(65), TooDeep, strings.Repeat("/0", 64), 64},
		"10,000 levels without an end":               {strings.Repeat("[", 10000), TooDeep, strings.Repeat("/0", 64), 64},
		"10,000 levels of objects": {strings.Repeat(`{"a":`, 10000) + "1" + strings.Repeat("}", 10000), TooDeep,
			strings.Repeat("/a", 64), 320},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			e := wantFault(t, Check([]byte(tt.raw), Limits{}), tt.code, tt.path)
			if e.Offset != tt.at {
				t.Errorf("offset %d, want %d (%v)", e.Offset, tt.at, e)
			}
		})
	}
}

func TestCheckKeepsItsLimits(t *testing.T) {
	text := func(n int) []byte { return []byte(`"` + strings.Repeat("x", n-2) + `"`) }
	if err := Check(text(1<<20), Limits{}); err != nil {
		t.Errorf("1 MiB: %v", err)
	}
	wantFault(t, Check(text(1<<20+1), Limits{}), TooLarge, "")
	wantFault(t, Check([]byte(`[1,2]`), Limits{MaxBytes: 4}), TooLarge, "")
	if err := Check([]byte(nested(3)), Limits{MaxDepth: 3}); err != nil {
		t.Errorf("depth 3 of 3: %v", err)
	}
	wantFault(t, Check([]byte(nested(4)), Limits{MaxDepth: 3}), TooDeep, "/0/0/0")
	if err := Check([]byte(`[[],[],[],{}]`), Limits{MaxDepth: 2}); err != nil {
		t.Errorf("siblings are not depth: %v", err)
	}
}

func TestMessagesQuoteLittleAndCleanly(t *testing.T) {
	key := strings.Repeat("k", 5000)
	e := wantFault(t, Check([]byte(`{"`+key+`":1,"`+key+`":2}`), Limits{}), RepeatedKey, "/"+key[:255]+"…")
	if strings.Contains(e.Message, key[:65]) {
		t.Errorf("quotes more than 64 bytes: %s", e.Message)
	}
	e = wantFault(t, Check([]byte("{\"\u202e\x7f\":1,\"\u202e\x7f\":2}"), Limits{}), RepeatedKey, "/\ufffd\ufffd")
	if !strings.Contains(e.Message, `\u202e`) {
		t.Errorf("does not show the character as an escape: %s", e.Message)
	}
}

// Texts of a mebibyte that are hard on anything quadratic. Each takes some tens of
// milliseconds; a quadratic step would take a minute.
func TestTheTimeIsLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a moment")
	}
	var keys, labels strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&keys, `"%05d":1,`, i)
		labels.WriteString(`"toolong",`)
	}
	long := strings.Repeat("x", 1<<19)
	for name, text := range map[string]string{
		"different keys": `{` + keys.String() + `"z":1}`,
		"equal keys":     `{` + strings.Repeat(`"a":1,`, 1<<17) + `"a":1}`,
		"open brackets":  strings.Repeat("[", 1<<20),
		"open objects":   strings.Repeat(`{"a":`, 1<<17),
		"escapes":        `{"a":"` + strings.Repeat(`\u0041`, 1<<17) + `"}`,
		"backslashes":    `{"` + strings.Repeat(`\\`, 1<<18),
		"faults":         `{"action":{"type":"a","title":"t","labels":[` + labels.String() + `"x"]}}`,
		"long keys":      `{"` + long + `":1,"` + long + `":1}`,
		"strings":        `{"ids":[` + strings.Repeat(`"1",`, 1<<17) + `"x"]}`,
	} {
		start := time.Now()
		raw := []byte(text)
		_ = Check(raw, Limits{MaxBytes: 1 << 21, MaxDepth: 9000})
		_, _ = Members(raw)
		_, _ = Canonical(raw)
		_ = New(Options{Limits: Limits{MaxBytes: 1 << 21}}).Decode(raw, new(call))
		if d := time.Since(start); d > 8*time.Second {
			t.Errorf("%s: %d bytes took %v", name, len(raw), d)
		} else {
			t.Logf("%s: %d bytes took %v", name, len(raw), d)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"b":"\u0041"}]}`, `{"a":1,"a":2}`, `"\ud83d\ude00"`, "\"\xff\"", `[[[]]]`, `1e400`, "", `{} {}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		err := Check(raw, Limits{MaxDepth: 8, MaxBytes: 1 << 16})
		if !bytes.Equal(before, raw) {
			t.Fatal("the text was changed")
		}
		if err == nil {
			if !stdjson.Valid(raw) {
				t.Fatalf("accepted what encoding/json refuses: %q", raw)
			}
			return
		}
		var e *Error
		if !errors.As(err, &e) {
			t.Fatalf("an error of another type: %v", err)
		}
		wantPlain(t, e)
		if e.Code == NotJSON && stdjson.Valid(raw) {
			t.Fatalf("%q is JSON: %v", raw, e)
		}
		if e.Code == TrailingData && stdjson.Valid(raw) {
			t.Fatalf("%q is one value: %v", raw, e)
		}
	})
}
