package federation

import (
	"strings"

	"tenet/internal/rule"
)

// IDOf returns the id of the node that a name means: its id, its path or, if one node alone has it, its name. The id of a node that is gone stays as it is.
// The error is invalid, with node_id as its field, for any other name.
func IDOf(t *Tree, name string) (string, error) {
	name = strings.TrimSpace(name)
	if n, ok := t.Node(name); ok {
		return n.ID, nil
	}
	if rule.IsID(name) {
		return strings.ToLower(name), nil
	}
	list := Named(t, name)
	if len(list) == 1 {
		return list[0].ID, nil
	}
	var p rule.Problems
	if len(list) == 0 {
		p.Add("node_id", "is %q, which names no federation node; give a path such as acme/payments, or an id", name)
	} else {
		p.Add("node_id", "is %q, which names %d federation nodes; give the path, such as %s", name, len(list), t.Path(list[0].ID))
	}
	return "", p.Err("the federation node is not known")
}

// Named returns the nodes of a tree that have a path such as acme/payments, or else those that have a name. Letter case does not count.
func Named(t *Tree, name string) []*Node {
	var byPath, byName []*Node
	for _, n := range t.Nodes() {
		if len(name) < len(n.Name) || !strings.EqualFold(name[len(name)-len(n.Name):], n.Name) {
			continue
		}
		if len(name) == len(n.Name) {
			byName = append(byName, n)
		}
		if strings.EqualFold(name, t.Path(n.ID)) {
			byPath = append(byPath, n)
		}
	}
	if len(byPath) > 0 {
		return byPath
	}
	return byName
}
