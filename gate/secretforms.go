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

var (
	alnum   = alphabetOf("")
	word    = alphabetOf("_")
	urlSafe = alphabetOf("_-")
	base64s = alphabetOf("+/=")
	bearer  = alphabetOf("-._~+/=")
	dotted  = alphabetOf("_-.")
)

func isAlnum(c byte) bool {
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')
}

// run returns how many bytes of s from i on belong to the set.
func run(s string, i int, set *alphabet) int {
	n := 0
	for i+n < len(s) && set[s[i+n]] {
		n++
	}
	return n
}

// shape is a credential known by how it begins.
type shape struct {
	kind   string
	prefix string
	least  int // bytes behind the prefix
	set    *alphabet
}

// shapes stand grouped by vendor, longer prefixes first.
var shapes = []shape{
	{"anthropic", "sk-ant-", 20, &urlSafe},
	{"openai", "sk-proj-", 20, &urlSafe},
	{"openai", "sk-svcacct-", 20, &urlSafe},
	{"openai", "sk-admin-", 20, &urlSafe},
	{"openai", "sk-", 32, &alnum},
	{"stripe", "sk_live_", 16, &alnum},
	{"stripe", "sk_test_", 16, &alnum},
	{"stripe", "rk_live_", 16, &alnum},
	{"stripe", "rk_test_", 16, &alnum},
	{"stripe", "whsec_", 24, &base64s},
	{"sendgrid", "SG.", 60, &dotted},
	{"slack", "xoxb-", 10, &urlSafe},
	{"slack", "xoxp-", 10, &urlSafe},
	{"slack", "xoxa-", 10, &urlSafe},
	{"slack", "xoxr-", 10, &urlSafe},
	{"slack", "xoxs-", 10, &urlSafe},
	{"slack", "xoxe-", 10, &urlSafe},
	{"slack", "xoxe.xox", 10, &urlSafe},
	{"slack", "xapp-", 10, &urlSafe},
	{"slack", "hooks.slack.com/services/", 20, &slashed},
	{"github", "github_pat_", 40, &word},
	{"github", "ghp_", 36, &alnum},
	{"github", "gho_", 36, &alnum},
	{"github", "ghu_", 36, &alnum},
	{"github", "ghs_", 36, &alnum},
	{"github", "ghr_", 36, &alnum},
	{"gitlab", "glpat-", 20, &urlSafe},
	{"google", "AIza", 35, &urlSafe},
	{"google", "GOCSPX-", 24, &urlSafe},
	{"google", "ya29.", 20, &urlSafe},
	{"aws", "AKIA", 16, &alnum},
	{"aws", "ASIA", 16, &alnum},
	{"npm", "npm_", 36, &alnum},
	{"pypi", "pypi-", 50, &urlSafe},
	{"huggingface", "hf_", 34, &alnum},
}

var slashed = alphabetOf("/")

// byFirst groups the shapes by their first byte.
var byFirst = func() (table [256][]shape) {
	for _, sh := range shapes {
		first := sh.prefix[0]
		table[first] = append(table[first], sh)
	}
	return table
}()

// mayBegin holds every byte that some detector begins with.
var mayBegin = func() (set alphabet) {
	for _, sh := range shapes {
		set[sh.prefix[0]] = true
	}
	for _, c := range []byte("-:rebBaAsS0123456789") {
		set[c] = true
	}
	return set
}()
