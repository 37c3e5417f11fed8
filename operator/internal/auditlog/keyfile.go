package auditlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// KeyError says what is wrong with an audit key's file, and what to do. errors.Is
// finds the fault: ErrKeyMissing and the others.
type KeyError struct {
	Path  string
	Fault error
	Do    string // one sentence
	Cause error  // the system's own word, where there is one
}

// The faults of a key file.
var (
	ErrKeyMissing   = errors.New("the audit key is missing")
	ErrKeyExposed   = errors.New("others can read the audit key")
	ErrKeyMalformed = errors.New("the audit key is not one")
	ErrKeyWrong     = errors.New("this is another audit key than the database's")
	ErrKeyThere     = errors.New("there is an audit key already")
	ErrKeyAccess    = errors.New("the audit key cannot be read or written")
)

// Error is a sentence on what is wrong and one on what to do. It holds nothing of
// the file's content.
func (e *KeyError) Error() string {
	text := e.Fault.Error()
	if e.Path != "" {
		text += " (" + e.Path + ")"
	}
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	if e.Do != "" {
		text += ". " + e.Do
	}
	return text
}

// Unwrap gives the fault and what lay beneath.
func (e *KeyError) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Fault}
	}
	return []error{e.Fault, e.Cause}
}

// maxKeyFile is far more than a key has.
const maxKeyFile = 4096

// ReadKeyFile reads a secret key from a file that holds nothing else, that only
// its owner can read, and that is a plain file: a link could be turned to another
// key by whoever may write its folder. Errors are *KeyError.
func ReadKeyFile(path string) (Key, error) {
	text, err := readKeyFile(path)
	if err != nil {
		return Key{}, err
	}
	line, ok := strings.CutSuffix(text, "\n")
	if !ok || strings.ContainsAny(line, "\r\n") {
		return Key{}, malformed(path, "It holds exactly one line. Put the right file back from a backup.")
	}
	k, err := parseKey(line)
	if err != nil {
		return Key{}, malformed(path, "It holds no key. Put the right file back from a backup.")
	}
	return k, nil
}

func malformed(path, do string) error {
	return &KeyError{Path: path, Fault: ErrKeyMalformed, Do: do}
}

func readKeyFile(path string) (string, error) {
	named, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", &KeyError{Path: path, Fault: ErrKeyMissing}
	}
	if err != nil {
		return "", &KeyError{Path: path, Fault: ErrKeyAccess, Cause: systemWord(err)}
	}
	if !named.Mode().IsRegular() {
		return "", malformed(path, "It must be a plain file, not a link, a folder or a device.")
	}
	f, err := os.Open(path)
	if err != nil {
		return "", &KeyError{Path: path, Fault: ErrKeyAccess, Cause: systemWord(err)}
	}
	defer f.Close()
	opened, err := f.Stat()
	if err != nil || !os.SameFile(named, opened) {
		return "", malformed(path, "It was replaced while it was being opened. Try again.")
	}
	// Windows has no such bits; there the folder's own list decides.
	if runtime.GOOS != "windows" && opened.Mode().Perm()&0o077 != 0 {
		return "", &KeyError{Path: path, Fault: ErrKeyExposed,
			Do: fmt.Sprintf("Its mode is %04o: make it readable by its owner alone (chmod 600), and replace the key (reeve audit rotate) if somebody may have read it.", opened.Mode().Perm())}
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	switch {
	case err != nil:
		return "", &KeyError{Path: path, Fault: ErrKeyAccess, Cause: systemWord(err)}
	case len(text) == 0:
		return "", malformed(path, "It is empty. If no database uses it yet, delete it and start again; else put it back from a backup.")
	case len(text) > maxKeyFile:
		return "", malformed(path, "It is too long to be one.")
	}
	return string(text), nil
}

// MakeKeyFile makes a key and writes it to a new file that only its owner can
// read, durably. A file that is there already is never touched: ErrKeyThere.
func MakeKeyFile(path string) (Key, error) {
	k, text, err := newKey()
	if err != nil {
		return Key{}, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return Key{}, &KeyError{Path: path, Fault: ErrKeyAccess, Cause: systemWord(err)}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return Key{}, &KeyError{Path: path, Fault: ErrKeyThere, Do: "Choose another file."}
	}
	if err != nil {
		return Key{}, &KeyError{Path: path, Fault: ErrKeyAccess, Cause: systemWord(err)}
	}
	if err := writeDurably(f, text+"\n"); err != nil {
		return Key{}, &KeyError{Path: path, Fault: ErrKeyAccess, Cause: errors.Join(systemWord(err), os.Remove(path))}
	}
	return k, syncFolder(filepath.Dir(path))
}

func writeDurably(f *os.File, text string) error {
	_, err := f.WriteString(text)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// MoveKeyFile puts a key file in another one's place, durably.
func MoveKeyFile(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return &KeyError{Path: from, Fault: ErrKeyAccess, Cause: systemWord(err)}
	}
	return syncFolder(filepath.Dir(to))
}

// syncFolder makes a new name in a folder survive a loss of power. Some systems
// cannot sync a folder; they need not.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return &KeyError{Path: dir, Fault: ErrKeyAccess, Cause: systemWord(err)}
	}
	_ = d.Sync()
	return d.Close()
}

// systemWord leaves out the path, which stands in the sentence already.
func systemWord(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
