package catalog

import (
	"cmp"
	"slices"

	"tenet/internal/corpus"
	"tenet/internal/federation"
	"tenet/internal/rule"
)

// FileNode is a federation node in a rule file. It is found again by its id, or else by its name below its parent. What is
// absent takes its default on creation and stays as it is on an update.
type FileNode struct {
	ID           string         `json:"id,omitempty" yaml:"id,omitempty" required:"false" doc:"UUID of the node; needed where two nodes below one parent have the same name, and to move a node."`
	Name         string         `json:"name" yaml:"name" doc:"Node name." example:"payments"`
	Level        rule.Level     `json:"level,omitempty" yaml:"level,omitempty" required:"false" doc:"organization, team or project; by default the level below the parent's."`
	Description  *string        `json:"description,omitempty" yaml:"description,omitempty" required:"false" doc:"What the node stands for."`
	DefaultScope *string        `json:"default_scope,omitempty" yaml:"default_scope,omitempty" required:"false" doc:"Scope of the rules attached here that have none of their own."`
	Repositories []string       `json:"repositories,omitempty" yaml:"repositories,omitempty" required:"false" doc:"Globs of the repositories that the node stands for."`
	Rules        []string       `json:"rules,omitempty" yaml:"rules,omitempty" required:"false" doc:"Rules attached here, by slug or id."`
	Overrides    []FileOverride `json:"overrides,omitempty" yaml:"overrides,omitempty" required:"false" doc:"Rules attached here in place of rules of ancestors."`
	Children     []FileNode     `json:"children,omitempty" yaml:"children,omitempty" required:"false" doc:"Nodes below."`
}

// FileOverride is a rule attached in place of an ancestor's.
type FileOverride struct {
	Rule           string `json:"rule" yaml:"rule" doc:"Slug or id of the rule."`
	InsteadOf      string `json:"instead_of" yaml:"instead_of" doc:"Slug or id of the ancestors' rule."`
	AllowWeakening bool   `json:"allow_weakening,omitempty" yaml:"allow_weakening,omitempty" required:"false" doc:"Let the rule stand in for a CRITICAL one although it asks less; needs a reason."`
	Reason         string `json:"reason,omitempty" yaml:"reason,omitempty" required:"false" doc:"Why."`
}

// exportNodes writes the federation of a view in a stable order and without times. Rules that are not exported are left out.
func exportNodes(view *corpus.View) []FileNode {
	x := exporting{view, view.Federation()}
	return x.below("")
}

type exporting struct {
	view *corpus.View
	tree *federation.Tree
}

func (x exporting) below(id string) []FileNode {
	var list []FileNode
	children := x.tree.Children(id)
	for i, n := range children {
		f := FileNode{Name: n.Name, Level: n.Level, Repositories: emptyNil(n.Repositories), Children: x.below(n.ID)}
		if (i > 0 && children[i-1].Name == n.Name) || (i+1 < len(children) && children[i+1].Name == n.Name) {
			f.ID = n.ID // the name does not tell which
		}
		if n.Description != "" {
			f.Description = &n.Description
		}
		if n.DefaultScope != "" {
			f.DefaultScope = &n.DefaultScope
		}
		x.rules(n.ID, &f)
		list = append(list, f)
	}
	return list
}

func (x exporting) rules(id string, f *FileNode) {
	n, _ := x.tree.Node(id)
	for _, a := range n.Attached {
		r, ok := x.view.Rule(a.RuleID)
		if !ok || over(r) {
			continue
		}
		if a.OverrideID == nil {
			f.Rules = append(f.Rules, label(r))
			continue
		}
		f.Overrides = append(f.Overrides, FileOverride{label(r), x.name(*a.OverrideID), a.AllowWeakening, a.Reason})
	}
	slices.Sort(f.Rules)
	slices.SortFunc(f.Overrides, func(a, b FileOverride) int { return cmp.Compare(a.Rule, b.Rule) })
}

// name is what a file calls a rule. The slug of a retired one may be another's by now.
func (x exporting) name(id string) string {
	if r, ok := x.view.Rule(id); ok && r.Status != rule.Retired {
		return label(r)
	}
	return id
}

// over reports whether a rule's life is over. Such rules are not exported.
func over(r *rule.Rule) bool { return r.Status == rule.Retired || r.Status == rule.Superseded }
