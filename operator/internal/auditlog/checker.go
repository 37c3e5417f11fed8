package auditlog

import (
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// checker computes roots by the sumdb's own code from its stored hashes, and so
// independently of Tree. Of the stored hashes it keeps the newest of each level:
// no other is ever asked for again, since a tree only grows on its right.
type checker struct {
	size   int64
	newest [64]stored
}

type stored struct {
	index int64
	hash  Hash
	there bool
}

// ReadHashes answers the sumdb's code.
func (c *checker) ReadHashes(indexes []int64) ([]Hash, error) {
	out := make([]Hash, 0, len(indexes))
	for _, index := range indexes {
		level, _ := tlog.SplitStoredHashIndex(index)
		s := c.newest[level]
		if !s.there || s.index != index {
			return nil, fmt.Errorf("audit log: the hash %d of level %d is not kept", index, level)
		}
		out = append(out, s.hash)
	}
	return out, nil
}

// append adds the text of a leaf.
func (c *checker) append(text []byte) error {
	hashes, err := tlog.StoredHashes(c.size, text, c)
	if err != nil {
		return err
	}
	// They are the leaf and then each whole subtree that it completes.
	index := tlog.StoredHashIndex(0, c.size)
	for i, h := range hashes {
		level, _ := tlog.SplitStoredHashIndex(index + int64(i))
		c.newest[level] = stored{index + int64(i), h, true}
	}
	c.size++
	return nil
}

// root is the hash of the tree so far.
func (c *checker) root() (Hash, error) { return tlog.TreeHash(c.size, c) }
