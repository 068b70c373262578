package corpus

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// scopeColumn holds the different scopes of the rules of a segment, each as the list that rules have, with the documents that have it. It is made at its
// first use.
type scopeColumn struct {
	once  sync.Once
	lists [][]string
	docs  [][]int32 // by list
}

func (c *scopeColumn) fill(entries []*Entry) {
	c.once.Do(func() {
		at := map[string]int{}
		for doc, e := range entries {
			key := strings.Join(e.Rule.Scope, between)
			n, ok := at[key]
			if !ok {
				n = len(c.lists)
				at[key] = n
				c.lists, c.docs = append(c.lists, e.Rule.Scope), append(c.docs, nil)
			}
			c.docs[n] = append(c.docs[n], int32(doc)) //nolint:gosec // less than maxSegment
		}
	})
}

// ByScope ranks the rules that a filter selects by a score of their scope, and returns limit of them after offset, and their total. Those that score 0 are not
// found. Equal scores are in the order of rule ids.
func ByScope(v *View, f Filter, score func(scope []string) float64, offset, limit int) (hits []Hit, total int) {
	offset, limit = pageOf(offset, limit)
	x := &v.index
	type scored struct {
		found

		exact float64
	}
	var best []scored
	for i, s := range x.segments {
		s.scopes.fill(s.entries)
		of := make([]float64, len(s.scopes.lists))
		docs := newBitset(len(s.entries))
		for n, list := range s.scopes.lists {
			if of[n] = score(list); of[n] > 0 {
				docs.setAll(s.scopes.docs[n])
			}
		}
		if d := x.deleted[i]; d != nil {
			docs.without(d.docs)
		}
		f.restrict(s, docs)
		for n, list := range s.scopes.docs {
			if of[n] == 0 {
				continue
			}
			for _, doc := range list {
				if docs.has(doc) {
					best = append(best, scored{found{0, int32(i), doc}, of[n]})
				}
			}
		}
	}
	slices.SortFunc(best, func(a, b scored) int { return cmp.Or(cmp.Compare(b.exact, a.exact), x.compare(a.found, b.found)) })
	for _, b := range best[min(offset, len(best)):min(offset+limit, len(best))] {
		hits = append(hits, Hit{x.entry(b.seg, b.doc), b.exact})
	}
	return hits, len(best)
}
