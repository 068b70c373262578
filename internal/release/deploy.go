package release

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"tenet/internal/audit"
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
// result, if the snapshot does not pass the environment's [Gates]. A key, if not empty, names the request: asked again, it is answered
// as the first time and changes nothing.
func (r *Releases) Deploy(ctx context.Context, projectID, id string, environment Environment, key string) (Deployment, error) {
	id = strings.ToLower(id)
	want := store.Deployment{Environment: string(environment), Key: key, Request: strings.Join([]string{string(Deploy), id, string(environment)}, " ")}
	// What was done already passes no gate again.
	if _, err := r.store.DeploymentByKey(ctx, projectID, key); rule.CodeOf(err) == rule.CodeNotFound {
		if err := r.pass(ctx, projectID, id, environment); err != nil {
			return Deployment{}, err
		}
	}
	made, before, err := r.step(ctx, projectID, want, func([]store.Deployment) (Action, string, error) { return Deploy, id, nil })
	d := Deployment{SnapshotID: made.SnapshotID, Environment: environment, DeployedAt: made.At}
	if before != "" {
		d.PreviousSnapshotID = &before
	}
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
// conflict if the snapshot is not active there, or if there is nothing to go back to. key is as in [Releases.Deploy].
func (r *Releases) Rollback(ctx context.Context, projectID, id string, environment Environment, key string) (RolledBack, error) {
	id = strings.ToLower(id)
	if _, err := r.store.Snapshot(ctx, projectID, id); err != nil {
		return RolledBack{}, err
	}
	want := store.Deployment{Key: key, Request: strings.Join([]string{string(Rollback), id, string(environment)}, " ")}
	if known, err := r.store.DeploymentByKey(ctx, projectID, key); err == nil {
		environment = Environment(known.Environment)
	}
	if environment == "" {
		var err error
		if environment, err = r.whereActive(ctx, projectID, id); err != nil {
			return RolledBack{}, err
		}
	}
	want.Environment = string(environment)
	made, before, err := r.step(ctx, projectID, want, func(history []store.Deployment) (Action, string, error) {
		steps := stepsOf(history)
		if Active(steps) != id {
			return "", "", rule.Errorf(rule.CodeConflict, "snapshot %s is not active in %s", id, environment)
		}
		previous := Previous(steps)
		if previous == "" {
			return "", "", rule.Errorf(rule.CodeConflict, "%s has no earlier snapshot to go back to", environment)
		}
		return Rollback, previous, nil
	})
	return RolledBack{Environment: environment, RolledBackFrom: before, RolledBackTo: made.SnapshotID, DeployedAt: made.At}, err
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

// step appends the step to which next decides of an environment's history, and shows it to readers on this node. It returns the step as it is
// stored, and the snapshot that was active before it. If the key of the request is known, it returns what that request made. next may run
// several times.
func (r *Releases) step(ctx context.Context, projectID string, want store.Deployment,
	next func(history []store.Deployment) (Action, string, error),
) (made store.Deployment, before string, err error) {
	err = r.store.Update(ctx, func(tx store.Tx) error {
		// Raising the corpus version puts all steps of a project into one order, and makes nodes look for the new one.
		if _, err := tx.RaiseCorpus(ctx, projectID); err != nil {
			return err
		}
		history, err := tx.Deployments(ctx, projectID, want.Environment)
		if err != nil {
			return err
		}
		if want.Key != "" {
			known, err := tx.DeploymentByKey(ctx, projectID, want.Key)
			if err == nil {
				made, before = known, Active(stepsOf(history[:min(len(history), int(known.Seq-1))]))
				return errKnown
			}
			if rule.CodeOf(err) != rule.CodeNotFound {
				return err
			}
		}
		before = Active(stepsOf(history))
		d := want
		action, id, err := next(history)
		if err != nil {
			return err
		}
		d.Action, d.SnapshotID = string(action), id
		d.ProjectID, d.Seq, d.By, d.At = projectID, int64(len(history)+1), auth.ActorFrom(ctx).Name, r.instant()
		if n := len(history); n > 0 && d.At.Before(history[n-1].At) {
			d.At = history[n-1].At // another node's clock runs ahead
		}
		if err := tx.AppendDeployment(ctx, d); err != nil {
			return err
		}
		made = d
		err = note(ctx, tx, projectID, d.At, map[string]any{
			"action": d.Action, "environment": d.Environment, "seq": d.Seq, "snapshot_id": d.SnapshotID,
		})
		if err != nil {
			return err
		}
		return r.tell(ctx, tx, d, before)
	})
	if errors.Is(err, errKnown) {
		return made, before, same(made, want)
	}
	if err != nil {
		return made, before, err
	}
	// The step is made even if the caller has gone, so its showing must not depend on the caller either.
	_, err = r.views.live.Refresh(context.WithoutCancel(ctx), projectID)
	return made, before, err
}

// Deployed is what is told of a deployment or rollback: the deployment that it led to, and how.
type Deployed struct {
	Deployment
	Action     Action `json:"action"`
	DeployedBy string `json:"deployed_by"`
}

// tell publishes a step. before is the snapshot that was active until then.
func (r *Releases) tell(ctx context.Context, tx store.Tx, d store.Deployment, before string) error {
	if r.publish == nil {
		return nil
	}
	data := Deployed{
		Deployment: Deployment{SnapshotID: d.SnapshotID, Environment: Environment(d.Environment), DeployedAt: d.At},
		Action:     Action(d.Action), DeployedBy: d.By,
	}
	if before != "" {
		data.PreviousSnapshotID = &before
	}
	return r.publish(ctx, tx, rule.Event{
		ID: audit.NewID(), ProjectID: d.ProjectID, Type: rule.SnapshotDeployed, Time: d.At, Data: audit.JSON(data),
	})
}

// errKnown ends a request that was carried out before.
var errKnown = errors.New("release: the request is known")

// same refuses a key that stands for another request.
func same(known, want store.Deployment) error {
	if known.Request != want.Request {
		return rule.Errorf(rule.CodeConflict, "the key %q was used for another request; use a new one", want.Key)
	}
	return nil
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
