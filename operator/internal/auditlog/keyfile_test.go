package auditlog

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func newReader(text []byte) *bufio.Reader { return bufio.NewReader(bytes.NewReader(text)) }

func TestAKeyFileIsMadeOnceAndReadBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "audit.key")
	made, err := MakeKeyFile(path)
	read, err2 := ReadKeyFile(path)
	if must(t, made, err).Public() != must(t, read, err2).Public() {
		t.Error("another key came back")
	}
	info, err := os.Stat(path)
	if must(t, info, err).Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("its mode is %v", info.Mode())
	}
	if _, err := MakeKeyFile(path); !errors.Is(err, ErrKeyThere) {
		t.Errorf("a second key in its place: %v", err)
	}
	if again, err := ReadKeyFile(path); err != nil || again.Public() != made.Public() {
		t.Errorf("the second one changed the first: %v", err)
	}
}

func TestAKeyFileThatIsNotOneOrThatOthersCanReadIsRefused(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good")
	_, err := MakeKeyFile(good)
	must(t, 0, err)
	text, err := os.ReadFile(good)
	must(t, 0, err)
	write := func(name string, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		must(t, 0, os.WriteFile(path, []byte(content), 0o600))
		must(t, 0, os.Chmod(path, mode))
		return path
	}
	link := filepath.Join(dir, "link")
	must(t, 0, os.Symlink(good, link))
	folder := filepath.Join(dir, "folder")
	must(t, 0, os.Mkdir(folder, 0o700))
	other := strings.Replace(string(text), "+reeve+", "+other+", 1)
	cases := map[string]struct {
		path  string
		fault error
	}{
		"missing":              {filepath.Join(dir, "none"), ErrKeyMissing},
		"a link":               {link, ErrKeyMalformed},
		"a folder":             {folder, ErrKeyMalformed},
		"empty":                {write("empty", "", 0o600), ErrKeyMalformed},
		"two lines":            {write("two", string(text)+string(text), 0o600), ErrKeyMalformed},
		"no line feed":         {write("cut", strings.TrimSpace(string(text)), 0o600), ErrKeyMalformed},
		"a carriage return":    {write("cr", strings.TrimSpace(string(text))+"\r\n", 0o600), ErrKeyMalformed},
		"half a key":           {write("half", string(text[:len(text)/2])+"\n", 0o600), ErrKeyMalformed},
		"a key of another log": {write("other", other, 0o600), ErrKeyMalformed},
		"something else":       {write("text", "hello\n", 0o600), ErrKeyMalformed},
		"a very long one":      {write("long", strings.Repeat("x", maxKeyFile+1), 0o600), ErrKeyMalformed},
	}
	if runtime.GOOS != "windows" {
		for name, mode := range map[string]os.FileMode{"the group can read it": 0o640, "everybody can read it": 0o644, "everybody can write it": 0o602} {
			cases[name] = struct {
				path  string
				fault error
			}{write(name, string(text), mode), ErrKeyExposed}
		}
	}
	secret := strings.SplitN(string(text), "+", 5)[4] // base64 has a plus of its own
	for name, c := range cases {
		_, err := ReadKeyFile(c.path)
		var k *KeyError
		if !errors.Is(err, c.fault) || !errors.As(err, &k) || k.Path != c.path {
			t.Errorf("%s: %v, want %v", name, err, c.fault)
			continue
		}
		if c.fault != ErrKeyMissing && k.Do == "" {
			t.Errorf("%s: it does not say what to do", name)
		}
		if strings.Contains(err.Error(), secret[:20]) || strings.Contains(err.Error(), "PRIVATE") {
			t.Errorf("%s: the error shows the key", name)
		}
	}
}
