package hierarchy

import (
	"cmp"
	"slices"

	"tenet/internal/corpus"
	"tenet/internal/federation"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// Export returns the federation of a view for a file, in a stable order and without times. It leaves out rules that are not
// exported.
func (h *Hierarchy) Export(view *corpus.View) []wire.FileNode {
	x := exporting{view, view.Federation()}
	return x.below("")
}

type exporting struct {
	view *corpus.View
	tree *federation.Tree
}

func (x exporting) below(id string) []wire.FileNode {
	var list []wire.FileNode
	children := x.tree.Children(id)
	for i, n := range children {
		f := wire.FileNode{Name: n.Name, Level: n.Level, Repositories: rule.NilIfEmpty(n.Repositories), Children: x.below(n.ID)}
		if (i > 0 && children[i-1].Name == n.Name) || (i+1 < len(children) && children[i+1].Name == n.Name) {
			f.ID = n.ID // the name is not unique
		}
		if n.Description != "" {
			f.Description = &n.Description
		}
		if n.DefaultScope != "" {
			f.DefaultScope = &n.DefaultScope
		}
		if n.OwnRulesOnly {
			f.OwnRulesOnly, f.OwnRulesReason = &n.OwnRulesOnly, n.OwnRulesReason
		}
		x.rules(n.ID, &f)
		list = append(list, f)
	}
	return list
}

func (x exporting) rules(id string, f *wire.FileNode) {
	n, _ := x.tree.Node(id)
	for _, a := range n.Attached {
		r, ok := x.view.Rule(a.RuleID)
		if !ok || r.Status.Ended() {
			continue
		}
		if a.OverrideID == nil {
			f.Rules = append(f.Rules, r.Label())
			continue
		}
		f.Overrides = append(f.Overrides, wire.FileOverride{
			Rule: r.Label(), InsteadOf: x.name(*a.OverrideID), AllowWeakening: a.AllowWeakening, Reason: a.Reason,
		})
	}
	slices.Sort(f.Rules)
	slices.SortFunc(f.Overrides, func(a, b wire.FileOverride) int { return cmp.Compare(a.Rule, b.Rule) })
}

// name returns the name of a rule in a file. The slug of a retired rule may belong to another one.
func (x exporting) name(id string) string {
	if r, ok := x.view.Rule(id); ok && r.Status != rule.Retired {
		return r.Label()
	}
	return id
}
