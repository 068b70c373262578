// Package federation resolves what rules hold at a node of the hierarchy of organization, team and project: what is attached
// to the node and to its ancestors, with overrides applied. A tree is immutable and part of a corpus view; nothing here reads
// a database.
package federation

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// Node is a node of a tree. Nothing in it may be changed.
type Node struct {
	*rule.Node
	// Attached are the node's attachments in order of their rule ids.
	Attached []*rule.Attachment

	overriding []*rule.Attachment // those that name a rule to override
}

func newNode(n *rule.Node, attached []*rule.Attachment) *Node {
	node := &Node{Node: n, Attached: attached}
	for _, a := range attached {
		if a.OverrideID != nil {
			node.overriding = append(node.overriding, a)
		}
	}
	return node
}

// Attachment finds the attachment of a rule, or nil.
func (n *Node) Attachment(ruleID string) *rule.Attachment {
	if i, ok := slices.BinarySearchFunc(n.Attached, ruleID, byRule); ok {
		return n.Attached[i]
	}
	return nil
}

func byRule(a *rule.Attachment, id string) int { return strings.Compare(a.RuleID, id) }

// Tree is one state of all nodes of a project. The nil tree is empty.
type Tree struct {
	nodes []*Node // in order of their ids
	shape *shape  // shared by trees that differ in attachments only

	once sync.Once
	held map[string]struct{} // ids of the attached rules
}

// Len returns the number of nodes.
func (t *Tree) Len() int {
	if t == nil {
		return 0
	}
	return len(t.nodes)
}

// Bytes estimates the memory the tree takes.
func (t *Tree) Bytes() int64 {
	n := int64(0)
	for _, node := range t.Nodes() {
		n += 1000 + 2*int64(len(node.Description)) + 200*int64(len(node.Attached))
	}
	return n
}

// Nodes lists all nodes in order of their ids, which is the order in which they were made. It must not be changed.
func (t *Tree) Nodes() []*Node {
	if t == nil {
		return nil
	}
	return t.nodes
}

// Node finds a node by its id, in any letter case.
func (t *Tree) Node(id string) (*Node, bool) {
	if t == nil {
		return nil, false
	}
	i, ok := slices.BinarySearchFunc(t.nodes, strings.ToLower(id), byID)
	if !ok {
		return nil, false
	}
	return t.nodes[i], true
}

func byID(n *Node, id string) int { return strings.Compare(n.ID, id) }

// Apply returns the tree after changes of nodes and attachments, and t itself without any. It leaves out attachments to nodes
// that do not exist.
func (t *Tree) Apply(nodes []store.NodeState, attached []store.AttachmentState) *Tree {
	if len(nodes)+len(attached) == 0 {
		return t
	}
	next := &Tree{nodes: slices.Clone(t.Nodes())}
	if len(nodes) == 0 {
		next.shape = t.shape
	} else {
		next.applyNodes(nodes)
		next.shape = &shape{}
	}
	byNode := map[string][]store.AttachmentState{}
	for _, a := range attached {
		byNode[a.Attachment.NodeID] = append(byNode[a.Attachment.NodeID], a)
	}
	for id, changes := range byNode {
		if i, ok := slices.BinarySearchFunc(next.nodes, id, byID); ok {
			next.nodes[i] = newNode(next.nodes[i].Node, attach(next.nodes[i].Attached, changes))
		}
	}
	return next
}

func (t *Tree) applyNodes(changes []store.NodeState) {
	kept := make(map[string]*Node, len(changes))
	for i := range changes {
		kept[changes[i].Node.ID] = nil
		if !changes[i].Removed {
			kept[changes[i].Node.ID] = &Node{Node: &changes[i].Node}
		}
	}
	nodes := make([]*Node, 0, len(t.nodes)+len(kept))
	for _, old := range t.nodes {
		changed, ok := kept[old.ID]
		switch {
		case !ok:
			nodes = append(nodes, old)
		case changed != nil:
			changed.Attached, changed.overriding = old.Attached, old.overriding
		}
	}
	for _, n := range kept {
		if n != nil {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(a, b *Node) int { return strings.Compare(a.ID, b.ID) })
	t.nodes = nodes
}

// attach merges changes into a node's attachments.
func attach(have []*rule.Attachment, changes []store.AttachmentState) []*rule.Attachment {
	slices.SortStableFunc(changes, func(a, b store.AttachmentState) int { return strings.Compare(a.Attachment.RuleID, b.Attachment.RuleID) })
	out := make([]*rule.Attachment, 0, len(have)+len(changes))
	for i := range changes {
		c := &changes[i]
		at, found := slices.BinarySearchFunc(have, c.Attachment.RuleID, byRule)
		out = append(out, have[:at]...)
		if found {
			at++
		}
		have = have[at:]
		if !c.Removed {
			out = append(out, &c.Attachment)
		}
	}
	return append(out, have...)
}

// attached reports whether some node has a rule. The first call for a tree takes time in proportion to its attachments.
func (t *Tree) attached(ruleID string) bool {
	if t == nil {
		return false
	}
	t.once.Do(func() {
		t.held = map[string]struct{}{}
		for _, n := range t.nodes {
			for _, a := range n.Attached {
				t.held[a.RuleID] = struct{}{}
			}
		}
	})
	_, ok := t.held[ruleID]
	return ok
}

// OwnRulesOnly returns the nearest node, from the node up, that has only its own rules; nil if none has.
func (t *Tree) OwnRulesOnly(id string) *Node {
	chain := t.Chain(id)
	for _, n := range slices.Backward(chain) {
		if n.OwnRulesOnly {
			return n
		}
	}
	return nil
}

// Chain is the way from the root to a node, both included; nil without the node.
func (t *Tree) Chain(id string) []*Node {
	var chain []*Node
	for n, ok := t.Node(id); ok && len(chain) < len(rule.Levels); n, ok = t.Node(n.Parent()) {
		chain = append(chain, n)
	}
	slices.Reverse(chain)
	return chain
}

// Path joins the names on the way to a node, and its own, by slashes.
func (t *Tree) Path(id string) string {
	var names []string
	for _, n := range t.Chain(id) {
		names = append(names, n.Name)
	}
	return strings.Join(names, "/")
}

// Roots lists the nodes without a parent, by name.
func (t *Tree) Roots() []*rule.Node { return t.Children("") }

// Children lists the children of a node by name; those of the empty id are the roots.
func (t *Tree) Children(id string) []*rule.Node {
	if t.Len() == 0 {
		return nil
	}
	return t.shape.of(t).children[strings.ToLower(id)]
}

// Below lists the ids of all nodes below a node.
func (t *Tree) Below(id string) []string {
	var ids []string
	for _, child := range t.Children(id) {
		ids = append(append(ids, child.ID), t.Below(child.ID)...)
	}
	return ids
}

// shape is the structure of the nodes without their attachments, computed at first use.
type shape struct {
	once     sync.Once
	children map[string][]*rule.Node // by parent id
	bound    bindings

	form     sync.Once
	encoded  []byte
	encoding error
}

// Encoded returns what encode makes of the nodes, without their attachments. It is made once for as long as no node changes.
func (t *Tree) Encoded(encode func() ([]byte, error)) ([]byte, error) {
	if t.Len() == 0 {
		return encode()
	}
	s := t.shape
	s.form.Do(func() { s.encoded, s.encoding = encode() })
	return s.encoded, s.encoding
}

func (s *shape) of(t *Tree) *shape {
	s.once.Do(func() {
		s.children = make(map[string][]*rule.Node)
		for _, n := range t.nodes {
			s.children[n.Parent()] = append(s.children[n.Parent()], n.Node)
		}
		for _, list := range s.children {
			slices.SortFunc(list, func(a, b *rule.Node) int {
				return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
			})
		}
		s.bound.index(t.nodes)
	})
	return s
}

// MayStand returns an error if the node n, new or changed, may not be at its place: without a parent that exists (invalid),
// with levels of parent and children that do not enclose its own (invalid), or below itself (conflict).
func (t *Tree) MayStand(n *rule.Node) error {
	var p rule.Problems
	if n.ParentID != nil {
		parent, ok := t.Node(*n.ParentID)
		switch {
		case !ok:
			p.Add("parent_id", "there is no node %q", *n.ParentID)
		case slices.ContainsFunc(t.Chain(parent.ID), func(above *Node) bool { return above.ID == n.ID }):
			return rule.Errorf(rule.CodeConflict, "the node cannot stand below %s: that stands below it already", parent.Name)
		case !parent.Level.Above(n.Level):
			p.Add("parent_id", "is a node of level %s, which must be above %s", parent.Level, n.Level)
		}
	}
	for _, child := range t.Children(n.ID) {
		if !n.Level.Above(child.Level) {
			p.Add("level", "must be above that of its child %s, which is %s", child.Name, child.Level)
			break
		}
	}
	return p.Err("the node cannot stand there")
}
