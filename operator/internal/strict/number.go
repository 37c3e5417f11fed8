package strict

import (
	"strconv"
	"strings"
)

// exact reports whether the JSON number lit names the same number as the
// shortest decimal of the double that it is read as, which is what RFC 8785
// writes. So 0.1 and 1e2 are exact; 9007199254740993 and 1e400 are not.
func exact(lit string) bool {
	if len(lit) <= 15 && !strings.ContainsAny(lit, ".eE") {
		return true // every integer of 15 digits is a double
	}
	f, err := strconv.ParseFloat(lit, 64)
	if err != nil {
		return false
	}
	want, ok := decimalOf(lit)
	got, ok2 := decimalOf(strconv.FormatFloat(f, 'e', -1, 64))
	return ok && ok2 && want == got
}

// decimal is a number as its significant digits, without zeros at either end,
// and the power of ten of the last one.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

// decimalOf takes a number literal apart. It fails only for an exponent that no
// double comes near.
func decimalOf(lit string) (decimal, bool) {
	var d decimal
	lit, d.negative = strings.CutPrefix(lit, "-")
	mantissa, exponent := lit, "0"
	if i := strings.IndexAny(lit, "eE"); i >= 0 {
		mantissa, exponent = lit[:i], lit[i+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return decimal{}, true // zero has no sign and no exponent worth comparing
	}
	e, err := strconv.Atoi(exponent)
	if err != nil {
		return decimal{}, false
	}
	d.digits = strings.TrimRight(digits, "0")
	d.exponent = e - len(fraction) + len(digits) - len(d.digits)
	return d, true
}

// integerLiteral reports whether lit is a JSON integer without a fraction or an
// exponent.
func integerLiteral(lit string) bool {
	lit = strings.TrimPrefix(lit, "-")
	if lit == "" || lit[0] == '0' && len(lit) > 1 {
		return false
	}
	for i := range len(lit) {
		if lit[i] < '0' || lit[i] > '9' {
			return false
		}
	}
	return true
}

// canonicalInteger reports whether s is the only canonical spelling of its
// integer: no sign but a minus, no leading zero, no minus zero.
func canonicalInteger(s string) bool { return integerLiteral(s) && s != "-0" }
