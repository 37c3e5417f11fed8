package gate

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bojanz/currency"
)

// Cents counts minor units of a currency. The name says cents; for JPY it is
// yen, for KWD it is fils.
//
// As JSON it is an integer literal and nothing else.
type Cents int64

// MaxCents is the largest amount: 2^53-1, the largest integer that every JSON
// reader holds exactly (RFC 7493 §2.2).
const MaxCents Cents = 9_007_199_254_740_991

// MarshalJSON writes a plain integer.
func (c Cents) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, int64(c), 10), nil
}

// UnmarshalJSON accepts an integer literal of at most [MaxCents] in size. A
// larger number, however it is spelled, is a [*FieldError] with
// [CodeAmountOutOfRange]; anything else (49.5, 1e2, "49", true, null) one with
// [CodeWrongType]. Zero and negative integers are read: [Action.Check] refuses
// them, and the gate denies them.
func (c *Cents) UnmarshalJSON(b []byte) error {
	text := string(trimJSONSpace(b))
	n, plain := parseInteger(text)
	switch {
	case plain && n >= -MaxCents && n <= MaxCents:
		*c = n
		return nil
	case beyondMax(text):
		return fieldError("amount_cents", CodeAmountOutOfRange,
			"the amount is beyond %d minor units; split it, or hand it to a person", MaxCents)
	default:
		return fieldError("amount_cents", CodeWrongType,
			"write a plain integer of minor units, without a point, an exponent or quotes")
	}
}

// parseInteger reads a JSON integer literal. ok is false when the literal is
// of another form or beyond 64 bits.
func parseInteger(text string) (n Cents, ok bool) {
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || (len(digits) > 1 && digits[0] == '0') || !allDigits(digits) {
		return 0, false
	}
	v, err := strconv.ParseInt(text, 10, 64)
	return Cents(v), err == nil
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// beyondMax reports whether a JSON number literal of any spelling lies beyond
// MaxCents in size. It compares digits, since 1e999999999 must cost nothing.
func beyondMax(text string) bool {
	mantissa, exponent, hasExp := strings.Cut(strings.ToLower(strings.TrimPrefix(text, "-")), "e")
	whole, fraction, hasPoint := strings.Cut(mantissa, ".")
	if whole == "" || !allDigits(whole) || !allDigits(fraction) || (hasPoint && fraction == "") {
		return false
	}
	shift, ok := parseExponent(exponent, hasExp)
	if !ok {
		return false
	}
	digits := whole + fraction
	point := int64(len(whole)) + shift
	significant := strings.TrimLeft(digits, "0")
	if significant == "" {
		return false
	}
	point -= int64(len(digits) - len(significant))
	limit := strconv.FormatInt(int64(MaxCents), 10)
	if point != int64(len(limit)) {
		return point > int64(len(limit))
	}
	// The same number of whole digits: compare them, then what is left over.
	for len(significant) < len(limit) {
		significant += "0"
	}
	head, tail := significant[:len(limit)], strings.Trim(significant[len(limit):], "0")
	return head > limit || (head == limit && tail != "")
}

// parseExponent reads the digits behind the e, held within ±10^9: beyond that
// the comparison comes out the same.
func parseExponent(s string, present bool) (int64, bool) {
	if !present {
		return 0, true
	}
	sign := int64(1)
	if s != "" && (s[0] == '+' || s[0] == '-') {
		if s[0] == '-' {
			sign = -1
		}
		s = s[1:]
	}
	if s == "" || !allDigits(s) {
		return 0, false
	}
	const far = 1_000_000_000
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > far {
		n = far
	}
	return sign * n, true
}

// exponents is the ISO 4217 table, read once from the library so that a later
// currency.Register elsewhere in the program cannot change a verdict. The
// library agrees with list one of the standard in every code; a test holds it
// to testdata/iso4217.json.
var exponents = loadExponents()

func loadExponents() map[string]int {
	codes := currency.GetCurrencyCodes()
	table := make(map[string]int, len(codes))
	for _, code := range codes {
		if digits, ok := currency.GetDigits(code); ok {
			table[code] = int(digits)
		}
	}
	return table
}

// Exponent returns how many decimal places the minor unit of an ISO 4217
// currency has: USD 2, JPY 0, KWD 3, CLF 4. ok is false for anything that is
// not the upper-case code of an active currency with a minor unit: lower case,
// unknown codes, test codes (XTS, XXX), metals (XAU) and units of account (XDR).
func Exponent(code string) (digits int, ok bool) {
	digits, ok = exponents[code]
	return digits, ok
}

// Money writes an amount as [Action.Amount] states it: Money(4900, "USD") is
// "49.00 USD". An unknown currency is a [*FieldError].
func Money(c Cents, code string) (string, error) {
	digits, ok := Exponent(code)
	if !ok {
		return "", unknownCurrency("currency")
	}
	sign, n := "", uint64(c)
	if c < 0 {
		sign, n = "-", -n
	}
	text := strconv.FormatUint(n, 10)
	if digits == 0 {
		return sign + text + " " + code, nil
	}
	for len(text) <= digits {
		text = "0" + text
	}
	at := len(text) - digits
	return fmt.Sprintf("%s%s.%s %s", sign, text[:at], text[at:], code), nil
}

func unknownCurrency(field string) *FieldError {
	return fieldError(field, CodeUnknownCurrency,
		"use the upper-case ISO 4217 code of a currency with a minor unit, such as USD, EUR or JPY")
}

// parseAmount reads "49.00 USD" into minor units, without floats and without
// allocating where it succeeds. There may be fewer decimal places than the
// currency has, never more: "49.00 JPY" misunderstands the yen.
func parseAmount(s string) (Cents, string, *FieldError) {
	number, code, found := strings.Cut(s, " ")
	if !found {
		return 0, "", fieldError("amount", CodeAmountMissingCurrency,
			`write the decimal, one space and the currency, such as "49.00 USD"`)
	}
	digits, ok := Exponent(code)
	if !ok {
		return 0, "", unknownCurrency("amount")
	}
	whole, fraction, hasPoint := strings.Cut(number, ".")
	wellFormed := whole != "" && allDigits(whole) && allDigits(fraction) &&
		(len(whole) == 1 || whole[0] != '0') && (!hasPoint || fraction != "")
	if !wellFormed {
		return 0, "", fieldError("amount", CodeAmountMalformed,
			"write plain digits with at most one point: no sign, grouping, leading zero or exponent")
	}
	if len(fraction) > digits {
		return 0, "", fieldError("amount", CodeAmountMalformed,
			"%s has %d decimal places, and the amount states more", code, digits)
	}
	var n Cents
	for i := range len(whole) + digits {
		digit := byte('0')
		if i < len(whole) {
			digit = whole[i]
		} else if i-len(whole) < len(fraction) {
			digit = fraction[i-len(whole)]
		}
		n = n*10 + Cents(digit-'0')
		if n > MaxCents {
			return 0, "", fieldError("amount", CodeAmountOutOfRange,
				"the amount is beyond %d minor units; split it, or hand it to a person", MaxCents)
		}
	}
	return n, code, nil
}

// Restated returns the action with AmountCents and Currency both set where it
// states an amount at all: from Amount, or with defaultCurrency where an
// AmountCents names none. Amount itself stays as it was given.
//
// It fails, with a [*FieldError], where the statements disagree, where a
// statement is malformed, and where the currency is unknown. No float is ever
// involved. An action that states no amount comes back unchanged.
func (a Action) Restated(defaultCurrency string) (Action, error) {
	if a.Currency != "" {
		if _, ok := Exponent(a.Currency); !ok {
			return a, unknownCurrency("currency")
		}
	}
	if a.Amount != "" {
		cents, code, err := parseAmount(a.Amount)
		if err != nil {
			return a, err
		}
		if mismatch := a.disagrees(cents, code); mismatch != nil {
			return a, mismatch
		}
		a.AmountCents, a.Currency = &cents, code
		return a, nil
	}
	if a.AmountCents == nil || a.Currency != "" {
		return a, nil
	}
	if _, ok := Exponent(defaultCurrency); !ok {
		return a, unknownCurrency("currency")
	}
	a.Currency = defaultCurrency
	return a, nil
}

// disagrees compares a parsed restatement with what else the action states.
func (a Action) disagrees(cents Cents, code string) *FieldError {
	if a.Currency != "" && a.Currency != code {
		return fieldError("amount", CodeAmountMismatch,
			"amount states %s and currency states %s; make them agree", code, a.Currency)
	}
	if a.AmountCents != nil && *a.AmountCents != cents {
		return fieldError("amount", CodeAmountMismatch,
			"amount states %d minor units of %s and amount_cents states %d; make them agree",
			cents, code, *a.AmountCents)
	}
	return nil
}

// money is what an action states about money, as the gate reads it.
type money struct {
	stated   bool   // some amount is given
	valid    bool   // it is positive, in range, and its statements agree
	cents    Cents  // meaningful when valid
	currency string // "" when neither the action nor the facts name one
}

// money reads the amount without trusting that the action was restated.
func (a *Action) money(accountCurrency string) money {
	m := money{stated: a.AmountCents != nil || a.Amount != "", currency: a.Currency}
	if !m.stated {
		return m
	}
	if a.AmountCents != nil {
		m.cents = *a.AmountCents
	}
	if a.Amount != "" {
		cents, code, err := parseAmount(a.Amount)
		if err != nil || a.disagrees(cents, code) != nil {
			return m
		}
		m.cents, m.currency = cents, code
	}
	if m.currency == "" {
		m.currency = accountCurrency
	}
	_, known := exponents[m.currency]
	m.valid = m.cents > 0 && m.cents <= MaxCents && (known || m.currency == "")
	return m
}
