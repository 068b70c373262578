package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

type nodesListCommand struct {
	Words  string `arg:"" optional:"" help:"Part of a name, a path, a repository glob or a default scope."`
	Parent string `placeholder:"NODE" help:"List the children of this node, or search below it."`
	Page   int    `default:"1" help:"Page, from 1."`
	limit
	output
}

func (nodesListCommand) Help() string {
	return `Without words, it lists the organizations, or the children of --parent:

    tenet nodes list
    tenet nodes list --parent acme/payments
    tenet nodes list ledger

The counts are rules that the node inherits, adds, puts in the place of others (overrides), and rules of its parent that no longer hold
there (silenced).`
}

func (k *nodesListCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	q := wire.NodesQuery{Q: k.Words, PageQuery: wire.PageQuery{Page: k.Page, PageSize: k.Limit}}
	if k.Parent != "" {
		parent, err := findNode(ctx, c, k.Parent)
		if err != nil {
			return err
		}
		q.Parent = parent.ID
	}
	page, err := client.Get(ctx, c, op.FindNodes.Where(q))
	return show(s, k.output, page, err, func(s *session, page wire.Page[wire.NodeSummary]) error {
		err := list(s, "there are no such nodes", "NODE\tLEVEL\tBELOW\tINHERITED\tADDED\tOVERRIDES\tSILENCED\tREPOSITORIES", page.Items, func(n *wire.NodeSummary) []any {
			return []any{
				n.Path, n.Level, n.Children, n.Counts.Inherited, n.Counts.Added, n.Counts.Overridden, n.Counts.Silenced, orDash(strings.Join(n.Repositories, " ")),
			}
		})
		if err == nil {
			s.nextPage("nodes", page.Page, page.PageSize, len(page.Items), page.Total)
		}
		return err
	})
}

type nodesResolveCommand struct {
	Repository string `arg:"" help:"Repository, in any spelling: acme/ledger-api, or the address of a remote."`
	output
}

func (nodesResolveCommand) Help() string {
	return `Prints the node, the globs that match, the one that decides first, and how many rules hold there. If no node has the repository, all
rules in force apply, and the nearest globs are listed:

    tenet nodes resolve acme/ledger-api
    tenet nodes resolve "$(git remote get-url origin)"`
}

func (k *nodesResolveCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	found, err := client.Get(ctx, c, op.ResolveNode.Where(wire.ResolveQuery{Repository: k.Repository}))
	return show(s, k.output, found, err, printResolved)
}

func printResolved(s *session, r wire.ResolvedRepository) error {
	var b strings.Builder
	bindings := func(list []wire.NodeBinding, mark func(*wire.NodeBinding) string) {
		for i := range list {
			fmt.Fprintf(&b, "  %s  %s%s\n", line(list[i].Glob), line(list[i].Path), s.dim(mark(&list[i])))
		}
	}
	how := func(one *wire.NodeBinding) string {
		switch {
		case one.Decides && one.Exact:
			return "  decides: it names the repository in full"
		case one.Decides:
			return "  decides"
		}
		return ""
	}
	switch {
	case r.Ambiguous != "":
		fmt.Fprintf(&b, "%s\n", s.yellow(line(r.Ambiguous)))
		bindings(r.Bindings, how)
	case r.Node == nil:
		fmt.Fprintf(&b, "%s belongs to no node: all rules in force apply.\n", line(r.Repository))
		if len(r.Nearest) > 0 {
			b.WriteString("The nearest globs:\n")
			bindings(r.Nearest, func(*wire.NodeBinding) string { return "" })
		}
	default:
		fmt.Fprintf(&b, "%s belongs to %s  %s\n", line(r.Repository), s.bold(line(r.Node.Path)), s.dim(string(r.Node.Level)+"  "+r.Node.ID))
		bindings(r.Bindings, how)
		fmt.Fprintf(&b, "%s\n", countsLine(&r.Node.Counts))
	}
	_, err := io.WriteString(s.out, b.String())
	return err
}

// holding says how many rules hold.
func holding(n int) string {
	if n == 1 {
		return "1 rule holds"
	}
	return fmt.Sprintf("%d rules hold", n)
}

// countsLine says how many rules hold at a node.
func countsLine(c *rule.NodeCounts) string {
	text := fmt.Sprintf("%s: %d inherited, %d added, %d in the place of others", holding(c.Inherited+c.Added+c.Overridden+c.Everywhere), c.Inherited, c.Added, c.Overridden)
	if c.Everywhere > 0 {
		text += fmt.Sprintf(", %d that no node has", c.Everywhere)
	}
	if c.Silenced > 0 {
		text += fmt.Sprintf("; %d of the parent do not hold", c.Silenced)
	}
	return text
}
