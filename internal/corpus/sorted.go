package corpus

import (
	"slices"
	"sync"

	"tenet/internal/rule"
)

// sortedColumns holds the documents of a segment in other orders than that of their ids. Each is made at its first use.
type sortedColumns struct {
	mu sync.Mutex
	of map[Order][]int32
}

// in returns the documents of a segment in an order; equal ones follow their ids.
func (c *sortedColumns) in(o Order, entries []*Entry) []int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if list, ok := c.of[o]; ok {
		return list
	}
	by := Compare(o)
	list := make([]int32, len(entries))
	for i := range list {
		list[i] = int32(i) //nolint:gosec // less than maxSegment
	}
	slices.SortStableFunc(list, func(a, b int32) int { return by(entries[a].Rule, entries[b].Rule) })
	if c.of == nil {
		c.of = map[Order][]int32{}
	}
	c.of[o] = list
	return list
}

// run goes through the marked documents of a segment in an order.
type run struct {
	entries []*Entry
	docs    bitset
	order   []int32 // what is left
}

// advance goes to the next marked document and reports whether there is one.
func (r *run) advance() bool {
	for len(r.order) > 0 && !r.docs.has(r.order[0]) {
		r.order = r.order[1:]
	}
	return len(r.order) > 0
}

func (r *run) rule() *rule.Rule { return r.entries[r.order[0]].Rule }

// pageIn returns limit of the marked entries after offset, in an order. It joins the orders of the segments, so that it looks at no more entries than come
// before the end of the page.
func (sel selection) pageIn(o Order, offset, limit int) []*Entry {
	by := Compare(o)
	if by == nil {
		return sel.page(offset, limit)
	}
	var runs []run
	for i, docs := range sel.docs {
		s := sel.index.segments[i]
		if r := (run{entries: s.entries, docs: docs, order: s.sorted.in(o, s.entries)}); r.advance() {
			runs = append(runs, r)
		}
	}
	page := make([]*Entry, 0, min(limit, 1_000))
	for n := 0; len(runs) > 0 && len(page) < limit; n++ {
		first := 0
		for i := 1; i < len(runs); i++ {
			a, b := runs[i].rule(), runs[first].rule()
			if c := by(a, b); c < 0 || c == 0 && a.ID < b.ID {
				first = i
			}
		}
		r := &runs[first]
		if n >= offset {
			page = append(page, r.entries[r.order[0]])
		}
		r.order = r.order[1:]
		if !r.advance() {
			runs = slices.Delete(runs, first, first+1)
		}
	}
	return page
}
