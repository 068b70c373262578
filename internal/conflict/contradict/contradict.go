// Package contradict reports without a model whether two rules contradict each other: one demands what the other forbids, or both
// set different numbers, or values that exclude each other, for the same thing. It compares two rules and nothing else, and prefers
// to miss a contradiction rather than to claim one; docs/conflicts.md says how often it does either.
package contradict

import (
	"strconv"
	"strings"

	"tenet/internal/norm"
	"tenet/internal/rule"
	"tenet/internal/text"
)

// Kind is the subject of a contradiction.
type Kind string

// Kinds of contradictions.
const (
	Force     Kind = "force"     // one demands or allows what the other forbids
	Limit     Kind = "limit"     // they bound the same thing by different numbers
	Threshold Kind = "threshold" // they begin to hold at different numbers
	Value     Kind = "value"     // they demand values that exclude each other
)

// Finding is a contradiction.
type Finding struct {
	Kind Kind
	// Reason explains the contradiction to people, with words of both statements.
	Reason string
	// Confidence is above 0 and at most 1: how sure it is that no subject, or hardly any, can keep both rules.
	Confidence float64
	// Marks are the words of the two statements that clash, those of the first rule first.
	Marks [2][]norm.Span
}

// maxStatement bounds the bytes of a statement that are read. Longer ones are prose, whose end holds no other demand.
const maxStatement = 2000

// Reading is a parsed rule, for comparing it with many others.
type Reading struct {
	rule       *rule.Rule
	clauses    []norm.Clause
	gists      []*gist // of the clauses
	exceptions []exception
}

// exception is a part of the subjects that a rule leaves out.
type exception struct {
	text  string // in lower case
	words norm.Set
}

// Read parses a rule. The caller must not change the rule afterwards.
func Read(r *rule.Rule) *Reading {
	out := &Reading{rule: r, clauses: norm.Read(text.Clip(r.Statement, maxStatement, ""), r.Modality)}
	for _, e := range r.Exceptions {
		out.except(e)
	}
	for i := range out.clauses {
		out.gists = append(out.gists, gistOf(&out.clauses[i]))
		for _, words := range out.clauses[i].Except {
			out.exceptions = append(out.exceptions, exception{words: words})
		}
	}
	return out
}

func (r *Reading) except(text string) {
	r.exceptions = append(r.exceptions, exception{text: strings.ToLower(text), words: norm.Words(text)})
}

// Rules reports whether two rules contradict each other; see [Compare].
func Rules(a, b *rule.Rule) (Finding, bool) { return Compare(Read(a), Read(b)) }

// Compare reports whether two rules contradict each other where and when both hold. The order of the arguments changes only the
// order of the words of the reason. Rules of modality INFO contradict nothing. Of several contradictions it returns the surest.
//
// Callers check the relationships of the two: a rule that overrides, refines or supersedes another is not in conflict with it.
func Compare(a, b *Reading) (Finding, bool) {
	if a.rule.Modality == rule.Info || b.rule.Modality == rule.Info || !Meet(a.rule, b.rule) {
		return Finding{}, false
	}
	var best Finding
	for i := range a.clauses {
		for j := range b.clauses {
			f, ok := compareMeanings(&a.clauses[i], &b.clauses[j])
			if !ok {
				f, ok = compareGists(a.gists[i], b.gists[j])
			}
			if ok && f.Confidence > best.Confidence && !a.leavesOut(b, &b.clauses[j]) && !b.leavesOut(a, &a.clauses[i]) {
				best = f
			}
		}
	}
	return best, best.Confidence > 0
}

// leavesOut reports whether an exception of r is for a clause of another rule, or names that rule.
func (r *Reading) leavesOut(other *Reading, c *norm.Clause) bool {
	words := c.Words()
	for _, e := range r.exceptions {
		if slug := strings.ToLower(other.rule.Slug); slug != "" && strings.Contains(e.text, slug) {
			return true
		}
		if e.within(words) {
			return true
		}
	}
	return false
}

// within reports whether at least half of the words of the exception are among words.
func (e *exception) within(words norm.Set) bool {
	shared := 0
	for w := range e.words {
		if words[w] {
			shared++
		}
	}
	return len(e.words) > 0 && 2*shared >= len(e.words)
}

// compareMeanings compares two clauses by their words, and then by what these mean.
func compareMeanings(a, b *norm.Clause) (Finding, bool) {
	if f, ok := compareClauses(a, b); ok {
		return f, true
	}
	f, ok := compareAligned(a, b)
	back, also := compareAligned(b, a) // what is opposed can be read either way round
	if also && (!ok || back.Confidence > f.Confidence) {
		back.Marks[0], back.Marks[1] = back.Marks[1], back.Marks[0]
		return back, true
	}
	return f, ok
}

// compareAligned compares two clauses in the words of the first.
func compareAligned(a, b *norm.Clause) (Finding, bool) {
	aligned, kinds, turned := align(a, b)
	if aligned == b {
		return Finding{}, false
	}
	tests := []test{limits, wider, onlys, forces, values}
	if turned && a.Passive != b.Passive && len(a.Words()) != len(aligned.Words()) {
		return Finding{}, false // that doors are closed, and how they open
	}
	if turned { // a start and an end have limits of their own
		tests = []test{forces}
	}
	f, ok := first(tests, a, aligned)
	if f.Confidence *= .9; kinds {
		f.Confidence *= .9
	}
	return f, ok
}

// compareClauses returns the surest contradiction of two clauses.
func compareClauses(a, b *norm.Clause) (Finding, bool) {
	return first([]test{limits, thresholds, wider, onlys, forces, values, places, orders, lacks}, a, b)
}

// test looks for one kind of contradiction.
type test func(a, b *norm.Clause) (Finding, bool)

// first returns the finding of the first test that has one.
func first(tests []test, a, b *norm.Clause) (Finding, bool) {
	for _, find := range tests {
		if f, ok := find(a, b); ok {
			return f, true
		}
	}
	return Finding{}, false
}

// maxQuoted bounds the bytes of a clause in a reason.
const maxQuoted = 160

// quoted returns a clause as a reason quotes it.
func quoted(c *norm.Clause) string {
	return strconv.Quote(text.Clip(text.OneLine(c.Text), maxQuoted, "..."))
}
