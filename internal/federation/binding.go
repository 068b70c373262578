package federation

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"sync"

	"tenet/internal/rule"
	"tenet/internal/subject"
)

// binding is one glob of the repositories of a node.
type binding struct {
	node    *rule.Node
	text    string // in its normal form
	path    string // of it, without the host
	glob    subject.RepositoryGlobs
	exact   bool
	hosted  bool // whether it names a host
	literal int  // characters of the path that match only themselves
}

// match is a binding of a repository. It is certain unless the binding names a host and the repository does not.
type match struct {
	*binding
	certain bool
}

// maxRemembered bounds how many repositories a tree remembers the nodes of. Their names come from outside.
const maxRemembered = 4096

// bindings finds the node of a repository.
type bindings struct {
	exact map[string][]*binding // by the path, without the host
	globs []*binding
	all   []*binding
	mu    sync.Mutex
	known map[string]found
}

type found struct {
	ids []string // of several, nothing decides between them
	err error
}

// meta are the characters that mean something in a glob.
const meta = `*?[]{}\`

func (b *bindings) index(nodes []*Node) {
	b.exact, b.known = map[string][]*binding{}, map[string]found{}
	for _, n := range nodes {
		for _, text := range n.Repositories {
			g, err := subject.CompileRepositories([]string{text})
			if err != nil {
				continue // refused when it was written
			}
			name := rule.ParseRepositoryGlob(text)
			bind := &binding{node: n.Node, text: name.String(), path: name.Path, glob: g, hosted: name.Host != ""}
			b.all = append(b.all, bind)
			if bind.exact = !strings.ContainsAny(name.Path, meta) && strings.Contains(strings.Trim(name.Path, "/"), "/") && !strings.HasSuffix(name.Path, "/"); bind.exact {
				b.exact[name.Path] = append(b.exact[name.Path], bind)
				continue
			}
			bind.literal = len(name.Path) - strings.Count(name.Path, "*") - strings.Count(name.Path, "?")
			b.globs = append(b.globs, bind)
		}
	}
}

// Bound returns the id of the node of a repository, empty without one. Of several, those that match the name as it is win over those
// that name a host the name leaves open, the node that names the repository itself over those that match it by a glob, of globs the one
// with more literal characters, then the one that names the host, of equals the node of the lower level. If that leaves two, the error is
// a conflict that names them.
func (t *Tree) Bound(repository string) (string, error) {
	f := t.bound(repository)
	if f.err != nil || len(f.ids) == 0 {
		return "", f.err
	}
	return f.ids[0], nil
}

// MayTake returns an error if a caller must not take a repository to a node: a conflict if the repository is bound, and neither to that
// node nor to one above it. A node that does not exist is not refused here.
func (t *Tree) MayTake(repository, nodeID string) error {
	f := t.bound(repository)
	asked, ok := t.Node(nodeID)
	if !ok || len(f.ids) == 0 {
		return nil
	}
	if slices.ContainsFunc(t.Chain(asked.ID), func(n *Node) bool { return slices.Contains(f.ids, n.ID) }) {
		return nil
	}
	names := make([]string, len(f.ids))
	for i, id := range f.ids {
		if n, ok := t.Node(id); ok {
			names[i] = n.Name + " (" + id + ")"
		}
	}
	return rule.Errorf(rule.CodeConflict,
		"the repository %q is bound to the node %s, and node_id names %s (%s), which is neither that node nor below it; leave out node_id",
		repository, strings.Join(names, " and to "), asked.Name, asked.ID)
}

func (t *Tree) bound(repository string) found {
	if t.Len() == 0 || repository == "" {
		return found{}
	}
	b := &t.shape.of(t).bound
	if len(b.exact)+len(b.globs) == 0 {
		return found{}
	}
	b.mu.Lock()
	f, ok := b.known[repository]
	b.mu.Unlock()
	if ok {
		return f
	}
	f = b.find(repository)
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.known) >= maxRemembered {
		clear(b.known)
	}
	b.known[strings.Clone(repository)] = f
	return f
}

// matching lists the bindings that match a repository, the one that wins first: all, or those of which one may win.
func (b *bindings) matching(repository string, all bool) []match {
	name := rule.ParseRepository(repository)
	var matching []match
	try := func(list []*binding) {
		for _, g := range list {
			if ok, certain := g.glob.Match(name); ok {
				matching = append(matching, match{g, certain})
			}
		}
	}
	try(b.exact[name.Path])
	if name.Host != "" {
		try(b.exact[name.String()]) // a path that looks as if it began with a host
	}
	if all || !slices.ContainsFunc(matching, func(m match) bool { return m.certain }) {
		try(b.globs)
	}
	slices.SortFunc(matching, func(x, y match) int {
		return cmp.Or(weigh(x, y), strings.Compare(x.node.ID, y.node.ID), strings.Compare(x.text, y.text))
	})
	return matching
}

// Claim is a binding that matches a repository.
type Claim struct {
	NodeID, Glob string
	// Exact is true if the glob names the repository in full.
	Exact bool
	// Decides is true if the binding decides: the first one, and others that nothing sets apart from it.
	Decides bool
}

// Claims lists the bindings that match a repository, the one that decides first, at most limit of them.
func (t *Tree) Claims(repository string, limit int) []Claim {
	if t.Len() == 0 || repository == "" {
		return nil
	}
	var list []Claim
	matching := t.shape.of(t).bound.matching(repository, true)
	for _, m := range matching[:min(len(matching), limit)] {
		list = append(list, Claim{NodeID: m.node.ID, Glob: m.text, Exact: m.exact, Decides: weigh(matching[0], m) == 0})
	}
	return list
}

// Glob is a repository glob of a node in its normal form, and its path without the host.
type Glob struct {
	NodeID, Text, Path string
	// Exact is true if the glob names a repository in full.
	Exact bool
}

// Globs lists the repository globs of all nodes.
func (t *Tree) Globs() iter.Seq[Glob] {
	return func(yield func(Glob) bool) {
		if t.Len() == 0 {
			return
		}
		for _, b := range t.shape.of(t).bound.all {
			if !yield(b.asGlob()) {
				return
			}
		}
	}
}

func (b *bindings) find(repository string) found {
	matching := b.matching(repository, false)
	if len(matching) == 0 {
		return found{}
	}
	first := matching[0]
	f := found{ids: []string{first.node.ID}}
	for _, other := range matching[1:] {
		if slices.Contains(f.ids, other.node.ID) || weigh(first, other) != 0 {
			continue
		}
		if f.ids = append(f.ids, other.node.ID); f.err == nil {
			f.err = rule.Errorf(rule.CodeConflict,
				"the repository %q is bound to the nodes %s (%s, by %s) and %s (%s, by %s) alike; name one by node_id, or make one glob more specific",
				repository, first.node.Name, first.node.ID, first.text, other.node.Name, other.node.ID, other.text)
		}
	}
	return f
}

// weigh orders bindings that match; the one that wins comes first.
func weigh(x, y match) int {
	first := func(is bool) int {
		if is {
			return -1
		}
		return 1
	}
	switch {
	case x.certain != y.certain:
		return first(x.certain)
	case x.exact != y.exact:
		return first(x.exact)
	case x.literal != y.literal:
		return y.literal - x.literal
	case x.certain && x.hosted != y.hosted:
		return first(x.hosted)
	case x.node.Level.Above(y.node.Level):
		return 1
	case y.node.Level.Above(x.node.Level):
		return -1
	}
	return 0
}

// Taken returns a conflict if another node of the same level has one of the repository globs of n: nothing could decide between
// the two.
func (t *Tree) Taken(n *rule.Node) error {
	if t.Len() == 0 || len(n.Repositories) == 0 {
		return nil
	}
	b := &t.shape.of(t).bound
	for _, text := range n.Repositories {
		name := rule.ParseRepositoryGlob(text)
		for _, bind := range slices.Concat(b.exact[name.Path], b.globs) {
			if bind.text == name.String() && bind.node.ID != n.ID && bind.node.Level == n.Level {
				return rule.Errorf(rule.CodeConflict, "the repositories %q are bound to the node %s (%s) already", text, bind.node.Name, bind.node.ID)
			}
		}
	}
	return nil
}
