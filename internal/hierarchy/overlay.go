package hierarchy

import (
	"iter"
	"strings"

	"tenet/internal/corpus"
	"tenet/internal/rule"
)

// overlay is the rules of a view with some of them changed.
type overlay struct {
	view         *corpus.View
	byID, bySlug map[string]*rule.Rule
}

func newOverlay(view *corpus.View, changed []rule.Rule) *overlay {
	o := &overlay{view: view, byID: make(map[string]*rule.Rule, len(changed)), bySlug: map[string]*rule.Rule{}}
	for i := range changed {
		r := &changed[i]
		o.byID[r.ID] = r
		if r.Slug != "" && r.Status != rule.Retired {
			o.bySlug[r.Slug] = r
		}
	}
	return o
}

func (o *overlay) rule(id string) (*rule.Rule, bool) {
	if r, ok := o.byID[id]; ok {
		return r, true
	}
	return o.view.Rule(id)
}

func (o *overlay) guarded() iter.Seq[*rule.Rule] {
	return func(yield func(*rule.Rule) bool) {
		for r := range o.view.Guarded() {
			if o.byID[r.ID] == nil && !yield(r) {
				return
			}
		}
		for _, r := range o.byID {
			if r.Guarded() && (r.Status == rule.Approved || r.Status == rule.Effective) && !yield(r) {
				return
			}
		}
	}
}

// all lists the rules, the changed ones last.
func (o *overlay) all() iter.Seq[*rule.Rule] {
	return func(yield func(*rule.Rule) bool) {
		for r := range rulesOf(o.view) {
			if o.byID[r.ID] == nil && !yield(r) {
				return
			}
		}
		for _, r := range o.byID {
			if !yield(r) {
				return
			}
		}
	}
}

// get finds a rule by id or slug, as [corpus.View.Get] does.
func (o *overlay) get(ref string) (*rule.Rule, bool) {
	if r, ok := o.rule(strings.ToLower(ref)); ok {
		return r, true
	}
	if r, ok := o.bySlug[ref]; ok {
		return r, true
	}
	e, ok := o.view.Get(ref)
	if !ok || o.byID[e.Rule.ID] != nil { // it has given up the slug
		return nil, false
	}
	return e.Rule, true
}
