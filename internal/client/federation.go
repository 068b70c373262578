package client

import (
	"context"
	"net/http"
	"net/url"

	"tenet/internal/catalog"
	"tenet/internal/rule"
)

// NewNode describes the federation node to make.
type NewNode struct {
	Name         string     `json:"name"`
	Level        rule.Level `json:"level"`
	ParentID     string     `json:"parent_id,omitempty"`
	Description  string     `json:"description,omitempty"`
	DefaultScope string     `json:"default_scope,omitempty"`
	Repositories []string   `json:"repositories,omitempty"`
}

// Attach describes how to attach a rule to a node. Rules are named by id or slug.
type Attach struct {
	Rule           string `json:"rule_id"`
	Overrides      string `json:"override_parent_rule_id,omitempty"`
	AllowWeakening bool   `json:"allow_weakening,omitempty"`
	Reason         string `json:"reason,omitempty"`
}

const federationPath = "/api/v1/federations"

// nodePath is the path of one node and what belongs to it.
func nodePath(id string, more ...string) string {
	path := federationPath + "/" + url.PathEscape(id)
	for _, m := range more {
		path += "/" + url.PathEscape(m)
	}
	return path
}

// Nodes returns the roots of the federation, by name, each with what is below it.
func (c *Client) Nodes(ctx context.Context) ([]catalog.TreeNode, error) {
	type tree struct {
		Nodes []catalog.TreeNode `json:"nodes"`
	}
	k := get(federationPath, nil)
	k.limit = maxExport
	t, err := into[tree](ctx, c, k)
	return t.Nodes, err
}

// Node returns a federation node with its direct rules and the way to it.
func (c *Client) Node(ctx context.Context, id string) (catalog.NodeDetail, error) {
	return into[catalog.NodeDetail](ctx, c, get(nodePath(id), nil))
}

// CreateNode makes a federation node.
func (c *Client) CreateNode(ctx context.Context, n NewNode) (rule.Node, error) {
	k, err := send(http.MethodPost, federationPath, n)
	if err != nil {
		return rule.Node{}, err
	}
	return into[rule.Node](ctx, c, k)
}

// PatchNode changes the fields of a node that patch names; nil clears one.
func (c *Client) PatchNode(ctx context.Context, id string, patch map[string]any) (rule.Node, error) {
	k, err := send(http.MethodPatch, nodePath(id), patch)
	if err != nil {
		return rule.Node{}, err
	}
	return into[rule.Node](ctx, c, k)
}

// DeleteNode removes a node without children and rules.
func (c *Client) DeleteNode(ctx context.Context, id string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: nodePath(id)})
	return err
}

// AttachRule attaches a rule to a node.
func (c *Client) AttachRule(ctx context.Context, nodeID string, a Attach) (rule.Attachment, error) {
	k, err := send(http.MethodPost, nodePath(nodeID, "rules"), a)
	if err != nil {
		return rule.Attachment{}, err
	}
	return into[rule.Attachment](ctx, c, k)
}

// DetachRule takes a rule, named by id or slug, off a node.
func (c *Client) DetachRule(ctx context.Context, nodeID, ref string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: nodePath(nodeID, "rules", ref)})
	return err
}

// EffectiveRules returns what holds at a node.
func (c *Client) EffectiveRules(ctx context.Context, nodeID string) (catalog.EffectiveRules, error) {
	k := get(nodePath(nodeID, "effective-rules"), nil)
	k.limit = maxExport
	return into[catalog.EffectiveRules](ctx, c, k)
}

// DiffNode compares what holds at a node with what holds at its parent.
func (c *Client) DiffNode(ctx context.Context, nodeID string) (catalog.FederationDiff, error) {
	return into[catalog.FederationDiff](ctx, c, get(nodePath(nodeID, "diff"), nil))
}
