package store

import (
	"context"
	"time"

	"tenet/internal/wire"
)

// Verdict is a stored verdict of the judge.
type Verdict struct {
	ProjectID string
	Unit      string // hash of the piece of a subject, with prompt version and model
	Rule      string // hash of the rule's content
	Entry     string // the verdict, JSON; package judge defines its form
	Epoch     int64  // that of the project when the judge began; List does not set it
	CreatedAt time.Time
}

// Prune selects verdicts to delete. The zero value selects none.
type Prune struct {
	// All deletes all verdicts.
	All bool
	// Before deletes verdicts made before a time, if it is not zero.
	Before time.Time
	// MaxBytes deletes the oldest verdicts until the text of the others has at most this number of bytes, if it is not zero.
	MaxBytes int64
	// Units and Rules delete the verdicts of any of these rules on any of these units, if both are there.
	Units, Rules []string
}

// Requested reports whether somebody asked for the deletion of certain verdicts, so that no node may use them any more. Others make
// room.
func (p *Prune) Requested() bool { return p.All || !p.Before.IsZero() || len(p.Units) > 0 }

// VerdictReader reads the stored verdicts of the judge. It finds them by content, never by ids of rules or evaluations.
type VerdictReader interface {
	// List returns all verdicts of a project about any of the units.
	List(ctx context.Context, projectID string, units []string) ([]Verdict, error)
	// Epoch returns how often verdicts of a project were deleted on request.
	Epoch(ctx context.Context, projectID string) (int64, error)
	// Stats returns the number and the size of the verdicts of a project.
	Stats(ctx context.Context, projectID string) (wire.VerdictStats, error)
}

// VerdictTx writes verdicts.
type VerdictTx interface {
	VerdictReader

	// Put stores verdicts of one project. Existing ones stay unchanged, so that all nodes return the
	// same: Put returns the existing ones that differ from list. It drops verdicts of an epoch that is over.
	Put(ctx context.Context, list []Verdict) ([]Verdict, error)
	// Prune deletes verdicts of a project and returns their number. It begins a new epoch if the deletion was requested.
	Prune(ctx context.Context, projectID string, p Prune) (int64, error)
}
