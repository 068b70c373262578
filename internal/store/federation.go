package store

import (
	"context"

	"tenet/internal/rule"
)

// FederationReader reads federation nodes and what is attached to them. They are part of a project's corpus.
type FederationReader interface {
	// Follow is Changes with the federation: after the rules it calls onNode for every node, and then onAttachment for every
	// attachment, that has changed after the corpus version `after`, each in order of their ids. What was removed comes too,
	// as removed, unless after is 0. All is read from one committed state, whose corpus version is returned.
	Follow(ctx context.Context, projectID string, after int64, onRule func(RuleState) error, onNode func(NodeState) error,
		onAttachment func(AttachmentState) error) (int64, error)
}

// FederationTx writes federation nodes and attachments. Whether a node may stand where it is put is for the caller to say.
type FederationTx interface {
	// InsertNodes stores new nodes at corpus version cv, parents before their children; conflict if an id is taken.
	InsertNodes(ctx context.Context, projectID string, cv int64, nodes []rule.Node) error
	// UpdateNode replaces a node; not_found without it.
	UpdateNode(ctx context.Context, projectID string, cv int64, n rule.Node) error
	// RemoveNode removes a node with its attachments; not_found without it.
	RemoveNode(ctx context.Context, projectID string, cv int64, id string) error
	// InsertAttachments attaches rules to nodes; conflict if one is attached there already, not_found without the node or the
	// rule.
	InsertAttachments(ctx context.Context, projectID string, cv int64, list []rule.Attachment) error
	// RemoveAttachment takes a rule off a node; not_found if it is not attached there.
	RemoveAttachment(ctx context.Context, projectID string, cv int64, nodeID, ruleID string) error
}

// NodeState is a node, or that there is none of its id any more.
type NodeState struct {
	Node    rule.Node
	Removed bool
}

// AttachmentState is an attachment, or that the rule is no longer attached to the node.
type AttachmentState struct {
	Attachment rule.Attachment
	Removed    bool
}
