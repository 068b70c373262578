package corpus

import (
	"slices"

	"tenet/internal/federation"
	"tenet/internal/store"
)

// Restrict returns a view of other rules that shares what it can with v: the entries of v that keep lets through, and the
// rules of add, which must not be among those; with another federation. It costs little where most entries are kept: their
// indexes are not built anew. It is how the view of a snapshot is made from the live one.
func (v *View) Restrict(version int64, tree *federation.Tree, keep func(*Entry) bool, add []store.RuleState) (*View, error) {
	next := &View{
		version: version, segments: slices.Clone(v.segments), deleted: slices.Clone(v.deleted), vectors: v.vectors,
		placed: slices.Clone(v.placed), tree: tree,
	}
	for i, s := range v.segments {
		var gone []int32
		for doc, e := range s.entries {
			switch {
			case v.deleted[i].has(int32(doc)):
			case keep(e):
				next.live++
			default:
				gone = append(gone, int32(doc))
			}
		}
		if len(gone) > 0 {
			next.deleted[i] = v.deleted[i].with(s, gone)
		}
	}
	next, err := next.Apply(version, add)
	if err != nil || !next.fragmented() {
		return next, err
	}
	return next.compact()
}
