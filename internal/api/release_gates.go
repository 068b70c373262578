package api

import (
	"context"
	"net/http"

	"tenet/internal/auth"
	"tenet/internal/release"
)

const gatesPath = "/api/v1/environments/{environment}/gates"

func (s *server) gateRoutes() {
	register(s, operation{
		id: "get-gates", method: http.MethodGet, path: gatesPath, tag: releaseTag, role: auth.Viewer,
		summary: "Get what a deployment to an environment must pass",
	}, s.getGates)
	registerBody(s, operation{
		id: "set-gates", method: http.MethodPut, path: gatesPath, tag: releaseTag, role: auth.Admin,
		summary: "Set what a deployment to an environment must pass", description: "Replaces all gates; an empty object takes them away. Rollbacks pass no gates.",
	}, s.setGates)
	register(s, operation{
		id: "check-gates", method: http.MethodGet, path: gatesPath + "/{snapshot_id}", tag: releaseTag, role: auth.Viewer,
		summary: "See how a snapshot stands before the gates of an environment", description: "Gates that are not set are left out.",
	}, s.checkGates)
	registerBody(s, operation{
		id: "approve-snapshot", method: http.MethodPost, path: snapshotPath + "/approvals", tag: releaseTag, role: auth.Reviewer, status: http.StatusCreated,
		summary: "Approve a snapshot", description: "409 for the one who took it. Approving again changes nothing.",
	}, s.approveSnapshot)
}

// EnvironmentRef names an environment in a path.
type EnvironmentRef struct {
	Environment string `path:"environment" doc:"production, staging or development." example:"production"`
}

type gatesOutput struct{ Body release.Gates }

func (s *server) getGates(ctx context.Context, in *struct {
	ProjectQuery
	EnvironmentRef
},
) (*gatesOutput, error) {
	environment, err := release.ParseEnvironment(in.Environment)
	if err != nil {
		return nil, err
	}
	g, err := s.cfg.Releases.Gates(ctx, project(ctx), environment)
	if err != nil {
		return nil, err
	}
	return &gatesOutput{g}, nil
}

func (s *server) setGates(ctx context.Context, in *struct {
	ProjectQuery
	EnvironmentRef
}, body *release.Gates,
) (*gatesOutput, error) {
	environment, err := release.ParseEnvironment(in.Environment)
	if err != nil {
		return nil, err
	}
	if err := s.cfg.Releases.SetGates(ctx, project(ctx), environment, *body); err != nil {
		return nil, err
	}
	return &gatesOutput{*body}, nil
}

type gateResultsOutput struct{ Body []release.GateResult }

func (s *server) checkGates(ctx context.Context, in *struct {
	ProjectQuery
	SnapshotRef
	EnvironmentRef
},
) (*gateResultsOutput, error) {
	environment, err := release.ParseEnvironment(in.Environment)
	if err != nil {
		return nil, err
	}
	results, err := s.cfg.Releases.CheckGates(ctx, project(ctx), in.SnapshotID, environment)
	if err != nil {
		return nil, err
	}
	return &gateResultsOutput{results}, nil
}

// ApproveSnapshot is the body that approves a snapshot.
type ApproveSnapshot struct {
	Note string `json:"note,omitempty" doc:"What there is to say about it."`
}

type approvalOutput struct{ Body release.Approval }

func (s *server) approveSnapshot(ctx context.Context, in *struct {
	ProjectQuery
	SnapshotRef
}, body *ApproveSnapshot,
) (*approvalOutput, error) {
	a, err := s.cfg.Releases.Approve(ctx, project(ctx), in.SnapshotID, body.Note)
	if err != nil {
		return nil, err
	}
	return &approvalOutput{a}, nil
}
