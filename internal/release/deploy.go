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
	"tenet/internal/wire"
)

// Deploy makes a snapshot active in an environment. Many at once are put into one order. It is a conflict, which names every gate's
// result, if the snapshot does not pass the environment's [wire.Gates]. A key, if not empty, names the request: asked again, it is answered
// as the first time and changes nothing. Deploying the snapshot that is active changes nothing, passes no gate and keeps no key.
func (r *Releases) Deploy(ctx context.Context, projectID, id string, environment wire.Environment, reason, key string) (wire.Deployment, error) {
	id = strings.ToLower(id)
	want := store.Deployment{Environment: string(environment), Reason: strings.TrimSpace(reason), Key: key, Request: strings.Join([]string{string(wire.ActionDeploy), id, string(environment)}, " ")}
	var passed *passage
	var active wire.Deployment // what is answered if the snapshot is active
	next := func(tx store.Tx, history []store.Deployment) (wire.DeploymentAction, string, error) {
		if Active(history) == id {
			active = wire.Deployment{
				SnapshotID: id, Environment: environment, DeployedAt: history[len(history)-1].At, PreviousSnapshotID: optional(Previous(history)), Unchanged: true,
			}
			return "", "", errUnchanged
		}
		if passed == nil {
			return "", "", errGates
		}
		holds, err := passed.holds(ctx, tx, projectID, environment, history, r.instant())
		if err == nil && !holds {
			err = errGates
		}
		return wire.ActionDeploy, id, err
	}
	made, before, err := r.step(ctx, projectID, want, next)
	for try := 0; errors.Is(err, errGates); try++ {
		if try == maxPassages {
			return wire.Deployment{}, rule.Errorf(rule.CodeConflict, "the gates of %s, or the snapshot that is active there, change while they are passed; try again later", environment)
		}
		// Gates take their time, so they are passed outside of the step's transaction, which looks whether they still are the same.
		if passed, err = r.pass(ctx, projectID, id, environment); err != nil {
			return wire.Deployment{}, err
		}
		made, before, err = r.step(ctx, projectID, want, next)
	}
	if errors.Is(err, errUnchanged) {
		return active, nil
	}
	return wire.Deployment{SnapshotID: made.SnapshotID, Environment: environment, DeployedAt: made.At, PreviousSnapshotID: optional(before)}, err
}

// maxPassages bounds how often a deployment passes gates that change meanwhile.
const maxPassages = 5

// optional returns nil for an empty id.
func optional(id string) *string {
	if id == "" {
		return nil
	}
	return &id
}

// Rollback takes back the deployment of a snapshot that is active in an environment, or, if environment is empty, in just one. It is a
// conflict if the snapshot is not active there, or if no earlier one is left to go back to. key is as in [Releases.Deploy].
func (r *Releases) Rollback(ctx context.Context, projectID, id string, environment wire.Environment, reason, key string) (wire.RolledBack, error) {
	id = strings.ToLower(id)
	if _, err := r.store.Releases.Snapshot(ctx, projectID, id); err != nil {
		return wire.RolledBack{}, err
	}
	want := store.Deployment{Reason: strings.TrimSpace(reason), Key: key, Request: strings.Join([]string{string(wire.ActionRollback), id, string(environment)}, " ")}
	if earlier, err := r.store.Releases.DeploymentByKey(ctx, projectID, key); err == nil {
		environment = wire.Environment(earlier.Environment)
	}
	if environment == "" {
		var err error
		if environment, err = whereActive(ctx, r.store.Releases, projectID, id); err != nil {
			return wire.RolledBack{}, err
		}
	}
	want.Environment = string(environment)
	made, before, err := r.step(ctx, projectID, want, func(_ store.Tx, history []store.Deployment) (wire.DeploymentAction, string, error) {
		if Active(history) != id {
			return "", "", rule.Errorf(rule.CodeConflict, "snapshot %s is not active in %s", id, environment)
		}
		previous := Previous(history)
		if previous == "" {
			return "", "", rule.Errorf(rule.CodeConflict, "%s has no earlier snapshot to go back to", environment)
		}
		return wire.ActionRollback, previous, nil
	})
	return wire.RolledBack{Environment: environment, RolledBackFrom: before, RolledBackTo: made.SnapshotID, DeployedAt: made.At}, err
}

// whereActive finds the one environment in which a snapshot is active.
func whereActive(ctx context.Context, from store.ReleaseReader, projectID, id string) (wire.Environment, error) {
	history, err := from.Deployments(ctx, projectID, "")
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
		return wire.Environment(found[0]), nil
	}
	slices.Sort(found)
	return "", rule.Errorf(rule.CodeConflict, "snapshot %s is active in %s; say which one to roll back with ?environment=", id, strings.Join(found, " and "))
}

// step appends the step to which next decides of an environment's history, and shows it to readers on this node. It returns the step as it is
// stored, and the snapshot that was active before it. If the key of the request is known, it returns what that request made. next may run
// several times.
func (r *Releases) step(ctx context.Context, projectID string, want store.Deployment,
	next func(tx store.Tx, history []store.Deployment) (wire.DeploymentAction, string, error),
) (made store.Deployment, before string, err error) {
	err = r.store.Update(ctx, func(tx store.Tx) error {
		// Raising the corpus version puts all steps of a project into one order, and makes nodes look for the new one.
		if _, err := tx.Projects.RaiseCorpus(ctx, projectID); err != nil {
			return err
		}
		history, err := tx.Releases.Deployments(ctx, projectID, want.Environment)
		if err != nil {
			return err
		}
		if want.Key != "" {
			earlier, err := tx.Releases.DeploymentByKey(ctx, projectID, want.Key)
			if err == nil {
				made, before = earlier, Active(history[:min(len(history), int(earlier.Seq-1))])
				return errRepeated
			}
			if rule.CodeOf(err) != rule.CodeNotFound {
				return err
			}
		}
		before = Active(history)
		d := want
		action, id, err := next(tx, history)
		if err != nil {
			return err
		}
		d.Action, d.SnapshotID = string(action), id
		d.ProjectID, d.Seq, d.By, d.At = projectID, int64(len(history)+1), auth.ActorFrom(ctx).Name, r.instant()
		if n := len(history); n > 0 && d.At.Before(history[n-1].At) {
			d.At = history[n-1].At // another node's clock runs ahead
		}
		if err := tx.Releases.AppendDeployment(ctx, d); err != nil {
			return err
		}
		made = d
		err = note(ctx, tx, projectID, d.At, map[string]any{
			"action": d.Action, "environment": d.Environment, "seq": d.Seq, "snapshot_id": d.SnapshotID, "reason": d.Reason,
		})
		if err != nil {
			return err
		}
		return r.publishStep(ctx, tx, d, before)
	})
	if errors.Is(err, errRepeated) {
		return made, before, checkRequest(made, want)
	}
	if err != nil {
		return made, before, err
	}
	// The step is made even if the caller has gone, so its showing must not depend on the caller either.
	_, err = r.views.live.Refresh(context.WithoutCancel(ctx), projectID)
	if r.deployed != nil {
		r.deployed(projectID)
	}
	return made, before, err
}

// Deployed is the event of a deployment or rollback: the deployment that it led to, and how.
type Deployed struct {
	wire.Deployment
	Action     wire.DeploymentAction `json:"action"`
	DeployedBy string                `json:"deployed_by"`
	Reason     string                `json:"reason,omitempty"`
}

// publishStep publishes a step. before is the snapshot that was active until then.
func (r *Releases) publishStep(ctx context.Context, tx store.Tx, d store.Deployment, before string) error {
	if r.publish == nil {
		return nil
	}
	data := Deployed{
		Deployment: wire.Deployment{
			SnapshotID: d.SnapshotID, Environment: wire.Environment(d.Environment), DeployedAt: d.At, PreviousSnapshotID: optional(before),
		},
		Action: wire.DeploymentAction(d.Action), DeployedBy: d.By, Reason: d.Reason,
	}
	return r.publish(ctx, tx, rule.Event{
		ID: audit.NewID(), ProjectID: d.ProjectID, Type: rule.SnapshotDeployed, Time: d.At, Data: audit.JSON(data),
	})
}

// Reasons for which a step is not made.
var (
	errRepeated  = errors.New("release: the request is known")
	errUnchanged = errors.New("release: the snapshot is active")
	errGates     = errors.New("release: the gates have not been passed")
)

// checkRequest refuses the key of another request.
func checkRequest(earlier, want store.Deployment) error {
	if earlier.Request != want.Request {
		return rule.Errorf(rule.CodeConflict, "the key %q was used for another request; use a new one", want.Key)
	}
	return nil
}

// Active lists the environments that have an active snapshot, in the order of [wire.Environments].
func (r *environments) Active(ctx context.Context, projectID string) ([]wire.ActiveDeployment, error) {
	return activeDeployments(ctx, r.releases, projectID)
}

func activeDeployments(ctx context.Context, from store.ReleaseReader, projectID string) ([]wire.ActiveDeployment, error) {
	history, err := from.Deployments(ctx, projectID, "")
	if err != nil {
		return nil, err
	}
	out := []wire.ActiveDeployment{}
	for i, d := range history {
		if i+1 == len(history) || history[i+1].Environment != d.Environment {
			out = append(out, wire.ActiveDeployment{Environment: wire.Environment(d.Environment), SnapshotID: d.SnapshotID, DeployedAt: d.At})
		}
	}
	slices.SortFunc(out, func(a, b wire.ActiveDeployment) int {
		return slices.Index(wire.Environments, a.Environment) - slices.Index(wire.Environments, b.Environment)
	})
	return out, nil
}

// sortNewest orders a list by time, newest first; equal times keep their order.
func sortNewest[T any](list []T, at func(T) time.Time) {
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(at(b).UnixNano(), at(a).UnixNano()) })
}
