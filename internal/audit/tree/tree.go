// Package tree computes the Merkle tree (RFC 6962) over the entries of an audit chain. The record of an entry in the tree is its
// chain hash, which covers the hash of the body, so that the removal of a body leaves the tree as it is.
package tree

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/bits"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// Hash is the hash of a node of the tree.
type Hash = tlog.Hash

// Height is the height of a tile, in levels of the tree, and Width is its number of hashes.
const (
	Height = 8
	Width  = 1 << Height
)

// Leaf returns the leaf of an entry with a chain hash, in hex.
func Leaf(chainHash string) (Hash, error) {
	var b [1 + tlog.HashSize]byte // the zero byte makes it a leaf
	if hex.DecodedLen(len(chainHash)) != tlog.HashSize {
		return Hash{}, notAHash(chainHash)
	}
	if _, err := hex.Decode(b[1:], []byte(chainHash)); err != nil {
		return Hash{}, notAHash(chainHash)
	}
	return sha256.Sum256(b[:]), nil
}

func notAHash(s string) error { return fmt.Errorf("tree: %.80q is not the hash of an entry", s) }

// Record returns the record of an entry with a chain hash: its 32 bytes.
func Record(chainHash string) ([]byte, error) {
	b, err := hex.DecodeString(chainHash)
	if err != nil || len(b) != tlog.HashSize {
		return nil, notAHash(chainHash)
	}
	return b, nil
}

// Front is the right edge of a tree: the roots of the largest full subtrees whose leaves make up the tree, from left to right. It is
// all that appending needs, and at most 63 hashes. The zero Front is that of the empty tree.
type Front struct {
	size  int64
	roots []Hash
}

// NewFront returns a front of the roots of a tree with some leaves.
func NewFront(size int64, roots []Hash) (Front, error) {
	if size < 0 || len(roots) != bits.OnesCount64(uint64(size)) {
		return Front{}, fmt.Errorf("tree: a tree of %d leaves does not have %d full subtrees", size, len(roots))
	}
	return Front{size, roots}, nil
}

// ParseFront is the inverse of [Front.String] for a tree with some leaves.
func ParseFront(size int64, text string) (Front, error) {
	b, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil || len(b)%tlog.HashSize != 0 {
		return Front{}, fmt.Errorf("tree: the front of a tree of %d leaves is damaged", size)
	}
	return NewFront(size, Hashes(b))
}

// String encodes the hashes of a front.
func (f Front) String() string { return base64.RawStdEncoding.EncodeToString(Bytes(f.roots)) }

// Size returns the number of leaves.
func (f Front) Size() int64 { return f.size }

// Append adds a leaf. Copies of the front become invalid.
func (f *Front) Append(leaf Hash) {
	f.size++
	left := len(f.roots) - bits.TrailingZeros64(uint64(f.size))
	for _, root := range slices.Backward(f.roots[left:]) {
		leaf = tlog.NodeHash(root, leaf)
	}
	f.roots = append(f.roots[:left], leaf)
}

// Root returns the hash of the tree.
func (f Front) Root() Hash {
	if f.size == 0 {
		root, _ := tlog.TreeHash(0, nil) // the empty tree reads no hashes
		return root
	}
	last := len(f.roots) - 1
	root := f.roots[last]
	for _, left := range slices.Backward(f.roots[:last]) {
		root = tlog.NodeHash(left, root)
	}
	return root
}

// Bytes returns hashes one after the other, as tiles hold them.
func Bytes(hashes []Hash) []byte {
	b := make([]byte, 0, len(hashes)*tlog.HashSize)
	for i := range hashes {
		b = append(b, hashes[i][:]...)
	}
	return b
}

// Hashes is the inverse of [Bytes]. It ignores a rest that is shorter than a hash.
func Hashes(b []byte) []Hash {
	list := make([]Hash, len(b)/tlog.HashSize)
	for i := range list {
		copy(list[i][:], b[i*tlog.HashSize:])
	}
	return list
}

// RootOf returns the hash of the tree over some leaves.
func RootOf(leaves []Hash) Hash {
	var f Front
	for _, leaf := range leaves {
		f.Append(leaf)
	}
	return f.Root()
}
