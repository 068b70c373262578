package release

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"tenet/internal/store"
	"tenet/internal/wire"
)

// maxAwaited bounds the newest snapshots of a project that can wait for approvals.
const maxAwaited = 20

// Awaited is a snapshot that an environment's gates let pass only after more approvals.
type Awaited struct {
	ProjectID   string
	Snapshot    store.Snapshot // without its manifest
	Environment string
	Needed      int // approvals
	Approvals   []wire.Approval
}

// Awaiting lists the snapshots of a project, or of all with [store.AllProjects], that wait for approvals: those newer than what is active
// in an environment whose gates demand more than they have. At most limit, by project and environment.
func Awaiting(ctx context.Context, from store.ReleaseReader, projectID string, limit int) ([]Awaited, error) {
	gated, err := from.Gated(ctx, projectID)
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
		more, err := awaiting(ctx, from, e.ProjectID, e.Environment, g.Approvals)
		if err != nil {
			return nil, err
		}
		list = append(list, more[:min(len(more), limit-len(list))]...)
	}
	return list, nil
}

func awaiting(ctx context.Context, from store.ReleaseReader, projectID, environment string, needed int) ([]Awaited, error) {
	history, err := from.Deployments(ctx, projectID, environment)
	if err != nil {
		return nil, err
	}
	var since time.Time
	active := ""
	if len(history) > 0 {
		active = history[len(history)-1].SnapshotID
		s, err := from.Snapshot(ctx, projectID, active)
		if err != nil {
			return nil, err
		}
		since = s.CreatedAt
	}
	newest, _, err := from.Snapshots(ctx, projectID, 0, maxAwaited)
	if err != nil {
		return nil, err
	}
	var list []Awaited
	for _, s := range newest {
		if s.ID == active || s.CreatedAt.Before(since) {
			continue
		}
		given, err := approvals(ctx, from, projectID, s.ID)
		if err != nil {
			return nil, err
		}
		if len(given) < needed {
			list = append(list, Awaited{ProjectID: projectID, Snapshot: s, Environment: environment, Needed: needed, Approvals: given})
		}
	}
	return list, nil
}
