package hierarchy

import (
	"slices"

	"tenet/internal/federation"
	"tenet/internal/rule"
)

// effects lists the changes of each node that the import changes: the attachments made and removed there, and the rules that
// they bring into force, take out of force, or override.
func (ni *nodesImport) effects() []rule.NodeChange {
	list := []rule.NodeChange{}
	for _, p := range ni.plans {
		if p.changed() {
			list = append(list, ni.effect(p))
		}
	}
	for _, n := range ni.gone {
		ch := rule.NodeChange{Action: "delete", NodeID: n.ID, Path: pathOf(ni.before.Federation(), n.ID), Level: n.Level}
		for _, a := range n.Attached {
			ch.Detached = append(ch.Detached, ni.label(a.RuleID))
		}
		if set, ok := federation.Effective(ni.before, n.ID, ni.now); ok {
			for i := range set.Entries {
				if e := &set.Entries[i]; !e.Inherited {
					ch.Loses = append(ch.Loses, e.Rule.Label())
				}
			}
		}
		list = append(list, ch)
	}
	return list
}

func (ni *nodesImport) effect(p *nodePlan) rule.NodeChange {
	ch := rule.NodeChange{Action: "update", NodeID: p.id(), Path: p.path, Level: p.next.Level, Fields: p.fields}
	switch {
	case p.existing == nil:
		ch.Action = "create"
	case p.moved():
		ch.Action = "move"
	}
	for _, a := range p.attach {
		ch.Attached = append(ch.Attached, ni.label(a.RuleID))
	}
	for _, a := range p.detach {
		ch.Detached = append(ch.Detached, ni.label(a.RuleID))
	}
	if len(p.attach)+len(p.detach) == 0 && !p.moved() {
		return ch // the nodes that it inherits from list what it inherits
	}
	now := ni.now
	before, _ := federation.Effective(ni.before, p.id(), now)
	after, _ := federation.Effective(ni, p.id(), now)
	if before == nil {
		before = &federation.Set{}
	}
	held, holds := byRule(before), byRule(after)
	for i := range after.Entries {
		e := &after.Entries[i]
		if held[e.Rule.ID] == nil && !ni.inherited(p, e) {
			ch.Gains = append(ch.Gains, e.Rule.Label())
		}
	}
	for i := range before.Entries {
		e := &before.Entries[i]
		if holds[e.Rule.ID] != nil {
			continue
		}
		at := slices.IndexFunc(after.Replaced, func(r federation.Replaced) bool { return r.Rule.ID == e.Rule.ID })
		switch {
		case at >= 0 && after.Replaced[at].NodeID == p.id():
			ch.Overridden = append(ch.Overridden, rule.NodeOverridden{Rule: e.Rule.Label(), By: ni.label(after.Replaced[at].By)})
		case !ni.inherited(p, e):
			ch.Loses = append(ch.Loses, e.Rule.Label())
		}
	}
	if p.existing == nil { // it held nothing before, but what it overrides it would have held
		for _, r := range after.Replaced {
			if r.NodeID == p.id() {
				ch.Overridden = append(ch.Overridden, rule.NodeOverridden{Rule: r.Rule.Label(), By: ni.label(r.By)})
			}
		}
	}
	return ch
}

// inherited reports whether a node merely inherits a change: it is new, or the change belongs to an ancestor that changes. The
// gains and losses of a move belong to the moved node itself.
func (ni *nodesImport) inherited(p *nodePlan, e *federation.Entry) bool {
	if e.NodeID == p.id() || p.moved() {
		return false
	}
	source := ni.planned[e.NodeID]
	return p.existing == nil || (source != nil && source.changed())
}

func byRule(s *federation.Set) map[string]*federation.Entry {
	m := make(map[string]*federation.Entry, len(s.Entries))
	for i := range s.Entries {
		m[s.Entries[i].Rule.ID] = &s.Entries[i]
	}
	return m
}

// label names a rule for people.
func (ni *nodesImport) label(id string) string {
	if r, ok := ni.Rule(id); ok {
		return r.Label()
	}
	return id
}

// pathOf joins the names on the way to a node.
func pathOf(t *federation.Tree, id string) string {
	path := ""
	for i, n := range t.Chain(id) {
		if i > 0 {
			path += "/"
		}
		path += n.Name
	}
	return path
}
