package gate

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// pattern warns of recipients that match less than they seem to.
func (w *warner) pattern(r *Rule, pattern string) {
	switch host, behindAt := strings.CutPrefix(pattern, "@"); {
	case strings.HasPrefix(pattern, domainPrefix):
	case behindAt && looksLikeHost(host):
		w.warn(r.Pos, r.ID, WarnRecipient, "recipients: %q matches nothing but itself; write domain:%s for every address at it", pattern, host)
	case strings.Trim(pattern, "*") == "":
		w.warn(r.Pos, r.ID, WarnRecipient, "recipients: %q matches no address, since * stops at @; leave recipients out for everybody, or write *@*", pattern)
	case looksLikeHost(pattern):
		w.warn(r.Pos, r.ID, WarnRecipient, "recipients: %q matches that recipient and no address at it; write domain:%s for both", pattern, pattern)
	}
}

var hostForm = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,}$`)

// looksLikeHost takes a name with a dot for a domain. Channels, paths and words
// are let be.
func looksLikeHost(s string) bool { return hostForm.MatchString(s) }

// cap warns of a cap that looks like whole units.
func (w *warner) cap(c *Cap) {
	if one := minorUnits(c.Currency); c.Max < one {
		w.warn(c.Pos, "", WarnMinorUnits, "caps: max is %s; amounts are in minor units, so write %d for %s",
			moneyText(c.Max, c.Currency), c.Max*one, moneyText(c.Max*one, c.Currency))
	}
}

// minorUnits is how many of them make one unit: 100 for USD, 1 for JPY.
func minorUnits(code string) Cents {
	digits, _ := Exponent(code)
	one := Cents(1)
	for range digits {
		one *= 10
	}
	return one
}

// units warns of amounts that look like whole units: below one, or just the number
// that the reason says in words of money.
func (w *warner) units(r *Rule) {
	for _, b := range boundsOf(r) {
		one := minorUnits(b.code)
		if one == 1 || b.is > MaxCents/one {
			continue
		}
		whole, minor := sums(r.Reason, one)
		said := slices.Contains(whole, b.is)
		// A least amount of one minor unit is how one writes any amount at all.
		small := b.is < one && (b.key != "amount: min" || b.is > 1)
		if (said || small) && !slices.Contains(minor, b.is) && !saysCents(r.Reason) {
			w.warn(r.Pos, r.ID, WarnMinorUnits, "%s is %s; amounts are in minor units, so write %d for %s",
				b.key, moneyText(b.is, b.code), b.is*one, moneyText(b.is*one, b.code))
		}
	}
}

type aBound struct {
	key, code string
	is        Cents
}

func boundsOf(r *Rule) (out []aBound) {
	if a := r.Match.Amount; a != nil && a.Min != nil {
		out = append(out, aBound{"amount: min", a.Currency, *a.Min})
	}
	if a := r.Match.Amount; a != nil && a.Max != nil {
		out = append(out, aBound{"amount: max", a.Currency, *a.Max})
	}
	if b := r.Budget; b != nil {
		out = append(out, aBound{"budget: max", b.Currency, b.Max})
	}
	return out
}

// aNumber may be grouped; what stands beside it makes it a sum of money.
const aNumber = `([0-9][0-9.,'_]*)`

var (
	anyNumber = regexp.MustCompile(aNumber)
	sumBefore = regexp.MustCompile(`(?:[$€£¥₹]|\b[A-Z]{3}) ?` + aNumber)
	sumAfter  = regexp.MustCompile(aNumber + ` ?(?:[$€£¥₹]|[A-Z]{3}\b|(?i:dollars?|euros?|pounds?|francs?|crowns?|bucks|rupees?|pesos?)\b)`)
)

// sums reads the sums of a sentence as whole units, and every number of it as what
// that would be in minor ones. A number that can be read in two ways, such as 1.000,
// counts in both.
func sums(text string, one Cents) (whole, minor []Cents) {
	for _, re := range []*regexp.Regexp{sumBefore, sumAfter, anyNumber} {
		for _, m := range re.FindAllStringSubmatch(text, -1) {
			for _, reading := range readings(strings.TrimRight(m[1], ".,'_")) {
				minor = append(minor, Cents(reading*float64(one)+0.5))
				if re != anyNumber && reading == float64(Cents(reading)) {
					whole = append(whole, Cents(reading))
				}
			}
		}
	}
	return whole, minor
}

// readings takes points and commas for what they may be. This guards no verdict:
// it only decides whether to warn, so a float will do.
func readings(s string) (out []float64) {
	plain := strings.NewReplacer("'", "", "_", "").Replace(s)
	for _, variant := range []string{
		strings.ReplaceAll(plain, ",", ""),
		strings.ReplaceAll(strings.ReplaceAll(plain, ".", ""), ",", "."),
	} {
		if v, err := strconv.ParseFloat(variant, 64); err == nil && v < 1e12 && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// saysCents reports whether the sentence speaks of minor units itself.
func saysCents(text string) bool {
	lower := strings.ToLower(text)
	return strings.Contains(lower, "cent") || strings.Contains(lower, "pence") || strings.Contains(lower, "minor unit") || strings.Contains(text, "¢")
}
