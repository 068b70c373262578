package corpus

import (
	"math/bits"
	"slices"
)

// bitset marks documents of a segment.
type bitset []uint64

func newBitset(docs int) bitset { return make(bitset, (docs+63)/64) }

func (b bitset) has(doc int32) bool { return b[doc>>6]&(1<<(doc&63)) != 0 }
func (b bitset) set(doc int32)      { b[doc>>6] |= 1 << (doc & 63) }

func (b bitset) unset(doc int32) { b[doc>>6] &^= 1 << (doc & 63) }

// fill marks the first n documents.
func (b bitset) fill(n int) {
	for i := range b {
		b[i] = ^uint64(0)
	}
	if rest := n & 63; rest != 0 {
		b[len(b)-1] = 1<<rest - 1
	}
}

func (b bitset) setAll(docs []int32) {
	for _, doc := range docs {
		b.set(doc)
	}
}

// each calls yield for every marked document.
func (b bitset) each(yield func(doc int32)) {
	for i, w := range b {
		for ; w != 0; w &= w - 1 {
			yield(int32(i<<6 + bits.TrailingZeros64(w)))
		}
	}
}

func (b bitset) count() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// keep unmarks the documents for which has is false.
func (b bitset) keep(has func(doc int32) bool) {
	for i, all := range b {
		for w := all; w != 0; w &= w - 1 {
			bit := bits.TrailingZeros64(w)
			if !has(int32(i<<6 + bit)) {
				b[i] &^= 1 << bit
			}
		}
	}
}

// only is intersect where nil marks nothing.
func (b bitset) only(other bitset) {
	if other == nil {
		clear(b)
	}
	b.intersect(other)
}

// countBoth counts what both mark; nil marks nothing.
func (b bitset) countBoth(other bitset) int {
	n := 0
	for i, w := range other {
		n += bits.OnesCount64(b[i] & w)
	}
	return n
}

// intersect unmarks what other does not mark.
func (b bitset) intersect(other bitset) {
	for i, w := range other {
		b[i] &= w
	}
}

// without unmarks what other marks.
func (b bitset) without(other bitset) {
	for i, w := range other {
		b[i] &^= w
	}
}

// deletion marks the deleted documents of a segment, with their share of the statistics of words: the rank must not depend on
// when the view was last compacted. It never changes; nil is no deletion.
type deletion struct {
	docs  bitset
	n     int
	terms termCounts // deleted documents of each term
	total int64      // lengths of the deleted documents
}

// termCounts counts documents by the numbers of terms, in blocks that those counts share which are made from each other. A large segment has as many terms as rules, and
// a change of a rule concerns a few dozen of them.
type termCounts []*countBlock

// countBlock is small, since the terms of a rule are mostly in different ones.
type countBlock [64]uint32

func newTermCounts(vocabulary int) termCounts {
	return make(termCounts, (vocabulary+len(countBlock{})-1)/len(countBlock{}))
}

// of returns the count of a term.
func (c termCounts) of(term uint32) uint32 {
	if b := c[term/uint32(len(countBlock{}))]; b != nil {
		return b[term%uint32(len(countBlock{}))]
	}
	return 0
}

// add counts one more document of a term. It replaces each block that c shares with others, which own does not have, by a copy.
func (c termCounts) add(term uint32, own map[uint32]bool) {
	at := term / uint32(len(countBlock{}))
	if !own[at] {
		own[at] = true
		b := new(countBlock)
		if c[at] != nil {
			*b = *c[at]
		}
		c[at] = b
	}
	c[at][term%uint32(len(countBlock{}))]++
}

func (d *deletion) has(doc int32) bool { return d != nil && d.docs.has(doc) }

func (d *deletion) count() int {
	if d == nil {
		return 0
	}
	return d.n
}

// with returns the deletion with more documents of a segment.
func (d *deletion) with(s *segment, docs []int32) *deletion {
	next := &deletion{docs: newBitset(len(s.entries)), terms: newTermCounts(s.text().vocabulary())}
	if d != nil {
		next = &deletion{docs: slices.Clone(d.docs), n: d.n, terms: slices.Clone(d.terms), total: d.total}
	}
	var seen []uint32
	own := map[uint32]bool{}
	for _, doc := range docs {
		next.docs.set(doc)
		next.n++
		next.total += int64(s.text().lengths[doc])
		seen = seen[:0]
		s.text().eachTerm(doc, func(term uint32, _ int, _ bool) { seen = append(seen, term) })
		slices.Sort(seen)
		for _, term := range slices.Compact(seen) {
			next.terms.add(term, own)
		}
	}
	return next
}

// of returns the number of deleted documents that have a term.
func (d *deletion) of(term uint32) int {
	if d == nil {
		return 0
	}
	return int(d.terms.of(term))
}

// length is the sum of the lengths of the deleted documents.
func (d *deletion) length() int64 {
	if d == nil {
		return 0
	}
	return d.total
}
