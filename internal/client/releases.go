package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"tenet/internal/release"
)

const snapshotsPath = "/api/v1/snapshots"

func snapshotPath(id string, more ...string) string {
	path := snapshotsPath + "/" + url.PathEscape(id)
	for _, part := range more {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// NewSnapshot describes the snapshot to take.
type NewSnapshot struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// CreateSnapshot takes a snapshot of the live corpus.
func (c *Client) CreateSnapshot(ctx context.Context, n NewSnapshot) (release.Snapshot, error) {
	k, err := send(http.MethodPost, snapshotsPath, n)
	if err != nil {
		return release.Snapshot{}, err
	}
	return into[release.Snapshot](ctx, c, k)
}

// Snapshots is a page of snapshots, newest first.
type Snapshots struct {
	Items  []release.Snapshot `json:"items"`
	Total  int                `json:"total"`
	Limit  int                `json:"limit"`
	Offset int                `json:"offset"`
}

// Snapshots lists snapshots, newest first. limit is 1 to 100.
func (c *Client) Snapshots(ctx context.Context, limit, offset int) (Snapshots, error) {
	q := url.Values{"limit": {strconv.Itoa(limit)}, "offset": {strconv.Itoa(offset)}}
	return into[Snapshots](ctx, c, get(snapshotsPath, q))
}

// Snapshot returns one snapshot.
func (c *Client) Snapshot(ctx context.Context, id string) (release.Snapshot, error) {
	return into[release.Snapshot](ctx, c, get(snapshotPath(id), nil))
}

// DiffSnapshots tells what the second snapshot changes against the first.
func (c *Client) DiffSnapshots(ctx context.Context, from, to string) (release.Difference, error) {
	return into[release.Difference](ctx, c, get(snapshotPath(from, "diff", to), nil))
}

// VerifySnapshot computes a snapshot's hash anew from the stored rules.
func (c *Client) VerifySnapshot(ctx context.Context, id string) (release.Verification, error) {
	return into[release.Verification](ctx, c, call{method: http.MethodPost, path: snapshotPath(id, "verify"), repeatable: true})
}

// Simulate asks what a switch to a snapshot would change.
type Simulate struct {
	CompareTo  string `json:"compare_to"`
	SampleSize int    `json:"sample_size,omitempty"` // 0 leaves the choice to the server
	Seed       uint32 `json:"seed,omitempty"`
	DryRun     bool   `json:"dry_run,omitempty"`
}

// SimulateSnapshot replays recorded evaluations under a snapshot.
func (c *Client) SimulateSnapshot(ctx context.Context, id string, q Simulate) (release.Simulation, error) {
	k, err := send(http.MethodPost, snapshotPath(id, "simulate"), q)
	if err != nil {
		return release.Simulation{}, err
	}
	return into[release.Simulation](ctx, c, k)
}

// StartSimulation replays in the background; ask for it with [Client.Simulation].
func (c *Client) StartSimulation(ctx context.Context, id string, q Simulate) (release.SimulationRun, error) {
	k, err := send(http.MethodPost, snapshotPath(id, "simulate"), q)
	if err != nil {
		return release.SimulationRun{}, err
	}
	k.header = http.Header{"Prefer": {"respond-async"}}
	return into[release.SimulationRun](ctx, c, k)
}

// Simulation returns a simulation in the background as far as it has come.
func (c *Client) Simulation(ctx context.Context, id string) (release.SimulationRun, error) {
	return into[release.SimulationRun](ctx, c, get("/api/v1/simulations/"+url.PathEscape(id), nil))
}

// Deploy makes a snapshot active in an environment.
func (c *Client) Deploy(ctx context.Context, id string, environment release.Environment) (release.Deployment, error) {
	k, err := send(http.MethodPost, snapshotPath(id, "deploy"), map[string]any{"environment": environment})
	if err != nil {
		return release.Deployment{}, err
	}
	return into[release.Deployment](ctx, c, k)
}

// Rollback takes the deployment of a snapshot back. The environment may be empty if the snapshot is active in one only.
func (c *Client) Rollback(ctx context.Context, id string, environment release.Environment) (release.RolledBack, error) {
	q := url.Values{}
	setText(q, "environment", environment)
	return into[release.RolledBack](ctx, c, call{method: http.MethodPost, path: snapshotPath(id, "rollback"), query: q})
}

// Deployments lists the environments that have an active snapshot.
func (c *Client) Deployments(ctx context.Context) ([]release.ActiveDeployment, error) {
	return into[[]release.ActiveDeployment](ctx, c, get(snapshotsPath+"/deployments", nil))
}

// Environment returns the active snapshot and the history of an environment.
func (c *Client) Environment(ctx context.Context, environment release.Environment) (release.EnvironmentState, error) {
	return into[release.EnvironmentState](ctx, c, get(snapshotsPath+"/deployments/"+url.PathEscape(string(environment)), nil))
}

func gatesPath(e release.Environment) string {
	return "/api/v1/environments/" + url.PathEscape(string(e)) + "/gates"
}

// Gates returns what a deployment to an environment must pass.
func (c *Client) Gates(ctx context.Context, e release.Environment) (release.Gates, error) {
	return into[release.Gates](ctx, c, get(gatesPath(e), nil))
}

// SetGates replaces what a deployment to an environment must pass.
func (c *Client) SetGates(ctx context.Context, e release.Environment, g release.Gates) (release.Gates, error) {
	k, err := send(http.MethodPut, gatesPath(e), g)
	if err != nil {
		return release.Gates{}, err
	}
	return into[release.Gates](ctx, c, k)
}

// CheckGates tells how a snapshot stands before the gates of an environment.
func (c *Client) CheckGates(ctx context.Context, id string, e release.Environment) ([]release.GateResult, error) {
	return into[[]release.GateResult](ctx, c, get(gatesPath(e)+"/"+url.PathEscape(id), nil))
}

// ApproveSnapshot gives the caller's word for a snapshot.
func (c *Client) ApproveSnapshot(ctx context.Context, id, note string) (release.Approval, error) {
	k, err := send(http.MethodPost, snapshotPath(id, "approvals"), map[string]string{"note": note})
	if err != nil {
		return release.Approval{}, err
	}
	return into[release.Approval](ctx, c, k)
}
