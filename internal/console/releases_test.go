package console_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"tenet/internal/client"
	"tenet/internal/console/browsertest"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// released is a project with two snapshots, of which the first is live in production, and an evaluation that the second decides in another way.
type released struct {
	project       string
	first, second string // ids of snapshots
	evaluation    string
}

// release makes a project with a release, and a stricter snapshot that waits.
func (n *node) release(project string) released {
	n.t.Helper()
	ctx, r := n.t.Context(), released{project: project}
	fail := func(err error) {
		n.t.Helper()
		if err != nil {
			n.t.Fatal(err)
		}
	}
	_, err := client.Call(ctx, n.api, op.CreateProject, wire.CreateProject{ID: project})
	fail(err)
	api := n.api.InProject(project)
	made, err := client.Call(ctx, api, op.CreateRule, wire.CreateRule{RuleInput: wire.RuleInput{
		Slug: new("PAY-1"), Statement: "Payments above 100 EUR must be approved.", Severity: rule.Critical, Status: rule.Effective,
		Check: &rule.Check{CEL: "facts.amount <= 100"},
	}})
	fail(err)
	snapshot := func(name string) string {
		s, err := client.Call(ctx, api, op.CreateSnapshot, wire.CreateSnapshot{Name: name, Description: "Release " + name})
		fail(err)
		return s.ID
	}
	r.first = snapshot("December")
	_, err = client.Call(ctx, api, op.DeploySnapshot.At(r.first), wire.DeploySnapshot{Environment: "production", Reason: "year <b>end</b>\u202e"})
	fail(err)
	r.evaluation = n.evaluate(project, `{"facts": {"amount": 50}, "environment": "production"}`)
	_, err = client.Call(ctx, api, op.ReviseRule.At(made.ID), map[string]any{"statement": "Payments above 10 EUR must be approved.", "check": map[string]any{"cel": "facts.amount <= 10"}})
	fail(err)
	r.second = snapshot("January")
	return r
}

// simulate has a simulation done and returns its id.
func (n *node) simulate(r released) string {
	n.t.Helper()
	api := n.api.InProject(r.project)
	run, err := client.Call(n.t.Context(), api, op.StartSimulation.At(r.second), wire.SimulateSnapshot{CompareTo: r.first})
	for end := time.Now().Add(time.Minute); err == nil && run.Result == nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			n.t.Fatalf("the simulation is %s: %s", run.State, run.Error)
		}
		run, err = client.Get(n.t.Context(), api, op.GetSimulation.At(run.ID))
	}
	if err != nil {
		n.t.Fatal(err)
	}
	return run.ID
}

// releaseScreens are rows of the table of screens.
func releaseScreens(n *node) []screen {
	r := n.release("rels")
	base := "/p/rels/releases"
	if err := n.api.InProject("rels").Do(n.t.Context(), http.MethodPut, "/api/v1/environments/production/gates", map[string]any{"max_risk": "low", "approvals": 1}, nil); err != nil {
		n.t.Fatal(err)
	}
	return []screen{
		{"releases", base, "Releases", []string{"Production", "December", "Live since", "U+202E", "Nothing is deployed.", "risk at most low", "Take a snapshot of the live rules", "No earlier snapshot is left to roll back to.", "January"}},
		{"releases of a project without any", "/p/default/releases", "Releases", []string{"There are no snapshots yet.", "Nothing is deployed."}},
		{"the gates of an environment", base + "/environments/production/gates", "Gates of production", []string{"At most low", "Freezes", "Store the gates"}},
		{"history of releases", base + "/history", "History of releases", []string{"December", "deployed", "production", "1 to 1 of 1"}},
		{"history of releases as a table", base + "/history?view=table&environment=production", "History of releases", []string{"December", "Reason"}},
		{"what two snapshots differ by", base + "/compare?from=" + r.first + "&to=" + r.second, "From December to January", []string{"modified 1", "PAY-1", "version 1 to 2", "Payments above 100", "Simulate this switch"}},
		{"what is not released yet", base + "/compare?from=" + r.second, "From January to the live rules", []string{"The two are the same."}},
		{"a snapshot", base + "/snapshots/" + r.first, "December\nlive in production", []string{"Release December", "nobody yet", "You took it: a second person approves it.", "Compute the hash again", "Nothing else is live"}},
		{"a snapshot before its deployment", base + "/snapshots/" + r.second + "/to/production", "January to production", []string{"Live now: December", "0 of 1 people have approved", "refuses", "by the simulation of", "the gates approvals, risk refuse it.", "Simulate again"}},
		{"a simulation", base + "/simulations/" + n.simulate(r), "Simulation of January against December", []string{"Risk: high", "1 of 1 replayed evaluations change", "Why", r.evaluation, "PAY-1 CRITICAL, ALLOW to DENY", "Compare them"}},
	}
}

var simulationPath = regexp.MustCompile(`/p/rels/releases/simulations/[0-9a-f-]+`)

// TestReleasesWithoutScripts takes a snapshot, simulates, approves, deploys and rolls back by the forms alone.
func TestReleasesWithoutScripts(t *testing.T) {
	n := newNode(t, nil)
	r := n.release("rels")
	const base = "/p/rels/releases"
	v, other, viewer := n.signedIn(n.key("ann", "reviewer", "rels")), n.signedIn(n.key("bob", "reviewer", "rels")), n.signedIn(n.key("vi", "viewer", "rels"))
	shows := func(body string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(body, w) {
				t.Errorf("the page does not show %q: %s", w, body)
			}
		}
	}
	posted := func(a answer) string {
		t.Helper()
		if a.status != http.StatusSeeOther {
			t.Fatalf("%d %s", a.status, a.body)
		}
		return a.header.Get("Location")
	}
	// Gates: a simulation's risk, and one approval.
	if err := n.api.InProject("rels").Do(t.Context(), http.MethodPut, "/api/v1/environments/production/gates", map[string]any{"max_risk": "high", "approvals": 1}, nil); err != nil {
		t.Fatal(err)
	}
	taken := posted(v.post(base+"/snapshots", "name", "February <b>", "description", "by hand"))
	shows(v.get(taken).body, "The snapshot February &lt;b&gt; now holds 1 rule.", "You took it: a second person approves it.", "by hand")
	if a := v.post(base+"/snapshots", "name", " "); a.status != http.StatusUnprocessableEntity {
		t.Errorf("a snapshot without a name: %d", a.status)
	}
	if body := v.get(taken).body; strings.Contains(body, "Approve the snapshot") {
		t.Error("who took a snapshot may approve it")
	}
	to := taken + "/to/production"
	if body := v.get(to).body; strings.Contains(body, "Deploy to production</button>") || !strings.Contains(body, "the gate approvals refuses it") {
		t.Errorf("a deployment that gates refuse is offered: %s", body)
	}
	if a := v.post(to, "reason", "now"); a.status != http.StatusConflict || !strings.Contains(a.body, "0 of 1 people have approved") {
		t.Errorf("a forged deployment: %d %s", a.status, a.body)
	}
	posted(other.post(taken+"/approve", "note", "fine with me"))
	shows(other.get(taken).body, "You have approved", "fine with me", "key:bob")
	shows(v.get(to).body, "1 of 1 people have approved", "key:bob", "no simulation against the active snapshot has finished", "Deploy to production</button>", "It simulates first")

	// The simulation lists the evaluation that flips; without a script the page is asked again.
	run := posted(v.post(taken+"/simulate", "against", r.first, "sample", "10"))
	if !simulationPath.MatchString(run) {
		t.Fatalf("the simulation is at %s", run)
	}
	body := ""
	for end := time.Now().Add(time.Minute); !strings.Contains(body, "Risk: "); time.Sleep(20 * time.Millisecond) {
		if body = v.get(run).body; time.Now().After(end) {
			t.Fatalf("the simulation does not end: %s", body)
		}
	}
	shows(body, "Risk: high", `href="/p/rels/evaluations/`+r.evaluation+`"`, "ALLOW to DENY", "CRITICAL rules allow no longer what they allowed")
	shows(v.get(to).body, "by the simulation of", "the simulation for production")
	if a := v.post(taken+"/simulate", "against", r.first, "sample", "many"); a.status != http.StatusUnprocessableEntity {
		t.Errorf("a sample of many: %d", a.status)
	}

	shows(v.get(posted(v.post(to, "reason", "stricter"))).body, "It is live in production now.", "live in production")
	shows(v.get(to).body, "It is live here")
	overview := v.get(base).body
	shows(overview, "Roll back to", "December", "stricter", "key:ann")
	rollback := base + "/environments/production/rollback"
	if a := v.post(rollback, "snapshot", strings.TrimPrefix(taken, base+"/snapshots/"), "name", "December", "reason", " "); a.status != http.StatusUnprocessableEntity {
		t.Errorf("a rollback without a reason: %d", a.status)
	}
	posted(v.post(rollback, "snapshot", strings.TrimPrefix(taken, base+"/snapshots/"), "name", "December", "reason", "payments were held back"))
	shows(v.get(base).body, "Production is back on December.", "Back since", "payments were held back")
	shows(v.get(base+"/history").body, "rolled back to", "payments were held back", "1 to 3 of 3")
	shows(v.get(posted(v.post(taken+"/verify"))).body, "it is as it was taken")
	shows(v.get(base+"/compare?from=production&to=live").body, "<del>", "<ins>", "PAY-1")

	// A viewer is offered nothing, and forged forms are refused.
	for _, path := range []string{base, taken, to} {
		body := viewer.get(path).body
		for _, offer := range []string{"Take a snapshot of", "Approve the snapshot", ">Deploy to", ">Roll back to", ">Simulate<"} {
			if strings.Contains(body, offer) {
				t.Errorf("%s offers a viewer %q", path, offer)
			}
		}
		shows(body, "your role is viewer")
	}
	for _, path := range []string{base + "/snapshots", taken + "/approve", taken + "/simulate", to, rollback} {
		if a := viewer.post(path, "name", "x", "reason", "x", "against", r.first); a.status != http.StatusForbidden {
			t.Errorf("a viewer's forged form to %s: %d", path, a.status)
		}
	}
	for _, path := range []string{"/compare", "/compare?from=staging", "/compare?from=x", "/snapshots/x", "/snapshots/" + r.first + "/to/mars", "/history?environment=mars", "/simulations/x"} {
		if a := v.get(base + path); a.status < 400 || a.status >= 500 {
			t.Errorf("%s: %d", path, a.status)
		}
	}
}

// TestSimulationLive follows a simulation without reloading the page, and loads the gates of a snapshot beside it.
func TestSimulationLive(t *testing.T) {
	n := newNode(t, nil)
	r := n.release("rels")
	for i := range 60 {
		n.evaluate("rels", fmt.Sprintf(`{"facts": {"amount": %d}, "environment": "production"}`, i+20))
	}
	tab := browsertest.Open(t, n.url)
	tab.Open("/p/rels/releases/snapshots/" + r.second)
	tab.Wait("document.querySelectorAll('.environments form').length === 3") // each environment offers its deployment
	tab.Follow("form[action$='/simulate'] button")
	tab.Wait("document.querySelector('main').textContent.includes('Risk: high') && document.querySelectorAll('tbody tr').length === 50")
	if got := tab.Text("h1"); got != "Simulation of January against December" {
		t.Errorf("the page is %q", got)
	}
	for _, p := range append(tab.Problems(), tab.Axe()...) {
		t.Error(p)
	}
}
