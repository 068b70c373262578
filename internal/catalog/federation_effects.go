package catalog

import (
	"slices"

	"tenet/internal/federation"
	"tenet/internal/rule"
)

// effects tells what an import does to each node that it changes: what is attached and removed there, and what of that comes
// to hold, no longer holds, or is overridden.
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
		if set, ok := federation.Effective(ni.before, n.ID, ni.im.c.now()); ok {
			for i := range set.Entries {
				if e := &set.Entries[i]; !e.Inherited {
					ch.Loses = append(ch.Loses, label(e.Rule))
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
		return ch // what it inherits is told at the nodes that it inherits from
	}
	now := ni.im.c.now()
	before, _ := federation.Effective(ni.before, p.id(), now)
	after, _ := federation.Effective(ni, p.id(), now)
	if before == nil {
		before = &federation.Set{}
	}
	held, holds := byRule(before), byRule(after)
	for i := range after.Entries {
		e := &after.Entries[i]
		if held[e.Rule.ID] == nil && !ni.toldAbove(p, e) {
			ch.Gains = append(ch.Gains, label(e.Rule))
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
			ch.Overridden = append(ch.Overridden, rule.NodeOverridden{Rule: label(e.Rule), By: ni.label(after.Replaced[at].By)})
		case !ni.toldAbove(p, e):
			ch.Loses = append(ch.Loses, label(e.Rule))
		}
	}
	if p.existing == nil { // it held nothing before, but what it overrides it would have held
		for _, r := range after.Replaced {
			if r.NodeID == p.id() {
				ch.Overridden = append(ch.Overridden, rule.NodeOverridden{Rule: label(r.Rule), By: ni.label(r.By)})
			}
		}
	}
	return ch
}

// toldAbove reports whether a change of what a node inherits is not of its own making: it is the node's first, or told at the
// ancestor that changes. What a moved node leaves and meets is told at the node itself.
func (ni *nodesImport) toldAbove(p *nodePlan, e *federation.Entry) bool {
	if e.NodeID == p.id() || p.moved() {
		return false
	}
	source := ni.byID[e.NodeID]
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
		return label(r)
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
