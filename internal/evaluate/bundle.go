package evaluate

import (
	"fmt"

	"tenet/internal/rule"
)

// bundleOf returns by which bundle an edge evaluates; the zero one on servers.
func bundleOf(e *Evaluator) Bundle {
	if e.cfg.Bundle == nil {
		return Bundle{}
	}
	return e.cfg.Bundle()
}

// noteBundle names the bundle of an edge in the answer.
func noteBundle(r *run) {
	if r.before != nil {
		r.answer.Bundle, r.answer.BundleAge, r.answer.BundleStale = r.before.Bundle, r.before.BundleAge, r.before.BundleStale
		return
	}
	b := bundleOf(r.e)
	if b.Name == "" {
		return
	}
	age := int64(max(b.Age, 0).Seconds())
	r.answer.Bundle, r.answer.BundleAge = b.Name, &age
}

// takeStale applies the written fail mode of an edge that must not simply go on: the word of the most severe rule that applies, or the strictest
// where none does, since a newer bundle may have one; or a stricter one that the project's policy demands of hooks.
func takeStale(r *run) {
	b := bundleOf(r.e)
	if r.before != nil || b.Stale == "" {
		return
	}
	var worst rule.Severity
	for i := range r.sel.chosen {
		if s := r.sel.chosen[i].Rule.Severity; worst == "" || s.Rank() > worst.Rank() {
			worst = s
		}
	}
	word := b.Fail[worst]
	if worst == "" || word == "" {
		word = b.Fail.Strictest()
	}
	if worst == "" {
		worst = rule.Critical
	}
	if demand, ok := r.answer.FailModes[worst]; ok {
		word = word.Demanding(demand)
	}
	r.answer.BundleStale = word
	r.answer.Notices = append(r.answer.Notices, fmt.Sprintf("%s. The edge's fail mode for this subject is %s.", b.Stale, word))
}
