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
	maxClaims    = 20
	maxNearest   = 5
	maxGlobs     = 50_000 // that are compared with a name that none of them matches, by their letters
	maxDistances = 200    // that are compared letter by letter
)

// NodeID returns the id of the node of a project that a name means, see [federation.IDOf], and whether the node exists. An empty name means none.
func (h *Hierarchy) NodeID(ctx context.Context, projectID, name string) (id string, exists bool, err error) {
	if strings.TrimSpace(name) == "" {
		return "", false, nil
	}
	view, err := h.views.View(ctx, projectID)
	if err != nil {
		return "", false, err
	}
	if id, err = federation.IDOf(view.Federation(), name); err != nil {
		return "", false, err
	}
	_, exists = view.Federation().Node(id)
	return id, exists, nil
}

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

		path        string
		shared, off int
	}
	order := func(a, b near) int {
		return cmp.Or(b.shared-a.shared, a.off-b.off, strings.Compare(a.Glob, b.Glob), strings.Compare(a.NodeID, b.NodeID))
	}
	var list []near
	elements := strings.Split(name.Path, "/")
	letters := lettersOf(name.Path)
	compared := 0
	for g := range tree.Globs() {
		if compared++; compared > maxGlobs {
			break
		}
		one := near{NodeBinding: wire.NodeBinding{Glob: g.Text, NodeID: g.NodeID}, path: g.Path, shared: sharedElements(elements, g.Path)}
		if one.off = letters.apart(g.Path); one.shared > 0 || one.off <= len(name.Path)/3 {
			list = append(list, one)
		}
	}
	slices.SortFunc(list, order)
	list = list[:min(len(list), maxDistances)]
	for i := range list {
		list[i].off = text.Distance(name.Path, list[i].path)
	}
	list = slices.DeleteFunc(list, func(one near) bool { return one.shared == 0 && one.off > len(name.Path)/3 })
	slices.SortFunc(list, order)
	out := []wire.NodeBinding{}
	for _, one := range list[:min(len(list), maxNearest)] {
		one.Path = tree.Path(one.NodeID)
		out = append(out, one.NodeBinding)
	}
	return out
}

// letterCounts counts the bytes of a name.
type letterCounts [256]int

func lettersOf(s string) *letterCounts {
	c := &letterCounts{}
	for i := range len(s) {
		c[s[i]]++
	}
	return c
}

// apart returns how many letters must be inserted, deleted or replaced at least to make the name of another one.
func (c *letterCounts) apart(other string) int {
	left := *c
	extra := 0
	for i := range len(other) {
		if left[other[i]]--; left[other[i]] < 0 {
			extra++
		}
	}
	missing := 0
	for _, n := range left {
		missing += max(n, 0)
	}
	return max(extra, missing)
}

// sharedElements counts the leading elements of a path that are those of a glob.
func sharedElements(elements []string, glob string) int {
	n := 0
	for part := range strings.SplitSeq(glob, "/") {
		if n == len(elements) || part == "" || part != elements[n] {
			break
		}
		n++
	}
	return n
}
