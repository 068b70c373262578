package cli

import (
	"context"
	"fmt"
	"strings"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// nodesCommands are `tenet nodes ...`.
type nodesCommands struct {
	Tree      nodesTreeCommand      `cmd:"" data:"read" help:"Draw the tree of nodes."`
	Get       nodesGetCommand       `cmd:"" data:"read" help:"Show a node with the rules attached to it."`
	Effective nodesEffectiveCommand `cmd:"" data:"read" help:"List the rules that hold at a node."`
	Diff      nodesDiffCommand      `cmd:"" data:"read" help:"Show how a node's rules differ from its parent's."`
	Create    nodesCreateCommand    `cmd:"" data:"make" help:"Create a node."`
	Update    nodesUpdateCommand    `cmd:"" data:"make" help:"Change or move a node."`
	Delete    nodesDeleteCommand    `cmd:"" data:"make" help:"Delete a node without children and rules."`
	Attach    nodesAttachCommand    `cmd:"" data:"make" help:"Attach a rule to a node."`
	Detach    nodesDetachCommand    `cmd:"" data:"make" help:"Remove a rule from a node."`
}

// found is a node of the tree with the names on the way to it.
type found struct {
	wire.TreeNode
	path string
}

// findNode finds a node by its id, by the names on the way to it (acme/payments), or by its name if that is unique.
func findNode(ctx context.Context, c *client.Client, ref string) (found, error) {
	tree, err := client.Get(ctx, c, op.ListNodes)
	if err != nil {
		return found{}, err
	}
	var byPath, byName []found
	var walk func(nodes []wire.TreeNode, above string) *found
	walk = func(nodes []wire.TreeNode, above string) *found {
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
	if f := walk(tree.Nodes, ""); f != nil {
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

// nodeRef names a node on the command line.
type nodeRef struct {
	Node string `arg:"" help:"Node: its id, or its name or path of names."`
}

func (r *nodeRef) find(ctx context.Context, c *client.Client) (found, error) {
	return findNode(ctx, c, r.Node)
}

type nodesCreateCommand struct {
	Name         string     `arg:"" help:"Name of the node."`
	Level        rule.Level `required:"" enum:"organization,team,project" placeholder:"LEVEL" help:"${enum}."`
	Parent       string     `placeholder:"NODE" help:"Parent, of a higher level: its id, or its name or path of names."`
	Description  string     `placeholder:"TEXT" help:"Description of the node."`
	DefaultScope string     `placeholder:"PATH" help:"Scope of the rules attached to the node that have none of their own."`
	Repository   []string   `sep:"none" placeholder:"GLOB" help:"Repositories of the node; may be repeated."`
}

func (nodesCreateCommand) Help() string {
	return `Prints the id of the node. Organizations are roots, teams are below them, projects below either:

    tenet nodes create acme --level organization
    tenet nodes create payments --level team --parent acme --repository 'acme/pay-*'`
}

func (k *nodesCreateCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	n := wire.CreateNode{
		Name: k.Name, Level: k.Level, Description: k.Description, DefaultScope: k.DefaultScope, Repositories: k.Repository,
	}
	if k.Parent != "" {
		parent, err := findNode(ctx, c, k.Parent)
		if err != nil {
			return err
		}
		n.ParentID = parent.ID
	}
	made, err := client.Call(ctx, c, op.CreateNode, n)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, made.ID)
	return err
}

type nodesUpdateCommand struct {
	nodeRef
	Name         string     `placeholder:"NAME" help:"New name."`
	Level        rule.Level `placeholder:"LEVEL" help:"New level: organization, team or project."`
	Parent       *string    `placeholder:"NODE" help:"Move the node, with all below it, under this one."`
	Description  *string    `placeholder:"TEXT" help:"Description of the node; empty clears it."`
	DefaultScope *string    `placeholder:"PATH" help:"Scope of the rules attached that have none of their own; empty clears it."`
	Repository   []string   `sep:"none" xor:"repositories" placeholder:"GLOB" help:"Repositories of the node, instead of the present ones; may be repeated."`
	Unbind       bool       `xor:"repositories" help:"Remove all repositories from the node."`
}

func (nodesUpdateCommand) Help() string {
	return `What is not named stays as it is:

    tenet nodes update payments --parent acme-europe
    tenet nodes update payments --repository 'acme/pay-*' --repository acme/ledger`
}

func (k *nodesUpdateCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	node, err := k.find(ctx, c)
	if err != nil {
		return err
	}
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
	_, err = client.Call(ctx, c, op.ChangeNode.At(node.ID), patch)
	return err
}

type nodesDeleteCommand struct {
	nodeRef
}

func (k *nodesDeleteCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	node, err := k.find(ctx, c)
	if err != nil {
		return err
	}
	return client.Run(ctx, c, op.DeleteNode.At(node.ID))
}

type nodesAttachCommand struct {
	nodeRef
	Rule           string `arg:"" help:"Id or slug of the rule."`
	Overrides      string `placeholder:"RULE" help:"Rule of an ancestor that this one overrides."`
	AllowWeakening bool   `help:"Let the rule override a CRITICAL one although it demands less; needs --reason."`
	Reason         string `placeholder:"TEXT" help:"Why; kept in the audit chain."`
}

func (nodesAttachCommand) Help() string {
	return `The rule holds at the node and everywhere below it, until it is overridden there:

    tenet nodes attach acme SEC-001
    tenet nodes attach payments PAY-001 --overrides SEC-001`
}

func (k *nodesAttachCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	node, err := k.find(ctx, c)
	if err != nil {
		return err
	}
	_, err = client.Call(ctx, c, op.AttachRule.At(node.ID), wire.AttachRule{
		RuleID: k.Rule, OverrideID: k.Overrides, AllowWeakening: k.AllowWeakening, Reason: k.Reason,
	})
	return err
}

type nodesDetachCommand struct {
	nodeRef
	Rule string `arg:"" help:"Id or slug of the rule."`
}

func (k *nodesDetachCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	node, err := k.find(ctx, c)
	if err != nil {
		return err
	}
	return client.Run(ctx, c, op.DetachRule.At(node.ID, k.Rule))
}
