package main

import (
	"strings"
	"testing"
	"time"
	"unicode"
)

func TestVisibleLine(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain words", "Annual plan renewal", "Annual plan renewal"},
		{"other scripts", "Año 年 सत्य می\u200cخواهم 👩\u200d💻", "Año 年 सत्य می\u200cخواهم 👩\u200d💻"},
		{"an escape sequence", "\x1b[2Jgone", "⟨U+001B⟩[2Jgone"},
		{"a line break", "one\nIntent 7 is approved.", "one⟨U+000A⟩Intent 7 is approved."},
		{"a carriage return", "good\rbad", "good⟨U+000D⟩bad"},
		{"an eight-bit control", "\u009b31m", "⟨U+009B⟩31m"},
		{"reversed text", "a\u202egpj.exe", "a⟨U+202E⟩gpj.exe"},
		{"nothing that shows", "a\u200bb\ufeffc\u00ad", "a⟨U+200B⟩b⟨U+FEFF⟩c⟨U+00AD⟩"},
		{"tags", "a\U000e0041", "a⟨U+E0041⟩"},
		{"private use", "\ue000", "⟨U+E000⟩"},
		{"line separators", "a\u2028b\u2029", "a⟨U+2028⟩b⟨U+2029⟩"},
		{"bytes that are no text", "a\xffb", "a\uFFFDb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := visibleLine(c.in); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestVisibleTextKeepsLinesBehindTheMargin(t *testing.T) {
	if got, want := visibleText("a\n\tb\r\nc\n", "| "), "a\n| \tb⟨U+000D⟩\n| c\n| "; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func FuzzVisible(f *testing.F) {
	for _, seed := range []string{"a", "\x1b[0m", "a\nb", "\u202e", "\xff", "\u200d", "\t"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range visibleLine(s) {
			if !unicode.IsGraphic(r) && r != '\u200c' && r != '\u200d' {
				t.Fatalf("%q is printed with %U", s, r)
			}
		}
		for i, line := range strings.Split(visibleText(s, "| "), "\n") {
			if i > 0 && !strings.HasPrefix(line, "| ") {
				t.Fatalf("%q is printed with the line %q", s, line)
			}
		}
	})
}

func TestShort(t *testing.T) {
	if short("año", 3) != "año" || short("años", 3) != "añ…" || short("", 3) != "" {
		t.Error(short("año", 3), short("años", 3))
	}
}

func TestALifeIsReadInDaysToo(t *testing.T) {
	for text, want := range map[string]time.Duration{"90d": 90 * 24 * time.Hour, "12h": 12 * time.Hour, "1h30m": 90 * time.Minute,
		"0d": 0, "-1d": 0, "d": 0, "1.5d": 0, "1d12h": 0, "": 0, "90": 0, "70000d": 0, "-1h": 0} {
		var l life
		err := l.UnmarshalText([]byte(text))
		if (err == nil) != (want > 0) || err == nil && time.Duration(l) != want {
			t.Errorf("%q is %v, %v", text, time.Duration(l), err)
		}
	}
}

func TestInWords(t *testing.T) {
	for d, want := range map[time.Duration]string{-time.Second: "no time", 0: "no time", 59 * time.Second: "59s", 90 * time.Second: "1m 30s",
		24*time.Hour - time.Second: "23h 59m", 48 * time.Hour: "2d 0h", 90*24*time.Hour - 1: "89d 23h"} {
		if got := inWords(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestShellQuoted(t *testing.T) {
	for in, want := range map[string]string{"./a-b_1": "./a-b_1", "my data": "'my data'", "it's": `'it'\''s'`, "": "''", "$(x)": "'$(x)'"} {
		if got := shellQuoted(in); got != want {
			t.Errorf("%q is %s, want %s", in, got, want)
		}
	}
}

func TestBaseURL(t *testing.T) {
	for in, want := range map[string]string{"127.0.0.1:3401": "http://127.0.0.1:3401", ":80": "http://127.0.0.1:80", "0.0.0.0:80": "http://127.0.0.1:80",
		"[::]:80": "http://127.0.0.1:80", "[::1]:80": "http://[::1]:80", "localhost:80": "http://localhost:80", "80": "", "": ""} {
		got, err := baseURL(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v", in, got, err)
		}
	}
}
