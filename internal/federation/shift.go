package federation

import (
	"cmp"
	"slices"
	"strings"

	"tenet/internal/rule"
)

// Shift lists the rules that start or stop to hold at nodes, or for repositories, by a change.
type Shift struct {
	Starts, Stops []Shifted
	// Nodes is how many nodes the change may concern, and Compared how many of them were compared, the highest first. They differ only
	// where thousands of rules change at thousands of nodes.
	Nodes, Compared int
}

// Shifted is a rule that starts or stops to hold.
type Shifted struct {
	Rule *rule.Rule
	// Nodes are the ids of the first nodes at which it does, and Total is how many there are.
	Nodes []string
	Total int
	// Repositories are globs of repositories that have another node than before, or one for the first time, or none any more.
	Repositories []string
	// Other is the id of a rule that it replaces at one of the nodes, or, if it stops, of one that takes its place; empty without one.
	Other string
}

const (
	// maxShiftWork bounds the rules times nodes that a comparison looks at.
	maxShiftWork = 2_000_000
	// minShiftNodes are compared in any case.
	minShiftNodes = 20
	// MaxShiftedPlaces bounds the nodes, and the repositories, that a [Shifted] lists.
	MaxShiftedPlaces = 5
)

// Shift compares what holds before and after the change. Unlike [Change.Losses] it also lists rules whose place another takes that demands
// as much. It is for people who are about to make the change, and takes longer.
func (c *Change) Shift() *Shift {
	s := &shifting{Change: c, starts: map[string]*Shifted{}, stops: map[string]*Shifted{}}
	s.compareNodes()
	s.compareRepositories()
	s.out.Starts, s.out.Stops = sortShifted(s.starts), sortShifted(s.stops)
	return &s.out
}

func sortShifted(m map[string]*Shifted) []Shifted {
	list := make([]Shifted, 0, len(m))
	for _, one := range m {
		list = append(list, *one)
	}
	slices.SortFunc(list, func(a, b Shifted) int {
		return cmp.Or(b.Rule.Severity.Rank()-a.Rule.Severity.Rank(), strings.Compare(a.Rule.Label(), b.Rule.Label()), strings.Compare(a.Rule.ID, b.Rule.ID))
	})
	return list
}

// shifting is the work of [Change.Shift].
type shifting struct {
	*Change

	out           Shift
	starts, stops map[string]*Shifted
}

// scope of a comparison of nodes.
type shiftScope struct {
	nodes []*Node // that exist afterwards and may have other rules than before, the highest first
	made  []*Node // those of nodes that did not exist
	rules []string
	all   bool // rules that hold at all nodes because none has them begin or end to be attached
}

func (s *shifting) scope() shiftScope {
	before, after := s.Before.Federation(), s.After.Federation()
	var out shiftScope
	rules, touched := map[string]bool{}, map[string]bool{}
	for _, n := range after.Nodes() {
		was, ok := before.Node(n.ID)
		if !ok {
			out.made = append(out.made, n)
			for _, a := range n.Attached {
				rules[a.RuleID] = true
			}
			continue
		}
		changes := was.OwnRulesOnly != n.OwnRulesOnly
		for _, a := range changedAttachments(was, n) {
			rules[a], changes = true, true
		}
		if was.Parent() != n.Parent() {
			changes = true
			for _, a := range changedAncestors(before.Chain(was.ID), after.Chain(n.ID)) {
				rules[a] = true
			}
		}
		if changes {
			touched[n.ID] = true
		}
	}
	for _, id := range closure(s.links(), sortedKeys(rules)) {
		if r, ok := s.After.Rule(id); ok {
			out.rules = append(out.rules, id)
			out.all = out.all || (r.Guarded() && before.has(id) != after.has(id))
		}
	}
	made := map[string]bool{}
	for _, n := range out.made {
		made[n.ID] = true
	}
	within := map[string]bool{} // nodes that change, and those below them
	for id := range touched {
		within[id] = true
		for _, below := range after.Below(id) {
			within[below] = true
		}
	}
	for _, n := range after.Nodes() {
		if made[n.ID] || out.all || within[n.ID] {
			out.nodes = append(out.nodes, n)
		}
	}
	slices.SortStableFunc(out.nodes, func(a, b *Node) int {
		return cmp.Or(boolOrder(touched[a.ID], touched[b.ID]), slices.Index(rule.Levels, a.Level)-slices.Index(rule.Levels, b.Level), strings.Compare(a.Name, b.Name))
	})
	return out
}

// boolOrder orders what holds before what does not.
func boolOrder(a, b bool) int {
	switch {
	case a && !b:
		return -1
	case b && !a:
		return 1
	}
	return 0
}

func sortedKeys(m map[string]bool) []string {
	list := make([]string, 0, len(m))
	for id := range m {
		list = append(list, id)
	}
	slices.Sort(list)
	return list
}

// changedAttachments lists the rules that a node gets, loses or has in another way.
func changedAttachments(was, is *Node) []string {
	if len(was.Attached) == len(is.Attached) && (len(is.Attached) == 0 || &was.Attached[0] == &is.Attached[0]) {
		return nil
	}
	var list []string
	for _, a := range is.Attached {
		if was.Attachment(a.RuleID) != a {
			list = append(list, a.RuleID)
		}
	}
	for _, a := range was.Attached {
		if is.Attachment(a.RuleID) == nil {
			list = append(list, a.RuleID)
		}
	}
	return list
}

// changedAncestors lists the rules of the ancestors that are on one chain only.
func changedAncestors(was, is []*Node) []string {
	var list []string
	for _, pair := range [2][2][]*Node{{was, is}, {is, was}} {
		for _, n := range pair[0][:len(pair[0])-1] {
			if slices.ContainsFunc(pair[1], func(other *Node) bool { return other.ID == n.ID }) {
				continue
			}
			for _, a := range n.Attached {
				list = append(list, a.RuleID)
			}
		}
	}
	return list
}

func (s *shifting) compareNodes() {
	scope := s.scope()
	s.out.Nodes = len(scope.nodes)
	s.out.Compared = min(len(scope.nodes), max(minShiftNodes, maxShiftWork/max(1, len(scope.rules))))
	before, after := s.Before.Federation(), s.After.Federation()
	var ending, beginning []string // nodes at which the rules of no node end or begin to hold
	for _, n := range scope.nodes[:s.out.Compared] {
		was, existed := before.Node(n.ID)
		if !existed {
			if set, ok := Effective(s.After, n.ID, s.Now); ok {
				s.note(n.ID, nil, s.rulesOf(set))
			}
			continue
		}
		if len(scope.rules) > 0 {
			s.note(n.ID, s.some(false, was.ID, scope.rules), s.some(true, n.ID, scope.rules))
		}
		switch alone := before.OwnRulesOnly(n.ID) != nil; {
		case alone == (after.OwnRulesOnly(n.ID) != nil):
		case alone:
			beginning = append(beginning, n.ID)
		default:
			ending = append(ending, n.ID)
		}
	}
	uniform := func(src Source, nodes []string, into map[string]*Shifted) {
		if len(nodes) == 0 {
			return
		}
		for _, r := range Everywhere(src, s.Now).Everywhere {
			if _, compared := slices.BinarySearch(scope.rules, r.ID); compared {
				continue // above
			}
			shifted(into, r).Total += len(nodes)
			into[r.ID].Nodes = slices.Clone(nodes[:min(len(nodes), MaxShiftedPlaces)])
		}
	}
	uniform(s.Before, ending, s.stops)
	uniform(s.After, beginning, s.starts)
}

// at holds the rules that hold somewhere, by id, with the rule that each replaces, and those that replace others.
type at struct {
	rules    map[string]*rule.Rule
	replaces map[string]string
	replaced map[string]string
}

func (s *shifting) rulesOf(set *Set) *at {
	out := &at{rules: make(map[string]*rule.Rule, len(set.Entries)+len(set.Everywhere)), replaces: map[string]string{}, replaced: map[string]string{}}
	for i := range set.Entries {
		e := &set.Entries[i]
		out.rules[e.Rule.ID] = e.Rule
		if e.Overrides != "" {
			out.replaces[e.Rule.ID] = e.Overrides
		}
	}
	for _, r := range set.Everywhere {
		out.rules[r.ID] = r
	}
	for _, gone := range set.Replaced {
		out.replaced[gone.Rule.ID] = gone.By
	}
	return out
}

// some returns which of some rules hold at a node before or after the change.
func (s *shifting) some(after bool, nodeID string, only []string) *at {
	set, ok := s.resolve(after, nodeID, only)
	if !ok {
		return nil
	}
	return s.rulesOf(set)
}

// note compares what held at a node with what holds there.
func (s *shifting) note(nodeID string, was, is *at) {
	put := func(into map[string]*Shifted, r *rule.Rule, other string) {
		one := shifted(into, r)
		if one.Total++; len(one.Nodes) < MaxShiftedPlaces {
			one.Nodes = append(one.Nodes, nodeID)
		}
		one.Other = cmp.Or(one.Other, other)
	}
	eachShifted(was, is, s.starts, s.stops, put)
}

func eachShifted(was, is *at, starts, stops map[string]*Shifted, put func(map[string]*Shifted, *rule.Rule, string)) {
	if was == nil {
		was = &at{}
	}
	if is == nil {
		is = &at{}
	}
	for id, r := range is.rules {
		if was.rules[id] == nil {
			put(starts, r, is.replaces[id])
		}
	}
	for id, r := range was.rules {
		if is.rules[id] == nil {
			put(stops, r, is.replaced[id])
		}
	}
}

func shifted(into map[string]*Shifted, r *rule.Rule) *Shifted {
	if into[r.ID] == nil {
		into[r.ID] = &Shifted{Rule: r}
	}
	return into[r.ID]
}

// compareRepositories compares what held for repositories that have another node than before with what holds for them.
func (s *shifting) compareRepositories() {
	before, after := s.Before.Federation(), s.After.Federation()
	pairs := map[[2]string][]string{} // globs by the nodes before and after
	eachRebound(before, after, func(from, to, glob string) {
		key := [2]string{from, to}
		if !slices.Contains(pairs[key], glob) {
			pairs[key] = append(pairs[key], glob)
		}
	})
	for key, globs := range pairs {
		slices.Sort(globs)
		globs = globs[:min(len(globs), MaxShiftedPlaces)]
		put := func(into map[string]*Shifted, r *rule.Rule, other string) {
			one := shifted(into, r)
			for _, glob := range globs {
				if len(one.Repositories) < MaxShiftedPlaces && !slices.Contains(one.Repositories, glob) {
					one.Repositories = append(one.Repositories, glob)
				}
			}
			slices.Sort(one.Repositories)
			one.Other = cmp.Or(one.Other, other)
		}
		eachShifted(s.bound(s.Before, key[0]), s.bound(s.After, key[1]), s.starts, s.stops, put)
	}
}

// bound returns what holds for repositories of a node; without a node, all rules in force.
func (s *shifting) bound(src Corpus, nodeID string) *at {
	if nodeID != "" {
		if set, ok := Effective(src, nodeID, s.Now); ok {
			return s.rulesOf(set)
		}
		return nil
	}
	out := &at{rules: map[string]*rule.Rule{}}
	for r := range src.Rules() {
		if r.InForce(s.Now) {
			out.rules[r.ID] = r
		}
	}
	return out
}
