package console

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tenet/internal/auth"
	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Bounds of the lists of the first page about releases.
const (
	snapshotsShown   = 20
	simulationsShown = 5
)

// releases is the view of what is live where, and of what may become so.
type releases struct {
	environments []wire.EnvironmentSummary
	snapshots    []wire.Snapshot
	place        pager
	simulations  []wire.SimulationRun
	rollout      map[wire.Environment]wire.Rollout // of environments with edges
}

// releaseOverview shows the environments side by side, the snapshots and the newest simulations.
func releaseOverview(p *page) error {
	var v releases
	var err error
	if v.environments, err = client.Get(p.ctx, p.api, op.ListEnvironments); err != nil {
		return err
	}
	fleet, err := client.Get(p.ctx, p.api, op.ListFleet.Where(wire.PageQuery{Page: 1, PageSize: 1}))
	if err != nil {
		return err
	}
	v.rollout = map[wire.Environment]wire.Rollout{}
	for _, r := range fleet.Rollout {
		v.rollout[r.Environment] = r
	}
	number := pageOf(p.r)
	list, err := client.Get(p.ctx, p.api, op.ListSnapshots.Where(wire.OffsetQuery{Limit: snapshotsShown, Offset: (number - 1) * snapshotsShown}))
	if err != nil {
		return err
	}
	v.snapshots, v.place = list.Items, pager{number, snapshotsShown, len(list.Items), list.Total}
	if v.simulations, err = simulationsOf(p, ""); err != nil {
		return err
	}
	return p.show(head{Title: "Releases", Nav: "releases"}, releasesView(p, v))
}

// simulationsOf lists the newest simulations, of all snapshots if the id is empty.
func simulationsOf(p *page, snapshotID string) ([]wire.SimulationRun, error) {
	list, err := client.Get(p.ctx, p.api, op.ListSimulations.Where(wire.SimulationQuery{
		SnapshotID: snapshotID, PageQuery: wire.PageQuery{Page: 1, PageSize: simulationsShown},
	}))
	return list.Items, err
}

// takeSnapshot takes a snapshot of the live rules.
func takeSnapshot(p *page) error {
	form := p.r.PostForm
	made, err := client.Call(p.ctx, p.api, op.CreateSnapshot, wire.CreateSnapshot{Name: form.Get("name"), Description: form.Get("description")})
	if err != nil {
		return err
	}
	p.say(fmt.Sprintf("The snapshot %s now holds %s.", visible(made.Name), counted(int64(made.RuleCount), "rule", "rules")))
	return p.redirect(p.at("releases", "snapshots", made.ID))
}

// rollBack takes the last deployment to an environment back.
func rollBack(p *page) error {
	environment, form := p.r.PathValue("environment"), p.r.PostForm
	reason := strings.TrimSpace(form.Get("reason"))
	if reason == "" {
		return rule.Errorf(rule.CodeInvalid, "say why: the reason stays in the history")
	}
	back, err := client.Call(p.ctx, p.api, op.RollbackSnapshot.At(form.Get("snapshot")).Where(wire.RollbackQuery{Environment: environment}), wire.RollbackSnapshot{Reason: reason})
	if err != nil {
		return err
	}
	p.say(fmt.Sprintf("%s is back on %s.", environmentName(back.Environment), visible(form.Get("name"))))
	return p.redirect(p.at("releases"))
}

// releaseHistory is the view of deployments and rollbacks.
type releaseHistory struct {
	steps []wire.HistoryEntry
	place pager
	table bool
}

// releaseSteps shows the history of one environment or all, as a timeline or as a table.
func releaseSteps(p *page) error {
	v := releaseHistory{table: p.r.URL.Query().Get("view") == "table"}
	list, err := client.Get(p.ctx, p.api, op.ListSteps.Where(wire.DeploymentQuery{
		Environment: p.r.URL.Query().Get("environment"), PageQuery: wire.PageQuery{Page: pageOf(p.r), PageSize: listSize},
	}))
	if err != nil {
		return err
	}
	v.steps, v.place = list.Items, pager{pageOf(p.r), listSize, len(list.Items), list.Total}
	return p.show(head{Title: "History of releases", Nav: "releases"}, releaseStepsView(p, v))
}

// environmentName is an environment at the beginning of a sentence.
func environmentName(e wire.Environment) string {
	if e == "" {
		return ""
	}
	return strings.ToUpper(string(e[:1])) + string(e[1:])
}

var environmentOptions = options(wire.Environments)

// activePlaces lists where a snapshot is active.
func activePlaces(s *wire.Snapshot) []wire.Environment {
	var out []wire.Environment
	for _, d := range s.Deployments {
		if d.Active {
			out = append(out, d.Environment)
		}
	}
	return out
}

// gateWords lists the gates of an environment in words.
func gateWords(g *wire.Gates) []string {
	var out []string
	if g.TestsPass {
		out = append(out, "all confirmed tests pass")
	}
	if g.MaxRisk != "" {
		out = append(out, "risk at most "+string(g.MaxRisk))
	}
	switch {
	case g.Approvals == 1:
		out = append(out, "approved by a second person")
	case g.Approvals > 1:
		out = append(out, "approved by "+counted(int64(g.Approvals), "person", "people"))
	}
	switch n := len(g.Freezes); {
	case n == 1:
		out = append(out, "1 freeze")
	case n > 1:
		out = append(out, fmt.Sprintf("%d freezes", n))
	}
	return out
}

// snapshotView is the view of one snapshot.
type snapshotView struct {
	wire.Snapshot

	environments []wire.EnvironmentSummary
	simulations  []wire.SimulationRun
	refusal      string // why this person may not approve it; empty if they may
}

// snapshotPage shows one snapshot: what it is, who approved it, where it may go.
func snapshotPage(p *page) error {
	var v snapshotView
	var err error
	if v.Snapshot, err = client.Get(p.ctx, p.api, op.GetSnapshot.At(p.r.PathValue("id"))); err != nil {
		return err
	}
	if v.environments, err = client.Get(p.ctx, p.api, op.ListEnvironments); err != nil {
		return err
	}
	if v.simulations, err = simulationsOf(p, v.ID); err != nil {
		return err
	}
	v.refusal = noApproval(p, &v.Snapshot)
	return p.show(head{Title: v.Name, Nav: "releases"}, snapshotPageView(p, v))
}

// noApproval says why the person may not approve a snapshot; empty if they may.
func noApproval(p *page, s *wire.Snapshot) string {
	switch {
	case !p.may(auth.Reviewer):
		return "Reviewers approve; your role is " + string(p.who.Role) + "."
	case s.CreatedBy == p.who.Name:
		return "You took it: a second person approves it."
	case slices.ContainsFunc(s.Approvals, func(a wire.Approval) bool { return a.Actor == p.who.Name }):
		return "You have approved it."
	}
	return ""
}

// approveSnapshot approves a snapshot that somebody else has taken.
func approveSnapshot(p *page) error {
	id := p.r.PathValue("id")
	if _, err := client.Call(p.ctx, p.api, op.ApproveSnapshot.At(id), wire.ApproveSnapshot{Note: p.r.PostForm.Get("note")}); err != nil {
		return err
	}
	p.say("You have approved the snapshot.")
	return p.redirect(p.at("releases", "snapshots", id))
}

// verifySnapshot computes the hash of a snapshot again.
func verifySnapshot(p *page) error {
	id := p.r.PathValue("id")
	v, err := client.Get(p.ctx, p.api, op.VerifySnapshot.At(id))
	if err != nil {
		return err
	}
	if v.Valid {
		p.say("The stored rules give the hash of the snapshot: it is as it was taken.")
	} else {
		p.warn(fmt.Sprintf("The snapshot is damaged: the stored rules give the hash %s, and %s missing.", v.Computed, counted(int64(len(v.Missing)), "rule is", "rules are")))
	}
	return p.redirect(p.at("releases", "snapshots", id))
}

// target is the view of a snapshot before its deployment to an environment.
type target struct {
	snapshot    wire.Snapshot
	environment wire.EnvironmentSummary
	gates       []wire.GateResult
	problem     *rule.Error // why a deployment was refused
	alone       bool        // on a page of its own
}

// active reports whether the snapshot is active in the environment already.
func (t *target) active() bool {
	return t.environment.Active != nil && t.environment.Active.SnapshotID == t.snapshot.ID
}

// refused lists the gates that do not let the snapshot pass.
func (t *target) refused() []string {
	var out []string
	for _, g := range t.gates {
		if !g.Passed && !g.Pending {
			out = append(out, g.Gate)
		}
	}
	return out
}

// refusedBy names the gates that refuse a snapshot.
func refusedBy(gates []string) string {
	if len(gates) == 1 {
		return "the gate " + gates[0] + " refuses it"
	}
	return "the gates " + join(gates) + " refuse it"
}

// simulates reports whether a deployment simulates first.
func (t *target) simulates() bool {
	return slices.ContainsFunc(t.gates, func(g wire.GateResult) bool { return g.Gate == "risk" && (g.Pending || g.SimulationID != "") })
}

// readTarget reads what stands between a snapshot and an environment. No simulation is made.
func readTarget(p *page) (*target, error) {
	t := &target{alone: !p.partial()}
	var err error
	if t.snapshot, err = client.Get(p.ctx, p.api, op.GetSnapshot.At(p.r.PathValue("id"))); err != nil {
		return nil, err
	}
	environment := p.r.PathValue("environment")
	if t.gates, err = client.Get(p.ctx, p.api, op.CheckGates.At(environment, t.snapshot.ID).Where(wire.GateQuery{SkipSimulation: true})); err != nil {
		return nil, err
	}
	all, err := client.Get(p.ctx, p.api, op.ListEnvironments)
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		if string(e.Environment) == environment {
			t.environment = e
		}
	}
	return t, nil
}

// targetPage shows the gates between a snapshot and an environment, with their state, and offers the deployment.
func targetPage(p *page) error {
	t, err := readTarget(p)
	if err != nil {
		return err
	}
	if p.partial() {
		return p.fragment(targetCard(p, t))
	}
	return p.show(head{Title: t.snapshot.Name + " to " + string(t.environment.Environment), Nav: "releases"}, targetPageView(p, t))
}

// deploySnapshot deploys a snapshot. Gates that refuse it are shown with their results.
func deploySnapshot(p *page) error {
	id, environment := p.r.PathValue("id"), p.r.PathValue("environment")
	done, err := client.Call(p.ctx, p.api, op.DeploySnapshot.At(id), wire.DeploySnapshot{Environment: environment, Reason: p.r.PostForm.Get("reason")})
	if rule.CodeOf(err) == rule.CodeConflict {
		t, readErr := readTarget(p)
		if readErr != nil {
			return readErr
		}
		t.problem, _ = errors.AsType[*rule.Error](err)
		return p.showAs(statuses[rule.CodeConflict], head{Title: "Not deployed", Nav: "releases"}, targetPageView(p, t))
	}
	if err != nil {
		return err
	}
	if done.Unchanged {
		p.say("It was live in " + environment + " already. Nothing was deployed.")
	} else {
		p.say("It is live in " + environment + " now.")
	}
	return p.redirect(p.at("releases", "snapshots", id))
}

// sample reads the size of a sample; 0 is the default one.
func sampleOf(text string) (*int, error) {
	if text == "" {
		return nil, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return nil, rule.Errorf(rule.CodeInvalid, "%q is no number of evaluations", text)
	}
	return &n, nil
}

// startSimulation begins a simulation and leads to it.
func startSimulation(p *page) error {
	form := p.r.PostForm
	size, err := sampleOf(form.Get("sample"))
	if err != nil {
		return err
	}
	run, err := client.Call(p.ctx, p.api, op.StartSimulation.At(p.r.PathValue("id")), wire.SimulateSnapshot{
		CompareTo: form.Get("against"), SampleSize: size, DryRun: form.Get("dry") != "", Seed: uint32(time.Now().UnixNano()), //nolint:gosec // another sample each time
	})
	if err != nil {
		return err
	}
	return p.redirect(p.at("releases", "simulations", run.ID))
}

// others are the snapshots that are live somewhere and are not this one.
func (v *snapshotView) others() []option {
	var out []option
	for _, e := range v.environments {
		if a := e.Active; a != nil && a.SnapshotID != v.ID && !slices.ContainsFunc(out, func(o option) bool { return o.Value == a.SnapshotID }) {
			out = append(out, option{a.SnapshotID, visible(a.SnapshotName) + ", live in " + string(e.Environment)})
		}
	}
	return out
}
