package auditlog

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
)

func must[T any](t testing.TB, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func freshKey(t testing.TB) Key {
	t.Helper()
	k, _, err := newKey()
	return must(t, k, err)
}

// sealed is a log that is sealed as the operator does it.
type sealed struct {
	account   string
	id        int64
	keys      []Key
	rotations []string
	entries   []Entry
	tree      Tree
}

func newLog(t testing.TB, account string, id int64) *sealed {
	return &sealed{account: account, id: id, keys: []Key{freshKey(t)}}
}

func (s *sealed) key() Key { return s.keys[len(s.keys)-1] }

func (s *sealed) add(t testing.TB, e Entry) {
	t.Helper()
	e.Account = s.id
	if e.Verdict == "" {
		e.Verdict = verdictDone
	}
	leaf, err := e.Leaf()
	s.tree.Append(must(t, leaf, err))
	s.entries = append(s.entries, e)
}

func (s *sealed) checkpoint() Checkpoint {
	return Checkpoint{Origin(s.account), s.tree.Size(), s.tree.Root()}
}

func (s *sealed) signed(t testing.TB, keys ...Key) string {
	t.Helper()
	text, err := s.checkpoint().Sign(keys...)
	return must(t, text, err)
}

// rotate hands the log over to a new key. Where the old one was lost it signs
// nothing.
func (s *sealed) rotate(t testing.TB, lost bool) {
	t.Helper()
	next, action := freshKey(t), ActionRotate
	if lost {
		action = ActionReplace
	}
	s.add(t, Entry{Principal: LocalPrincipal, Action: action, Outcome: string(next.Public())})
	step := ""
	if !lost {
		step = s.signed(t, s.key(), next)
	}
	s.keys, s.rotations = append(s.keys, next), append(s.rotations, step)
}

func (s *sealed) public() (out []PublicKey) {
	for _, k := range s.keys {
		out = append(out, k.Public())
	}
	return out
}

func (s *sealed) export(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	err := WriteHeader(&out, Header{Keys: s.public(), Origin: Origin(s.account), Rotations: s.rotations, Size: s.tree.Size()})
	for _, e := range s.entries {
		if err == nil {
			err = WriteEntry(&out, e)
		}
	}
	if err == nil {
		err = WriteCheckpoint(&out, s.signed(t, s.key()))
	}
	return must(t, out.Bytes(), err)
}

// life adds what an intent goes through until it is carried out.
func (s *sealed) life(t testing.TB, intent int64, approved bool) {
	t.Helper()
	at := int64(1_700_000_000_000_000) + intent
	digest := strings.Repeat(fmt.Sprintf("%08x", intent), 8)
	move := func(kind, from, to, decision string) {
		s.add(t, Entry{At: at, Intent: intent, Digest: digest, Kind: kind, Principal: kind + ":x", Action: "act", StatusFrom: from, StatusTo: to,
			PolicyDecision: decision, Outcome: from + " -> " + to + " “quoted” \n\t\\ é"})
	}
	if approved {
		move("agent", "", statusPending, "requires_approval")
		move(kindHuman, statusPending, statusApproved, "")
		move("worker", statusApproved, statusExecuting, "")
	} else {
		move("agent", "", statusAllowed, decisionAllow)
		move("worker", statusAllowed, statusExecuting, "")
	}
	move("worker", statusExecuting, "succeeded", "")
}

func TestTheTreeAgreesWithTheSumdbsAtEverySize(t *testing.T) {
	var tree Tree
	var check checker
	var all []Hash // every stored hash, as the sumdb would keep them
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]Hash, error) {
		var out []Hash
		for _, i := range indexes {
			out = append(out, all[i])
		}
		return out, nil
	})
	for n := int64(0); n < 1100; n++ {
		want, err := tlog.TreeHash(n, reader)
		must(t, want, err)
		got, err := check.root()
		if must(t, got, err) != want || tree.Root() != want || tree.Size() != n {
			t.Fatalf("at %d leaves the roots are %v, %v and %v", n, tree.Root(), got, want)
		}
		again, err := ParseTree(n, tree.Edge())
		if must(t, again, err).Root() != want {
			t.Fatalf("at %d leaves the stored tree has another root", n)
		}
		tree = *again
		leaf := fmt.Appendf(nil, "leaf %d", n)
		hashes, err := tlog.StoredHashes(n, leaf, reader)
		all = append(all, must(t, hashes, err)...)
		tree.Append(tlog.RecordHash(leaf))
		must(t, 0, check.append(leaf))
	}
}

func TestAStoredTreeIsReadStrictly(t *testing.T) {
	one := strings.Repeat("ab", 32)
	for name, c := range map[string]struct {
		size int64
		edge string
	}{
		"a hash too many": {1, one + one}, "a hash too few": {3, one}, "half a hash": {1, one[:32]}, "capitals": {1, strings.ToUpper(one)},
		"no hex": {1, strings.Repeat("zz", 32)}, "a negative size": {-1, ""}, "an edge of nothing": {0, one},
	} {
		if _, err := ParseTree(c.size, c.edge); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

func TestAnEntryHasOneSpelling(t *testing.T) {
	e := Entry{Account: 7, At: 5, Action: "x", Outcome: "a\u2028b\"<&>", StatusTo: "allowed"}
	text, err := e.Canonical()
	got, err2 := ParseEntry(must(t, text, err))
	if must(t, got, err2) != e {
		t.Errorf("%+v came back as %+v", e, got)
	}
	for name, other := range map[string]string{
		"white space": ` ` + string(text), "a zero that is said": `{"account_id":0}`, "an empty text that is said": `{"action":""}`,
		"null": `{"action":null}`, "another order": `{"at":5,"account_id":7}`, "an escape too many": `{"action":"\u0078"}`, "a number spelled otherwise": `{"at":5.0}`,
		"an exponent": `{"at":5e0}`, "an unknown member": `{"zzz":1}`, "a member twice": `{"at":5,"at":5}`, "another case": `{"At":5}`, "no object": `[]`,
		"something after it": `{"at":5}{}`, "nothing": ``, "a carriage return": `{"at":5}` + "\r", "bad UTF-8": "{\"action\":\"\xff\"}", "too large a number": `{"at":9007199254740993}`,
	} {
		if _, err := ParseEntry([]byte(other)); err == nil {
			t.Errorf("%s was read", name)
		}
	}
	for name, bad := range map[string]Entry{"bad UTF-8": {Action: "\xff"}, "a number that a double cannot hold": {At: 1 << 53}} {
		if _, err := bad.Leaf(); err == nil {
			t.Errorf("%s has a leaf", name)
		}
	}
}

func TestACheckpointIsWhatExactlyItsKeysSigned(t *testing.T) {
	one, two := freshKey(t), freshKey(t)
	c := Checkpoint{Origin("default"), 3, tlog.RecordHash([]byte("x"))}
	sign := func(keys ...Key) string { s, err := c.Sign(keys...); return must(t, s, err) }
	good := sign(one, two)
	got, err := OpenCheckpoint(good, one.Public(), two.Public())
	if must(t, got, err) != c {
		t.Errorf("%+v came back as %+v", c, got)
	}
	line := strings.Split(sign(one), "\n")[4]
	spare := strings.Replace(sign(one), "==\n", "=\n", 1)
	for name, text := range map[string]string{
		"one signature of two": sign(one), "another order": sign(two, one), "a signature twice": good + line + "\n", "a third key": sign(one, two, freshKey(t)),
		"no line feed": strings.TrimSuffix(good, "\n"), "a line more": strings.Replace(good, "\n\n", "\nmore\n\n", 1), "a zero in front": strings.Replace(good, "\n3\n", "\n03\n", 1),
		"nothing": "", "a text": "x", "base64 with spare bits": spare, "a stranger's origin": strings.Replace(good, "reeve/default", "sum.golang.org", 1),
	} {
		if _, err := OpenCheckpoint(text, one.Public(), two.Public()); err == nil {
			t.Errorf("%s was opened", name)
		}
	}
	for _, bad := range []Checkpoint{{Size: 1}, {Origin: "x", Size: 1}, {Origin: Origin(""), Size: 0}, {Origin: "reeve/a\nb", Size: 1}} {
		if _, err := bad.Sign(one); err == nil {
			t.Errorf("%+v was signed", bad)
		}
	}
	for name, text := range map[string]string{"a capital": strings.ToUpper(string(one.Public())), "another name": strings.Replace(string(one.Public()), "reeve+", "other+", 1), "nothing": "", "a space": string(one.Public()) + " "} {
		if _, err := ParsePublicKey(text); err == nil {
			t.Errorf("a key with %s was read", name)
		}
	}
}

func TestPrintingAKeyShowsNoSecret(t *testing.T) {
	k, text, err := newKey()
	must(t, k, err)
	secret := strings.SplitN(text, "+", 5)[4] // base64 has a plus of its own
	for _, format := range []string{"%v", "%+v", "%s", "%q", "%#v"} {
		if shown := fmt.Sprintf(format, k); strings.Contains(shown, "PRIVATE") || strings.Contains(shown, secret) {
			t.Errorf("%s shows %s", format, shown)
		}
	}
}

// random is reproducible, and says its seed where a test fails.
func random(t testing.TB) *rand.Rand {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}
