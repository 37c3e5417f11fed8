package gate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// didYouMean suggests the nearest of some words, or nothing where none is near.
func didYouMean(word string, among []string) string {
	if near := nearest(word, among); near != "" {
		return "did you mean " + near + "? "
	}
	return ""
}

// hint is didYouMean behind a sentence.
func hint(word string, among []string) string {
	if near := nearest(word, among); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// nearest finds the word with the fewest edits, at most a third of its length.
func nearest(word string, among []string) string {
	best, fewest := "", 0
	folded := strings.ReplaceAll(strings.ToLower(word), "-", "_")
	if len(folded) > 2*maxID {
		return ""
	}
	for _, candidate := range among {
		edits := distance(folded, candidate)
		if edits <= max(1, len(candidate)/3) && (best == "" || edits < fewest) {
			best, fewest = candidate, edits
		}
	}
	return best
}

// distance counts the letters to insert, drop or replace (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

// otherWords are what people write for the three effects.
var otherWords = [...][]string{
	Allow:            {"permit", "accept", "approve", "approved", "yes", "ok", "pass", "grant"},
	RequiresApproval: {"ask", "approval", "review", "confirm", "prompt", "hold", "escalate", "needs_approval", "pending_approval", "manual"},
	Deny:             {"forbid", "block", "refuse", "reject", "disallow", "never", "no", "prohibit", "denied"},
}

func effectHint(word string) string {
	folded := strings.ToLower(word)
	for e, words := range otherWords {
		if slices.Contains(words, folded) {
			return "; did you mean " + Effect(e).String() + "?"
		}
	}
	return hint(word, []string{Allow.String(), RequiresApproval.String(), Deny.String()})
}

// wholeUnits recognises an amount that was written for people: in quotes, with a
// point, with a sign of money. It says what to write.
func wholeUnits(n *yaml.Node) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!int" {
		return "", false
	}
	text := strings.Trim(n.Value, "$€£¥ ")
	if code, rest, found := strings.Cut(text, " "); found {
		if _, known := Exponent(rest); known {
			text = code
		} else if _, known := Exponent(code); known {
			text = rest
		}
	}
	text = strings.ReplaceAll(text, ",", "")
	whole, fraction, point := strings.Cut(text, ".")
	if whole == "" || len(text) > 16 || !allDigits(whole) || !allDigits(fraction) || len(fraction) > 2 {
		return "for 20.00 of a currency with cents write 2000", true
	}
	if !point && text == n.Value {
		return fmt.Sprintf("write %s, which for a currency with cents is %s", text, hundredths(text)), true
	}
	minor := strings.TrimLeft(whole+fraction+strings.Repeat("0", 2-len(fraction)), "0")
	if minor == "" {
		minor = "1 or more"
	}
	return fmt.Sprintf("for %s of a currency with cents write %s", text, minor), true
}

// hundredths puts the point back into an amount of cents.
func hundredths(digits string) string {
	for len(digits) < 3 {
		digits = "0" + digits
	}
	return digits[:len(digits)-2] + "." + digits[len(digits)-2:]
}

// The signs of a regular expression that no address, domain or channel has.
var (
	regexAnchor = regexp.MustCompile(`^\^|\$$`)
	regexEscape = regexp.MustCompile(`\\[.@+*?$^/-]|\\[dwsDWS][*+?{]`)
	regexDots   = regexp.MustCompile(`(^|@|\()\.[*+]`)
	regexClass  = regexp.MustCompile(`\[\^?[^\]]*[A-Za-z0-9]-[A-Za-z0-9][^\]]*\]|\[\^[^\]]+\]|\][*+?{]`)
	regexGroup  = regexp.MustCompile(`\(([^()|]*\|[^()]*)\)`)
)

// regexHint recognises a regular expression, and says what to write instead.
func regexHint(pattern string) string {
	group := regexGroup.FindStringSubmatchIndex(pattern)
	if group == nil && !regexAnchor.MatchString(pattern) && !regexEscape.MatchString(pattern) &&
		!regexDots.MatchString(pattern) && !regexClass.MatchString(pattern) {
		return ""
	}
	parts := []string{pattern}
	if group != nil {
		parts = nil
		for _, alternative := range strings.Split(pattern[group[2]:group[3]], "|") {
			parts = append(parts, pattern[:group[0]]+alternative+pattern[group[1]:])
		}
	}
	for i, part := range parts {
		parts[i] = fmt.Sprintf("%q", globOf(part))
	}
	if len(parts) > 1 {
		return "write an entry for each: " + strings.Join(parts, ", ")
	}
	if host, all := strings.CutPrefix(globOf(pattern), "*@"); all && looksLikeHost(host) {
		return fmt.Sprintf("write %s, or \"domain:%s\" for the domain and every address at it", parts[0], host)
	}
	return "write " + parts[0]
}

// globOf puts * where a regular expression would match a run of characters.
func globOf(regex string) string {
	glob := strings.TrimSuffix(strings.TrimPrefix(regex, "^"), "$")
	glob = regexRun.ReplaceAllString(glob, "*")
	glob = regexQuoted.ReplaceAllString(glob, "$1")
	return regexStars.ReplaceAllString(glob, "*")
}

var (
	regexQuoted = regexp.MustCompile(`\\(.)`)
	regexStars  = regexp.MustCompile(`\*+`)
	// regexRun is one unit that matches more than one text.
	regexRun = regexp.MustCompile(`(\[[^\]]*\]|\\[dwsDWS]|\.)(\*|\+|\?|\{[0-9,]*\})\??|\[[^\]]*\]|\\[dwsDWS]`)
)
