package corpus

import (
	"math/bits"
	"slices"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/subject"
)

// Conditions is a set of the conditions of the selection.
type Conditions uint16

// The conditions that a rule must meet to be selected, in the order in which they are explained.
const (
	InStatus Conditions = 1 << iota
	InPeriod
	InSeverity
	InScope
	AtNode
	OfKind
	OfTool
	InRepository
	OnPath
)

// Has reports whether the set has a condition.
func (c Conditions) Has(one Conditions) bool { return c&one != 0 }

// Len returns the number of conditions in the set.
func (c Conditions) Len() int { return bits.OnesCount16(uint16(c)) }

// LeftOut is a rule that a query does not select.
type LeftOut struct {
	*Entry
	// Unmet holds all conditions that the rule does not meet.
	Unmet Conditions
}

// Excluded returns the rules of a view that q does not select and keep lets through, in order of their ids. Together with those of
// [View.Applicable] they are all rules that keep lets through.
func Excluded(v *View, q *Query, keep func(*rule.Rule) bool) []LeftOut {
	q.read()
	var out []LeftOut
	for i, s := range v.index.segments {
		of, unmet := s.matcherOf(), make([]int16, len(s.matchers))
		others := map[string]Conditions{} // of rules that are not in force, which have no matcher
		for doc, e := range s.entries {
			if v.index.deleted[i].has(int32(doc)) || !keep(e.Rule) {
				continue
			}
			all := q.unmet(e.Rule, q.Within == nil || q.Within.docs[i].has(int32(doc)))
			if m := of[doc]; m >= 0 {
				if unmet[m] == 0 {
					unmet[m] = int16(s.matchers[m].unmet(q)) + 1
				}
				all |= Conditions(unmet[m] - 1)
			} else if !e.Rule.AppliesTo.Empty() {
				key := matcherKey(e.Rule.AppliesTo)
				found, ok := others[key]
				if !ok {
					found = newMatcher(e.Rule.AppliesTo, key).unmet(q)
					others[key] = found
				}
				all |= found
			}
			if all != 0 {
				out = append(out, LeftOut{e, all})
			}
		}
	}
	slices.SortFunc(out, func(a, b LeftOut) int { return strings.Compare(a.Rule.ID, b.Rule.ID) })
	return out
}

// unmet returns the conditions apart from applies_to that a rule does not meet. here is true if it holds at the node of the query.
func (q *Query) unmet(r *rule.Rule, here bool) Conditions {
	var c Conditions
	add := func(one Conditions, is bool) {
		if is {
			c |= one
		}
	}
	add(InStatus, r.Status != rule.Approved && r.Status != rule.Effective)
	add(InPeriod, !r.EffectivePeriod.Contains(q.Now))
	add(InSeverity, r.Severity.Rank() < q.SeverityMin.Rank())
	add(AtNode, !here)
	scope := r.Scope
	if here && len(scope) == 0 {
		scope = q.Within.scopeOf(r)
	}
	add(InScope, !rule.ScopeApplies(scope, q.Scope))
	return c
}

// unmet returns the conditions of an applies_to block that a subject does not meet.
func (m *matcher) unmet(q *Query) Conditions {
	if m == nil {
		return 0
	}
	var c Conditions
	if len(m.kinds) > 0 && !q.AnyKind && !slices.ContainsFunc(q.Kinds, func(k subject.Kind) bool { return slices.Contains(m.kinds, string(k)) }) {
		c |= OfKind
	}
	if !m.tool(q) {
		c |= OfTool
	}
	if !m.repositories.Empty() && q.Repository != "" {
		if ok, _ := m.repositories.Match(q.repository); !ok {
			c |= InRepository
		}
	}
	if !m.matchesPath(q) {
		c |= OnPath
	}
	return c
}

// matcherOf returns the number of the matcher of each document; -1 for rules that are not in force.
func (s *segment) matcherOf() []int32 {
	of := make([]int32, len(s.entries))
	for i := range of {
		of[i] = -1
	}
	put := func(groups []group) {
		for _, g := range groups {
			for _, doc := range g.docs {
				of[doc] = g.matcher
			}
		}
	}
	put(s.everywhere)
	for _, g := range s.byScope {
		put(g)
	}
	for _, g := range s.wildScope {
		put(g)
	}
	return of
}

// Open returns the conditions that a selected rule meets only because the query leaves something open.
func (q *Query) Open(r *rule.Rule) Conditions {
	var c Conditions
	if scope := q.Within.scopeOf(r); len(scope) > 0 && !slices.Contains(scope, "*") && q.Scope == "" {
		c |= InScope
	}
	a := r.AppliesTo
	if a.Empty() {
		return c
	}
	if !q.surelyIn(a.Repositories) {
		c |= InRepository
	}
	if len(a.Kinds) > 0 && q.AnyKind {
		c |= OfKind
	}
	if len(a.Tools) > 0 && (q.AnyKind || q.AnyTool) {
		c |= OfTool
	}
	if len(a.Paths)+len(a.ExcludePaths) > 0 && q.AnyPath {
		c |= OnPath
	}
	return c
}
