package corpus

import (
	"slices"
	"strings"
	"time"

	"tenet/internal/rule"
)

// Filter selects rules of a list or a search. Empty fields select everything.
type Filter struct {
	Modality    rule.Modality
	Severity    rule.Severity
	Scope       string   // finds this scope path and those below it; see [rule.ScopeFinds]
	Tags        []string // all of them, in any letter case
	Status      rule.Status
	Statuses    []rule.Status // one of them
	Enforcement rule.Enforcement
	Owner       string
	SourceKind  string   // of one of its source references, in any letter case
	DocumentID  string   // that one of its source references names
	Cites       []string // sources that its source references answer to, all of them; see [Citing]
	Text        string   // occurs in the statement, the rationale or the slug, in any letter case
	Checked     *bool    // whether the rule has a check
	Figures     []FigureRange
	InForce     *time.Time // at which the rule is in force; see [rule.Rule.InForce]
	Plain       bool       // what a query's words cite or ask to define does not count
	// Where is one more condition. It is called only for rules that all else selects.
	Where func(*rule.Rule) bool
}

// Matches reports whether a rule is selected.
func (f *Filter) Matches(r *rule.Rule) bool {
	if (f.Modality != "" && r.Modality != f.Modality) || (f.Severity != "" && r.Severity != f.Severity) ||
		(f.Status != "" && r.Status != f.Status) || (len(f.Statuses) > 0 && !slices.Contains(f.Statuses, r.Status)) ||
		(f.Enforcement != "" && r.Enforcement != f.Enforcement) || (f.Checked != nil && *f.Checked != (r.Check != nil)) ||
		(f.Owner != "" && r.Owner != f.Owner) || !rule.ScopeFinds(r.Scope, f.Scope) {
		return false
	}
	for _, tag := range f.Tags {
		if !slices.ContainsFunc(r.Tags, func(have string) bool { return strings.EqualFold(have, tag) }) {
			return false
		}
	}
	for i := range f.Figures {
		if q := &f.Figures[i]; !q.has(q.Figure.Of(r)) {
			return false
		}
	}
	return f.matchesText(r) && f.matchesSources(r) && (f.InForce == nil || r.InForce(*f.InForce)) && (f.Where == nil || f.Where(r))
}

func (f *Filter) matchesSources(r *rule.Rule) bool {
	if f.SourceKind == "" && f.DocumentID == "" && len(f.Cites) == 0 {
		return true
	}
	s := &segment{entries: []*Entry{{Rule: r}}}
	docs := newBitset(1)
	docs.set(0)
	f.keepSources(s, docs)
	return docs.has(0)
}

func (f *Filter) matchesText(r *rule.Rule) bool {
	if f.Text == "" {
		return true
	}
	q := strings.ToLower(f.Text)
	return strings.Contains(strings.ToLower(r.Statement), q) || strings.Contains(strings.ToLower(r.Rationale), q) ||
		strings.Contains(strings.ToLower(r.Slug), q)
}

// restrict unmarks the documents of a segment that f does not select. It decides most of them from the columns of the segment,
// without touching the rules.
func (f *Filter) restrict(s *segment, docs bitset) {
	if f.Scope != "" {
		docs.intersect(s.inScopes(f.Scope))
	}
	for _, tag := range f.Tags {
		tagged := newBitset(len(s.entries))
		tagged.setAll(s.byTag[strings.ToLower(tag)])
		docs.intersect(tagged)
	}
	f.keepTraits(s, docs)
	if len(f.Statuses) > 0 {
		s.keepStatuses(docs, f.Statuses)
	}
	if f.InForce != nil {
		s.keepStatuses(docs, statusesInForce)
		for _, doc := range s.dated {
			if docs.has(doc) && !s.entries[doc].Rule.InForce(*f.InForce) {
				docs.unset(doc)
			}
		}
	}
	if f.Owner != "" {
		owned := newBitset(len(s.entries))
		owned.setAll(s.byOwner[f.Owner])
		docs.intersect(owned)
	}
	if f.SourceKind != "" || f.DocumentID != "" || len(f.Cites) > 0 {
		f.keepSources(s, docs)
	}
	for i := range f.Figures {
		f.Figures[i].restrict(s, docs)
	}
	if f.Text != "" {
		s.keepText(docs, f.Text)
	}
	if f.Where != nil {
		docs.keep(func(doc int32) bool { return f.Where(s.entries[doc].Rule) })
	}
}

// statusesInForce are those of [rule.Rule.InForce].
var statusesInForce = []rule.Status{rule.Approved, rule.Effective}

// keepStatuses unmarks the documents with none of some statuses.
func (s *segment) keepStatuses(docs bitset, statuses []rule.Status) {
	for i := range docs {
		var any uint64
		for _, status := range statuses {
			if has := s.traits[statusTrait][place(status, rule.Statuses)]; has != nil {
				any |= has[i]
			}
		}
		docs[i] &= any
	}
}

// selection marks documents of an index, by segment.
type selection struct {
	index *index
	docs  []bitset
}

// selectFrom marks the live documents that f selects, and counts them.
func (f *Filter) selectFrom(x *index) (sel selection, total int) {
	sel = selection{x, make([]bitset, len(x.segments))}
	for i, s := range x.segments {
		docs := newBitset(len(s.entries))
		docs.fill(len(s.entries))
		if d := x.deleted[i]; d != nil {
			docs.without(d.docs)
		}
		f.restrict(s, docs)
		sel.docs[i] = docs
		total += docs.count()
	}
	return sel, total
}

// The traits of a rule, each with at most seven values.
const (
	modalityTrait = iota
	severityTrait
	statusTrait
	enforcementTrait
	checkTrait // 1 for a rule with a check
	traitKinds
)

// traitsOf returns the places of a rule's traits among their values, 7 where it has none.
func traitsOf(r *rule.Rule) (t [traitKinds]int) {
	t = [traitKinds]int{place(r.Modality, rule.Modalities), place(r.Severity, rule.Severities), place(r.Status, rule.Statuses), place(r.Enforcement, rule.Enforcements), 0}
	if r.Check != nil {
		t[checkTrait] = 1
	}
	return t
}

// place returns the index of a value among all, or 7 without one.
func place[T comparable](value T, all []T) int {
	if i := slices.Index(all, value); i >= 0 {
		return i
	}
	return 7
}

// keepTraits unmarks the documents of a segment without the traits that f demands.
func (f *Filter) keepTraits(s *segment, docs bitset) {
	r := rule.Rule{Modality: f.Modality, Severity: f.Severity, Status: f.Status, Enforcement: f.Enforcement}
	if f.Checked != nil && *f.Checked {
		r.Check = &rule.Check{}
	}
	want := traitsOf(&r)
	for kind, set := range [traitKinds]bool{f.Modality != "", f.Severity != "", f.Status != "", f.Enforcement != "", f.Checked != nil} {
		if set {
			docs.only(s.traits[kind][want[kind]])
		}
	}
}

// inScopes marks the documents that have a scope path that a filter finds.
func (s *segment) inScopes(filter string) bitset {
	docs := newBitset(len(s.entries))
	for scope, list := range s.byPath {
		if rule.ScopeFinds([]string{scope}, filter) {
			docs.setAll(list)
		}
	}
	return docs
}

// indexTraits fills the columns that filters are decided from.
func (s *segment) indexTraits() {
	s.byTag, s.byPath, s.byOwner = map[string][]int32{}, map[string][]int32{}, map[string][]int32{}
	for i, e := range s.entries {
		for kind, value := range traitsOf(e.Rule) {
			if s.traits[kind][value] == nil {
				s.traits[kind][value] = newBitset(len(s.entries))
			}
			s.traits[kind][value].set(int32(i))
		}
		if p := e.Rule.EffectivePeriod; p.From != nil || p.Until != nil {
			s.dated = append(s.dated, int32(i))
		}
		if owner := e.Rule.Owner; owner != "" {
			s.byOwner[owner] = append(s.byOwner[owner], int32(i))
		}
		for _, tag := range e.Rule.Tags {
			tag = strings.ToLower(tag)
			if list := s.byTag[tag]; len(list) == 0 || list[len(list)-1] != int32(i) {
				s.byTag[tag] = append(list, int32(i))
			}
		}
		for _, scope := range e.Rule.Scope {
			scope = rule.CleanScope(scope)
			if list := s.byPath[scope]; len(list) == 0 || list[len(list)-1] != int32(i) {
				s.byPath[scope] = append(list, int32(i))
			}
		}
	}
}
