package corpus

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tenet/internal/rule"
)

// maxSegment bounds the documents of one segment, so that an ordinal fits into a posting.
const maxSegment = 1 << 24

// segment is an immutable, indexed set of entries in order of rule id.
type segment struct {
	entries []*Entry
	byID    map[string]int32
	bySlug  map[string]int32 // of rules that are not retired
	// Rules in force (now or at another time), grouped for selection.
	everywhere []group            // rules whose scope is empty or *
	byScope    map[string][]group // rules by scope path, without wildcards
	wildScope  map[string][]group // rules by scope path with a wildcard segment
	matchers   []*matcher
	guarded    []int32 // rules in force that the weakening guard protects
	overriding []int32 // rules with an OVERRIDES relationship to another
	// What filters are decided from: documents by trait and its value, by tag in lower case, by scope path and by owner.
	traits  [traitKinds][8]bitset
	byTag   map[string][]int32
	byPath  map[string][]int32
	byOwner map[string][]int32
	folded  textColumn
	sources sourceColumn
	sorted  sortedColumns
	scopes  scopeColumn
	dated   []int32 // rules with an effective period
	words   *textIndex
	read    chan struct{} // closed once words are read; nil if they are not read in the background
	bytes   int64         // without words
}

// group is a set of rules in one scope bucket that share one matcher, so that one test decides for all of them.
type group struct {
	matcher int32
	docs    []int32
}

// newSegment indexes entries, which it sorts by rule id in place.
func newSegment(entries []*Entry) (*segment, error) {
	s, err := beginSegment(entries)
	if err == nil {
		s.text()
	}
	return s, err
}

// beginSegment is newSegment that returns before all words are read, which takes longer than the rest. They are read in the background: most evaluations need no words,
// and whatever does waits for them.
func beginSegment(entries []*Entry) (*segment, error) {
	if len(entries) >= maxSegment {
		return nil, fmt.Errorf("corpus: a segment of %d rules; at most %d are possible", len(entries), maxSegment-1)
	}
	slices.SortFunc(entries, func(a, b *Entry) int { return strings.Compare(a.Rule.ID, b.Rule.ID) })
	s := &segment{
		entries: entries,
		byID:    make(map[string]int32, len(entries)),
		bySlug:  make(map[string]int32, len(entries)),
		read:    make(chan struct{}),
	}
	go func() {
		defer close(s.read)
		s.words = newTextIndex(entries)
	}()
	s.indexScopes()
	s.indexTraits()
	return s, nil
}

// text returns the index of the segment's words. It waits while they are being read.
func (s *segment) text() *textIndex {
	if s.read != nil {
		<-s.read
	}
	return s.words
}

// await waits until the words are read or ctx ends.
func (s *segment) await(ctx context.Context) error {
	if s.read == nil {
		return nil
	}
	select {
	case <-s.read:
		return nil
	default:
	}
	select {
	case <-s.read:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// size estimates the memory that the segment takes. It waits until its words are read.
func (s *segment) size() int64 { return s.bytes + s.text().bytes() }

func (s *segment) indexScopes() {
	s.byScope, s.wildScope = map[string][]group{}, map[string][]group{}
	interned := map[string]int32{}
	everywhere := newGrouping()
	byScope := map[string]*grouping{}
	for i, e := range s.entries {
		doc, r := int32(i), e.Rule
		s.byID[r.ID] = doc
		if r.Slug != "" && r.Status != rule.Retired {
			s.bySlug[r.Slug] = doc
		}
		if slices.ContainsFunc(e.Relationships, func(rel rule.Relationship) bool { return rel.Kind == rule.Overrides }) {
			s.overriding = append(s.overriding, doc)
		}
		s.bytes += e.bytes() + int64(len(r.Slug)+len(r.Statement)+len(r.Rationale)) + gramHashes/8 // the texts once more, and their grams, for textColumn
		if r.Status != rule.Approved && r.Status != rule.Effective {
			continue
		}
		if r.Guarded() {
			s.guarded = append(s.guarded, doc)
		}
		m := s.intern(interned, r.AppliesTo)
		e.cover(s.matchers[m])
		scopes := cleanScopes(r.Scope)
		if len(scopes) == 0 {
			everywhere.add(m, doc)
			continue
		}
		for _, scope := range scopes {
			if byScope[scope] == nil {
				byScope[scope] = newGrouping()
			}
			byScope[scope].add(m, doc)
		}
	}
	s.everywhere = everywhere.groups
	for scope, g := range byScope {
		if slices.Contains(strings.Split(scope, "/"), "*") {
			s.wildScope[scope] = g.groups
		} else {
			s.byScope[scope] = g.groups
		}
	}
}

// cleanScopes returns the scope paths of a rule in their normal form, each once; none if the rule holds everywhere.
func cleanScopes(list []string) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		s = rule.CleanScope(s)
		if s == "" || s == "*" {
			return nil
		}
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// intern returns the number of the matcher for a, making it at its first use.
func (s *segment) intern(known map[string]int32, a *rule.AppliesTo) int32 {
	key := matcherKey(a)
	if m, ok := known[key]; ok {
		return m
	}
	m := int32(len(s.matchers))
	s.matchers = append(s.matchers, newMatcher(a, key))
	known[key] = m
	return m
}

type grouping struct {
	groups    []group
	byMatcher map[int32]int
}

func newGrouping() *grouping { return &grouping{byMatcher: map[int32]int{}} }

func (g *grouping) add(m, doc int32) {
	at, ok := g.byMatcher[m]
	if !ok {
		at = len(g.groups)
		g.byMatcher[m] = at
		g.groups = append(g.groups, group{matcher: m})
	}
	g.groups[at].docs = append(g.groups[at].docs, doc)
}
