package store

import (
	"context"
	"time"
)

// Run is work whose result a caller asks for later. A job of the same kind does it.
type Run struct {
	ProjectID, ID string
	Kind          string
	JobID         int64
	Request       []byte // JSON
	CreatedAt     time.Time
	CreatedBy     string
	Result        []byte // JSON; empty until it has finished
	FinishedAt    *time.Time
}

// RunReader reads runs. Like jobs, they are not part of the one state that a transaction sees.
type RunReader interface {
	// Get returns a run of a kind, or not_found.
	Get(ctx context.Context, projectID, kind, id string) (Run, error)
	// Find returns a page of the runs that match f, newest first, and their total.
	Find(ctx context.Context, f RunFilter) ([]Run, int, error)
}

// RunFilter selects runs. ProjectID and Kind are required.
type RunFilter struct {
	ProjectID, Kind string
	// Mentions are ids that must all occur in the request.
	Mentions      []string
	Offset, Limit int
}

// RunTx writes runs.
type RunTx interface {
	RunReader

	// Insert stores a run; conflict if the id is taken.
	Insert(ctx context.Context, r Run) error
	// Finish stores the result of a run; not_found without it.
	Finish(ctx context.Context, projectID, id string, result []byte, at time.Time) error
	// DeleteOld removes up to limit runs of all projects that were created before a time, and returns their number.
	DeleteOld(ctx context.Context, before time.Time, limit int) (int, error)
}
