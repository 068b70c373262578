package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// nodesCommands are `tenet nodes ...`.
type nodesCommands struct {
	List      nodesListCommand      `cmd:"" data:"read" help:"List the children of a node, or find nodes by words, with counts of their rules."`
	Resolve   nodesResolveCommand   `cmd:"" data:"read" help:"Show which node a repository belongs to."`
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

// found is a node with the names on the way to it.
type found struct {
	rule.Node

	path string
}

// findNode finds a node by its id, by the names on the way to it (acme/payments), or by its name if that is unique.
func findNode(ctx context.Context, c *client.Client, ref string) (found, error) {
	if rule.IsID(strings.ToLower(ref)) {
		n, err := client.Get(ctx, c, op.GetNode.At(ref).Where(wire.NodeQuery{Brief: true}))
		return found{n.Node, n.Path}, err
	}
	if len(ref) > maxNodeName || strings.TrimSpace(ref) == "" {
		return found{}, rule.NotFound("node", ref)
	}
	// Nodes whose whole name or path it is come first.
	list, err := client.Get(ctx, c, op.FindNodes.Where(wire.NodesQuery{Q: ref, PageQuery: wire.PageQuery{Page: 1, PageSize: maxSameName}}))
	if err != nil {
		return found{}, err
	}
	var byPath, byName []found
	for _, n := range list.Items {
		if n.Path == ref {
			byPath = append(byPath, found{n.Node, n.Path})
		}
		if n.Name == ref {
			byName = append(byName, found{n.Node, n.Path})
		}
	}
	for _, list := range [][]found{byPath, byName} {
		switch len(list) {
		case 0:
		case 1:
			return list[0], nil
		default:
			return found{}, rule.Errorf(rule.CodeConflict, "%d nodes are called %q; name one by its id (see tenet nodes list %q)", len(list), ref, ref)
		}
	}
	return found{}, rule.NotFound("node", ref)
}

// Bounds of looking for a node.
const (
	maxSameName = 100
	maxNodeName = 800
)

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
	OwnRulesOnly bool       `help:"Let only attached rules hold at the node and below it, without the CRITICAL and HIGH rules that no node has; needs --reason."`
	consent
	output
}

func (nodesCreateCommand) Help() string {
	return `Prints the id of the node. Organizations are roots, teams are below them, projects below either:

    tenet nodes create acme --level organization
    tenet nodes create payments --level team --parent acme --repository 'acme/pay-*'

Repositories that had no node had all rules. The command lists those that end for them, and asks; --yes answers.`
}

func (k *nodesCreateCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	n := wire.CreateNode{
		Name: k.Name, Level: k.Level, Description: k.Description, DefaultScope: k.DefaultScope, Repositories: k.Repository,
		OwnRulesOnly: k.OwnRulesOnly,
	}
	if k.Parent != "" {
		parent, err := findNode(ctx, c, k.Parent)
		if err != nil {
			return err
		}
		n.ParentID = parent.ID
	}
	if err := k.mayOptOut(k.OwnRulesOnly && !k.DryRun); err != nil {
		return err
	}
	planned := wire.ChangeNode{
		Name: wire.Some(n.Name), Level: wire.Some(n.Level), ParentID: wire.Some(n.ParentID), DefaultScope: wire.Some(n.DefaultScope),
		Repositories: wire.Some(n.Repositories), OwnRulesOnly: wire.Some(n.OwnRulesOnly),
	}
	var err error
	if n.WeakeningInput, err = k.preview(ctx, s, c, wire.PreviewNodes{Action: "create", Node: &planned}); err != nil || k.DryRun {
		return err
	}
	n.AllowWeakening = n.AllowWeakening || k.OwnRulesOnly && n.Reason != ""
	made, err := client.Call(ctx, c, op.CreateNode, n)
	return show(s, k.output, made, err, func(s *session, made wire.ChangedNode) error {
		_, err := fmt.Fprintln(s.out, made.ID)
		return err
	})
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
	OwnRulesOnly *bool      `negatable:"" help:"Let only attached rules hold at the node and below it, without the CRITICAL and HIGH rules that no node has; needs --reason."`
	consent
	output
}

func (nodesUpdateCommand) Help() string {
	return `What is not named stays as it is:

    tenet nodes update payments --parent acme-europe
    tenet nodes update payments --repository 'acme/pay-*' --repository acme/ledger

The command lists the rules that end somewhere by the change, and asks; --yes answers. Where CRITICAL and HIGH rules end it needs --reason.`
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
	if k.OwnRulesOnly != nil {
		patch["own_rules_only"] = *k.OwnRulesOnly
		if err := k.mayOptOut(*k.OwnRulesOnly && !k.DryRun); err != nil {
			return err
		}
	}
	planned, err := planOf(patch)
	if err != nil {
		return err
	}
	permission, err := k.preview(ctx, s, c, wire.PreviewNodes{Action: "change", NodeID: node.ID, Node: planned})
	if err != nil || k.DryRun {
		return err
	}
	if permission.Reason != "" {
		patch["reason"] = permission.Reason
		patch["allow_weakening"] = permission.AllowWeakening || (k.OwnRulesOnly != nil && *k.OwnRulesOnly)
	}
	made, err := client.Call(ctx, c, op.ChangeNode.At(node.ID), patch)
	return noted(s, k.output, made, err, func(n wire.ChangedNode) string { return "node " + line(cmp.Or(n.Name, node.path)) + " is changed" })
}

// planOf returns a patch as the body of a change.
func planOf(patch map[string]any) (*wire.ChangeNode, error) {
	text, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	planned := &wire.ChangeNode{}
	return planned, json.Unmarshal(text, planned)
}

type nodesDeleteCommand struct {
	nodeRef
	consent
	output
}

func (k *nodesDeleteCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	node, err := k.find(ctx, c)
	if err != nil {
		return err
	}
	permission, err := k.preview(ctx, s, c, wire.PreviewNodes{Action: "delete", NodeID: node.ID})
	if err != nil || k.DryRun {
		return err
	}
	err = client.Run(ctx, c, op.DeleteNode.At(node.ID).Where(wire.WeakeningQuery(permission)))
	return noted(s, k.output, ended{"node", node.ID, "deleted"}, err, func(ended) string { return "node " + line(node.path) + " is deleted" })
}

type nodesAttachCommand struct {
	nodeRef
	Rule           string `arg:"" help:"Id or slug of the rule."`
	Overrides      string `placeholder:"RULE" help:"Rule of an ancestor that this one overrides."`
	AllowWeakening bool   `help:"Let the rule override a CRITICAL one although it demands less; needs --reason."`
	consent
	output
}

func (nodesAttachCommand) Help() string {
	return `The rule holds at the node and everywhere below it, until it is overridden there:

    tenet nodes attach acme SEC-001
    tenet nodes attach payments PAY-001 --overrides SEC-001

An enforced CRITICAL or HIGH rule that no node has holds at all nodes. Attached to one, it ends at the others; that needs --reason.`
}

func (k *nodesAttachCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	node, err := k.find(ctx, c)
	if err != nil {
		return err
	}
	permission, err := k.preview(ctx, s, c, wire.PreviewNodes{
		Action: "attach", NodeID: node.ID, RuleID: k.Rule, OverrideID: k.Overrides,
		WeakeningInput: wire.WeakeningInput{AllowWeakening: k.AllowWeakening, Reason: k.Reason},
	})
	if err != nil || k.DryRun {
		return err
	}
	made, err := client.Call(ctx, c, op.AttachRule.At(node.ID), wire.AttachRule{
		RuleID: k.Rule, OverrideID: k.Overrides, AllowWeakening: permission.AllowWeakening, Reason: permission.Reason,
	})
	return noted(s, k.output, made, err, func(wire.Attached) string { return line(k.Rule) + " is attached to " + line(node.path) })
}

type nodesDetachCommand struct {
	nodeRef
	Rule string `arg:"" help:"Id or slug of the rule."`
	consent
	output
}

func (k *nodesDetachCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	node, err := k.find(ctx, c)
	if err != nil {
		return err
	}
	permission, err := k.preview(ctx, s, c, wire.PreviewNodes{Action: "detach", NodeID: node.ID, RuleID: k.Rule})
	if err != nil || k.DryRun {
		return err
	}
	err = client.Run(ctx, c, op.DetachRule.At(node.ID, k.Rule).Where(wire.WeakeningQuery(permission)))
	return noted(s, k.output, ended{"attachment", node.ID + "/" + k.Rule, "removed"}, err, func(ended) string {
		return line(k.Rule) + " is detached from " + line(node.path)
	})
}
