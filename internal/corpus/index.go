package corpus

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"tenet/internal/store"
)

// index is a row of immutable segments, in which newer ones have tombstones for what they replace in older ones, and the vectors
// of their rules. Indexes share their parts, so
// only an [index.clone] that nobody uses yet may change.
type index struct {
	segments []*segment
	deleted  []*deletion // per segment; nil where nothing is deleted
	live     int         // entries that are not deleted
	vectors  *vectors    // nil without
	placed   []*placed   // per segment, if there are vectors
}

// clone returns an index that may change until it is used.
func (x *index) clone() index {
	next := *x
	next.segments, next.deleted, next.placed = slices.Clone(x.segments), slices.Clone(x.deleted), slices.Clone(x.placed)
	return next
}

// bytes estimates the memory that the index takes.
func (x *index) bytes() int64 {
	var n int64
	for _, s := range x.segments {
		n += s.size()
	}
	if x.vectors != nil {
		n += x.vectors.bytes()
	}
	return n
}

// mergeInline is how many rules a merge may cost the writer that causes it; larger merges are left to [index.compact].
const mergeInline = 2000

// apply returns the index with changed rules replaced and new ones added.
func (x *index) apply(changed []store.RuleState) (index, error) {
	if len(changed) == 0 {
		return *x, nil
	}
	next := x.clone()
	entries := make([]*Entry, len(changed))
	marks := map[int][]int32{}
	for i := range changed {
		r := &changed[i].Rule
		entries[i] = &Entry{Rule: r, Relationships: changed[i].Relationships}
		if seg, doc, ok := x.locate(r.ID); ok {
			marks[seg] = append(marks[seg], doc)
			next.live--
		}
	}
	for seg, docs := range marks {
		next.deleted[seg] = x.deleted[seg].with(x.segments[seg], docs)
	}
	build := newSegment
	if len(x.segments) == 0 { // no search waits for these words that could use others until then
		build = beginSegment
	}
	s, err := build(entries)
	if err != nil {
		return index{}, err
	}
	next.push(s)
	next.live += len(entries)
	return next, next.merge(mergeInline)
}

// restrict returns the index without the entries that keep does not let through.
func (x *index) restrict(keep func(*Entry) bool) index {
	next := x.clone()
	next.live = 0
	for i, s := range x.segments {
		var gone []int32
		for doc, e := range s.entries {
			switch {
			case x.deleted[i].has(int32(doc)):
			case keep(e):
				next.live++
			default:
				gone = append(gone, int32(doc))
			}
		}
		if len(gone) > 0 {
			next.deleted[i] = x.deleted[i].with(s, gone)
		}
	}
	return next
}

// merge joins neighbouring segments from the end while the last is at least half as large as the one before it and the two
// together hold at most limit rules. So sizes fall geometrically and segments are few.
func (x *index) merge(limit int) error {
	for n := len(x.segments); n > 1; n = len(x.segments) {
		a, b := x.size(n-2), x.size(n-1)
		if a+b > limit || 2*b < a {
			break
		}
		joined, err := newSegment(append(x.entriesOf(n-2), x.entriesOf(n-1)...))
		if err != nil {
			return err
		}
		x.segments, x.deleted = x.segments[:n-2], x.deleted[:n-2]
		if x.vectors != nil {
			x.placed = x.placed[:n-2]
		}
		x.push(joined)
	}
	return nil
}

// push adds a segment.
func (x *index) push(s *segment) {
	x.segments, x.deleted = append(x.segments, s), append(x.deleted, nil)
	if x.vectors != nil {
		x.placed = append(x.placed, x.vectors.place(s.entries))
	}
}

// size counts the live rules of a segment.
func (x *index) size(seg int) int { return len(x.segments[seg].entries) - x.deleted[seg].count() }

// entriesOf returns the live entries of a segment, in order of rule id.
func (x *index) entriesOf(seg int) []*Entry {
	out := make([]*Entry, 0, len(x.segments[seg].entries))
	for doc, e := range x.segments[seg].entries {
		if !x.deleted[seg].has(int32(doc)) {
			out = append(out, e)
		}
	}
	return out
}

// maxSegments is how many segments an index may have before it is compacted.
const maxSegments = 24

// fragmented reports whether compacting the index would make it faster to read.
func (x *index) fragmented() bool {
	if len(x.segments) > maxSegments || x.wasteful() {
		return true
	}
	dead := 0
	for i := range x.segments {
		dead += x.deleted[i].count()
	}
	return dead > 1000 && 2*dead > x.live
}

// compact returns the index with all segments joined into one, without vectors that it does not need.
func (x *index) compact() (index, error) {
	var all []*Entry
	for i := range x.segments {
		all = append(all, x.entriesOf(i)...)
	}
	s, err := newSegment(all)
	if err != nil {
		return index{}, err
	}
	next := index{live: x.live, vectors: x.usedVectors(s)}
	next.push(s)
	return next, nil
}

// locate finds the live document of a rule id.
func (x *index) locate(id string) (seg int, doc int32, ok bool) {
	for i, s := range slices.Backward(x.segments) {
		if doc, ok := s.byID[id]; ok && !x.deleted[i].has(doc) {
			return i, doc, true
		}
	}
	return 0, 0, false
}

// byID finds an entry by the id of its rule.
func (x *index) byID(id string) (*Entry, bool) {
	if seg, doc, ok := x.locate(id); ok {
		return x.segments[seg].entries[doc], true
	}
	return nil, false
}

// bySlug finds an entry by the slug of its rule, if that is not retired.
func (x *index) bySlug(slug string) (*Entry, bool) {
	for i, s := range slices.Backward(x.segments) {
		if doc, ok := s.bySlug[slug]; ok && !x.deleted[i].has(doc) {
			return s.entries[doc], true
		}
	}
	return nil, false
}

// all walks the live entries in order of rule id.
func (x *index) all() iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		next := make([]int, len(x.segments))
		for {
			first := -1
			for i, s := range x.segments {
				for next[i] < len(s.entries) && x.deleted[i].has(int32(next[i])) {
					next[i]++
				}
				if next[i] == len(s.entries) {
					continue
				}
				if first < 0 || s.entries[next[i]].Rule.ID < x.segments[first].entries[next[first]].Rule.ID {
					first = i
				}
			}
			if first < 0 {
				return
			}
			e := x.segments[first].entries[next[first]]
			next[first]++
			if !yield(e) {
				return
			}
		}
	}
}

// found is a document that a search has found.
type found struct {
	score    float32
	seg, doc int32
}

// entry returns the entry of a document.
func (x *index) entry(seg, doc int32) *Entry { return x.segments[seg].entries[doc] }

// compare orders by score, the highest first, then by rule id.
func (x *index) compare(a, b found) int {
	if a.score != b.score {
		return cmp.Compare(b.score, a.score)
	}
	if a.seg == b.seg {
		return cmp.Compare(a.doc, b.doc) // entries are in the order of their ids
	}
	return strings.Compare(x.entry(a.seg, a.doc).Rule.ID, x.entry(b.seg, b.doc).Rule.ID)
}

// page makes hits of a part of what was found.
func (x *index) page(list []found, offset, limit int) []Hit {
	list = list[min(offset, len(list)):min(offset+limit, len(list))]
	hits := make([]Hit, len(list))
	for i, h := range list {
		hits[i] = Hit{x.entry(h.seg, h.doc), float64(h.score)}
	}
	return hits
}
