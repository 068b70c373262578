package corpus

import (
	"slices"

	"tenet/internal/store"
)

// Restrict returns a view of other rules that shares what it can with v: the entries of v that keep lets through, and the
// rules of add, which must not be among those. It costs little where most entries are kept: their indexes are not built
// anew. It is how the view of a snapshot is made from the live one.
func (v *View) Restrict(version int64, keep func(*Entry) bool, add []store.RuleState) (*View, error) {
	next := &View{version: version, segments: slices.Clone(v.segments), deleted: make([]bitset, len(v.segments))}
	for i, s := range v.segments {
		gone := make(bitset, (len(s.entries)+63)/64)
		copy(gone, v.deleted[i])
		for doc, e := range s.entries {
			switch {
			case v.deleted[i].has(int32(doc)):
			case keep(e):
				next.live++
			default:
				gone[doc>>6] |= 1 << (doc & 63)
			}
		}
		next.deleted[i] = gone
	}
	next, err := next.Apply(version, add)
	if err != nil || !next.fragmented() {
		return next, err
	}
	return next.compact()
}
