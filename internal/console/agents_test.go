package console_test

import (
	"net/http"
	"regexp"
	"testing"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

func TestAgentsAreSuspendedAndResumed(t *testing.T) {
	n := newNode(t, nil)
	v := n.visitor()
	ask := func() *rule.Evaluation {
		t.Helper()
		e, err := client.Call(t.Context(), n.api, op.EvaluateQuick, wire.QuickRequest{
			Action: "Say hello", Acting: wire.Acting{Agent: "<b>bot</b>", OnBehalfOf: "corp:ann@example.com", Session: "s1"},
		})
		if err != nil {
			t.Fatal(err)
		}
		return &e
	}
	id := ask().EvaluationID
	v.get("/p/default/agents").wants(t, "the list", http.StatusOK, "&lt;b&gt;bot&lt;/b&gt;", "corp:ann@example.com", "acts", "its requests")
	v.get("/p/default/agents?q=nobody").wants(t, "a search", http.StatusOK, "No agent has such a name.")
	v.get("/p/default/evaluations/"+id).wants(t, "an evaluation", http.StatusOK, "&lt;b&gt;bot&lt;/b&gt;", "(claimed)", "s1")
	v.get("/p/default/evaluations?agent=%3Cb%3Ebot%3C/b%3E").wants(t, "the evaluations of the agent", http.StatusOK, "corp:ann@example.com")
	v.post("/p/default/agents", "agent", "<b>bot</b>", "reason", "").wants(t, "without a reason", http.StatusUnprocessableEntity, "reason")
	v.post("/p/default/agents", "agent", "<b>bot</b>", "reason", "It shouts.").wants(t, "suspending", http.StatusSeeOther)
	list := v.get("/p/default/agents")
	list.wants(t, "after that", http.StatusOK, "The agent is suspended", "It shouts.", "suspended", "It may act again")
	for _, path := range []string{"/p/default/evaluations", "/p/default/overview"} {
		v.get(path).wants(t, "the banner of "+path, http.StatusOK, "is suspended: all that it asks for is denied.")
	}
	denied := ask()
	if denied.OverallVerdict != rule.Deny || denied.Suspended == nil {
		t.Errorf("a suspended agent gets %s", denied.OverallVerdict)
	}
	v.get("/p/default/evaluations/"+denied.EvaluationID).wants(t, "a denied evaluation", http.StatusOK, "DENY", "is suspended: It shouts.")
	suspension := regexp.MustCompile(`name="id" value="([0-9a-f-]{36})"`).FindStringSubmatch(list.body)
	if suspension == nil {
		t.Fatal("the page does not offer to lift the suspension")
	}
	v.post("/p/default/agents/resume", "id", suspension[1], "of", "default", "reason", "It whispers now.").wants(t, "lifting", http.StatusSeeOther)
	if got := ask(); got.OverallVerdict == rule.Deny {
		t.Error("it is still denied")
	}
	v.get("/p/default/audit?kind=suspension").wants(t, "the audit log", http.StatusOK, "resumed")
	viewer := n.signedIn(n.key("viewer", "viewer", "default"))
	if r := viewer.post("/p/default/agents", "agent", "x", "reason", "y"); r.status != http.StatusForbidden {
		t.Errorf("a viewer suspends: %d", r.status)
	}
}

func TestKeysWithLimits(t *testing.T) {
	n := newNode(t, nil)
	v := n.signedIn(n.key("root", "admin", "*"))
	made := v.post("/operations/keys", "name", "ci", "role", "admin", "of", "default", "owner", "corp:ann@example.com", "agent", "bot", "scope", "read", "networks", "127.0.0.0/8, ::1", "rate", "50")
	made.wants(t, "making", http.StatusOK, "corp:ann@example.com", "only read", "from 127.0.0.0/8 ::1/128", "50/s", "agent")
	v.post("/operations/keys", "name", "x", "role", "viewer", "of", "default", "networks", "here").wants(t, "a wrong network", http.StatusUnprocessableEntity, "is no network")
	v.post("/operations/keys", "name", "x", "role", "viewer", "of", "default", "rate", "fast").wants(t, "a wrong rate", http.StatusUnprocessableEntity, "number of requests")
	secret := regexp.MustCompile(`tnt_[A-Za-z0-9_-]{43}`).FindString(made.body)
	reader := n.signedIn(secret)
	reader.get("/p/default/rules").wants(t, "reading", http.StatusOK, "SEC-001")
	if r := reader.post("/p/default/agents", "agent", "x", "reason", "y"); r.status != http.StatusForbidden {
		t.Errorf("a key with the scope read changes something: %d", r.status)
	}
	keys, err := client.All(t.Context(), n.api, op.ListKeys)
	if err != nil || len(keys) != 1 {
		t.Fatalf("%d keys of the project, %v", len(keys), err)
	}
	rotated := v.post("/operations/keys/rotate", "id", keys[0].ID, "of", "default", "hours", "1")
	rotated.wants(t, "rotating", http.StatusOK, "tnt_", "rotated")
	if again := regexp.MustCompile(`tnt_[A-Za-z0-9_-]{43}`).FindString(rotated.body); again == "" || again == secret {
		t.Error("the page does not show another secret")
	}
	far := v.post("/operations/keys", "name", "far", "role", "viewer", "of", "default", "networks", "203.0.113.0/24")
	elsewhere := regexp.MustCompile(`tnt_[A-Za-z0-9_-]{43}`).FindString(far.body)
	n.visitor().post("/signin", "key", elsewhere).wants(t, "from another network", http.StatusForbidden, "203.0.113.0/24 only")
}
