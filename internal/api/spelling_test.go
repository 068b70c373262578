package api

import (
	"net/http"
	"strings"
	"testing"

	"tenet/internal/rule"
)

// A repository and a scope meet their rules in every spelling, on every way to ask.
func TestSpellingsOfPlacesMeetTheirRules(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	made := into[rule.Rule](n.call("POST", rulesPath, fields{
		"slug": "KEY-1", "statement": "Code must not hold keys.", "modality": "MUST_NOT", "severity": "CRITICAL", "status": "EFFECTIVE", "scope": []string{"Finance//Payments/"},
		"applies_to": fields{"repositories": []string{"Acme/Billing.git"}, "paths": []string{"./src/**"}}, "check": fields{"pattern": fields{"regex": "AKIA"}},
	}).want(http.StatusCreated))
	if made.Scope[0] != "finance/payments" || made.AppliesTo.Repositories[0] != "acme/billing" || made.AppliesTo.Paths[0] != "src/**" {
		t.Errorf("stored as scope %q, %+v", made.Scope, made.AppliesTo)
	}
	content := "key = 'AKIA'\n"
	files := []fields{{"path": "src/a.py", "content": content}}
	for _, repository := range []string{
		"github.com/acme/billing", "Acme/billing", "acme/billing.git", "https://github.com/acme/billing", "git@github.com:acme/billing.git", "ssh://git@github.com:22/acme/billing",
	} {
		for _, scope := range []string{"finance/payments", "./Finance/payments/", "finance.payments/eu"} {
			at := fields{"files": files, "repository": repository, "scope": scope}
			if e := into[rule.Evaluation](n.call("POST", "/api/v1/evaluate", at).want(http.StatusOK)); e.OverallVerdict != rule.Deny || e.Notices != nil {
				t.Errorf("evaluate %s in %s: %s %q", repository, scope, e.OverallVerdict, e.Notices)
			}
			submitted := fields{"scope": scope, "subject": fields{"kind": "code_change", "files": files, "repository": repository}}
			if e := into[map[string]any](n.call("POST", submissionsPath, submitted).want(http.StatusOK)); e["overall_verdict"] != "DENY" {
				t.Errorf("submit %s in %s: %v", repository, scope, e["overall_verdict"])
			}
			asked := fields{"file_paths": []string{"src/a.py"}, "repository": repository, "scope": scope}
			if got := into[[]rule.Rule](n.call("POST", "/api/v1/evaluate/applicable-rules", asked).want(http.StatusOK)); len(got) != 1 {
				t.Errorf("applicable rules of %s in %s: %v", repository, scope, got)
			}
		}
	}
	e := into[rule.Evaluation](n.call("POST", "/api/v1/evaluate", fields{"files": files, "repository": "acme/biling", "scope": "payments"}).want(http.StatusOK))
	if len(e.Notices) != 3 || e.Notices[0] != "scope payments: no rule is in it, above it or below it; did you mean finance/payments?" ||
		e.Notices[1] != "repository acme/biling: no rule and no node names it; did you mean acme/billing?" ||
		!strings.HasPrefix(e.Notices[2], "No rule covers this") {
		t.Errorf("notices %q", e.Notices)
	}
	n.call("POST", "/api/v1/evaluate", fields{"files": files, "scope": "a/../b"}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "scope")
}
