package auditlog

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// KeyName is the name that every key of an audit log goes by, and what the origin
// of every log begins with.
const KeyName = "reeve"

// PublicKey is the half of a key that verifies, as text:
// reeve+<8 hex digits>+<base64>. It is no secret.
type PublicKey string

// ErrNotAKey says that a text is not a key of an audit log, in its one spelling.
var ErrNotAKey = errors.New("not a key of an audit log")

// ParsePublicKey reads a public key's one spelling.
func ParsePublicKey(text string) (PublicKey, error) {
	parts := strings.SplitN(text, "+", 3)
	if _, err := note.NewVerifier(text); err != nil || len(parts) != 3 || parts[0] != KeyName {
		return "", fmt.Errorf("%w: want %s+<8 hex digits>+<base64>", ErrNotAKey, KeyName)
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(parts[2])
	if err != nil || base64.StdEncoding.EncodeToString(raw) != parts[2] || strings.ToLower(parts[1]) != parts[1] {
		return "", fmt.Errorf("%w: it is not spelled as keys are", ErrNotAKey)
	}
	return PublicKey(text), nil
}

// Key signs checkpoints. It is a secret: no method of it gives the secret away.
type Key struct {
	signer note.Signer
	public PublicKey
}

// Public is the half that verifies.
func (k Key) Public() PublicKey { return k.public }

// String is the public half, so that printing a key by mistake harms nobody.
func (k Key) String() string { return string(k.public) }

// GoString is String, for %#v.
func (k Key) GoString() string { return string(k.public) }

// newKey makes a key and its secret text.
func newKey() (Key, string, error) {
	text, _, err := note.GenerateKey(rand.Reader, KeyName)
	if err != nil {
		return Key{}, "", err
	}
	k, err := parseKey(text)
	return k, text, err
}

// parseKey reads a secret key's text. No error repeats any of it.
func parseKey(text string) (Key, error) {
	signer, err := note.NewSigner(text)
	if err != nil || signer.Name() != KeyName {
		return Key{}, fmt.Errorf("%w: want one line, PRIVATE+KEY+%s+…", ErrNotAKey, KeyName)
	}
	raw, err := base64.StdEncoding.DecodeString(text[len("PRIVATE+KEY+"+KeyName+"+12345678+"):])
	if err != nil || len(raw) != 1+ed25519.SeedSize {
		return Key{}, ErrNotAKey
	}
	public, err := note.NewEd25519VerifierKey(KeyName, ed25519.NewKeyFromSeed(raw[1:]).Public().(ed25519.PublicKey))
	return Key{signer, PublicKey(public)}, err
}
