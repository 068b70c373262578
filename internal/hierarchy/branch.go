package hierarchy

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/federation"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// FindNodes returns a page of the children of a node, by name, or of the nodes that the words of the query find, with their number;
// not_found without the parent.
func (h *Hierarchy) FindNodes(ctx context.Context, projectID string, q wire.NodesQuery) ([]wire.NodeSummary, int, error) {
	view, err := h.views.View(ctx, projectID)
	if err != nil {
		return nil, 0, err
	}
	tree := view.Federation()
	parent := ""
	if q.Parent != "" {
		n, ok := tree.Node(q.Parent)
		if !ok {
			return nil, 0, rule.NotFound("node", q.Parent)
		}
		parent = n.ID
	}
	var all []*rule.Node
	if words := strings.ToLower(strings.TrimSpace(q.Q)); words != "" {
		all = searchNodes(tree, parent, words)
	} else {
		all = tree.Children(parent)
	}
	from := min(q.Offset(), len(all))
	list := []wire.NodeSummary{}
	for _, n := range all[from:min(from+q.PageSize, len(all))] {
		one, err := summary(view, n, h.now())
		if err != nil {
			return nil, 0, err
		}
		list = append(list, one)
	}
	return list, len(all), nil
}

func summary(view *corpus.View, n *rule.Node, now time.Time) (wire.NodeSummary, error) {
	counts, err := corpus.Counts(view, n.ID, now)
	tree := view.Federation()
	return wire.NodeSummary{Node: *n, Path: tree.Path(n.ID), Children: len(tree.Children(n.ID)), Counts: counts}, err
}

// searchNodes lists the nodes below a parent, or all, that words in lower case find: first those with the name, then those whose name
// begins with them, then the others, each by path.
func searchNodes(tree *federation.Tree, parent, words string) []*rule.Node {
	type hit struct {
		node *rule.Node
		rank int
		path string
	}
	var hits []hit
	inPath := strings.Contains(words, "/")
	var walk func(id, above string)
	walk = func(id, above string) {
		for _, n := range tree.Children(id) {
			path := ""
			if inPath {
				path = strings.TrimPrefix(above+"/"+n.Name, "/")
			}
			if rank := rankOf(n, path, words); rank > 0 {
				hits = append(hits, hit{n, rank, tree.Path(n.ID)})
			}
			walk(n.ID, path)
		}
	}
	walk(parent, tree.Path(parent))
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(a.rank-b.rank, strings.Compare(a.path, b.path), strings.Compare(a.node.ID, b.node.ID))
	})
	list := make([]*rule.Node, len(hits))
	for i, one := range hits {
		list[i] = one.node
	}
	return list
}

// rankOf says how well words in lower case find a node: 1 is best, 0 is not at all. The path is empty if they have no slash.
func rankOf(n *rule.Node, path, words string) int {
	switch {
	case len(n.Name) == len(words) && contains(n.Name, words), path != "" && len(path) == len(words) && contains(path, words):
		return 1
	case len(n.Name) >= len(words) && contains(n.Name[:len(words)], words):
		return 2
	case contains(n.Name, words):
		return 3
	case contains(path, words), contains(n.DefaultScope, words), slices.ContainsFunc(n.Repositories, func(glob string) bool { return contains(glob, words) }):
		return 4
	}
	return 0
}
