package store

import (
	"context"
	"time"

	"tenet/internal/rule"
)

// WaiverReader reads waivers. They are part of a project's corpus. [rule.Waiver.Status] is not stored, and left empty.
type WaiverReader interface {
	// Waiver returns one waiver, or not_found.
	Waiver(ctx context.Context, projectID, id string) (rule.Waiver, error)
	// Waivers returns a page of the waivers of a project, newest first, and how many there are; only those of a rule if ruleID
	// is not empty.
	Waivers(ctx context.Context, projectID, ruleID string, offset, limit int) ([]rule.Waiver, int, error)
	// LiveWaivers returns the waivers of a project that are not revoked and have not ended by now, newest first.
	LiveWaivers(ctx context.Context, projectID string, now time.Time) ([]rule.Waiver, error)
}

// WaiverTx writes waivers. The caller holds RaiseCorpus, so that every view takes notice.
type WaiverTx interface {
	// InsertWaiver stores a new waiver; conflict if the id is taken, not_found without the project.
	InsertWaiver(ctx context.Context, w rule.Waiver) error
	// MarkWaiver stores who has approved and who has revoked a waiver, and when; not_found without it.
	MarkWaiver(ctx context.Context, w rule.Waiver) error
}
