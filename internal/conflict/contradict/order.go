package contradict

import (
	"tenet/internal/lexicon"
	"tenet/internal/norm"
)

// orders finds demands that want the same two things one after the other, each in another order.
func orders(a, b *norm.Clause) (Finding, bool) {
	if a.Negative || b.Negative || a.Force == norm.Permit || b.Force == norm.Permit || len(a.Quantities)+len(b.Quantities) > 0 {
		return Finding{}, false
	}
	x, ok := a.Order()
	if !ok {
		return Finding{}, false
	}
	y, ok := b.Order()
	if !ok || !alikeSets(a, b, x.First, y.Then) || !alikeSets(a, b, x.Then, y.First) {
		return Finding{}, false
	}
	if a.Head == b.Head && addsUp(a, b) {
		return Finding{}, false // the same can be done at both times
	}
	confidence := .75
	if a.Force == norm.Recommend || b.Force == norm.Recommend {
		confidence *= .85
	}
	return Finding{Value, quoted(a) + " and " + quoted(b) + " want two things in opposite orders", confidence, [2][]norm.Span{{x.Span}, {y.Span}}}, true
}

// extra bounds the words by which one of two descriptions of a thing may be longer.
const extra = 2

// alikeSets reports whether words of a clause and of another are about the same: all of the fewer are among the others, by what they mean.
func alikeSets(a, b *norm.Clause, s, t norm.Set) bool {
	if len(s) > len(t) {
		a, b, s, t = b, a, t, s
	}
	if len(t) > len(s)+extra || len(t) > 2*len(s) {
		return false
	}
	for w := range s {
		found := t[w]
		for v := range t {
			found = found || !s[v] && lexicon.Same(a.Form(w), b.Form(v))
		}
		if !found {
			return false
		}
	}
	return true
}
