package edge

import (
	"context"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// releases has one snapshot, which is active in the environment of the bundle.
type releases struct{ c *Corpus }

// Snapshot implements [store.ReleaseReader].
func (r releases) Snapshot(_ context.Context, projectID, id string) (store.Snapshot, error) {
	h, err := r.c.of(projectID)
	if err != nil {
		return store.Snapshot{}, err
	}
	if h.Contents.Snapshot.ID != id {
		return store.Snapshot{}, rule.NotFound("snapshot", id)
	}
	s := h.Contents.Snapshot
	s.Manifest = h.manifest
	return s, nil
}

// Snapshots implements [store.ReleaseReader].
func (r releases) Snapshots(_ context.Context, projectID string, offset, limit int) ([]store.Snapshot, int, error) {
	h, err := r.c.of(projectID)
	if err != nil {
		return nil, 0, err
	}
	return window([]store.Snapshot{h.Contents.Snapshot}, offset, limit), 1, nil
}

// Deployments implements [store.ReleaseReader].
func (r releases) Deployments(_ context.Context, projectID, environment string) ([]store.Deployment, error) {
	h, err := r.c.of(projectID)
	if err != nil || environment != "" && environment != h.head.Environment {
		return []store.Deployment{}, err
	}
	return []store.Deployment{{
		ProjectID: projectID, Environment: h.head.Environment, Seq: 1, Action: "deploy", SnapshotID: h.head.Snapshot, At: h.head.Built,
	}}, nil
}

// Named implements [store.ReleaseReader].
func (r releases) Named(_ context.Context, projectID string, ids []string) (map[string]store.Snapshot, error) {
	h, err := r.c.of(projectID)
	if err != nil {
		return nil, err
	}
	found := map[string]store.Snapshot{}
	for _, id := range ids {
		if id == h.Contents.Snapshot.ID {
			found[id] = h.Contents.Snapshot
		}
	}
	return found, nil
}

// Steps implements [store.ReleaseReader].
func (r releases) Steps(ctx context.Context, projectID, environment string, offset, limit int) ([]store.Deployment, int, error) {
	list, err := r.Deployments(ctx, projectID, environment)
	return window(list, offset, limit), len(list), err
}

// DeploymentByKey implements [store.ReleaseReader].
func (releases) DeploymentByKey(_ context.Context, _, key string) (store.Deployment, error) {
	return store.Deployment{}, rule.NotFound("deployment", key)
}

// Gates implements [store.ReleaseReader].
func (releases) Gates(context.Context, string, string) ([]byte, error) { return nil, nil }

// Gated implements [store.ReleaseReader].
func (releases) Gated(context.Context, string) ([]store.GatedEnvironment, error) {
	return []store.GatedEnvironment{}, nil
}

// Approvals implements [store.ReleaseReader].
func (releases) Approvals(context.Context, string, string) ([]store.Approval, error) {
	return []store.Approval{}, nil
}
