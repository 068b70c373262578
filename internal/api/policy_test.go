package api

import (
	"net/http"
	"strings"
	"testing"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

func TestPolicyOfAProject(t *testing.T) {
	t.Parallel()
	onBoth(t, testPolicy)
}

func testPolicy(t *testing.T, n *node) {
	path := projectsPath + "/default"
	n.makeRule("KEPT", "severity", "HIGH", "check", fields{"cel": "facts.a == 1"})
	ask := func(more ...any) rule.Evaluation {
		t.Helper()
		body := fields{"facts": fields{"a": 1}, "repository": "acme/pay"}
		for i := 0; i < len(more); i += 2 {
			body[more[i].(string)] = more[i+1]
		}
		return into[rule.Evaluation](n.call("POST", evaluatePath, body).want(http.StatusOK))
	}
	if e := ask("severity_min", "HIGH"); e.OverallVerdict != rule.Allow || len(e.Narrowed) != 1 || e.Narrowed[0].Parameter != "severity_min" || len(e.Notices) != 0 {
		t.Errorf("without a floor: %s, narrowed by %+v, notices %q", e.OverallVerdict, e.Narrowed, e.Notices)
	}

	set := into[rule.Project](n.call("PATCH", path, `{"policy":{"floor":{"severity_min":"medium","scopes":[{"repositories":["acme/*"],"scope":"/finance/"}]},
		"uncovered":{"Action":"DENY"}}}`).want(http.StatusOK))
	if f := set.Policy.Floor; f.SeverityMin != rule.Medium || len(f.Scopes) != 1 || f.Scopes[0].Scope != "finance" || set.Policy.Uncovered["action"] != rule.UncoveredDeny {
		t.Errorf("the policy is not in its canonical form: %+v", set.Policy)
	}
	// The change holds at once.
	e := ask("severity_min", "HIGH", "scope", "sales")
	if e.OverallVerdict != rule.NeedsConfirmation || len(e.Notices) != 2 || !strings.Contains(e.Notices[0], "at most MEDIUM") || !strings.Contains(e.Notices[1], "finance") {
		t.Errorf("below the floor: %s, notices %q", e.OverallVerdict, e.Notices)
	}
	if e := ask("scope", "finance/payments"); e.OverallVerdict != rule.Allow {
		t.Errorf("at the floor: %s, %q", e.OverallVerdict, e.Notices)
	}
	stored := into[wire.EvaluationRecord](n.call("GET", evaluationsPath+"/"+e.EvaluationID, nil).want(http.StatusOK)).Evaluation
	if len(stored.Narrowed) != 2 || stored.Narrowed[0].Asked != "HIGH" || len(stored.Notices) != 2 {
		t.Errorf("the record holds %+v", stored.Narrowed)
	}

	// Absent parts stay, null takes the floor away, and loosening needs a reason.
	n.call("PATCH", path, `{"policy":{"floor":null}}`).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "policy.reason")
	n.call("PATCH", path, `{"policy":{"uncovered":{"action":"allow"},"reason":" "}}`).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "policy.reason")
	if p := into[rule.Project](n.call("GET", path, nil).want(http.StatusOK)); p.Policy.Floor.SeverityMin != rule.Medium || p.Policy.Uncovered["action"] != rule.UncoveredDeny {
		t.Errorf("refused changes left %+v", p.Policy)
	}
	loose := into[rule.Project](n.call("PATCH", path, `{"policy":{"floor":null,"reason":"agreed in the audit of March"}}`).want(http.StatusOK))
	if !loose.Policy.Floor.IsZero() || loose.Policy.Uncovered["action"] != rule.UncoveredDeny {
		t.Errorf("after taking the floor away: %+v", loose.Policy)
	}
	if e := ask("severity_min", "HIGH"); e.OverallVerdict != rule.Allow {
		t.Errorf("without the floor again: %s", e.OverallVerdict)
	}
	entries, _, err := n.store.Audit.Find(t.Context(), store.AuditFilter{ProjectID: "default", Kind: audit.KindProject, Limit: 10})
	if err != nil || len(entries) < 3 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	body, err := audit.Body(entries[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"agreed in the audit of March", `"loosened":["floor.severity_min none instead of MEDIUM"`, `"before":{"floor":{"severity_min":"MEDIUM"`} {
		if !strings.Contains(string(body), want) {
			t.Errorf("the audit entry lacks %s:\n%s", want, body)
		}
	}
}

func TestPoliciesThatAreRefused(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for body, wrong := range map[string][]string{
		`{"floor":{"severity_min":"HUGE"}}`:                             {"policy.floor.severity_min"},
		`{"floor":{"environment":"moon"}}`:                              {"policy.floor.environment"},
		`{"floor":{"scopes":[{"repositories":["[a"],"scope":"x"}]}}`:    {"policy.floor.scopes[0].repositories[0]"},
		`{"floor":{"scopes":[{"repositories":[],"scope":"a/*/b"}]}}`:    {"policy.floor.scopes[0].repositories", "policy.floor.scopes[0].scope"},
		`{"floor":{"scopes":[{"repositories":["a"],"scope":"*"}]}}`:     {"policy.floor.scopes[0].scope"},
		`{"floor":{"ceiling":true}}`:                                    {"policy.floor.ceiling"},
		`{"uncovered":{"action":"escalate"}}`:                           {"policy.uncovered.action"},
		`{"uncovered":{"deed":"deny"}}`:                                 {"policy.uncovered.deed"},
		`{"floor":{"bound_node":"yes"}}`:                                {"policy.floor.bound_node"},
		`{"reason":"` + strings.Repeat("x", rule.MaxRationale+1) + `"}`: {"policy.reason"},
	} {
		n.call("PATCH", projectsPath+"/default", `{"policy":`+body+`}`).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, wrong...)
		n.call("POST", projectsPath, `{"id":"new","policy":`+body+`}`).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, wrong...)
	}
	made := into[rule.Project](n.call("POST", projectsPath, `{"id":"new","policy":{"floor":{"bound_node":true}}}`).want(http.StatusCreated))
	if !made.Policy.Floor.BoundNode {
		t.Errorf("made with %+v", made.Policy)
	}
}

// The fail modes of a project reach those who ask, with its evaluations.
func TestFailModesOfAProject(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		path := projectsPath + "/default"
		n.makeRule("OPEN", "severity", "HIGH")
		ask := func() rule.Evaluation {
			t.Helper()
			return into[rule.Evaluation](n.call("POST", evaluatePath, fields{"facts": fields{"a": 1}}).want(http.StatusOK))
		}
		if e := ask(); e.FailModes != nil {
			t.Errorf("without a policy: %v", e.FailModes)
		}
		set := into[rule.Project](n.call("PATCH", path, `{"policy":{"fail_modes":{"critical":"CLOSED","HIGH":"ask"}}}`).want(http.StatusOK))
		if got := set.Policy.FailModes.String(); got != "CRITICAL=closed,HIGH=ask" {
			t.Errorf("stored %s", got)
		}
		e := ask()
		if got := e.FailModes.String(); got != "CRITICAL=closed,HIGH=ask" {
			t.Errorf("an evaluation has %s", got)
		}
		stored := into[wire.EvaluationRecord](n.call("GET", evaluationsPath+"/"+e.EvaluationID, nil).want(http.StatusOK)).Evaluation
		if got := stored.FailModes.String(); got != "CRITICAL=closed,HIGH=ask" {
			t.Errorf("the record has %s", got)
		}
		n.call("PATCH", path, `{"policy":{"fail_modes":{"HIGH":"ajar","HUGE":"ask"}}}`).
			wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "policy.fail_modes.HIGH", "policy.fail_modes.HUGE")
		n.call("PATCH", path, `{"policy":{"fail_modes":{"CRITICAL":"closed"}}}`).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "policy.reason")
		n.call("PATCH", path, `{"policy":{"fail_modes":null,"reason":"the model is gone for a week"}}`).want(http.StatusOK)
		if e := ask(); e.FailModes != nil {
			t.Errorf("after taking them away: %v", e.FailModes)
		}
		entries, _, err := n.store.Audit.Find(t.Context(), store.AuditFilter{ProjectID: "default", Kind: audit.KindProject, Limit: 1})
		if err != nil || len(entries) != 1 {
			t.Fatalf("%d entries, %v", len(entries), err)
		}
		body, err := audit.Body(entries[0])
		if want := `"loosened":["fail_modes.CRITICAL left to the hook instead of closed"`; err != nil || !strings.Contains(string(body), want) {
			t.Errorf("the audit entry lacks %s: %v\n%s", want, err, body)
		}
	})
}
