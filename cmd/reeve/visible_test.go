package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"
)

func TestVisible(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		exact          string // where it differs
	}{
		{"plain words", "Annual plan renewal", "Annual plan renewal", ""},
		{"other scripts", "Año 年 सत्य שלום", "Año 年 सत्य שלום", ""},
		{"a joiner that Persian needs", "می\u200cخواهم", "می\u200cخواهم", "می⟨U+200C⟩خواهم"},
		{"a joined emoji", "👩\u200d💻", "👩\u200d💻", "👩⟨U+200D⟩💻"},
		{"an emoji with its selector", "❤\ufe0f", "❤\ufe0f", "❤⟨U+FE0F⟩"},
		{"a joiner in Latin words", "pay\u200dpal é\u200cé", "pay⟨U+200D⟩pal é⟨U+200C⟩é", ""},
		{"a joiner at the end", "می\u200c", "می⟨U+200C⟩", ""},
		{"a selector after a letter", "a\ufe0f", "a⟨U+FE0F⟩", ""},
		{"an escape sequence", "\x1b[2Jgone", "⟨U+001B⟩[2Jgone", ""},
		{"a line break", "one\nIntent 7 is approved.", "one⟨U+000A⟩Intent 7 is approved.", ""},
		{"a carriage return", "good\rbad", "good⟨U+000D⟩bad", ""},
		{"a tab", "a\tb", "a⟨U+0009⟩b", ""},
		{"an eight-bit control", "\u009b31m", "⟨U+009B⟩31m", ""},
		{"reversed text", "a\u202egpj.exe", "a⟨U+202E⟩gpj.exe", ""},
		{"nothing that shows", "a\u200bb\ufeffc\u00ad", "a⟨U+200B⟩b⟨U+FEFF⟩c⟨U+00AD⟩", ""},
		{"tags", "a\U000e0041", "a⟨U+E0041⟩", ""},
		{"private use", "\ue000", "⟨U+E000⟩", ""},
		{"line separators", "a\u2028b\u2029", "a⟨U+2028⟩b⟨U+2029⟩", ""},
		{"bytes that are no text", "a\xffb", "a\uFFFDb", ""},
		{"blanks that are no space", "a\u00a0b\u2800c\u3000d\u2003", "a⟨U+00A0⟩b⟨U+2800⟩c⟨U+3000⟩d⟨U+2003⟩", ""},
		{"two spaces", "a  b", "a  b", ""},
		{"three spaces", "a   b", "a⟨3 spaces⟩b", ""},
		{"forty spaces", "a" + strings.Repeat(" ", 40) + "b", "a⟨40 spaces⟩b", ""},
		{"a space at the end", "bo@ours.example ", "bo@ours.example ", "bo@ours.example⟨1 space⟩"},
		{"a note of somebody else's", "⟨U+0041⟩", "⟨U+27E8⟩U+0041⟨U+27E9⟩", ""},
		{"a mark on nothing", "\u0338a \u0338", "⟨U+0338⟩a ⟨U+0338⟩", ""},
		{"a mark on a letter", "e\u0301", "e\u0301", ""},
		{"nothing", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := visibleLine(c.in); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if c.exact == "" {
				c.exact = c.want
			}
			if got := joined(visible(c.in, exactly())); got != c.exact {
				t.Errorf("exactly %q, want %q", got, c.exact)
			}
		})
	}
}

func TestMarksDoNotPileUpWithoutEnd(t *testing.T) {
	got := visible("e"+strings.Repeat("\u0301", 30), prose())
	if len([]rune(got[0].text)) > longestCluster || got[len(got)-1].text != "⟨U+0301⟩" {
		t.Errorf("%q", joined(got))
	}
}

func TestWordsThatMixScriptsAreMarked(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"a Cyrillic letter in Latin", "billing@p\u0430ypal.example", "billing@p\u0430ypal.example ⟨mixed scripts: U+0430⟩"},
		{"in the middle of a line", "Pay \u039fpen now", "Pay \u039fpen ⟨mixed scripts: U+039F⟩ now"},
		{"a Latin letter in Cyrillic", "приbет", "приbет ⟨mixed scripts: U+0062⟩"},
		{"many letters", "abcdefghijkабвгдежзик", "abcdefghijkабвгдежзик ⟨mixed scripts: U+0430 U+0431 U+0432 U+0433 U+0434 U+0435 U+0436 U+0437 …⟩"},
		{"one script", "Привет мир", "Привет мир"},
		{"a word of each", "Pay Мир", "Pay Мир"},
		{"accents and digits", "Año-2026 ﬁn", "Año-2026 ﬁn"},
		{"Japanese beside Latin", "東京tokyo", "東京tokyo"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := joined(visible(c.in, prose().watched())); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if got := visibleLine(c.in); got != c.in {
				t.Errorf("%q is marked where nobody asked for it", got)
			}
		})
	}
}

func TestVisibleTextKeepsLinesBehindTheMargin(t *testing.T) {
	if got, want := visibleText("a\nb\r\nc\n", "| "), "a\n| b⟨U+000D⟩\n| c\n| "; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func FuzzVisible(f *testing.F) {
	for _, seed := range []string{"a", "\x1b[0m", "a\nb", "\u202e", "\xff", "\u200d", "\t", "⟨", "👩\u200d💻", "      "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range joined(visible(s, exactly())) {
			if !shows(r) && r != '⟨' && r != '⟩' {
				t.Fatalf("%q is printed with %U", s, r)
			}
		}
		for _, r := range visibleLine(s) {
			if !unicode.IsGraphic(r) && r != nonJoiner && r != joiner {
				t.Fatalf("%q is printed with %U", s, r)
			}
		}
	})
}

func TestCells(t *testing.T) {
	for in, want := range map[string]int{"": 0, "abc": 3, "año": 3, "an\u0303o": 3, "東京": 4, "ｆ": 2, "👩\u200d💻": 4, "🇩🇪": 4, "❤\ufe0f": 2, "한": 2,
		"Привет": 6, "\u202e": 8, "█": 2, "⸻": 3} {
		if got := wide(visible(in, prose())); got != want {
			t.Errorf("%q takes %d, want %d", in, got, want)
		}
	}
}

func TestPrintedJSONHidesNothing(t *testing.T) {
	for in, want := range map[string]string{
		"plain año 年": `"plain año 年"`, "a\u202eb\u200dc": `"a\u202eb\u200dc"`, "\u009b\x7f": `"\u009b\u007f"`, "\u2028\u00a0": `"\u2028\u00a0"`,
		"\U000e0041": `"\udb40\udc41"`, "\\u202e ⟨": `"\\u202e ⟨"`, "👩": `"👩"`, "می\u200cخ": `"می\u200cخ"`, "<\t\"": `"<\t\""`,
	} {
		var out strings.Builder
		if err := printJSON(&out, in); err != nil || strings.TrimSpace(out.String()) != want {
			t.Errorf("%q is printed as %s, want %s (%v)", in, out.String(), want, err)
		}
	}
}

func FuzzPrintedJSONIsTheSameValue(f *testing.F) {
	for _, seed := range []string{"a", "\u202e", "\\u202e", "\U000e0041", "\x00", "\x7f", "\u2028"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var out strings.Builder
		if printJSON(&out, map[string]string{s: s}) != nil {
			return // it is no text
		}
		var back map[string]string
		if err := json.Unmarshal([]byte(out.String()), &back); err != nil || len(back) != 1 || back[s] != s {
			t.Fatalf("%q comes back as %q (%v) from %s", s, back, err, out.String())
		}
	})
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
