package corpus

import (
	"cmp"
	"slices"
	"strings"

	"tenet/internal/rule"
)

// Search asks for rules by words, by meaning, by a source, by filters, or by several of these.
type Search struct {
	// Text ranks by words. Without it and a Vector, the first of the sources that the filter names ranks, and without any, the rules
	// come in the order of their ids.
	Text string
	// Vector ranks by meaning, beside the words if there is a Text that ByMeaning does not leave out.
	Vector    []float32
	ByMeaning bool
	Filter
	// First are the rules that come first if they match the filter, in this order.
	First         []string
	Offset, Limit int
	// Facets is the number of values that are counted for each field with open values; 0 counts nothing.
	Facets int
}

// Found is a page of what a search has found.
type Found struct {
	Hits  []Hit
	Total int
	// Facets counts the rules on all pages.
	Facets Facets
}

// Facets counts rules by the values of their fields, the most frequent first.
type Facets struct {
	Status, Severity, Modality, Enforcement, Check, Scope, Tags, Owner []Count
}

// Count is the number of rules with a value.
type Count struct {
	Value string
	Rules int
}

// Find searches a view.
func Find(v *View, q Search) Found {
	x := &v.index
	offset, limit := pageOf(q.Offset, q.Limit)
	f := q.Filter
	first := pinned(x, q.First, &f)
	// The ranking leaves out the first ones, so that they occur once.
	ranked := f
	if len(first) > 0 {
		ranked.Where = func(r *rule.Rule) bool {
			return !slices.ContainsFunc(first, func(h Hit) bool { return h.Rule.ID == r.ID }) && (f.Where == nil || f.Where(r))
		}
	}
	hits, total, sel := ranking(v, &q, &ranked, max(offset-len(first), 0), limit)
	out := Found{Total: total + len(first)}
	if offset < len(first) {
		out.Hits = append(out.Hits, first[offset:min(offset+limit, len(first))]...)
	}
	out.Hits = append(out.Hits, hits[:min(len(hits), limit-len(out.Hits))]...)
	if q.Facets > 0 {
		for _, h := range first {
			if seg, doc, ok := x.locate(h.Rule.ID); ok {
				sel.docs[seg].set(doc)
			}
		}
		out.Facets = sel.facets(q.Facets)
	}
	return out
}

// pinned lists the entries of ids that a filter selects.
func pinned(x *index, ids []string, f *Filter) []Hit {
	var list []Hit
	for _, id := range ids {
		if e, ok := x.byID(id); ok && f.Matches(e.Rule) && !slices.ContainsFunc(list, func(h Hit) bool { return h.Entry == e }) {
			list = append(list, Hit{e, 1})
		}
	}
	return list
}

// ranking returns a page of a search without its first rules, their number on all pages, and marks them.
func ranking(v *View, q *Search, f *Filter, offset, limit int) (hits []Hit, total int, sel selection) {
	x := &v.index
	switch {
	case q.Vector != nil && (q.Text == "" || q.ByMeaning):
		hits, total = v.Nearest(q.Vector, *f, offset, limit)
		sel, _ = f.selectFrom(x)
		for i, docs := range sel.docs {
			if x.vectors == nil {
				clear(docs)
			} else {
				docs.intersect(x.placed[i].have)
			}
		}
	case q.Vector != nil:
		hits, total, sel = hybrid(v, q.Text, q.Vector, f, offset, limit)
	case q.Text != "":
		var best []found
		var docs []bitset
		best, total, docs = x.lexicon().search(q.Text, f, offset+limit, true)
		hits = x.page(best, offset, limit)
		for i := range docs { // nothing matches at all
			if docs[i] == nil {
				docs[i] = newBitset(len(x.segments[i].entries))
			}
		}
		sel = selection{x, docs}
	case len(f.Cites) > 0:
		var best []found
		best, sel = citing(x, NormalSource(f.Cites[0]), f)
		hits, total = x.page(best, offset, limit), len(best)
	default:
		sel, total = f.selectFrom(x)
		for _, e := range sel.page(offset, limit) {
			hits = append(hits, Hit{e, 1})
		}
	}
	return hits, total, sel
}

// facets counts the marked documents by the values of their fields.
func (sel selection) facets(most int) Facets {
	scopes, tags, owners := map[string]int{}, map[string]int{}, map[string]int{}
	for i, s := range sel.index.segments {
		docs := sel.docs[i]
		marked := docs.count()
		switch n := len(s.entries); {
		case marked*fewMarked < n:
			s.countEach(docs, 1, scopes, tags, owners)
		case (n-marked)*fewMarked < n: // all but a few
			countAll(scopes, s.byPath)
			countAll(tags, s.byTag)
			countAll(owners, s.byOwner)
			others := newBitset(n)
			others.fill(n)
			others.without(docs)
			s.countEach(others, -1, scopes, tags, owners)
		default:
			countLists(scopes, s.byPath, docs)
			countLists(tags, s.byTag, docs)
			countLists(owners, s.byOwner, docs)
		}
	}
	delete(scopes, "")
	return Facets{
		Status: countTraits(sel, statusTrait, rule.Statuses), Severity: countTraits(sel, severityTrait, rule.Severities),
		Modality: countTraits(sel, modalityTrait, rule.Modalities), Enforcement: countTraits(sel, enforcementTrait, rule.Enforcements),
		Check: countTraits(sel, checkTrait, []string{"false", "true"}), Scope: mostFrequent(scopes, most), Tags: mostFrequent(tags, most),
		Owner: mostFrequent(owners, most),
	}
}

// countTraits counts by the values of one trait.
func countTraits[T ~string](sel selection, kind int, values []T) []Count {
	list := []Count{}
	for at, value := range values {
		rules := 0
		for i, s := range sel.index.segments {
			rules += sel.docs[i].countBoth(s.traits[kind][at])
		}
		if rules > 0 {
			list = append(list, Count{string(value), rules})
		}
	}
	slices.SortStableFunc(list, func(a, b Count) int { return cmp.Compare(b.Rules, a.Rules) })
	return list
}

// fewMarked is the share of a segment up to which facets look at each marked document alone.
const fewMarked = 32

// countEach adds a number to the counts of the values of each marked document.
func (s *segment) countEach(docs bitset, add int, scopes, tags, owners map[string]int) {
	docs.each(func(doc int32) {
		r := s.entries[doc].Rule
		for i, scope := range r.Scope {
			if scope = rule.CleanScope(scope); !slices.ContainsFunc(r.Scope[:i], func(other string) bool { return rule.CleanScope(other) == scope }) {
				scopes[scope] += add
			}
		}
		for i, tag := range r.Tags {
			if tag = strings.ToLower(tag); !slices.ContainsFunc(r.Tags[:i], func(other string) bool { return strings.ToLower(other) == tag }) {
				tags[tag] += add
			}
		}
		if r.Owner != "" {
			owners[r.Owner] += add
		}
	})
}

// countAll counts all documents of a segment.
func countAll(n map[string]int, lists map[string][]int32) {
	for value, list := range lists {
		n[value] += len(list)
	}
}

func countLists(n map[string]int, lists map[string][]int32, docs bitset) {
	for value, list := range lists {
		rules := 0
		for _, doc := range list {
			rules += int(docs[doc>>6] >> (doc & 63) & 1)
		}
		if rules > 0 {
			n[value] += rules
		}
	}
}

// mostFrequent lists the values with the highest counts above zero, the highest first and equal ones in order.
func mostFrequent(n map[string]int, most int) []Count {
	before := func(a, b Count) int { return cmp.Or(cmp.Compare(b.Rules, a.Rules), cmp.Compare(a.Value, b.Value)) }
	list := make([]Count, 0, min(len(n), 2*most+64))
	least := 1
	cut := func() {
		slices.SortFunc(list, before)
		if list = list[:min(len(list), most)]; len(list) == most && most > 0 {
			least = list[most-1].Rules
		}
	}
	for value, rules := range n {
		if rules < least {
			continue
		}
		if list = append(list, Count{value, rules}); len(list) == 2*most+64 {
			cut()
		}
	}
	cut()
	return list
}
