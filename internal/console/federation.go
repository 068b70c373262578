package console

import (
	"strconv"
	"strings"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// branchSize is the number of nodes of a branch that are shown at once.
const branchSize = 50

// federation is the view of the tree of nodes.
type federation struct {
	branch   branch
	words    string
	resolved *wire.ResolvedRepository
	form     entry // that asks where a repository belongs
}

// branch is a page of the children of a node, or of the nodes that words find.
type branch struct {
	parent string // empty for the organizations
	nodes  []wire.NodeSummary
	place  pager
	// full shows paths rather than names.
	full bool
	// below is the branch of the only node, which is open.
	below *branch
}

// rest is the number of nodes after those of the page.
func (b *branch) rest() int { return b.place.Total - b.place.last() }

// federationPage shows the tree of nodes, or the nodes that words find.
func federationPage(p *page) error {
	v := federation{words: strings.TrimSpace(p.r.URL.Query().Get("q"))}
	var err error
	if v.branch, err = branchOf(p, "", v.words); err != nil {
		return err
	}
	if only := v.branch.nodes; v.words == "" && len(only) == 1 && only[0].Children > 0 {
		below, err := branchFrom(p, only[0].ID, "", 1)
		if err != nil {
			return err
		}
		v.branch.below = &below
	}
	return p.show(head{Title: "Federation", Nav: "federation"}, federationView(p, &v))
}

func branchOf(p *page, parent, words string) (branch, error) {
	return branchFrom(p, parent, words, pageOf(p.r))
}

func branchFrom(p *page, parent, words string, number int) (branch, error) {
	list, err := client.Get(p.ctx, p.api, op.FindNodes.Where(wire.NodesQuery{
		Parent: parent, Q: words, PageQuery: wire.PageQuery{Page: number, PageSize: branchSize},
	}))
	return branch{parent: parent, nodes: list.Items, place: pager{number, branchSize, len(list.Items), list.Total}, full: words != ""}, err
}

// federationBranch answers with a page of the children of a node, for a script that puts it into the tree; without one, the page of the
// node lists them.
func federationBranch(p *page) error {
	id := p.r.PathValue("id")
	if !p.partial() {
		return p.redirect(nodeAddress(p, id) + "?" + queryOf("view", viewBelow, "page", p.r.URL.Query().Get("page")))
	}
	b, err := branchOf(p, id, "")
	if err != nil {
		return err
	}
	return p.fragment(branchItems(p, &b))
}

// resolveRepository shows where a repository belongs.
func resolveRepository(p *page) error {
	var v federation
	v.form = entry{values: p.r.URL.Query()}
	if p.r.URL.Query().Has("repository") {
		found, err := client.Get(p.ctx, p.api, op.ResolveNode.Where(wire.ResolveQuery{Repository: v.form.get("repository")}))
		if err == nil {
			v.resolved = &found
		} else if err = v.form.refuse(err, func(string) string { return "repository" }); err != nil {
			return err
		}
	}
	return p.showAs(v.form.code(), head{Title: "Where a repository belongs", Nav: "federation"}, resolveView(p, &v))
}

// nodeAddress is the address of the page of a node, or of what is done to it.
func nodeAddress(p *page, id string, parts ...string) string {
	return p.at(append([]string{"federation", id}, parts...)...)
}

// branchAddress is where a script finds a page of the children of a node.
func branchAddress(p *page, id string, number int) string {
	address := nodeAddress(p, id, "branch")
	if number > 1 {
		address += "?" + queryOf("page", strconv.Itoa(number))
	}
	return address
}

// countWord is a count of rules with its meaning.
type countWord struct {
	n           int
	word, class string
	about       string
}

// countWords lists the counts of a node that are not zero.
func countWords(c rule.NodeCounts) []countWord {
	var list []countWord
	for _, one := range []countWord{
		{c.Inherited, "inherited", "muted", "hold because they hold at the parent"},
		{c.Added, "added", "good-text", "are brought in by the node"},
		{c.Overridden, overrideWord(c.Overridden), "warn-text", "are put in the place of rules above"},
		{c.Weakened, "weaker", "bad-text", "demand less than the rules that they replace"},
		{c.Silenced, "silenced", "bad-text", "hold at the parent and not here"},
		{c.Everywhere, "of no node", "muted", "are enforced, CRITICAL or HIGH, and hold at all nodes because no node has them"},
	} {
		if one.n > 0 {
			list = append(list, one)
		}
	}
	return list
}

func overrideWord(n int) string {
	if n == 1 {
		return "override"
	}
	return "overrides"
}

// leafKey is the key that opens the page of a node without a branch.
func leafKey(n *wire.NodeSummary, full bool) string {
	if n.Children == 0 || full {
		return "o"
	}
	return ""
}
