package store

import (
	"context"
	"time"
)

// Run is work that somebody asked for and whose result they come back for. A job of the same kind does it.
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

// RunReader reads runs. Runs stand for themselves, as jobs do.
type RunReader interface {
	// Run returns a run of a kind, or not_found.
	Run(ctx context.Context, projectID, kind, id string) (Run, error)
}

// RunTx writes runs.
type RunTx interface {
	// InsertRun stores a run; conflict if the id is taken.
	InsertRun(ctx context.Context, r Run) error
	// FinishRun stores the result of a run; not_found without it.
	FinishRun(ctx context.Context, projectID, id string, result []byte, at time.Time) error
	// DeleteRuns removes up to limit runs of all projects that were asked for before a time, and returns how many.
	DeleteRuns(ctx context.Context, before time.Time, limit int) (int, error)
}
