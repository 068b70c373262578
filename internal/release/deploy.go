package release

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// Deployment is the answer to a deployment.
type Deployment struct {
	SnapshotID         string      `json:"snapshot_id" doc:"The snapshot that is active now."`
	Environment        Environment `json:"environment" enum:"production,staging,development" doc:"The environment."`
	DeployedAt         time.Time   `json:"deployed_at" doc:"Since when."`
	PreviousSnapshotID *string     `json:"previous_snapshot_id" doc:"The snapshot that was active before; null if there was none."`
}

// Deploy makes a snapshot active in an environment. Many at once are put into one order. It is a conflict, which names every gate's
// result, if the snapshot does not pass the environment's [Gates].
func (r *Releases) Deploy(ctx context.Context, projectID, id string, environment Environment) (Deployment, error) {
	if err := r.pass(ctx, projectID, id, environment); err != nil {
		return Deployment{}, err
	}
	d := Deployment{Environment: environment}
	err := r.step(ctx, projectID, environment, func(tx store.Tx, history []store.Deployment) (store.Deployment, error) {
		d.PreviousSnapshotID = nil
		if n := len(history); n > 0 {
			d.PreviousSnapshotID = &history[n-1].SnapshotID
		}
		return store.Deployment{Action: string(Deploy), SnapshotID: strings.ToLower(id)}, nil
	}, func(step store.Deployment) { d.SnapshotID, d.DeployedAt = step.SnapshotID, step.At })
	return d, err
}

// RolledBack is the answer to a rollback.
type RolledBack struct {
	Environment    Environment `json:"environment" enum:"production,staging,development" doc:"The environment."`
	RolledBackFrom string      `json:"rolled_back_from" doc:"The snapshot that was active before."`
	RolledBackTo   string      `json:"rolled_back_to" doc:"The snapshot that is active now."`
	DeployedAt     time.Time   `json:"deployed_at" doc:"Since when."`
}

// Rollback takes back the deployment of a snapshot that is active in an environment, or, if environment is empty, in just one. It is a
// conflict if the snapshot is not active there, or if there is nothing to go back to.
func (r *Releases) Rollback(ctx context.Context, projectID, id string, environment Environment) (RolledBack, error) {
	id = strings.ToLower(id)
	if _, err := r.store.Snapshot(ctx, projectID, id); err != nil {
		return RolledBack{}, err
	}
	if environment == "" {
		var err error
		if environment, err = r.whereActive(ctx, projectID, id); err != nil {
			return RolledBack{}, err
		}
	}
	back := RolledBack{Environment: environment, RolledBackFrom: id}
	err := r.step(ctx, projectID, environment, func(_ store.Tx, history []store.Deployment) (store.Deployment, error) {
		steps := stepsOf(history)
		if active := Active(steps); active != id {
			return store.Deployment{}, rule.Errorf(rule.CodeConflict, "snapshot %s is not active in %s", id, environment)
		}
		previous := Previous(steps)
		if previous == "" {
			return store.Deployment{}, rule.Errorf(rule.CodeConflict, "%s has no earlier snapshot to go back to", environment)
		}
		return store.Deployment{Action: string(Rollback), SnapshotID: previous}, nil
	}, func(step store.Deployment) { back.RolledBackTo, back.DeployedAt = step.SnapshotID, step.At })
	return back, err
}

// whereActive finds the one environment in which a snapshot is active.
func (r *Releases) whereActive(ctx context.Context, projectID, id string) (Environment, error) {
	history, err := r.store.Deployments(ctx, projectID, "")
	if err != nil {
		return "", err
	}
	var found []string
	for _, p := range places(id, history) {
		if p.Active {
			found = append(found, string(p.Environment))
		}
	}
	switch len(found) {
	case 0:
		return "", rule.Errorf(rule.CodeConflict, "snapshot %s is not active in any environment, so there is nothing to roll back", id)
	case 1:
		return Environment(found[0]), nil
	}
	slices.Sort(found)
	return "", rule.Errorf(rule.CodeConflict, "snapshot %s is active in %s; say which one to roll back with ?environment=", id, strings.Join(found, " and "))
}

// step appends the step that next makes of an environment's history, and shows it to readers on this node. done gets the step as it was
// stored; next may run several times.
func (r *Releases) step(ctx context.Context, projectID string, environment Environment,
	next func(store.Tx, []store.Deployment) (store.Deployment, error), done func(store.Deployment),
) error {
	var made store.Deployment
	err := r.store.Update(ctx, func(tx store.Tx) error {
		// Raising the corpus version puts all steps of a project into one order, and makes nodes look for the new one.
		if _, err := tx.RaiseCorpus(ctx, projectID); err != nil {
			return err
		}
		history, err := tx.Deployments(ctx, projectID, string(environment))
		if err != nil {
			return err
		}
		d, err := next(tx, history)
		if err != nil {
			return err
		}
		d.ProjectID, d.Environment, d.Seq, d.By = projectID, string(environment), int64(len(history)+1), auth.ActorFrom(ctx).Name
		d.At = r.instant()
		if n := len(history); n > 0 && d.At.Before(history[n-1].At) {
			d.At = history[n-1].At // another node's clock runs ahead
		}
		if err := tx.AppendDeployment(ctx, d); err != nil {
			return err
		}
		made = d
		return note(ctx, tx, projectID, d.At, map[string]any{
			"action": d.Action, "environment": d.Environment, "seq": d.Seq, "snapshot_id": d.SnapshotID,
		})
	})
	if err != nil {
		return err
	}
	done(made)
	// The step is made even if the caller has gone, so its showing must not depend on the caller either.
	_, err = r.views.live.Refresh(context.WithoutCancel(ctx), projectID)
	return err
}

func stepsOf(history []store.Deployment) []Step {
	steps := make([]Step, len(history))
	for i, d := range history {
		steps[i] = Step{Seq: d.Seq, Action: Action(d.Action), SnapshotID: d.SnapshotID, At: d.At, By: d.By}
	}
	return steps
}

// ActiveDeployment is a snapshot that is active in an environment.
type ActiveDeployment struct {
	Environment Environment `json:"environment" enum:"production,staging,development" doc:"The environment."`
	SnapshotID  string      `json:"snapshot_id" doc:"The snapshot that is active there."`
	DeployedAt  time.Time   `json:"deployed_at" doc:"Since when."`
}

// Active lists the environments that have an active snapshot, in the order of [Environments].
func (r *Releases) Active(ctx context.Context, projectID string) ([]ActiveDeployment, error) {
	return activeDeployments(ctx, r.store, projectID)
}

func activeDeployments(ctx context.Context, from store.Reader, projectID string) ([]ActiveDeployment, error) {
	history, err := from.Deployments(ctx, projectID, "")
	if err != nil {
		return nil, err
	}
	out := []ActiveDeployment{}
	for i, d := range history {
		if i+1 == len(history) || history[i+1].Environment != d.Environment {
			out = append(out, ActiveDeployment{Environment(d.Environment), d.SnapshotID, d.At})
		}
	}
	slices.SortFunc(out, func(a, b ActiveDeployment) int {
		return slices.Index(Environments, a.Environment) - slices.Index(Environments, b.Environment)
	})
	return out, nil
}

// EnvironmentState is an environment with its history.
type EnvironmentState struct {
	Environment Environment     `json:"environment" enum:"production,staging,development" doc:"The environment."`
	Active      *ActiveSnapshot `json:"active" doc:"The active snapshot; null if nothing was ever deployed."`
	History     []HistoryEntry  `json:"history" nullable:"false" doc:"All deployments and rollbacks, newest first."`
}

// ActiveSnapshot is the snapshot that is active in an environment.
type ActiveSnapshot struct {
	SnapshotID   string    `json:"snapshot_id" doc:"The snapshot."`
	SnapshotName string    `json:"snapshot_name" doc:"Its name."`
	DeployedAt   time.Time `json:"deployed_at" doc:"Since when."`
	DeployedBy   string    `json:"deployed_by" doc:"By whom."`
}

// HistoryEntry is one deployment or rollback.
type HistoryEntry struct {
	SnapshotID string     `json:"snapshot_id" doc:"The snapshot that became active."`
	Action     Action     `json:"action" enum:"deploy,rollback" doc:"What made it active."`
	DeployedAt time.Time  `json:"deployed_at" doc:"Since when."`
	DeployedBy string     `json:"deployed_by" doc:"By whom."`
	ReplacedAt *time.Time `json:"replaced_at" doc:"Until when; null for the active one."`
}

// Environment returns the active snapshot and the history of an environment.
func (r *Releases) Environment(ctx context.Context, projectID string, environment Environment) (EnvironmentState, error) {
	state := EnvironmentState{Environment: environment, History: []HistoryEntry{}}
	history, err := r.store.Deployments(ctx, projectID, string(environment))
	if err != nil || len(history) == 0 {
		return state, err
	}
	for i, d := range slices.Backward(history) {
		entry := HistoryEntry{SnapshotID: d.SnapshotID, Action: Action(d.Action), DeployedAt: d.At, DeployedBy: d.By}
		if i+1 < len(history) {
			entry.ReplacedAt = &history[i+1].At
		}
		state.History = append(state.History, entry)
	}
	last := history[len(history)-1]
	s, err := r.store.Snapshot(ctx, projectID, last.SnapshotID)
	state.Active = &ActiveSnapshot{SnapshotID: s.ID, SnapshotName: s.Name, DeployedAt: last.At, DeployedBy: last.By}
	return state, err
}

// sortNewest orders a list by time, newest first; equal times keep their order.
func sortNewest[T any](list []T, at func(T) time.Time) {
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(at(b).UnixNano(), at(a).UnixNano()) })
}
