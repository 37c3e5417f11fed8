package auditlog

import (
	"bytes"
	"testing"
)

// Whatever a file holds, verifying it ends with a verdict; and what is found whole
// is not whole any more with one byte of it changed.
func FuzzVerify(f *testing.F) {
	s := newLog(f, "default", 1)
	s.life(f, 1, true)
	s.rotate(f, false)
	text := s.export(f)
	f.Add(text, uint(7))
	f.Add([]byte("{}\n"), uint(0))
	f.Add([]byte(nil), uint(0))
	for i, line := range bytes.SplitAfter(text, []byte("\n")) {
		f.Add(line, uint(i))
	}
	f.Fuzz(func(t *testing.T, text []byte, at uint) {
		if _, err := verified(text, nil); err != nil || len(text) == 0 {
			return
		}
		text[at%uint(len(text))] ^= 1
		wrong(t, "a changed byte", text, nil, nil)
	})
}

func FuzzOpenCheckpoint(f *testing.F) {
	one, two := freshKey(f), freshKey(f)
	signed, err := Checkpoint{Origin("default"), 3, Hash{}}.Sign(one, two)
	f.Add(must(f, signed, err))
	f.Fuzz(func(t *testing.T, text string) {
		c, err := OpenCheckpoint(text, one.Public(), two.Public())
		if err != nil {
			return
		}
		if again, err := c.Sign(one, two); err != nil || again != text {
			t.Errorf("%q was opened, and is signed as %q, %v", text, again, err)
		}
	})
}
