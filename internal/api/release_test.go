package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tenet/internal/auth"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

func TestReleases(t *testing.T) {
	t.Parallel()
	onBoth(t, testReleases)
}

func testReleases(t *testing.T, n *node) {
	n.call("POST", rulesPath, fields{"slug": "A-1", "statement": "Say please.", "status": "EFFECTIVE"}).want(http.StatusCreated)
	made := n.call("POST", snapshotsPath, fields{"name": "first", "description": "the beginning"}).want(http.StatusCreated)
	first := into[wire.Snapshot](made)
	if made.header.Get("Location") != snapshotsPath+"/"+first.ID || first.RuleCount != 1 || first.Description != "the beginning" || first.ContentHash == "" {
		t.Errorf("made %+v at %s", first, made.header.Get("Location"))
	}
	n.call("POST", rulesPath, fields{"slug": "A-2", "statement": "Say thanks.", "status": "EFFECTIVE"}).want(http.StatusCreated)
	second := into[wire.Snapshot](n.call("POST", snapshotsPath, fields{"name": "second"}).want(http.StatusCreated))

	list := into[wire.Snapshots](n.call("GET", snapshotsPath+"?limit=1&offset=1", nil).want(http.StatusOK))
	if list.Total != 2 || list.Limit != 1 || list.Offset != 1 || len(list.Items) != 1 || list.Items[0].ID != first.ID {
		t.Errorf("list %+v", list)
	}
	d := into[wire.Difference](n.call("GET", snapshotsPath+"/"+first.ID+"/diff/"+second.ID, nil).want(http.StatusOK))
	if d.RulesAdded != 1 || d.Added[0].Slug != "A-2" {
		t.Errorf("difference %+v", d)
	}
	if v := into[wire.Verification](n.call("POST", snapshotsPath+"/"+first.ID+"/verify", nil).want(http.StatusOK)); !v.Valid {
		t.Errorf("verification %+v", v)
	}
	if got := string(n.call("GET", deploymentsPath, nil).want(http.StatusOK).body); got != "[]\n" {
		t.Errorf("before any deployment: %s", got)
	}

	deploy := func(id, environment string) *reply {
		return n.call("POST", snapshotsPath+"/"+id+"/deploy", fields{"environment": environment})
	}
	if got := into[fields](deploy(first.ID, "production").want(http.StatusOK)); got["previous_snapshot_id"] != nil || got["environment"] != "production" {
		t.Errorf("first deployment %v", got)
	}
	if got := into[fields](deploy(second.ID, "production").want(http.StatusOK)); got["previous_snapshot_id"] != first.ID {
		t.Errorf("second deployment %v", got)
	}
	deploy(first.ID, "prod").wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "environment")
	deploy("0199f0a0-0000-7000-8000-00000000ffff", "production").wantProblem(http.StatusNotFound, rule.CodeNotFound)
	deploy("nonsense", "production").wantProblem(http.StatusNotFound, rule.CodeNotFound)

	n.call("POST", snapshotsPath+"/"+first.ID+"/rollback", nil).wantProblem(http.StatusConflict, rule.CodeConflict)
	back := into[wire.RolledBack](n.call("POST", snapshotsPath+"/"+second.ID+"/rollback", nil).want(http.StatusOK))
	if back.RolledBackFrom != second.ID || back.RolledBackTo != first.ID || back.Environment != wire.Production {
		t.Errorf("rolled back %+v", back)
	}
	n.call("POST", snapshotsPath+"/"+first.ID+"/rollback", nil).wantProblem(http.StatusConflict, rule.CodeConflict)
	n.call("POST", snapshotsPath+"/"+first.ID+"/rollback?environment=mars", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "environment")
	deploy(first.ID, "staging").want(http.StatusOK)
	n.call("POST", snapshotsPath+"/"+first.ID+"/rollback", nil).wantProblem(http.StatusConflict, rule.CodeConflict)

	active := into[[]wire.ActiveDeployment](n.call("GET", deploymentsPath, nil).want(http.StatusOK))
	if len(active) != 2 || active[0].Environment != wire.Production || active[0].SnapshotID != first.ID {
		t.Errorf("active %+v", active)
	}
	state := into[wire.EnvironmentState](n.call("GET", deploymentsPath+"/production", nil).want(http.StatusOK))
	if state.Active == nil || state.Active.SnapshotName != "first" || len(state.History) != 3 {
		t.Errorf("production %+v", state)
	}
	n.call("GET", deploymentsPath+"/mars", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "environment")
	n.call("DELETE", snapshotsPath+"/"+first.ID, nil).wantProblem(http.StatusMethodNotAllowed, rule.CodeInvalid)
	n.call("GET", snapshotsPath+"?limit=0", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid)
	n.call("POST", snapshotsPath, fields{"name": ""}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "name")
}

// What one project releases is not there for another.
func TestReleasesAreTheProjectsOwn(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.call("POST", projectsPath, fields{"id": "other"}).want(http.StatusCreated)
	s := into[wire.Snapshot](n.call("POST", snapshotsPath, fields{"name": "mine"}).want(http.StatusCreated))
	n.makeKey(auth.Admin, "*")
	n.key = n.makeKey(auth.Reviewer, "other")
	n.call("GET", snapshotsPath+"/"+s.ID, nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	n.call("POST", snapshotsPath+"/"+s.ID+"/deploy", fields{"environment": "staging"}).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	n.call("GET", snapshotsPath+"/"+s.ID+"?project_id=default", nil).wantProblem(http.StatusForbidden, rule.CodeForbidden)
}

func TestReleaseGates(t *testing.T) {
	t.Parallel()
	onBoth(t, testReleaseGates)
}

func testReleaseGates(t *testing.T, n *node) {
	const production = "/api/v1/environments/production/gates"
	s := into[wire.Snapshot](n.call("POST", snapshotsPath, fields{"name": "first"}).want(http.StatusCreated))
	if got := into[fields](n.call("GET", production, nil).want(http.StatusOK)); len(got) != 0 {
		t.Errorf("gates before any are set: %v", got)
	}
	n.call("PUT", production, fields{"approvals": 1, "freezes": []fields{{"from": "2026-01-01T00:00:00Z", "until": "2999-01-01T00:00:00Z", "reason": "closed"}}}).want(http.StatusOK)
	n.call("PUT", production, fields{"approvals": 11}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "approvals")
	n.call("PUT", production, fields{"max_risk": "some"}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "max_risk")
	n.call("PUT", "/api/v1/environments/mars/gates", fields{}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "environment")
	n.call("POST", snapshotsPath+"/"+s.ID+"/deploy", fields{"environment": "production"}).
		wantProblem(http.StatusConflict, rule.CodeConflict, "gates.freeze", "gates.approvals")
	results := into[[]wire.GateResult](n.call("GET", production+"/"+s.ID, nil).want(http.StatusOK))
	if len(results) != 2 || results[0].Passed || results[1].Passed {
		t.Errorf("results %+v", results)
	}
	n.call("POST", snapshotsPath+"/"+s.ID+"/approvals", fields{}).wantProblem(http.StatusConflict, rule.CodeConflict)
	n.key = n.makeKey(auth.Admin, "*")
	n.call("POST", snapshotsPath+"/"+s.ID+"/approvals", fields{"note": "fine"}).want(http.StatusCreated)
	if got := into[wire.Snapshot](n.call("GET", snapshotsPath+"/"+s.ID, nil).want(http.StatusOK)); len(got.Approvals) != 1 || got.Approvals[0].Note != "fine" {
		t.Errorf("approvals %+v", got.Approvals)
	}
	n.call("PUT", production, fields{"approvals": 1}).want(http.StatusOK)
	n.call("POST", snapshotsPath+"/"+s.ID+"/deploy", fields{"environment": "production"}).want(http.StatusOK)
}

// A deployed snapshot decides where an environment is named, whatever becomes of the live rules; and what a switch would change is told
// before it is made.
func TestEnvironmentsDecide(t *testing.T) {
	t.Parallel()
	onBoth(t, testEnvironmentsDecide)
}

func testEnvironmentsDecide(t *testing.T, n *node) {
	limit := func(amount string) fields {
		return fields{"slug": "PAY-1", "statement": "Payments must not be above " + amount + ".", "status": "EFFECTIVE", "check": fields{"cel": "facts.amount <= " + amount}}
	}
	n.call("POST", rulesPath, limit("100")).want(http.StatusCreated)
	judge := func(amount int, environment string) *reply {
		body := fields{"facts": fields{"amount": amount}}
		if environment != "" {
			body["environment"] = environment
		}
		return n.call("POST", evaluatePath, body)
	}
	judge(50, "production").wantProblem(http.StatusConflict, rule.CodeConflict)
	judge(50, "mars").wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "environment")
	snapshot := func(name string) string {
		return into[wire.Snapshot](n.call("POST", snapshotsPath, fields{"name": name}).want(http.StatusCreated)).ID
	}
	first := snapshot("first")
	n.call("POST", snapshotsPath+"/"+first+"/deploy", fields{"environment": "production"}, "Idempotency-Key", "d-1").want(http.StatusOK)
	n.call("POST", snapshotsPath+"/"+first+"/deploy", fields{"environment": "production"}, "Idempotency-Key", "d-1").want(http.StatusOK)
	n.call("POST", snapshotsPath+"/"+first+"/deploy", fields{"environment": "staging"}, "Idempotency-Key", "d-1").wantProblem(http.StatusConflict, rule.CodeConflict)
	if state := into[wire.EnvironmentState](n.call("GET", deploymentsPath+"/production", nil).want(http.StatusOK)); len(state.History) != 1 {
		t.Errorf("a request that was sent twice makes %d steps", len(state.History))
	}

	n.call("PATCH", rulesPath+"/PAY-1", fields{"statement": "Payments must not be above 10.", "check": fields{"cel": "facts.amount <= 10"}}).want(http.StatusOK)
	answer := judge(50, "").want(http.StatusOK)
	live := into[rule.Evaluation](answer)
	deployed := into[rule.Evaluation](judge(50, "production").want(http.StatusOK))
	if live.OverallVerdict != rule.Deny || live.SnapshotID != nil || deployed.OverallVerdict != rule.Allow || deployed.SnapshotID == nil || *deployed.SnapshotID != first {
		t.Errorf("live %+v, deployed %+v", live, deployed)
	}
	if id, ok := into[fields](answer)["snapshot_id"]; !ok || id != nil {
		t.Errorf("a live evaluation has snapshot_id %v, present: %v", id, ok)
	}
	submitted := n.call("POST", submissionsPath, fields{"subject": fields{"kind": "transaction", "amount": 50}, "environment": "production"}).want(http.StatusOK)
	if got := into[fields](submitted); got["snapshot_id"] != first || got["overall_verdict"] != "ALLOW" {
		t.Errorf("submission: %v by %v", got["overall_verdict"], got["snapshot_id"])
	}
	for _, asked := range []*reply{
		n.call("POST", evaluatePath+"/applicable-rules", fields{"environment": "production"}),
		n.call("POST", "/api/v1/search/fulltext?environment=production", fields{"query": "payments above 100"}),
	} {
		if asked.want(http.StatusOK).header.Get("Tenet-Snapshot-Id") != first || !strings.Contains(string(asked.body), "above 100.") {
			t.Errorf("%s: by %q: %s", asked.what, asked.header.Get("Tenet-Snapshot-Id"), asked.body)
		}
	}
	n.call("POST", "/api/v1/search/category?environment=staging", fields{}).wantProblem(http.StatusConflict, rule.CodeConflict)

	second := snapshot("second")
	simulation := into[wire.Simulation](n.call("POST", snapshotsPath+"/"+second+"/simulate", fields{"compare_to": first}).want(http.StatusOK))
	if v := simulation.VerdictChanges; v.TotalSampled != 3 || v.AllowToDeny != 3 || simulation.RulesModified != 1 || simulation.RiskLevel != wire.RiskHigh {
		t.Errorf("simulation %+v", simulation)
	}
	if before := into[wire.Page[wire.EvaluationSummary]](n.call("GET", evaluationsPath, nil).want(http.StatusOK)); before.Total != 3 {
		t.Errorf("a simulation leaves %d evaluations, want 3", before.Total)
	}
	started := n.call("POST", snapshotsPath+"/"+second+"/simulate", fields{"compare_to": first}, "Prefer", "respond-async").want(http.StatusAccepted)
	if run := into[wire.SimulationRun](started); run.State != job.Queued || started.header.Get("Location") != simulationsPath+"/"+run.ID || started.header.Get("Preference-Applied") == "" {
		t.Errorf("started %+v at %q", run, started.header.Get("Location"))
	}
	n.runJobs()
	run := into[wire.SimulationRun](n.call("GET", started.header.Get("Location"), nil).want(http.StatusOK))
	if run.State != job.Succeeded || run.Request.CompareTo != first || run.Progress.Done != 3 {
		t.Errorf("the simulation in the background: %+v", run)
	}
	if diff := cmp.Diff(&simulation, run.Result, cmpopts.IgnoreFields(wire.Simulation{}, "Examples")); diff != "" {
		t.Errorf("in the background (-at once +got):\n%s", diff)
	}
	n.call("GET", simulationsPath+"/00000000-0000-7000-8000-000000000000", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	n.call("POST", snapshotsPath+"/"+second+"/simulate", fields{"compare_to": second}, "Prefer", "respond-async").
		wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "compare_to")
	n.call("POST", snapshotsPath+"/00000000-0000-7000-8000-000000000000/simulate", fields{"compare_to": second}, "Prefer", "respond-async").
		wantProblem(http.StatusNotFound, rule.CodeNotFound)
	for _, size := range []int{0, 1001} {
		n.call("POST", snapshotsPath+"/"+second+"/simulate", fields{"compare_to": first, "sample_size": size}).
			wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "sample_size")
	}
	n.call("POST", snapshotsPath+"/"+second+"/simulate", fields{"compare_to": second}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "compare_to")
}

func TestSnapshotsHoldTheFederation(t *testing.T) {
	t.Parallel()
	onBoth(t, testSnapshotsHoldTheFederation)
}

func testSnapshotsHoldTheFederation(t *testing.T, n *node) {
	r := into[rule.Rule](n.call("POST", rulesPath, fields{"slug": "A-1", "statement": "Say please.", "status": "EFFECTIVE"}).want(http.StatusCreated))
	org := n.makeNode("org", "organization", "")
	n.call("POST", federationPath+"/"+org+"/rules", fields{"rule_id": r.ID}).want(http.StatusCreated)
	first := into[wire.Snapshot](n.call("POST", snapshotsPath, fields{"name": "first"}).want(http.StatusCreated))
	n.call("POST", snapshotsPath+"/"+first.ID+"/deploy", fields{"environment": "staging"}).want(http.StatusOK)
	n.call("DELETE", federationPath+"/"+org+"/rules/"+r.ID, nil).want(http.StatusNoContent)
	second := into[wire.Snapshot](n.call("POST", snapshotsPath, fields{"name": "second"}).want(http.StatusCreated))
	if first.ContentHash == second.ContentHash {
		t.Error("an attachment leaves the hash as it is")
	}
	for query, want := range map[string]float64{"": 0, "?environment=staging": 1} {
		got := n.call("GET", federationPath+"/"+org+"/effective-rules"+query, nil).want(http.StatusOK)
		if total := into[fields](got)["total"]; total != want || (want == 1) != (got.header.Get("Tenet-Snapshot-Id") == first.ID) {
			t.Errorf("%q: %v rules hold, by %q", query, total, got.header.Get("Tenet-Snapshot-Id"))
		}
	}
	if d := into[wire.Difference](n.call("GET", snapshotsPath+"/"+first.ID+"/diff/"+second.ID, nil).want(http.StatusOK)); !d.Federation || d.RulesModified != 0 {
		t.Errorf("difference %+v", d)
	}
	if v := into[wire.Verification](n.call("POST", snapshotsPath+"/"+first.ID+"/verify", nil).want(http.StatusOK)); !v.Valid {
		t.Errorf("verification %+v", v)
	}
}
