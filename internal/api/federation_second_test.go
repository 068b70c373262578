package api

import (
	"net/http"
	"strings"
	"testing"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// In a project that demands two people, a weakening in the federation needs the approval of another person, for exactly this change.
func TestAWeakeningNeedsASecondPerson(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	org := n.makeNode("acme", "organization", "", "acme/**")
	web := n.makeNode("web", "team", org, "acme/web")
	n.makeRule("TOP", "severity", "HIGH", "statement", "A payment above 10,000 needs two approvers.")
	n.makeRule("LOW", "severity", "LOW", "statement", "A payment above 90,000 needs two approvers.")
	n.makeRule("OTHER", "severity", "LOW", "statement", "A payment above 95,000 needs two approvers.")
	n.attach(org, "TOP")
	n.call("PATCH", "/api/v1/projects/default", fields{"two_person_approval": true}).want(http.StatusOK)
	ann := n.newKey(fields{"name": "ann", "role": "reviewer", "project_id": "default"}).Secret
	bo := n.newKey(fields{"name": "bo", "role": "reviewer", "project_id": "default"}).Secret

	rules := federationPath + "/" + web + "/rules"
	weaken := fields{"rule_id": "LOW", "override_parent_rule_id": "TOP", "allow_weakening": true, "reason": "The blog moves no money."}
	as := func(key, method, path string, body fields) *reply {
		t.Helper()
		n.key = key
		if body == nil {
			return n.call(method, path, nil)
		}
		return n.call(method, path, body)
	}
	pending := func(want int) rule.Approval {
		t.Helper()
		page := into[wire.ApprovalPage](as(ann, "GET", "/api/v1/approvals?state=pending", nil).want(http.StatusOK))
		if page.Total != want {
			t.Fatalf("%d approvals wait, want %d", page.Total, want)
		}
		if want == 0 {
			return rule.Approval{}
		}
		return page.Items[0]
	}
	// Without the permission nothing is asked for.
	as(ann, "POST", rules, fields{"rule_id": "LOW", "override_parent_rule_id": "TOP"}).wantProblem(http.StatusConflict, rule.CodeConflict)
	pending(0)
	for range 2 { // asked for once
		refused := as(ann, "POST", rules, weaken)
		refused.wantProblem(http.StatusConflict, rule.CodeConflict)
		if a := pending(1); !strings.Contains(string(refused.body), a.ID) {
			t.Errorf("the refusal does not name the approval: %s", refused.body)
		}
	}
	a := pending(1)
	if a.Title != "Attach LOW to acme/web in place of TOP" || len(a.Rules) != 1 || a.Rules[0].RuleSlug != "TOP" || a.Change["reason"] != "The blog moves no money." || a.NodeID != web {
		t.Errorf("it asks for %+v", a)
	}
	at := "/api/v1/approvals/" + a.ID
	as(ann, "POST", at+"/approve", fields{"reason": "mine"}).wantProblem(http.StatusForbidden, rule.CodeForbidden)
	detail := into[wire.ApprovalDetail](as(bo, "GET", at, nil).want(http.StatusOK))
	if !strings.Contains(detail.Effect, "change of the federation") || len(detail.Display) == 0 {
		t.Errorf("people are shown %+v", detail)
	}
	as(bo, "POST", at+"/approve", fields{"reason": "agreed"}).want(http.StatusOK)
	// It is for that change and that person alone.
	other := fields{"rule_id": "OTHER", "override_parent_rule_id": "TOP", "allow_weakening": true, "reason": "The blog moves no money."}
	as(ann, "POST", rules, other).wantProblem(http.StatusConflict, rule.CodeConflict)
	as(bo, "POST", rules, weaken).wantProblem(http.StatusConflict, rule.CodeConflict)
	made := into[wire.Attached](as(ann, "POST", rules, weaken).want(http.StatusCreated))
	if made.ApprovedBy == "" || made.ApprovedBy == made.CreatedBy || !made.AllowWeakening {
		t.Errorf("attached: %+v", made)
	}
	if used := into[wire.ApprovalDetail](as(ann, "GET", at, nil).want(http.StatusOK)); used.State != rule.ApprovalUsed {
		t.Errorf("the approval is %s", used.State)
	}
	page := into[wire.Page[wire.HeldRule]](as(ann, "GET", federationPath+"/"+web+"/rules?weakened=true", nil).want(http.StatusOK))
	if page.Total != 1 || page.Items[0].ApprovedBy != made.ApprovedBy || page.Items[0].Override.Reason != "The blog moves no money." {
		t.Errorf("weakened: %+v", page.Items)
	}
	// What weakens nothing needs nobody, and what does needs somebody again, in any way.
	as(ann, "POST", federationPath+"/"+org+"/rules", fields{"rule_id": "OTHER"}).want(http.StatusCreated)
	as(ann, "DELETE", rules+"/LOW", nil).want(http.StatusNoContent)
	as(ann, "POST", rules, weaken).wantProblem(http.StatusConflict, rule.CodeConflict)
	as(ann, "PATCH", federationPath+"/"+web, fields{"own_rules_only": true, "allow_weakening": true, "reason": "alone"}).wantProblem(http.StatusConflict, rule.CodeConflict)
	file := fields{"federation": []fields{{"name": "acme", "children": []fields{{"name": "web", "overrides": []fields{{"rule": "LOW", "instead_of": "TOP", "allow_weakening": true, "reason": "r"}}}}}}}
	if got := as(ann, "POST", "/api/v1/rules/import?allow_weakening=true&reason=r", file); got.status != http.StatusConflict || !strings.Contains(string(got.body), "another person must approve") {
		t.Errorf("a file: %d %s", got.status, got.body)
	}
}
