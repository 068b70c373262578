package hierarchy

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"tenet/internal/federation"
	"tenet/internal/rule"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// Bounds of an answer about a repository.
const (
	maxClaims  = 20
	maxNearest = 5
	maxGlobs   = 50_000 // that are compared with a name that none of them matches
)

// Resolve returns the node of a repository with the globs that lead to it, or the nearest ones if none does; invalid without a name.
func (h *Hierarchy) Resolve(ctx context.Context, projectID, repository string) (wire.ResolvedRepository, error) {
	name := rule.ParseRepository(repository)
	out := wire.ResolvedRepository{Repository: name.String(), Ancestors: []rule.Node{}, Bindings: []wire.NodeBinding{}, Nearest: []wire.NodeBinding{}}
	if strings.Trim(name.Path, "/ ") == "" {
		var p rule.Problems
		p.Add("repository", "names none; give a name such as acme/ledger-api, or the address of a remote")
		return out, p.Err("the query is invalid")
	}
	view, err := h.views.View(ctx, projectID)
	if err != nil {
		return out, err
	}
	tree := view.Federation()
	for _, c := range tree.Claims(repository, maxClaims) {
		out.Bindings = append(out.Bindings, wire.NodeBinding{Glob: c.Glob, NodeID: c.NodeID, Path: tree.Path(c.NodeID), Exact: c.Exact, Decides: c.Decides})
	}
	id, err := tree.Bound(repository)
	switch {
	case err != nil:
		out.Ambiguous = err.Error()
	case id != "":
		chain := tree.Chain(id)
		out.Ancestors = nodesOf(chain[:len(chain)-1])
		node, err := summary(view, chain[len(chain)-1].Node, h.now())
		if err != nil {
			return out, err
		}
		out.Node = &node
	default:
		out.Nearest = nearestBindings(tree, name)
	}
	return out, nil
}

// nearestBindings lists the globs that share most with a name that none of them matches: the leading elements of the path, then the
// letters. A glob that shares neither an element nor two thirds of the letters is not near.
func nearestBindings(tree *federation.Tree, name rule.Repository) []wire.NodeBinding {
	type near struct {
		wire.NodeBinding

		shared, off int
	}
	var list []near
	elements := strings.Split(name.Path, "/")
	compared := 0
	for _, n := range tree.Nodes() {
		for _, glob := range n.Repositories {
			if compared++; compared > maxGlobs {
				break
			}
			g := rule.ParseRepositoryGlob(glob)
			one := near{NodeBinding: wire.NodeBinding{Glob: glob, NodeID: n.ID}, shared: sharedElements(elements, strings.Split(g.Path, "/"))}
			apart := len(g.Path) - len(name.Path)
			if one.shared == 0 && max(apart, -apart) > len(name.Path)/3 {
				continue
			}
			if one.off = text.Distance(name.Path, g.Path); one.shared > 0 || one.off <= len(name.Path)/3 {
				list = append(list, one)
			}
		}
	}
	slices.SortFunc(list, func(a, b near) int {
		return cmp.Or(b.shared-a.shared, a.off-b.off, strings.Compare(a.Glob, b.Glob), strings.Compare(a.NodeID, b.NodeID))
	})
	out := []wire.NodeBinding{}
	for _, one := range list[:min(len(list), maxNearest)] {
		one.Path = tree.Path(one.NodeID)
		out = append(out, one.NodeBinding)
	}
	return out
}

// sharedElements counts the leading elements that are the same.
func sharedElements(a, b []string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] && a[n] != "" {
		n++
	}
	return n
}
