// Package hierarchy keeps the federation of a project: nodes of organizations, teams and projects, the rules attached to them, and
// what holds at each. The laws of the tree are in package federation.
package hierarchy

import (
	"time"

	"tenet/internal/change"
	"tenet/internal/corpus"
	"tenet/internal/store"
)

// Hierarchy keeps federation nodes and the rules that are attached to them.
type Hierarchy struct {
	views       corpus.Views
	changes     *change.Changes
	now         func() time.Time
	attachments attachQueue
	approvals   Approvals     // nil for none
	db          store.Updater // for approvals
}

// New returns a Hierarchy.
func New(views corpus.Views, changes *change.Changes, now func() time.Time) *Hierarchy {
	return &Hierarchy{views: views, changes: changes, now: now}
}
