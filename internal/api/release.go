package api

import (
	"context"
	"net/http"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/corpus"
	"tenet/internal/release"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Releases serves snapshots, their deployments and simulations, and the gates of environments.
type Releases struct {
	Releases *release.Releases
	// Bundles publishes what is deployed.
	Bundles *release.Bundles
}

// snapshotRef names a snapshot in a path.
type snapshotRef struct {
	SnapshotID string `path:"snapshot_id" doc:"Id of the snapshot."`
}

// namedRelease names a snapshot, and the request, so that sending it again does nothing twice.
type namedRelease struct {
	snapshotRef
	Key string `header:"Idempotency-Key" maxLength:"255" doc:"Your own name of the request. Sending it again gives the same answer and changes nothing."`
}

// Routes implements [rest.Resource].
func (s Releases) Routes(r *rest.Router) {
	r.Explain(http.MethodDelete, op.ListSnapshots.Path+"/", "a snapshot is never changed or deleted, because evaluations name it; ")
	r = r.Tag(releaseTag)
	rest.HandleBody(r, rest.Operation{
		ID: "create-snapshot", Route: op.CreateSnapshot.Route(), Role: auth.Reviewer, Status: http.StatusCreated,
		Summary: "Take a snapshot of the live corpus", Description: "It names exact versions of all rules except retired ones, and never changes.",
	}, func(ctx context.Context, _ *rest.None, body *wire.CreateSnapshot) (rest.Created[wire.Snapshot], error) {
		made, err := s.Releases.Create(ctx, rest.Project(ctx), body.Name, body.Description)
		return rest.Created[wire.Snapshot]{Location: op.CreateSnapshot.Path + "/" + made.ID, Body: made}, err
	})
	rest.Handle(r, rest.Operation{ID: "list-snapshots", Route: op.ListSnapshots.Route(), Role: auth.Viewer, Summary: "List snapshots", Description: "Newest first."},
		func(ctx context.Context, in *wire.OffsetQuery) (wire.Snapshots, error) {
			list, total, err := s.Releases.List(ctx, rest.Project(ctx), in.Offset, in.Limit)
			return wire.Snapshots{Items: list, Total: total, Limit: in.Limit, Offset: in.Offset}, err
		})
	rest.Handle(r, rest.Operation{
		ID: "get-snapshot", Route: op.GetSnapshot.Route(), Role: auth.Viewer, Summary: "Get a snapshot", Description: "With its deployments, past ones included.",
	}, func(ctx context.Context, in *snapshotRef) (wire.Snapshot, error) {
		return s.Releases.Get(ctx, rest.Project(ctx), in.SnapshotID)
	})
	rest.Handle(r, rest.Operation{
		ID: "diff-snapshots", Route: op.DiffSnapshots.Route(), Role: auth.Viewer,
		Summary: "Compare two snapshots", Description: "What the second, other_id, adds, removes and modifies, in pages. Either may be live: the rules as they are now.",
	}, func(ctx context.Context, in *struct {
		snapshotRef
		OtherID string `path:"other_id" doc:"Id of the snapshot that is compared with the first, or live."`
		wire.DiffQuery
	},
	) (wire.Difference, error) {
		return s.Releases.Diff(ctx, rest.Project(ctx), in.SnapshotID, in.OtherID, in.DiffQuery)
	})
	rest.Handle(r, rest.Operation{
		ID: "verify-snapshot", Route: op.VerifySnapshot.Route(), Role: auth.Viewer,
		Summary: "Verify a snapshot", Description: "Computes its hash again from the stored rules.",
	}, func(ctx context.Context, in *snapshotRef) (wire.Verification, error) {
		return s.Releases.Verify(ctx, rest.Project(ctx), in.SnapshotID)
	})
	s.deploymentRoutes(r)
	s.simulationRoutes(r)
	s.gateRoutes(r)
}

func (s Releases) deploymentRoutes(r *rest.Router) {
	rest.HandleBody(r, rest.Operation{
		ID: "deploy-snapshot", Route: op.DeploySnapshot.Route(), Role: auth.Reviewer, Summary: "Make a snapshot active in an environment",
		Description: "Deploying the snapshot that is active changes nothing and passes no gate; the answer says unchanged. 409 with every gate's result if a gate refuses it.",
	}, func(ctx context.Context, in *namedRelease, body *wire.DeploySnapshot) (out wire.Deployment, err error) {
		environment, err := release.ParseEnvironment(body.Environment)
		if err != nil {
			return out, err
		}
		if out, err = s.Releases.Deploy(ctx, rest.Project(ctx), in.SnapshotID, environment, body.Reason, in.Key); err == nil {
			s.Bundles.Look(rest.Project(ctx), out.Environment)
		}
		return out, err
	})
	rest.HandleBody(r, rest.Operation{
		ID: "rollback-snapshot", Route: op.RollbackSnapshot.Route(), Role: auth.Reviewer, Summary: "Roll a deployment back",
		Description: "The snapshot that was active before is active again. 409 if the snapshot is not active, is active in several environments and none is named, or has no predecessor.",
	}, s.rollback).Optional()
	rest.Handle(r, rest.Operation{
		ID: "list-environments", Route: op.ListEnvironments.Route(), Role: auth.Viewer, Summary: "List environments",
		Description: "All three, each with what is active since when and by whom, where a rollback leads, its gates, and the freeze in force.",
	}, func(ctx context.Context, _ *rest.None) ([]wire.EnvironmentSummary, error) {
		return s.Releases.Environments(ctx, rest.Project(ctx))
	})
	rest.Handle(r, rest.Operation{
		ID: "list-steps", Route: op.ListSteps.Route(), Role: auth.Viewer, Summary: "List deployments and rollbacks", Description: "Newest first.",
	}, s.steps)
	rest.Handle(r, rest.Operation{
		ID: "list-deployments", Route: op.ListDeployments.Route(), Role: auth.Viewer, Summary: "List active snapshots", Description: "One per environment that has one.",
	}, func(ctx context.Context, _ *rest.None) ([]wire.ActiveDeployment, error) {
		return s.Releases.Active(ctx, rest.Project(ctx))
	})
	rest.Handle(r, rest.Operation{
		ID: "get-environment", Route: op.GetEnvironment.Route(), Role: auth.Viewer,
		Summary: "Get the active snapshot and the history of an environment",
	}, func(ctx context.Context, in *struct {
		Environment string `path:"environment" doc:"production, staging or development."`
	},
	) (out wire.EnvironmentState, err error) {
		environment, err := release.ParseEnvironment(in.Environment)
		if err != nil {
			return out, err
		}
		return s.Releases.Environment(ctx, rest.Project(ctx), environment)
	})
}

func (s Releases) steps(ctx context.Context, in *wire.DeploymentQuery) (out wire.Page[wire.HistoryEntry], err error) {
	var environment wire.Environment
	if in.Environment != "" {
		if environment, err = release.ParseEnvironment(in.Environment); err != nil {
			return out, err
		}
	}
	list, total, err := s.Releases.Steps(ctx, rest.Project(ctx), environment, in.Offset(), in.PageSize)
	return rest.PageOf(in.PageQuery, list, total), err
}

func (s Releases) rollback(ctx context.Context, in *struct {
	namedRelease
	wire.RollbackQuery
}, body *wire.RollbackSnapshot,
) (out wire.RolledBack, err error) {
	var environment wire.Environment
	if in.Environment != "" {
		if environment, err = release.ParseEnvironment(in.Environment); err != nil {
			return out, err
		}
	}
	if out, err = s.Releases.Rollback(ctx, rest.Project(ctx), in.SnapshotID, environment, body.Reason, in.Key); err == nil {
		s.Bundles.Look(rest.Project(ctx), out.Environment)
	}
	return out, err
}

func (s Releases) simulationRoutes(r *rest.Router) {
	rest.HandleBody(r, rest.Operation{
		ID: "simulate-snapshot", Route: op.SimulateSnapshot.Route(), Role: auth.Reviewer, Summary: "Simulate a switch to a snapshot",
		Description: "Decides a sample of recorded evaluations under the snapshot in the path and under compare_to, from which the switch would be made. " +
			"Rules that did not change keep their recorded verdicts, so only added and modified rules cost model calls. With `Prefer: respond-async` " +
			"the answer is 202 with a Location to ask at.",
	}, s.simulate).Background(rest.SchemaOf[wire.SimulationRun](r))
	rest.Handle(r, rest.Operation{
		ID: "list-simulations", Route: op.ListSimulations.Route(), Role: auth.Viewer, Summary: "List simulations in the background",
		Description: "Newest first. Their results lack the lists of evaluations: examples, flips and not_replayed.",
	}, func(ctx context.Context, in *wire.SimulationQuery) (wire.Page[wire.SimulationRun], error) {
		list, total, err := s.Releases.Simulations(ctx, rest.Project(ctx), in.SnapshotID, in.Offset(), in.PageSize)
		return rest.PageOf(in.PageQuery, list, total), err
	})
	rest.Handle(r, rest.Operation{
		ID: "get-simulation", Route: op.GetSimulation.Route(), Role: auth.Viewer, Summary: "Get a simulation in the background",
		Description: "With its progress, and its result once it has finished. With `Accept: text/event-stream` the server sends progress until then.",
	}, func(ctx context.Context, in *struct {
		SimulationID string `path:"simulation_id" doc:"Id of the simulation."`
	},
	) (wire.SimulationRun, error) {
		return follow(ctx, func(ctx context.Context) (wire.SimulationRun, error) {
			return s.Releases.GetSimulation(ctx, rest.Project(ctx), in.SimulationID)
		}, func(r *wire.SimulationRun) (string, wire.Progress) { return r.State, r.Progress })
	}).Streams(runEvents)
}

func (s Releases) simulate(ctx context.Context, in *struct {
	snapshotRef
	asyncHeader
}, body *wire.SimulateSnapshot,
) (*wire.Simulation, error) {
	q := wire.SimulateRequest{SnapshotID: in.SnapshotID, CompareTo: body.CompareTo, SampleSize: release.DefaultSample, Seed: uint64(body.Seed), DryRun: body.DryRun}
	if body.SampleSize != nil {
		q.SampleSize = *body.SampleSize
	}
	if !rest.WantsAsync(ctx) {
		return s.Releases.Simulate(ctx, rest.Project(ctx), q, nil)
	}
	run, err := s.Releases.StartSimulation(ctx, rest.Project(ctx), q)
	if err == nil {
		rest.Accepted(ctx, rest.Location(ctx, op.GetSimulation.Path, run.ID), run)
	}
	return nil, err
}

// environmentRef names an environment in a path.
type environmentRef struct {
	Environment string `path:"environment" doc:"production, staging or development." example:"production"`
}

func (s Releases) gateRoutes(r *rest.Router) {
	rest.Handle(r, rest.Operation{ID: "get-gates", Route: op.GetGates.Route(), Role: auth.Viewer, Summary: "Get the gates of an environment"},
		func(ctx context.Context, in *environmentRef) (out wire.Gates, err error) {
			environment, err := release.ParseEnvironment(in.Environment)
			if err != nil {
				return out, err
			}
			return s.Releases.Gates(ctx, rest.Project(ctx), environment)
		})
	rest.HandleBody(r, rest.Operation{
		ID: "set-gates", Route: op.SetGates.Route(), Role: auth.Admin,
		Summary: "Set the gates of an environment", Description: "A deployment must pass them; a rollback need not. Replaces all gates; an empty object removes them.",
	}, func(ctx context.Context, in *environmentRef, body *wire.Gates) (wire.Gates, error) {
		environment, err := release.ParseEnvironment(in.Environment)
		if err != nil {
			return *body, err
		}
		return *body, s.Releases.SetGates(ctx, rest.Project(ctx), environment, *body)
	})
	rest.Handle(r, rest.Operation{
		ID: "check-gates", Route: op.CheckGates.Route(), Role: auth.Viewer,
		Summary: "Check a snapshot against the gates of an environment", Description: "Lists only gates that are set.",
	}, func(ctx context.Context, in *struct {
		snapshotRef
		environmentRef
		wire.GateQuery
	},
	) ([]wire.GateResult, error) {
		environment, err := release.ParseEnvironment(in.Environment)
		if err != nil {
			return nil, err
		}
		return s.Releases.CheckGates(ctx, rest.Project(ctx), in.SnapshotID, environment, !in.SkipSimulation)
	})
	rest.HandleBody(r, rest.Operation{
		ID: "approve-snapshot", Route: op.ApproveSnapshot.Route(), Role: auth.Reviewer, Status: http.StatusCreated,
		Summary: "Approve a snapshot", Description: "409 for the person who took it. Approving again changes nothing.",
	}, func(ctx context.Context, in *snapshotRef, body *wire.ApproveSnapshot) (wire.Approval, error) {
		return s.Releases.Approve(ctx, rest.Project(ctx), in.SnapshotID, body.Note)
	})
}

// UsedSnapshot names the snapshot whose rules an answer rests on.
type UsedSnapshot struct {
	Snapshot string `header:"Tenet-Snapshot-Id" doc:"The snapshot whose rules were used; absent for the live rules."`
}

// Released finds the rules that are active in environments.
type Released interface {
	// Deployed returns the view of the snapshot that is active in an environment, and its id.
	Deployed(ctx context.Context, projectID, environment string) (*corpus.View, string, error)
}

// released returns the view of the snapshot that is active in an environment, and its id; nothing for the live rules.
func released(ctx context.Context, r Released, environment string) (*corpus.View, UsedSnapshot, error) {
	if environment == "" {
		return nil, UsedSnapshot{}, nil
	}
	view, id, err := r.Deployed(ctx, rest.Project(ctx), environment)
	return view, UsedSnapshot{id}, err
}
