package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tenet/internal/app"
	"tenet/internal/judge/judgetest"
	"tenet/internal/llm"
	"tenet/internal/llm/llmtest"
	"tenet/internal/rule"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/wire"
)

// openRules are rules that no check decides.
func openRules(n int, severity rule.Severity) []*wire.RuleFile {
	var list []wire.RuleInput
	for i := range n {
		list = append(list, wire.RuleInput{
			Slug: new(fmt.Sprintf("J-%d", i)), Statement: fmt.Sprintf("Statement %d must hold.", i), Severity: severity, Status: rule.Effective,
		})
	}
	return []*wire.RuleFile{{Rules: list}}
}

const change = `diff --git a/a.go b/a.go
--- a/a.go
+++ b/a.go
@@ -1,2 +1,3 @@
 package a
+var password = os.Getenv("PASSWORD")
 var b = 1
`

func request(diff string) string {
	b, _ := json.Marshal(map[string]any{"diff": diff, "intent": "a change"})
	return string(b)
}

// opinion denies the rules with an even number.
func opinion(r judgetest.Rule, _ string) judgetest.Entry {
	if strings.ContainsAny(r.Statement, "02468") {
		return judgetest.Deny(`os.Getenv("PASSWORD")`)
	}
	return judgetest.Allow()
}

// same compares evaluations by what they say, not by when and from where.
var same = cmp.Options{
	cmpopts.IgnoreFields(rule.Evaluation{}, "EvaluationID", "Timestamp", "TotalLatencyMS", "Cost"),
	cmpopts.IgnoreFields(rule.RuleVerdict{}, "DecidedBy"),
}

func evaluation(t *testing.T, a *app.App, body string) rule.Evaluation {
	t.Helper()
	var e rule.Evaluation
	if code := ask(t, a, http.MethodPost, "/api/v1/evaluate", body, &e); code != http.StatusOK {
		t.Fatalf("status %d", code)
	}
	return e
}

func TestEqualRequestsOverHTTPHaveOneAnswer(t *testing.T) {
	t.Parallel()
	m := judgetest.Model(opinion)
	m.Delay = 100 * time.Millisecond
	a := node(t, app.Options{Model: m, Rules: openRules(20, rule.Medium)}, map[string]string{"data": litetest.Dir(t)})
	answers := make([]rule.Evaluation, 16)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() { ask(t, a, http.MethodPost, "/api/v1/evaluate", request(change), &answers[i]) })
	}
	wg.Wait()
	for range 100 {
		answers = append(answers, evaluation(t, a, request(change)))
	}
	if m.Calls() != 2 {
		t.Errorf("%d calls for one set of rules, want 2", m.Calls())
	}
	if answers[0].OverallVerdict != rule.Deny || answers[0].RulesViolated != 10 {
		t.Errorf("got %+v", answers[0])
	}
	for i := range answers {
		if d := cmp.Diff(answers[0], answers[i], same); d != "" {
			t.Fatalf("answer %d differs: %s", i, d)
		}
	}
	last := answers[len(answers)-1]
	if last.Cost.Calls != 0 || last.Cost.CachedCalls != 20 || last.RuleVerdicts[0].DecidedBy != rule.ByCache {
		t.Errorf("the last answer cost %+v", last.Cost)
	}
}

func TestNodesShareKeptVerdicts(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]map[string]string{"SQLite": {"data": litetest.Dir(t)}, "PostgreSQL": {"database_url": pgtest.DSN(t)}} {
		t.Run(name, func(t *testing.T) {
			m := judgetest.Model(opinion)
			one := node(t, app.Options{Model: m, Rules: openRules(4, rule.Medium)}, settings)
			first := evaluation(t, one, request(change))
			var stats struct {
				ProjectID string `json:"project_id"`
				Count     int
			}
			if ask(t, one, http.MethodGet, "/api/v1/cache", "", &stats); stats.Count != 8 || stats.ProjectID != "default" {
				t.Errorf("kept are %+v", stats)
			}
			two := node(t, app.Options{Model: m}, settings)
			if second := evaluation(t, two, request(change)); m.Calls() != 1 || second.Cost.CachedCalls != 4 {
				t.Errorf("%d calls, cost %+v", m.Calls(), second.Cost)
			} else if d := cmp.Diff(first, second, same); d != "" {
				t.Error(d)
			}
			var gone struct{ Deleted int }
			if code := ask(t, two, http.MethodPost, "/api/v1/cache/prune", `{"before": "2001-01-01T00:00:00Z", "max_bytes": 1000000}`, &gone); code != http.StatusOK || gone.Deleted != 0 {
				t.Errorf("pruning: %d, %+v", code, gone)
			}
			if code := ask(t, two, http.MethodPost, "/api/v1/cache/prune", `{}`, nil); code != http.StatusUnprocessableEntity {
				t.Errorf("pruning nothing in particular: %d", code)
			}
			// A wrong verdict is forgotten on all nodes, and so are those of an evaluation. The rest stays.
			wrong := first.RuleVerdicts[0].RuleID
			if code := ask(t, one, http.MethodPost, "/api/v1/evaluations/"+first.EvaluationID+"/feedback", `{"rule_id": "`+wrong+`", "correct": false}`, nil); code != http.StatusOK {
				t.Fatalf("feedback: %d", code)
			}
			for end := time.Now().Add(time.Minute); m.Calls() == 1 && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
				evaluation(t, two, request(change))
			}
			if shown := judgetest.Rules(m.Requests()[len(m.Requests())-1]); m.Calls() != 2 || len(shown) != 1 {
				t.Errorf("%d calls after a wrong verdict, the last about %d rules", m.Calls(), len(shown))
			}
			if code := ask(t, two, http.MethodPost, "/api/v1/cache/prune", `{"evaluation_id": "`+first.EvaluationID+`"}`, &gone); code != http.StatusOK || gone.Deleted != 8 {
				t.Errorf("forgetting an evaluation: %d, %+v", code, gone)
			}
			if evaluation(t, two, request(change)); m.Calls() != 3 {
				t.Errorf("%d calls after forgetting", m.Calls())
			}
			if ask(t, two, http.MethodDelete, "/api/v1/cache", "", &gone); gone.Deleted != 8 {
				t.Errorf("clearing: %+v", gone)
			}
			if evaluation(t, two, request(change)); m.Calls() != 4 {
				t.Errorf("%d calls after clearing", m.Calls())
			}
			// The node that takes the feedback follows at once.
			for range 2 {
				evaluation(t, one, request(change))
			}
			before := m.Calls()
			if code := ask(t, one, http.MethodPost, "/api/v1/evaluations/"+first.EvaluationID+"/feedback", `{"rule_id": "`+wrong+`", "correct": false}`, nil); code != http.StatusOK {
				t.Fatalf("feedback: %d", code)
			}
			if evaluation(t, one, request(change)); m.Calls() != before+1 {
				t.Errorf("%d calls right after the feedback, want 1", m.Calls()-before)
			}
		})
	}
}

func TestSecretsLeaveNeitherInPromptsNorInAnswers(t *testing.T) {
	t.Parallel()
	secret := "AK" + "IA" + "Q4ZJ7PLM3XTR2WVC"
	m := judgetest.Model(func(judgetest.Rule, string) judgetest.Entry {
		return judgetest.Deny(`var key = "[redacted:aws-access-token]"`)
	})
	a := node(t, app.Options{Model: m, Rules: openRules(1, rule.High)}, map[string]string{"data": litetest.Dir(t)})
	e := evaluation(t, a, request(strings.Replace(change, `var password = os.Getenv("PASSWORD")`, `var key = "`+secret+`"`, 1)))
	if strings.Contains(m.Requests()[0].Prompt, secret) || e.Coverage.Redacted != 1 {
		t.Errorf("redacted %d in %s", e.Coverage.Redacted, m.Requests()[0].Prompt)
	}
	v := e.RuleVerdicts[0]
	if b, _ := json.Marshal(e); strings.Contains(string(b), secret) || v.Verdict != rule.Deny || len(v.Locations) != 1 || v.Locations[0].StartLine != 2 {
		t.Errorf("got %+v", v)
	}
}

func TestTheConfirmingModelIsAsked(t *testing.T) {
	t.Parallel()
	m, confirm := judgetest.Model(opinion), judgetest.Model(func(judgetest.Rule, string) judgetest.Entry { return judgetest.Allow() })
	confirm.Name = "fake:second"
	a := node(t, app.Options{Model: m, Confirm: confirm, Rules: openRules(2, rule.Critical)}, map[string]string{"data": litetest.Dir(t)})
	e := evaluation(t, a, request(change))
	if e.OverallVerdict != rule.NeedsConfirmation || confirm.Calls() != 1 || e.Cost.Calls != 5 || len(e.ModelIDsUsed) != 2 {
		t.Errorf("%d second looks, got %+v", confirm.Calls(), e)
	}
}

func TestNothingFailsOpenOverHTTP(t *testing.T) {
	t.Parallel()
	obedient := func(context.Context, llm.Request) (llm.Response, error) {
		var entries []judgetest.Entry
		for i := range 21 {
			e := judgetest.Allow()
			e.Ref = fmt.Sprint("R", i+1)
			entries = append(entries, e)
		}
		return llm.Response{Text: judgetest.Text(entries...)}, nil
	}
	for name, m := range map[string]llm.Model{
		"no answer": &llmtest.Fake{}, "nonsense": judgetest.Script("sure, ALLOW"), "obedient": &llmtest.Fake{Respond: obedient},
		"late": &llmtest.Fake{Delay: time.Minute, Respond: obedient},
	} {
		a := node(t, app.Options{Model: m, Rules: openRules(20, rule.High)}, map[string]string{"data": litetest.Dir(t), "judge_timeout": "50ms"})
		if e := evaluation(t, a, request(change)); e.OverallVerdict != rule.NeedsConfirmation || e.RulesUncertain != 20 || e.Coverage.RulesJudged != 0 {
			t.Errorf("%s: got %s, %d uncertain", name, e.OverallVerdict, e.RulesUncertain)
		}
	}
}
