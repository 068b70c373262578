package release

import (
	"encoding/hex"
	"fmt"
	"strings"

	"tenet/internal/federation"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// tree makes the tree that a snapshot holds.
func (f *Federation) tree() *federation.Tree {
	nodes := make([]store.NodeState, len(f.Nodes))
	for i := range f.Nodes {
		nodes[i].Node = f.Nodes[i]
	}
	attached := make([]store.AttachmentState, len(f.Attachments))
	for i := range f.Attachments {
		attached[i].Attachment = f.Attachments[i]
	}
	var none *federation.Tree
	return none.Apply(nodes, attached)
}

// leaves are the hashes of the nodes: of the names on the way to each, what it says, and what is attached, with the leaves of
// the rules in place of their ids.
func (f *Federation) leaves(rules []Leaf, at map[string]int) []Leaf {
	byID := make(map[string]*rule.Node, len(f.Nodes))
	for i := range f.Nodes {
		byID[f.Nodes[i].ID] = &f.Nodes[i]
	}
	named := func(ruleID string) string {
		if i, ok := at[ruleID]; ok {
			return hex.EncodeToString(rules[i][:])
		}
		return ""
	}
	attached := map[string][]string{}
	for i := range f.Attachments {
		a := &f.Attachments[i]
		attached[a.NodeID] = append(attached[a.NodeID], fmt.Sprint(named(a.RuleID), " ", named(a.Override()), " ", a.AllowWeakening))
	}
	out := make([]Leaf, len(f.Nodes))
	for i := range f.Nodes {
		n := &f.Nodes[i]
		says := []string{pathOf(n, byID), string(n.Level), n.DefaultScope, strings.Join(n.Repositories, "\n")}
		if n.OwnRulesOnly {
			says = append(says, ownRulesLeaf)
		}
		out[i] = NodeLeaf(strings.Join(says, "\x00"), attached[n.ID])
	}
	return out
}

// pathOf is the names on the way to a node. A tree has no cycles and few levels; the bound is for a damaged one.
func pathOf(n *rule.Node, byID map[string]*rule.Node) string {
	path := n.Name
	for range len(rule.Levels) {
		if n = byID[n.Parent()]; n == nil {
			break
		}
		path = n.Name + "\n" + path
	}
	return path
}
