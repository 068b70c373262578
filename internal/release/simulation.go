package release

import (
	"context"

	"tenet/internal/auth"
	"tenet/internal/job"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// SimulateKind is the kind of the jobs that simulate in the background.
const SimulateKind = "snapshots.simulate"

func simulationRunOf(r job.Run[wire.SimulateRequest, wire.Simulation]) wire.SimulationRun {
	if s := r.Result; s != nil {
		n := s.VerdictChanges.TotalSampled + len(s.NotReplayed)
		r.Progress = wire.Progress{Done: n, Total: n}
	}
	return wire.SimulationRun{
		ID: r.ID, JobID: r.JobID, State: r.State, Progress: r.Progress, Request: r.Request, CreatedAt: r.CreatedAt, CreatedBy: r.CreatedBy,
		FinishedAt: r.FinishedAt, Error: r.Error, Result: r.Result,
	}
}

// StartSimulation has a simulation done in the background. It fails at once as [Releases.Simulate] does for what is asked;
// not_found without one of the snapshots.
func (r *Releases) StartSimulation(ctx context.Context, projectID string, q wire.SimulateRequest) (wire.SimulationRun, error) {
	if err := normalizeSimulate(&q); err != nil {
		return wire.SimulationRun{}, err
	}
	for _, id := range []string{q.SnapshotID, q.CompareTo} {
		if _, err := r.store.Releases.Snapshot(ctx, projectID, id); err != nil {
			return wire.SimulationRun{}, err
		}
	}
	run, err := r.runs.Start(ctx, projectID, auth.ActorFrom(ctx).Name, q)
	return simulationRunOf(run), err
}

// GetSimulation returns a simulation in the background as far as it has come, or not_found.
func (r *Releases) GetSimulation(ctx context.Context, projectID, id string) (wire.SimulationRun, error) {
	run, err := r.runs.Get(ctx, projectID, id)
	if err != nil {
		return wire.SimulationRun{}, err
	}
	out := []wire.SimulationRun{simulationRunOf(run)}
	err = r.nameSides(ctx, projectID, out)
	return out[0], err
}

// nameSides fills in the names of the snapshots of simulations.
func (r *Releases) nameSides(ctx context.Context, projectID string, runs []wire.SimulationRun) error {
	var ids []store.Deployment
	for i := range runs {
		ids = append(ids, store.Deployment{SnapshotID: runs[i].Request.SnapshotID}, store.Deployment{SnapshotID: runs[i].Request.CompareTo})
	}
	names, err := named(ctx, r.store.Releases, projectID, ids)
	for i := range runs {
		runs[i].SnapshotName, runs[i].CompareName = names[runs[i].Request.SnapshotID], names[runs[i].Request.CompareTo]
	}
	return err
}

// Simulations returns a page of the simulations in the background, newest first, and how many there are; with a snapshot, only those of it or
// against it. Their results lack the lists of evaluations.
func (r *Releases) Simulations(ctx context.Context, projectID, snapshotID string, offset, limit int) ([]wire.SimulationRun, int, error) {
	var mentions []string
	if snapshotID != "" {
		mentions = []string{snapshotID}
	}
	found, total, err := r.runs.Find(ctx, projectID, mentions, offset, limit)
	out := make([]wire.SimulationRun, len(found))
	for i := range found {
		out[i] = simulationRunOf(found[i])
		if s := out[i].Result; s != nil {
			s.Examples, s.Flips, s.NotReplayed = []wire.VerdictChange{}, nil, []wire.NotReplayed{}
		}
	}
	if err != nil {
		return nil, 0, err
	}
	return out, total, r.nameSides(ctx, projectID, out)
}

// maxSought bounds the simulations of a pair of snapshots among which the newest finished one is looked for.
const maxSought = 20

// lastSimulation returns the newest finished simulation of a snapshot against another one.
func (r *Releases) lastSimulation(ctx context.Context, projectID, id, active string) (wire.SimulationRun, bool, error) {
	found, _, err := r.runs.Find(ctx, projectID, []string{id, active}, 0, maxSought)
	for i := range found {
		run := simulationRunOf(found[i])
		if run.Result != nil && !run.Request.DryRun && run.Request.SnapshotID == id && run.Request.CompareTo == active {
			return run, true, err
		}
	}
	return wire.SimulationRun{}, false, err
}

// HandleSimulation is the handler of the jobs of [SimulateKind].
func (r *Releases) HandleSimulation(ctx context.Context, j wire.Job, progress func(done, total int)) error {
	return r.runs.Handle(ctx, j, progress)
}
