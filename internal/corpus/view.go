package corpus

import (
	"iter"
	"slices"
	"strings"

	"tenet/internal/federation"
	"tenet/internal/store"
)

// View is one state of a project's rules, of all statuses. It never changes; [View.Apply] makes a new one.
type View struct {
	version  int64
	segments []*segment
	deleted  []*deletion // per segment; nil where nothing is deleted
	live     int
	vectors  *vectors  // nil without
	placed   []*placed // per segment, if there are vectors
	tree     *federation.Tree
	held     held
	waivers  waivers
}

// New makes a view of the given rules at a corpus version.
func New(version int64, states []store.RuleState) (*View, error) {
	v := &View{}
	return v.Apply(version, states)
}

// Version is the corpus version that the view shows.
func (v *View) Version() int64 { return v.version }

// Len is how many rules the view holds, of all statuses.
func (v *View) Len() int { return v.live }

// Bytes estimates the memory the view takes.
func (v *View) Bytes() int64 {
	var n int64
	for _, s := range v.segments {
		n += s.bytes
	}
	if v.vectors != nil {
		n += v.vectors.bytes()
	}
	return n + v.tree.Bytes()
}

// mergeInline is how many rules a merge may cost the writer that causes it; larger merges are left to [View.compact].
const mergeInline = 2000

// Apply returns the view with changed rules replaced and new ones added. It costs time in proportion to the change, not
// to the view.
func (v *View) Apply(version int64, changed []store.RuleState) (*View, error) {
	next := &View{
		version: version, segments: slices.Clone(v.segments), deleted: slices.Clone(v.deleted), live: v.live, vectors: v.vectors,
		placed: slices.Clone(v.placed), tree: v.tree, waivers: v.waivers,
	}
	if len(changed) == 0 {
		return next, nil
	}
	entries := make([]*Entry, len(changed))
	marks := map[int][]int32{}
	for i := range changed {
		r := &changed[i].Rule
		entries[i] = &Entry{Rule: r, Relationships: changed[i].Relationships}
		if seg, doc, ok := v.locate(r.ID); ok {
			marks[seg] = append(marks[seg], doc)
			next.live--
		}
	}
	for seg, docs := range marks {
		next.deleted[seg] = v.deleted[seg].with(v.segments[seg], docs)
	}
	s, err := newSegment(entries)
	if err != nil {
		return nil, err
	}
	next.push(s)
	next.live += len(entries)
	return next.merge(mergeInline)
}

// merge joins neighbouring segments from the end while the last is at least half as large as the one before it and the
// two together hold at most limit rules. So sizes fall geometrically and there are few segments.
func (v *View) merge(limit int) (*View, error) {
	for n := len(v.segments); n > 1; n = len(v.segments) {
		a, b := v.size(n-2), v.size(n-1)
		if a+b > limit || 2*b < a {
			break
		}
		joined, err := newSegment(append(v.entriesOf(n-2), v.entriesOf(n-1)...))
		if err != nil {
			return nil, err
		}
		v.segments, v.deleted = v.segments[:n-2], v.deleted[:n-2]
		if v.vectors != nil {
			v.placed = v.placed[:n-2]
		}
		v.push(joined)
	}
	return v, nil
}

// push adds a segment to a view in the making.
func (v *View) push(s *segment) {
	v.segments, v.deleted = append(v.segments, s), append(v.deleted, nil)
	if v.vectors != nil {
		v.placed = append(v.placed, v.vectors.place(s.entries))
	}
}

// size counts the live rules of a segment.
func (v *View) size(seg int) int { return len(v.segments[seg].entries) - v.deleted[seg].count() }

func (v *View) entriesOf(seg int) []*Entry {
	out := make([]*Entry, 0, len(v.segments[seg].entries))
	for doc, e := range v.segments[seg].entries {
		if !v.deleted[seg].has(int32(doc)) {
			out = append(out, e)
		}
	}
	return out
}

// maxSegments is how many segments a view may have before it is compacted.
const maxSegments = 24

// fragmented reports whether compacting the view would make it faster to read.
func (v *View) fragmented() bool {
	if len(v.segments) > maxSegments || v.wasteful() {
		return true
	}
	dead := 0
	for i := range v.segments {
		dead += v.deleted[i].count()
	}
	return dead > 1000 && 2*dead > v.live
}

// compact joins all segments into one.
func (v *View) compact() (*View, error) {
	var all []*Entry
	for i := range v.segments {
		all = append(all, v.entriesOf(i)...)
	}
	s, err := newSegment(all)
	if err != nil {
		return nil, err
	}
	next := &View{version: v.version, live: v.live, vectors: v.usedVectors(s), tree: v.tree, waivers: v.waivers}
	next.push(s)
	return next, nil
}

// locate finds the live document of a rule id.
func (v *View) locate(id string) (seg int, doc int32, ok bool) {
	for i, v0 := range slices.Backward(v.segments) {
		if doc, ok := v0.byID[id]; ok && !v.deleted[i].has(doc) {
			return i, doc, true
		}
	}
	return 0, 0, false
}

// Get finds a rule by id, or by slug among the rules that are not retired.
func (v *View) Get(ref string) (*Entry, bool) {
	if seg, doc, ok := v.locate(strings.ToLower(ref)); ok {
		return v.segments[seg].entries[doc], true
	}
	for i, v0 := range slices.Backward(v.segments) {
		if doc, ok := v0.bySlug[ref]; ok && !v.deleted[i].has(doc) {
			return v0.entries[doc], true
		}
	}
	return nil, false
}

// All walks all rules in order of their ids, which is the order in which they were made.
func (v *View) All() iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		next := make([]int, len(v.segments))
		for {
			first := -1
			for i, s := range v.segments {
				for next[i] < len(s.entries) && v.deleted[i].has(int32(next[i])) {
					next[i]++
				}
				if next[i] == len(s.entries) {
					continue
				}
				if first < 0 || s.entries[next[i]].Rule.ID < v.segments[first].entries[next[first]].Rule.ID {
					first = i
				}
			}
			if first < 0 {
				return
			}
			e := v.segments[first].entries[next[first]]
			next[first]++
			if !yield(e) {
				return
			}
		}
	}
}

// List returns a page of the rules that f selects, in order of their ids, and how many it selects.
func (v *View) List(f Filter, offset, limit int) ([]*Entry, int) {
	page, total := []*Entry{}, 0
	for e := range v.All() {
		if !f.Matches(e.Rule) {
			continue
		}
		if total >= offset && len(page) < limit {
			page = append(page, e)
		}
		total++
	}
	return page, total
}
