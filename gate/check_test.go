package gate

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestAWellFormedActionPasses(t *testing.T) {
	for name, a := range map[string]Action{
		"the least":          {Type: "note", Title: "x"},
		"a custom type":      {Type: "water_plants_2", Title: "x"},
		"the longest title":  {Type: "note", Title: strings.Repeat("ü", MaxTitle)},
		"the longest body":   {Type: "note", Title: "x", Body: strings.Repeat("a", MaxBody)},
		"lines in a body":    {Type: "note", Title: "x", Body: "one\ntwo\r\n\tthree"},
		"a null as data":     {Type: "note", Title: "x", Data: jsontext.Value(" null ")},
		"an empty object":    {Type: "note", Title: "x", Data: jsontext.Value("{}")},
		"two right amounts":  {Type: "spend", Title: "x", AmountCents: cents(MaxCents), Amount: "90071992547409.91 USD"},
		"as many labels":     {Type: "note", Title: "x", Labels: strings.Fields(strings.Repeat("a ", MaxLabels))},
		"as many taints":     {Type: "note", Title: "x", TaintedBy: strings.Fields(strings.Repeat("a ", MaxTaints))},
		"family emoji":       {Type: "note", Title: "👨\u200d👩\u200d👧 ❤️\u200d🔥"},
		"Persian, with ZWNJ": {Type: "note", Title: "می\u200cخواهم"},
	} {
		if err := a.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBadFormIsNamedByFieldAndCode(t *testing.T) {
	ok := Action{Type: "spend", Title: "x"}
	with := func(change func(*Action)) Action { a := ok; change(&a); return a }
	for name, c := range map[string]struct {
		a     Action
		field string
		code  Code
	}{
		"no type":                {with(func(a *Action) { a.Type = "" }), "type", CodeMissing},
		"a type in capitals":     {with(func(a *Action) { a.Type = "Spend" }), "type", CodeInvalidType},
		"a type with a dash":     {with(func(a *Action) { a.Type = "pay-now" }), "type", CodeInvalidType},
		"a type with a space":    {with(func(a *Action) { a.Type = "spend " }), "type", CodeInvalidType},
		"a type from a digit":    {with(func(a *Action) { a.Type = "2fa" }), "type", CodeInvalidType},
		"a Cyrillic type":        {with(func(a *Action) { a.Type = "nоte" }), "type", CodeInvalidType},
		"a long type":            {with(func(a *Action) { a.Type = strings.Repeat("a", 41) }), "type", CodeTextTooLong},
		"no title":               {with(func(a *Action) { a.Title = "" }), "title", CodeMissing},
		"a title of a megabyte":  {with(func(a *Action) { a.Title = strings.Repeat("a", 1<<20) }), "title", CodeTextTooLong},
		"a title of 301":         {with(func(a *Action) { a.Title = strings.Repeat("ü", 301) }), "title", CodeTextTooLong},
		"a NUL in the title":     {with(func(a *Action) { a.Title = "a\x00b" }), "title", CodeTextUnhygienic},
		"a line in the title":    {with(func(a *Action) { a.Title = "a\nb" }), "title", CodeTextUnhygienic},
		"a lone surrogate":       {with(func(a *Action) { a.Title = "a\xed\xa0\x80" }), "title", CodeTextUnhygienic},
		"a bidi override":        {with(func(a *Action) { a.Title = "pay \u202ekcab" }), "title", CodeTextUnhygienic},
		"a long recipient":       {with(func(a *Action) { a.Recipient = strings.Repeat("a", 321) }), "recipient", CodeTextTooLong},
		"a tab in the recipient": {with(func(a *Action) { a.Recipient = "a\tb" }), "recipient", CodeTextUnhygienic},
		"no money at all":        {with(func(a *Action) { a.AmountCents = cents(0) }), "amount_cents", CodeAmountNotPositive},
		"negative money":         {with(func(a *Action) { a.AmountCents = cents(-1) }), "amount_cents", CodeAmountNotPositive},
		"too much money":         {with(func(a *Action) { a.AmountCents = cents(MaxCents + 1) }), "amount_cents", CodeAmountOutOfRange},
		"a currency in small":    {with(func(a *Action) { a.Currency = "usd" }), "currency", CodeUnknownCurrency},
		"a decimal of nothing":   {with(func(a *Action) { a.Amount = "0.00 USD" }), "amount", CodeAmountNotPositive},
		"a decimal of a page":    {with(func(a *Action) { a.Amount = strings.Repeat("9", 5000) }), "amount", CodeTextTooLong},
		"statements that differ": {with(func(a *Action) { a.AmountCents, a.Amount = cents(4900), "4.90 USD" }), "amount", CodeAmountMismatch},
		"a long body":            {with(func(a *Action) { a.Body = strings.Repeat("a", MaxBody+1) }), "body", CodeTextTooLong},
		"an escape in the body":  {with(func(a *Action) { a.Body = "\x1b[2J" }), "body", CodeTextUnhygienic},
		"21 labels":              {with(func(a *Action) { a.Labels = make([]string, 21) }), "labels", CodeTooMany},
		"an empty label":         {with(func(a *Action) { a.Labels = []string{""} }), "labels", CodeMissing},
		"a long label":           {with(func(a *Action) { a.Labels = []string{strings.Repeat("a", 65)} }), "labels", CodeTextTooLong},
		"51 taints":              {with(func(a *Action) { a.TaintedBy = make([]string, 51) }), "tainted_by", CodeTooMany},
		"a hidden taint":         {with(func(a *Action) { a.TaintedBy = []string{"a\u200bb"} }), "tainted_by", CodeTextUnhygienic},
		"a list as data":         {with(func(a *Action) { a.Data = jsontext.Value("[]") }), "data", CodeWrongType},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.a.Check()
			if !errors.Is(err, &FieldError{Field: c.field, Code: c.code}) {
				t.Fatalf("got %v, want %s %s", err, c.field, c.code)
			}
			all, ok := errors.AsType[FieldErrors](err)
			if !ok || len(all) != 1 || all[0].Message == "" {
				t.Errorf("want one fault with a message, got %v", err)
			}
		})
	}
}

func TestAnActionIsTaintedByAnyObservation(t *testing.T) {
	if (Action{}).Tainted() || (Action{TaintedBy: []string{}}).Tainted() || !(Action{TaintedBy: []string{"o"}}).Tainted() {
		t.Error("Tainted does not follow the list")
	}
}

func TestEveryFaultIsReportedAtOnceInTheOrderOfTheFields(t *testing.T) {
	err := Action{Type: "A", Title: "", Recipient: "\x00", AmountCents: cents(0), Currency: "?", Body: "\x01",
		Labels: []string{"\x02"}, TaintedBy: []string{"\x03"}, Data: jsontext.Value("1")}.Check()
	all, _ := errors.AsType[FieldErrors](err)
	var fields []string
	for _, f := range all {
		fields = append(fields, f.Field)
	}
	want := "type title recipient amount_cents currency body labels tainted_by data"
	if got := strings.Join(fields, " "); got != want {
		t.Errorf("got %s", got)
	}
	if !strings.Contains(err.Error(), "type: ") || !strings.Contains(err.Error(), "; title: ") {
		t.Errorf("the message does not read: %s", err)
	}
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, &FieldError{Field: "id"}) {
		t.Error("it is every error at once")
	}
}

func TestTextThatHidesSomethingIsRefused(t *testing.T) {
	for name, r := range map[string]rune{
		"NUL": 0, "bell": 7, "escape": 0x1b, "delete": 0x7f, "C1": 0x85, "soft hyphen": 0xad, "grapheme joiner": 0x34f,
		"Arabic letter mark": 0x61c, "zero width space": 0x200b, "left-to-right mark": 0x200e, "line separator": 0x2028,
		"embedding": 0x202a, "override": 0x202e, "word joiner": 0x2060, "isolate": 0x2066, "isolate end": 0x2069,
		"Hangul filler": 0x3164, "private use": 0xe000, "byte order mark": 0xfeff, "annotation": 0xfff9,
		"noncharacter": 0xfdd0, "last of the plane": 0xffff, "last of all": 0x10ffff, "tag": 0xe0041, "tag language": 0xe0001,
		"variation selector 17": 0xe0100, "private plane": 0xf0000,
	} {
		for _, kind := range []TextKind{Line, Block} {
			if err := CheckText("a"+string(r)+"b", kind); codeOf(err) != CodeTextUnhygienic {
				t.Errorf("%s (U+%04X) passes as %d: %v", name, r, kind, err)
			}
		}
	}
}

func TestLayoutIsForBlocksOnly(t *testing.T) {
	for text, block := range map[string]bool{
		"a\nb": true, "a\tb": true, "a\r\nb": true, "a\rb": false, "a\r": false, "a\r\r\nb": false, "a\vb": false, "a\fb": false,
	} {
		if err := CheckText(text, Block); (err == nil) != block {
			t.Errorf("%q as a block: %v", text, err)
		}
		if err := CheckText(text, Line); err == nil {
			t.Errorf("%q passes as a line", text)
		}
	}
}

func TestJoinersStandBetweenLettersAndEmojiOnly(t *testing.T) {
	for text, fine := range map[string]bool{
		"می\u200cخواهم": true, "👩\u200d💻": true, "क्\u200dष": true, "🏳️\u200d🌈": true,
		"pay\u200dpal": false, "\u200dа": false, "а\u200d": false, "а\u200d\u200dа": false, "а \u200dа": false, "—\u200dа": false,
	} {
		if err := CheckText(text, Line); (err == nil) != fine {
			t.Errorf("%+q: %v", text, err)
		}
	}
}

func TestOrdinaryTextOfManyScriptsPasses(t *testing.T) {
	for _, text := range []string{"", "plain", "Grüße", "日本語", "שלום", "مرحبا", "हिन्दी", "Ελλάδα", "🎉 ✔️", "x² ≠ ½", "e\u0301", "\ufffd"} {
		if err := CheckText(text, Line); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := CheckText("ab\xff", Block); err == nil || !strings.Contains(err.Error(), "byte 2") {
		t.Errorf("got %v", err)
	}
}

func TestDataIsOneExactJSONObject(t *testing.T) {
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for text, want := range map[string]Code{
		`{}`: "", ` {"a": 1} `: "", `{"n":[0.1,1.50,1e2,-0,0,1e21,123456789012345680000,9007199254740992,5e-324]}`: "",
		deep(MaxDataDepth): "", `{"a":{"x":1},"b":{"x":1}}`: "",
		deep(MaxDataDepth + 1): CodeTooDeep, deep(10_000): CodeTooDeep,
		`[]`: CodeWrongType, `1`: CodeWrongType, `"x"`: CodeWrongType, `true`: CodeWrongType, ``: CodeWrongType, `x`: CodeWrongType,
		`{"a":1,"a":2}`: CodeDuplicateKey, `{"a":{"b":1,"\u0062":2}}`: CodeDuplicateKey,
		`{"n":9007199254740993}`: CodeNumberInexact, `{"n":1e400}`: CodeNumberInexact, `{"n":1e-400}`: CodeNumberInexact,
		`{"n":0.1000000000000000055}`: CodeNumberInexact, `{"n":[1,{"m":-123456789012345678}]}`: CodeNumberInexact,
		`{"n":3.14159265358979323846}`: CodeNumberInexact, `{"n":1e999999999999}`: CodeNumberInexact,
		`{"a":`: CodeMalformed, `{"a":1} {}`: CodeMalformed, `{"a":1}x`: CodeMalformed, `{a:1}`: CodeMalformed, `{"a":01}`: CodeMalformed,
		"{\"a\":\"\xff\"}": CodeMalformed, `{"a":"\ud800"}`: CodeMalformed, `{"a":NaN}`: CodeMalformed, `{"a":1,}`: CodeMalformed,
		`{"a":"\u0000"}`: CodeTextUnhygienic, `{"\u0000":1}`: CodeTextUnhygienic,
		`{"a":"` + strings.Repeat("x", MaxData) + `"}`: CodeTextTooLong,
	} {
		got := Code("")
		if ferr := checkData(jsontext.Value(text)); ferr != nil {
			got = ferr.Code
		}
		if got != want {
			t.Errorf("%.60q: got %q, want %q", text, got, want)
		}
	}
}
