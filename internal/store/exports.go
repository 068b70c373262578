package store

import "context"

// ExportReader reads how far the audit chains of projects have been exported.
type ExportReader interface {
	// Position returns the last entry of a project's chain that a place has; 0 without any.
	Position(ctx context.Context, projectID, place string) (int64, error)
}

// ExportTx writes positions of exports.
type ExportTx interface {
	ExportReader

	// Move sets the last entry that a place has. It never moves back.
	Move(ctx context.Context, projectID, place string, seq int64) error
}
