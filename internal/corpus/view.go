package corpus

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"tenet/internal/federation"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// View is one state of a project's rules, of all statuses. It never changes; [View.Apply] makes a new one.
type View struct {
	version int64
	ruleset
	tree  *federation.Tree
	held  held
	names knownNames
	demands
}

// ruleset is the rules of a view, found by their ids.
type ruleset struct{ index index }

// demands holds what a project says about verdicts beside its rules. Changing it raises the corpus version, but snapshots do not
// have it.
type demands struct {
	waivers waivers
	policy  rule.ProjectPolicy
}

// New makes a view of the given rules at a corpus version.
func New(version int64, states []store.RuleState) (*View, error) {
	v := &View{}
	return v.Apply(version, states)
}

// Version returns the corpus version of the view.
func (v *View) Version() int64 { return v.version }

// Len returns the number of the view's rules, of all statuses.
func (v *View) Len() int { return v.index.live }

// Policy returns the policy of the project at the view's version; the zero policy for the view of a snapshot.
func (d *demands) Policy() *rule.ProjectPolicy { return &d.policy }

// WithPolicy returns the view with another policy.
func (v *View) WithPolicy(p rule.ProjectPolicy) *View {
	next := v.with(v.version, v.index)
	next.policy = p
	return next
}

// Bytes estimates the memory the view takes. It waits until the words of its rules are read, as searches do.
func (v *View) Bytes() int64 { return v.index.bytes() + v.tree.Bytes() }

// AwaitWords waits until the words of a view's rules are read, which goes on in the background after it is loaded, or ctx ends.
func AwaitWords(ctx context.Context, v *View) error {
	for _, s := range v.index.segments {
		if err := s.await(ctx); err != nil {
			return fmt.Errorf("corpus: the words of the rules are not read yet: %w", err)
		}
	}
	return nil
}

// with returns the view at a version with another index.
func (v *View) with(version int64, x index) *View {
	return &View{version: version, ruleset: ruleset{x}, tree: v.tree, demands: v.demands}
}

// Apply returns the view with changed rules replaced and new ones added. It costs time in proportion to the change, not
// to the view.
func (v *View) Apply(version int64, changed []store.RuleState) (*View, error) {
	x, err := v.index.apply(changed)
	if err != nil {
		return nil, err
	}
	return v.with(version, x), nil
}

// Restrict returns a view of other rules that shares what it can with v: the entries of v that keep lets through, and the rules
// of add, which must not be among those; with another federation. It costs little where it keeps most entries: it does not
// rebuild their indexes. The views of snapshots come from the live one this way.
func (v *View) Restrict(version int64, tree *federation.Tree, keep func(*Entry) bool, add []store.RuleState) (*View, error) {
	kept := v.index.restrict(keep)
	x, err := kept.apply(add)
	if err == nil && x.fragmented() {
		x, err = x.compact()
	}
	if err != nil {
		return nil, err
	}
	return &View{version: version, ruleset: ruleset{x}, tree: tree}, nil
}

// Get finds a rule by id, or by slug among the rules that are not retired.
func (v *View) Get(ref string) (*Entry, bool) {
	if e, ok := v.index.byID(strings.ToLower(ref)); ok {
		return e, true
	}
	return v.index.bySlug(ref)
}

// All walks all rules in order of their ids, which is the order in which they were made.
func (v *View) All() iter.Seq[*Entry] { return v.index.all() }

// List returns a page of the rules that f selects, in order of their ids, and how many it selects.
func (v *View) List(f Filter, offset, limit int) ([]*Entry, int) {
	sel, total := f.selectFrom(&v.index)
	return sel.page(offset, limit), total
}
