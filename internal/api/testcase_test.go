package api

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/check"
	"tenet/internal/evaluate"
	"tenet/internal/job"
	"tenet/internal/judge"
	"tenet/internal/lint"
	"tenet/internal/llm/llmtest"
	"tenet/internal/rule"
	"tenet/internal/sandbox"
	"tenet/internal/store"
	"tenet/internal/wire"
)

func (n *node) evalRule(slug string, fields map[string]any) {
	n.t.Helper()
	body := map[string]any{"slug": slug, "statement": "No eval.", "status": "EFFECTIVE", "check": map[string]any{"pattern": map[string]any{"regex": `\beval\(`}}}
	maps.Copy(body, fields)
	n.call("POST", "/api/v1/rules", body).want(http.StatusCreated)
}

func TestTestCasesOfARule(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		n.t = t
		n.evalRule("E-1", map[string]any{"modality": "SHOULD"})
		const path = "/api/v1/rules/E-1/test-cases"
		tests := func() *rule.Tests {
			t.Helper()
			one := into[rule.Rule](n.call("GET", "/api/v1/rules/E-1", nil).want(http.StatusOK))
			list := into[wire.Page[rule.Rule]](n.call("GET", "/api/v1/rules", nil).want(http.StatusOK))
			if *one.Tests != *list.Items[0].Tests && one.Tests.LastRunAt == nil {
				t.Errorf("one rule has %+v, the list %+v", one.Tests, list.Items[0].Tests)
			}
			return one.Tests
		}
		if got := tests(); got.Total != 0 || got.LastRunAt != nil {
			t.Errorf("without cases: %+v", got)
		}
		found := func() (codes []string) {
			for _, f := range into[rule.Rule](n.call("GET", "/api/v1/rules/E-1", nil)).Findings {
				codes = append(codes, f.Code)
			}
			return codes
		}
		if got := found(); !slices.Equal(got, []string{lint.NoTestCase}) {
			t.Errorf("lint without cases: %v", got)
		}
		if got := into[[]wire.Case](n.call("GET", path, nil).want(http.StatusOK)); got == nil || len(got) != 0 {
			t.Errorf("no cases: %v", got)
		}
		t.Run("a case without a run", func(t *testing.T) {
			made := into[map[string]any](n.call("POST", path, map[string]any{"name": "fields", "sample_input": "x", "expected_verdict": "ALLOW"}).want(http.StatusCreated))
			for _, field := range []string{"last_result", "passing", "last_run_at"} {
				if v, ok := made[field]; !ok || v != nil {
					t.Errorf("%s is %v (there: %t), want null", field, v, ok)
				}
			}
			if v, ok := made["last_reasoning"]; !ok || v != "" {
				t.Errorf("last_reasoning is %v (there: %t), want an empty text", v, ok)
			}
			n.call("DELETE", path+"/"+made["id"].(string), nil).want(http.StatusNoContent)
		})
		var ids []string
		for _, body := range []map[string]any{
			{"name": "bad", "sample_input": "x = eval(y)", "expected_verdict": "deny"},
			{"name": "good", "sample_input": "x = 1", "input_type": "code", "expected_verdict": "ALLOW"},
			{"name": "scenario", "sample_input": "She calls eval(x).", "input_type": "facts", "expected_verdict": "DENY"},
			{"name": "facts", "sample_input": `{"note": "no such call"}`, "input_type": "facts", "expected_verdict": "DENY"},
		} {
			made := into[wire.Case](n.call("POST", path, body).want(http.StatusCreated))
			if made.ID == "" || made.Origin != "manual" || !made.Confirmed || made.Passing != nil || made.LastResult != nil {
				t.Errorf("made %+v", made)
			}
			ids = append(ids, made.ID)
		}
		if got := found(); !slices.Equal(got, []string(nil)) {
			t.Errorf("lint with cases: %v", got)
		}
		report := into[wire.Report](n.call("POST", path+"/run", nil).want(http.StatusOK))
		if report.Total != 4 || report.Passing != 3 || report.Failing != 1 || len(report.Results) != 4 {
			t.Fatalf("report %+v", report)
		}
		// A broken SHOULD asks in evaluations, but the case says that the sample breaks the rule, and it does.
		if r := report.Results[0]; r.ID != ids[0] || r.Result() != rule.Deny || !*r.Passing || r.LastDecidedBy != "check" || r.LastRuleVersion != 1 || r.Stale {
			t.Errorf("first result %+v", r)
		}
		if r := report.Results[3]; *r.Passing || r.Result() != rule.Allow || r.LastReasoning == "" {
			t.Errorf("failing result %+v", r)
		}
		if got := tests(); got.Total != 4 || got.Passing != 3 || got.LastRunAt == nil {
			t.Errorf("after a run: %+v", got)
		}
		n.call("PATCH", "/api/v1/rules/E-1", map[string]any{"statement": "No eval at all."}).want(http.StatusOK)
		if got := into[[]wire.Case](n.call("GET", path, nil)); !got[0].Stale || !*got[0].Passing {
			t.Errorf("after a revision: %+v", got[0])
		}
		if got := tests(); got.Total != 4 || got.Passing != 0 {
			t.Errorf("after a revision: %+v", got)
		}
		n.call("DELETE", path+"/"+ids[3], nil).want(http.StatusNoContent)
		n.call("DELETE", path+"/"+ids[3], nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
		if got := into[wire.Report](n.call("POST", path+"/run", nil).want(http.StatusOK)); got.Total != 3 || got.Failing != 0 {
			t.Errorf("the second run: %+v", got)
		}
	})
}

func TestBadTestCasesAreRefused(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.evalRule("E-1", nil)
	const path = "/api/v1/rules/E-1/test-cases"
	good := map[string]any{"name": "n", "sample_input": "x", "expected_verdict": "ALLOW"}
	for field, values := range map[string][]any{
		"name":             {"", "  ", strings.Repeat("x", 201), nil},
		"sample_input":     {"", " \n", strings.Repeat("x", 1<<20), "a\x00b", "@@ -1 +1,9 @@\n+a\n"},
		"input_type":       {"picture"},
		"expected_verdict": {"NEEDS_CONFIRMATION", "MAYBE", "", nil},
	} {
		for _, value := range values {
			body := maps.Clone(good)
			body[field] = value
			n.call("POST", path, body).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, field)
		}
	}
	broken := map[string]any{"name": "n", "sample_input": `{"a": `, "input_type": "facts", "expected_verdict": "ALLOW"}
	n.call("POST", path, broken).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "sample_input")
	for _, count := range []any{0, 51, "six"} {
		n.call("POST", path+"/generate", map[string]any{"count": count}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "count")
	}
	if p := n.call("POST", path+"/generate", map[string]any{}).wantProblem(http.StatusServiceUnavailable, rule.CodeUnavailable); !strings.Contains(p.Detail, "TENET_JUDGE_MODEL") {
		t.Errorf("without a model: %+v", p)
	}
	for _, r := range []*reply{
		n.call("GET", "/api/v1/rules/none/test-cases", nil), n.call("POST", "/api/v1/rules/none/test-cases", good),
		n.call("POST", "/api/v1/rules/none/test-cases/run", nil), n.call("DELETE", path+"/none", nil), n.call("POST", path+"/none/confirm", nil),
	} {
		r.wantProblem(http.StatusNotFound, rule.CodeNotFound)
	}
	if got := into[[]wire.Case](n.call("GET", path, nil)); len(got) != 0 {
		t.Errorf("kept %+v", got)
	}
}

// What a rule's test cases say counts in its precision and recall: those that a person stands by, on what it says now.
func TestQualityCountsTestCases(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		n.t = t
		n.evalRule("E-1", nil)
		for sample, verdicts := range map[string][]string{"eval(x)": {"DENY", "DENY", "ALLOW"}, "x": {"ALLOW", "DENY"}} {
			for _, verdict := range verdicts {
				n.call("POST", "/api/v1/rules/E-1/test-cases", map[string]any{"name": "n", "sample_input": sample, "expected_verdict": verdict}).want(http.StatusCreated)
			}
		}
		quality := func() wire.RuleTally {
			t.Helper()
			return into[wire.RuleQuality](n.call("GET", "/api/v1/rules/E-1/quality", nil).want(http.StatusOK)).TestCases
		}
		if diff := cmp.Diff(wire.RuleTally{}, quality()); diff != "" {
			t.Errorf("before they ran (-want +got):\n%s", diff)
		}
		n.call("POST", "/api/v1/rules/E-1/test-cases/run", nil).want(http.StatusOK)
		got := quality()
		if got.TruePositives != 2 || got.FalsePositives != 1 || got.TrueNegatives != 1 || got.FalseNegatives != 1 ||
			got.Precision == nil || got.Precision.Of != 3 || got.Recall == nil || got.Recall.Of != 3 {
			t.Errorf("after they ran: %+v", got)
		}
		n.call("PATCH", "/api/v1/rules/E-1", map[string]any{"statement": "No eval, ever."}).want(http.StatusOK)
		if diff := cmp.Diff(wire.RuleTally{}, quality()); diff != "" {
			t.Errorf("of what it said before (-want +got):\n%s", diff)
		}
	})
}

func TestEvaluationsAreKeptAsTestCases(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.evalRule("E-1", nil)
	n.evalRule("E-2", map[string]any{"statement": "No exec.", "check": map[string]any{"pattern": map[string]any{"regex": "exec"}}})
	evaluation := func(body map[string]any) string {
		return "/api/v1/evaluations/" + into[rule.Evaluation](n.call("POST", "/api/v1/evaluate", body).want(http.StatusOK)).EvaluationID + "/test-cases"
	}
	code := evaluation(map[string]any{"files": []map[string]any{{"path": "a b.py", "content": "x = 1\ny = eval(z)"}, {"path": "c.py", "content": "ok\n"}}})
	n.call("POST", code, map[string]any{}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "rule_id")
	n.call("POST", code, map[string]any{"rule_id": "E-9"}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "rule_id")
	for slug, want := range map[string]rule.Verdict{"E-1": rule.Deny, "E-2": rule.Allow} {
		made := into[wire.Case](n.call("POST", code, map[string]any{"rule_id": slug}).want(http.StatusCreated))
		if made.ExpectedVerdict != want || made.InputType != "code" || made.Name == "" {
			t.Errorf("%s: %+v", slug, made)
		}
		report := into[wire.Report](n.call("POST", "/api/v1/rules/"+slug+"/test-cases/run", nil).want(http.StatusOK))
		if report.Passing != 1 || report.Total != 1 {
			t.Errorf("%s: %+v", slug, report)
		}
	}
	facts := evaluation(map[string]any{"facts": map[string]any{"note": "calls eval(x)"}})
	made := into[wire.Case](n.call("POST", facts, map[string]any{"rule_id": "E-1", "name": "by facts"}).want(http.StatusCreated))
	if made.InputType != "facts" || !strings.Contains(made.SampleInput, "calls eval(x)") || made.Name != "by facts" {
		t.Errorf("of facts: %+v", made)
	}
	both := evaluation(map[string]any{"facts": map[string]any{"a": 1}, "files": []map[string]any{{"path": "a.py", "content": "x"}}})
	n.call("POST", both, map[string]any{"rule_id": "E-1"}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "evaluation")
	bare := evaluation(map[string]any{"files": []map[string]any{{"path": "a.py"}}})
	n.call("POST", bare, map[string]any{"rule_id": "E-1", "expected_verdict": "DENY"}).
		wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "evaluation.files[0]")
	n.call("POST", "/api/v1/evaluations/00000000-0000-7000-8000-000000000000/test-cases", map[string]any{}).wantProblem(http.StatusNotFound, rule.CodeNotFound)
}

func TestRunsOverManyRules(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		n.t = t
		for slug, tags := range map[string][]string{"T-1": {"a", "b"}, "T-2": {"a"}, "T-3": {"c"}} {
			n.evalRule(slug, map[string]any{"tags": tags})
			for _, verdict := range []string{"ALLOW", "DENY"} {
				n.call("POST", "/api/v1/rules/"+slug+"/test-cases", map[string]any{"name": verdict, "sample_input": "eval(x)", "expected_verdict": verdict}).
					want(http.StatusCreated)
			}
		}
		n.evalRule("T-4", map[string]any{"tags": []string{"a"}}) // has no cases
		start := func(body map[string]any) string {
			t.Helper()
			r := n.call("POST", "/api/v1/test-runs", body).want(http.StatusAccepted)
			run := into[wire.TestRun](r)
			if run.State != job.Queued || run.JobID == 0 || r.header.Get("Location") != "/api/v1/test-runs/"+run.ID {
				t.Errorf("started %+v at %s", run, r.header.Get("Location"))
			}
			return r.header.Get("Location")
		}
		n.call("POST", "/api/v1/test-runs", map[string]any{"rule_ids": []string{"T-3", "T-9"}}).wantProblem(http.StatusNotFound, rule.CodeNotFound)
		tagged, named, none := start(map[string]any{"tags": []string{"a"}}), start(map[string]any{"rule_ids": []string{"T-3"}}), start(map[string]any{"status": "draft"})
		runner := job.New(job.Config{Store: job.Store{Updater: n.store, JobWatcher: n.store, Jobs: n.store.Jobs}, Poll: 10 * time.Millisecond, Handlers: map[string]job.Handler{sandbox.RunKind: n.cfg.Sandbox.HandleRun}})
		runner.Start()
		defer func() {
			if err := runner.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		}()
		for location, want := range map[string]wire.RunResult{
			tagged: {Rules: 2, Total: 4, Passing: 2, Failing: 2}, named: {Rules: 1, Total: 2, Passing: 1, Failing: 1}, none: {},
		} {
			var run wire.TestRun
			for deadline := time.Now().Add(time.Minute); run.State != job.Succeeded && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
				run = into[wire.TestRun](n.call("GET", location, nil).want(http.StatusOK))
			}
			if run.Result == nil || run.FinishedAt == nil {
				t.Fatalf("not finished: %+v", run)
			}
			got := *run.Result
			if len(got.Failures) != want.Failing {
				t.Errorf("failures %+v", got.Failures)
			}
			got.Failures = nil
			if diff := cmp.Diff(want, got); diff != "" || run.Progress.Done != want.Rules {
				t.Errorf("%+v (-want +got):\n%s", run.Filter, diff)
			}
		}
		n.call("POST", "/api/v1/test-runs", map[string]any{"severity": "huge"}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "severity")
		n.call("GET", "/api/v1/test-runs/00000000-0000-7000-8000-000000000000", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	})
}

// asGenerated makes the test cases of a rule those that a model has written and nobody has confirmed.
func (n *node) asGenerated(ref string) {
	n.t.Helper()
	err := n.store.Update(n.t.Context(), func(tx store.Tx) error {
		r, err := tx.Rules.Get(n.t.Context(), rule.DefaultProject, ref)
		if err != nil {
			return err
		}
		list, err := tx.TestCases.List(n.t.Context(), rule.DefaultProject, r.ID)
		for i := range list {
			if _, err := tx.TestCases.Delete(n.t.Context(), rule.DefaultProject, r.ID, list[i].ID); err != nil {
				return err
			}
			list[i].Origin, list[i].Confirmed = sandbox.Generated, false
		}
		if err != nil {
			return err
		}
		return tx.TestCases.Insert(n.t.Context(), list)
	})
	if err != nil {
		n.t.Fatal(err)
	}
}

func TestAProjectCanDemandThatTestsPass(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		n.t = t
		n.call("PATCH", "/api/v1/projects/default", map[string]any{"tests_required": nil}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "tests_required")
		if p := into[rule.Project](n.call("PATCH", "/api/v1/projects/default", map[string]any{"tests_required": true}).want(http.StatusOK)); !p.TestsRequired {
			t.Errorf("project %+v", p)
		}
		check := map[string]any{"pattern": map[string]any{"regex": "eval"}}
		n.call("POST", "/api/v1/rules", map[string]any{"slug": "D-1", "statement": "No eval.", "check": check, "status": "EFFECTIVE"}).
			wantProblem(http.StatusConflict, rule.CodeConflict)
		n.call("POST", "/api/v1/rules", map[string]any{"slug": "D-1", "statement": "No eval.", "check": check, "status": "APPROVED"}).want(http.StatusCreated)
		n.call("POST", "/api/v1/rules/import", map[string]any{"rules": []any{map[string]any{"slug": "D-1", "statement": "No eval.", "status": "EFFECTIVE"}}}).
			wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid)
		move := func() *reply {
			return n.call("POST", "/api/v1/rules/D-1/transitions", map[string]any{"to": "EFFECTIVE"})
		}
		refused := func(why string) {
			t.Helper()
			if p := move().wantProblem(http.StatusConflict, rule.CodeConflict); !strings.Contains(p.Detail, why) {
				t.Errorf("refused with %q, want %q", p.Detail, why)
			}
		}
		refused("has none")
		n.call("POST", "/api/v1/rules/D-1/test-cases", map[string]any{"name": "drafted", "sample_input": "eval(z)", "expected_verdict": "DENY"}).want(http.StatusCreated)
		n.asGenerated("D-1")
		n.call("POST", "/api/v1/rules/D-1/test-cases/run", nil).want(http.StatusOK)
		refused("has none") // that a person stands by
		const path = "/api/v1/rules/D-1/test-cases"
		n.call("POST", path, map[string]any{"name": "bad", "sample_input": "eval(x)", "expected_verdict": "DENY"}).want(http.StatusCreated)
		wrong := into[wire.Case](n.call("POST", path, map[string]any{"name": "wrong", "sample_input": "eval(x)", "expected_verdict": "ALLOW"}).want(http.StatusCreated))
		refused("of 2, 0 have passed")
		n.call("POST", path+"/run", nil).want(http.StatusOK)
		refused("of 2, 1 have passed")
		n.call("DELETE", path+"/"+wrong.ID, nil).want(http.StatusNoContent)
		n.call("PATCH", "/api/v1/rules/D-1", map[string]any{"statement": "No eval, ever."}).want(http.StatusOK)
		refused("of 1, 0 have passed") // the result is stale
		n.call("POST", path+"/run", nil).want(http.StatusOK)
		move().want(http.StatusOK)
	})
}

func TestProposingACheckNeedsAModel(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.evalRule("E-1", nil)
	n.call("POST", "/api/v1/rules/E-1/check/propose", nil).wantProblem(http.StatusServiceUnavailable, rule.CodeUnavailable)
}

func TestACheckIsProposedAndHeldAgainstTheRecord(t *testing.T) {
	t.Parallel()
	model := &llmtest.Fake{}
	n := newNode(t, func(cfg *config) {
		cfg.Sandbox = sandbox.New(sandbox.Config{
			Store: sandbox.Store{Updater: cfg.store, Jobs: cfg.store.Jobs, Rules: cfg.store.Rules, Runs: cfg.store.Runs, TestCases: cfg.store.TestCases}, Recorded: cfg.Evaluator, Model: model, Now: time.Now,
			Evaluator: evaluate.New(evaluate.Config{Judge: judge.New(judge.Config{}), Checks: check.NewCache(10), Now: time.Now}),
		})
	})
	n.evalRule("E-1", nil)
	for _, code := range []string{"eval(x)", "x"} {
		n.call("POST", "/api/v1/evaluate", map[string]any{"files": []any{map[string]any{"path": "a.py", "content": code}}}).want(http.StatusOK)
	}
	for sample, verdict := range map[string]string{"eval(y)": "DENY", "y": "ALLOW"} {
		n.call("POST", "/api/v1/rules/E-1/test-cases", map[string]any{"name": verdict, "sample_input": sample, "expected_verdict": verdict}).want(http.StatusCreated)
	}
	model.Push(`{"proposals":[{"regex":"^eval"},{"regex":"z"}]}`)
	got := into[wire.Proposals](n.call("POST", "/api/v1/rules/E-1/check/propose", nil).want(http.StatusOK))
	if len(got.Proposals) != 1 || got.Rejected != 1 || got.Proposals[0].Recorded.Evaluations != 2 || got.Proposals[0].Recorded.Agree != 2 {
		t.Errorf("proposals %+v", got)
	}
	n.call("PATCH", "/api/v1/rules/E-1", map[string]any{"check": got.Proposals[0].Check}).want(http.StatusOK)
}

func TestFollowTestRun(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.evalRule("T-1", nil)
	n.call("POST", "/api/v1/rules/T-1/test-cases", map[string]any{"name": "eval", "sample_input": "eval(x)", "expected_verdict": "DENY"}).want(http.StatusCreated)
	location := n.call("POST", "/api/v1/test-runs", map[string]any{}).want(http.StatusAccepted).header.Get("Location")
	server := httptest.NewServer(n)
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+location, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if got := res.Header.Get("Content-Type"); got != eventType || res.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %s", res.StatusCode, got)
	}
	runner := job.New(job.Config{Store: job.Store{Updater: n.store, JobWatcher: n.store, Jobs: n.store.Jobs}, Poll: 10 * time.Millisecond, Handlers: map[string]job.Handler{sandbox.RunKind: n.cfg.Sandbox.HandleRun}})
	defer func() {
		if err := runner.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	start := sync.OnceFunc(runner.Start) // once the client has seen the run wait
	all := readEvents(t, res.Body, func(event) { start() })
	last := all[len(all)-1]
	var run wire.TestRun
	if err := json.Unmarshal([]byte(last.data), &run); err != nil || all[0].name != "progress" || last.name != "done" {
		t.Fatalf("events from %s to %s: %v", all[0].name, last.name, err)
	}
	if run.Result == nil || run.Result.Total != 1 || run.Result.Passing != 1 {
		t.Errorf("the last event tells %+v", run)
	}
}
