package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

const suspensionsPath = "/api/v1/suspensions"

// A suspension takes effect on all nodes within a second, whichever way the agent asks.
func TestSuspendedAgentsAreDeniedOnAllNodes(t *testing.T) {
	t.Parallel()
	dir, dsn := litetest.Dir(t), pgtest.DSN(t)
	for name, open := range map[string]func() (store.Store, error){
		"sqlite":   func() (store.Store, error) { return sqlstore.OpenSQLite(t.Context(), dir, sqlstore.Options{}) },
		"postgres": func() (store.Store, error) { return sqlstore.OpenPostgres(t.Context(), dsn, sqlstore.Options{}) },
	} {
		t.Run(name, func(t *testing.T) {
			var nodes [2]*node
			for i := range nodes {
				s, err := open()
				if err != nil {
					t.Fatal(err)
				}
				nodes[i] = newNodeOn(t, s)
			}
			testSuspendedAgents(t, nodes[0], nodes[1])
		})
	}
}

func testSuspendedAgents(t *testing.T, here, there *node) {
	admin := here.makeKey(auth.Admin, store.AllProjects)
	here.key = admin
	bot := here.newKey(fields{"name": "bot", "role": "reviewer", "owner": "corp:ann@example.com", "agent": "release-bot", "project_id": "default"})
	other := here.newKey(fields{"name": "ci", "role": "evaluator", "owner": "corp:ann@example.com", "project_id": "default"})
	webhook := into[wire.PolicyWithSecret](here.call("POST", "/api/v1/gateway/policies", fields{
		"name": "watch", "url": "https://hooks.example.com/x", "event_types": []string{"agent.suspended", "agent.resumed"},
	}).want(http.StatusCreated))
	facts := func() fields { return fields{"facts": fields{"a": 1}} }
	evaluate := func(n *node, key string, body fields) *rule.Evaluation {
		t.Helper()
		n.key = key
		e := into[rule.Evaluation](n.call("POST", evaluatePath, body).want(http.StatusOK))
		return &e
	}
	for _, n := range []*node{here, there} {
		if e := evaluate(n, bot.Secret, facts()); e.OverallVerdict == rule.Deny || e.Suspended != nil {
			t.Fatalf("before: %s, %+v", e.OverallVerdict, e.Suspended)
		}
	}
	here.key = admin
	here.call("POST", suspensionsPath, fields{"agent": "release-bot"}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "reason")
	s := into[rule.Suspension](here.call("POST", suspensionsPath, fields{"agent": "Release-Bot", "reason": "It deleted a table."}).want(http.StatusCreated))
	here.call("POST", suspensionsPath, fields{"agent": "release-bot", "reason": "again"}).wantProblem(http.StatusConflict, rule.CodeConflict)

	// The other node has a second.
	began := time.Now()
	for {
		asked := time.Now()
		if e := evaluate(there, bot.Secret, facts()); e.Suspended != nil {
			break
		} else if asked.Sub(began) > time.Second {
			t.Fatalf("the other node still answers %s", e.OverallVerdict)
		}
	}
	for _, n := range []*node{here, there} {
		e := evaluate(n, bot.Secret, facts())
		if e.OverallVerdict != rule.Deny || e.Suspended == nil || e.Suspended.ID != s.ID || len(e.RuleVerdicts) != 0 || e.Flaw() != "" || !strings.Contains(strings.Join(e.Notices, " "), "It deleted a table") {
			t.Errorf("an evaluation of a suspended agent: %s, %+v, %q, flaw %q", e.OverallVerdict, e.Suspended, e.Notices, e.Flaw())
		}
		if e := evaluate(n, other.Secret, fields{"facts": fields{"a": 1}, "agent": "RELEASE-BOT"}); e.OverallVerdict != rule.Deny {
			t.Errorf("who claims to be the agent gets %s", e.OverallVerdict)
		}
		if e := evaluate(n, other.Secret, facts()); e.OverallVerdict == rule.Deny {
			t.Error("others of the same owner are denied too")
		}
		n.key = bot.Secret
		quick := into[rule.Evaluation](n.call("POST", "/api/v1/evaluate/quick", fields{"action": "drop the table"}).want(http.StatusOK))
		submitted := into[wire.SubmissionAnswer](n.call("POST", "/api/v1/submissions", fields{"subject": fields{"kind": "business_event", "event_type": "x"}}).want(http.StatusOK))
		if quick.OverallVerdict != rule.Deny || submitted.OverallVerdict != rule.Deny {
			t.Errorf("a quick evaluation is %s, a submission %s", quick.OverallVerdict, submitted.OverallVerdict)
		}
		p := n.call("GET", rulesPath, nil).wantProblem(http.StatusForbidden, rule.CodeForbidden)
		if !strings.Contains(p.Detail, "suspended: It deleted a table.") {
			t.Errorf("other requests are refused with %q", p.Detail)
		}
	}

	// The record says it, and is not to be replayed.
	e := evaluate(here, bot.Secret, facts())
	here.key = admin
	rec := into[wire.EvaluationRecord](here.call("GET", "/api/v1/evaluations/"+e.EvaluationID, nil).want(http.StatusOK))
	if rec.Evaluation.Suspended == nil || rec.Evaluation.OverallVerdict != rule.Deny || rec.Identity == nil || rec.Identity.Agent != "release-bot" {
		t.Errorf("the record: %+v", rec.Evaluation)
	}
	replay := into[wire.Replay](here.call("POST", "/api/v1/evaluations/"+e.EvaluationID+"/replay", fields{}).want(http.StatusOK))
	if !replay.Agrees || !strings.Contains(replay.Problem, "suspended") {
		t.Errorf("its replay: %+v", replay)
	}
	seen := into[wire.Page[wire.ActingAgent]](here.call("GET", "/api/v1/acting-agents?q=release", nil).want(http.StatusOK))
	var verified *wire.ActingAgent
	for i := range seen.Items {
		if seen.Items[i].Verified {
			verified = &seen.Items[i]
		}
	}
	if verified == nil || verified.Person != "corp:ann@example.com" || verified.Suspension == nil || verified.Denied == 0 || verified.Evaluations <= verified.Denied {
		t.Errorf("the list of agents: %+v", seen.Items)
	}
	if page := into[wire.AuditPage](here.call("GET", "/api/v1/audit?kind=suspension", nil).want(http.StatusOK)); page.Total != 1 || page.Items[0].Action != "suspended" || page.Items[0].Reason != "It deleted a table." {
		t.Errorf("the audit chain: %+v", page.Items)
	}

	// Only an administrator lifts it, with a reason.
	lift := suspensionsPath + "/" + s.ID + "/lift"
	here.key = here.newKey(fields{"name": "rev", "role": "reviewer", "project_id": "default"}).Secret
	here.call("POST", lift, fields{"reason": "fixed"}).wantProblem(http.StatusForbidden, rule.CodeForbidden)
	here.key = admin
	here.call("POST", lift, fields{}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "reason")
	lifted := into[rule.Suspension](here.call("POST", lift, fields{"reason": "fixed"}).want(http.StatusOK))
	if lifted.LiftedAt == nil || lifted.LiftReason != "fixed" {
		t.Errorf("lifted: %+v", lifted)
	}
	here.call("POST", lift, fields{"reason": "fixed"}).wantProblem(http.StatusConflict, rule.CodeConflict)
	if e := evaluate(here, bot.Secret, facts()); e.OverallVerdict == rule.Deny {
		t.Error("it is denied after that")
	}
	here.key = admin
	deliveries := into[wire.Page[wire.Delivery]](here.call("GET", "/api/v1/gateway/policies/"+webhook.ID+"/deliveries", nil).want(http.StatusOK))
	if deliveries.Total != 2 {
		t.Errorf("%d events were published, want that it was suspended and that it was resumed", deliveries.Total)
	}
	if page := into[wire.Page[rule.Suspension]](here.call("GET", suspensionsPath+"?in_force=true", nil).want(http.StatusOK)); page.Total != 0 {
		t.Errorf("in force: %+v", page.Items)
	}

	// One person's use of an agent can be stopped, in all projects.
	everywhere := into[rule.Suspension](here.call("POST", suspensionsPath+"?project_id=*", fields{"agent": "cursor", "person": "ann@example.com", "reason": "r"}).want(http.StatusCreated))
	if e := evaluate(here, other.Secret, fields{"facts": fields{"a": 1}, "agent": "cursor"}); e.OverallVerdict != rule.Deny {
		t.Errorf("Ann's agent gets %s", e.OverallVerdict)
	}
	if e := evaluate(here, other.Secret, fields{"facts": fields{"a": 1}, "agent": "cursor", "on_behalf_of": "corp:bob@example.com"}); e.OverallVerdict == rule.Deny {
		t.Error("Bob's agent is denied")
	}
	here.key = admin
	here.call("POST", suspensionsPath+"/"+everywhere.ID+"/lift", fields{"reason": "r"}).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	here.call("POST", suspensionsPath+"/"+everywhere.ID+"/lift?project_id=*", fields{"reason": "r"}).want(http.StatusOK)
}
