package api

import (
	"context"
	"net/http"

	"tenet/internal/auth"
	"tenet/internal/corpus"
	"tenet/internal/release"
)

const (
	snapshotsPath   = "/api/v1/snapshots"
	snapshotPath    = snapshotsPath + "/{snapshot_id}"
	deploymentsPath = snapshotsPath + "/deployments"
	releaseTag      = "Releases"
)

func (s *server) releaseRoutes() {
	registerBody(s, operation{
		id: "create-snapshot", method: http.MethodPost, path: snapshotsPath, tag: releaseTag, role: auth.Reviewer, status: http.StatusCreated,
		summary: "Take a snapshot of the live corpus", description: "It names exact versions of all rules but retired ones, and never changes.",
	}, s.createSnapshot)
	register(s, operation{
		id: "list-snapshots", method: http.MethodGet, path: snapshotsPath, tag: releaseTag, role: auth.Viewer,
		summary: "List snapshots", description: "Newest first.",
	}, s.listSnapshots)
	register(s, operation{
		id: "get-snapshot", method: http.MethodGet, path: snapshotPath, tag: releaseTag, role: auth.Viewer,
		summary: "Get a snapshot", description: "With where it is or was deployed.",
	}, s.getSnapshot)
	register(s, operation{
		id: "diff-snapshots", method: http.MethodGet, path: snapshotPath + "/diff/{other_id}", tag: releaseTag, role: auth.Viewer,
		summary: "Compare two snapshots", description: "What the second, other_id, adds, removes and modifies.",
	}, s.diffSnapshots)
	register(s, operation{
		id: "verify-snapshot", method: http.MethodPost, path: snapshotPath + "/verify", tag: releaseTag, role: auth.Viewer,
		summary: "Verify a snapshot", description: "Computes its hash anew from the stored rules.",
	}, s.verifySnapshot)
	registerBody(s, operation{
		id: "deploy-snapshot", method: http.MethodPost, path: snapshotPath + "/deploy", tag: releaseTag, role: auth.Reviewer,
		summary: "Make a snapshot active in an environment",
	}, s.deploySnapshot)
	register(s, operation{
		id: "rollback-snapshot", method: http.MethodPost, path: snapshotPath + "/rollback", tag: releaseTag, role: auth.Reviewer,
		summary:     "Take a deployment back",
		description: "The snapshot that was active before is active again. 409 if the snapshot is not active, is active in several environments and none is named, or has no predecessor.",
	}, s.rollbackSnapshot)
	s.simulationRoutes()
	register(s, operation{
		id: "list-deployments", method: http.MethodGet, path: deploymentsPath, tag: releaseTag, role: auth.Viewer,
		summary: "List active snapshots", description: "One per environment that has one.",
	}, s.listDeployments)
	register(s, operation{
		id: "get-environment", method: http.MethodGet, path: deploymentsPath + "/{environment}", tag: releaseTag, role: auth.Viewer,
		summary: "Get the active snapshot and the history of an environment",
	}, s.getEnvironment)
}

// CreateSnapshot is the body that takes a snapshot.
type CreateSnapshot struct {
	Name        string `json:"name" doc:"Name, 1 to 200 characters." example:"2026-12 release"`
	Description string `json:"description,omitempty" doc:"What is in it, at most 4000 characters."`
}

type snapshotOutput struct{ Body release.Snapshot }

type createdSnapshot struct {
	Location string `header:"Location"`
	Body     release.Snapshot
}

func (s *server) createSnapshot(ctx context.Context, _ *struct{ ProjectQuery }, body *CreateSnapshot) (*createdSnapshot, error) {
	made, err := s.cfg.Releases.Create(ctx, project(ctx), body.Name, body.Description)
	if err != nil {
		return nil, err
	}
	return &createdSnapshot{Location: snapshotsPath + "/" + made.ID, Body: made}, nil
}

// OffsetQuery are the parameters of lists that the interface pages by limit and offset.
type OffsetQuery struct {
	Limit  int `query:"limit" default:"20" minimum:"1" maximum:"100" doc:"Items to return."`
	Offset int `query:"offset" default:"0" minimum:"0" maximum:"1000000000" doc:"Items to leave out before."`
}

// Snapshots is a page of snapshots.
type Snapshots struct {
	Items  []release.Snapshot `json:"items" nullable:"false" doc:"Snapshots of this page."`
	Total  int                `json:"total" doc:"Snapshots on all pages."`
	Limit  int                `json:"limit" doc:"Items per page."`
	Offset int                `json:"offset" doc:"Items before this page."`
}

type snapshotsOutput struct{ Body Snapshots }

func (s *server) listSnapshots(ctx context.Context, in *struct {
	ProjectQuery
	OffsetQuery
},
) (*snapshotsOutput, error) {
	list, total, err := s.cfg.Releases.List(ctx, project(ctx), in.Offset, in.Limit)
	if err != nil {
		return nil, err
	}
	return &snapshotsOutput{Snapshots{Items: list, Total: total, Limit: in.Limit, Offset: in.Offset}}, nil
}

// SnapshotRef names a snapshot in a path.
type SnapshotRef struct {
	SnapshotID string `path:"snapshot_id" doc:"Id of the snapshot."`
}

func (s *server) getSnapshot(ctx context.Context, in *struct {
	ProjectQuery
	SnapshotRef
},
) (*snapshotOutput, error) {
	found, err := s.cfg.Releases.Get(ctx, project(ctx), in.SnapshotID)
	if err != nil {
		return nil, err
	}
	return &snapshotOutput{found}, nil
}

type differenceOutput struct{ Body release.Difference }

func (s *server) diffSnapshots(ctx context.Context, in *struct {
	ProjectQuery
	SnapshotRef
	OtherID string `path:"other_id" doc:"Id of the snapshot that is compared with the first."`
},
) (*differenceOutput, error) {
	d, err := s.cfg.Releases.Diff(ctx, project(ctx), in.SnapshotID, in.OtherID)
	if err != nil {
		return nil, err
	}
	return &differenceOutput{d}, nil
}

type verificationOutput struct{ Body release.Verification }

func (s *server) verifySnapshot(ctx context.Context, in *struct {
	ProjectQuery
	SnapshotRef
},
) (*verificationOutput, error) {
	v, err := s.cfg.Releases.Verify(ctx, project(ctx), in.SnapshotID)
	if err != nil {
		return nil, err
	}
	return &verificationOutput{v}, nil
}

// RequestKey names a request, so that sending it again does nothing twice.
type RequestKey struct {
	Key string `header:"Idempotency-Key" maxLength:"255" doc:"Your own name of the request. Sending it again gives the same answer and changes nothing."`
}

// DeploySnapshot is the body that deploys a snapshot.
type DeploySnapshot struct {
	Environment string `json:"environment" doc:"production, staging or development." example:"staging"`
}

type deploymentOutput struct{ Body release.Deployment }

func (s *server) deploySnapshot(ctx context.Context, in *struct {
	ProjectQuery
	SnapshotRef
	RequestKey
}, body *DeploySnapshot,
) (*deploymentOutput, error) {
	environment, err := release.ParseEnvironment(body.Environment)
	if err != nil {
		return nil, err
	}
	d, err := s.cfg.Releases.Deploy(ctx, project(ctx), in.SnapshotID, environment, in.Key)
	if err != nil {
		return nil, err
	}
	return &deploymentOutput{d}, nil
}

type rolledBackOutput struct{ Body release.RolledBack }

func (s *server) rollbackSnapshot(ctx context.Context, in *struct {
	ProjectQuery
	SnapshotRef
	RequestKey
	Environment string `query:"environment" doc:"Where to roll back; needed if the snapshot is active in several environments."`
},
) (*rolledBackOutput, error) {
	var environment release.Environment
	if in.Environment != "" {
		var err error
		if environment, err = release.ParseEnvironment(in.Environment); err != nil {
			return nil, err
		}
	}
	back, err := s.cfg.Releases.Rollback(ctx, project(ctx), in.SnapshotID, environment, in.Key)
	if err != nil {
		return nil, err
	}
	return &rolledBackOutput{back}, nil
}

type activeOutput struct{ Body []release.ActiveDeployment }

func (s *server) listDeployments(ctx context.Context, _ *struct{ ProjectQuery }) (*activeOutput, error) {
	list, err := s.cfg.Releases.Active(ctx, project(ctx))
	if err != nil {
		return nil, err
	}
	return &activeOutput{list}, nil
}

type environmentOutput struct{ Body release.EnvironmentState }

func (s *server) getEnvironment(ctx context.Context, in *struct {
	ProjectQuery
	Environment string `path:"environment" doc:"production, staging or development."`
},
) (*environmentOutput, error) {
	environment, err := release.ParseEnvironment(in.Environment)
	if err != nil {
		return nil, err
	}
	state, err := s.cfg.Releases.Environment(ctx, project(ctx), environment)
	if err != nil {
		return nil, err
	}
	return &environmentOutput{state}, nil
}

// EnvironmentQuery is the parameter of what can be asked of the rules that are active in an environment.
type EnvironmentQuery struct {
	Environment string `query:"environment" doc:"production, staging or development: the rules of the snapshot that is active there, instead of the live ones. 409 if nothing is deployed there."`
}

// UsedSnapshot names the snapshot whose rules an answer rests on.
type UsedSnapshot struct {
	Snapshot string `header:"Tenet-Snapshot-Id" doc:"The snapshot whose rules were used; absent for the live rules."`
}

// released is the view of the snapshot that is active in an environment, and its id; nothing for the live rules.
func (s *server) released(ctx context.Context, environment string) (*corpus.View, UsedSnapshot, error) {
	if environment == "" {
		return nil, UsedSnapshot{}, nil
	}
	view, id, err := s.cfg.Releases.Deployed(ctx, project(ctx), environment)
	return view, UsedSnapshot{id}, err
}

// frozen explains why what a request would remove stays; empty for everything else.
func frozen(r *http.Request) string {
	if r.Method == http.MethodDelete && len(r.URL.Path) > len(snapshotsPath) && r.URL.Path[:len(snapshotsPath)] == snapshotsPath {
		return "a snapshot is never changed or deleted, because evaluations name it; "
	}
	return ""
}
