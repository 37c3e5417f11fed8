package gate

import (
	stdjson "encoding/json"
	"math/big"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

func TestAnAmountInJSONIsAPlainInteger(t *testing.T) {
	for literal, want := range map[string]Cents{
		"1": 1, "4900": 4900, "9007199254740991": MaxCents, "0": 0, "-1": -1, "-0": 0, " 7 ": 7, "-9007199254740991": -MaxCents,
	} {
		var c Cents
		if err := c.UnmarshalJSON([]byte(literal)); err != nil || c != want {
			t.Errorf("%s reads as %d, %v", literal, c, err)
		}
	}
	for literal, want := range map[string]Code{
		"49.5": CodeWrongType, "1e2": CodeWrongType, `"49"`: CodeWrongType, "true": CodeWrongType, "null": CodeWrongType,
		"[1]": CodeWrongType, "{}": CodeWrongType, "": CodeWrongType, "-": CodeWrongType, "007": CodeWrongType, "+1": CodeWrongType,
		"0e999999999999": CodeWrongType, "1e-400": CodeWrongType, "1.": CodeWrongType, "1e": CodeWrongType, "49.0": CodeWrongType,
		"9007199254740991.0": CodeWrongType, "900719925474099.1e1": CodeWrongType, "0x10": CodeWrongType,
		"9007199254740992": CodeAmountOutOfRange, "9223372036854775808": CodeAmountOutOfRange, "1e400": CodeAmountOutOfRange,
		"-1e400": CodeAmountOutOfRange, "-9007199254740992": CodeAmountOutOfRange, "1E16": CodeAmountOutOfRange,
		"9007199254740991.5": CodeAmountOutOfRange, "9007199254740.992e3": CodeAmountOutOfRange,
		"1e99999999999999999999": CodeAmountOutOfRange, "0.0000001e24": CodeAmountOutOfRange,
	} {
		c := Cents(42)
		err := c.UnmarshalJSON([]byte(literal))
		if codeOf(err) != want || c != 42 {
			t.Errorf("%q: got %v (and %d), want %s", literal, err, c, want)
		}
	}
}

func TestTheRangeOfALiteralAgreesWithExactArithmetic(t *testing.T) {
	rnd := seeded(t)
	limit := new(big.Rat).SetInt64(int64(MaxCents))
	for range 20_000 {
		literal := randomNumber(rnd.IntN)
		exact, ok := new(big.Rat).SetString(literal)
		if !ok {
			t.Fatalf("%q is no number", literal)
		}
		if got, want := beyondMax(literal), exact.Abs(exact).Cmp(limit) > 0; got != want {
			t.Fatalf("beyondMax(%q) = %v", literal, got)
		}
	}
}

// randomNumber makes a JSON number around the limit in one of many spellings.
func randomNumber(intn func(int) int) string {
	digits := []string{"9007199254740991", "9007199254740992", "9007199254740990", "1", "0", "99999999999999999"}[intn(6)]
	digits = strings.Repeat("0", intn(2)) + digits + strings.Repeat("0", intn(3))
	digits = strings.TrimLeft(digits, "0")
	if digits == "" {
		digits = "0"
	}
	at := 1 + intn(len(digits))
	text := digits[:at]
	if at < len(digits) {
		text += "." + digits[at:]
	}
	if intn(2) == 0 {
		text += "e" + []string{"", "+", "-"}[intn(3)] + string(rune('0'+intn(10))) + string(rune('0'+intn(2)))
	}
	return []string{"", "-"}[intn(2)] + text
}

func TestBothJSONPackagesReadAnAction(t *testing.T) {
	const text = `{"type":"spend","title":"x","amount_cents":4900,"labels":["a"],"data":{"n":1}}`
	var v1, v2 Action
	if err := stdjson.Unmarshal([]byte(text), &v1); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text), &v2); err != nil {
		t.Fatal(err)
	}
	for _, a := range []Action{v1, v2} {
		out, err := stdjson.Marshal(a)
		if err != nil || string(out) != text {
			t.Errorf("%s, %v", out, err)
		}
	}
	err := json.Unmarshal([]byte(`{"amount_cents":9007199254740992}`), &v2)
	if codeOf(err) != CodeAmountOutOfRange {
		t.Errorf("the code is lost on the way: %v", err)
	}
}

func TestEveryCurrencyHasTheExponentOfISO4217(t *testing.T) {
	raw, err := os.ReadFile("testdata/iso4217.json")
	if err != nil {
		t.Fatal(err)
	}
	var list map[string]stdjson.RawMessage
	if err := stdjson.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	want := make(map[string]int)
	for i, key := range []string{"0", "", "2", "3", "4"} {
		var codes []string
		if key == "" {
			continue
		}
		if err := stdjson.Unmarshal(list[key], &codes); err != nil {
			t.Fatal(err)
		}
		for _, code := range codes {
			want[code] = i
		}
	}
	for code, digits := range want {
		if got, ok := Exponent(code); !ok || got != digits {
			t.Errorf("%s has %d places, not %d (known: %v)", code, digits, got, ok)
		}
	}
	for code := range exponents {
		if _, listed := want[code]; !listed {
			t.Errorf("%s is accepted and not on the list", code)
		}
	}
	for _, code := range []string{"usd", "Usd", "US", "USDT", "", " USD", "XAU", "XAG", "XDR", "XTS", "XXX", "XSU", "XUA", "ΑUD", "DEM", "BTC"} {
		if _, ok := Exponent(code); ok {
			t.Errorf("%q counts as a currency", code)
		}
	}
}

func TestTwoStatementsOfAnAmountMustAgreeExactly(t *testing.T) {
	type in struct {
		cents    *Cents
		amount   string
		currency string
	}
	for name, c := range map[string]struct {
		in       in
		cents    Cents
		currency string
		code     Code
	}{
		"the decimal alone fills in the rest":         {in{amount: "49.00 USD"}, 4900, "USD", ""},
		"the minor units alone take the default":      {in{cents: cents(4900)}, 4900, "USD", ""},
		"a currency is kept beside the default":       {in{cents: cents(4900), currency: "EUR"}, 4900, "EUR", ""},
		"both agree":                                  {in{cents(4900), "49.00 USD", ""}, 4900, "USD", ""},
		"all three agree":                             {in{cents(4900), "49.00 USD", "USD"}, 4900, "USD", ""},
		"whole units need no places":                  {in{cents(4900), "49 USD", ""}, 4900, "USD", ""},
		"fewer places say the same":                   {in{cents(4950), "49.5 USD", ""}, 4950, "USD", ""},
		"yen have no minor unit":                      {in{cents(49), "49 JPY", "JPY"}, 49, "JPY", ""},
		"dinars have three places":                    {in{cents(49000), "49.000 KWD", ""}, 49000, "KWD", ""},
		"the Chilean unit has four":                   {in{cents(490001), "49.0001 CLF", ""}, 490001, "CLF", ""},
		"the largest amount":                          {in{amount: "90071992547409.91 USD"}, MaxCents, "USD", ""},
		"zero is read, for others to refuse":          {in{amount: "0.00 USD"}, 0, "USD", ""},
		"ten times too much":                          {in{cents(4900), "490.00 USD", ""}, 0, "", CodeAmountMismatch},
		"ten times too little":                        {in{cents(4900), "4.90 USD", ""}, 0, "", CodeAmountMismatch},
		"another currency":                            {in{cents(4900), "49.00 USD", "EUR"}, 0, "", CodeAmountMismatch},
		"yen with places":                             {in{amount: "49.00 JPY"}, 0, "", CodeAmountMalformed},
		"yen with places beside the currency":         {in{cents(4900), "49.00", "JPY"}, 0, "", CodeAmountMissingCurrency},
		"dollars with three places":                   {in{amount: "49.000 USD"}, 0, "", CodeAmountMalformed},
		"no currency":                                 {in{amount: "49.00"}, 0, "", CodeAmountMissingCurrency},
		"an unknown currency":                         {in{amount: "49.00 XXX"}, 0, "", CodeUnknownCurrency},
		"a currency in lower case":                    {in{amount: "49.00 usd"}, 0, "", CodeUnknownCurrency},
		"an unknown currency field":                   {in{cents: cents(1), currency: "usd"}, 0, "", CodeUnknownCurrency},
		"the currency first":                          {in{amount: "USD 49.00"}, 0, "", CodeUnknownCurrency},
		"two spaces":                                  {in{amount: "49.00  USD"}, 0, "", CodeUnknownCurrency},
		"a sign":                                      {in{amount: "-49.00 USD"}, 0, "", CodeAmountMalformed},
		"grouped digits":                              {in{amount: "1,000.00 USD"}, 0, "", CodeAmountMalformed},
		"an exponent":                                 {in{amount: "1e3 USD"}, 0, "", CodeAmountMalformed},
		"a leading zero":                              {in{amount: "049.00 USD"}, 0, "", CodeAmountMalformed},
		"nothing before the point":                    {in{amount: ".50 USD"}, 0, "", CodeAmountMalformed},
		"nothing behind the point":                    {in{amount: "50. USD"}, 0, "", CodeAmountMalformed},
		"digits of another script":                    {in{amount: "４９.00 USD"}, 0, "", CodeAmountMalformed},
		"one more than the largest":                   {in{amount: "90071992547409.92 USD"}, 0, "", CodeAmountOutOfRange},
		"far more than 64 bits":                       {in{amount: strings.Repeat("9", 40) + " USD"}, 0, "", CodeAmountOutOfRange},
		"a whole number that only overflows in cents": {in{amount: "9007199254740991 USD"}, 0, "", CodeAmountOutOfRange},
	} {
		t.Run(name, func(t *testing.T) {
			a := Action{Type: "spend", Title: "x", AmountCents: c.in.cents, Amount: c.in.amount, Currency: c.in.currency}
			got, err := a.Restated("USD")
			if codeOf(err) != c.code || (c.code == "") != (err == nil) {
				t.Fatalf("got %v, want %q", err, c.code)
			}
			if err != nil {
				return
			}
			if *got.AmountCents != c.cents || got.Currency != c.currency || got.Amount != c.in.amount {
				t.Errorf("got %d %s %q", *got.AmountCents, got.Currency, got.Amount)
			}
			if again, err := got.Restated("EUR"); err != nil || *again.AmountCents != c.cents || again.Currency != c.currency {
				t.Errorf("restating twice changes it: %v", err)
			}
		})
	}
}

func TestAnUnknownDefaultCurrencyIsRefusedOnlyWhereItIsNeeded(t *testing.T) {
	if _, err := (Action{AmountCents: cents(1)}).Restated(""); codeOf(err) != CodeUnknownCurrency {
		t.Errorf("got %v", err)
	}
	a, err := Action{Type: "note", Title: "x"}.Restated("")
	if err != nil || a.AmountCents != nil || a.Currency != "" {
		t.Errorf("an action with no amount: %v", err)
	}
}

func TestMoneyIsWrittenAsItIsRead(t *testing.T) {
	for want, in := range map[string]struct {
		c    Cents
		code string
	}{
		"49.00 USD": {4900, "USD"}, "0.07 USD": {7, "USD"}, "4900 JPY": {4900, "JPY"}, "0.001 KWD": {1, "KWD"},
		"90071992547409.91 EUR": {MaxCents, "EUR"}, "-0.05 USD": {-5, "USD"}, "0.00 USD": {0, "USD"},
	} {
		if got, err := Money(in.c, in.code); err != nil || got != want {
			t.Errorf("Money(%d, %s) = %q, %v", in.c, in.code, got, err)
		}
	}
	if _, err := Money(1, "XXX"); codeOf(err) != CodeUnknownCurrency {
		t.Error("an unknown currency is written")
	}
	rnd := seeded(t)
	for code := range exponents {
		c := Cents(rnd.Int64N(int64(MaxCents)))
		text, _ := Money(c, code)
		if got, gotCode, err := parseAmount(text); err != nil || got != c || gotCode != code {
			t.Errorf("%s reads back as %d %s, %v", text, got, gotCode, err)
		}
	}
}
