package corpus

import (
	"cmp"
	"slices"
	"sync"
	"weak"

	"tenet/internal/rule"
)

// NoFigure is the value of rules that a [Figure] does not have.
const NoFigure = -1

// Figure is a number that rules have beside their content, such as a health score: filters and orders take it from a column for each segment of
// a view, which they make at its first use. It does not change, and is safe for concurrent use.
type Figure struct {
	of map[string]int // by rule

	mu      sync.Mutex
	columns map[weak.Pointer[segment]][]int32
}

// NewFigure returns a Figure of the numbers of rules by id, each 0 or more.
func NewFigure(of map[string]int) *Figure {
	return &Figure{of: of, columns: map[weak.Pointer[segment]][]int32{}}
}

// Of returns the number of a rule, or [NoFigure].
func (f *Figure) Of(r *rule.Rule) int {
	if n, ok := f.of[r.ID]; ok {
		return n
	}
	return NoFigure
}

// column returns the numbers of the documents of a segment.
func (f *Figure) column(s *segment) []int32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := weak.Make(s)
	if column, ok := f.columns[key]; ok {
		return column
	}
	for other := range f.columns { // of views that nobody uses any more
		if other.Value() == nil {
			delete(f.columns, other)
		}
	}
	column := make([]int32, len(s.entries))
	for doc, e := range s.entries {
		column[doc] = int32(f.Of(e.Rule)) //nolint:gosec // scores and counts of test cases
	}
	f.columns[key] = column
	return column
}

// FigureRange selects rules whose figure is Min <= n <= Max, where n of those without one is [NoFigure].
type FigureRange struct {
	Figure   *Figure
	Min, Max int
}

func (q *FigureRange) has(n int) bool { return n >= q.Min && n <= q.Max }

// restrict unmarks the documents of a segment whose figure is outside of the range.
func (q *FigureRange) restrict(s *segment, docs bitset) {
	column := q.Figure.column(s)
	docs.keep(func(doc int32) bool { return q.has(int(column[doc])) })
}

// maxSelected is the number of rules up to which SortedByFigure keeps the first ones in order as it walks. For a later page it sorts them all.
const maxSelected = 1_000

// SortedByFigure is [View.Sorted] by a figure. Rules without it are the lowest.
func SortedByFigure(v *View, f Filter, figure *Figure, descending bool, offset, limit int) ([]*Entry, int) {
	sel, total := f.selectFrom(&v.index)
	columns := make([][]int32, len(sel.docs))
	for i, s := range v.index.segments {
		columns[i] = figure.column(s)
	}
	type placed struct {
		n int32
		e *Entry
	}
	compare := func(a, b placed) int { return cmp.Compare(a.n, b.n) }
	if descending {
		compare = func(a, b placed) int { return cmp.Compare(b.n, a.n) }
	}
	offset, limit = max(offset, 0), max(limit, 0)
	most := min(offset+limit, total)
	var first []placed
	sel.eachDoc(func(segment int, doc int32) bool {
		p := placed{columns[segment][doc], sel.index.segments[segment].entries[doc]}
		switch {
		case most > maxSelected || len(first) < most && (len(first) == 0 || compare(first[len(first)-1], p) <= 0):
			first = append(first, p)
			return true
		case len(first) == most:
			if most == 0 || compare(p, first[most-1]) >= 0 {
				return most > 0
			}
			first = first[:most-1]
		}
		// After those that are equal: the walk is in the order of the ids.
		at, _ := slices.BinarySearchFunc(first, p, func(x, p placed) int {
			if compare(x, p) <= 0 {
				return -1
			}
			return 1
		})
		first = slices.Insert(first, at, p)
		return true
	})
	if most > maxSelected {
		slices.SortStableFunc(first, compare)
	}
	page := make([]*Entry, 0, limit)
	for _, p := range first[min(offset, len(first)):most] {
		page = append(page, p.e)
	}
	return page, total
}
