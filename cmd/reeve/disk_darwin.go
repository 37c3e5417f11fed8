package main

import (
	"slices"

	"golang.org/x/sys/unix"
)

// networkKinds are the file systems that other machines keep.
var networkKinds = []string{"nfs", "smbfs", "afpfs", "webdav", "ftp"}

func diskOf(dir string) (disk, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return disk{}, err
	}
	block := uint64(s.Bsize)
	out := disk{room: s.Bavail * block, size: s.Blocks * block, readOnly: s.Flags&unix.MNT_RDONLY != 0}
	if kind := unix.ByteSliceToString(s.Fstypename[:]); slices.Contains(networkKinds, kind) {
		out.network = kind
	}
	return out, nil
}
