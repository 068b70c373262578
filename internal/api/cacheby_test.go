package api

import (
	"net/http"
	"testing"

	"tenet/internal/auth"
	"tenet/internal/evaluate"
	"tenet/internal/judge"
	"tenet/internal/judge/judgetest"
	"tenet/internal/rule"
	"tenet/internal/wire/op"
)

// A project may have stored verdicts serve only the agent that they were given to.
func TestStoredVerdictsOfWhoAsks(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.key = n.makeKey(auth.Admin, "default")
	n.makeRule("ASK-1")
	m := judgetest.Model(func(judgetest.Rule, string) judgetest.Entry { return judgetest.Allow() })
	n.judging(m, func(c *evaluate.Config) {
		c.Judge = judge.New(judge.Config{Model: m, Cache: judge.NewCache(judge.CacheConfig{})})
	})
	asked := 0
	ask := func(agent string, fresh bool) {
		t.Helper()
		e := into[rule.Evaluation](n.call("POST", evaluatePath, fields{"files": []fields{{"path": "a.py", "content": "x = 1"}}, "agent": agent}).want(http.StatusOK))
		if calls := m.Calls() - asked; (calls > 0) != fresh {
			t.Errorf("%s: %d calls to the model (%s)", agent, calls, e.RuleVerdicts[0].DecidedBy)
		}
		asked = m.Calls()
	}
	ask("codex", true)
	ask("cursor", false)
	project := op.GetProject.At("default").Path
	n.call("PATCH", project, fields{"policy": fields{"cache_by": []string{"place"}}}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "policy.cache_by[0]")
	p := into[rule.Project](n.call("PATCH", project, fields{"policy": fields{"cache_by": []string{"agent"}}}).want(http.StatusOK))
	if len(p.Policy.CacheBy) != 1 {
		t.Fatalf("the policy is %+v", p.Policy)
	}
	ask("codex", true)
	ask("cursor", true)
	ask("Codex", false)
	n.call("PATCH", project, fields{"policy": fields{"cache_by": nil}}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "policy.reason")
	n.call("PATCH", project, fields{"policy": fields{"cache_by": nil, "reason": "One team."}}).want(http.StatusOK)
	ask("cursor", false)
}
