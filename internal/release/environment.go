package release

import (
	"context"
	"slices"
	"time"

	"tenet/internal/store"
	"tenet/internal/wire"
)

// environments reads what is live where.
type environments struct {
	releases store.ReleaseReader
	now      func() time.Time
}

// Environment returns the active snapshot and the history of an environment.
func (r *environments) Environment(ctx context.Context, projectID string, environment wire.Environment) (wire.EnvironmentState, error) {
	state := wire.EnvironmentState{Environment: environment, History: []wire.HistoryEntry{}}
	history, err := r.releases.Deployments(ctx, projectID, string(environment))
	if err != nil || len(history) == 0 {
		return state, err
	}
	names, err := named(ctx, r.releases, projectID, history)
	if err != nil {
		return state, err
	}
	for i, d := range slices.Backward(history) {
		entry := entryOf(&d, names)
		if i+1 < len(history) {
			entry.ReplacedAt = &history[i+1].At
		}
		state.History = append(state.History, entry)
	}
	state.Active = activeOf(&history[len(history)-1], names)
	return state, nil
}

// Environments returns what is live in each environment, in the order of [wire.Environments].
func (r *environments) Environments(ctx context.Context, projectID string) ([]wire.EnvironmentSummary, error) {
	all, err := r.releases.Deployments(ctx, projectID, "")
	if err != nil {
		return nil, err
	}
	of := map[wire.Environment][]store.Deployment{}
	var shown []store.Deployment
	for _, environment := range wire.Environments {
		history := inEnvironment(all, environment)
		of[environment] = history
		if len(history) > 0 {
			shown = append(shown, history[len(history)-1], store.Deployment{SnapshotID: Previous(history)})
		}
	}
	names, err := named(ctx, r.releases, projectID, shown)
	if err != nil {
		return nil, err
	}
	out := make([]wire.EnvironmentSummary, 0, len(wire.Environments))
	for _, environment := range wire.Environments {
		gates, err := r.Gates(ctx, projectID, environment)
		if err != nil {
			return nil, err
		}
		history := of[environment]
		summary := wire.EnvironmentSummary{Environment: environment, Gates: gates, Frozen: frozenAt(&gates, r.now()), Deployments: len(history)}
		if len(history) > 0 {
			summary.Active = activeOf(&history[len(history)-1], names)
		}
		if id := Previous(history); id != "" {
			summary.Previous = &wire.NamedSnapshot{SnapshotID: id, SnapshotName: names[id]}
		}
		out = append(out, summary)
	}
	return out, nil
}

func inEnvironment(all []store.Deployment, environment wire.Environment) []store.Deployment {
	var out []store.Deployment
	for _, d := range all {
		if d.Environment == string(environment) {
			out = append(out, d)
		}
	}
	return out
}

// Steps returns a page of the deployments and rollbacks of an environment, or of all if it is empty, newest first, and how many there are.
func (r *environments) Steps(ctx context.Context, projectID string, environment wire.Environment, offset, limit int) ([]wire.HistoryEntry, int, error) {
	list, total, err := r.releases.Steps(ctx, projectID, string(environment), offset, limit)
	if err != nil {
		return nil, 0, err
	}
	names, err := named(ctx, r.releases, projectID, list)
	out := make([]wire.HistoryEntry, len(list))
	for i := range list {
		out[i] = entryOf(&list[i], names)
		if environment != "" && i > 0 {
			out[i].ReplacedAt = &list[i-1].At
		}
	}
	return out, total, err
}

// named returns the names of the snapshots of deployments, by id.
func named(ctx context.Context, from store.ReleaseReader, projectID string, of []store.Deployment) (map[string]string, error) {
	ids := make([]string, 0, len(of))
	for _, d := range of {
		if d.SnapshotID != "" {
			ids = append(ids, d.SnapshotID)
		}
	}
	slices.Sort(ids)
	found, err := from.Named(ctx, projectID, slices.Compact(ids))
	names := make(map[string]string, len(found))
	for id, s := range found {
		names[id] = s.Name
	}
	return names, err
}

func entryOf(d *store.Deployment, names map[string]string) wire.HistoryEntry {
	return wire.HistoryEntry{
		Environment: wire.Environment(d.Environment), SnapshotID: d.SnapshotID, SnapshotName: names[d.SnapshotID], Action: wire.DeploymentAction(d.Action),
		DeployedAt: d.At, DeployedBy: d.By, Reason: d.Reason,
	}
}

func activeOf(d *store.Deployment, names map[string]string) *wire.ActiveSnapshot {
	return &wire.ActiveSnapshot{
		SnapshotID: d.SnapshotID, SnapshotName: names[d.SnapshotID], DeployedAt: d.At, DeployedBy: d.By, Action: wire.DeploymentAction(d.Action), Reason: d.Reason,
	}
}

// frozenAt returns the freeze that is in force at a time, or nil.
func frozenAt(g *wire.Gates, now time.Time) *wire.Freeze {
	for i := range g.Freezes {
		if f := &g.Freezes[i]; !now.Before(f.From) && now.Before(f.Until) {
			return f
		}
	}
	return nil
}
