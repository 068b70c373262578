package store

import (
	"context"
	"time"

	"tenet/internal/rule"
)

// WaiverSpan selects waivers by a time. ProjectID and Limit are required.
type WaiverSpan struct {
	ProjectID string
	// Made selects those that were made in the span; else those that end in it and are not revoked.
	Made        bool
	From, Until time.Time // From <= time < Until
	Offset      int
	Limit       int
}

// WaiverReader reads waivers. They are part of a project's corpus. [rule.Waiver.Status] is not stored, and left empty.
type WaiverReader interface {
	// Get returns one waiver, or not_found.
	Get(ctx context.Context, projectID, id string) (rule.Waiver, error)
	// List returns a page of the waivers of a project, newest first, and their total; only those of a rule if ruleID
	// is not empty.
	List(ctx context.Context, projectID, ruleID string, offset, limit int) ([]rule.Waiver, int, error)
	// Within returns the waivers of a span in the order of that time, from its offset up to its limit, and their total.
	Within(ctx context.Context, s WaiverSpan) ([]rule.Waiver, int, error)
	// ListLive returns the waivers of a project that are not revoked and have not ended by now, newest first.
	ListLive(ctx context.Context, projectID string, now time.Time) ([]rule.Waiver, error)
}

// WaiverTx writes waivers. The caller holds the lock of [ProjectTx.RaiseCorpus], so that every view reads the change.
type WaiverTx interface {
	WaiverReader

	// Insert stores a new waiver; conflict if the id is taken, not_found without the project.
	Insert(ctx context.Context, w rule.Waiver) error
	// Mark stores who has approved and who has revoked a waiver, and when; not_found without it.
	Mark(ctx context.Context, w rule.Waiver) error
}
