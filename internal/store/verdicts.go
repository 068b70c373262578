package store

import (
	"context"
	"time"
)

// VerdictReader reads the verdicts that the judge keeps. They are found by content, never by ids of rules or evaluations.
type VerdictReader interface {
	// Verdicts returns all verdicts of a project about any of the units.
	Verdicts(ctx context.Context, projectID string, units []string) ([]Verdict, error)
	// VerdictStats tells how much is kept for a project.
	VerdictStats(ctx context.Context, projectID string) (VerdictStats, error)
}

// VerdictTx writes verdicts.
type VerdictTx interface {
	// PutVerdicts stores verdicts of one project. What is stored already stays as it is, so that all nodes come to say the
	// same: where that differs from what was to be stored, it is returned.
	PutVerdicts(ctx context.Context, list []Verdict) ([]Verdict, error)
	// PruneVerdicts deletes verdicts of a project and returns how many.
	PruneVerdicts(ctx context.Context, projectID string, p Prune) (int64, error)
}

// Verdict is a judged verdict at rest.
type Verdict struct {
	ProjectID string
	Unit      string // hash of the piece of a subject, with prompt version and model
	Rule      string // hash of the rule's content
	Entry     string // the verdict, JSON; package judge knows its form
	CreatedAt time.Time
}

// VerdictStats tells how many verdicts are kept. The times are nil if there are none.
type VerdictStats struct {
	Count  int64      `json:"count" doc:"Verdicts that are kept."`
	Bytes  int64      `json:"bytes" doc:"Bytes of their text."`
	Oldest *time.Time `json:"oldest,omitempty" doc:"When the oldest was made."`
	Newest *time.Time `json:"newest,omitempty" doc:"When the newest was made."`
}

// Prune says which verdicts to delete. The zero value deletes none.
type Prune struct {
	// All deletes all verdicts.
	All bool
	// Before deletes verdicts made before a time, if it is not zero.
	Before time.Time
	// MaxBytes deletes the oldest verdicts until the text of the others has at most so many bytes, if it is not zero.
	MaxBytes int64
}
