package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
)

// pageOf is a page of a width, and what is written on it.
func pageOf(width int) (*page, *bytes.Buffer) {
	var out bytes.Buffer
	return &page{w: &out, width: width, height: usualHeight}, &out
}

// unpleasant is a random text of what breaks displays.
func unpleasant(random *rand.Rand) string {
	bits := []string{"a", "word", " ", "  ", "     ", strings.Repeat(" ", 70), "東", "👩\u200d💻", "❤\ufe0f", "e\u0301", "\u0301", "\u200c", "\u202e", "\x1b[1m",
		"\t", "\u00a0", "│", "█", "⟨", "می\u200cخ", "p\u0430y", "\r", "  recipient │ ", "🇩🇪", "\U000e0041", "क्ष", "\xff", strings.Repeat("x", 90)}
	var s strings.Builder
	for range random.IntN(40) {
		s.WriteString(bits[random.IntN(len(bits))])
	}
	return s.String()
}

func TestRowsFitAndPutTogetherAreTheText(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for range 3000 {
		width, text := []int{1, 9, 20, 21, 39, 40, 80, 200}[random.IntN(8)], unpleasant(random)
		for _, m := range []manner{prose(), exactly(), prose().watched(), exactly().watched()} {
			p, out := pageOf(width)
			p.clusters("title", visible(text, m))
			checkRows(t, width, text, joined(visible(text, m)), out.String())
		}
	}
}

// checkRows holds a printed field to the two promises: the margin before every
// row and nothing lost behind it; and rows that fit, where the page is not
// narrower than anybody is asked on.
func checkRows(t *testing.T, width int, text, want, printed string) {
	t.Helper()
	var back strings.Builder
	lines := strings.Split(strings.TrimSuffix(printed, "\n"), "\n")
	if width < roomy {
		lines = lines[1:] // the field's name
	}
	for _, line := range lines {
		_, rest, found := strings.Cut(line, "│ ")
		at := strings.Index(line, "│")
		if !found || at != 4 && at != 12 {
			t.Fatalf("%q at %d has the row %q", text, width, line)
		}
		if width >= narrowest && cellsOf(line) >= width {
			t.Fatalf("%q at %d has a row of %d cells: %q", text, width, cellsOf(line), line)
		}
		back.WriteString(rest)
	}
	if back.String() != want {
		t.Fatalf("%q at %d comes back as %q, want %q", text, width, back.String(), want)
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		name, in string
		room     int
		want     []string
	}{
		{"nothing", "", 10, []string{""}},
		{"what fits", "0123456789", 10, []string{"0123456789"}},
		{"words", "one two three", 10, []string{"one two ", "three"}},
		{"a long word after a short one", "a 0123456789", 8, []string{"a 012345", "6789"}},
		{"wide characters", "東東東", 5, []string{"東東", "東"}},
		{"a note is kept whole", "abc\u202e", 9, []string{"abc", "⟨U+202E⟩"}},
		{"a note that has no room at all", "\u202e", 5, []string{"⟨U+20", "2E⟩"}},
		{"a mark stays with its letter", "ae\u0301e\u0301", 2, []string{"ae\u0301", "e\u0301"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := wrap(visible(c.in, prose()), c.room); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{{"año", 3, "año"}, {"años", 3, "añ…"}, {"", 3, ""}, {"東京都", 5, "東京…"}, {"東京都", 4, "東…"}, {"ab", 1, "…"}} {
		if got := joined(cut(visible(c.in, prose()), c.n)); got != c.want {
			t.Errorf("%q at %d is %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestDataIsShownAsItWillBeRead(t *testing.T) {
	p, out := pageOf(80)
	p.data("data", jsontext.Value("{\"to\u200c\":\"a\u202eb   c\\u202e\",\"n\":1.50,\"list\":[{\"deep\":\"\u00a0\"}]}"))
	want := `  data, 9 rows:
    │ {
    │   "list": [
    │     {
    │       "deep": "⟨U+00A0⟩"
    │     }
    │   ],
    │   "n": 1.5,
    │   "to⟨U+200C⟩": "a⟨U+202E⟩b⟨3 spaces⟩c⟨U+202E⟩"
    │ }
`
	if out.String() != want {
		t.Errorf("it shows\n%s\nwant\n%s", out, want)
	}
}

func TestDataIsReadableHoweverItWasSpelt(t *testing.T) {
	for in, want := range map[string]string{
		`{"\u0074\u006f":"\u0061ttacker"}`:               `"to": "attacker"`,
		`{"to":"p\u0430ypal"}`:                           `"to": "p\u0430ypal" ⟨mixed scripts: U+0430⟩`,
		`{"t\u043e":"x"}`:                                `"t\u043e": ⟨mixed scripts: U+043E⟩ "x"`,
		`{"a":"\u202egnp"}`:                              `"a": "⟨U+202E⟩gnp"`,
		`{"a":"\u041c\u0438\u0440\n\u0442\u0443\u0442"}`: `"a": "Мир\nтут"`,
		`{"a":"Pay\n\u041c\u0438\u0440"}`:                `"a": "Pay\nМир"`,
		`{"a":"\u0001\u041c\u0438\u0440"}`:               `"a": "\u0001Мир"`,
		`{"a":"\u041c\u0438\u0440\\"}`:                   `"a": "Мир\\"`,
		`{"имя":"Иван Петров, Año 東京"}`:                  `"имя": "Иван Петров, Año 東京"`,
		`{"a":["\u002f\/"]}`:                             `"//"`,
	} {
		p, out := pageOf(200)
		p.data("data", jsontext.Value(in))
		if want = strings.ReplaceAll(want, `\u0430`, "\u0430"); !strings.Contains(out.String(), strings.ReplaceAll(want, `\u043e`, "\u043e")) {
			t.Errorf("%s is shown as\n%s\nwant %s", in, out, want)
		}
		if strings.Contains(out.String(), "mixed") != strings.Contains(want, "mixed") {
			t.Errorf("%s: the wrong words are marked:\n%s", in, out)
		}
	}
}

func TestWordsThatMixScriptsAreMarkedWhereverAnAgentWrites(t *testing.T) {
	p, out := pageOf(120)
	const odd = "p\u0430ypal"
	action := gate.Action{Type: "send", Title: odd, Recipient: odd, Body: "Dear " + odd + ",\nПривет, мир", Labels: []string{"a", odd}, TaintedBy: []string{odd},
		Data: jsontext.Value(`{"k":"` + odd + `"}`)}
	p.intent(time.Time{}, operator.Intent{Payload: &action})
	if n := strings.Count(out.String(), "⟨mixed scripts: U+0430⟩"); n != 6 {
		t.Errorf("%d of 6 are marked:\n%s", n, out)
	}
	if strings.Contains(out.String(), "мир ⟨") || strings.Contains(out.String(), "Привет, ⟨") {
		t.Errorf("honest text is marked:\n%s", out)
	}
}

// exampleIntent has every field, and in each the same words of an attacker.
func exampleIntent(words string) operator.Intent {
	cents, currency, when := int64(990000), "USD", time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	amount := gate.Cents(cents)
	data, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(words, "?"))
	if err != nil {
		panic(err)
	}
	return operator.Intent{ID: 7, Status: "pending_approval", ActionType: words, Title: words, Recipient: &words, AmountCents: &cents, Currency: &currency,
		PolicyDecision: "requires_approval", PolicyReasons: []string{words}, PolicyRules: []string{words}, PolicyVersion: words, Digest: strings.Repeat("0123456789abcdef", 4),
		RecordedBy: words, DecidedBy: &words, DecidedAt: &when, SettledBy: &words, SettledAt: &when, Outcome: &words, CreatedAt: when,
		Payload: &gate.Action{Type: words, Title: words, Recipient: words, AmountCents: &amount, Body: words, Labels: []string{words, words},
			TaintedBy: []string{words}, Data: append(append([]byte(`{"k":`), data...), '}')},
		Responses: []operator.Response{{By: words, At: when, Text: words}}}
}

// TestNoFieldStartsARow puts text that looks like ours into every field: no row
// may begin with it, and none may be so wide that the terminal breaks it.
func TestNoFieldStartsARow(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 2))
	for round := range 200 {
		words := "FORGED" + strings.Repeat("FORGED"+unpleasant(random), round%4) + "\nFORGED"
		for _, width := range []int{20, 40, 80, 200} {
			p, out := pageOf(width)
			in := exampleIntent(words)
			p.intent(in.CreatedAt, in)
			p.deciding(in)
			p.intents(in.CreatedAt, "Waiting for you:", []operator.Intent{in})
			for _, row := range strings.Split(out.String(), "\n") {
				at := strings.Index(row, "FORGED")
				inList := strings.HasPrefix(row, "  7   ") // a row of the list: it begins with the number
				if at >= 0 && !inList && !strings.HasPrefix(row, margin) && strings.Index(row, "│") != 12 {
					t.Fatalf("at %d a row is %q", width, row)
				}
				if (strings.Contains(row, "│") || inList) && cellsOf(row) >= width {
					t.Fatalf("at %d a row of %d cells is %q", width, cellsOf(row), row)
				}
			}
		}
	}
}

func TestTheListOfPlainTextIsATable(t *testing.T) {
	p, out := pageOf(80)
	cents, currency := int64(4900), "USD"
	p.intents(time.Time{}, "Waiting for you:", []operator.Intent{
		{ID: 1, ActionType: "spend", Title: "Annual plan renewal", AmountCents: &cents, Currency: &currency},
		{ID: 12, ActionType: "send", Title: "東京 to   " + strings.Repeat("b", 90)}})
	want := `Waiting for you:
  ID  TYPE   AMOUNT     EXPIRES IN  TO  TITLE
  1   spend  49.00 USD  -           -   Annual plan renewal
  12  send   -          -           -   東京 to⟨3 spaces⟩bbbbbbbbbbbbbbbbbbbbb…
`
	if out.String() != want {
		t.Errorf("it shows\n%s\nwant\n%s", out, want)
	}
}

func TestADisplayLongerThanTheScreenSaysSo(t *testing.T) {
	for body, says := range map[string]bool{"Hi.": false, strings.Repeat("Hi.\n", 60): true} {
		p, out := pageOf(80)
		in := exampleIntent("x")
		in.Payload.Body, p.height = body, 50
		p.intent(in.CreatedAt, in)
		p.deciding(in)
		if got := strings.Contains(out.String(), "scroll back to read it all"); got != says {
			t.Errorf("a body of %d bytes: %t\n%s", len(body), got, out)
		}
		if says && !strings.Contains(out.String(), "  body, 240 characters, 61 rows:") {
			t.Errorf("it does not say how long the body is:\n%s", out)
		}
	}
}
