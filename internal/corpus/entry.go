// Package corpus keeps an immutable in-memory view of one project's rules, which looks up, lists, searches and selects them
// without the database. A view is a row of immutable segments with tombstones, so that one edit costs little however many the
// rules are; see docs/adr/0003.
//
// # Where things are
//
//	live.go, view.go        the views of a node, and how they follow the database; one view
//	index.go, segment.go, deletion.go  the segments of a view and their tombstones
//	select.go, matcher.go, federation.go, leftout.go  which rules apply to a subject, and why not
//	find.go, query.go, keyword.go, hybrid.go  searches: by words, by meaning, by both
//	textindex.go, token.go, stem.go, lexicon.go  words in the index; phrase.go, proximity.go and cited.go refine a search
//	vectors.go, nearest.go, embedding.go  vectors
//	filter.go, order.go, figure.go  lists of rules; texts.go  encoded rules that are listed often
//	passages.go             documents, searched as rules are
package corpus

import (
	"sync/atomic"

	"tenet/internal/rule"
)

// Entry is a rule in a view. Nothing in it may be changed.
type Entry struct {
	Rule *rule.Rule
	// Relationships go out from the rule.
	Relationships []rule.Relationship

	hash     atomic.Pointer[string]
	key      atomic.Pointer[textKey]
	coverage *Coverage     // nil if the rule concerns every file
	text     atomic.Uint64 // where a [Texts] has the rule's text; 0 for nowhere
}

// Covers returns the files that the rule concerns by its applies_to; nil for all.
func (e *Entry) Covers() *Coverage { return e.coverage }

// ContentHash is [rule.Rule.ContentHash], computed once.
func (e *Entry) ContentHash() string {
	if h := e.hash.Load(); h != nil {
		return *h
	}
	h := e.Rule.ContentHash()
	e.hash.Store(&h)
	return h
}

// cover notes what the rule concerns, when the entry is first indexed. Entries move from segment to segment while others
// read them, so nothing is written later.
func (e *Entry) cover(m *matcher) {
	if e.coverage == nil && m != nil && (!m.paths.Empty() || !m.exclude.Empty()) {
		e.coverage = &Coverage{Key: m.key, matcher: m}
	}
}

// bytes estimates the memory that the entry takes.
func (e *Entry) bytes() int64 {
	r := e.Rule
	n := 1100 + len(r.Statement) + len(r.Rationale) + len(r.Slug) + len(r.Owner)
	for _, s := range r.Tags {
		n += 16 + len(s)
	}
	for _, s := range r.Scope {
		n += 16 + len(s)
	}
	for _, s := range r.SourceRefs {
		n += 80 + len(s.URI) + len(s.Section) + len(s.Quote)
	}
	if c := r.Check; c != nil {
		n += 200 + len(c.CEL) + len(c.When) + len(c.Message) + len(c.Fix)
		if c.Pattern != nil {
			n += 200 + len(c.Pattern.Regex) + len(c.Pattern.Unless)
		}
	}
	return int64(n + 250*len(e.Relationships))
}
