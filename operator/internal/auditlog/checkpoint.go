package auditlog

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Checkpoint says what a log held at one moment.
type Checkpoint struct {
	Origin string // which log; see Origin
	Size   int64  // how many entries, at least 1
	Root   Hash   // of the tree of exactly those
}

// Origin names an account's log. That of what belongs to no account has the empty
// account.
func Origin(account string) string {
	if account == "" {
		return KeyName
	}
	return KeyName + "/" + account
}

// ErrCheckpoint says that a text is no checkpoint of this sort, or not one that
// the expected keys signed.
var ErrCheckpoint = errors.New("not a checkpoint that these keys signed")

// text is what is signed, as in C2SP tlog-checkpoint.
func (c Checkpoint) text() string {
	return c.Origin + "\n" + strconv.FormatInt(c.Size, 10) + "\n" + c.Root.String() + "\n"
}

// Sign writes the checkpoint as a signed note. The keys sign in the order given.
func (c Checkpoint) Sign(keys ...Key) (string, error) {
	if _, err := parseCheckpoint(c.text()); err != nil {
		return "", err
	}
	signers := make([]note.Signer, 0, len(keys))
	for _, k := range keys {
		signers = append(signers, k.signer)
	}
	signed, err := note.Sign(&note.Note{Text: c.text()}, signers...)
	return string(signed), err
}

// OpenCheckpoint reads a checkpoint that exactly these keys signed, in this order.
func OpenCheckpoint(signed string, keys ...PublicKey) (Checkpoint, error) {
	c, by, err := openCheckpoint(signed, keys)
	if err != nil {
		return c, err
	}
	if len(by) != len(keys) {
		return c, fmt.Errorf("%w: it has %d signatures, and %d are wanted", ErrCheckpoint, len(by), len(keys))
	}
	for i := range by {
		if by[i] != keys[i] {
			return c, fmt.Errorf("%w: its signatures stand in another order", ErrCheckpoint)
		}
	}
	return c, nil
}

// openCheckpoint reads a checkpoint that only keys among these signed, and says
// which. A note may carry signatures of strangers, be repeated, or be spelled in
// several ways; here it may not, so that every byte is accounted for.
func openCheckpoint(signed string, keys []PublicKey) (c Checkpoint, by []PublicKey, err error) {
	verifiers := make([]note.Verifier, 0, len(keys))
	for _, k := range keys {
		v, err := note.NewVerifier(string(k))
		if err != nil {
			return c, nil, fmt.Errorf("%w: %w", ErrCheckpoint, err)
		}
		verifiers = append(verifiers, v)
	}
	n, err := note.Open([]byte(signed), note.VerifierList(verifiers...))
	if err != nil {
		return c, nil, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	if len(n.UnverifiedSigs) > 0 {
		return c, nil, fmt.Errorf("%w: another key signed it as well", ErrCheckpoint)
	}
	again := n.Text + "\n"
	for _, s := range n.Sigs {
		raw, err := base64.StdEncoding.Strict().DecodeString(s.Base64)
		if err != nil || base64.StdEncoding.EncodeToString(raw) != s.Base64 {
			return c, nil, fmt.Errorf("%w: a signature is not spelled as signatures are", ErrCheckpoint)
		}
		again += "— " + s.Name + " " + s.Base64 + "\n"
		for i, v := range verifiers {
			if v.Name() == s.Name && v.KeyHash() == s.Hash {
				by = append(by, keys[i])
			}
		}
	}
	if again != signed {
		return c, nil, fmt.Errorf("%w: it holds more than its text and its signatures", ErrCheckpoint)
	}
	c, err = parseCheckpoint(n.Text)
	return c, by, err
}

func parseCheckpoint(text string) (c Checkpoint, err error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 4 || lines[3] != "" {
		return c, fmt.Errorf("%w: it has not the three lines of one", ErrCheckpoint)
	}
	if c.Origin = lines[0]; c.Origin != KeyName && !strings.HasPrefix(c.Origin, KeyName+"/") {
		return c, fmt.Errorf("%w: %q is no log of reeve", ErrCheckpoint, c.Origin)
	}
	if c.Size, err = strconv.ParseInt(lines[1], 10, 64); err != nil || c.Size < 1 || strconv.FormatInt(c.Size, 10) != lines[1] {
		return c, fmt.Errorf("%w: %q is no size", ErrCheckpoint, lines[1])
	}
	if c.Root, err = tlog.ParseHash(lines[2]); err != nil || c.Root.String() != lines[2] {
		return c, fmt.Errorf("%w: %q is no root", ErrCheckpoint, lines[2])
	}
	return c, nil
}
