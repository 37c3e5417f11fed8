package auditlog

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"

	"golang.org/x/mod/sumdb/tlog"
)

// Hash is a node of the tree: SHA-256 as in RFC 6962.
type Hash = tlog.Hash

// HexHash writes a hash as it is stored: 64 lower-case hex digits.
func HexHash(h Hash) string { return hex.EncodeToString(h[:]) }

// ParseHexHash reads what HexHash wrote, and nothing else.
func ParseHexHash(s string) (h Hash, err error) {
	raw, err := hex.DecodeString(s)
	if err != nil || len(raw) != len(h) {
		return h, fmt.Errorf("audit log: %q is no hash", s)
	}
	copy(h[:], raw)
	if HexHash(h) != s {
		return h, fmt.Errorf("audit log: the hash %q is not in lower case", s)
	}
	return h, nil
}

// Tree is a Merkle tree that only grows. It keeps its right edge and no leaf: one
// hash for each whole subtree, from the largest to the smallest, which is at most
// 63 of them. The zero Tree is empty.
type Tree struct {
	size int64
	edge []Hash
}

// Size is the number of leaves.
func (t *Tree) Size() int64 { return t.size }

// Append adds a leaf.
func (t *Tree) Append(leaf Hash) {
	// Each trailing 1 of the size is a whole subtree that the new one completes.
	for n := t.size; n&1 == 1; n >>= 1 {
		last := len(t.edge) - 1
		leaf = tlog.NodeHash(t.edge[last], leaf)
		t.edge = t.edge[:last]
	}
	t.edge = append(t.edge, leaf)
	t.size++
}

// Root is the tree's hash. That of an empty tree is the hash of nothing.
func (t *Tree) Root() Hash {
	if t.size == 0 {
		root, _ := tlog.TreeHash(0, nil) // reads nothing, so it cannot fail
		return root
	}
	root := t.edge[len(t.edge)-1]
	for i := len(t.edge) - 2; i >= 0; i-- {
		root = tlog.NodeHash(t.edge[i], root)
	}
	return root
}

// Edge is the right edge as it is stored: its hashes in lower-case hex, one after
// the other.
func (t *Tree) Edge() string {
	raw := make([]byte, 0, len(t.edge)*tlog.HashSize)
	for _, h := range t.edge {
		raw = append(raw, h[:]...)
	}
	return hex.EncodeToString(raw)
}

// ParseTree reads what Size and Edge gave.
func ParseTree(size int64, edge string) (*Tree, error) {
	raw, err := hex.DecodeString(edge)
	if err != nil || hex.EncodeToString(raw) != edge {
		return nil, errors.New("audit log: the edge of the tree is not lower-case hex")
	}
	if size < 0 || len(raw) != bits.OnesCount64(uint64(size))*tlog.HashSize {
		return nil, fmt.Errorf("audit log: a tree of %d leaves has no edge of %d bytes", size, len(raw))
	}
	t := &Tree{size: size}
	for len(raw) > 0 {
		t.edge = append(t.edge, Hash(raw[:tlog.HashSize]))
		raw = raw[tlog.HashSize:]
	}
	return t, nil
}
