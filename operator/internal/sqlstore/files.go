package sqlstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/reeve-go/reeve/operator/internal/core"
)

// making is held while a file is made. POSIX has locks per process: to close any
// handle on a file drops every lock that the process has on it, SQLite's among
// them, so nobody here may open the file before the handle that made it is closed.
// The locks are the whole process's, and so is this.
var making sync.Mutex

func makeFile(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("data folder: %w", err)
	}
	file, err := filepath.Abs(filepath.Join(dir, FileName))
	if err != nil {
		return "", err
	}
	making.Lock()
	defer making.Unlock()
	// Only a file that is not there is opened here, for the same reason.
	if info, err := os.Stat(file); err == nil {
		return file, usable(file, info)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return "", fmt.Errorf("database file: %w", err)
	}
	return file, nil
}

// usable refuses what cannot be a database, and a file that has a second name: SQLite
// keeps its log beside the name that was opened, so whoever opens the other name
// would write another log for the same file.
func usable(file string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return &core.Fault{Kind: core.ErrNotADatabase, Where: file}
	}
	if links(info) > 1 {
		return &core.Fault{Kind: core.ErrSecondName, Where: file}
	}
	return nil
}

func changed(file, what string) error {
	return &core.Fault{Kind: core.ErrFilesReplaced, Where: file, What: what}
}

// watch looks over the files of an open database: itself, the log beside it that
// holds what was committed since the last checkpoint, and the log's index, through
// which processes agree on it. SQLite goes on with files that were moved away or
// deleted, where nobody will find what it writes.
type watch struct {
	files  []*watched
	store  facts
	broken atomic.Pointer[error] // what was found; it holds from then on
}

// facts is what SQLite itself says of its files.
type facts interface {
	// logged is the number of bytes that the log must hold at least.
	logged() (int64, error)
	// stored is the number of bytes that the database must hold at least, and the
	// version of its schema, which a VACUUM raises; 0 bytes where the log has more.
	stored() (bytes, schema int64, err error)
}

type watched struct {
	name string
	role role
	info fs.FileInfo // as it was when it was opened

	mu     sync.Mutex
	size   int64 // when it was last looked at
	schema int64
}

type role int

const (
	roleName  role = iota + 1 // what was given as the database, if that is a link
	roleFile                  // the database
	roleLog                   // its -wal
	roleIndex                 // its -shm
)

// newWatch remembers the files as they are. SQLite keeps its log beside what a
// link leads to; the name that was given is watched as well, since a link can be
// turned to something else.
func newWatch(file string, store facts) (*watch, error) {
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return nil, fmt.Errorf("database file: %w", err)
	}
	w := &watch{store: store, files: []*watched{{name: real, role: roleFile}, {name: real + "-wal", role: roleLog}, {name: real + "-shm", role: roleIndex}}}
	if real != file {
		w.files = append(w.files, &watched{name: file, role: roleName})
	}
	for _, f := range w.files {
		if f.info, err = os.Stat(f.name); err != nil {
			return nil, changed(f.name, "is gone")
		}
		f.size = f.info.Size()
	}
	if err := usable(real, w.files[0].info); err != nil {
		return nil, err
	}
	if _, w.files[0].schema, err = store.stored(); err != nil {
		return nil, err
	}
	return w, watching.add(w)
}

// watching is every watch of this process. All its connections to one file share one
// index, the one that the first of them opened, whatever stands in its place now; so
// a database that one of them knows to be broken cannot be opened soundly here.
var watching watches

type watches struct {
	mu  sync.Mutex
	all []*watch
}

func (ws *watches) add(w *watch) error {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, other := range ws.all {
		if os.SameFile(other.files[0].info, w.files[0].info) {
			if err := other.intact(); err != nil {
				return err
			}
		}
	}
	ws.all = append(ws.all, w)
	return nil
}

func (ws *watches) remove(w *watch) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.all = slices.DeleteFunc(ws.all, func(other *watch) bool { return other == w })
}

// intact says whether the files are still those that were opened. Once they were
// not, they never are again: nobody knows who wrote what in the meantime.
func (w *watch) intact() error {
	if broken := w.broken.Load(); broken != nil {
		return *broken
	}
	err := w.look()
	if errors.Is(err, core.ErrFilesReplaced) {
		w.broken.Store(&err)
	}
	return err
}

// look looks at every name; it reads no file, so that it can be asked for every
// transaction.
func (w *watch) look() error {
	for _, f := range w.files {
		now, err := os.Stat(f.name)
		if errors.Is(err, fs.ErrNotExist) {
			return changed(f.name, "is gone")
		}
		if err != nil {
			return fmt.Errorf("a file of the database: %w", err)
		}
		if !os.SameFile(f.info, now) {
			return changed(f.name, "is another file than the one that was opened")
		}
		if f.role == roleFile && links(now) > 1 {
			return usable(f.name, now)
		}
		if err := w.shrunk(f, now.Size()); err != nil {
			return err
		}
	}
	return nil
}

// shrunk looks closer at a file that became smaller: SQLite makes its log smaller
// when all of it was moved into the database, and the database at a VACUUM. Others
// do so when they copy something over it.
func (w *watch) shrunk(f *watched, size int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if size < f.size {
		if err := w.explained(f, size); err != nil {
			return err // and it is looked at again, next time
		}
	}
	f.size = size
	return nil
}

func (w *watch) explained(f *watched, size int64) error {
	switch f.role {
	case roleLog:
		need, err := w.store.logged()
		if err != nil {
			return err
		}
		// The log can have been emptied and begun anew in between, by SQLite itself.
		if now, err := os.Stat(f.name); err == nil {
			size = max(size, now.Size())
		}
		if again, err := w.store.logged(); err != nil || again != need || size >= need {
			return err
		}
	case roleFile:
		need, schema, err := w.store.stored()
		if err != nil {
			return err
		}
		if size >= need && schema != f.schema {
			f.schema = schema
			return nil
		}
	case roleName:
		return nil // the database under its other name
	}
	return changed(f.name, "became smaller while it was open: something else wrote over it")
}
