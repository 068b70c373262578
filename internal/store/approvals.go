package store

import (
	"context"
	"time"

	"tenet/internal/rule"
)

// ApprovalRecord is an approval as it is stored. URL and Actions are derived, and left empty.
type ApprovalRecord struct {
	rule.Approval

	// LinkKey signs the links to the approval. It is not shown to callers.
	LinkKey string
}

// ApprovalFilter selects approvals; empty fields select everything. ProjectID and Limit are required.
type ApprovalFilter struct {
	ProjectID string
	// States are those at Now: when its time has run out, a pending approval is rejected and an approved one expired, whether that is stored or not.
	States       []rule.ApprovalState
	Now          time.Time
	Requester    string
	RuleID       string
	EvaluationID string
	Repository   string
	Agent        string
	Person       string
	Session      string
	Scope        string          // this scope or one below it
	Severities   []rule.Severity // one of these
	Since, Until *time.Time      // Since <= CreatedAt < Until
	// Before selects the approvals behind this one in the list.
	Before string
	Offset int
	Limit  int
}

// ApprovalReader reads approvals.
type ApprovalReader interface {
	// Get returns an approval, or not_found.
	Get(ctx context.Context, projectID, id string) (ApprovalRecord, error)
	// Find returns a page of the approvals that match f, newest first, and the total of those that match f without Before.
	Find(ctx context.Context, f ApprovalFilter) ([]ApprovalRecord, int, error)
	// Open returns the approvals of a subject that are pending or approved, oldest first, whether their time has run out or not.
	Open(ctx context.Context, projectID, subjectHash string) ([]ApprovalRecord, error)
	// Due returns up to limit approvals of all projects for which the time has come to expire or to be escalated.
	Due(ctx context.Context, now time.Time, limit int) ([]ApprovalRecord, error)
	// Revisions returns the revisions of approvals of a project by id, without those that do not exist.
	Revisions(ctx context.Context, projectID string, ids []string) (map[string]int, error)
}

// ApprovalTx writes approvals.
type ApprovalTx interface {
	ApprovalReader

	// Insert stores a new approval; conflict if the id is taken, not_found without the project.
	Insert(ctx context.Context, a ApprovalRecord) error
	// Hold keeps everybody else from changing an approval until the transaction ends, by a statement of their own too; not_found without it.
	Hold(ctx context.Context, projectID, id string) error
	// Update stores the new state of an approval whose stored revision is the one before a.Revision; conflict if it is another.
	Update(ctx context.Context, a ApprovalRecord) error
}
