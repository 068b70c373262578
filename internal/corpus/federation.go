package corpus

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"tenet/internal/federation"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// Federation is the tree of the project's federation nodes.
func (v *View) Federation() *federation.Tree { return v.tree }

// Rule returns a rule of any status by its id.
func (v *ruleset) Rule(id string) (*rule.Rule, bool) {
	if e, ok := v.index.byID(id); ok {
		return e.Rule, true
	}
	return nil, false
}

// Guarded lists the rules that are [rule.Rule.Guarded] and APPROVED or EFFECTIVE, in no order.
func (v *ruleset) Guarded() iter.Seq[*rule.Rule] {
	return func(yield func(*rule.Rule) bool) {
		for i, s := range v.index.segments {
			for _, doc := range s.guarded {
				if !v.index.deleted[i].has(doc) && !yield(s.entries[doc].Rule) {
					return
				}
			}
		}
	}
}

// Overriding lists the rules with an OVERRIDES relationship to a rule, whether or not it acts.
func Overriding(v *View, ruleID string) []*Entry {
	var list []*Entry
	for i, s := range v.index.segments {
		for _, doc := range s.overriding {
			e := s.entries[doc]
			if !v.index.deleted[i].has(doc) && slices.ContainsFunc(e.Relationships, func(rel rule.Relationship) bool {
				return rel.Kind == rule.Overrides && rel.ToID == ruleID
			}) {
				list = append(list, e)
			}
		}
	}
	return list
}

// Follow returns the view brought up to the state of a project that a store shows, and v itself if it is there already.
func (v *View) Follow(ctx context.Context, from store.FederationReader, projectID string) (*View, error) {
	next, _, err := v.follow(ctx, from, projectID)
	return next, err
}

// follow is [View.Follow] and returns the rules that have changed, too.
func (v *View) follow(ctx context.Context, from store.FederationReader, projectID string) (*View, followedRows, error) {
	var got followedRows
	version, err := from.Follow(ctx, projectID, v.version,
		func(s store.RuleState) error { got.rules = append(got.rules, s); return nil },
		func(s store.NodeState) error { got.nodes = append(got.nodes, s); return nil },
		func(s store.AttachmentState) error { got.attached = append(got.attached, s); return nil })
	if err != nil || version == v.version {
		return v, followedRows{}, err
	}
	next, err := v.Apply(version, got.rules)
	if err != nil {
		return nil, followedRows{}, err
	}
	next.tree = v.tree.Apply(got.nodes, got.attached)
	return next, got, nil
}

// followedRows are the rows by which a view has changed.
type followedRows struct {
	rules    []store.RuleState
	nodes    []store.NodeState
	attached []store.AttachmentState
}

// Within narrows a selection to what holds at a federation node. The nil Within narrows nothing.
type Within struct {
	*federation.Set

	// docs marks, per segment, what holds at the node and what is overridden there.
	docs []bitset
	at   map[string]int32 // entry by rule id
	by   map[string]string
	// scoped is true if some rule holds in a default scope only.
	scoped bool

	form     sync.Once
	encoded  []byte
	encoding error
}

// Encoded returns what encode makes of the effective rules. It is made once: what holds does not change.
func (w *Within) Encoded(encode func() ([]byte, error)) ([]byte, error) {
	w.form.Do(func() { w.encoded, w.encoding = encode() })
	return w.encoded, w.encoding
}

// HasRule reports whether a rule holds at the node: attached to it or above, or at all nodes because none has it.
func (w *Within) HasRule(id string) bool {
	if _, ok := w.at[id]; ok {
		return true
	}
	_, ok := slices.BinarySearchFunc(w.Everywhere, id, func(r *rule.Rule, id string) int { return strings.Compare(r.ID, id) })
	return ok
}

// Entry is an attached rule as it holds at the node; false if no attached rule of the id holds there.
func (w *Within) Entry(ruleID string) (*federation.Entry, bool) {
	i, ok := w.at[ruleID]
	if !ok {
		return nil, false
	}
	return &w.Entries[i], true
}

// Source is the node that supplies a rule, empty if none does.
func (w *Within) Source(ruleID string) string {
	if w == nil {
		return ""
	}
	if e, ok := w.Entry(ruleID); ok {
		return e.NodeID
	}
	return ""
}

// Split parts matches into those that hold at the node, in their order, and those that others replace there.
func (w *Within) Split(matches []Match) ([]Match, []rule.Overridden) {
	if w == nil || len(w.by) == 0 {
		return matches, nil
	}
	var overridden []rule.Overridden
	matches = slices.DeleteFunc(matches, func(m Match) bool {
		by, gone := w.by[m.Rule.ID]
		if gone {
			overridden = append(overridden, rule.Overridden{RuleID: m.Rule.ID, OverriddenBy: by})
		}
		return gone
	})
	return matches, overridden
}

// takes reports whether a document belongs to the node, for a subject scope.
func (w *Within) takes(seg int, doc int32, r *rule.Rule, scope string) bool {
	if w == nil {
		return true
	}
	if !w.docs[seg].has(doc) {
		return false
	}
	return !w.scoped || len(r.Scope) > 0 || rule.ScopeApplies(w.scopeOf(r), scope)
}

// scopeOf is where a rule holds at the node.
func (w *Within) scopeOf(r *rule.Rule) []string {
	if w != nil && w.scoped {
		if i, ok := w.at[r.ID]; ok {
			return w.Entries[i].Scope()
		}
	}
	return r.Scope
}

// maxHeld bounds the entries of all effective sets that a view keeps. One takes about 100 bytes, and 400 once it is encoded.
const maxHeld = 100_000

// held keeps the effective sets of one view, which never change but by the passing of time.
type held struct {
	mu      sync.Mutex
	within  map[string]*Within
	entries int

	counting   sync.Mutex
	counts     map[string]federation.Counted
	everywhere *federation.Set
}

// Counts returns the counts of a federation node of a view, which are worked out at their first use; not_found without the node.
func Counts(v *View, nodeID string, now time.Time) (rule.NodeCounts, error) {
	h := &v.held
	h.counting.Lock()
	defer h.counting.Unlock()
	if h.everywhere == nil || !h.everywhere.Holds(now) {
		h.everywhere = federation.Everywhere(v, now)
	}
	var above *federation.Counted
	for _, n := range v.tree.Chain(nodeID) {
		c, ok := h.counts[n.ID]
		if !ok || !c.Holds(now) {
			if c, ok = federation.Count(v, n.ID, now, above, h.everywhere); !ok {
				break
			}
			if h.counts == nil {
				h.counts = map[string]federation.Counted{}
			}
			h.counts[n.ID] = c
		}
		above = &c
	}
	if above == nil {
		return rule.NodeCounts{}, rule.NotFound("node", nodeID)
	}
	return above.NodeCounts, nil
}

// Within returns what holds at a federation node, which is worked out at its first use; not_found without the node.
func (v *View) Within(nodeID string, now time.Time) (*Within, error) {
	n, ok := v.tree.Node(nodeID)
	if !ok {
		return nil, rule.NotFound("node", nodeID)
	}
	v.held.mu.Lock()
	w := v.held.within[n.ID]
	v.held.mu.Unlock()
	if w != nil && w.Holds(now) {
		return w, nil
	}
	set, ok := federation.Effective(v, n.ID, now)
	if !ok {
		return nil, rule.NotFound("node", nodeID)
	}
	w = newWithin(&v.index, set)
	v.held.keep(n.ID, w)
	return w, nil
}

func (h *held) keep(id string, w *Within) {
	h.mu.Lock()
	defer h.mu.Unlock()
	size := len(w.Entries) + len(w.Replaced) + len(w.Everywhere)/8 + 10 // one of Everywhere takes a pointer and bits
	if h.within == nil || h.entries+size > maxHeld {
		h.within, h.entries = map[string]*Within{}, 0
	}
	h.within[id] = w
	h.entries += size
}

func newWithin(x *index, set *federation.Set) *Within {
	w := &Within{Set: set, docs: make([]bitset, len(x.segments)), at: make(map[string]int32, len(set.Entries)), by: map[string]string{}}
	for i, s := range x.segments {
		w.docs[i] = newBitset(len(s.entries))
	}
	mark := func(id string) {
		if seg, doc, ok := x.locate(id); ok {
			w.docs[seg].set(doc)
		}
	}
	for i := range set.Entries {
		e := &set.Entries[i]
		w.at[e.Rule.ID] = int32(i)
		w.scoped = w.scoped || e.DefaultScope != nil
		mark(e.Rule.ID)
	}
	for _, r := range set.Everywhere {
		mark(r.ID)
	}
	for _, gone := range set.Replaced {
		w.by[gone.Rule.ID] = gone.By
		mark(gone.Rule.ID)
	}
	return w
}
