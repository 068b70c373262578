package agent_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"tenet/internal/agent"
	"tenet/internal/auth"
	"tenet/internal/llm/llmtest"
	"tenet/internal/store"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

func inputOf(diff string) subject.Input { return subject.Input{Diff: diff} }
func scoped(scope string) subject.Input { return subject.Input{Scope: scope} }

// remembers reports whether a second request in a session shows the model the first.
func remembers(t *testing.T, d *desk, a *agent.Agents, model *llmtest.Fake, ctx context.Context, project, name, session, first string) (bool, string) {
	t.Helper()
	model.Push(sentence("R1", "must not read production data"), verdicts(true))
	answer, err := a.Run(ctx, name, agent.Request{ProjectID: project, Intent: "And who approves the ticket?", SessionID: session})
	if err != nil {
		t.Fatal(err)
	}
	all := model.Requests()
	return strings.Contains(all[len(all)-1].Prompt, first), answer.SessionID
}

func TestASessionIsItsCallersAlone(t *testing.T) {
	const first = "May the zebra team read production data?"
	d, model := newDesk(), &llmtest.Fake{}
	a := d.agents(model)
	key := func(id, project string) context.Context {
		return auth.WithActor(t.Context(), auth.Actor{Name: "key:same", Role: auth.Evaluator, ProjectID: project, KeyID: id})
	}
	model.Push(sentence("R1", "must not read production data"), verdicts(true))
	begun, err := a.Run(key("k1", store.AllProjects), agent.Ask, agent.Request{ProjectID: "default", Intent: first})
	if err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]struct {
		ctx     context.Context
		project string
	}{"another key": {key("k2", store.AllProjects), "default"}, "another project": {key("k1", store.AllProjects), "pay"}} {
		if seen, id := remembers(t, d, a, model, other.ctx, other.project, agent.Ask, begun.SessionID, first); seen || id == begun.SessionID {
			t.Errorf("%s: sees the session (%v), which is %s", name, seen, id)
		}
	}
	seen, id := remembers(t, d, a, model, key("k1", store.AllProjects), "default", agent.Ask, begun.SessionID, first)
	if !seen || id != begun.SessionID {
		t.Errorf("its caller does not find the session")
	}
	if q := d.queries[len(d.queries)-1].Text; !strings.Contains(q, "zebra") {
		t.Errorf("a question that goes on is looked for as %q", q)
	}
}

func TestSessionsAreBounded(t *testing.T) {
	ask := func(a *agent.Agents, session, intent string) *wire.AgentAnswer {
		return run(t, a, agent.Check, agent.Request{Intent: intent, SessionID: session})
	}
	d := newDesk()
	a := d.agents(nil, func(c *agent.Config) {
		c.Sessions = agent.Limits{Count: 3, PerActor: 2, Age: time.Hour, Bytes: 100, Turns: 4}
	})
	one := ask(a, "", "deploy").SessionID
	two := ask(a, "", "deploy").SessionID
	if got := ask(a, one, "deploy"); got.SessionID != one {
		t.Fatal("the session is gone at once")
	}
	ask(a, "", "deploy") // drops the one that was not used for longest, which is two
	if got := ask(a, two, "billing to production"); got.SessionID == two || got.Status != wire.AgentCompleted || !strings.Contains(got.Reasoning, "begins a new one") {
		t.Errorf("a session beyond the bound: %+v", got)
	}
	three := ask(a, "", "deploy").SessionID
	d.now = d.now.Add(time.Hour + time.Second)
	if got := ask(a, three, "billing to production"); got.SessionID == three || strings.Contains(d.judged[len(d.judged)-1].Input.Action, "deploy") {
		t.Errorf("a session beyond its age: %+v", got)
	}
	long := ask(a, "", "deploy").SessionID
	ask(a, long, strings.Repeat("x", 200))
	ask(a, long, "billing to production")
	if got := d.judged[len(d.judged)-1].Input.Action; strings.Contains(got, "xxx") {
		t.Errorf("a session beyond its bytes remembers %q", got)
	}
}
