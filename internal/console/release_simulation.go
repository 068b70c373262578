package console

import (
	"context"

	"github.com/a-h/templ"

	"tenet/internal/client"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// flipsShown is the number of changed evaluations on a page.
const flipsShown = 50

// simulation is the view of a simulation.
type simulation struct {
	wire.SimulationRun

	flips []wire.SimulationFlip
	place pager
	// live is the address of the stream of its progress; empty once it has ended.
	live string
}

func ended(r *wire.SimulationRun) bool { return r.State != "queued" && r.State != "running" }

// simulationOf makes the view of a run.
func simulationOf(p *page, run wire.SimulationRun) simulation {
	v := simulation{SimulationRun: run}
	if !ended(&run) {
		v.live = p.at("releases", "simulations", run.ID, "live")
	}
	if run.Result != nil {
		number := pageOf(p.r)
		all := run.Result.Flips
		v.flips = all[min((number-1)*flipsShown, len(all)):]
		v.flips = v.flips[:min(flipsShown, len(v.flips))]
		v.place = pager{number, flipsShown, len(v.flips), len(all)}
	}
	return v
}

// simulationPage shows how far a simulation has come, or what it has found.
func simulationPage(p *page) error {
	run, err := client.Get(p.ctx, p.api, op.GetSimulation.At(p.r.PathValue("id")))
	if err != nil {
		return err
	}
	return p.show(head{Title: "Simulation of " + run.SnapshotName, Nav: "releases"}, simulationPageView(p, simulationOf(p, run)))
}

// liveSimulation streams the progress of a simulation, and its result once it has ended.
func liveSimulation(p *page) error {
	id := p.r.PathValue("id")
	over := false
	return streamUntil(p, &over, func(ctx context.Context) (templ.Component, error) {
		run, err := client.Get(ctx, p.api, op.GetSimulation.At(id))
		over = err == nil && ended(&run)
		return simulationBody(p, simulationOf(p, run)), err
	})
}

// riskTone is the class of a level of risk.
func riskTone(r wire.Risk) string {
	switch r {
	case wire.RiskNone, wire.RiskLow:
		return "good"
	case wire.RiskMedium:
		return "warn"
	case wire.RiskHigh, wire.RiskCritical:
		return "bad"
	}
	return "plain"
}

// verdictWords names a verdict of a rule that may not be judged.
func verdictWords(v string) string {
	if v == "" {
		return "not judged"
	}
	return words(v)
}

// others are the listed verdicts of rules on evaluations whose overall verdict stays.
func (v *simulation) others() []wire.VerdictChange {
	flipped := map[string]bool{}
	for i := range v.Result.Flips {
		flipped[v.Result.Flips[i].EvaluationID] = true
	}
	var out []wire.VerdictChange
	for _, c := range v.Result.Examples {
		if !flipped[c.EvaluationID] {
			out = append(out, c)
		}
	}
	return out
}
