package api

import (
	"context"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"tenet/internal/auth"
	"tenet/internal/catalog"
	"tenet/internal/rule"
)

const (
	federationPath = "/api/v1/federations"
	nodePath       = federationPath + "/{node_id}"
	federationTag  = "Federation"
)

func (s *server) federationRoutes() {
	registerBody(s, operation{
		id: "create-node", method: http.MethodPost, path: federationPath, tag: federationTag, role: auth.Reviewer,
		status: http.StatusCreated, summary: "Create a federation node",
		description: "An organization is a root; teams and projects need a parent of a higher level.",
	}, s.createNode)
	register(s, operation{
		id: "list-nodes", method: http.MethodGet, path: federationPath, tag: federationTag, role: auth.Viewer,
		summary: "List all nodes as trees", responses: encoded[catalog.NodeTree](s),
	}, s.listNodes)
	register(s, operation{
		id: "get-node", method: http.MethodGet, path: nodePath, tag: federationTag, role: auth.Viewer,
		summary: "Get a node with its direct rules and the way to it", description: "Ancestors come root first.",
	}, s.getNode)
	registerBody(s, operation{
		id: "change-node", method: http.MethodPatch, path: nodePath, tag: federationTag, role: auth.Reviewer,
		summary:     "Change or move a node",
		description: "Absent fields stay as they are, null clears. With another parent_id the node moves, with all that is below it.",
	}, s.changeNode)
	register(s, operation{
		id: "delete-node", method: http.MethodDelete, path: nodePath, tag: federationTag, role: auth.Reviewer,
		summary: "Delete a node without children and rules",
	}, s.deleteNode)
	registerBody(s, operation{
		id: "attach-rule", method: http.MethodPost, path: nodePath + "/rules", tag: federationTag, role: auth.Reviewer,
		status: http.StatusCreated, summary: "Attach a rule to a node",
		description: "It then holds there and below. With override_parent_rule_id it stands in for a rule of an ancestor; one that " +
			"loosens a CRITICAL rule needs allow_weakening and a reason.",
	}, s.attachRule)
	register(s, operation{
		id: "detach-rule", method: http.MethodDelete, path: nodePath + "/rules/{rule_id}", tag: federationTag, role: auth.Reviewer,
		summary: "Remove a rule from a node",
	}, s.detachRule)
	register(s, operation{
		id: "effective-rules", method: http.MethodGet, path: nodePath + "/effective-rules", tag: federationTag, role: auth.Viewer,
		summary:     "List the rules that hold at a node",
		description: "Those attached to it and to its ancestors, with overrides applied; rules that are not in force are left out.",
		responses:   encoded[catalog.EffectiveRules](s),
	}, s.effectiveRules)
	register(s, operation{
		id: "diff-node", method: http.MethodGet, path: nodePath + "/diff", tag: federationTag, role: auth.Viewer,
		summary: "Compare what holds at a node with what holds at its parent",
	}, s.diffNode)
}

// NodeRef names a federation node in a path.
type NodeRef struct {
	NodeID string `path:"node_id" doc:"Id of the node."`
}

type nodeOutput struct{ Body rule.Node }

type createdNode struct {
	Location string `header:"Location"`
	Body     rule.Node
}

// CreateNode is the body that makes a federation node.
type CreateNode struct {
	Name         string     `json:"name" doc:"Node name." example:"Payments"`
	Level        rule.Level `json:"level" enum:"organization,team,project" doc:"organization, team or project."`
	ParentID     string     `json:"parent_id,omitempty" nullable:"true" doc:"Parent node, of a higher level; required for teams and projects."`
	Description  string     `json:"description,omitempty" nullable:"true" doc:"What the node stands for."`
	DefaultScope string     `json:"default_scope,omitempty" nullable:"true" doc:"Scope of the rules attached here that have none of their own." example:"finance/payments"`
	Repositories []string   `json:"repositories,omitempty" nullable:"true" doc:"Globs of the repositories that the node stands for." example:"[\"acme/pay-*\"]"`
}

func (s *server) createNode(ctx context.Context, _ *struct{ ProjectQuery }, body *CreateNode) (*createdNode, error) {
	n, err := s.cfg.Catalog.CreateNode(ctx, project(ctx), catalog.NodeInput{
		Name: &body.Name, Level: &body.Level, ParentID: &body.ParentID, Description: &body.Description, DefaultScope: &body.DefaultScope,
		Repositories: &body.Repositories,
	})
	if err != nil {
		return nil, err
	}
	return &createdNode{Location: location(ctx, federationPath, n.ID), Body: n}, nil
}

// encodedOutput is an answer that is encoded already.
type encodedOutput struct {
	ContentType string `header:"Content-Type"`
	Body        []byte
}

// encoded documents such an answer by the type that it is the JSON of.
func encoded[T any](s *server) map[string]*huma.Response {
	schema := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
	return map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{jsonType: {Schema: schema}}}}
}

func (s *server) listNodes(ctx context.Context, _ *struct{ ProjectQuery }) (*encodedOutput, error) {
	body, err := s.cfg.Catalog.EncodedTree(ctx, project(ctx))
	if err != nil {
		return nil, err
	}
	return &encodedOutput{jsonType, body}, nil
}

type nodeDetailOutput struct{ Body *catalog.NodeDetail }

func (s *server) getNode(ctx context.Context, in *struct {
	ProjectQuery
	NodeRef
},
) (*nodeDetailOutput, error) {
	d, err := s.cfg.Catalog.NodeDetail(ctx, project(ctx), in.NodeID)
	if err != nil {
		return nil, err
	}
	return &nodeDetailOutput{d}, nil
}

// ChangeNode is the body that changes a federation node.
type ChangeNode struct {
	Name         Optional[string]     `json:"name,omitzero" nullable:"false" doc:"Node name."`
	Level        Optional[rule.Level] `json:"level,omitzero" nullable:"false" enum:"organization,team,project" doc:"organization, team or project."`
	ParentID     Optional[string]     `json:"parent_id,omitzero" doc:"Parent node; null for an organization."`
	Description  Optional[string]     `json:"description,omitzero" doc:"What the node stands for; null clears it."`
	DefaultScope Optional[string]     `json:"default_scope,omitzero" doc:"Scope of the rules attached here that have none of their own; null clears it."`
	Repositories Optional[[]string]   `json:"repositories,omitzero" doc:"Globs of the repositories that the node stands for; null clears them."`
}

func (s *server) changeNode(ctx context.Context, in *struct {
	ProjectQuery
	NodeRef
}, body *ChangeNode,
) (*nodeOutput, error) {
	var p rule.Problems
	notNull := func(name string, null bool) {
		if null {
			p.Add(name, "must not be null; leave it out to keep it as it is")
		}
	}
	notNull("name", body.Name.Null)
	notNull("level", body.Level.Null)
	if err := p.Err("the request body is invalid"); err != nil {
		return nil, err
	}
	n, err := s.cfg.Catalog.UpdateNode(ctx, project(ctx), in.NodeID, catalog.NodeInput{
		Name: given(&body.Name), Level: given(&body.Level), ParentID: given(&body.ParentID), Description: given(&body.Description),
		DefaultScope: given(&body.DefaultScope), Repositories: given(&body.Repositories),
	})
	if err != nil {
		return nil, err
	}
	return &nodeOutput{n}, nil
}

func (s *server) deleteNode(ctx context.Context, in *struct {
	ProjectQuery
	NodeRef
},
) (*struct{}, error) {
	return nil, s.cfg.Catalog.DeleteNode(ctx, project(ctx), in.NodeID)
}

// AttachRule is the body that attaches a rule to a node.
type AttachRule struct {
	RuleID         string `json:"rule_id" doc:"Id or slug of the rule." example:"SEC-003"`
	OverrideID     string `json:"override_parent_rule_id,omitempty" nullable:"true" doc:"Id or slug of the rule of an ancestor that this rule stands in for."`
	AllowWeakening bool   `json:"allow_weakening,omitempty" doc:"Let the rule stand in for a CRITICAL one although it asks less; needs a reason."`
	Reason         string `json:"reason,omitempty" nullable:"true" doc:"Why; kept in the audit chain."`
}

type attachmentOutput struct{ Body rule.Attachment }

func (s *server) attachRule(ctx context.Context, in *struct {
	ProjectQuery
	NodeRef
}, body *AttachRule,
) (*attachmentOutput, error) {
	a, err := s.cfg.Catalog.Attach(ctx, project(ctx), in.NodeID, catalog.AttachInput{
		Rule: body.RuleID, Overrides: body.OverrideID, AllowWeakening: body.AllowWeakening, Reason: body.Reason,
	})
	if err != nil {
		return nil, err
	}
	return &attachmentOutput{a}, nil
}

func (s *server) detachRule(ctx context.Context, in *struct {
	ProjectQuery
	NodeRef
	RuleID string `path:"rule_id" doc:"Id or slug of the rule."`
},
) (*struct{}, error) {
	return nil, s.cfg.Catalog.Detach(ctx, project(ctx), in.NodeID, in.RuleID)
}

type effectiveOutput struct {
	UsedSnapshot
	ContentType string `header:"Content-Type"`
	Body        []byte
}

func (s *server) effectiveRules(ctx context.Context, in *struct {
	ProjectQuery
	EnvironmentQuery
	NodeRef
},
) (*effectiveOutput, error) {
	view, used, err := s.released(ctx, in.Environment)
	if err != nil {
		return nil, err
	}
	body, err := s.cfg.Catalog.EffectiveRules(ctx, project(ctx), in.NodeID, view)
	if err != nil {
		return nil, err
	}
	return &effectiveOutput{used, jsonType, body}, nil
}

type nodeDiffOutput struct{ Body *catalog.FederationDiff }

func (s *server) diffNode(ctx context.Context, in *struct {
	ProjectQuery
	NodeRef
},
) (*nodeDiffOutput, error) {
	d, err := s.cfg.Catalog.DiffNode(ctx, project(ctx), in.NodeID)
	if err != nil {
		return nil, err
	}
	return &nodeDiffOutput{d}, nil
}
