package federation

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	"tenet/internal/rule"
)

// Corpus is a source that lists its rules.
type Corpus interface {
	Source
	// Rules lists all rules, of any status.
	Rules() iter.Seq[*rule.Rule]
}

// placing is the time in which the author of a new rule places it among the nodes. Rules that nobody has relied on yet are not guarded as
// those that hold for long.
const placing = time.Hour

// Change is a change of nodes, attachments and rules.
type Change struct {
	Before, After Corpus
	// Rules are the ids of the rules that change with the nodes; nil for none.
	Rules []string
	Now   time.Time
	By    string // the actor

	resolved resolved
}

// Losses are the rules in force that a change ends, or narrows, somewhere.
type Losses struct {
	tree   *Tree // afterwards
	rules  map[string]*loss
	nodes  map[string]bool
	places map[string]bool // globs of repositories
}

// loss is a rule that ends, with the place to name.
type loss struct {
	rule    *rule.Rule
	scope   []string // in which it still holds; nil if it does not
	at      string
	guarded bool
}

// before reports whether a loss is worth more words than another of the same rule: if it needs permission, if the rule ends, if it ends
// higher up.
func (l *loss) before(other *loss) bool {
	switch {
	case l.guarded != other.guarded:
		return l.guarded
	case (l.scope == nil) != (other.scope == nil):
		return l.scope == nil
	}
	return l.at < other.at
}

// Losses finds the rules in force that hold at nodes, or for repositories, before the change and not, or in fewer scopes, afterwards. A
// rule that goes out of force itself is not one of them. Nor is one in whose place another holds that demands as much: the rule that
// overrides it, or the one that it overrides elsewhere.
//
// A repository that is bound to a node for the first time had all rules in force. Of those, the ones that are attached to other nodes are
// not guarded: they were meant for those nodes.
func (c *Change) Losses() *Losses { return c.losses(false) }

func (c *Change) losses(ofAll bool) *Losses {
	x := &comparison{
		Change: c, Losses: &Losses{tree: c.After.Federation(), rules: map[string]*loss{}, nodes: map[string]bool{}, places: map[string]bool{}},
		sets: map[setKey]set{},
	}
	bindings := x.findTouched()
	if !ofAll {
		x.findConcerned()
	}
	x.findTaken()
	x.compareNodes()
	if bindings {
		x.compareRepositories()
	}
	return x.Losses
}

// comparison is the work of [Change.Losses].
type comparison struct {
	*Change
	*Losses
	// touched are the nodes whose rules may change in other ways than by additions.
	touched map[string]bool
	// concerned are the rules that may hold otherwise than before, in order of their ids; nil for all.
	concerned []string
	// taken are the guarded rules that held at all nodes and no longer do, because some node has them now, or they are guarded no more.
	taken []*rule.Rule
	added []*rule.Attachment
	sets  map[setKey]set
	// targets are, for each rule that some node has as an override afterwards, the rules that it is to override; overridden are those.
	targets    map[string][]string
	overridden map[string]bool
	// unseen are the rules in force before that are not known to end for repositories that had no node, and seen the others.
	unseen, seen []*rule.Rule
}

type setKey struct {
	after bool
	node  string
	whole bool
}

// set holds the rules at a node, by id, and those that are overridden there.
type set struct {
	rules    map[string]held
	replaced []Replaced
}

type held struct {
	rule  *rule.Rule
	scope []string
}

// findTouched compares the nodes of the two trees, and reports whether repositories may have another node than before.
func (x *comparison) findTouched() (bindings bool) {
	before, after := x.Before.Federation(), x.After.Federation()
	x.touched = map[string]bool{}
	bindings = before.Len() != after.Len()
	for _, n := range after.Nodes() {
		was, ok := before.Node(n.ID)
		if !ok {
			bindings = bindings || len(n.Repositories) > 0
			x.added = append(x.added, n.Attached...)
			continue
		}
		bindings = bindings || !slices.Equal(was.Repositories, n.Repositories) || was.Level != n.Level
		if x.attachments(was, n) || was.Parent() != n.Parent() || was.DefaultScope != n.DefaultScope || was.OwnRulesOnly != n.OwnRulesOnly {
			x.touched[n.ID] = true
		}
	}
	for id := range x.touched {
		for _, below := range after.Below(id) {
			x.touched[below] = true
		}
	}
	return bindings
}

// attachments collects the attachments that a node gets, and reports whether its attachments may change more than that they add rules.
func (x *comparison) attachments(was, n *Node) (touches bool) {
	if len(was.Attached) == len(n.Attached) && (len(n.Attached) == 0 || &was.Attached[0] == &n.Attached[0]) {
		return false
	}
	kept := 0
	for _, a := range n.Attached {
		old := was.Attachment(a.RuleID)
		if old != nil {
			kept++
		}
		if old == a {
			continue
		}
		x.added = append(x.added, a)
		r, ok := x.After.Rule(a.RuleID)
		touches = touches || old != nil || (a.OverrideID != nil && ok && r.InForce(x.Now))
	}
	return touches || kept < len(was.Attached)
}

// findTaken finds the guarded rules that no longer hold at all nodes.
func (x *comparison) findTaken() {
	seen := map[string]bool{}
	take := func(id string, ended func(after *rule.Rule) bool) {
		r, ok := x.Before.Rule(id)
		if !ok || seen[id] || !r.Guarded() || !r.InForce(x.Now) || x.Before.Federation().has(id) {
			return
		}
		if next, ok := x.After.Rule(id); ok && next.InForce(x.Now) && ended(next) {
			seen[id] = true
			x.taken = append(x.taken, r)
		}
	}
	for _, a := range x.added {
		take(a.RuleID, func(*rule.Rule) bool { return true })
	}
	for _, id := range x.Rules {
		take(id, func(after *rule.Rule) bool { return !after.Guarded() })
	}
}

// has is [Tree.attached] for a tree of which nothing else is asked.
func (t *Tree) has(ruleID string) bool {
	return slices.ContainsFunc(t.Nodes(), func(n *Node) bool { return n.Attachment(ruleID) != nil })
}

// compareNodes finds what ends at nodes that exist before and afterwards.
func (x *comparison) compareNodes() {
	before, after := x.Before.Federation(), x.After.Federation()
	if len(x.touched)+len(x.taken) == 0 {
		return
	}
	for _, n := range after.Nodes() {
		if _, ok := before.Node(n.ID); !ok {
			continue
		}
		at := site{node: n.ID, bound: len(n.Repositories) > 0}
		if x.touched[n.ID] {
			at.whole = x.wholly(n.ID)
			x.compare(x.set(false, n.ID, at.whole), at)
			continue
		}
		if len(x.taken) == 0 || before.OwnRulesOnly(n.ID) != nil {
			continue
		}
		at.whole = x.wholly(n.ID)
		for _, r := range x.taken {
			x.compareTaken(r, after.Chain(n.ID), at)
		}
	}
}

// compareTaken notes if a rule that held at all nodes ends at a node, or holds there in some scopes only.
func (x *comparison) compareTaken(r *rule.Rule, chain []*Node, at site) {
	everywhere := false
	var scopes []string
	for _, n := range chain {
		a := n.Attachment(r.ID)
		switch {
		case a == nil:
		case a.OverrideID != nil || x.overrides(r.ID) != nil:
			x.compareOne(held{r, r.Scope}, at)
			return
		default:
			everywhere = everywhere || n.DefaultScope == ""
			scopes = append(scopes, n.DefaultScope)
		}
	}
	switch {
	case scopes == nil:
		x.lose(held{r, r.Scope}, nil, at)
	case len(r.Scope) == 0 && !everywhere:
		x.lose(held{r, r.Scope}, scopes, at)
	}
}

// set returns what holds at a node before or after the change: of all rules, or of those that the change concerns.
func (x *comparison) set(after bool, node string, whole bool) set {
	key := setKey{after, node, whole}
	if s, ok := x.sets[key]; ok {
		return s
	}
	src := x.Before
	if after {
		src = x.After
	}
	s := set{rules: map[string]held{}}
	var found *Set
	var ok bool
	if whole {
		found, ok = Effective(src, node, x.Now)
	} else {
		found, ok = x.resolve(after, node, x.concerned)
	}
	if ok {
		s.replaced = found.Replaced
		for i := range found.Entries {
			e := &found.Entries[i]
			s.rules[e.Rule.ID] = held{e.Rule, e.Scope()}
		}
		for _, r := range found.Everywhere {
			s.rules[r.ID] = held{r, r.Scope}
		}
	}
	if len(x.sets) >= maxSets {
		clear(x.sets)
	}
	x.sets[key] = s
	return s
}

// maxSets bounds the sets that a comparison keeps.
const maxSets = 64

// site is where a rule ends: a node, or the repositories of a glob, which have that node afterwards.
type site struct {
	node, glob string
	bound      bool // repositories have the node
	first      bool // repositories have a node for the first time
	whole      bool // all rules are compared, not only those that the change concerns
}

// compare notes which rules of a set do not hold at a site afterwards, or in fewer scopes.
func (x *comparison) compare(before set, at site) {
	for _, was := range before.rules {
		x.compareOne(was, at)
	}
}

func (x *comparison) compareOne(was held, at site) (ends bool) {
	is, holds := x.set(true, at.node, at.whole).rules[was.rule.ID]
	switch {
	case !holds:
		return x.lose(was, nil, at)
	case !rule.ScopeCovers(is.scope, was.scope):
		return x.lose(was, is.scope, at)
	}
	return false
}

// overrides returns the rules that a rule is to override at some node afterwards, not nil if some rule is to override it.
func (x *comparison) overrides(id string) []string {
	if x.targets == nil {
		x.targets, x.overridden = map[string][]string{}, map[string]bool{}
		for _, n := range x.After.Federation().Nodes() {
			for _, a := range n.Attached {
				if target := a.Override(); target != "" {
					x.targets[a.RuleID] = append(x.targets[a.RuleID], target)
					x.overridden[target] = true
				}
			}
		}
	}
	if targets := x.targets[id]; targets != nil || !x.overridden[id] {
		return targets
	}
	return []string{}
}

// isReplaced reports whether another rule holds at a node afterwards in the place of one that does not, and demands as much: the one that
// overrides it there, or one that it overrides elsewhere.
func (x *comparison) isReplaced(was held, at site) bool {
	targets := x.overrides(was.rule.ID)
	if targets == nil {
		return false
	}
	after := x.set(true, at.node, at.whole)
	base := *was.rule
	base.Scope = was.scope
	demandsAsMuch := func(id string) bool {
		by, ok := after.rules[id]
		if !ok {
			return false
		}
		other := *by.rule
		other.Scope = by.scope
		return len(other.Loosens(&base)) == 0
	}
	return slices.ContainsFunc(targets, demandsAsMuch) || slices.ContainsFunc(after.replaced, func(gone Replaced) bool {
		return gone.Rule.ID == base.ID && demandsAsMuch(gone.By)
	})
}

// lose notes that a rule ends at a site, or holds there in some scopes only, unless it goes out of force or is replaced. It reports whether
// the rule ends.
func (x *comparison) lose(was held, scope []string, at site) bool {
	r := was.rule
	next, ok := x.After.Rule(r.ID)
	if !ok || !next.InForce(x.Now) || !r.InForce(x.Now) || (scope == nil && x.isReplaced(was, at)) {
		return false
	}
	if at.glob != "" {
		x.places[at.glob] = true
	} else {
		x.nodes[at.node] = true
	}
	found := &loss{rule: r, scope: scope, at: cmp.Or(at.glob, x.tree.Path(at.node)), guarded: x.isGuarded(r, next, at)}
	if l := x.rules[r.ID]; l == nil || found.before(l) {
		x.rules[r.ID] = found
	}
	return scope == nil
}

// isGuarded reports whether a rule may end at a place only with permission.
func (x *comparison) isGuarded(r, next *rule.Rule, at site) bool {
	if !r.Guarded() || !next.Guarded() {
		return false // its own revision ends it
	}
	if x.isPermitted(r, at) {
		return false
	}
	if at.first && x.Before.Federation().attached(r.ID) {
		return false
	}
	isNew := r.CreatedBy == x.By && x.Now.Sub(r.CreatedAt) < placing
	return !isNew || (r.Severity == rule.Critical && at.bound)
}

// isPermitted reports whether the change itself holds the permission and the reason for a rule to end at a node: an override with
// allow_weakening, or a node that gets own_rules_only.
func (x *comparison) isPermitted(r *rule.Rule, at site) bool {
	after := x.After.Federation()
	if alone := after.OwnRulesOnly(at.node); alone != nil && !after.attached(r.ID) {
		was, ok := x.Before.Federation().Node(alone.ID)
		return !ok || !was.OwnRulesOnly
	}
	if x.overrides(r.ID) == nil {
		return false
	}
	return slices.ContainsFunc(x.set(true, at.node, at.whole).replaced, func(gone Replaced) bool {
		n, ok := after.Node(gone.NodeID)
		return ok && gone.Rule.ID == r.ID && n.Attachment(gone.By) != nil && n.Attachment(gone.By).AllowWeakening
	})
}

// Enclosed returns a node that existed before and, by its move, is now below one that has only its own rules; nil without any. The guarded
// rules that are still to come would not hold there.
func (c *Change) Enclosed() *Node {
	before, after := c.Before.Federation(), c.After.Federation()
	for _, n := range after.Nodes() {
		was, ok := before.Node(n.ID)
		if !ok || was.Parent() == n.Parent() || before.OwnRulesOnly(n.ID) != nil {
			continue
		}
		if alone := after.OwnRulesOnly(n.Parent()); alone != nil {
			return n
		}
	}
	return nil
}

// Silenced summarizes the losses; nil without any.
func (l *Losses) Silenced() *rule.Silenced {
	if len(l.rules) == 0 {
		return nil
	}
	s := &rule.Silenced{
		Total: len(l.rules), BySeverity: map[rule.Severity]int{}, Rules: []rule.SilencedRule{}, NodesTotal: len(l.nodes),
		Nodes: []rule.SilencedNode{}, Repositories: []string{},
	}
	for _, one := range l.rules {
		s.BySeverity[one.rule.Severity]++
		if one.guarded {
			s.Guarded++
		}
		s.Rules = append(s.Rules, rule.SilencedRule{
			RuleID: one.rule.ID, Slug: one.rule.Slug, Statement: one.rule.Statement, Severity: one.rule.Severity, Guarded: one.guarded,
			Scope: one.scope, At: one.at,
		})
	}
	slices.SortFunc(s.Rules, compareSilenced)
	s.Rules = slices.Clip(s.Rules[:min(len(s.Rules), rule.MaxSilenced)])
	for id := range l.nodes {
		s.Nodes = append(s.Nodes, rule.SilencedNode{NodeID: id, Path: l.tree.Path(id)})
	}
	slices.SortFunc(s.Nodes, func(a, b rule.SilencedNode) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.NodeID, b.NodeID))
	})
	s.Nodes = slices.Clip(s.Nodes[:min(len(s.Nodes), rule.MaxSilenced)])
	for glob := range l.places {
		s.Repositories = append(s.Repositories, glob)
	}
	slices.Sort(s.Repositories)
	s.Repositories = slices.Clip(s.Repositories[:min(len(s.Repositories), rule.MaxSilenced)])
	return s
}
