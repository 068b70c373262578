package corpus

import (
	"cmp"
	"math/bits"
	"slices"

	"tenet/internal/rule"
)

// Order is an order of rules: by a field, the highest first with a minus. Rules with equal fields follow their ids.
type Order string

// Orders lists the orders. The empty one is that of the ids, in which rules were made.
var Orders = []Order{"slug", "-slug", "severity", "-severity", "status", "-status", "updated_at", "-updated_at", "owner", "-owner", "has_check", "-has_check"}

// Compare returns the comparison of an order; nil for the order of the ids.
func Compare(o Order) func(a, b *rule.Rule) int {
	field, descending := string(o), false
	if field != "" && field[0] == '-' {
		field, descending = field[1:], true
	}
	var by func(a, b *rule.Rule) int
	switch field {
	case "slug":
		by = func(a, b *rule.Rule) int { return cmp.Compare(a.Slug, b.Slug) }
	case "severity":
		by = func(a, b *rule.Rule) int {
			return cmp.Compare(slices.Index(rule.Severities, a.Severity), slices.Index(rule.Severities, b.Severity))
		}
	case "status":
		by = func(a, b *rule.Rule) int {
			return cmp.Compare(slices.Index(rule.Statuses, a.Status), slices.Index(rule.Statuses, b.Status))
		}
	case "updated_at":
		by = func(a, b *rule.Rule) int { return a.UpdatedAt.Compare(b.UpdatedAt) }
	case "owner":
		by = func(a, b *rule.Rule) int { return cmp.Compare(a.Owner, b.Owner) }
	case "has_check":
		by = func(a, b *rule.Rule) int {
			switch {
			case (a.Check == nil) == (b.Check == nil):
				return 0
			case a.Check == nil:
				return -1
			}
			return 1
		}
	default:
		return nil
	}
	if descending {
		return func(a, b *rule.Rule) int { return by(b, a) }
	}
	return by
}

// Sorted is [View.List] in another order.
func (v *View) Sorted(f Filter, o Order, offset, limit int) ([]*Entry, int) {
	sel, total := f.selectFrom(&v.index)
	return sel.pageIn(o, max(offset, 0), max(limit, 0)), total
}

// page returns limit of the marked entries after offset, in order of rule id.
func (sel selection) page(offset, limit int) []*Entry {
	page := make([]*Entry, 0, min(limit, 1_000))
	if limit <= 0 {
		return page
	}
	skip := offset
	sel.each(func(e *Entry) bool {
		if skip > 0 {
			skip--
			return true
		}
		page = append(page, e)
		return len(page) < limit
	})
	return page
}

// each calls yield for the marked entries in order of rule id, until it returns false.
func (sel selection) each(yield func(*Entry) bool) {
	sel.eachDoc(func(segment int, doc int32) bool { return yield(sel.index.segments[segment].entries[doc]) })
}

// eachDoc is each by the numbers of segments and documents.
func (sel selection) eachDoc(yield func(segment int, doc int32) bool) {
	var used []walk
	for i, docs := range sel.docs {
		w := walk{entries: sel.index.segments[i].entries, segment: i, docs: docs, doc: -1}
		if w.advance() {
			used = append(used, w)
		}
	}
	for len(used) > 0 {
		first := 0
		for i := 1; i < len(used); i++ {
			if used[i].entry().Rule.ID < used[first].entry().Rule.ID {
				first = i
			}
		}
		if !yield(used[first].segment, int32(used[first].doc)) { //nolint:gosec // less than maxSegment
			return
		}
		if !used[first].advance() {
			used = slices.Delete(used, first, first+1)
		}
	}
}

// walk goes through the marked documents of a segment.
type walk struct {
	entries []*Entry
	segment int
	docs    bitset
	doc     int
}

func (w *walk) entry() *Entry { return w.entries[w.doc] }

// advance goes to the next marked document and reports whether there is one.
func (w *walk) advance() bool {
	w.doc++
	for i := w.doc >> 6; i < len(w.docs); i++ {
		word := w.docs[i]
		if i == w.doc>>6 {
			word &= ^uint64(0) << (w.doc & 63)
		}
		if word != 0 {
			w.doc = i<<6 + bits.TrailingZeros64(word)
			return true
		}
	}
	return false
}
