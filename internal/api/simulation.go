package api

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"tenet/internal/auth"
	"tenet/internal/job"
	"tenet/internal/release"
)

const simulationsPath = "/api/v1/simulations"

func (s *server) simulationRoutes() {
	registerBody(s, operation{
		id: "simulate-snapshot", method: http.MethodPost, path: snapshotPath + "/simulate", tag: releaseTag, role: auth.Reviewer,
		summary: "Simulate a switch to a snapshot",
		description: "Decides a sample of recorded evaluations under the snapshot in the path and under compare_to, from which the switch would be made. " +
			"Rules that did not change keep their recorded verdicts, so only added and modified rules cost model calls. With `Prefer: respond-async` " +
			"the answer is 202 with a Location to ask at.",
		responses: s.accepted(reflect.TypeFor[release.SimulationRun]()),
	}, s.simulateSnapshot)
	op := register(s, operation{
		id: "get-simulation", method: http.MethodGet, path: simulationsPath + "/{simulation_id}", tag: releaseTag, role: auth.Viewer,
		summary: "Get a simulation in the background", description: "With its progress, and its result once it has finished. With `Accept: text/event-stream` it is followed until it has.",
	}, s.getSimulation)
	followed(op)
}

// SimulateSnapshot is the body that asks for a simulation.
type SimulateSnapshot struct {
	CompareTo  string `json:"compare_to" doc:"Id of the snapshot to compare with: the one that the switch would be made from."`
	SampleSize *int   `json:"sample_size,omitempty" nullable:"false" default:"50" minimum:"1" maximum:"1000" doc:"Recorded evaluations to replay."`
	Seed       uint32 `json:"seed,omitempty" doc:"Equal seeds draw the same sample of the same records."`
	DryRun     bool   `json:"dry_run,omitempty" doc:"Ask no model; tell what asking would cost."`
}

type simulationOutput struct{ Body *release.Simulation }

func (s *server) simulateSnapshot(ctx context.Context, in *struct {
	ProjectQuery
	SnapshotRef
	AsyncHeader
}, body *SimulateSnapshot,
) (*simulationOutput, error) {
	q := release.SimulateRequest{SnapshotID: in.SnapshotID, CompareTo: body.CompareTo, SampleSize: release.DefaultSample, Seed: uint64(body.Seed), DryRun: body.DryRun}
	if body.SampleSize != nil {
		q.SampleSize = *body.SampleSize
	}
	if wantsAsync(ctx) {
		run, err := s.cfg.Releases.StartSimulation(ctx, project(ctx), q)
		if err == nil {
			accept(ctx, location(ctx, simulationsPath, run.ID), run)
		}
		return &simulationOutput{}, err
	}
	simulation, err := s.cfg.Releases.Simulate(ctx, project(ctx), q, nil)
	if err != nil {
		return nil, err
	}
	return &simulationOutput{simulation}, nil
}

type simulationRunOutput struct{ Body release.SimulationRun }

func (s *server) getSimulation(ctx context.Context, in *struct {
	ProjectQuery
	SimulationID string `path:"simulation_id" doc:"Id of the simulation."`
},
) (*simulationRunOutput, error) {
	get := func(ctx context.Context) (release.SimulationRun, error) {
		return s.cfg.Releases.GetSimulation(ctx, project(ctx), in.SimulationID)
	}
	run, err := get(ctx)
	if err == nil && exchangeFrom(ctx).wantsEvents() {
		err = follow(ctx, s, run, get, func(r *release.SimulationRun) (string, job.Progress) { return r.State, r.Progress })
	}
	return &simulationRunOutput{run}, err
}

// AsyncHeader is the header that asks for work in the background.
type AsyncHeader struct {
	Prefer string `header:"Prefer" doc:"respond-async: answer 202 at once and work in the background."`
}

// wantsAsync reports whether a request asks for work in the background.
func wantsAsync(ctx context.Context) bool {
	x := exchangeFrom(ctx)
	return prefersAsync(strings.Join(x.r.Header.Values("Prefer"), ",")) && !x.wantsEvents()
}

// accepted describes the answer to a request for work in the background.
func (s *server) accepted(body reflect.Type) map[string]*huma.Response {
	text := &huma.Schema{Type: huma.TypeString}
	return map[string]*huma.Response{"202": {
		Description: "Accepted; with Prefer: respond-async.",
		Headers: map[string]*huma.Param{
			"Location":           {Description: "Where to ask how far it has come.", Schema: text},
			"Preference-Applied": {Description: "respond-async", Schema: text},
		},
		Content: map[string]*huma.MediaType{jsonType: {Schema: s.api.OpenAPI().Components.Schemas.Schema(body, true, "")}},
	}}
}

// accept answers 202.
func accept(ctx context.Context, location string, body any) {
	w, _ := exchangeFrom(ctx).w.(*response)
	w.Header().Set("Location", location)
	w.Header().Set("Preference-Applied", "respond-async")
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(http.StatusAccepted)
	encode(w, body)
	w.closed = true
}
