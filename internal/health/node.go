package health

import (
	"strings"

	"tenet/internal/corpus"
	"tenet/internal/federation"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// nodeOf returns the id of the federation node that a filter names by its id, its path or, if one node alone has it, its name. An empty filter
// and the word that selects what has no node stay as they are, and so do ids of nodes that are gone.
func nodeOf(view *corpus.View, name string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" || name == wire.NobodysName {
		return name, nil
	}
	tree := view.Federation()
	if n, ok := tree.Node(name); ok {
		return n.ID, nil
	}
	if rule.IsID(name) {
		return strings.ToLower(name), nil
	}
	var p rule.Problems
	switch list := federation.Named(tree, name); len(list) {
	case 1:
		return list[0].ID, nil
	case 0:
		p.Add("node_id", "is %q, which names no federation node; give a path such as acme/payments, or an id", name)
	default:
		p.Add("node_id", "is %q, which names %d federation nodes; give the path, such as %s", name, len(list), tree.Path(list[0].ID))
	}
	return "", p.Err("the query is invalid")
}
