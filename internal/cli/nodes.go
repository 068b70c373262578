package cli

import (
	"context"
	"fmt"
	"strings"

	"tenet/internal/catalog"
	"tenet/internal/client"
	"tenet/internal/rule"
)

// nodesCommands are `tenet nodes ...`.
type nodesCommands struct {
	Tree      nodesTreeCommand      `cmd:"" help:"Draw the tree of nodes."`
	Get       nodesGetCommand       `cmd:"" help:"Show a node with the rules attached to it."`
	Effective nodesEffectiveCommand `cmd:"" help:"List the rules that hold at a node."`
	Diff      nodesDiffCommand      `cmd:"" help:"Show what a node changes in what holds above it."`
	Create    nodesCreateCommand    `cmd:"" help:"Create a node."`
	Update    nodesUpdateCommand    `cmd:"" help:"Change or move a node."`
	Delete    nodesDeleteCommand    `cmd:"" help:"Delete a node without children and rules."`
	Attach    nodesAttachCommand    `cmd:"" help:"Attach a rule to a node."`
	Detach    nodesDetachCommand    `cmd:"" help:"Remove a rule from a node."`
}

// found is a node of the tree with the names on the way to it.
type found struct {
	catalog.TreeNode
	path string
}

// findNode finds a node by its id, by the names on the way to it (acme/payments), or by its name if that is unique.
func findNode(ctx context.Context, c *client.Client, ref string) (found, error) {
	roots, err := c.Nodes(ctx)
	if err != nil {
		return found{}, err
	}
	var byPath, byName []found
	var walk func(nodes []catalog.TreeNode, above string) *found
	walk = func(nodes []catalog.TreeNode, above string) *found {
		for _, n := range nodes {
			f := found{n, strings.TrimPrefix(above+"/"+n.Name, "/")}
			if strings.EqualFold(n.ID, ref) {
				return &f
			}
			if f.path == ref {
				byPath = append(byPath, f)
			}
			if n.Name == ref {
				byName = append(byName, f)
			}
			if below := walk(n.Children, f.path); below != nil {
				return below
			}
		}
		return nil
	}
	if f := walk(roots, ""); f != nil {
		return *f, nil
	}
	for _, list := range [][]found{byPath, byName} {
		switch len(list) {
		case 0:
		case 1:
			return list[0], nil
		default:
			return found{}, rule.Errorf(rule.CodeConflict, "%d nodes are called %q; name one by its id (see tenet nodes tree)", len(list), ref)
		}
	}
	return found{}, rule.NotFound("node", ref)
}

// withNode runs fn with a client and a node.
func (s *session) withNode(ctx context.Context, n need, ref string, fn func(*client.Client, found) error) error {
	return s.with(ctx, n, func(c *client.Client) error {
		node, err := findNode(ctx, c, ref)
		if err != nil {
			return err
		}
		return fn(c, node)
	})
}

type nodesCreateCommand struct {
	Name         string     `arg:"" help:"Name of the node."`
	Level        rule.Level `required:"" enum:"organization,team,project" placeholder:"LEVEL" help:"${enum}."`
	Parent       string     `placeholder:"NODE" help:"Parent, of a higher level: its id, or its name or path of names."`
	Description  string     `placeholder:"TEXT" help:"What the node stands for."`
	DefaultScope string     `placeholder:"PATH" help:"Scope of the rules attached to the node that have none of their own."`
	Repository   []string   `sep:"none" placeholder:"GLOB" help:"Repositories that the node stands for; may be repeated."`
}

// Help is the long help of the command.
func (nodesCreateCommand) Help() string {
	return `Prints the id of the node. Organizations are roots, teams stand below them, projects below either:

    tenet nodes create acme --level organization
    tenet nodes create payments --level team --parent acme --repository 'acme/pay-*'`
}

// Run creates a node.
func (k *nodesCreateCommand) Run(ctx context.Context, s *session) error {
	return s.with(ctx, needsData, func(c *client.Client) error {
		n := client.NewNode{
			Name: k.Name, Level: k.Level, Description: k.Description, DefaultScope: k.DefaultScope, Repositories: k.Repository,
		}
		if k.Parent != "" {
			parent, err := findNode(ctx, c, k.Parent)
			if err != nil {
				return err
			}
			n.ParentID = parent.ID
		}
		made, err := c.CreateNode(ctx, n)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(s.out, made.ID)
		return err
	})
}

type nodesUpdateCommand struct {
	Node         string     `arg:"" help:"Node: its id, or its name or path of names."`
	Name         string     `placeholder:"NAME" help:"New name."`
	Level        rule.Level `placeholder:"LEVEL" help:"New level: organization, team or project."`
	Parent       *string    `placeholder:"NODE" help:"Move the node, with all below it, under this one."`
	Description  *string    `placeholder:"TEXT" help:"What the node stands for; empty clears it."`
	DefaultScope *string    `placeholder:"PATH" help:"Scope of the rules attached that have none of their own; empty clears it."`
	Repository   []string   `sep:"none" xor:"repositories" placeholder:"GLOB" help:"Repositories that the node stands for, instead of those it has; may be repeated."`
	Unbind       bool       `xor:"repositories" help:"The node stands for no repositories any more."`
}

// Help is the long help of the command.
func (nodesUpdateCommand) Help() string {
	return `What is not named stays as it is:

    tenet nodes update payments --parent acme-europe
    tenet nodes update payments --repository 'acme/pay-*' --repository acme/ledger`
}

// Run changes a node.
func (k *nodesUpdateCommand) Run(ctx context.Context, s *session) error {
	return s.withNode(ctx, needsData, k.Node, func(c *client.Client, node found) error {
		patch := map[string]any{}
		if k.Name != "" {
			patch["name"] = k.Name
		}
		if k.Level != "" {
			patch["level"] = k.Level
		}
		for name, v := range map[string]*string{"description": k.Description, "default_scope": k.DefaultScope} {
			if v != nil {
				patch[name] = *v
			}
		}
		switch {
		case k.Unbind:
			patch["repositories"] = nil
		case len(k.Repository) > 0:
			patch["repositories"] = k.Repository
		}
		if k.Parent != nil {
			patch["parent_id"] = nil
			if *k.Parent != "" {
				parent, err := findNode(ctx, c, *k.Parent)
				if err != nil {
					return err
				}
				patch["parent_id"] = parent.ID
			}
		}
		_, err := c.PatchNode(ctx, node.ID, patch)
		return err
	})
}

type nodesDeleteCommand struct {
	Node string `arg:"" help:"Node: its id, or its name or path of names."`
}

// Run deletes a node.
func (k *nodesDeleteCommand) Run(ctx context.Context, s *session) error {
	return s.withNode(ctx, needsData, k.Node, func(c *client.Client, node found) error { return c.DeleteNode(ctx, node.ID) })
}

type nodesAttachCommand struct {
	Node           string `arg:"" help:"Node: its id, or its name or path of names."`
	Rule           string `arg:"" help:"Id or slug of the rule."`
	Overrides      string `placeholder:"RULE" help:"Rule of an ancestor that this one stands in for."`
	AllowWeakening bool   `help:"Let the rule stand in for a CRITICAL one although it asks less; needs --reason."`
	Reason         string `placeholder:"TEXT" help:"Why; kept in the audit chain."`
}

// Help is the long help of the command.
func (nodesAttachCommand) Help() string {
	return `The rule holds at the node and everywhere below it, until it is overridden there:

    tenet nodes attach acme SEC-001
    tenet nodes attach payments PAY-001 --overrides SEC-001`
}

// Run attaches a rule.
func (k *nodesAttachCommand) Run(ctx context.Context, s *session) error {
	return s.withNode(ctx, needsData, k.Node, func(c *client.Client, node found) error {
		_, err := c.AttachRule(ctx, node.ID, client.Attach{
			Rule: k.Rule, Overrides: k.Overrides, AllowWeakening: k.AllowWeakening, Reason: k.Reason,
		})
		return err
	})
}

type nodesDetachCommand struct {
	Node string `arg:"" help:"Node: its id, or its name or path of names."`
	Rule string `arg:"" help:"Id or slug of the rule."`
}

// Run takes a rule off a node.
func (k *nodesDetachCommand) Run(ctx context.Context, s *session) error {
	return s.withNode(ctx, needsData, k.Node, func(c *client.Client, node found) error { return c.DetachRule(ctx, node.ID, k.Rule) })
}
