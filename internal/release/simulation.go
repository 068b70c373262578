package release

import (
	"context"
	"time"

	"tenet/internal/auth"
	"tenet/internal/job"
)

// SimulateKind is the kind of the jobs that simulate in the background.
const SimulateKind = "snapshots.simulate"

// SimulationRun is a simulation that goes on in the background.
type SimulationRun struct {
	ID         string          `json:"id" doc:"Identifier."`
	JobID      int64           `json:"job_id" doc:"The job that does it."`
	State      string          `json:"state" enum:"queued,running,succeeded,failed,cancelled" doc:"State of the job."`
	Progress   job.Progress    `json:"progress" doc:"Evaluations replayed, and evaluations in the sample."`
	Request    SimulateRequest `json:"request" doc:"What was asked."`
	CreatedAt  time.Time       `json:"created_at" doc:"When it was asked for."`
	CreatedBy  string          `json:"created_by" doc:"Actor that asked for it."`
	FinishedAt *time.Time      `json:"finished_at,omitempty" doc:"When it had finished."`
	Error      string          `json:"error,omitempty" doc:"Why it failed."`
	Result     *Simulation     `json:"result,omitempty" doc:"What it has found, once it has finished."`
}

func simulationRunOf(r job.Run[SimulateRequest, Simulation]) SimulationRun {
	if s := r.Result; s != nil {
		n := s.VerdictChanges.TotalSampled + len(s.NotReplayed)
		r.Progress = job.Progress{Done: n, Total: n}
	}
	return SimulationRun{
		ID: r.ID, JobID: r.JobID, State: r.State, Progress: r.Progress, Request: r.Request, CreatedAt: r.CreatedAt, CreatedBy: r.CreatedBy,
		FinishedAt: r.FinishedAt, Error: r.Error, Result: r.Result,
	}
}

// StartSimulation has a simulation done in the background. It fails at once as [Releases.Simulate] does for what is asked;
// not_found without one of the snapshots.
func (r *Releases) StartSimulation(ctx context.Context, projectID string, q SimulateRequest) (SimulationRun, error) {
	if err := q.normalize(); err != nil {
		return SimulationRun{}, err
	}
	for _, id := range []string{q.SnapshotID, q.CompareTo} {
		if _, err := r.store.Snapshot(ctx, projectID, id); err != nil {
			return SimulationRun{}, err
		}
	}
	run, err := r.runs.Start(ctx, projectID, auth.ActorFrom(ctx).Name, q)
	return simulationRunOf(run), err
}

// GetSimulation returns a simulation in the background as far as it has come, or not_found.
func (r *Releases) GetSimulation(ctx context.Context, projectID, id string) (SimulationRun, error) {
	run, err := r.runs.Get(ctx, projectID, id)
	return simulationRunOf(run), err
}

// HandleSimulation is the handler of the jobs of [SimulateKind].
func (r *Releases) HandleSimulation(ctx context.Context, j job.Job, progress func(done, total int)) error {
	return r.runs.Handle(ctx, j, progress)
}

// simulate is Simulate for the job.
func (r *Releases) simulate(ctx context.Context, projectID string, q SimulateRequest, progress func(done, total int)) (Simulation, error) {
	s, err := r.Simulate(ctx, projectID, q, progress)
	if err != nil {
		return Simulation{}, err
	}
	return *s, nil
}
