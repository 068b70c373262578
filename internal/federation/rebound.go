package federation

import (
	"cmp"
	"slices"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/subject"
)

// compareRepositories finds what ends for repositories that have another node than before.
func (x *comparison) compareRepositories() {
	compared := map[[2]string]bool{}
	eachRebound(x.Before.Federation(), x.After.Federation(), func(from, to, glob string) {
		if to == "" {
			return // an evaluation has all rules
		}
		if key := [2]string{from, to}; !compared[key] {
			compared[key] = true
			x.compareBound(from, site{node: to, glob: glob, bound: true, first: from == "", whole: true})
		}
	})
}

// eachRebound calls found for repositories that have another node in one tree than in another, with both nodes, of which one may be empty,
// and a glob of the repositories. It tries sample repositories of all globs that change, alone and together with each other glob.
func eachRebound(before, after *Tree, found func(from, to, glob string)) {
	changed, all := bindingsOf(before, after)
	tried := map[string]bool{}
	try := func(glob string, names []string) {
		for _, name := range names {
			if tried[name] {
				continue
			}
			tried[name] = true
			from, errFrom := before.Bound(name)
			to, errTo := after.Bound(name)
			if errFrom != nil || errTo != nil || from == to {
				continue // an evaluation is refused, or has the node that it had
			}
			found(from, to, glob)
		}
	}
	pairs := 0
	for _, glob := range changed {
		try(glob, subject.SampleRepositories(glob, glob))
		for _, other := range all {
			if pairs++; pairs > maxPairs {
				break
			}
			try(glob, subject.SampleRepositories(glob, other))
		}
	}
}

// maxPairs bounds the pairs of globs that a comparison tries, each of which takes some 10 microseconds.
const maxPairs = 20_000

// bindingsOf lists the globs of the nodes whose bindings differ in two trees, and all globs with a wildcard.
func bindingsOf(before, after *Tree) (changed, all []string) {
	for _, pair := range [2][2]*Tree{{before, after}, {after, before}} {
		for _, n := range pair[0].Nodes() {
			other, ok := pair[1].Node(n.ID)
			for _, glob := range n.Repositories {
				if strings.ContainsAny(glob, meta) {
					all = append(all, glob)
				}
				if !ok || other.Level != n.Level || !slices.Contains(other.Repositories, glob) {
					changed = append(changed, glob)
				}
			}
		}
	}
	sorted := func(list []string) []string { slices.Sort(list); return slices.Compact(list) }
	return sorted(changed), sorted(all)
}

// compareBound notes what ends for repositories that had a node, or none, and have another one now.
func (x *comparison) compareBound(from string, at site) {
	if from != "" {
		x.compare(x.set(false, from, true), at)
		return
	}
	if x.unseen == nil {
		for r := range x.Before.Rules() {
			if r.InForce(x.Now) {
				x.unseen = append(x.unseen, r)
			}
		}
		slices.SortFunc(x.unseen, func(a, b *rule.Rule) int { return strings.Compare(a.ID, b.ID) })
	}
	x.unseen = slices.DeleteFunc(x.unseen, func(r *rule.Rule) bool {
		if !x.compareOne(held{r, r.Scope}, at) || r.Guarded() { // one that is guarded may be so at another site only
			return false
		}
		x.seen = append(x.seen, r)
		return true
	})
	after := x.set(true, at.node, true).rules
	if slices.ContainsFunc(x.seen, func(r *rule.Rule) bool { _, holds := after[r.ID]; return !holds }) {
		x.places[at.glob] = true
	}
}

// compareSilenced orders rules that end: those that need permission first, then the most severe.
func compareSilenced(a, b rule.SilencedRule) int {
	switch {
	case a.Guarded && !b.Guarded:
		return -1
	case b.Guarded && !a.Guarded:
		return 1
	}
	return cmp.Or(b.Severity.Rank()-a.Severity.Rank(), strings.Compare(a.Label(), b.Label()), strings.Compare(a.RuleID, b.RuleID))
}
