package federation

import (
	"iter"
	"slices"
	"strings"
	"time"

	"tenet/internal/rule"
)

// Source gives the tree and the rules to resolve; a corpus view is one.
type Source interface {
	// Federation is the tree of nodes.
	Federation() *Tree
	// Rule returns a rule of any status by its id.
	Rule(id string) (*rule.Rule, bool)
	// Guarded lists the rules that are [rule.Rule.Guarded] and, at this time or another, in force.
	Guarded() iter.Seq[*rule.Rule]
}

// Entry is a rule that holds at a node.
type Entry struct {
	Rule *rule.Rule
	// NodeID is the node that supplies the rule: of several on the way from the root, the nearest.
	NodeID string
	// Overrides is the id of the ancestor's rule that this one replaces, or empty.
	Overrides string
	// Inherited is true if the rule comes from an ancestor.
	Inherited bool
	// DefaultScope lists the scopes in which the rule holds because it has none of its own and the nodes it is attached to
	// have a default; nil if it holds by its own scope.
	DefaultScope []string

	// above is true for a rule of the node itself that an ancestor supplies as well.
	above bool
}

// Scope is where the rule holds: its own scope, or the default.
func (e *Entry) Scope() []string {
	if e.DefaultScope != nil {
		return e.DefaultScope
	}
	return e.Rule.Scope
}

// Above reports whether the rule is one of the node itself that an ancestor supplies as well, and so holds there anyway.
func (e *Entry) Above() bool { return e.above && e.Overrides == "" }

// Replaced is a rule in force that does not hold at a node, because another one replaces it.
type Replaced struct {
	Rule *rule.Rule
	By   string // rule
	// NodeID is the node that overrides it.
	NodeID string
}

// Set holds the rules that hold at a node at some time.
type Set struct {
	NodeID string
	// Entries come in order of the depth of their nodes, the root's first, and then of rule ids.
	Entries  []Entry
	Replaced []Replaced
	// Everywhere lists, in order of their ids, the guarded rules that hold because no node of the tree has them.
	Everywhere []*rule.Rule
	// From and Until bound the time in which the set holds as long as nothing is changed; zero is unbounded. From is
	// included, Until is not.
	From, Until time.Time
}

// Holds reports whether the set is that of time t too.
func (s *Set) Holds(t time.Time) bool {
	return !t.Before(s.From) && (s.Until.IsZero() || t.Before(s.Until))
}

// Effective returns the rules that hold at a node at a time, and false without the node.
//
// Attached rules hold at the node and all nodes below it. An override takes the place of the rule it names, and of all rules
// that took that place higher up, so the nearest override wins. Rules that are not in force are left out, and override nothing.
// Nor does an override that loosens a CRITICAL rule without permission: then both hold.
//
// Guarded rules that are attached to no node of the tree hold as well, unless the node or one above it has only its own rules.
func Effective(src Source, nodeID string, now time.Time) (*Set, bool) {
	r, ok := attachedRules(src, nodeID, now, nil)
	if !ok {
		return nil, false
	}
	if src.Federation().OwnRulesOnly(nodeID) == nil {
		r.findEverywhere()
	}
	return r.set, true
}

// Everywhere returns a set of no node that has only the rules that hold at all nodes because none has them.
func Everywhere(src Source, now time.Time) *Set {
	r := &resolution{src: src, now: now, set: &Set{}}
	r.findEverywhere()
	return r.set
}

// findEverywhere adds the guarded rules that no node has.
func (r *resolution) findEverywhere() {
	tree := r.src.Federation()
	for x := range r.src.Guarded() {
		if tree.attached(x.ID) {
			continue
		}
		r.bound(&x.EffectivePeriod)
		if x.InForce(r.now) {
			r.set.Everywhere = append(r.set.Everywhere, x)
		}
	}
	slices.SortFunc(r.set.Everywhere, func(a, b *rule.Rule) int { return strings.Compare(a.ID, b.ID) })
}

// attachedRules resolves the attachments on the way to a node: those of all rules, or of some as in [resolution].
func attachedRules(src Source, nodeID string, now time.Time, only []string) (*resolution, bool) {
	chain := src.Federation().Chain(nodeID)
	if chain == nil {
		return nil, false
	}
	r := &resolution{src: src, now: now, only: only, set: &Set{NodeID: chain[len(chain)-1].ID}}
	r.findTargets(chain[1:])
	total := len(only) * len(chain)
	if only == nil {
		for _, n := range chain {
			total += len(n.Attached)
		}
	}
	r.plain = make([]holding, 0, total)
	for depth, n := range chain {
		r.descend(depth, n)
	}
	r.collect(chain)
	return r, true
}

// resolution is the work of Effective.
type resolution struct {
	src Source
	now time.Time
	set *Set
	// foreseen takes rules for being in force that may come to be.
	foreseen bool
	// only are the ids of the rules to resolve; nil is all. None of them may override a rule that is not among them, or be overridden by one.
	only []string
	// targets are the rules that some override on the chain names. All others cannot be overridden, which spares them a place.
	targets map[string]bool
	places  []*place
	members map[string][]*place // by the rules that were meant to hold there
	plain   []holding
}

// attached lists the attachments of a node that are to be resolved.
func (r *resolution) attached(n *Node) []*rule.Attachment {
	if r.only == nil {
		return n.Attached
	}
	var list []*rule.Attachment
	for _, id := range r.only {
		if a := n.Attachment(id); a != nil {
			list = append(list, a)
		}
	}
	return list
}

// holding is an attachment in force.
type holding struct {
	*rule.Attachment
	rule  *rule.Rule
	depth int
	node  *Node
	acts  bool // it replaces another rule
}

// defaultScope returns the scope that the node gives the rule, or empty. An override gets none: by naming another scope, a
// subject would escape both it and the rule that it replaces.
func (h *holding) defaultScope() string {
	if h.acts {
		return ""
	}
	return h.node.DefaultScope
}

// scoped is the rule with the scope in which it holds.
func (h *holding) scoped() *rule.Rule {
	scope := h.defaultScope()
	if len(h.rule.Scope) > 0 || scope == "" {
		return h.rule
	}
	at := *h.rule
	at.Scope = []string{scope}
	return &at
}

// place is the position of one rule, which others may take.
type place struct {
	guarded []*rule.Rule // CRITICAL rules that have held here, with the scopes that they had here
	current []holding
}

// findTargets notes the rules that overrides at some nodes name, and others.
func (r *resolution) findTargets(nodes []*Node, more ...string) {
	r.targets, r.members = map[string]bool{}, map[string][]*place{}
	for _, n := range nodes {
		for _, a := range n.overriding {
			r.targets[*a.OverrideID] = true
		}
	}
	for _, id := range more {
		r.targets[id] = true
	}
}

// descend adds the attachments of the next node of the chain. Overrides see the state above the node, so the order of
// attachments does not matter.
func (r *resolution) descend(depth int, n *Node) {
	type taking struct {
		place *place
		by    holding
	}
	var opened, takings []taking
	for _, a := range r.attached(n) {
		found, ok := r.src.Rule(a.RuleID)
		if !ok {
			continue
		}
		r.bound(&found.EffectivePeriod)
		inForce := r.inForce(found)
		h := holding{Attachment: a, rule: found, depth: depth, node: n}
		if inForce && a.OverrideID != nil {
			for _, p := range r.members[*a.OverrideID] {
				if p.mayBeTaken(&h) {
					h.acts = true
					takings = append(takings, taking{p, h})
				}
			}
		}
		switch {
		case h.acts:
		case r.targets[a.RuleID]:
			p := &place{}
			if inForce {
				p.take(h)
			}
			opened = append(opened, taking{p, h})
			r.places = append(r.places, p)
		case inForce:
			r.plain = append(r.plain, h)
		}
	}
	for _, t := range takings {
		t.place.clear(depth, func(gone holding) {
			r.set.Replaced = append(r.set.Replaced, Replaced{Rule: gone.rule, By: t.by.RuleID, NodeID: n.ID})
		})
	}
	for _, t := range takings {
		t.place.take(t.by)
	}
	for _, t := range append(opened, takings...) {
		if r.targets[t.by.RuleID] {
			r.members[t.by.RuleID] = append(r.members[t.by.RuleID], t.place)
		}
	}
}

func (r *resolution) inForce(x *rule.Rule) bool {
	if r.foreseen {
		return x.Status != rule.Retired && x.Status != rule.Superseded
	}
	return x.InForce(r.now)
}

// mayBeTaken reports whether an override may take the place: it must not loosen what holds here if a CRITICAL rule is, or was,
// meant to hold here that it loosens, unless that is allowed.
func (p *place) mayBeTaken(h *holding) bool {
	return h.AllowWeakening || len(p.loosened(h.rule)) == 0
}

// loosened lists the ways in which r would loosen a CRITICAL rule of the place.
func (p *place) loosened(r *rule.Rule) []string {
	if !slices.ContainsFunc(p.current, func(c holding) bool { return len(r.Loosens(c.scoped())) > 0 }) {
		return nil
	}
	for _, g := range p.guarded {
		if ways := r.Loosens(g); len(ways) > 0 {
			return ways
		}
	}
	return nil
}

func (p *place) take(h holding) {
	if h.rule.Severity == rule.Critical {
		p.guarded = append(p.guarded, h.scoped())
	}
	p.current = append(p.current, h)
}

// clear removes the rules of the place from above a depth.
func (p *place) clear(depth int, gone func(holding)) {
	p.current = slices.DeleteFunc(slices.Clone(p.current), func(c holding) bool {
		if c.depth >= depth {
			return false
		}
		gone(c)
		return true
	})
}

// bound narrows the time in which the set holds to where no rule comes into force or goes out of it.
func (r *resolution) bound(p *rule.EffectivePeriod) {
	for _, t := range []*time.Time{p.From, p.Until} {
		switch {
		case t == nil:
		case t.After(r.now):
			if r.set.Until.IsZero() || t.Before(r.set.Until) {
				r.set.Until = *t
			}
		case t.After(r.set.From):
			r.set.From = *t
		}
	}
}

// collect makes the entries: one for each rule that holds, from the nearest node that supplies it.
func (r *resolution) collect(chain []*Node) {
	all := r.plain
	for _, p := range r.places {
		all = append(all, p.current...)
	}
	slices.SortStableFunc(all, func(a, b holding) int { return strings.Compare(a.RuleID, b.RuleID) })
	entries := make([]Entry, 0, len(all))
	depths := make(map[string]int, len(chain))
	for depth, n := range chain {
		depths[n.ID] = depth
	}
	for from := 0; from < len(all); {
		to := from + 1
		for to < len(all) && all[to].RuleID == all[from].RuleID {
			to++
		}
		entries = append(entries, entryOf(all[from:to], len(chain)-1))
		from = to
	}
	if len(r.set.Replaced) > 0 {
		r.set.Replaced = slices.DeleteFunc(r.set.Replaced, func(gone Replaced) bool {
			_, holds := slices.BinarySearchFunc(entries, gone.Rule.ID, func(e Entry, id string) int { return strings.Compare(e.Rule.ID, id) })
			return holds
		})
		slices.SortFunc(r.set.Replaced, func(a, b Replaced) int {
			return strings.Compare(a.Rule.ID+a.By, b.Rule.ID+b.By)
		})
		r.set.Replaced = slices.Compact(r.set.Replaced)
	}
	slices.SortStableFunc(entries, func(a, b Entry) int { return depths[a.NodeID] - depths[b.NodeID] })
	r.set.Entries = entries
}

// entryOf joins the holdings of one rule. It has the default scopes of all of them, and none if it holds everywhere by one.
func entryOf(same []holding, deepest int) Entry {
	near := same[0]
	var scopes []string
	everywhere := false
	for _, h := range same {
		if h.depth > near.depth || (h.depth == near.depth && h.acts && !near.acts) {
			near = h
		}
		if scope := h.defaultScope(); scope == "" {
			everywhere = true
		} else if !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	e := Entry{Rule: near.rule, NodeID: near.node.ID, Inherited: near.depth < deepest}
	if near.acts {
		e.Overrides = near.Override()
	}
	if len(near.rule.Scope) == 0 && !everywhere {
		slices.Sort(scopes)
		e.DefaultScope = scopes
	}
	e.above = !e.Inherited && slices.ContainsFunc(same, func(h holding) bool { return h.depth < deepest })
	return e
}
