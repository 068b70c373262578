package release

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"tenet/internal/wire"
)

// maxAwaited bounds the newest snapshots of a project that can wait for approvals.
const maxAwaited = 20

// Awaited is a snapshot that an environment's gates let pass only after more approvals.
type Awaited struct {
	ProjectID   string
	Snapshot    wire.Snapshot
	Environment string
	Needed      int // approvals
	Approvals   []wire.Approval
}

// Awaiting lists the snapshots of a project, or of all with [store.AllProjects], that wait for approvals: those newer than what is active
// in an environment whose gates demand more than they have. At most limit, by project and environment.
func (r *Releases) Awaiting(ctx context.Context, projectID string, limit int) ([]Awaited, error) {
	gated, err := r.store.Releases.Gated(ctx, projectID)
	if err != nil {
		return nil, err
	}
	var list []Awaited
	for _, e := range gated {
		var g wire.Gates
		if err := json.Unmarshal(e.Gates, &g); err != nil {
			return nil, fmt.Errorf("release: gates of %s: %w", e.Environment, err)
		}
		if g.Approvals == 0 || len(list) >= limit {
			continue
		}
		more, err := r.awaiting(ctx, e.ProjectID, e.Environment, g.Approvals)
		if err != nil {
			return nil, err
		}
		list = append(list, more[:min(len(more), limit-len(list))]...)
	}
	return list, nil
}

func (r *Releases) awaiting(ctx context.Context, projectID, environment string, needed int) ([]Awaited, error) {
	history, err := r.store.Releases.Deployments(ctx, projectID, environment)
	if err != nil {
		return nil, err
	}
	var since time.Time
	active := ""
	if len(history) > 0 {
		active = history[len(history)-1].SnapshotID
		s, err := r.store.Releases.Snapshot(ctx, projectID, active)
		if err != nil {
			return nil, err
		}
		since = s.CreatedAt
	}
	newest, _, err := r.List(ctx, projectID, 0, maxAwaited)
	if err != nil {
		return nil, err
	}
	var list []Awaited
	for _, s := range newest {
		if s.ID == active || s.CreatedAt.Before(since) {
			continue
		}
		given, err := approvals(ctx, r.store.Releases, projectID, s.ID)
		if err != nil {
			return nil, err
		}
		if len(given) < needed {
			list = append(list, Awaited{ProjectID: projectID, Snapshot: s, Environment: environment, Needed: needed, Approvals: given})
		}
	}
	return list, nil
}
