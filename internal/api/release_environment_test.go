package api

import (
	"fmt"
	"net/http"
	"testing"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// What the screens about releases read: environments side by side, steps with their reasons, pages of differences, simulations and gates.
func TestEnvironmentsSideBySide(t *testing.T) {
	t.Parallel()
	onBoth(t, testEnvironmentsSideBySide)
}

func testEnvironmentsSideBySide(t *testing.T, n *node) {
	const environments, steps, simulations = "/api/v1/environments", "/api/v1/deployments", "/api/v1/simulations"
	all := func() map[wire.Environment]wire.EnvironmentSummary {
		t.Helper()
		out := map[wire.Environment]wire.EnvironmentSummary{}
		for _, e := range into[[]wire.EnvironmentSummary](n.call("GET", environments, nil).want(http.StatusOK)) {
			out[e.Environment] = e
		}
		return out
	}
	if got := all(); len(got) != 3 || got["production"].Active != nil || got["production"].Previous != nil || got["staging"].Deployments != 0 {
		t.Errorf("before anything: %+v", got)
	}
	limit := func(i int, amount string) fields {
		return fields{"slug": fmt.Sprintf("PAY-%d", i), "statement": "Payments must not be above " + amount + ".", "status": "EFFECTIVE", "check": fields{"cel": "facts.amount <= " + amount}}
	}
	for i := range 3 {
		n.call("POST", rulesPath, limit(i, "100")).want(http.StatusCreated)
	}
	snapshot := func(name string) string {
		return into[wire.Snapshot](n.call("POST", snapshotsPath, fields{"name": name}).want(http.StatusCreated)).ID
	}
	first := snapshot("first")
	for i := range 3 {
		change := limit(i, "10")
		delete(change, "status")
		delete(change, "slug")
		n.call("PATCH", rulesPath+fmt.Sprintf("/PAY-%d", i), change).want(http.StatusOK)
	}
	second := snapshot("second")
	deploy := func(id, environment, reason string) {
		t.Helper()
		n.call("POST", snapshotsPath+"/"+id+"/deploy", fields{"environment": environment, "reason": reason}).want(http.StatusOK)
	}
	deploy(first, "production", "the first one")
	deploy(first, "staging", "")
	deploy(second, "production", " stricter ")
	production := all()["production"]
	if a := production.Active; a == nil || a.SnapshotName != "second" || a.Reason != "stricter" || a.Action != wire.ActionDeploy || a.DeployedBy == "" ||
		production.Previous == nil || production.Previous.SnapshotName != "first" || production.Deployments != 2 {
		t.Errorf("production: %+v", production)
	}
	n.call("POST", snapshotsPath+"/"+second+"/rollback", fields{"reason": "too strict"}).want(http.StatusOK)
	production = all()["production"]
	if a := production.Active; a.SnapshotName != "first" || a.Action != wire.ActionRollback || a.Reason != "too strict" || production.Previous != nil {
		t.Errorf("after a rollback: %+v", production)
	}
	page := into[wire.Page[wire.HistoryEntry]](n.call("GET", steps+"?page_size=2", nil).want(http.StatusOK))
	if page.Total != 4 || len(page.Items) != 2 || page.Items[0].Action != wire.ActionRollback || page.Items[0].Reason != "too strict" || page.Items[0].SnapshotName != "first" {
		t.Errorf("steps: %+v", page)
	}
	page = into[wire.Page[wire.HistoryEntry]](n.call("GET", steps+"?environment=production", nil).want(http.StatusOK))
	if page.Total != 3 || page.Items[0].ReplacedAt != nil || page.Items[1].ReplacedAt == nil || page.Items[2].Environment != wire.Production {
		t.Errorf("steps of production: %+v", page)
	}
	n.call("GET", steps+"?environment=mars", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "environment")

	// Pages of a difference, and what is not released yet.
	diff := func(from, to, query string) wire.Difference {
		t.Helper()
		return into[wire.Difference](n.call("GET", snapshotsPath+"/"+from+"/diff/"+to+query, nil).want(http.StatusOK))
	}
	seen := map[string]bool{}
	for offset := range 3 {
		d := diff(first, second, fmt.Sprintf("?change=modified&limit=1&offset=%d", offset))
		if d.RulesModified != 3 || len(d.Modified) != 1 || len(d.Added) != 0 || d.Truncated != (offset < 2) {
			t.Fatalf("page %d: %+v", offset, d)
		}
		seen[d.Modified[0].Slug] = true
	}
	if len(seen) != 3 || len(diff(first, second, "?change=modified&offset=3").Modified) != 0 || len(diff(first, second, "?change=added").Modified) != 0 {
		t.Errorf("pages show %v", seen)
	}
	n.call("POST", rulesPath, limit(9, "5")).want(http.StatusCreated)
	if d := diff(second, wire.LiveRules, ""); d.RulesAdded != 1 || d.RulesModified != 0 || d.To != wire.LiveRules || d.Added[0].Slug != "PAY-9" {
		t.Errorf("not released yet: %+v", d)
	}
	if d := diff(wire.LiveRules, second, ""); d.RulesRemoved != 1 {
		t.Errorf("the other way round: %+v", d)
	}
	n.call("GET", snapshotsPath+"/"+first+"/diff/00000000-0000-7000-8000-000000000000", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	n.call("GET", snapshotsPath+"/"+first+"/diff/"+second+"?change=moved", nil).want(http.StatusUnprocessableEntity)

	// Simulations list what flips, and answer for the risk gate where none is to be made.
	for _, amount := range []int{5, 50} {
		n.call("POST", evaluatePath, fields{"facts": fields{"amount": amount}, "environment": "production"}).want(http.StatusOK)
	}
	const gates = environments + "/production/gates"
	n.call("PUT", gates, fields{"max_risk": "low"}).want(http.StatusOK)
	risk := func() wire.GateResult {
		t.Helper()
		return into[[]wire.GateResult](n.call("GET", gates+"/"+second+"?skip_simulation=true", nil).want(http.StatusOK))[0]
	}
	if got := risk(); got.Passed || !got.Pending || got.SimulationID != "" {
		t.Errorf("before a simulation: %+v", got)
	}
	for _, dry := range []bool{false, true} {
		n.call("POST", snapshotsPath+"/"+second+"/simulate", fields{"compare_to": first, "dry_run": dry}, "Prefer", "respond-async").want(http.StatusAccepted)
	}
	n.call("POST", snapshotsPath+"/"+first+"/simulate", fields{"compare_to": second}, "Prefer", "respond-async").want(http.StatusAccepted)
	n.runJobs()
	list := into[wire.Page[wire.SimulationRun]](n.call("GET", simulations+"?snapshot_id="+second+"&page_size=2", nil).want(http.StatusOK))
	if list.Total != 3 || len(list.Items) != 2 || list.Items[0].Request.SnapshotID != first || list.Items[0].Result == nil || len(list.Items[0].Result.Flips) != 0 {
		t.Errorf("simulations: %+v", list)
	}
	if other := into[wire.Page[wire.SimulationRun]](n.call("GET", simulations+"?snapshot_id=x", nil).want(http.StatusOK)); other.Total != 0 {
		t.Errorf("simulations of no snapshot: %+v", other)
	}
	got := risk()
	if got.Passed || got.Pending || got.SimulationID == "" {
		t.Fatalf("after a simulation: %+v", got)
	}
	run := into[wire.SimulationRun](n.call("GET", simulations+"/"+got.SimulationID, nil).want(http.StatusOK))
	if f := run.Result.Flips; run.Request.DryRun || len(f) != 1 || f[0].Before != rule.Allow || f[0].After != rule.Deny || f[0].RulesChanged != 3 || len(f[0].Rules) != 3 || f[0].EvaluationID == "" {
		t.Errorf("flips: %+v", run)
	}
	n.call("PUT", gates, fields{"freezes": []fields{{"from": "2026-01-01T00:00:00Z", "until": "2999-01-01T00:00:00Z", "reason": "closed"}}}).want(http.StatusOK)
	if e := all()["production"]; e.Frozen == nil || e.Frozen.Reason != "closed" || len(e.Gates.Freezes) != 1 {
		t.Errorf("frozen: %+v", e)
	}
	n.key = n.makeKey(auth.Viewer, "*")
	n.call("GET", environments, nil).want(http.StatusOK)
}
