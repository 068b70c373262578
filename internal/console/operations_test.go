package console_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// wants checks that an answer has a status and texts.
func (a answer) wants(t *testing.T, about string, status int, texts ...string) {
	t.Helper()
	if a.status != status {
		t.Fatalf("%s: status %d, want %d: %s", about, a.status, status, a.body)
	}
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			t.Errorf("%s: the page lacks %q:\n%s", about, text, a.body)
		}
	}
}

func TestKeysAreMadeShownOnceAndRevoked(t *testing.T) {
	n := newNode(t, nil)
	local := n.visitor()
	local.post("/operations/keys", "name", "ci", "role", "viewer", "of", "default").wants(t, "a first key that locks everybody out", http.StatusConflict, "the first key must have the role admin")
	first := local.post("/operations/keys", "name", "root", "role", "admin", "of", "*")
	first.wants(t, "the first key", http.StatusOK, "This is the first key.", "/signin")
	if first.header.Get("Cache-Control") != "no-store" {
		t.Errorf("a page with a secret may be kept: %q", first.header.Get("Cache-Control"))
	}
	secret := regexp.MustCompile(`tnt_[A-Za-z0-9_-]{43}`).FindString(first.body)
	v := n.signedIn(secret)
	v.get("/operations/keys").wants(t, "the list", http.StatusOK, "root", "you")
	if regexp.MustCompile(`tnt_[A-Za-z0-9_-]{7}`).MatchString(v.get("/operations/keys").body) {
		t.Error("the list shows a secret")
	}
	v.post("/operations/keys", "name", "", "role", "viewer", "of", "default").wants(t, "without a name", http.StatusUnprocessableEntity, "name")
	v.post("/operations/keys", "name", "ci", "role", "viewer", "of", "default", "days", "0").wants(t, "no days", http.StatusUnprocessableEntity, "1 to 3650")
	v.post("/p/default/operations/keys", "name", "ci", "role", "viewer", "days", "30").wants(t, "a key of a project", http.StatusOK, "tnt_", "ci")

	ci, err := client.All(t.Context(), n.api, op.ListKeys)
	if err != nil || len(ci) != 1 || ci[0].ExpiresAt == nil {
		t.Fatalf("%+v, %v", ci, err)
	}
	all, err := client.All(t.Context(), n.api.InProject("*"), op.ListKeys)
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	v.post("/operations/keys/revoke", "id", all[0].ID, "of", "*").wants(t, "one's own key", http.StatusConflict, "you are signed in with this key")
	v.post("/operations/keys/change", "id", ci[0].ID, "of", "default", "name", "ci", "networks", "nowhere").wants(t, "a network that is none", http.StatusUnprocessableEntity, "nowhere")
	v.post("/operations/keys/change", "id", ci[0].ID, "of", "default", "name", "build", "networks", "10.1.0.0/16, 10.2.0.1", "rate", "5").wants(t, "changing", http.StatusSeeOther)
	v.get("/operations/keys").wants(t, "the changed key", http.StatusOK, "build", "from 10.1.0.0/16 10.2.0.1/32", "5/s")
	v.post("/operations/keys/revoke", "id", ci[0].ID, "of", "default").wants(t, "revoking", http.StatusSeeOther)
	v.get("/operations/keys").wants(t, "after that", http.StatusOK, "The key is revoked.", "revoked")
}

func TestAProjectIsMadeAndItsPolicyChanged(t *testing.T) {
	n := newNode(t, nil)
	v := n.visitor()
	v.post("/operations/projects", "id", "Not An Id").wants(t, "a wrong id", http.StatusUnprocessableEntity, "lower-case letters")
	v.post("/operations/projects", "id", "pay", "name", "Payments", "two_person", "1").wants(t, "a project", http.StatusSeeOther)
	v.get("/p/pay/operations").wants(t, "its page", http.StatusOK, "The project Payments is made.")
	form := []string{
		"name", "Payments", "description", "", "two_person", "1", "severity_min", "MEDIUM", "scopes", "acme/pay-*, acme/ledger -> finance/payments", "bound_node", "1",
		"fail_modes.CRITICAL", "closed", "fail_modes.HIGH", "ask", "approvals", "ask=yes, kinds=tool_call action\nseverity_min=HIGH, quorum=2",
		"uncovered.action", "deny", "uncovered.code_change", "allow",
	}
	v.post("/p/pay/operations", form...).wants(t, "a policy", http.StatusSeeOther)
	got, err := client.Get(t.Context(), n.api, op.GetProject.At("pay"))
	if err != nil {
		t.Fatal(err)
	}
	f := got.Policy.Floor
	if !got.TwoPerson || got.TestsRequired || f.SeverityMin != rule.Medium || !f.BoundNode || len(f.Scopes) != 1 || f.Scopes[0].Scope != "finance/payments" ||
		len(f.Scopes[0].Repositories) != 2 || len(got.Policy.Uncovered) != 1 || got.Policy.Uncovered["action"] != rule.UncoveredDeny {
		t.Errorf("stored: %+v", got)
	}
	if got.Policy.FailModes.String() != "CRITICAL=closed,HIGH=ask" || len(got.Policy.Approvals) != 2 || !got.Policy.Approvals[0].Ask || got.Policy.Approvals[1].Quorum != 2 {
		t.Errorf("stored: fail modes %s, approvals %+v", got.Policy.FailModes, got.Policy.Approvals)
	}
	v.get("/p/pay/operations").wants(t, "the form again", http.StatusOK, "severity_min=HIGH, quorum=2", `value="closed" selected`, "acme/pay-*, acme/ledger -&gt; finance/payments", `value="MEDIUM" selected`, `value="deny" selected`)

	looser := append([]string{}, form...)
	looser[len(looser)-3] = "allow"
	v.post("/p/pay/operations", looser...).wants(t, "looser without a reason", http.StatusUnprocessableEntity, "reason", `value="allow" selected`)
	v.post("/p/pay/operations", append(looser, "reason", "the assistant asks")...).wants(t, "looser with one", http.StatusSeeOther)
	v.post("/p/pay/operations", "name", "Payments", "scopes", "acme/*").wants(t, "a scope without its arrow", http.StatusUnprocessableEntity, "line 1 is not repositories")
	v.post("/p/pay/operations", "name", "Payments", "approvals", "people=2").wants(t, "a demand of unknown fields", http.StatusUnprocessableEntity, "line 1: &#34;people&#34; is no field")
	v.post("/p/pay/operations", "name", "Payments", "approvals", "severity_min=HUGE").wants(t, "a wrong demand", http.StatusUnprocessableEntity, "HUGE")
	v.post("/p/pay/operations/cache", "do", "all").wants(t, "the cache", http.StatusSeeOther)
	v.get("/p/pay/operations").wants(t, "after that", http.StatusOK, "0 stored verdicts are deleted.")
}

func TestJobsAreRetriedAndCancelled(t *testing.T) {
	n := newNode(t, nil)
	v := n.visitor()
	scan, err := client.Call(t.Context(), n.api, op.ScanConflicts, wire.ScanConflicts{})
	if err != nil {
		t.Fatal(err)
	}
	v.get("/operations/jobs").wants(t, "all", http.StatusOK, scan.Kind, "default")
	v.get("/operations/jobs?state=resting").wants(t, "a wrong state", http.StatusOK, "state")
	v.get("/p/default/operations/jobs?kind="+scan.Kind).wants(t, "of a project", http.StatusOK, scan.Kind)
	v.post("/operations/jobs", "id", "x").wants(t, "no job", http.StatusUnprocessableEntity, "names no job")
	v.post("/operations/jobs", "id", "999999", "of", "default", "do", "retry").wants(t, "an unknown job", http.StatusNotFound)
}

func TestOperationsAreForAdministrators(t *testing.T) {
	n := newNode(t, nil)
	admin := n.signedIn(n.key("root", "admin", "*"))
	project := n.signedIn(n.key("lead", "admin", "default"))
	reviewer := n.signedIn(n.key("rev", "reviewer", "*"))
	for _, path := range []string{"/operations", "/operations/settings", "/operations/keys", "/operations/jobs", "/operations/usage"} {
		admin.get(path).wants(t, path, http.StatusOK)
		project.get(path).wants(t, path+" for the administrator of a project", http.StatusForbidden)
	}
	for _, path := range []string{"/p/default/operations", "/p/default/operations/keys", "/p/default/operations/jobs", "/p/default/operations/usage"} {
		project.get(path).wants(t, path, http.StatusOK)
		reviewer.get(path).wants(t, path+" for a reviewer", http.StatusForbidden)
	}
	for _, path := range []string{"/operations", "/operations/settings", "/operations/keys"} {
		reviewer.get(path).wants(t, path+" for a reviewer", http.StatusForbidden)
	}
	if body := project.get("/p/default/operations").body; strings.Contains(body, "record_retention") || !strings.Contains(body, `href="/p/default/operations"`) {
		t.Error("the administrator of a project sees settings of the server, or no operations of the project")
	}
	if body := reviewer.get("/p/default/rules").body; strings.Contains(body, ">Operations<") {
		t.Error("a reviewer is offered operations")
	}
}

func TestTheClusterShowsAModelThatFails(t *testing.T) {
	away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(away.Close)
	env := func(name string) string {
		return map[string]string{"OPENAI_BASE_URL": away.URL, "OPENAI_API_KEY": "sk-secret"}[name]
	}
	n := newNodeIn(t, env, map[string]string{"judge_model": "openai:gpt-test", "model_prices": "openai:gpt-test=1/2"}, nil)
	n.evaluate("default", `{"diff": "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n a\n+b\n"}`)
	if _, err := client.Call(t.Context(), n.api, op.EvaluateQuick, wire.QuickRequest{Action: "Deploy without a word"}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Call(t.Context(), n.api, op.TransitionRule.At("OPS-001"), wire.Transition{To: rule.Approved}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Call(t.Context(), n.api, op.EvaluateQuick, wire.QuickRequest{Action: "Deploy without a word"}); err != nil {
		t.Fatal(err)
	}
	v := n.visitor()
	page := v.get("/operations")
	page.wants(t, "the cluster", http.StatusOK, "Judging", "openai:gpt-test", "bad key", "OPENAI_API_KEY")
	if strings.Contains(page.body+v.get("/operations/settings").body, "sk-secret") {
		t.Error("a page shows the key of the model")
	}
	servers, err := client.All(t.Context(), n.api, op.ListServers)
	if err != nil || len(servers) != 1 || len(servers[0].Models) != 1 {
		t.Fatalf("%+v, %v", servers, err)
	}
	if m := servers[0].Models[0]; m.Status != "bad_key" || m.Calls == 0 || m.Failed != m.Calls || m.LastError == "" || m.LastErrorAt == nil || m.MedianMS != nil {
		t.Errorf("the model: %+v", m)
	}
}
