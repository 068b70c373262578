package corpus

import (
	"slices"
	"sync"
	"weak"

	"tenet/internal/rule"
)

// Names are names of a sort that rules use, such as facts. It keeps those of each segment of a view, which it collects at their first use, and is safe for
// concurrent use.
type Names struct {
	of func(*rule.Rule) []string

	mu      sync.Mutex
	columns map[weak.Pointer[segment]]map[string][]int32
}

// NewNames returns a Names of what of returns for a rule, each name once.
func NewNames(of func(*rule.Rule) []string) *Names {
	return &Names{of: of, columns: map[weak.Pointer[segment]]map[string][]int32{}}
}

// column returns the documents of a segment by the names that they use, of rules that are neither retired nor superseded.
func (n *Names) column(s *segment) map[string][]int32 {
	n.mu.Lock()
	defer n.mu.Unlock()
	key := weak.Make(s)
	if column, ok := n.columns[key]; ok {
		return column
	}
	for other := range n.columns { // of views that nobody uses any more
		if other.Value() == nil {
			delete(n.columns, other)
		}
	}
	column := map[string][]int32{}
	for doc, e := range s.entries {
		if e.Rule.Status == rule.Retired || e.Rule.Status == rule.Superseded {
			continue
		}
		for _, name := range n.of(e.Rule) {
			column[name] = append(column[name], int32(doc)) //nolint:gosec // less than maxSegment
		}
	}
	n.columns[key] = column
	return column
}

// Uses reports whether a rule of a view that is neither retired nor superseded uses a name. It leaves out the rules of except, by id.
func (n *Names) Uses(v *View, name string, except map[string]bool) bool {
	for i, s := range v.index.segments {
		counts := func(doc int32) bool { return !v.index.deleted[i].has(doc) && !except[s.entries[doc].Rule.ID] }
		if !n.collected(s) && n.early(s, name, counts) {
			return true
		}
		if slices.ContainsFunc(n.column(s)[name], counts) {
			return true
		}
	}
	return false
}

// collected reports whether the names of a segment are there already.
func (n *Names) collected(s *segment) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, ok := n.columns[weak.Make(s)]
	return ok
}

// earlyRules is how many rules of a segment early looks at.
const earlyRules = 1000

// early reports whether one of the first rules of a segment that count uses a name: most names are common, and it costs much to collect those of all rules.
func (n *Names) early(s *segment, name string, counts func(doc int32) bool) bool {
	for doc, e := range s.entries[:min(len(s.entries), earlyRules)] {
		if e.Rule.Status != rule.Retired && e.Rule.Status != rule.Superseded && counts(int32(doc)) && slices.Contains(n.of(e.Rule), name) { //nolint:gosec // less than maxSegment
			return true
		}
	}
	return false
}

// Used counts the rules of a view that use each name, as [Names.Uses] does.
func (n *Names) Used(v *View, except map[string]bool) map[string]int {
	used := map[string]int{}
	for i, s := range v.index.segments {
		deleted := v.index.deleted[i]
		for name, docs := range n.column(s) {
			rules := len(docs)
			if deleted != nil {
				for _, doc := range docs {
					if deleted.has(doc) {
						rules--
					}
				}
			}
			if rules > 0 {
				used[name] += rules
			}
		}
	}
	for id := range except {
		e, ok := v.index.byID(id)
		if !ok || e.Rule.Status == rule.Retired || e.Rule.Status == rule.Superseded {
			continue
		}
		for _, name := range n.of(e.Rule) {
			if used[name]--; used[name] == 0 {
				delete(used, name)
			}
		}
	}
	return used
}
