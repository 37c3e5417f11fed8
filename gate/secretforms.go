package gate

// alphabet is a set of bytes.
type alphabet [256]bool

func alphabetOf(extra string) (set alphabet) {
	for c := '0'; c <= 'z'; c++ {
		set[c] = isAlnum(byte(c))
	}
	for i := range len(extra) {
		set[extra[i]] = true
	}
	return set
}

func only(members string) (set alphabet) {
	for i := range len(members) {
		set[members[i]] = true
	}
	return set
}

var (
	alnum     = alphabetOf("")
	word      = alphabetOf("_")
	urlSafe   = alphabetOf("_-")
	base64s   = alphabetOf("+/=")
	base64raw = alphabetOf("+/")
	bearer    = alphabetOf("-._~+/=")
	dotted    = alphabetOf("_-.")
	slashed   = alphabetOf("/")
	gapBytes  = only(" \t+") // a space is + in a form
	decimals  = only("0123456789")
	hexDigits = only("0123456789abcdefABCDEF")
	capitals  = only("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
)

func isAlnum(c byte) bool {
	return isDigit(c) || isUpper(c) || isLower(c)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isLower(c byte) bool { return c >= 'a' && c <= 'z' }

// run returns how many bytes of s from i on belong to the set.
func run(s string, i int, set *alphabet) int {
	return runUpTo(s, i, set, len(s))
}

// runUpTo is run, but reads no more than so many bytes.
func runUpTo(s string, i int, set *alphabet, most int) int {
	n := 0
	for n < most && i+n < len(s) && set[s[i+n]] {
		n++
	}
	return n
}

// hasFold reports whether a word, in small letters, stands at i in any case.
func hasFold(s string, i int, word string) bool {
	return len(s)-i >= len(word) && equalASCIIFold(s[i:i+len(word)], word)
}

// looksRandom tells what was drawn from what was named. Within a name letters
// and digits stand together, and capitals come first: words between hyphens,
// years, numbers of a version. A drawn text changes from small to capital and
// between letters and digits all the time; of 20 such characters fewer than one
// in a thousand has under three changes. A long number counts as drawn.
func looksRandom(s string, changes int) bool {
	const number = 9
	digits := 0
	for i := range len(s) {
		if !isDigit(s[i]) {
			digits = 0
		} else if digits++; digits == number {
			return true
		}
		if i > 0 && changesAt(s, i) {
			if changes--; changes == 0 {
				return true
			}
		}
	}
	return false
}

// drawn is how many changes make a text look random where nothing but its
// prefix speaks for a credential.
const drawn = 3

func changesAt(s string, i int) bool {
	a, b := s[i-1], s[i]
	switch {
	case isLower(a):
		return isUpper(b) || isDigit(b)
	case isUpper(a):
		return isDigit(b) || isLower(b) && i > 1 && isUpper(s[i-2])
	case isDigit(a):
		return isUpper(b) || isLower(b)
	}
	return false
}

// shape is a credential known by how it begins.
type shape struct {
	kind   string
	prefix string
	least  int // bytes behind the prefix
	set    *alphabet
	rule   shapeRule
}

type shapeRule uint8

const (
	ofWord   shapeRule = iota // begins where a word begins
	anywhere                  // no word ends as it begins, so it may be glued to one
	exact                     // is as long as it says and no longer; need not look random
)

// shapes stand grouped by vendor, longer prefixes first.
var shapes = []shape{
	{"anthropic", "sk-ant-", 20, &urlSafe, ofWord},
	{"openai", "sk-proj-", 20, &urlSafe, ofWord},
	{"openai", "sk-svcacct-", 20, &urlSafe, ofWord},
	{"openai", "sk-admin-", 20, &urlSafe, ofWord},
	{"openai", "sk-None-", 20, &urlSafe, ofWord},
	{"openai", "sk-", 32, &alnum, ofWord},
	{"stripe", "sk_live_", 16, &alnum, ofWord},
	{"stripe", "sk_test_", 16, &alnum, ofWord},
	{"stripe", "rk_live_", 16, &alnum, ofWord},
	{"stripe", "rk_test_", 16, &alnum, ofWord},
	{"stripe", "whsec_", 24, &base64s, anywhere},
	{"sendgrid", "SG.", 60, &dotted, ofWord},
	{"slack", "xoxb-", 10, &urlSafe, anywhere},
	{"slack", "xoxp-", 10, &urlSafe, anywhere},
	{"slack", "xoxa-", 10, &urlSafe, anywhere},
	{"slack", "xoxr-", 10, &urlSafe, anywhere},
	{"slack", "xoxs-", 10, &urlSafe, anywhere},
	{"slack", "xoxe-", 10, &urlSafe, anywhere},
	{"slack", "xoxe.xox", 10, &urlSafe, anywhere},
	{"slack", "xapp-", 10, &urlSafe, ofWord},
	{"slack", "hooks.slack.com/services/", 20, &slashed, ofWord},
	{"slack", "hooks.slack.com/workflows/", 20, &slashed, ofWord},
	{"slack", "hooks.slack.com/triggers/", 20, &slashed, ofWord},
	{"github", "github_pat_", 40, &word, anywhere},
	{"github", "ghp_", 36, &alnum, anywhere},
	{"github", "gho_", 36, &alnum, anywhere},
	{"github", "ghu_", 36, &alnum, anywhere},
	{"github", "ghs_", 36, &alnum, anywhere},
	{"github", "ghr_", 36, &alnum, anywhere},
	{"gitlab", "glpat-", 20, &urlSafe, anywhere},
	{"gitlab", "glptt-", 20, &urlSafe, anywhere},
	{"gitlab", "gldt-", 20, &urlSafe, anywhere},
	{"gitlab", "glrt-", 20, &urlSafe, anywhere},
	{"gitlab", "glcbt-", 20, &urlSafe, anywhere},
	{"google", "AIza", 35, &urlSafe, ofWord},
	{"google", "GOCSPX-", 24, &urlSafe, anywhere},
	{"google", "ya29.", 20, &urlSafe, ofWord},
	{"aws", "AKIA", 16, &capitals, exact},
	{"aws", "ASIA", 16, &capitals, exact},
	{"npm", "npm_", 36, &alnum, anywhere},
	{"pypi", "pypi-", 50, &urlSafe, ofWord},
	{"huggingface", "hf_", 34, &alnum, ofWord},
}

// byFirst groups the shapes by their first byte.
var byFirst = func() (table [256][]shape) {
	for _, sh := range shapes {
		first := sh.prefix[0]
		table[first] = append(table[first], sh)
	}
	return table
}()

// mayBegin holds every byte that some detector begins with, and mayBeginInside
// those of the detectors that look into the middle of a word as well.
var mayBegin, mayBeginInside = func() (any, inside alphabet) {
	inside = only("-:raAsS0123456789")
	any = only("-:rebBtTaAsS0123456789")
	for _, sh := range shapes {
		any[sh.prefix[0]] = true
		if sh.rule == anywhere {
			inside[sh.prefix[0]] = true
		}
	}
	return any, inside
}()
