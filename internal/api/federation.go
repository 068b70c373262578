package api

import (
	"context"
	"net/http"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/hierarchy"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Federation serves the tree of nodes and the rules that hold at them.
type Federation struct {
	Hierarchy *hierarchy.Hierarchy
	Released  Released
}

// nodeRef names a federation node in a path.
type nodeRef struct {
	NodeID string `path:"node_id" doc:"Id of the node."`
}

// Routes implements [rest.Resource].
func (f Federation) Routes(r *rest.Router) {
	r = r.Tag(federationTag)
	rest.HandleBody(r, rest.Operation{
		ID: "create-node", Route: op.CreateNode.Route(), Role: auth.Reviewer, Status: http.StatusCreated, Summary: "Create a federation node",
		Description: "An organization is a root; teams and projects need a parent of a higher level.",
	}, f.create)
	rest.HandleBody(r, rest.Operation{
		ID: "preview-nodes", Route: op.PreviewNodes.Route(), Role: auth.Reviewer, Summary: "Ask which rules a change of nodes would start, stop and end, and where",
		Description: "Changes nothing. starts and stops list every rule that would begin or cease to hold somewhere; silenced lists what the change " +
			"itself needs consent for. The action is attach, detach, create, change or delete; the other fields are those of that operation.",
	}, f.preview)
	rest.Handle(r, rest.Operation{ID: "list-nodes", Route: op.ListNodes.Route(), Role: auth.Viewer, Summary: "List all nodes as trees"},
		func(ctx context.Context, _ *rest.None) (encodedOutput, error) {
			body, err := f.Hierarchy.EncodedTree(ctx, rest.Project(ctx))
			return encodedOutput{"application/json", body}, err
		}).Success().Content = rest.JSON(rest.SchemaOf[wire.NodeTree](r))
	rest.Handle(r, rest.Operation{
		ID: "find-nodes", Route: op.FindNodes.Route(), Role: auth.Viewer, Summary: "List the children of a node, or find nodes by words, page by page",
		Description: "Each node comes with its path, the number of its children and counts of its rules.",
	}, func(ctx context.Context, in *wire.NodesQuery) (wire.Page[wire.NodeSummary], error) {
		list, total, err := f.Hierarchy.FindNodes(ctx, rest.Project(ctx), *in)
		return rest.PageOf(in.PageQuery, list, total), err
	})
	rest.Handle(r, rest.Operation{
		ID: "resolve-node", Route: op.ResolveNode.Route(), Role: auth.Viewer, Summary: "Find the node of a repository",
		Description: "The globs that match come with it, the one that decides first; if none matches, the nearest ones.",
	}, func(ctx context.Context, in *wire.ResolveQuery) (wire.ResolvedRepository, error) {
		return f.Hierarchy.Resolve(ctx, rest.Project(ctx), in.Repository)
	})
	rest.Handle(r, rest.Operation{
		ID: "get-node", Route: op.GetNode.Route(), Role: auth.Viewer,
		Summary: "Get a node with its direct rules and its ancestors", Description: "The root comes first.",
	}, func(ctx context.Context, in *struct {
		nodeRef
		wire.NodeQuery
	},
	) (*wire.NodeDetail, error) {
		return f.Hierarchy.NodeDetail(ctx, rest.Project(ctx), in.NodeID, in.Brief)
	})
	rest.Handle(r, rest.Operation{
		ID: "list-node-rules", Route: op.ListNodeRules.Route(), Role: auth.Viewer, Summary: "List the rules that hold at a node, page by page, with where each comes from",
		Description: "The nearest come first: the node's own, then those of its ancestors, then those that hold everywhere because no node has them.",
	}, f.held)
	rest.HandleBody(r, rest.Operation{
		ID: "change-node", Route: op.ChangeNode.Route(), Role: auth.Reviewer, Summary: "Change or move a node",
		Description: "Absent fields stay as they are, null clears. With another parent_id the node moves with its descendants.",
	}, f.change)
	rest.Do(r, rest.Operation{ID: "delete-node", Route: op.DeleteNode.Route(), Role: auth.Reviewer, Summary: "Delete a node without children and rules"},
		func(ctx context.Context, in *struct {
			nodeRef
			wire.WeakeningQuery
		},
		) error {
			return f.Hierarchy.DeleteNode(ctx, rest.Project(ctx), in.NodeID, in.Permission())
		})
	rest.HandleBody(r, rest.Operation{
		ID: "attach-rule", Route: op.AttachRule.Route(), Role: auth.Reviewer, Status: http.StatusCreated, Summary: "Attach a rule to a node",
		Description: "It then applies there and below. With override_parent_rule_id it replaces a rule of an ancestor; one that " +
			"loosens a CRITICAL rule needs allow_weakening and a reason. So does an attachment by which an enforced CRITICAL or HIGH rule " +
			"ends where it holds: such a rule holds at all nodes while no node has it.",
	}, func(ctx context.Context, in *nodeRef, body *wire.AttachRule) (wire.Attached, error) {
		return f.Hierarchy.Attach(ctx, rest.Project(ctx), in.NodeID, hierarchy.AttachInput{
			Rule: body.RuleID, Overrides: body.OverrideID, Permission: rule.Permission{AllowWeakening: body.AllowWeakening, Reason: body.Reason},
		})
	})
	rest.Do(r, rest.Operation{ID: "detach-rule", Route: op.DetachRule.Route(), Role: auth.Reviewer, Summary: "Remove a rule from a node"},
		func(ctx context.Context, in *struct {
			nodeRef
			wire.WeakeningQuery
			RuleID string `path:"rule_id" doc:"Id or slug of the rule."`
		},
		) error {
			return f.Hierarchy.Detach(ctx, rest.Project(ctx), in.NodeID, in.RuleID, in.Permission())
		})
	rest.Handle(r, rest.Operation{
		ID: "effective-rules", Route: op.EffectiveRules.Route(), Role: auth.Viewer, Summary: "List the rules that apply at a node",
		Description: "The rules attached to it and to its ancestors, with overrides applied, without rules that are not in force.",
	}, f.effective).Success().Content = rest.JSON(rest.SchemaOf[wire.EffectiveRules](r))
	f.ruleNodes(r)
	rest.Handle(r, rest.Operation{
		ID: "diff-node", Route: op.DiffNode.Route(), Role: auth.Viewer, Summary: "Compare the rules of a node with those of its parent",
	}, func(ctx context.Context, in *struct {
		nodeRef
		wire.DiffNodeQuery
	},
	) (*wire.FederationDiff, error) {
		return f.Hierarchy.DiffNode(ctx, rest.Project(ctx), in.NodeID, in.Limit)
	})
}

func (f Federation) held(ctx context.Context, in *struct {
	nodeRef
	wire.NodeRulesQuery
},
) (page wire.Page[wire.HeldRule], err error) {
	var p rule.Problems
	q := hierarchy.HeldQuery{
		Text: in.Q, Severity: rest.EnumParam(&p, "severity", in.Severity, rule.Severities), Modality: rest.EnumParam(&p, "modality", in.Modality, rule.Modalities),
		Enforcement: rest.EnumParam(&p, "enforcement", in.Enforcement, rule.Enforcements), Origin: rest.EnumParam(&p, "origin", in.Origin, wire.Origins),
		SourceID: in.SourceID, Weakened: in.Weakened,
	}
	if err := p.Err("the query is invalid"); err != nil {
		return page, err
	}
	list, total, err := f.Hierarchy.HeldRules(ctx, rest.Project(ctx), in.NodeID, q, rule.Page{Number: in.Page, Size: in.PageSize})
	return rest.PageOf(in.PageQuery, list, total), err
}

// encodedOutput is an answer that the catalog has encoded already.
type encodedOutput struct {
	ContentType string `header:"Content-Type"`
	Body        []byte
}

type effectiveOutput struct {
	UsedSnapshot
	encodedOutput
}

func (f Federation) create(ctx context.Context, _ *rest.None, body *wire.CreateNode) (rest.Created[wire.ChangedNode], error) {
	n, err := f.Hierarchy.CreateNode(ctx, rest.Project(ctx), hierarchy.NodeInput{
		Name: &body.Name, Level: &body.Level, ParentID: &body.ParentID, Description: &body.Description, DefaultScope: &body.DefaultScope,
		Repositories: &body.Repositories, OwnRulesOnly: &body.OwnRulesOnly, Permission: body.Permission(),
	})
	return rest.At(ctx, op.GetNode.Path, n.ID, n), err
}

func (f Federation) change(ctx context.Context, in *nodeRef, body *wire.ChangeNode) (wire.ChangedNode, error) {
	return f.Hierarchy.UpdateNode(ctx, rest.Project(ctx), in.NodeID, nodeInput(body))
}

func (f Federation) preview(ctx context.Context, _ *rest.None, body *wire.PreviewNodes) (wire.PreviewedNodes, error) {
	var node hierarchy.NodeInput
	if body.Node != nil {
		node = nodeInput(body.Node)
	}
	return f.Hierarchy.Preview(ctx, rest.Project(ctx), body, node)
}

func nodeInput(body *wire.ChangeNode) hierarchy.NodeInput {
	return hierarchy.NodeInput{
		Name: given(&body.Name), Level: given(&body.Level), ParentID: given(&body.ParentID), Description: given(&body.Description),
		DefaultScope: given(&body.DefaultScope), Repositories: given(&body.Repositories),
		OwnRulesOnly: given(&body.OwnRulesOnly), Permission: body.Permission(),
	}
}

func (f Federation) effective(ctx context.Context, in *struct {
	wire.EnvironmentQuery
	nodeRef
},
) (effectiveOutput, error) {
	view, used, err := released(ctx, f.Released, in.Environment)
	if err != nil {
		return effectiveOutput{}, err
	}
	body, err := f.Hierarchy.EffectiveRules(ctx, rest.Project(ctx), in.NodeID, view)
	return effectiveOutput{used, encodedOutput{"application/json", body}}, err
}
