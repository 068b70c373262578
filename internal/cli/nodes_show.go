package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"tenet/internal/catalog"
	"tenet/internal/client"
)

type nodesTreeCommand struct {
	Rules  bool   `help:"Show below each node the rules that hold there."`
	Format string `short:"f" enum:"text,json" default:"text" help:"${enum}."`
}

// Help is the long help of the command.
func (nodesTreeCommand) Help() string {
	return `With --rules, what a node brings in is marked with + (green), what it puts in the place of a rule above it with ~
(yellow), and what it inherits is dim:

    tenet nodes tree --rules`
}

// Run draws the tree.
func (k *nodesTreeCommand) Run(ctx context.Context, s *session) error {
	return s.with(ctx, readsData, func(c *client.Client) error {
		roots, err := c.Nodes(ctx)
		if err != nil {
			return err
		}
		if k.Format == "json" {
			return printJSON(s.out, map[string]any{"nodes": roots})
		}
		if len(roots) == 0 {
			s.note("there are no nodes")
			return nil
		}
		d := drawing{session: s, ctx: ctx, client: c, rules: k.Rules}
		for i := range roots {
			if err := d.node(&roots[i], "", ""); err != nil {
				return err
			}
		}
		_, err = io.WriteString(s.out, d.b.String())
		return err
	})
}

// drawing is a tree being drawn.
type drawing struct {
	*session
	ctx    context.Context //nolint:containedctx // of the one command that draws
	client *client.Client
	rules  bool
	b      strings.Builder
}

// node draws a node behind a branch, and what is below it behind a margin.
func (d *drawing) node(n *catalog.TreeNode, branch, margin string) error {
	fmt.Fprintf(&d.b, "%s%s  %s", d.dim(branch), d.bold(line(n.Name)), d.dim(string(n.Level)))
	if len(n.Repositories) > 0 {
		fmt.Fprintf(&d.b, "  %s", line(strings.Join(n.Repositories, " ")))
	}
	if n.DefaultScope != "" {
		fmt.Fprintf(&d.b, "  %s", d.dim("scope "+line(n.DefaultScope)))
	}
	fmt.Fprintf(&d.b, "  %s\n", d.dim(n.ID))
	if d.rules {
		set, err := d.client.EffectiveRules(d.ctx, n.ID)
		if err != nil {
			return err
		}
		below := margin + "   "
		if len(n.Children) > 0 {
			below = margin + "│  "
		}
		for i := range set.Rules {
			d.b.WriteString(d.dim(below) + d.effective(&set.Rules[i]) + "\n")
		}
	}
	for i := range n.Children {
		branch, deeper := "├─ ", "│  "
		if i == len(n.Children)-1 {
			branch, deeper = "└─ ", "   "
		}
		if err := d.node(&n.Children[i], margin+branch, margin+deeper); err != nil {
			return err
		}
	}
	return nil
}

// effective is a rule that holds at a node, on one line: + of the node itself, ~ in the place of another.
func (s *session) effective(e *catalog.EffectiveRule) string {
	name := label(e.Rule.Slug, e.Rule.ID)
	text := "  " + line(e.Rule.Statement)
	if e.OverriddenID != nil {
		text += " " + s.dim("(instead of "+label(e.OverriddenSlug, *e.OverriddenID)+")")
	}
	switch {
	case e.Inherited:
		return s.dim("  " + name + text)
	case e.OverriddenID != nil:
		return s.yellow("~ "+name) + text
	}
	return s.green("+ "+name) + text
}

type nodesGetCommand struct {
	Node   string `arg:"" help:"Node: its id, or its name or path of names."`
	Format string `short:"f" enum:"text,json" default:"text" help:"${enum}."`
}

// Run shows a node.
func (k *nodesGetCommand) Run(ctx context.Context, s *session) error {
	return s.withNode(ctx, readsData, k.Node, func(c *client.Client, node found) error {
		d, err := c.Node(ctx, node.ID)
		if err != nil {
			return err
		}
		if k.Format == "json" {
			return printJSON(s.out, d)
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s  %s  %s\n", s.bold(line(node.path)), d.Level, s.dim(d.ID))
		for _, row := range [][2]string{{"description", d.Description}, {"scope", d.DefaultScope}, {"repositories", strings.Join(d.Repositories, " ")}} {
			if row[1] != "" {
				fmt.Fprintf(&b, "  %s %s\n", s.dim(fmt.Sprintf("%-12s", row[0])), line(row[1]))
			}
		}
		for i := range d.Rules {
			b.WriteString(s.attached(&d.Rules[i]) + "\n")
		}
		_, err = io.WriteString(s.out, b.String())
		return err
	})
}

// attached is a rule attached to a node, on one line, with why it does not act if it does not.
func (s *session) attached(r *catalog.NodeRule) string {
	text := "  " + label(r.Rule.Slug, r.Rule.ID) + "  " + line(r.Rule.Statement)
	if r.OverrideID != nil {
		text += " " + s.dim("(instead of "+label(r.OverriddenSlug, *r.OverrideID)+")")
	}
	switch {
	case !r.Holds:
		text += " " + s.yellow("is "+string(r.Rule.Status)+" or out of its period, and does not hold")
	case r.OverrideID != nil && !r.Acts:
		text += " " + s.yellow("does not override: the other rule is not above, or would be loosened")
	}
	return text
}

type nodesEffectiveCommand struct {
	Node   string `arg:"" help:"Node: its id, or its name or path of names."`
	Format string `short:"f" enum:"text,json" default:"text" help:"${enum}."`
}

// Help is the long help of the command.
func (nodesEffectiveCommand) Help() string {
	return `Rules of the node itself are marked with + (green), those in the place of a rule above with ~ (yellow), inherited ones
are dim:

    tenet nodes effective acme/payments/pay-api`
}

// Run lists what holds at a node.
func (k *nodesEffectiveCommand) Run(ctx context.Context, s *session) error {
	return s.withNode(ctx, readsData, k.Node, func(c *client.Client, node found) error {
		set, err := c.EffectiveRules(ctx, node.ID)
		if err != nil {
			return err
		}
		if k.Format == "json" {
			return printJSON(s.out, set)
		}
		if set.Total == 0 {
			s.note("no rules hold at %s", node.path)
			return nil
		}
		var b strings.Builder
		for i := range set.Rules {
			b.WriteString(s.effective(&set.Rules[i]) + "\n")
		}
		_, err = io.WriteString(s.out, b.String())
		return err
	})
}

type nodesDiffCommand struct {
	Node   string `arg:"" help:"Node: its id, or its name or path of names."`
	Format string `short:"f" enum:"text,json" default:"text" help:"${enum}."`
}

// Run compares a node with its parent.
func (k *nodesDiffCommand) Run(ctx context.Context, s *session) error {
	return s.withNode(ctx, readsData, k.Node, func(c *client.Client, node found) error {
		d, err := c.DiffNode(ctx, node.ID)
		if err != nil {
			return err
		}
		if k.Format == "json" {
			return printJSON(s.out, d)
		}
		var b strings.Builder
		for _, r := range d.Added {
			fmt.Fprintf(&b, "%s %s  %s\n", s.green("+"), s.green(label(r.Slug, r.RuleID)), line(r.Statement))
		}
		for _, r := range d.Overridden {
			fmt.Fprintf(&b, "%s %s  %s\n", s.yellow("~"), s.yellow(label(r.ChildSlug, r.ChildRuleID)), line(r.ChildStatement))
			fmt.Fprintf(&b, "    %s\n", s.dim("instead of "+label(r.ParentSlug, r.ParentRuleID)+"  "+line(r.ParentStatement)))
		}
		fmt.Fprintf(&b, "%d inherited, %d added, %d overridden\n", d.InheritedCount, len(d.Added), len(d.Overridden))
		_, err = io.WriteString(s.out, b.String())
		return err
	})
}
