package gate

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	stdjson "encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// vector is one entry of testdata/vectors.json. The file was computed with
// sha1sum and Python's hashlib, not with this package.
type vector struct {
	Name, Account, Project string
	Action                 Action
	KeyPreimage            string `json:"key_preimage"`
	Key, Canonical, Digest string
}

func vectors(t *testing.T) (out []vector) {
	t.Helper()
	raw, err := os.ReadFile("testdata/vectors.json")
	if err == nil {
		err = stdjson.Unmarshal(raw, &out)
	}
	if err != nil || len(out) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	return out
}

func TestThePublishedVectorsHold(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			if got := Key(v.Action); got != v.Key {
				t.Errorf("key %s, want %s", got, v.Key)
			}
			canonical, err := Canonical(v.Account, v.Project, v.Action)
			if err != nil || string(canonical) != v.Canonical {
				t.Errorf("canonical form\n%s\nwant\n%s\n%v", canonical, v.Canonical, err)
			}
			if got, err := Digest(v.Account, v.Project, v.Action); err != nil || got != v.Digest {
				t.Errorf("digest %s, %v", got, err)
			}
		})
	}
}

func TestAKeyOfOrdinaryFieldsIsTheHashOfTheFieldsJoinedByBars(t *testing.T) {
	a := Action{Type: "send", Title: "Hello", Recipient: "a@x.example", AmountCents: cents(5), Body: "line\nline"}
	sum := sha1.Sum([]byte("send|Hello|a@x.example|5|line\nline"))
	if got := Key(a); got != hex.EncodeToString(sum[:])[:32] {
		t.Errorf("got %s", got)
	}
}

func TestAbsentAndEmptyShareAKeyAndADigest(t *testing.T) {
	a := Action{Type: "note", Title: "x"}
	b := Action{Type: "note", Title: "x", Labels: []string{}, TaintedBy: []string{}, Data: jsontext.Value("null")}
	da, _ := Digest("a", "p", a)
	db, err := Digest("a", "p", b)
	if Key(a) != Key(b) || da != db || err != nil {
		t.Errorf("they differ: %v", err)
	}
}

func TestAKeyReadsTheDecimalWhereThatIsAllThereIs(t *testing.T) {
	a := Action{Type: "spend", Title: "x", AmountCents: cents(4900)}
	b := Action{Type: "spend", Title: "x", Amount: "49.00 USD"}
	if Key(a) != Key(b) {
		t.Error("stating the amount otherwise changes the key")
	}
}

func TestNoTwoSplitsOfATextShareAKey(t *testing.T) {
	rnd := seeded(t)
	const letters = `ab|\`
	seen := make(map[string][4]string)
	for range 50_000 {
		var f [4]string
		for i := range f {
			b := make([]byte, rnd.IntN(4))
			for j := range b {
				b[j] = letters[rnd.IntN(len(letters))]
			}
			f[i] = string(b)
		}
		key := Key(Action{Type: f[0], Title: f[1], Recipient: f[2], Body: f[3]})
		if before, again := seen[key]; again && before != f {
			t.Fatalf("%q and %q share a key", before, f)
		}
		seen[key] = f
	}
}

func TestEveryFieldThatIsCarriedOutChangesTheDigest(t *testing.T) {
	base := func() Action {
		return Action{Type: "spend", Title: "t", Recipient: "r", AmountCents: cents(1), Currency: "USD", Body: "b",
			Labels: []string{"l", "m"}, TaintedBy: []string{"o"}, Data: jsontext.Value(`{"n":1}`)}
	}
	changes := map[string]func(*Action){
		"nothing":     func(a *Action) {},
		"type":        func(a *Action) { a.Type = "pay" },
		"title":       func(a *Action) { a.Title = "T" },
		"recipient":   func(a *Action) { a.Recipient = "" },
		"amount":      func(a *Action) { a.AmountCents = cents(2) },
		"no amount":   func(a *Action) { a.AmountCents = nil },
		"currency":    func(a *Action) { a.Currency = "EUR" },
		"body":        func(a *Action) { a.Body = "b " },
		"labels":      func(a *Action) { a.Labels = []string{"lm"} },
		"their order": func(a *Action) { a.Labels = []string{"m", "l"} },
		"taint":       func(a *Action) { a.TaintedBy = nil },
		"data":        func(a *Action) { a.Data = jsontext.Value(`{"n":2}`) },
		"empty data":  func(a *Action) { a.Data = jsontext.Value(`{}`) },
		"no data":     func(a *Action) { a.Data = nil },
	}
	seen := make(map[string]string)
	add := func(name, digest string, err error) {
		if err != nil || len(digest) != 64 || strings.ToLower(digest) != digest {
			t.Errorf("%s: %q, %v", name, digest, err)
		}
		if other, taken := seen[digest]; taken {
			t.Errorf("%s and %s share a digest", name, other)
		}
		seen[digest] = name
	}
	for name, change := range changes {
		a := base()
		change(&a)
		digest, err := Digest("acc", "proj", a)
		add(name, digest, err)
	}
	digest, err := Digest("acc2", "proj", base())
	add("account", digest, err)
	digest, err = Digest("acc", "proj2", base())
	add("project", digest, err)
	digest, err = Digest("accproj", "", base())
	add("a split", digest, err)
}

func TestLayoutOfDataDoesNotChangeTheDigest(t *testing.T) {
	a := Action{Type: "note", Title: "x", Data: jsontext.Value(`{"b":1.0,"a":"\u00e9"}`)}
	b := Action{Type: "note", Title: "x", Data: jsontext.Value("\n{ \"a\": \"é\",\t\"b\": 1 }")}
	da, err1 := Digest("a", "p", a)
	db, err2 := Digest("a", "p", b)
	if da != db || err1 != nil || err2 != nil {
		t.Errorf("%s %s %v %v", da, db, err1, err2)
	}
	if !bytes.HasPrefix(a.Data, []byte(`{"b"`)) {
		t.Error("the digest rewrote the caller's data")
	}
}

func TestADigestIsRefusedWhereItWouldNotCoverEverything(t *testing.T) {
	for name, a := range map[string]Action{
		"an amount that was not restated":   {Type: "spend", Title: "x", Amount: "49.00 USD"},
		"a restated amount, no currency":    {Type: "spend", Title: "x", Amount: "49.00 USD", AmountCents: cents(4900)},
		"statements that disagree":          {Type: "spend", Title: "x", Amount: "49.00 USD", AmountCents: cents(1), Currency: "USD"},
		"an amount that JSON would round":   {Type: "spend", Title: "x", AmountCents: cents(MaxCents + 1)},
		"a number that JSON would round":    {Type: "note", Title: "x", Data: jsontext.Value(`{"n":9007199254740993}`)},
		"a key of data that stands twice":   {Type: "note", Title: "x", Data: jsontext.Value(`{"n":1,"n":2}`)},
		"data that closes the object early": {Type: "note", Title: "x", Data: jsontext.Value(`{"n":1},"type":"spend","x":{}`)},
		"a title that is no text":           {Type: "note", Title: "\xff"},
		"a label that is no text":           {Type: "note", Title: "x", Labels: []string{"\xff"}},
	} {
		if digest, err := Digest("a", "p", a); err == nil || digest != "" {
			t.Errorf("%s: got %q", name, digest)
		}
	}
	if _, err := Digest("\xff", "p", Action{Type: "note", Title: "x"}); err == nil {
		t.Error("an account that is no text passes")
	}
}

func TestTheCanonicalFormIsThatOfRFC8785(t *testing.T) {
	for in, want := range map[string]string{
		// §3.2.2, the example of the section.
		`{ "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
		   "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false] }`: `{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		// §3.2.3, sorting by UTF-16 code units.
		`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`: "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
	} {
		value := jsontext.Value(in)
		if err := value.Canonicalize(); err != nil || string(value) != want {
			t.Errorf("got  %s\nwant %s\n%v", value, want, err)
		}
	}
}

// The numbers of RFC 8785, appendix B.
func TestNumbersArePrintedAsInAppendixBOfRFC8785(t *testing.T) {
	for bits, want := range map[uint64]string{
		0x0000000000000000: "0", 0x8000000000000000: "0", 0x0000000000000001: "5e-324", 0x8000000000000001: "-5e-324",
		0x7fefffffffffffff: "1.7976931348623157e+308", 0x4340000000000000: "9007199254740992",
		0xc340000000000000: "-9007199254740992", 0x4430000000000000: "295147905179352830000",
		0x44b52d02c7e14af5: "9.999999999999997e+22", 0x44b52d02c7e14af6: "1e+23", 0x44b52d02c7e14af7: "1.0000000000000001e+23",
		0x444b1ae4d6e2ef4e: "999999999999999700000", 0x444b1ae4d6e2ef4f: "999999999999999900000", 0x444b1ae4d6e2ef50: "1e+21",
		0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7", 0x3eb0c6f7a0b5ed8d: "0.000001",
		0x41b3de4355555553: "333333333.3333332", 0x41b3de4355555554: "333333333.33333325", 0x41b3de4355555555: "333333333.3333333",
		0x41b3de4355555556: "333333333.3333334", 0x41b3de4355555557: "333333333.33333343",
		0xbecbf647612f3696: "-0.0000033333333333333333", 0x43143ff3c1cb0959: "1424953923781206.2",
	} {
		raw, err := json.Marshal(math.Float64frombits(bits))
		value := jsontext.Value(raw)
		if err != nil || value.Canonicalize() != nil || string(value) != want {
			t.Errorf("%016x: got %s, want %s", bits, value, want)
		}
		if !exactNumber(want) {
			t.Errorf("%s is refused as data", want)
		}
	}
}
