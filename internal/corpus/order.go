package corpus

import (
	"cmp"
	"slices"

	"tenet/internal/rule"
)

// Order is an order of rules: by a field, the highest first with a minus. Rules with equal fields follow their ids.
type Order string

// Orders lists the orders. The empty one is that of the ids, in which rules were made.
var Orders = []Order{"slug", "-slug", "severity", "-severity", "status", "-status", "updated_at", "-updated_at", "owner", "-owner"}

// compare returns the comparison of an order; nil for the order of the ids.
func (o Order) compare() func(a, b *rule.Rule) int {
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
	default:
		return nil
	}
	if descending {
		return func(a, b *rule.Rule) int { return by(b, a) }
	}
	return by
}

// maxSelected is the number of rules up to which Sorted keeps the first ones in order as it walks. For a later page it sorts them all.
const maxSelected = 1_000

// Sorted is [View.List] in another order.
func (v *View) Sorted(f Filter, o Order, offset, limit int) ([]*Entry, int) {
	by := o.compare()
	if by == nil {
		return v.List(f, offset, limit)
	}
	compare := func(a, b *Entry) int { return by(a.Rule, b.Rule) }
	first, total := []*Entry{}, 0
	most := offset + limit
	for e := range v.All() {
		if !f.Matches(e.Rule) {
			continue
		}
		total++
		if most > maxSelected {
			first = append(first, e)
			continue
		}
		if len(first) == most {
			if most == 0 || compare(e, first[most-1]) >= 0 {
				continue
			}
			first = first[:most-1]
		}
		// After those that are equal: the walk is in the order of the ids.
		at, _ := slices.BinarySearchFunc(first, e, func(x, e *Entry) int {
			if compare(x, e) <= 0 {
				return -1
			}
			return 1
		})
		first = slices.Insert(first, at, e)
	}
	if most > maxSelected {
		slices.SortStableFunc(first, compare)
	}
	return first[min(offset, len(first)):min(most, len(first))], total
}
