package store

import (
	"context"

	"tenet/internal/rule"
)

// NodeState is a node, or the mark of a removed one.
type NodeState struct {
	Node    rule.Node
	Removed bool
}

// AttachmentState is an attachment, or the mark of a removed one.
type AttachmentState struct {
	Attachment rule.Attachment
	Removed    bool
}

// FederationReader reads federation nodes and their attachments. They are part of a project's corpus.
type FederationReader interface {
	// Follow is [RuleReader.Changes] with the federation: after the rules it calls onNode for every node, and then onAttachment for every
	// attachment, that has changed after the corpus version `after`, each in order of their ids. Unless after is 0, it also
	// calls them for removed ones. It reads one committed state and returns its corpus version.
	Follow(ctx context.Context, projectID string, after int64, onRule func(RuleState) error, onNode func(NodeState) error,
		onAttachment func(AttachmentState) error) (int64, error)
}

// FederationTx writes federation nodes and attachments. The caller decides whether a node may have its parent.
type FederationTx interface {
	FederationReader

	// InsertNodes stores new nodes at corpus version cv, parents before their children; conflict if an id is taken.
	InsertNodes(ctx context.Context, projectID string, cv int64, nodes []rule.Node) error
	// UpdateNode replaces a node; not_found without it.
	UpdateNode(ctx context.Context, projectID string, cv int64, n rule.Node) error
	// RemoveNode removes a node with its attachments; not_found without it.
	RemoveNode(ctx context.Context, projectID string, cv int64, id string) error
	// InsertAttachments attaches rules to nodes; conflict if one is attached to the node already, not_found without the node or the
	// rule.
	InsertAttachments(ctx context.Context, projectID string, cv int64, list []rule.Attachment) error
	// RemoveAttachment detaches a rule from a node; not_found if it is not attached.
	RemoveAttachment(ctx context.Context, projectID string, cv int64, nodeID, ruleID string) error
}
