package ledger

import (
	"cmp"
	"math/bits"
)

// Set is a set of the units of one subject, by their numbers. Its memory is one bit for each unit.
type Set struct{ words []uint64 }

// NewSet returns an empty set with room for n units.
func NewSet(n int) *Set { return &Set{make([]uint64, (n+63)/64)} }

// Add adds a unit.
func (s *Set) Add(unit int) {
	for unit/64 >= len(s.words) {
		s.words = append(s.words, 0)
	}
	s.words[unit/64] |= 1 << (unit % 64)
}

// AddRange adds the units from up to, but not including, to.
func (s *Set) AddRange(from, to int) {
	for unit := from; unit < to; unit++ {
		s.Add(unit)
	}
}

// Union returns a new set with the units of two sets, which may be nil.
func Union(a, b *Set) *Set {
	out := &Set{}
	if a != nil && b != nil {
		out.words = make([]uint64, max(len(a.words), len(b.words)))
	} else if a = cmp.Or(a, b); a != nil {
		out.words = make([]uint64, len(a.words))
	}
	for i := range out.words {
		out.words[i] = a.word(i) | b.word(i)
	}
	return out
}

// Has reports whether the set has a unit. A nil set has none.
func (s *Set) Has(unit int) bool {
	return s != nil && unit/64 < len(s.words) && s.words[unit/64]&(1<<(unit%64)) != 0
}

// Empty reports whether the set has no unit.
func (s *Set) Empty() bool {
	for range s.All {
		return false
	}
	return true
}

// Remove takes a unit out.
func (s *Set) Remove(unit int) {
	if unit/64 < len(s.words) {
		s.words[unit/64] &^= 1 << (unit % 64)
	}
}

// word returns the i-th word of the set; 0 beyond its end and for a nil set.
func (s *Set) word(i int) uint64 {
	if s == nil || i >= len(s.words) {
		return 0
	}
	return s.words[i]
}

// All yields the units in order. Use it as for unit := range s.All.
func (s *Set) All(yield func(unit int) bool) {
	if s == nil {
		return
	}
	for i, w := range s.words {
		for ; w != 0; w &= w - 1 {
			if !yield(i*64 + bits.TrailingZeros64(w)) {
				return
			}
		}
	}
}
