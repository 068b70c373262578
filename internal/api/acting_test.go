package api

import (
	"net/http"
	"slices"
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
		if !strings.Contains(p.Detail, "suspended: It deleted a table") {
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

// The name of a request gives nobody else the answer that an agent got, and not the agent itself once it is suspended.
func TestNamedRequestsAreRepeatedForWhoAskedFirst(t *testing.T) {
	t.Parallel()
	dir, dsn := litetest.Dir(t), pgtest.DSN(t)
	for name, open := range map[string]func() (store.Store, error){
		"sqlite":   func() (store.Store, error) { return sqlstore.OpenSQLite(t.Context(), dir, sqlstore.Options{}) },
		"postgres": func() (store.Store, error) { return sqlstore.OpenPostgres(t.Context(), dsn, sqlstore.Options{}) },
	} {
		t.Run(name, func(t *testing.T) {
			s, err := open()
			if err != nil {
				t.Fatal(err)
			}
			testNamedRequests(t, newNodeOn(t, s))
		})
	}
}

func testNamedRequests(t *testing.T, n *node) {
	admin := n.makeKey(auth.Admin, store.AllProjects)
	n.key = admin
	ann := n.newKey(fields{"name": "ann", "role": "evaluator", "project_id": "default"}).Secret
	bob := n.newKey(fields{"name": "bob", "role": "evaluator", "project_id": "default"}).Secret
	tx := fields{"subject": fields{"kind": "transaction", "transaction_type": "payment", "amount": 1, "currency": "EUR"}}
	type request struct {
		path   string
		body   fields
		header []string
	}
	forms := map[string]request{
		"evaluate":   {evaluatePath, fields{"diff": goodDiff}, nil},
		"submission": {submissionsPath, tx, nil},
		"later":      {submissionsPath, tx, []string{"Prefer", "respond-async"}},
		"stream":     {evaluatePath, fields{"diff": goodDiff}, []string{"Accept", "text/event-stream"}},
	}
	for form, r := range forms {
		ask := func(key string, headers ...string) (status int, body string) {
			t.Helper()
			n.key = key
			a := n.call("POST", r.path, r.body, slices.Concat([]string{"Idempotency-Key", "the " + form}, r.header, headers)...)
			return a.status, string(a.body)
		}
		if status, body := ask(ann, wire.AgentHeader, "bot-"+form); status != http.StatusOK && status != http.StatusAccepted {
			t.Fatalf("%s: %d %s", form, status, body)
		}
		if status, body := ask(ann, wire.AgentHeader, "bot-"+form); status != http.StatusOK && status != http.StatusAccepted {
			t.Errorf("%s, the same again: %d %s", form, status, body)
		}
		for other, headers := range map[string][]string{
			"another key":     {wire.AgentHeader, "bot-" + form},
			"another agent":   {wire.AgentHeader, "other"},
			"no agent":        nil,
			"another person":  {wire.AgentHeader, "bot-" + form, wire.OnBehalfOfHeader, "eve@example.com"},
			"another session": {wire.AgentHeader, "bot-" + form, wire.SessionHeader, "2"},
		} {
			key := ann
			if other == "another key" {
				key = bob
			}
			if _, body := ask(key, headers...); !strings.Contains(body, string(rule.CodeConflict)) {
				t.Errorf("%s, %s: %s, want a conflict", form, other, body)
			}
		}
		n.key = admin
		n.call("POST", suspensionsPath, fields{"agent": "bot-" + form, "reason": "It deleted a table."}).want(http.StatusCreated)
		if _, body := ask(ann, wire.AgentHeader, "bot-"+form); !strings.Contains(body, string(rule.CodeForbidden)) || !strings.Contains(body, "It deleted a table") {
			t.Errorf("%s, suspended meanwhile: %s, want it forbidden", form, body)
		}
	}
	// An answer that is the denial of a suspended agent is repeated as it was.
	n.key = ann
	var answers [2]string
	for i := range answers {
		answers[i] = string(n.call("POST", evaluatePath, fields{"diff": goodDiff}, "Idempotency-Key", "late", wire.AgentHeader, "bot-evaluate").want(http.StatusOK).body)
	}
	if answers[0] != answers[1] || !strings.Contains(answers[1], `"suspended"`) {
		t.Errorf("a suspended agent gets\n%s\nand then\n%s", answers[0], answers[1])
	}
}
