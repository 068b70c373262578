package corpus

import (
	"math/bits"
	"slices"
	"sync"
)

// shortlist is how many vectors at least are compared exactly: those whose signs are most like the query's. With 500, 99 of 100
// of the ten nearest are among them in a corpus of a million; see docs/search-ranking.md.
const shortlist = 500

// Nearest ranks the rules that match filter by the cosine between their vectors and vector, and returns limit of them after
// offset, and their total. It leaves out rules without a vector; a vector that does not have [store.Dimensions] numbers, or has
// the length 0, is near to none. Equal scores are ordered by rule id.
//
// The order is that of the exact cosines among the first several hundred, and again among each several hundred that follow.
func (v *View) Nearest(vector []float32, f Filter, offset, limit int) (hits []Hit, total int) {
	offset, limit = pageOf(offset, limit)
	best, total := v.index.nearest(vector, &f, offset+limit)
	return v.index.page(best, offset, limit), total
}

// nearest finds at least most of the nearest documents, in order, or all of them.
func (x *index) nearest(vector []float32, f *Filter, most int) (best []found, total int) {
	if x.vectors == nil || x.vectors.rows == 0 || len(vector) != dimensions {
		return nil, 0
	}
	var query nearQuery
	if !query.set(vector, x.vectors.mean) {
		return nil, 0
	}
	scratch := distancesPool.Get().(*[]uint16)
	defer distancesPool.Put(scratch)
	distances := slices.Grow((*scratch)[:0], x.vectors.rows)[:x.vectors.rows]
	*scratch = distances
	x.vectors.distances(&query.signs, distances)
	var at [dimensions + 1]int32 // documents at each distance
	docs := make([]bitset, len(x.segments))
	for i, s := range x.segments {
		docs[i] = slices.Clone(x.placed[i].have)
		if d := x.deleted[i]; d != nil {
			docs[i].without(d.docs)
		}
		f.restrict(s, docs[i])
		total += docs[i].count()
		x.placed[i].histogram(docs[i], distances, &at)
	}
	for from := 0; len(best) < min(most, total); {
		to, n := from, int32(0)
		for ; to < len(at) && n < shortlist; to++ {
			n += at[to]
		}
		list := make([]found, 0, n)
		for i, p := range x.placed {
			list = p.between(list, int32(i), docs[i], distances, from, to)
		}
		query.rank(x, list)
		best = append(best, list...)
		from = to
	}
	return best, total
}

// histogram counts documents by their distances. It and between are most of the cost of a search, with the distances, so they
// walk the bits themselves.
func (p *placed) histogram(docs bitset, distances []uint16, at *[dimensions + 1]int32) {
	for i, w := range docs {
		rows := p.rows[i<<6 : min(i<<6+64, len(p.rows))]
		for ; w != 0; w &= w - 1 {
			at[distances[rows[bits.TrailingZeros64(w)]]]++
		}
	}
}

// between adds the documents to a list whose distances are from a number to below another.
func (p *placed) between(list []found, seg int32, docs bitset, distances []uint16, from, to int) []found {
	least, span := uint16(from), uint16(to-from)
	for i, w := range docs {
		rows := p.rows[i<<6 : min(i<<6+64, len(p.rows))]
		for ; w != 0; w &= w - 1 {
			bit := bits.TrailingZeros64(w)
			if distances[rows[bit]]-least < span { // below least, it wraps round to a large number
				list = append(list, found{0, seg, int32(i<<6 + bit)})
			}
		}
	}
	return list
}

var distancesPool = sync.Pool{New: func() any { return new([]uint16) }}

// nearQuery is a vector to search for, in the forms that it is compared in.
type nearQuery struct {
	codes [dimensions]int16
	scale float32
	signs [signWords]uint64
}

// set reports whether the vector is one to search for: its numbers are finite, and not all zero.
func (q *nearQuery) set(vector, mean []float32) bool {
	for _, x := range vector {
		if x-x != 0 { //nolint:gocritic // true for what is not finite
			return false
		}
	}
	if q.scale = encode(q.codes[:], vector); q.scale == 0 {
		return false
	}
	signs(q.signs[:], q.codes[:], q.scale, mean)
	return true
}

// rank gives documents their cosines and puts them in order.
func (q *nearQuery) rank(x *index, list []found) {
	inParts(len(list), 128, func(from, to int) {
		for i := from; i < to; i++ {
			codes, scale := x.vectors.at(x.placed[list[i].seg].rows[list[i].doc])
			list[i].score = float32(float64(product(&q.codes, codes)) * float64(q.scale) * float64(scale))
		}
	})
	slices.SortFunc(list, x.compare)
}
