package store

import (
	"context"
	"encoding/binary"
	"math/bits"
	"time"
)

// BlockSize is how many entries of an audit chain a block of the index has: block b has the entries with b*BlockSize < Seq <=
// (b+1)*BlockSize. With its key, a bitmap of a block takes less than a quarter of a page of SQLite, which keeps larger values elsewhere.
const BlockSize = 7168

// BlockOf returns the block of an entry.
func BlockOf(seq int64) int64 { return (seq - 1) / BlockSize }

// Term is a property of an entry of an audit chain by which it is found: a hash of the property's name and its value. The terms of what
// the record of an evaluation holds are negative, and retention removes them; those of what the entry of the chain holds are not.
type Term int64

// OfRecord reports whether retention removes the term.
func (t Term) OfRecord() bool { return t < 0 }

// EntrySet is a set of the entries of a block.
type EntrySet [BlockSize / 64]uint64

// Add adds an entry of the block, by its Seq.
func (s *EntrySet) Add(seq int64) {
	i := uint64(seq-1) % BlockSize
	s[i/64] |= 1 << (i % 64)
}

// Has reports whether an entry is in the set, by its Seq.
func (s *EntrySet) Has(seq int64) bool {
	i := uint64(seq-1) % BlockSize
	return s[i/64]&(1<<(i%64)) != 0
}

// Count returns the number of entries.
func (s *EntrySet) Count() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// Union adds the entries of another set.
func (s *EntrySet) Union(other *EntrySet) {
	for i := range s {
		s[i] |= other[i]
	}
}

// Intersect removes the entries that are not in another set.
func (s *EntrySet) Intersect(other *EntrySet) {
	for i := range s {
		s[i] &= other[i]
	}
}

// Subtract removes the entries of another set.
func (s *EntrySet) Subtract(other *EntrySet) {
	for i := range s {
		s[i] &^= other[i]
	}
}

// Keep removes the entries of block b whose Seq is not in after < Seq <= through.
func (s *EntrySet) Keep(b, after, through int64) {
	from, to := after-b*BlockSize, through-b*BlockSize // the indexes that stay: from <= i < to
	for i := range s {
		at := int64(i) * 64
		if at < from {
			s[i] &= ^uint64(0) << min(uint64(from-at), 64)
		}
		if at+64 > to {
			s[i] &= ^uint64(0) >> min(uint64(at+64-max(to, at)), 64)
		}
	}
}

// Newest calls yield with the Seq of each entry of block b, the newest first, until it returns false.
func (s *EntrySet) Newest(b int64, yield func(seq int64) bool) {
	for i := len(s) - 1; i >= 0; i-- {
		for w := s[i]; w != 0; {
			top := bits.Len64(w) - 1
			w &^= 1 << top
			if !yield(b*BlockSize + int64(i)*64 + int64(top) + 1) {
				return
			}
		}
	}
}

// mapBytes is the length of an encoded set of many entries. Shorter ones list their entries.
const mapBytes = BlockSize / 8

// Encode returns a stored form: a list of indexes of two bytes each, or, where that is longer, a bitmap.
func (s *EntrySet) Encode() []byte {
	n := s.Count()
	if 2*n >= mapBytes {
		out := make([]byte, 0, mapBytes)
		for _, w := range s {
			out = binary.BigEndian.AppendUint64(out, w)
		}
		return out
	}
	out := make([]byte, 0, 2*n)
	for i, w := range s {
		for w != 0 {
			low := bits.TrailingZeros64(w)
			w &^= 1 << low
			out = binary.BigEndian.AppendUint16(out, uint16(i*64+low)) //nolint:gosec // below BlockSize
		}
	}
	return out
}

// Decode adds the entries of a stored form. Bytes that no set has are ignored.
func (s *EntrySet) Decode(stored []byte) {
	if len(stored) == mapBytes {
		for i := range s {
			s[i] |= binary.BigEndian.Uint64(stored[8*i:])
		}
		return
	}
	for ; len(stored) >= 2; stored = stored[2:] {
		i := binary.BigEndian.Uint16(stored) % BlockSize
		s[i/64] |= 1 << (i % 64)
	}
}

// TermMark is how far the chain of a project is indexed.
type TermMark struct {
	Seq    int64 // last entry that is indexed; 0 before the first
	Pruned int64 // last entry whose record retention has removed; 0 without one
}

// TermBlock is a block of the index.
type TermBlock struct {
	Block       int64
	From, Until time.Time // of its earliest and its latest indexed entry
	Forgotten   int64     // the terms of records up to this entry are removed
}

// TermEntry is an entry of a chain with its terms.
type TermEntry struct {
	Seq   int64
	At    time.Time
	Terms []Term
}

// TermBatch is a part of a chain: the entries with From.Seq < Seq <= Through. Entries without terms may be absent from Entries.
type TermBatch struct {
	ProjectID string
	From      TermMark
	Through   int64
	Entries   []TermEntry
}

// TermReader reads the index of audit chains.
type TermReader interface {
	// Mark returns the mark of a project.
	Mark(ctx context.Context, projectID string) (TermMark, error)
	// Unindexed lists the projects with entries that are not indexed yet, by id: a cheap read for polling.
	Unindexed(ctx context.Context) ([]Uncounted, error)
	// Blocks lists the blocks of a project, newest first.
	Blocks(ctx context.Context, projectID string) ([]TermBlock, error)
	// Sets returns the entries of blocks that have at least one of the terms, by block. It omits blocks without any.
	Sets(ctx context.Context, projectID string, terms []Term, blocks []int64) (map[int64]*EntrySet, error)
	// Within returns the entries of a block that have one of the kinds, with since <= At < until; a nil time is no bound.
	Within(ctx context.Context, projectID string, block int64, kinds []string, since, until *time.Time) (*EntrySet, error)
	// Entries returns the entries of a chain with the given numbers, newest first.
	Entries(ctx context.Context, projectID string, seqs []int64) ([]AuditEntry, error)
}

// TermTx writes the index.
type TermTx interface {
	TermReader

	// Put adds terms of entries and leaves the mark where it is, so that the writes of a large batch can be spread over several transactions:
	// readers ignore entries after the mark, and adding them again changes nothing. Conflict as in Add.
	Put(ctx context.Context, b TermBatch) error
	// Add adds entries and moves the mark; conflict if the mark is not b.From, because another caller has indexed or pruned.
	Add(ctx context.Context, b TermBatch) error
	// Prune raises the Pruned mark of a project.
	Prune(ctx context.Context, projectID string, through int64) error
	// Forget removes the terms of records from the entries of a block with Seq <= through: of those terms greater than after, limit at
	// most. It returns the last term that it has looked at, and whether others are left. When none is, it moves Forgotten of the block.
	Forget(ctx context.Context, projectID string, block, through int64, after Term, limit int) (last Term, more bool, err error)
}
