package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"tenet/internal/app"
	"tenet/internal/judge/judgetest"
	"tenet/internal/rule"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/wire"
)

// sampled waits until a project has samples of checks and triage.
func sampled(t *testing.T, a *app.App, checks, triage int) wire.Samples {
	t.Helper()
	var s wire.Samples
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if code := ask(t, a, http.MethodGet, "/api/v1/insights/samples", "", &s); code != http.StatusOK {
			t.Fatalf("status %d", code)
		}
		if s.Checks.Sampled >= checks && s.Triage.Sampled >= triage {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("no samples: %+v", s)
		}
	}
}

// TestAProposedCheckIsDemotedWhenTheJudgeDisagrees evaluates a change that a check of a model's proposal lets pass and the judge denies.
func TestAProposedCheckIsDemotedWhenTheJudgeDisagrees(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]map[string]string{"SQLite": {"data": litetest.Dir(t)}, "PostgreSQL": {"database_url": pgtest.DSN(t)}} {
		t.Run(name, func(t *testing.T) {
			settings["judge_samples"] = "1"
			check := func(proposed bool) *rule.Check {
				return &rule.Check{Pattern: &rule.Pattern{Regex: "never written"}, Proposed: proposed}
			}
			rules := []*wire.RuleFile{{Rules: []wire.RuleInput{
				{Slug: new("proposed"), Statement: "Passwords must not be read from the environment.", Severity: rule.Medium, Status: rule.Effective, Check: check(true)},
				{Slug: new("by-hand"), Statement: "The environment must not be read.", Severity: rule.Medium, Status: rule.Effective, Check: check(false)},
			}}}
			m := judgetest.Model(func(judgetest.Rule, string) judgetest.Entry { return judgetest.Deny(`os.Getenv("PASSWORD")`) })
			a := node(t, app.Options{Model: m, Rules: rules}, settings)
			if err := a.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			first := evaluation(t, a, request(change))
			if first.OverallVerdict != rule.Allow || first.RuleVerdicts[0].DecidedBy != rule.ByCheck {
				t.Fatalf("the checks allow it: %+v", first)
			}
			s := sampled(t, a, 2, 0)
			if s.Checks.Missed != 2 || len(s.Latest) != 2 || s.Checks.MissRate == nil || s.Checks.MissRate.High < 0.9 {
				t.Errorf("%+v", s)
			}
			var r rule.Rule
			for deadline := time.Now().Add(time.Minute); r.Version != 2 && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
				ask(t, a, http.MethodGet, "/api/v1/rules/proposed", "", &r)
			}
			if r.Version != 2 || r.Check.Decides != rule.DenyOnly || !strings.Contains(r.ChangeNote, first.EvaluationID) {
				t.Errorf("the check is not demoted: %+v", r)
			}
			if s = sampled(t, a, 2, 0); !s.Latest[0].Demoted && !s.Latest[1].Demoted {
				t.Errorf("it is not shown: %+v", s.Latest)
			}
			if ask(t, a, http.MethodGet, "/api/v1/rules/by-hand", "", &r); r.Version != 1 || r.Check.Decides == rule.DenyOnly {
				t.Errorf("what a person wrote stays: %+v", r)
			}
			var entries wire.AuditPage
			if ask(t, a, http.MethodGet, "/api/v1/audit?kind=sample", "", &entries); entries.Total != 2 {
				t.Errorf("the log has %d disagreements", entries.Total)
			}
			var stored wire.EvaluationRecord
			if ask(t, a, http.MethodGet, "/api/v1/evaluations/"+first.EvaluationID, "", &stored); stored.Evaluation.OverallVerdict != rule.Allow {
				t.Error("a sample changes no evaluation")
			}
			if again := evaluation(t, a, request(strings.Replace(change, "PASSWORD", "PASSWORD2", 1))); again.OverallVerdict == rule.Allow {
				t.Errorf("the judge is asked from now on: %+v", again.RuleVerdicts)
			}
		})
	}
}

func TestWhatTriageRulesOutIsSampled(t *testing.T) {
	t.Parallel()
	m := judgetest.Triager(func(judgetest.Rule, string) bool { return false }, func(judgetest.Rule, string) judgetest.Entry { return judgetest.Deny(`os.Getenv("PASSWORD")`) })
	a := node(t, app.Options{Model: m, Rules: openRules(30, rule.Medium)}, map[string]string{"data": litetest.Dir(t), "judge_samples": "1"})
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	e := evaluation(t, a, `{"max_rules": 5, `+request(change)[1:])
	if e.Coverage.RulesTriagedOut == 0 {
		t.Fatalf("triage rules nothing out: %+v", e.Coverage)
	}
	if s := sampled(t, a, 0, 2); s.Triage.Missed != 2 || s.Triage.Sampled != 2 || s.Latest[0].Kind != "triage" {
		t.Errorf("of one evaluation two are judged, and both were missed: %+v", s)
	}
}
