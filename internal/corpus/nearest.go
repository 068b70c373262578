package corpus

import (
	"slices"
	"sync"
)

// shortlist is how many vectors at least are compared exactly: those whose signs are most like the query's. With 500, 99 of 100
// of the ten nearest are among them in a corpus of a million; see docs/search-ranking.md.
const shortlist = 500

// Nearest ranks the rules that match filter by the cosine between their vectors and vector, and returns limit of them after
// offset, and how many there are. Rules without a vector are left out; a vector that does not have [store.Dimensions] numbers, or has
// the length 0, is near to none. Equal scores are ordered by rule id.
//
// The order is that of the exact cosines among the first several hundred, and again among each several hundred that follow.
func (v *View) Nearest(vector []float32, f Filter, offset, limit int) (hits []Hit, total int) {
	offset, limit = max(offset, 0), max(limit, 0)
	best, total := v.nearest(vector, &f, offset+limit)
	return v.page(best, offset, limit), total
}

// nearest finds at least most of the nearest documents, in order, if there are as many.
func (v *View) nearest(vector []float32, f *Filter, most int) (best []found, total int) {
	if v.vectors == nil || v.vectors.rows == 0 || len(vector) != dimensions {
		return nil, 0
	}
	var query nearQuery
	if !query.set(vector, v.vectors.mean) {
		return nil, 0
	}
	scratch := distancesPool.Get().(*[]uint16)
	defer distancesPool.Put(scratch)
	distances := slices.Grow((*scratch)[:0], v.vectors.rows)[:v.vectors.rows]
	*scratch = distances
	v.vectors.distances(&query.signs, distances)
	var at [dimensions + 1]int // documents at each distance
	docs := make([]bitset, len(v.segments))
	for i, s := range v.segments {
		docs[i] = slices.Clone(v.placed[i].have)
		if d := v.deleted[i]; d != nil {
			docs[i].without(d.docs)
		}
		f.restrict(s, docs[i])
		rows := v.placed[i].rows
		docs[i].each(func(doc int32) {
			at[distances[rows[doc]]]++
			total++
		})
	}
	for from := 0; len(best) < min(most, total); {
		to, n := from, 0
		for ; to < len(at) && n < shortlist; to++ {
			n += at[to]
		}
		best = append(best, v.between(&query, docs, distances, from, to, n)...)
		from = to
	}
	return best, total
}

// between gives the documents whose distances are from a number to below another, ranked by the cosine.
func (v *View) between(query *nearQuery, docs []bitset, distances []uint16, from, to, n int) []found {
	list := make([]found, 0, n)
	for i := range v.segments {
		rows := v.placed[i].rows
		docs[i].each(func(doc int32) {
			if d := int(distances[rows[doc]]); d >= from && d < to {
				list = append(list, found{0, int32(i), doc})
			}
		})
	}
	inParts(len(list), 128, func(from, to int) {
		for i := from; i < to; i++ {
			codes, scale := v.vectors.at(v.placed[list[i].seg].rows[list[i].doc])
			list[i].score = float32(float64(product(&query.codes, codes)) * float64(query.scale) * float64(scale))
		}
	})
	slices.SortFunc(list, v.compare)
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
