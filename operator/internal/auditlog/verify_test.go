package auditlog

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

func verified(text []byte, opts *VerifyOptions) (Report, error) {
	return Verify(bytes.NewReader(text), opts)
}

// wrong fails unless verifying finds a problem of a kind.
func wrong(t *testing.T, what string, text []byte, opts *VerifyOptions, kind error) *Problem {
	t.Helper()
	_, err := verified(text, opts)
	var p *Problem
	if !errors.As(err, &p) || kind != nil && !errors.Is(err, kind) {
		t.Fatalf("%s: got %v, want %v", what, err, kind)
	}
	return p
}

func example(t testing.TB, rotations int) *sealed {
	s := newLog(t, "default", 1)
	for i := range int64(4) {
		s.life(t, i+1, i%2 == 0)
		if int(i) < rotations {
			s.rotate(t, false)
		}
	}
	return s
}

func TestAWholeLogIsFoundWhole(t *testing.T) {
	for _, rotations := range []int{0, 1, 3} {
		s := example(t, rotations)
		got, err := verified(s.export(t), &VerifyOptions{Keys: s.public()[:1], Origin: Origin("default"), Checkpoints: s.rotations})
		want := Report{Origin: "reeve/default", Size: s.tree.Size(), Root: s.tree.Root().String(), Key: s.key().Public(), Trusted: true, Executions: 4}
		if err != nil || got != want {
			t.Errorf("%d rotations: %+v, %v; want %+v", rotations, got, err, want)
		}
		if got, err := verified(s.export(t), nil); err != nil || got.Trusted {
			t.Errorf("without a key: %+v, %v", got, err)
		}
	}
	nobody := newLog(t, "", 0)
	nobody.add(t, Entry{Action: "x"})
	if got, err := verified(nobody.export(t), nil); err != nil || got.Origin != "reeve" {
		t.Errorf("the log of no account: %+v, %v", got, err)
	}
}

// Every byte of the file is covered: there is none that can be another one, be
// left out or be doubled.
func TestNoByteOfALogCanBeChanged(t *testing.T) {
	r, s := random(t), newLog(t, "default", 1)
	s.life(t, 1, true)
	s.rotate(t, false)
	text := s.export(t)
	more := []byte{'\n', '\r', ' ', 0, '0', '='}
	first, last := bytes.IndexByte(text, '\n'), bytes.LastIndexByte(text[:len(text)-1], '\n')
	for i := range text {
		if i > first+1 && i < last-1 && r.IntN(4) != 0 {
			continue // the rows are alike, and there are many
		}
		flip := []byte{0x01, 0x20, byte(1 + r.IntN(255))}[r.IntN(3)]
		text[i] ^= flip
		wrong(t, "a flipped byte", text, nil, nil)
		text[i] ^= flip
		switch r.IntN(4) {
		case 0:
			wrong(t, "a byte less", slices.Concat(text[:i], text[i+1:]), nil, nil)
		case 1:
			wrong(t, "a byte twice", slices.Concat(text[:i], text[i:i+1], text[i:]), nil, nil)
		case 2:
			wrong(t, "a byte more", slices.Concat(text[:i], more[i%6:i%6+1], text[i:]), nil, nil)
		case 3:
			wrong(t, "a file that ends early", text[:i], nil, nil)
		}
	}
	for _, more := range []string{"\n", " ", "\r\n", "{}", "{}\n", string(text), "\x00"} {
		wrong(t, "something after the end", append(slices.Clone(text), more...), nil, nil)
	}
}

// tampering changes a log in one of the ways that somebody might.
func tampering(t *testing.T, s *sealed, mine, others []byte, pick func(n int) int) (how string, text []byte, opts *VerifyOptions) {
	t.Helper()
	split := func(text []byte) []string { // the last one is empty
		lines := strings.SplitAfter(string(text), "\n")
		return lines[:len(lines)-1]
	}
	lines, theirs, rows := split(mine), split(others), len(s.entries)
	i, j := 1+pick(rows), 1+pick(rows)
	for lines[i] == lines[j] {
		j = 1 + pick(rows)
	}
	opts = &VerifyOptions{}
	switch pick(11) {
	case 0:
		how, lines = "a row removed", slices.Delete(lines, i, i+1)
	case 1:
		how = "a byte altered"
		text := []byte(strings.Join(lines, ""))
		text[pick(len(text))] ^= byte(1 + pick(255))
		return how, text, opts
	case 2:
		how = "two rows exchanged"
		lines[i], lines[j] = lines[j], lines[i]
	case 3:
		how, lines = "a row doubled", slices.Insert(lines, j, lines[i])
	case 4:
		how = "cut short and sealed again by the holder of the key"
		cut := s.cut(t, max(1, i-1))
		opts.Checkpoints = []string{s.signed(t, s.key())}
		return how, cut.export(t), opts
	case 5:
		how = "another account's file"
		opts.Checkpoints = []string{s.signed(t, s.key())}
		return how, others, opts
	case 6:
		how = "sealed again by somebody else"
		fake := s.cut(t, len(s.entries))
		fake.keys = []Key{freshKey(t)}
		opts.Keys = s.public()
		return how, fake.export(t), opts
	case 7:
		how = "a row altered and sealed again by the holder of the key"
		fake := s.cut(t, i-1)
		for n, e := range s.entries[i-1:] {
			if n == 0 {
				e.Outcome += "!"
			}
			fake.add(t, e)
		}
		opts.Checkpoints = []string{s.signed(t, s.key())}
		return how, fake.export(t), opts
	case 8:
		how = "another account's rows"
		lines[i] = theirs[i]
	case 9:
		how, lines = "several rows removed", slices.Delete(lines, min(i, j), max(i, j))
	case 10:
		how = "another account's checkpoint"
		lines[len(lines)-1] = theirs[len(theirs)-1]
	}
	return how, []byte(strings.Join(lines, "")), opts
}

// cut is the log as it was after some rows.
func (s *sealed) cut(t *testing.T, rows int) *sealed {
	t.Helper()
	out := &sealed{account: s.account, id: s.id, keys: s.keys[:1]}
	for _, e := range s.entries[:rows] {
		out.add(t, e)
	}
	return out
}

func TestOfAThousandTamperingsAThousandAreFound(t *testing.T) {
	r := random(t)
	s, other := newLog(t, "default", 1), newLog(t, "other", 2)
	other.keys = s.keys // one database, one key
	for i := range int64(8) {
		s.life(t, 1+i, i%3 == 0)
		other.life(t, 100+i, i%3 == 0)
	}
	mine, others := s.export(t), other.export(t)
	found, ways := 0, map[string]int{}
	for range 1000 {
		how, text, opts := tampering(t, s, mine, others, r.IntN)
		if _, err := verified(text, opts); err == nil {
			t.Errorf("not found: %s", how)
			continue
		}
		found++
		ways[how]++
	}
	if found != 1000 || len(ways) != 11 {
		t.Errorf("%d of 1000 found, in %d ways: %v", found, len(ways), ways)
	}
	t.Logf("%d found: %v", found, ways)
}

func TestADifferenceIsSaidWithItsLineAndKind(t *testing.T) {
	s := example(t, 0)
	text := string(s.export(t))
	lines := strings.SplitAfter(text, "\n")
	with := func(n int, line string) []byte {
		out := slices.Clone(lines)
		out[n-1] = line
		return []byte(strings.Join(out, ""))
	}
	last := len(s.entries) + 2
	for what, c := range map[string]struct {
		text []byte
		kind error
		line int64
	}{
		"a row that is altered":         {with(3, strings.Replace(lines[2], `"act"`, `"art"`, 1)), ErrAltered, int64(last)},
		"a row spelled otherwise":       {with(3, " "+lines[2]), ErrForm, 3},
		"a row removed":                 {with(3, ""), ErrAltered, int64(last - 1)},
		"a row doubled":                 {with(3, lines[2]+lines[2]), ErrAltered, int64(last)},
		"a row of another account":      {with(3, strings.Replace(lines[2], `"account_id":1,`, `"account_id":2,`, 1)), ErrOrigin, 3},
		"a second header":               {with(3, lines[0]), ErrForm, 3},
		"a blank line":                  {with(3, "\n"), ErrForm, 3},
		"no header":                     {with(1, ""), ErrForm, 1},
		"another version of the format": {with(1, strings.Replace(lines[0], `"v":1`, `"v":2`, 1)), ErrForm, 1},
		"no checkpoint":                 {with(last, ""), ErrForm, 0},
		"no end of the last line":       {with(last, strings.TrimSuffix(lines[last-1], "\n")), ErrForm, int64(last)},
		"a line after the end":          {with(last, lines[last-1]+"\n"), ErrForm, int64(last + 1)},
		"nothing at all":                {nil, ErrForm, 0},
	} {
		p := wrong(t, what, c.text, nil, c.kind)
		if p.Line != c.line {
			t.Errorf("%s: found in line %d, want %d: %v", what, p.Line, c.line, p)
		}
	}
	wrong(t, "a line without an end", slices.Concat([]byte(lines[0]), bytes.Repeat([]byte("x"), maxLine+1)), nil, ErrForm)
}

func TestALogIsHeldToWhatIsKnownOfIt(t *testing.T) {
	s, stranger := example(t, 0), freshKey(t)
	early := s.signed(t, s.key())
	s.life(t, 50, true)
	text := s.export(t)
	if _, err := verified(text, &VerifyOptions{Checkpoints: []string{early, s.signed(t, s.key())}}); err != nil {
		t.Errorf("a continuation: %v", err)
	}
	wrong(t, "a stranger's key", text, &VerifyOptions{Keys: []PublicKey{stranger.Public()}}, ErrKey)
	wrong(t, "another origin", text, &VerifyOptions{Origin: "reeve/other"}, ErrOrigin)
	shorter := s.cut(t, len(s.entries)-5)
	wrong(t, "a truncation", shorter.export(t), &VerifyOptions{Checkpoints: []string{early}}, ErrTruncated)
	fork := s.cut(t, 3)
	for i := range int64(10) {
		fork.life(t, 60+i, false)
	}
	wrong(t, "a fork", fork.export(t), &VerifyOptions{Checkpoints: []string{early}}, ErrForked)
	forged, err := s.checkpoint().Sign(stranger)
	wrong(t, "a stranger's checkpoint", text, &VerifyOptions{Checkpoints: []string{must(t, forged, err)}}, ErrKey)
	other := newLog(t, "other", 2)
	other.keys = s.keys
	other.life(t, 1, true)
	wrong(t, "another log's checkpoint", text, &VerifyOptions{Checkpoints: []string{other.signed(t, s.key())}}, ErrOrigin)
}

func TestEitherKeyOfARotationVouchesAndNobodyElses(t *testing.T) {
	s := example(t, 2)
	for i, k := range s.public() {
		if got, err := verified(s.export(t), &VerifyOptions{Keys: []PublicKey{k}}); err != nil || !got.Trusted {
			t.Errorf("key %d: %+v, %v", i, got, err)
		}
	}
	thief := freshKey(t)
	with := func(change func(*sealed)) *sealed {
		out := *s
		out.keys, out.rotations, out.entries = slices.Clone(s.keys), slices.Clone(s.rotations), slices.Clone(s.entries)
		change(&out)
		return &out
	}
	for what, fake := range map[string]*sealed{
		"the thief's key in place of the last one": with(func(s *sealed) { s.keys[2] = thief }),
		"the thief's key as one more": with(func(s *sealed) {
			s.keys, s.rotations = append(s.keys, thief), append(s.rotations, s.signed(t, s.key(), thief))
		}),
		"the first key left out":                  with(func(s *sealed) { s.keys, s.rotations = s.keys[1:], s.rotations[1:] }),
		"all keys but the last left out":          with(func(s *sealed) { s.keys, s.rotations = s.keys[2:], nil }),
		"a step that is said to be of a lost key": with(func(s *sealed) { s.rotations[0] = "" }),
		"steps in another order":                  with(func(s *sealed) { slices.Reverse(s.rotations) }),
		"a key twice":                             with(func(s *sealed) { s.keys[1] = s.keys[0] }),
		"sealed by the retired key again":         with(func(s *sealed) { s.keys, s.rotations = s.keys[:2], s.rotations[:1] }),
		"a step that only the old key signed":     with(func(s *sealed) { s.rotations[1] = s.signed(t, s.keys[1]) }),
		"a step that is signed at another place": with(func(s *sealed) {
			s.rotations[1] = s.signed(t, s.keys[1], s.keys[2])
			s.rotations[0] = s.signed(t, s.keys[0], s.keys[1])
		}),
		"a step that is signed before the row announces it": with(func(s *sealed) { s.rotations[0], _ = s.cut(t, 1).checkpoint().Sign(s.keys[0], s.keys[1]) }),
	} {
		if got, err := verified(fake.export(t), nil); err == nil {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

func TestALostKeyVouchesForNothingThatCameAfterIt(t *testing.T) {
	s := example(t, 1)
	early := s.signed(t, s.key())
	s.rotate(t, true)
	s.life(t, 70, true)
	s.rotate(t, false)
	text, keys := s.export(t), s.public()
	for i, trusted := range []bool{false, false, true, true} {
		_, err := verified(text, &VerifyOptions{Keys: keys[i : i+1]})
		if trusted != (err == nil) || err != nil && !errors.Is(err, ErrKey) {
			t.Errorf("key %d: %v", i, err)
		}
	}
	if _, err := verified(text, &VerifyOptions{Keys: keys[3:], Checkpoints: []string{early}}); err != nil {
		t.Errorf("a checkpoint of before: %v", err)
	}
}

func TestWhatWasCarriedOutHasToHaveItsLeave(t *testing.T) {
	digest, other := strings.Repeat("a", 64), strings.Repeat("b", 64)
	pending := Entry{Intent: 1, Digest: digest, StatusTo: statusPending, PolicyDecision: "requires_approval", Kind: "agent"}
	allowed := Entry{Intent: 1, Digest: digest, StatusTo: statusAllowed, PolicyDecision: decisionAllow, Kind: "agent"}
	approved := Entry{Intent: 1, Digest: digest, StatusFrom: statusPending, StatusTo: statusApproved, Kind: kindHuman}
	claim := func(from string) Entry {
		return Entry{Intent: 1, Digest: digest, StatusFrom: from, StatusTo: statusExecuting, Kind: "worker"}
	}
	back := Entry{Intent: 1, Digest: digest, StatusFrom: statusExecuting, StatusTo: statusApproved}
	ended := Entry{Intent: 1, Digest: digest, StatusFrom: statusExecuting, StatusTo: "failed"}
	change := func(e Entry, f func(*Entry)) Entry { f(&e); return e }
	for name, c := range map[string]struct {
		rows []Entry
		ok   bool
	}{
		"approved, then carried out":              {[]Entry{pending, approved, claim(statusApproved)}, true},
		"allowed, then carried out":               {[]Entry{allowed, claim(statusAllowed)}, true},
		"approved, taken back, carried out again": {[]Entry{pending, approved, claim(statusApproved), back, claim(statusApproved)}, true},
		"never approved":                          {[]Entry{pending, claim(statusApproved)}, false},
		"never recorded":                          {[]Entry{claim(statusApproved)}, false},
		"carried out before the approval":         {[]Entry{pending, claim(statusApproved), approved}, false},
		"another intent was approved":             {[]Entry{change(approved, func(e *Entry) { e.Intent = 2 }), claim(statusApproved)}, false},
		"another content was approved":            {[]Entry{change(approved, func(e *Entry) { e.Digest = other }), claim(statusApproved)}, false},
		"another content was carried out":         {[]Entry{approved, change(claim(statusApproved), func(e *Entry) { e.Digest = other })}, false},
		"approved by an agent":                    {[]Entry{change(approved, func(e *Entry) { e.Kind = "agent" }), claim(statusApproved)}, false},
		"approved by the store":                   {[]Entry{back, claim(statusApproved)}, false},
		"an approval that was refused":            {[]Entry{change(approved, func(e *Entry) { e.Verdict, e.Reason = "deny", "x" }), claim(statusApproved)}, false},
		"allowed without the policy's word":       {[]Entry{change(allowed, func(e *Entry) { e.PolicyDecision = "requires_approval" }), claim(statusAllowed)}, false},
		"approved, and taken up as allowed":       {[]Entry{approved, claim(statusAllowed)}, false},
		"carried out after its end":               {[]Entry{approved, claim(statusApproved), ended, claim(statusApproved)}, false},
		"it does not say what":                    {[]Entry{change(claim(statusApproved), func(e *Entry) { e.Intent = 0 })}, false},
	} {
		s := newLog(t, "default", 1)
		for _, e := range c.rows {
			s.add(t, e)
		}
		_, err := verified(s.export(t), nil)
		if c.ok && err != nil || !c.ok && !errors.Is(err, ErrAuthority) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// broken is a reader that fails at its end.
type broken struct{ io.Reader }

func (b broken) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		err = io.ErrClosedPipe
	}
	return n, err
}

func TestAReadersFaultIsNoFaultOfTheLog(t *testing.T) {
	text := example(t, 0).export(t)
	_, err := Verify(broken{bytes.NewReader(text[:len(text)-3])}, nil)
	var p *Problem
	if !errors.Is(err, io.ErrClosedPipe) || errors.As(err, &p) {
		t.Errorf("got %v", err)
	}
}

func TestVerifyingForgetsWhatHasEnded(t *testing.T) {
	s := newLog(t, "default", 1)
	for i := range int64(50) {
		s.life(t, i+1, true)
	}
	v := &verifier{lines: lines{r: newReader(s.export(t))}, authority: authority{}}
	if err := v.run(); err != nil || len(v.authority) != 0 || v.report.Executions != 50 {
		t.Errorf("%d intents are remembered, %d executions, %v", len(v.authority), v.report.Executions, err)
	}
}
