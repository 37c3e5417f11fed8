package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Bounds of the room on a disk, in bytes and in parts.
const (
	leastRoom = 16 << 20  // below it writes will fail soon
	scantRoom = 512 << 20 // below it somebody should look
	scantPart = 20        // or below one part of so many
)

// folder looks at the folder of the embedded database: who can read and write it, and
// the disk that it is on.
func (r *report) folder(dir string) {
	info, err := os.Stat(dir)
	if err != nil {
		return // the database cannot be opened, and that is told
	}
	sound := true
	bad := func(name string, mode fs.FileMode) {
		sound = false
		r.found(fail, "files", "Run \"chmod -R go=\" on the folder. Whoever can read the database reads everything, and whoever can write it is everybody.",
			"%s can be read or written by others: its mode is %04o.", name, mode)
	}
	if info.Mode().Perm()&0o022 != 0 {
		bad(dir, info.Mode().Perm())
	}
	for _, name := range []string{databaseFile, databaseFile + "-wal", databaseFile + "-shm"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			bad(filepath.Join(dir, name), info.Mode().Perm())
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			sound = false
			r.found(fail, "files", "Run this as the user that runs the server.", "%s cannot be looked at: %s.", filepath.Join(dir, name), cause(err))
		}
	}
	if sound {
		r.ok("files", "The database can be read and written by its owner alone.")
	}
	r.disk(dir)
}

// disk is what can be told of the disk under a folder.
type disk struct {
	room, size uint64 // bytes that this user may still write, and in all
	network    string // the kind of network file system; "": it is none, or it cannot be told
	readOnly   bool
}

func (r *report) disk(dir string) {
	d, err := diskOf(dir)
	if err != nil {
		r.found(warn, "disk", "Look at it with the system's own tools.", "Nothing can be told of the disk under %s: %s.", dir, err)
		return
	}
	switch {
	case d.network != "":
		r.found(fail, "disk", "Move the folder to a local disk: SQLite's log needs memory that all its users share, and locks that hold.", "%s is on a network file system (%s).", dir, d.network)
	case d.readOnly:
		r.found(fail, "disk", "Nothing can be recorded until it is writable.", "%s is on a disk that is read-only.", dir)
	case d.room < leastRoom:
		r.found(fail, "disk", "Make room: nothing is recorded on a full disk.", "%d MiB are left on the disk under %s.", d.room>>20, dir)
	case d.room < scantRoom || d.room < d.size/scantPart:
		r.found(warn, "disk", "Make room before it is full.", "%d MiB of %d are left on the disk under %s.", d.room>>20, d.size>>20, dir)
	default:
		r.ok("disk", "%d MiB of %d are left.", d.room>>20, d.size>>20)
	}
}
