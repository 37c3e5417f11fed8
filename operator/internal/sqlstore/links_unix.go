//go:build unix

package sqlstore

import (
	"io/fs"
	"syscall"
)

// links is the number of names that a file has.
func links(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 1
}
