package gate

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// The credentials are put together here, so that no scanner of repositories
// takes this file for a leak.
func fakeSecrets() map[string]string {
	r := func(s string, n int) string { return strings.Repeat(s, n) }
	return map[string]string{
		"reeve":         "rv_agent_" + r("aB3_-", 8) + "xyz",
		"aws":           "AKIA" + r("ABCD2345", 2),
		"google":        "AIza" + r("Sy_-9", 7),
		"github":        "ghp_" + r("aB3d", 9),
		"gitlab":        "glpat-" + r("aB3d_", 4),
		"slack":         "xoxb-" + "123456789012-abcdefABCDEF",
		"stripe":        "sk_live_" + r("aB3d", 6),
		"openai":        "sk-proj-" + r("aB3d_-", 8),
		"anthropic":     "sk-ant-api03-" + r("aB3d_-", 8),
		"npm":           "npm_" + r("aB3d", 9),
		"pypi":          "pypi-" + r("aB3d_-", 10),
		"sendgrid":      "SG." + r("aB3d_", 4) + "aa." + r("aB3d-", 9),
		"huggingface":   "hf_" + r("aB", 17),
		"telegram":      "123456789:" + r("aB3_-", 7),
		"jwt":           "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0." + r("aB3_", 6),
		"authorization": "Bearer " + r("aB3_", 6),
		"private-key":   "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIE\nAAAA\n-----END RSA " + "PRIVATE KEY-----",
	}
}

func TestTheRedactorKnowsTheFormsOfCredentials(t *testing.T) {
	for kind, secret := range fakeSecrets() {
		for _, frame := range [][2]string{{"", ""}, {"key: ", "."}, {"(", ")"}, {"x=", "&y=1"}, {"\"", "\""}, {"ü", "ü"}, {"a_", " b"}} {
			text := frame[0] + secret + frame[1]
			spans := FindSecrets(text)
			if len(spans) != 1 || spans[0].Kind != kind || spans[0].Start != len(frame[0]) {
				t.Errorf("%s in %q: %+v", kind, frame, spans)
				continue
			}
			if got := Redact(text); strings.Contains(got, secret) || !strings.HasPrefix(got, frame[0]+"[redacted:"+kind+"]") {
				t.Errorf("%s: %s", kind, got)
			}
		}
	}
}

func TestOtherFormsAreKnownToo(t *testing.T) {
	r := func(s string, n int) string { return strings.Repeat(s, n) }
	for name, text := range map[string]string{
		"an old OpenAI key":          "sk-" + r("aB3d", 12),
		"a temporary AWS key":        "ASIA" + r("ABCD2345", 2),
		"an AWS secret by its name":  "aws_secret_access_key = " + r("aB3/+", 8),
		"an AWS secret in JSON":      `"SecretAccessKey": "` + r("aB3/+", 8) + `"`,
		"a GitHub token of the app":  "ghs_" + r("aB3d", 9),
		"a fine-grained token":       "github_pat_" + r("aB3d_", 12),
		"a Slack hook":               "https://hooks.slack.com/services/T0/B0/" + r("aB3d", 6),
		"a Stripe signing secret":    "whsec_" + r("aB3d", 8),
		"a Google refresh":           "ya29." + r("aB3d_", 8),
		"a Google client secret":     "GOCSPX-" + r("aB3d", 7),
		"basic credentials":          "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("ada:secret1")),
		"basic, in small letters":    "basic " + base64.RawStdEncoding.EncodeToString([]byte("ada:secret12")),
		"a password in an URL":       "postgres://ada:secret@db.example/x",
		"an unsigned web token":      "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.",
		"a key cut off before END":   "-----BEGIN " + "PRIVATE KEY-----\nMIIE",
		"a key of OpenSSH":           "-----BEGIN OPENSSH " + "PRIVATE KEY-----\nb3Bl\n-----END OPENSSH " + "PRIVATE KEY-----",
		"a key of PGP":               "-----BEGIN PGP " + "PRIVATE KEY BLOCK-----\nxx\n-----END PGP " + "PRIVATE KEY BLOCK-----",
		"a token longer than needed": "rv_person_" + r("a", 60),
	} {
		if len(FindSecrets(text)) != 1 {
			t.Errorf("%s is not found: %q becomes %q", name, text, Redact(text))
		}
	}
	if got := Redact("see postgres://ada:secret@db.example/x"); got != "see postgres[redacted:url-password]@db.example/x" {
		t.Errorf("got %s", got)
	}
}

func TestOrdinaryTextIsLeftAlone(t *testing.T) {
	for _, text := range []string{
		"", "Hello", "The bearer of this letter", "bearer token-of-appreciation-for-everybody", "Basic internationalization matters",
		"Basic QWxhZGRpbg", "sk-learn and sk-image are libraries", "https://x.example:8080/a@b", "mailto:a@x.example",
		"https://ada@x.example", "https://ada:@x.example", "postgres://ada:***@db.example", "postgres://ada:xxxx@db.example",
		"-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----", "-----BEGIN ",
		"AKIA is a prefix", "AKIAIOSFODNN7EXAMPLETOOLONG", "MAKIAIOSFODNN7EXAMPLE", "eyJ.eyJ", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0",
		"eyJhbGciOiJub25lIn0.abc.def", "rv_agent_short", "rv__" + strings.Repeat("a", 43), "rv_Agent_" + strings.Repeat("a", 43),
		"ghp_tooshort", "12345678:short", "call 1234567890: now", "hf_short", "secret_access_key: see the vault",
		"sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "123e4567-e89b-12d3-a456-426614174000",
	} {
		if spans := FindSecrets(text); len(spans) != 0 {
			t.Errorf("%q: %+v", text, spans)
		}
		if Redact(text) != text {
			t.Errorf("%q is changed", text)
		}
	}
}

func TestSeveralCredentialsAreReplacedInOrder(t *testing.T) {
	s := fakeSecrets()
	got := Redact("a " + s["github"] + " b " + s["aws"] + "\n" + s["jwt"] + " c")
	if got != "a [redacted:github] b [redacted:aws]\n[redacted:jwt] c" {
		t.Errorf("got %s", got)
	}
}

func TestDataIsSearchedUnescapedAndUnreadableDataIsSuspect(t *testing.T) {
	for text, want := range map[string]bool{
		``: false, `{}`: false, `null`: false, ` {"a": "b"} `: false, `{"a":1,"a":2}`: false,
		`{"a":"\u0041KIAIOSFODNN7EXAMPLE"}`: true, `{"AKIAIOSFODNN7EXAMPLE":1}`: true, `{"a":[{"b":["AKIAIOSFODNN7EXAMPLE"]}]}`: true,
		`{"a":`: true, `nonsense`: true,
	} {
		if got := dataHasSecret(jsontext.Value(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// A text made to be read again and again must still take linear time. The bound
// is generous: a quadratic scan of these would take minutes.
func TestNoTextMakesTheRedactorSlow(t *testing.T) {
	const size = 1 << 18
	for _, piece := range []string{"eyJ-", "eyJa.", "rv_", "rv_a_", "sk-", "sk-ant-", "AKIA", "AKIA_", "://", "://a:", "-----BEGIN ",
		"-----BEGIN PRIVATE KEY", "bearer ", "bearer-", "basic A", "12345678:", "1", "a", "-", "github_pat_", "secret_access_key", "xoxb-", "SG.", "a@",
		"sk-ant-a", "glpat-", "_eyJ", "eyJ.eyJ", "eyJ.", "://a:b", "://a:b/", "://a:b?", "://[", "://a:@", "bearer+", "basic+A", "Authorization: token a ", "awssecretkey/",
		"secretaccesskey value ", "aws", "bot12345678:", "AKIAIOSFODNN7EXAMPLE", "-----BEGIN+", "\\\\", `\n`, `\\n`, `\u`, "%", "%25", "%2", "%255C", "&", "&amp;", "&#", "&#x5c;", "\x1b[", "\x1b[1;",
		`\nghp_`, "%3A//a:b@", "&colon;//a:b@", "%5Cu0025", "ghp_" + strings.Repeat("aB3d", 9) + `\n`, "://u:p@h ", "[redacted:"} {
		text := strings.Repeat(piece, size/len(piece))
		start := time.Now()
		Redact(text)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%q takes %v", piece, took)
		}
	}
}
