package gate

import (
	_ "embed"
	"encoding/base64"
	"strings"
	"testing"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

//go:embed testdata/words.txt
var plainWords string

// What a person writes must never be taken for a credential: at the gate it would
// deny a message.
func TestPlainWordsAreNoCredentials(t *testing.T) {
	words := strings.Fields(plainWords)
	if len(words) < 300 {
		t.Fatalf("only %d words", len(words))
	}
	before := []string{"Basic ", "basic  ", "Bearer ", "Token ", "Authorization: Basic ", "Authorization: Bearer ", "Authorization: token ",
		"the secret access key ", "aws_secret_access_key: ", "https://x.example/", "mailto:", "://"}
	for _, sh := range shapes {
		before = append(before, sh.prefix)
	}
	for i, word := range words {
		next, third, fourth := words[(i+7)%len(words)], words[(i+31)%len(words)], words[(i+101)%len(words)]
		title := strings.ToUpper(word[:1]) + word[1:]
		for _, text := range []string{word, title, strings.ToUpper(word), title + " " + next, word + "-" + next + "-" + third + "-" + fourth,
			word + "-" + next + "-2024-" + third + "-v2", word + "_" + next + "_" + third + "_" + fourth} {
			for _, prefix := range before {
				if got := Redact(prefix + text); got != prefix+text {
					t.Errorf("%q becomes %q", prefix+text, got)
				}
			}
		}
	}
}

func TestMoreOrdinaryTextIsLeftAlone(t *testing.T) {
	for name, texts := range map[string][]string{
		"names that begin as keys do": {"Update xapp-symbolic-icons to 1.0", "sk-admin-dashboard-settings-page", "sk-proj-documentation-archive",
			"glpat-token-documentation-page", "sk-ant-colony-optimization-library", "ya29.the-next-episode-of-the-series", "npm_config_registry",
			"whsec_secret_of_the_webhook_goes_here", "sk_test_internationalization", "sk-ant-api-key-rotation-policy-2024", "xoxb-your-token-goes-here",
			"AKIAIOSFODNN7EXAMPLETOOLONG", "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"},
		"rulers": {"pypi-" + strings.Repeat("-", 60), "SG." + strings.Repeat(".", 60), "xapp-" + strings.Repeat("-", 20),
			"GOCSPX-" + strings.Repeat("-", 30), "glpat-" + strings.Repeat("_", 30), "12345678:" + strings.Repeat("-", 35)},
		"addresses with a port": {"see http://localhost:3000,me@example.com", "http://example.com:8443;mail me@x.example", "https://example.com:443|ada@example.com",
			"<https://example.com:443>,<ada@example.com>", "[x](https://example.com:8443)me@x.example", "https://example.com:8443)@ada please look",
			"open https://example.com:8080→ask ops@example.com", "http://[::1]:8080@", "http://[2001:db8::1],ada@example.com", "http://x.example:8080/a@b",
			"http://localhost:3000?mail=me@example.com", "http://localhost:port/a@b", "https://example.com:${PORT}/a@b", "http://localhost:3000%2Cme@example.com",
			`http://localhost:3000\n,me@example.com`, "http://localhost:3000&quot;,me@example.com"},
		"other things with a colon and an @": {"ssh://git:22@host", "git+ssh://git@github.com:org/repo@v1", "ssh://github.com:org/repo.git@v1.0", "file://C:/Users/me@corp/x",
			"docker://alpine:3.19@sha256:abcd", "https://medium.com:@ada", "https://medium.com:@ada/x@y", "https://x.example,mailto:me@x.example", "<https://x.example|mailto:me@x.example>",
			"https://x.example/a:b@c", "mailto:a@x.example"},
		"placeholders": {"https://user:${PASSWORD}@host", "https://user:$PASSWORD@host", "https://user:<password>@host", "https://user:{password}@host", "https://user:{{.Password}}@host",
			"https://user:%s@host", "https://user:%(password)s@host", "https://user:PASSWORD@host", "postgres://user:password@localhost/db", "https://user:***@host", "https://user:[redacted]@host",
			"https://user:$(cat-file)@host"},
		"what is carried": {"Bearer 2001-2010-anniversary-edition", "bearer documents/2024/q3/shares-report.pdf", "the Bearer token123-is-explained-here", "Authorization: Bearer <token>",
			"Authorization: Bearer YOUR_ACCESS_TOKEN", "Authorization: Bearer $TOKEN", `WWW-Authenticate: Bearer realm="reeve", error="invalid_token"`, "Authorization: Bearer authentication is required",
			"Basic Operations training", "Basic estimatedTotal", "Basic RoundTripToolHandler", "Basic RequireBearerToken", "Authorization: Basic Operations", "Basic auth: ask Ada"},
		"numbers": {"ratio 12345678:" + strings.Repeat("a", 35), "12345678:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "robot12345678: ok"},
		"escapes": {`C:\new\table\bin`, `\\server\share`, "100%25 sure &amp; done", "%zz %2", `\u12`, "&#;&#x;&#xfffffffff;", "\x1b[31mred\x1b[0m", `\`, "%", "&", "\x1b", `\x`, `\9`, "\x1b["},
	} {
		for _, text := range texts {
			if got := Redact(text); got != text || hasSecret(text) {
				t.Errorf("%s: %q becomes %q", name, text, got)
			}
		}
	}
}

func TestPasswordsAreFoundInAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"postgres://u:p@ss-word@db.example/x":      "postgres[redacted:url-password]@db.example/x",
		"postgres://u:pa/ss@db.example/x":          "postgres[redacted:url-password]@db.example/x",
		"postgres://u:pa#ss@db.example/x":          "postgres[redacted:url-password]@db.example/x",
		"postgres://u:pa?ss@db.example/x":          "postgres[redacted:url-password]@db.example/x",
		"postgres://u:p@s/s@db.example/x":          "postgres[redacted:url-password]@db.example/x",
		"postgres://u:p@s#s?s@db/x":                "postgres[redacted:url-password]@db/x",
		"redis://:hunter2@cache:6379":              "redis[redacted:url-password]@cache:6379",
		"redis://:12345@cache":                     "redis[redacted:url-password]@cache",
		"postgres://u:123456@db":                   "postgres[redacted:url-password]@db",
		"postgres://u:80-x@db":                     "postgres[redacted:url-password]@db",
		"https://u:[redacted]real@h":               "https[redacted:url-password]@h",
		"https://u:$ecret1@h":                      "https[redacted:url-password]@h",
		"https://[redacted:github]@h":              "https://[redacted:github]@h",
		"https://[redacted:github]:pw@h":           "https[redacted:url-password]@h",
		"https://u:[redacted:github]@h":            "https://u:[redacted:github]@h",
		"https://a.b:secret@h":                     "https[redacted:url-password]@h",
		"smb://DOMAIN;u:secret@h":                  "smb[redacted:url-password]@h",
		`https:\/\/u:secret@h`:                     "https[redacted:url-password]@h",
		"postgres%3A%2F%2Fu%3Asecret%40db%2Fx":     "postgres[redacted:url-password]%40db%2Fx",
		"postgres&#58;//u:p&amp;w@db":              "postgres[redacted:url-password]@db",
		"redis://:p@h1:6379,redis://:q@h2:6379/0":  "redis[redacted:url-password]@h2:6379/0",
		"https://u:secret@h and https://u:other@i": "https[redacted:url-password]@h and https[redacted:url-password]@i",
	} {
		if got := Redact(text); got != want || Redact(want) != want {
			t.Errorf("%q becomes %q, then %q; want %q", text, got, Redact(got), want)
		}
	}
}

func TestHeadersAndNamesGiveCredentialsAway(t *testing.T) {
	r := strings.Repeat
	user := base64.StdEncoding.EncodeToString([]byte("ada:secret1"))
	mixed, letters := r("aB3_", 6), r("aBcD", 10)
	for text, secret := range map[string]string{
		"Bearer\t" + mixed:  mixed,
		"Bearer  " + mixed:  mixed,
		"Bearer%20" + mixed: mixed,
		"Bearer+" + mixed:   mixed,
		`Bearer\t` + mixed:  mixed,
		"Basic  " + user:    user,
		"basic " + base64.StdEncoding.EncodeToString([]byte("ada:secret1\n")): base64.StdEncoding.EncodeToString([]byte("ada:secret1"))[:12],
		"BASIC\t" + user:                                              user,
		"basic " + r("A", 3) + "6" + r("Y", 3):                        "", // decodes to no text
		"Authorization: Bearer " + letters:                            letters,
		`{"authorization":"Bearer ` + letters + `"}`:                  letters,
		`{\"Authorization\": \"Bearer ` + letters + `\"}`:             letters,
		`Set("Authorization", "Bearer ` + letters + `")`:              letters,
		"Proxy-Authorization: Bearer " + letters:                      letters,
		"authorization=Token+" + letters:                              letters,
		"Authorization: Token " + letters:                             letters,
		"Authorization: Bearer " + r("abcdefgh", 4):                   r("abcdefgh", 4),
		"Authorization: Basic " + user:                                user,
		"<SecretAccessKey>" + awsValue:                                awsValue,
		`{\"SecretAccessKey\": \"` + awsValue + `\"`:                  awsValue,
		`{"name":"AWS_SECRET_ACCESS_KEY","value":"` + awsValue + `"}`: awsValue,
		"awsSecretAccessKey=" + awsValue:                              awsValue,
		"myAwsSecretAccessKey=" + awsValue:                            awsValue,
		"aws-secret-access-key: " + awsValue:                          awsValue,
		"aws_secret_access_key:\n  " + awsValue:                       awsValue,
		"aws_secret_access_key     =     " + awsValue:                 awsValue,
		"aws_secret_access_key := `" + awsValue + "`":                 awsValue,
		"The AWS secret access key is " + awsValue:                    awsValue,
		"aws_secret_access_key=" + "/" + awsValue[:39]:                awsValue[:39],
		"secretAccessKey%3D" + r("aB3%2F%2B", 8):                      "aB3",
		"AKIAIOSFODNN7EXAMPLE:" + awsValue:                            awsValue,
		"AKIAIOSFODNN7EXAMPLE," + awsValue + "\n":                     awsValue,
		"AKIAIOSFODNN7EXAMPLE\t" + awsValue:                           awsValue,
		"x_" + fakeSecrets()["jwt"]:                                   fakeSecrets()["jwt"],
		"x-eyJ-" + fakeSecrets()["jwt"]:                               fakeSecrets()["jwt"],
		"TOKENghp_" + r("aB3d", 9):                                    r("aB3d", 9),
		"ghp_" + r("aB3d", 9) + "ghp_" + r("cD4e", 9):                 "cD4e",
		"123456789:" + r("aB3_-", 7) + "_suffix":                      r("aB3_-", 7),
	} {
		if secret == "" {
			if got := Redact(text); got != text {
				t.Errorf("%q becomes %q", text, got)
			}
			continue
		}
		mustBeGone(t, "in its place", text, secret)
	}
}

func TestAnEscapedCharacterInsideHidesNothing(t *testing.T) {
	secret := fakeSecrets()["github"]
	for name, text := range map[string]string{
		"JSON":  `x\u0067` + secret[1:],
		"URL":   "x=" + secret[:6] + "%" + "64" + secret[7:],
		"HTML":  secret[:3] + "&lowbar;" + secret[4:],
		"mixed": secret[:3] + "%26%2395%3B" + secret[4:],
	} {
		mustBeGone(t, name, text, secret[8:])
	}
}

func TestRedactingTwiceChangesNothing(t *testing.T) {
	r := strings.Repeat
	for _, n := range []int{1, 2, 7, 8, 9, 20, 1000} {
		for _, text := range []string{r("://a", n) + ":c@h", r("://a:b", n) + "@h", r("://a:", n) + r("@h", n), r("AKIAIOSFODNN7EXAMPLE", n) + "ghp_" + r("aB3d", 9),
			r("postgres://u", n) + "ghp_" + r("aB3d", 9) + r(":x", n) + "@h", r("%25", n) + "5Cn" + fakeSecrets()["reeve"], r("[redacted:", n) + "://a:b@c"} {
			once := Redact(text)
			if twice := Redact(once); twice != once {
				t.Errorf("%d times: %.80q, then %.80q", n, once, twice)
			}
		}
	}
}

// A name and its value are two texts of JSON; only together they are a credential.
func TestDataIsSearchedAsItIsWrittenToo(t *testing.T) {
	if !dataHasSecret(jsontext.Value(`{"SecretAccessKey": "` + awsValue + `"}`)) {
		t.Error("a secret behind its name is not found")
	}
	if dataHasSecret(jsontext.Value(`{"url":"http://localhost:3000","mail":"me@example.com","kind":"Basic Operations"}`)) {
		t.Error("ordinary data is taken for a secret")
	}
}

func TestLookingForCredentialsAllocatesNothing(t *testing.T) {
	text := strings.Repeat("Dear Ada, the Basic Operations training starts at 9:30. See https://x.example:8080/a?b=c or write to b@x.example. ", 20)
	if strings.IndexFunc(text, unicode.IsControl) >= 0 || hasSecret(text) {
		t.Fatal("the text is not ordinary")
	}
	if n := testing.AllocsPerRun(100, func() { hasSecret(text) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRedactOrdinaryText(b *testing.B) {
	text := strings.Repeat("Dear Ada, the Basic Operations training starts at 9:30.\nSee https://x.example:8080/a?b=c&d=e%20f. ", 10000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Redact(text)
	}
}
