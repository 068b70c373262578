package api

import (
	"net/http"
	"slices"
	"testing"

	"tenet/internal/rule"
	"tenet/internal/sandbox"
	"tenet/internal/wire"
)

const casesYAML = `
rules:
  - {slug: C-1, statement: No eval., status: EFFECTIVE, check: {pattern: {regex: 'eval\('}}}
  - {slug: C-2, statement: Amounts stay small., modality: SHOULD, status: EFFECTIVE, check: {cel: facts.amount <= 10}}
cases:
  - {rule: C-1, name: call, files: [{path: a.py, content: "eval(x)\n"}], expect: DENY}
  - {rule: C-1, name: none, files: [{path: a.py, content: "x\n"}], expect: ALLOW}
  - {rule: C-1, name: nobody knows, action: Call it, expect: NEEDS_CONFIRMATION}
  - {rule: C-2, name: large, facts: {amount: 11, list: [1, {deep: 2}]}, expect: NEEDS_CONFIRMATION}
`

// The test cases of a rule file are kept with its rules: those of the file, no more, beside what people have written.
func TestCasesComeWithRuleFiles(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		n.t = t
		load := func(file string) rule.CaseChanges {
			t.Helper()
			return into[rule.ImportResult](n.call("POST", rulesPath+"/import", file, "Content-Type", "application/yaml").want(http.StatusOK)).Cases
		}
		if got, want := load(casesYAML), (rule.CaseChanges{Added: 3, FileOnly: 1}); got != want {
			t.Errorf("the first import: %+v, want %+v", got, want)
		}
		if got, want := load(casesYAML), (rule.CaseChanges{Unchanged: 3, FileOnly: 1}); got != want {
			t.Errorf("the same again: %+v, want %+v", got, want)
		}
		for slug, total := range map[string]int{"C-1": 2, "C-2": 1} {
			report := into[wire.Report](n.call("POST", rulesPath+"/"+slug+"/test-cases/run", nil).want(http.StatusOK))
			if report.Total != total || report.Failing != 0 || report.Results[0].Origin != sandbox.Imported || !report.Results[0].Confirmed {
				t.Errorf("%s: %+v", slug, report)
			}
		}
		n.call("POST", rulesPath+"/C-1/test-cases", fields{"name": "mine", "sample_input": "y", "expected_verdict": "ALLOW"}).want(http.StatusCreated)
		other := "cases: [{rule: C-1, name: other, diff: \"--- a/a.py\\n+++ b/a.py\\n@@ -1 +1 @@\\n-x\\n+eval(y)\\n\", expect: deny}]\n"
		if got, want := load(other), (rule.CaseChanges{Added: 1, Removed: 2}); got != want {
			t.Errorf("another file: %+v, want %+v", got, want)
		}
		var names []string
		for _, c := range into[[]wire.Case](n.call("GET", rulesPath+"/C-1/test-cases", nil)) {
			names = append(names, c.Name)
		}
		if !slices.Equal(names, []string{"mine", "other"}) {
			t.Errorf("the rule has %v", names)
		}
		if got := into[[]wire.Case](n.call("GET", rulesPath+"/C-2/test-cases", nil)); len(got) != 1 {
			t.Errorf("a rule that the file does not name has %d cases, want 1", len(got))
		}
	})
}

func TestBadCasesInRuleFiles(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.evalRule("C-1", nil)
	for body, field := range map[string]string{
		`{"cases":[{"rule":"C-9","name":"n","action":"a","expect":"DENY"}]}`:                 "cases[0].rule",
		`{"cases":[{"rule":"C-1","name":"n","expect":"DENY"}]}`:                              "cases[0].files",
		`{"cases":[{"rule":"C-1","name":"n","action":"a","facts":{"x":1},"expect":"DENY"}]}`: "cases[0].files",
		`{"cases":[{"rule":"C-1","name":"n","action":"a","expect":"PERHAPS"}]}`:              "cases[0].expect",
		`{"cases":[{"rule":"C-1","name":" ","action":"a","expect":"DENY"}]}`:                 "cases[0].name",
		`{"cases":[{"rule":"C-1","name":"n","diff":"@@ -1 +1,9 @@\n+a\n","expect":"DENY"}]}`: "cases[0].files",
		`{"cases":[{"rule":"C-1","name":"n","action":"a","expect":"DENY","line":1}]}`:        "cases[0].line",
	} {
		n.call("POST", rulesPath+"/import", body).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, field)
	}
	good := `{"cases":[{"rule":"C-1","name":"n","action":"a","expect":"ALLOW"}]}`
	dry := into[rule.ImportResult](n.call("POST", rulesPath+"/import?dry_run=true", good).want(http.StatusOK))
	if dry.Cases.Added != 1 {
		t.Errorf("dry run: %+v", dry.Cases)
	}
	if got := into[[]wire.Case](n.call("GET", rulesPath+"/C-1/test-cases", nil)); len(got) != 0 {
		t.Errorf("kept %+v", got)
	}
}

// A run on a snapshot tries the rules as they are in it; the gate of an environment asks for just that.
func TestRunsOnASnapshot(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		n.t = t
		n.evalRule("S-1", nil)
		made := into[wire.Case](n.call("POST", rulesPath+"/S-1/test-cases", fields{"name": "bad", "sample_input": "eval(x)", "expected_verdict": "DENY"}).want(http.StatusCreated))
		s := into[wire.Snapshot](n.call("POST", snapshotsPath, fields{"name": "one"}).want(http.StatusCreated))
		n.call("PATCH", rulesPath+"/S-1", fields{"statement": "No exec.", "check": fields{"pattern": fields{"regex": "exec"}}}).want(http.StatusOK)
		n.call("PUT", "/api/v1/environments/staging/gates", fields{"tests_pass": true}).want(http.StatusOK)
		deploy := func() *reply {
			return n.call("POST", snapshotsPath+"/"+s.ID+"/deploy", fields{"environment": "staging"})
		}
		n.call("POST", rulesPath+"/S-1/test-cases/run", nil).want(http.StatusOK) // on the live rule, where it fails
		deploy().wantProblem(http.StatusConflict, rule.CodeConflict, "gates.tests")

		n.call("POST", testRunsPath, fields{"snapshot_id": "00000000-0000-7000-8000-000000000000"}).wantProblem(http.StatusNotFound, rule.CodeNotFound)
		location := n.call("POST", testRunsPath, fields{"snapshot_id": s.ID}).want(http.StatusAccepted).header.Get("Location")
		n.runJobs()
		run := into[wire.TestRun](n.call("GET", location, nil).want(http.StatusOK))
		if run.Result == nil || run.Result.Total != 1 || run.Result.Passing != 1 || run.Filter.SnapshotID != s.ID {
			t.Fatalf("run %+v", run)
		}
		got := into[[]wire.Case](n.call("GET", rulesPath+"/S-1/test-cases", nil))
		if got[0].ID != made.ID || !*got[0].Passing || !got[0].Stale || got[0].LastRuleVersion != 1 {
			t.Errorf("the case: %+v", got[0])
		}
		deploy().want(http.StatusOK)
	})
}
