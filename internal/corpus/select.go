package corpus

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"tenet/internal/rule"
	"tenet/internal/subject"
)

// Query describes a subject for the selection of rules.
type Query struct {
	Now         time.Time
	Scope       string
	Repository  string
	SeverityMin rule.Severity
	Kinds       []subject.Kind
	AnyKind     bool  // the kinds are not known: rules of every kind apply
	Tool        *Tool // that is called; nil for other subjects
	AnyTool     bool  // a tool that is not known: rules of every tool apply
	Paths       []string
	AnyPath     bool // the paths are not known: rules of every path apply
	Beside      bool // the subject holds more than files: facts or an action
	// Terms is text of the subject to rank by; it may be cut, since it selects nothing.
	Terms []string
	// Concepts returns words for what the subject does, which it need not have itself. They count less than Terms. It is only called if more rules
	// apply than Few, which is how many may be judged: to find them takes longer than to rank these.
	Concepts func() []string
	Few      int
	// Context includes MAY and INFO rules, which are never judged.
	Context bool
	// Within narrows the selection to a federation node: what holds there and what is overridden there; nil does not.
	Within *Within

	repository rule.Repository // Repository as it is read
}

// Tool is a tool of an MCP server.
type Tool struct{ Server, Name string }

// Match is a rule that applies to a subject, with its rank score.
type Match struct {
	*Entry
	Score float64
}

// candidate is a document with its score.
type candidate struct {
	seg, doc int32
	score    float64
}

// Applicable returns the rules that apply, best ranked first; see [Silencers] for those that others override. The same rules
// and query give the same order, whatever the history of the view.
func (v *View) Applicable(q *Query) []Match {
	q.read()
	memory, _ := candidatesPool.Get().(*[]candidate)
	found := q.candidates(&v.index, (*memory)[:0])
	q.rank(&v.index, found)
	slices.SortFunc(found, func(a, b candidate) int {
		switch {
		case a.score != b.score:
			return cmp.Compare(b.score, a.score)
		case a.seg == b.seg: // whose documents are in order of rule id
			return cmp.Compare(a.doc, b.doc)
		}
		return strings.Compare(v.index.entry(a.seg, a.doc).Rule.ID, v.index.entry(b.seg, b.doc).Rule.ID)
	})
	matches := make([]Match, len(found))
	for i, c := range found {
		matches[i] = Match{v.index.entry(c.seg, c.doc), c.score}
	}
	if *memory = found; cap(found) <= maxPooled {
		candidatesPool.Put(memory)
	}
	return matches
}

// maxPooled bounds the candidates for which memory is kept.
const maxPooled = 4096

var candidatesPool = sync.Pool{New: func() any { return new([]candidate) }}

// read brings the names that place the subject to their normal form.
func (q *Query) read() {
	q.Scope = rule.CleanScope(q.Scope)
	if q.Repository != "" {
		q.repository = rule.ParseRepository(q.Repository)
	}
}

// candidates appends the rules that apply, by scope bucket and then by matcher, so that rules out of scope cost nothing.
func (q *Query) candidates(x *index, out []candidate) []candidate {
	least := q.SeverityMin.Rank()
	for i, s := range x.segments {
		seen := map[int32]bool(nil)
		decided := make([]int8, len(s.matchers))
		take := func(groups []group, unique bool) {
			for _, g := range groups {
				if decided[g.matcher] == 0 {
					decided[g.matcher] = -1
					if s.matchers[g.matcher].matches(q) {
						decided[g.matcher] = 1
					}
				}
				if decided[g.matcher] < 0 {
					continue
				}
				for _, doc := range g.docs {
					r := s.entries[doc].Rule
					if x.deleted[i].has(doc) || r.Severity.Rank() < least || (!q.Context && !r.Judged()) || !r.InForce(q.Now) ||
						!q.Within.takes(i, doc, r, q.Scope) {
						continue
					}
					if !unique && len(r.Scope) > 1 {
						if seen[doc] {
							continue
						}
						if seen == nil {
							seen = map[int32]bool{}
						}
						seen[doc] = true
					}
					out = append(out, candidate{seg: int32(i), doc: doc})
				}
			}
		}
		take(s.everywhere, true)
		s.scoped(q.Scope, func(groups []group) { take(groups, false) })
	}
	return out
}

// scoped calls yield for the buckets of rules whose scope paths apply to a subject scope.
func (s *segment) scoped(scope string, yield func([]group)) {
	if scope == "" {
		for _, g := range s.byScope {
			yield(g)
		}
		for _, g := range s.wildScope {
			yield(g)
		}
		return
	}
	for end := 0; end < len(scope); {
		next := strings.IndexByte(scope[end:], '/')
		if next < 0 {
			end = len(scope)
		} else {
			end += next
		}
		if g := s.byScope[scope[:end]]; g != nil {
			yield(g)
		}
		end++
	}
	for path, g := range s.wildScope {
		if rule.ScopeApplies([]string{path}, scope) {
			yield(g)
		}
	}
}

// Weights of the rank score. Relevance of the words counts most, then how closely the rule is tied to the subject's
// paths, kinds or scope, then how much and how strictly it matters.
const (
	weightWords    = 1.0
	weightSpecific = 0.6
	weightSeverity = 0.5
	weightModality = 0.2
)

// rank gives every candidate its score.
func (q *Query) rank(x *index, found []candidate) {
	words := q.relevance(x, found)
	for i := range found {
		c := &found[i]
		r := x.entry(c.seg, c.doc).Rule
		score := weightSeverity * float64(r.Severity.Rank()) / 4
		if r.Modality == rule.Must || r.Modality == rule.MustNot {
			score += weightModality
		}
		if !r.AppliesTo.Empty() {
			score += weightSpecific / 2
		}
		if q.Scope != "" && len(r.Scope) > 0 {
			score += weightSpecific / 2
		}
		if words != nil {
			score += weightWords * words[i]
		}
		c.score = score
	}
}

// Refused is an OVERRIDES between two matches that silences nothing, because the rule is weaker than the one that it names.
type Refused struct {
	By, Of int      // indexes of matches
	Ways   []string // in which By is weaker
}

// Silencers returns, for each match, the index of the match that overrides it, or -1. Overriding is transitive. No rule is lost
// to a mistake: rules that override one another in a circle stay, a shadow rule silences nothing, nor does a rule that is not
// active, or that applies only because the query leaves something open, or that covers fewer files of the subject. A rule that is
// less severe or less binding than the other silences it only where the relationship allows weakening; refused lists the others.
func Silencers(q *Query, matches []Match, active func(i int) bool) (by []int, refused []Refused) {
	by = make([]int, len(matches))
	related := 0
	for i, m := range matches {
		by[i] = -1
		related += len(m.Relationships)
	}
	if related == 0 {
		return by, nil
	}
	at := make(map[string]int, len(matches))
	for i, m := range matches {
		at[m.Rule.ID] = i
	}
	targets := make([][]int, len(matches))
	hasSilencer := make([]bool, len(matches))
	for i, m := range matches {
		if !m.Rule.Judged() || m.Rule.Enforcement == rule.Shadow || !active(i) || !q.surely(m.Rule) {
			continue
		}
		for _, rel := range m.Relationships {
			to, ok := at[rel.ToID]
			if !ok || rel.Kind != rule.Overrides || to == i || !q.covers(m, matches[to]) {
				continue
			}
			if !rel.AllowWeakening {
				if ways := m.Rule.Weakens(matches[to].Rule); len(ways) > 0 {
					refused = append(refused, Refused{i, to, ways})
					continue
				}
			}
			targets[i] = append(targets[i], to)
			hasSilencer[to] = true
		}
	}
	var walk func(root, i int)
	walk = func(root, i int) {
		for _, to := range targets[i] {
			if by[to] < 0 && to != root {
				by[to] = i
				walk(root, to)
			}
		}
	}
	for i := range matches {
		if !hasSilencer[i] {
			walk(i, i)
		}
	}
	return by, refused
}

// surely reports whether a rule that applies does so by what the query says, not by what it leaves open.
func (q *Query) surely(r *rule.Rule) bool { return q.Open(r) == 0 }

// surelyIn reports whether the repository matches globs by what its name says.
func (q *Query) surelyIn(globs []string) bool {
	if len(globs) == 0 {
		return true
	}
	compiled, err := subject.CompileRepositories(globs)
	if err != nil || q.Repository == "" {
		return false
	}
	_, certain := compiled.Match(rule.ParseRepository(q.Repository))
	return certain
}

// covers reports whether a covers every file of the subject that b covers.
func (q *Query) covers(a, b Match) bool {
	if a.coverage == nil {
		return true
	}
	return !slices.ContainsFunc(q.Paths, func(path string) bool {
		return !a.coverage.matcher.coversAll(path) && (b.coverage == nil || b.coverage.matcher.covers(path))
	})
}
