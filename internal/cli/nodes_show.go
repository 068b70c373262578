package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"tenet/internal/client"
	"tenet/internal/text"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

type nodesTreeCommand struct {
	Rules bool `help:"Show below each node the rules that hold there."`
	output
}

func (nodesTreeCommand) Help() string {
	return `With --rules, what a node brings in is marked with + (green), what it puts in the place of a rule above it with ~
(yellow), and what it inherits is dim:

    tenet nodes tree --rules`
}

func (k *nodesTreeCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	tree, err := client.Get(ctx, c, op.ListNodes)
	if err != nil {
		return err
	}
	defer noteAddress(s, "", "federation")
	if k.json() {
		return printJSON(s.out, tree)
	}
	if len(tree.Nodes) == 0 {
		s.note("there are no nodes")
		return nil
	}
	d := drawing{session: s, ctx: ctx, client: c, rules: k.Rules}
	for i := range tree.Nodes {
		if err := d.node(&tree.Nodes[i], "", ""); err != nil {
			return err
		}
	}
	return pagedText(s, d.b.String())
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
func (d *drawing) node(n *wire.TreeNode, branch, margin string) error {
	fmt.Fprintf(&d.b, "%s%s  %s", d.dim(branch), d.bold(line(n.Name)), d.dim(string(n.Level)))
	if len(n.Repositories) > 0 {
		fmt.Fprintf(&d.b, "  %s", line(strings.Join(n.Repositories, " ")))
	}
	if n.DefaultScope != "" {
		fmt.Fprintf(&d.b, "  %s", d.dim("scope "+line(n.DefaultScope)))
	}
	if n.OwnRulesOnly {
		fmt.Fprintf(&d.b, "  %s", d.yellow("own rules only"))
	}
	fmt.Fprintf(&d.b, "  %s\n", d.dim(n.ID))
	if d.rules {
		set, err := client.Get(d.ctx, d.client, op.EffectiveRules.At(n.ID))
		if err != nil {
			return err
		}
		below := margin + "   "
		if len(n.Children) > 0 {
			below = margin + "│  "
		}
		for i := range set.Rules {
			d.b.WriteString(d.dim(below) + effectiveLine(d.session, &set.Rules[i]) + "\n")
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

// effectiveLine renders a rule that holds at a node, on one line: + of the node itself, ~ in the place of another.
func effectiveLine(s *session, e *wire.EffectiveRule) string {
	name := cmp.Or(e.Rule.Slug, e.Rule.ID)
	text := "  " + line(e.Rule.Statement)
	if e.OverriddenID != nil {
		text += " " + s.dim("(instead of "+cmp.Or(e.OverriddenSlug, *e.OverriddenID)+")")
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
	nodeRef
	output
}

func (k *nodesGetCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	node, err := k.find(ctx, c)
	if err != nil {
		return err
	}
	d, err := client.Get(ctx, c, op.GetNode.At(node.ID))
	if err != nil {
		return err
	}
	defer notePage(s, d)
	if k.json() {
		return printJSON(s.out, d)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  %s\n", s.bold(line(node.path)), d.Level, s.dim(d.ID))
	for _, row := range [][2]string{{"description", d.Description}, {"scope", d.DefaultScope}, {"repositories", strings.Join(d.Repositories, " ")}} {
		if row[1] != "" {
			fmt.Fprintf(&b, "  %s %s\n", s.dim(fmt.Sprintf("%-12s", row[0])), line(row[1]))
		}
	}
	if d.OwnRulesOnly {
		fmt.Fprintf(&b, "  %s %s\n", s.dim(fmt.Sprintf("%-12s", "own rules")), s.yellow("only, by "+line(wire.Deciders(d.OwnRulesBy, d.OwnRulesApprovedBy))+": "+line(d.OwnRulesReason)))
	}
	for i := range d.Rules {
		b.WriteString(attachedLine(s, &d.Rules[i]) + "\n")
	}
	return pagedText(s, b.String())
}

// attachedLine renders a rule attached to a node, on one line, with why it does not act if it does not.
func attachedLine(s *session, r *wire.NodeRule) string {
	text := "  " + cmp.Or(r.Rule.Slug, r.Rule.ID) + "  " + line(r.Rule.Statement)
	if r.OverrideID != nil {
		text += " " + s.dim("(instead of "+cmp.Or(r.OverriddenSlug, *r.OverrideID)+")")
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
	nodeRef
	Query    string `short:"q" placeholder:"WORDS" help:"Only rules with these words in the statement or the slug."`
	Severity string `placeholder:"SEVERITY" help:"Only LOW, MEDIUM, HIGH or CRITICAL."`
	Origin   string `placeholder:"ORIGIN" help:"Only added, override, inherited or everywhere; idle lists attached rules that do not hold."`
	From     string `placeholder:"NODE" help:"Only rules that this node supplies."`
	Weakened bool   `help:"Only rules in the place of one that demands more, with the reason."`
	output
}

func (nodesEffectiveCommand) Help() string {
	return `Rules of the node itself are marked with + (green), those in the place of a rule above with ~ (yellow), inherited ones
are dim:

    tenet nodes effective acme/payments/pay-api
    tenet nodes effective acme/payments --origin override
    tenet nodes effective acme/payments --weakened`
}

func (k *nodesEffectiveCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	node, err := k.find(ctx, c)
	if err != nil {
		return err
	}
	defer noteAddress(s, node.ProjectID, "federation", node.ID)
	if k.Query != "" || k.Severity != "" || k.Origin != "" || k.From != "" || k.Weakened {
		return k.some(ctx, s, c, &node)
	}
	set, err := client.Get(ctx, c, op.EffectiveRules.At(node.ID))
	if err != nil {
		return err
	}
	if k.json() {
		return printJSON(s.out, set)
	}
	if set.Total+set.Everywhere.Total == 0 {
		s.note("no rules hold at %s", node.path)
		return nil
	}
	if n := set.Everywhere.Total; n > 0 {
		s.note("beside these hold the enforced CRITICAL and HIGH rules that no node has: %d (see --origin everywhere)", n)
	}
	var b strings.Builder
	for i := range set.Rules {
		b.WriteString(effectiveLine(s, &set.Rules[i]) + "\n")
	}
	return pagedText(s, b.String())
}

// some lists the rules that the flags select.
func (k *nodesEffectiveCommand) some(ctx context.Context, s *session, c *client.Client, node *found) error {
	q := wire.NodeRulesQuery{Q: k.Query, Severity: k.Severity, Origin: k.Origin, Weakened: k.Weakened}
	if k.From != "" {
		from, err := findNode(ctx, c, k.From)
		if err != nil {
			return err
		}
		q.SourceID = from.ID
	}
	rules, err := client.All(ctx, c, op.ListNodeRules.At(node.ID).Where(q))
	if err != nil {
		return err
	}
	if k.json() {
		return printJSON(s.out, rules)
	}
	if len(rules) == 0 {
		s.note("no such rules at %s", node.path)
		return nil
	}
	var b strings.Builder
	for i := range rules {
		b.WriteString(heldLine(s, &rules[i]) + "\n")
	}
	return pagedText(s, b.String())
}

// heldLine renders a rule that holds at a node with where it comes from, and how an override weakens.
func heldLine(s *session, r *wire.HeldRule) string {
	sign := map[wire.Origin]string{wire.OriginAdded: s.green("+"), wire.OriginOverride: s.yellow("~"), wire.OriginIdle: s.dim("-")}[r.Origin]
	text := cmp.Or(sign, " ") + " " + line(cmp.Or(r.Rule.Slug, r.Rule.ID)) + "  " + line(r.Rule.Statement)
	if r.Origin == wire.OriginInherited {
		text += s.dim(" (from " + line(r.SourcePath) + ")")
	}
	o := r.Override
	if o == nil {
		return text
	}
	text += s.dim(" (instead of " + line(cmp.Or(o.Slug, o.RuleID)) + ")")
	return text + weakening(s, o.Loosens, o.Reason, wire.Deciders(r.AttachedBy, r.ApprovedBy))
}

// weakening renders, on a line of its own, how an override demands less, why and who attached it; empty if it demands as much.
func weakening(s *session, loosens []string, reason, by string) string {
	if len(loosens) == 0 {
		return ""
	}
	text := "weaker: " + strings.Join(loosens, ", ")
	if reason != "" {
		text += "; " + reason
	}
	return "\n    " + s.yellow(line(text+" ("+by+")"))
}

type nodesDiffCommand struct {
	nodeRef
	output
}

func (k *nodesDiffCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	node, err := k.find(ctx, c)
	if err != nil {
		return err
	}
	d, err := client.Get(ctx, c, op.DiffNode.At(node.ID))
	if err != nil {
		return err
	}
	defer noteAddress(s, node.ProjectID, "federation", node.ID)
	if k.json() {
		return printJSON(s.out, d)
	}
	var b strings.Builder
	for _, r := range d.Added {
		fmt.Fprintf(&b, "%s %s  %s\n", s.green("+"), s.green(line(cmp.Or(r.Slug, r.RuleID))), line(r.Statement))
	}
	for _, r := range d.Overridden {
		fmt.Fprintf(&b, "%s %s  %s\n", s.yellow("~"), s.yellow(line(cmp.Or(r.ChildSlug, r.ChildRuleID))), line(r.ChildStatement))
		fmt.Fprintf(&b, "    %s%s\n", s.dim("instead of "+line(cmp.Or(r.ParentSlug, r.ParentRuleID)+"  "+r.ParentStatement)), weakening(s, r.Loosens, r.Reason, wire.Deciders(r.AttachedBy, r.ApprovedBy)))
		for _, f := range r.Changes {
			if f.Field != "statement" { // shown above
				fmt.Fprintf(&b, "    %s\n", line(f.Field+" "+short(f.Before)+" -> "+short(f.After)))
			}
		}
	}
	for _, r := range d.Silenced {
		why := "the node has only its own rules"
		if by := cmp.Or(r.BySlug, r.ByRuleID); by != "" {
			why = by + " has its place"
		}
		fmt.Fprintf(&b, "%s %s  %s %s\n", s.red("-"), s.red(line(cmp.Or(r.Slug, r.RuleID))), line(r.Statement), s.dim("("+line(why)+")"))
	}
	fmt.Fprintf(&b, "%d inherited, %d added, %d overridden, %d silenced\n", d.InheritedCount, d.AddedTotal, d.OverriddenTotal, d.SilencedTotal)
	return pagedText(s, b.String())
}

// maxShort bounds the characters of a value in a difference.
const maxShort = 60

// short is the JSON of a value on one line, cut.
func short(value []byte) string {
	if len(value) == 0 {
		return "none"
	}
	// Values come with <, > and & escaped.
	plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(value))
	return text.FitRunes(plain, maxShort, "…")
}
