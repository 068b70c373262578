package api

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// makeNode makes a node and returns its id. Repositories come last.
func (n *node) makeNode(name, level, parent string, repositories ...string) string {
	n.t.Helper()
	body := fields{"name": name, "level": level, "repositories": repositories}
	if parent != "" {
		body["parent_id"] = parent
	}
	made := n.call("POST", federationPath, body).want(http.StatusCreated)
	id := into[rule.Node](made).ID
	if got := made.header.Get("Location"); got != federationPath+"/"+id {
		n.t.Errorf("Location %q", got)
	}
	return id
}

// makeRule makes an effective rule and returns its id. Further fields come in pairs.
func (n *node) makeRule(slug string, more ...any) string {
	n.t.Helper()
	body := fields{"slug": slug, "statement": "Rule " + slug + ".", "status": "EFFECTIVE"}
	for i := 0; i < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return into[rule.Rule](n.call("POST", rulesPath, body).want(http.StatusCreated)).ID
}

// attach attaches rules, by slug, to a node; A>B attaches A in place of B.
func (n *node) attach(id string, rules ...string) {
	n.t.Helper()
	for _, r := range rules {
		name, over, _ := strings.Cut(r, ">")
		body := fields{"rule_id": name}
		if over != "" {
			body["override_parent_rule_id"] = over
		}
		n.call("POST", federationPath+"/"+id+"/rules", body).want(http.StatusCreated)
	}
}

// effective lists the slugs of the effective rules of a node, with + for inherited ones.
func (n *node) effective(id string) string {
	n.t.Helper()
	got := into[wire.EffectiveRules](n.call("GET", federationPath+"/"+id+"/effective-rules", nil).want(http.StatusOK))
	if got.Total != len(got.Rules) || got.NodeID != id {
		n.t.Errorf("effective rules of %s: total %d of %d, node %s", id, got.Total, len(got.Rules), got.NodeID)
	}
	var list []string
	for _, e := range got.Rules {
		s := e.Rule.Slug
		if e.Inherited {
			s = "+" + s
		}
		list = append(list, s)
	}
	return strings.Join(list, " ")
}

func TestFederationLife(t *testing.T) {
	t.Parallel()
	onBoth(t, testFederationLife)
}

func testFederationLife(t *testing.T, n *node) {
	if got := into[wire.NodeTree](n.call("GET", federationPath, nil).want(http.StatusOK)); len(got.Nodes) != 0 {
		t.Errorf("a new project has nodes %+v", got)
	}
	made := into[rule.Node](n.call("POST", federationPath, fields{
		"name": " Acme ", "level": "ORGANIZATION", "description": "All of it", "default_scope": "/acme/", "parent_id": nil,
		"repositories": []string{"acme/**"},
	}).want(http.StatusCreated))
	if made.Name != "Acme" || made.Level != rule.LevelOrganization || made.ParentID != nil || made.Description != "All of it" ||
		made.DefaultScope != "acme" || made.CreatedAt.IsZero() || made.CreatedBy != "local" || made.ProjectID != "default" {
		t.Errorf("made %+v", made)
	}
	org := made.ID
	pay, web := n.makeNode("payments", "team", org), n.makeNode("web", "team", org)
	api := n.makeNode("pay-api", "project", pay)
	other := n.makeNode("other", "organization", "")
	a, b := n.makeRule("A"), n.makeRule("B")
	n.makeRule("C")

	attached := into[rule.Attachment](n.call("POST", federationPath+"/"+org+"/rules", fields{"rule_id": a}).want(http.StatusCreated))
	if attached.NodeID != org || attached.RuleID != a || attached.OverrideID != nil || attached.CreatedAt.IsZero() {
		t.Errorf("attached %+v", attached)
	}
	attached = into[rule.Attachment](n.call("POST", federationPath+"/"+pay+"/rules",
		fields{"rule_id": b, "override_parent_rule_id": a, "reason": "stricter"}).want(http.StatusCreated))
	if attached.OverrideID == nil || *attached.OverrideID != a || attached.Reason != "stricter" {
		t.Errorf("attached %+v", attached)
	}
	n.attach(api, "C")
	for id, want := range map[string]string{org: "A", pay: "B", web: "+A", api: "+B C", other: ""} {
		if got := n.effective(id); got != want {
			t.Errorf("effective at %s: %q, want %q", id, got, want)
		}
	}
	got := into[wire.EffectiveRules](n.call("GET", federationPath+"/"+strings.ToUpper(api)+"/effective-rules", nil).want(http.StatusOK))
	e := got.Rules[0]
	if e.Rule.ID != b || e.Rule.Statement != "Rule B." || e.SourceNodeID != pay || e.OverriddenID == nil || *e.OverriddenID != a || !e.Inherited {
		t.Errorf("entry %+v", e)
	}
	if e = got.Rules[1]; e.OverriddenID != nil || e.SourceNodeID != api || e.Inherited {
		t.Errorf("entry %+v", e)
	}

	d := into[wire.NodeDetail](n.call("GET", federationPath+"/"+pay, nil).want(http.StatusOK))
	if d.ID != pay || len(d.Rules) != 1 || d.Rules[0].RuleID != b || *d.Rules[0].OverrideID != a || !d.Rules[0].Holds || !d.Rules[0].Acts ||
		d.Rules[0].Rule.Slug != "B" || len(d.Ancestors) != 1 || d.Ancestors[0].ID != org {
		t.Errorf("detail %+v", d)
	}
	diff := into[wire.FederationDiff](n.call("GET", federationPath+"/"+pay+"/diff", nil).want(http.StatusOK))
	if diff.NodeID != pay || *diff.ParentID != org || diff.InheritedCount != 0 || len(diff.Added) != 0 || len(diff.Overridden) != 1 ||
		diff.Overridden[0].ParentRuleID != a || diff.Overridden[0].ChildRuleID != b || diff.Overridden[0].ParentSlug != "A" ||
		diff.Overridden[0].ChildSlug != "B" || diff.Overridden[0].ParentStatement != "Rule A." || diff.Overridden[0].ChildStatement != "Rule B." ||
		diff.Overridden[0].AttachedBy != "local" || len(diff.Overridden[0].Changes) != 1 || diff.Overridden[0].Changes[0].Field != "statement" {
		t.Errorf("diff %+v", diff)
	}
	diff = into[wire.FederationDiff](n.call("GET", federationPath+"/"+api+"/diff", nil).want(http.StatusOK))
	if diff.InheritedCount != 1 || len(diff.Added) != 1 || diff.Added[0].Slug != "C" || len(diff.Overridden) != 0 {
		t.Errorf("diff %+v", diff)
	}
	tree := into[wire.NodeTree](n.call("GET", federationPath, nil).want(http.StatusOK))
	if len(tree.Nodes) != 2 || tree.Nodes[0].ID != org || len(tree.Nodes[0].Children) != 2 || tree.Nodes[0].Children[0].Children[0].ID != api ||
		tree.Nodes[1].Children == nil {
		t.Errorf("tree %+v", tree)
	}

	// A moved team takes what is below it along.
	moved := into[rule.Node](n.call("PATCH", federationPath+"/"+pay, fields{"parent_id": other, "name": "Payments"}).want(http.StatusOK))
	if *moved.ParentID != other || moved.Name != "Payments" || moved.Level != rule.LevelTeam {
		t.Errorf("moved %+v", moved)
	}
	if tree = into[wire.NodeTree](n.call("GET", federationPath, nil).want(http.StatusOK)); len(tree.Nodes[1].Children) != 1 ||
		tree.Nodes[1].Children[0].Name != "Payments" || len(tree.Nodes[1].Children[0].Children) != 1 {
		t.Errorf("the tree after the move: %+v", tree)
	}
	for id, want := range map[string]string{pay: "B", api: "+B C"} {
		if got := n.effective(id); got != want {
			t.Errorf("after the move, effective at %s: %q, want %q", id, got, want)
		}
	}
	d = into[wire.NodeDetail](n.call("GET", federationPath+"/"+pay, nil).want(http.StatusOK))
	if d.Rules[0].Acts || !d.Rules[0].Holds {
		t.Errorf("away from what it overrides, the rule still acts: %+v", d.Rules[0])
	}
	n.call("PATCH", federationPath+"/"+pay, fields{"parent_id": org}).want(http.StatusOK)

	// null clears; what is not named stays.
	cleared := into[rule.Node](n.call("PATCH", federationPath+"/"+org, `{"description":null,"default_scope":null,"repositories":null}`).want(http.StatusOK))
	if cleared.Description != "" || cleared.DefaultScope != "" || len(cleared.Repositories) != 0 || cleared.Name != "Acme" {
		t.Errorf("cleared %+v", cleared)
	}

	// Rules that leave force leave the effective sets.
	n.call("DELETE", rulesPath+"/"+b, nil).want(http.StatusNoContent)
	if got := n.effective(api); got != "+A C" {
		t.Errorf("with B retired: %q", got)
	}
	n.call("DELETE", federationPath+"/"+pay+"/rules/"+b, nil).want(http.StatusNoContent)
	n.call("DELETE", federationPath+"/"+org+"/rules/A", nil).want(http.StatusNoContent)
	if got := n.effective(api); got != "C" {
		t.Errorf("with A removed: %q", got)
	}
	n.attach(org, "A")
	if got := n.effective(api); got != "+A C" {
		t.Errorf("with A attached again: %q", got)
	}
	n.call("DELETE", federationPath+"/"+api+"/rules/C", nil).want(http.StatusNoContent)
	n.call("DELETE", federationPath+"/"+api, nil).want(http.StatusNoContent)
	n.call("GET", federationPath+"/"+api, nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	n.call("DELETE", federationPath+"/"+pay, nil).want(http.StatusNoContent)
}

func TestFederationBadInput(t *testing.T) {
	t.Parallel()
	onBoth(t, testFederationBadInput)
}

func testFederationBadInput(t *testing.T, n *node) {
	const ghost = "00000000-0000-0000-0000-000000000000"
	org := n.makeNode("org", "organization", "", "acme/**")
	team := n.makeNode("team", "team", org)
	repo := n.makeNode("repo", "project", team)
	n.makeRule("A")
	n.makeRule("B")
	n.makeRule("GONE")
	n.call("DELETE", rulesPath+"/GONE", nil).want(http.StatusNoContent)
	n.attach(org, "A")
	n.makeProject("foreign")
	foreign := into[rule.Rule](n.call("POST", rulesPath+"?project_id=foreign", fields{"slug": "SECRET", "statement": "Theirs.", "status": "EFFECTIVE"}).
		want(http.StatusCreated)).ID
	theirs := into[rule.Node](n.call("POST", federationPath+"?project_id=foreign", fields{"name": "x", "level": "organization"}).want(http.StatusCreated)).ID

	invalid := func(r *reply, fields ...string) {
		r.wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, fields...)
	}
	conflict := func(r *reply) { r.wantProblem(http.StatusConflict, rule.CodeConflict) }
	missing := func(r *reply) wire.Problem { return r.wantProblem(http.StatusNotFound, rule.CodeNotFound) }
	create := func(body fields) *reply { return n.call("POST", federationPath, body) }
	change := func(id string, body any) *reply { return n.call("PATCH", federationPath+"/"+id, body) }
	attach := func(id string, body any) *reply { return n.call("POST", federationPath+"/"+id+"/rules", body) }

	invalid(create(fields{}), "level", "name")
	invalid(create(fields{"name": "x", "level": "squad"}), "level")
	invalid(create(fields{"name": "", "level": "organization"}), "name")
	invalid(create(fields{"name": "x", "level": "team"}), "parent_id")
	invalid(create(fields{"name": "x", "level": "project", "parent_id": nil}), "parent_id")
	invalid(create(fields{"name": "x", "level": "organization", "parent_id": org}), "parent_id")
	invalid(create(fields{"name": "x", "level": "team", "parent_id": ghost}), "parent_id")
	invalid(create(fields{"name": "x", "level": "team", "parent_id": "org"}), "parent_id")
	invalid(create(fields{"name": "x", "level": "team", "parent_id": theirs}), "parent_id")
	invalid(create(fields{"name": "x", "level": "team", "parent_id": team}), "parent_id")
	invalid(create(fields{"name": "x", "level": "team", "parent_id": repo}), "parent_id")
	invalid(create(fields{"name": "x", "level": "organization", "default_scope": strings.Repeat("x", rule.MaxLabel+1)}), "default_scope")
	invalid(create(fields{"name": "x", "level": "organization", "repositories": []string{"ok/*", "a["}}), "repositories[1]")
	invalid(create(fields{"name": "x", "level": "organization", "children": []string{}}), "children")
	conflict(create(fields{"name": "x", "level": "organization", "repositories": []string{"acme/**"}}))

	invalid(change(team, fields{"parent_id": team}), "parent_id")
	invalid(change(team, fields{"parent_id": ghost}), "parent_id")
	invalid(change(team, fields{"parent_id": theirs}), "parent_id")
	invalid(change(team, `{"parent_id":null}`), "parent_id")
	invalid(change(team, `{"name":null,"level":null}`), "name", "level")
	invalid(change(team, fields{"level": "project"}), "level")
	invalid(change(org, fields{"level": "team"}), "parent_id")
	conflict(change(team, fields{"parent_id": repo}))
	missing(change(ghost, fields{"name": "x"}))
	missing(change(theirs, fields{"name": "x"}))

	invalid(attach(team, fields{}), "rule_id")
	invalid(attach(team, fields{"rule_id": ""}), "rule_id")
	invalid(attach(team, fields{"rule_id": "B", "allow_weakening": true}), "reason")
	invalid(attach(team, fields{"rule_id": "B", "override_parent_rule_id": "B"}), "override_parent_rule_id")
	invalid(attach(org, fields{"rule_id": "B", "override_parent_rule_id": "A"}), "override_parent_rule_id")
	conflict(attach(org, fields{"rule_id": "A"}))
	conflict(attach(org, fields{"rule_id": "A", "reason": "again"}))
	missing(attach(ghost, fields{"rule_id": "A"}))
	missing(attach("x", fields{"rule_id": "A"}))
	conflict(attach(team, fields{"rule_id": into[wire.Page[rule.Rule]](n.call("GET", rulesPath+"?status=RETIRED", nil)).Items[0].ID}))

	// A rule of another project looks like one that does not exist, in every place.
	for _, body := range []func(id string) fields{
		func(id string) fields { return fields{"rule_id": id} },
		func(id string) fields { return fields{"rule_id": id, "override_parent_rule_id": "A"} },
	} {
		there, nowhere := missing(attach(team, body(foreign))), missing(attach(team, body(ghost)))
		if strings.ReplaceAll(there.Detail, foreign, ghost) != nowhere.Detail {
			t.Errorf("another project's rule: %q, no rule: %q", there.Detail, nowhere.Detail)
		}
	}
	there := attach(team, fields{"rule_id": "B", "override_parent_rule_id": foreign}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "override_parent_rule_id")
	nowhere := attach(team, fields{"rule_id": "B", "override_parent_rule_id": ghost}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "override_parent_rule_id")
	if strings.ReplaceAll(there.Errors[0].Message, foreign, ghost) != nowhere.Errors[0].Message {
		t.Errorf("overriding another project's rule: %q, no rule: %q", there.Errors[0].Message, nowhere.Errors[0].Message)
	}

	detach := func(id, ref string) *reply { return n.call("DELETE", federationPath+"/"+id+"/rules/"+ref, nil) }
	missing(detach(team, "A"))
	missing(detach(org, "B"))
	missing(detach(org, ghost))
	missing(detach(org, foreign))
	missing(detach(ghost, "A"))
	conflict(n.call("DELETE", federationPath+"/"+team, nil))
	conflict(n.call("DELETE", federationPath+"/"+org, nil))
	n.attach(repo, "B")
	conflict(n.call("DELETE", federationPath+"/"+repo, nil)) // a rule is attached
	for _, id := range []string{ghost, theirs, "x", "a%2Fb", strings.Repeat("x", 3000)} {
		missing(n.call("DELETE", federationPath+"/"+id, nil))
		for _, rest := range []string{"", "/effective-rules", "/diff"} {
			missing(n.call("GET", federationPath+"/"+id+rest, nil))
		}
	}
	if got := n.effective(team) + "; " + n.effective(repo); got != "+A; +A B" {
		t.Errorf("after all that, %q", got)
	}
}

func TestFederationGuardsCriticalRules(t *testing.T) {
	t.Parallel()
	onBoth(t, testFederationGuardsCriticalRules)
}

func testFederationGuardsCriticalRules(t *testing.T, n *node) {
	org := n.makeNode("org", "organization", "")
	team := n.makeNode("team", "team", org)
	n.makeRule("TOP", "severity", "CRITICAL")
	n.attach(org, "TOP")
	for slug, more := range map[string][]any{
		"LOWER": {"severity", "HIGH"}, "SHOULD": {"severity", "CRITICAL", "modality", "SHOULD"},
		"WARN": {"severity", "CRITICAL", "enforcement", "warn"}, "NARROW": {"severity", "CRITICAL", "scope", []string{"lab"}},
	} {
		n.makeRule(slug, more...)
		body := fields{"rule_id": slug, "override_parent_rule_id": "TOP"}
		p := n.call("POST", federationPath+"/"+team+"/rules", body).wantProblem(http.StatusConflict, rule.CodeConflict)
		if !strings.Contains(p.Detail, "allow_weakening") {
			t.Errorf("%s: the refusal does not tell the way: %s", slug, p.Detail)
		}
		body["allow_weakening"], body["reason"] = true, "agreed with security on May 3"
		n.call("POST", federationPath+"/"+team+"/rules", body).want(http.StatusCreated)
		if got := n.effective(team); got != slug {
			t.Errorf("effective %q, want %s alone", got, slug)
		}
		n.call("DELETE", federationPath+"/"+team+"/rules/"+slug, nil).want(http.StatusNoContent)
	}
	// An equal rule may stand in. Loosened by a revision later, it no longer does: both hold.
	n.makeRule("EQUAL", "severity", "CRITICAL")
	n.attach(team, "EQUAL>TOP")
	if got := n.effective(team); got != "EQUAL" {
		t.Errorf("effective %q", got)
	}
	n.call("PATCH", rulesPath+"/EQUAL", fields{"severity": "LOW", "allow_weakening": true, "change_note": "measured"}).want(http.StatusOK)
	if got := n.effective(team); got != "+TOP EQUAL" {
		t.Errorf("after a quiet loosening: %q", got)
	}

	// All of it is in the audit chain, the weakenings with their reasons.
	entries, total := n.auditBodies("federation")
	if total != 2+1+4*2+1 {
		t.Errorf("%d federation entries", total)
	}
	reasons := slices.DeleteFunc(entries, func(b string) bool {
		return !strings.Contains(b, `"allow_weakening":true`) || !strings.Contains(b, "agreed with security on May 3") || !strings.Contains(b, `"rule attached"`)
	})
	if len(reasons) != 4 {
		t.Errorf("%d recorded weakenings, want 4: %v", len(reasons), entries)
	}
}

func TestEvaluationAtANode(t *testing.T) {
	t.Parallel()
	onBoth(t, testEvaluationAtANode)
}

func testEvaluationAtANode(t *testing.T, n *node) {
	limit := func(most int) any { return fields{"cel": fmt.Sprintf("facts.n <= %d", most)} }
	org := n.makeNode("org", "organization", "", "acme/**")
	lab := into[rule.Node](n.call("POST", federationPath, fields{
		"name": "lab", "level": "team", "parent_id": org, "repositories": []string{"acme/lab-*"}, "default_scope": "lab",
	}).want(http.StatusCreated)).ID
	n.makeNode("twin", "team", org, "acme/*twin")
	n.makeRule("TEN", "check", limit(10))
	n.makeRule("HUNDRED", "check", limit(100))
	n.makeRule("LAB", "check", limit(1000))
	n.makeRule("LOOSE", "check", limit(1)) // attached nowhere
	n.attach(org, "TEN")
	n.attach(lab, "HUNDRED>TEN", "LAB")

	type outcome struct {
		overall  rule.Verdict
		verdicts string
	}
	ask := func(amount int, more fields) (outcome, *rule.Evaluation) {
		t.Helper()
		body := fields{"facts": fields{"n": amount}}
		maps.Copy(body, more)
		e := into[rule.Evaluation](n.call("POST", evaluatePath, body).want(http.StatusOK))
		var list []string
		for _, v := range e.RuleVerdicts {
			list = append(list, v.RuleSlug+"="+string(v.Verdict))
		}
		slices.Sort(list)
		return outcome{e.OverallVerdict, strings.Join(list, " ")}, &e
	}
	for name, c := range map[string]struct {
		more fields
		want outcome
		node string
	}{
		"no node: all live rules":         {fields{}, outcome{rule.Deny, "HUNDRED=ALLOW LAB=ALLOW LOOSE=DENY TEN=DENY"}, ""},
		"a repository that is not bound":  {fields{"repository": "else/where"}, outcome{rule.Deny, "HUNDRED=ALLOW LAB=ALLOW LOOSE=DENY TEN=DENY"}, ""},
		"the organization":                {fields{"node_id": org}, outcome{rule.Deny, "TEN=DENY"}, org},
		"the team, with its override":     {fields{"node_id": lab}, outcome{rule.Allow, "HUNDRED=ALLOW LAB=ALLOW"}, lab},
		"a repository of the team":        {fields{"repository": "acme/lab-1"}, outcome{rule.Allow, "HUNDRED=ALLOW LAB=ALLOW"}, lab},
		"a repository of the whole":       {fields{"repository": "acme/web"}, outcome{rule.Deny, "TEN=DENY"}, org},
		"a node below the binding":        {fields{"repository": "acme/web", "node_id": lab}, outcome{rule.Allow, "HUNDRED=ALLOW LAB=ALLOW"}, lab},
		"in the default scope":            {fields{"node_id": lab, "scope": "lab/a"}, outcome{rule.Allow, "HUNDRED=ALLOW LAB=ALLOW"}, lab},
		"elsewhere than in default scope": {fields{"node_id": lab, "scope": "office"}, outcome{rule.Allow, "HUNDRED=ALLOW"}, lab},
	} {
		got, e := ask(50, c.more)
		if got != c.want || e.NodeID != c.node {
			t.Errorf("%s: %+v at node %q, want %+v at %q", name, got, e.NodeID, c.want, c.node)
		}
	}

	// The caller takes no repository to another node than its own.
	for path, body := range map[string]fields{
		evaluatePath: {"facts": fields{"n": 50}}, evaluatePath + "/applicable-rules": {},
		"/api/v1/submissions": {"subject": fields{"kind": "code_change", "diff": "", "repository": "acme/lab-1"}},
	} {
		if body["node_id"] = org; body["subject"] == nil {
			body["repository"] = "acme/lab-1"
		}
		p := n.call("POST", path, body).wantProblem(http.StatusConflict, rule.CodeConflict)
		if !strings.Contains(p.Detail, org) || !strings.Contains(p.Detail, lab) {
			t.Errorf("%s: the refusal names not both nodes: %s", path, p.Detail)
		}
	}

	_, e := ask(5000, fields{"node_id": lab})
	if len(e.Violations) != 2 || len(e.Overridden) != 1 || e.Coverage.RulesInScope != 2 || e.Coverage.RulesSelected != 2 {
		t.Errorf("coverage %+v, overridden %+v, %d violations", e.Coverage, e.Overridden, len(e.Violations))
	}
	for _, list := range [][]rule.RuleVerdict{e.RuleVerdicts, e.Violations} {
		for _, v := range list {
			if v.SourceNodeID != lab {
				t.Errorf("%s comes from %q", v.RuleSlug, v.SourceNodeID)
			}
		}
	}
	record := n.call("GET", "/api/v1/evaluations/"+e.EvaluationID, nil).want(http.StatusOK)
	if !strings.Contains(string(record.body), `"node_id":"`+lab+`"`) || !strings.Contains(string(record.body), `"source_node_id":"`+lab+`"`) {
		t.Errorf("the record does not name the node: %s", record.body)
	}

	applicable := func(body fields) string {
		t.Helper()
		var list []string
		for _, r := range into[[]rule.Rule](n.call("POST", evaluatePath+"/applicable-rules", body).want(http.StatusOK)) {
			list = append(list, r.Slug)
		}
		slices.Sort(list)
		return strings.Join(list, " ")
	}
	if got := applicable(fields{"node_id": lab}) + "; " + applicable(fields{"repository": "acme/x"}) + "; " + applicable(fields{}); got != "HUNDRED LAB; TEN; HUNDRED LAB LOOSE TEN" {
		t.Errorf("applicable %q", got)
	}
	explained := into[wire.ExplainedRules](n.call("POST", evaluatePath+"/applicable-rules/explain", fields{"repository": "acme/lab-1"}).want(http.StatusOK))
	parts := map[string]string{}
	for _, r := range explained.Items {
		parts[r.RuleSlug] = fmt.Sprintf("%s %s %s", r.Part, r.Reasons[0].About, r.Reasons[0].Text)
	}
	if want := "overridden override HUNDRED is in its place at " + explained.NodePath; explained.NodeID != lab || parts["TEN"] != want {
		t.Errorf("TEN at %s: %q, want %q", explained.NodePath, parts["TEN"], want)
	}
	if !strings.HasPrefix(parts["LOOSE"], "left_out node it is not attached to ") || !strings.HasPrefix(parts["LAB"], "applies") {
		t.Errorf("explained %v", parts)
	}
	quick := into[rule.Evaluation](n.call("POST", evaluatePath+"/quick", fields{"action": "do it", "node_id": org}).want(http.StatusOK))
	if quick.NodeID != org || len(quick.RuleVerdicts) != 1 {
		t.Errorf("quick at %q: %+v", quick.NodeID, quick.RuleVerdicts)
	}

	const ghost = "00000000-0000-0000-0000-000000000000"
	for _, path := range []string{"", "/quick", "/applicable-rules", "/applicable-rules/explain"} {
		body := fields{"node_id": ghost}
		if path == "/quick" {
			body["action"] = "x"
		}
		n.call("POST", evaluatePath+path, body).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	}
	// Bound to two nodes alike, nothing is guessed.
	p := n.call("POST", evaluatePath, fields{"facts": fields{"n": 1}, "repository": "acme/lab-twin"}).wantProblem(http.StatusConflict, rule.CodeConflict)
	if !strings.Contains(p.Detail, "node_id") {
		t.Errorf("the conflict does not tell the way: %s", p.Detail)
	}
}

// Two moves that are each all right but would together make a circle: one wins.
func TestFederationRacingMoves(t *testing.T) {
	t.Parallel()
	onBoth(t, testFederationRacingMoves)
}

func testFederationRacingMoves(t *testing.T, n *node) {
	for round := range 5 {
		org := n.makeNode(fmt.Sprint("org ", round), "organization", "")
		a, b := n.makeNode("a", "team", org), n.makeNode("b", "team", org)
		statuses := make([]int, 2)
		var wg sync.WaitGroup
		for i, move := range [][2]string{{a, b}, {b, a}} {
			wg.Go(func() {
				statuses[i] = n.call("PATCH", federationPath+"/"+move[0], fields{"parent_id": move[1], "level": "project"}).status
			})
		}
		wg.Wait()
		slices.Sort(statuses)
		if statuses[0] != http.StatusOK || (statuses[1] != http.StatusConflict && statuses[1] != http.StatusUnprocessableEntity) {
			t.Fatalf("two moves into a circle give %v", statuses)
		}
		detail := into[wire.NodeDetail](n.call("GET", federationPath+"/"+a, nil).want(http.StatusOK))
		if len(detail.Ancestors) == 0 || detail.Ancestors[0].ID != org {
			t.Fatalf("a stands below %+v", detail.Ancestors)
		}
	}
}

// Of many who attach one rule at once, one succeeds; a node is not deleted from under a rule or a child.
func TestFederationRaces(t *testing.T) {
	t.Parallel()
	onBoth(t, testFederationRaces)
}

func testFederationRaces(t *testing.T, n *node) {
	org := n.makeNode("org", "organization", "")
	n.makeRule("A")
	count := func(times int, fn func(i int) int) map[int]int {
		var mu sync.Mutex
		var wg sync.WaitGroup
		counts := map[int]int{}
		for i := range times {
			wg.Go(func() {
				status := fn(i)
				mu.Lock()
				defer mu.Unlock()
				counts[status]++
			})
		}
		wg.Wait()
		return counts
	}
	got := count(12, func(int) int { return n.call("POST", federationPath+"/"+org+"/rules", fields{"rule_id": "A"}).status })
	if got[http.StatusCreated] != 1 || got[http.StatusConflict] != 11 {
		t.Errorf("attaching one rule 12 times at once: %v", got)
	}
	got = count(6, func(int) int { return n.call("DELETE", federationPath+"/"+org+"/rules/A", nil).status })
	if got[http.StatusNoContent] != 1 || got[http.StatusNotFound] != 5 {
		t.Errorf("removing it 6 times at once: %v", got)
	}
	got = count(8, func(i int) int {
		if i%2 == 0 {
			return n.call("DELETE", federationPath+"/"+org, nil).status
		}
		return n.call("POST", federationPath, fields{"name": "child", "level": "team", "parent_id": org}).status
	})
	gone := n.call("GET", federationPath+"/"+org, nil).status == http.StatusNotFound
	if gone != (got[http.StatusNoContent] == 1) || gone != (got[http.StatusCreated] == 0) {
		t.Errorf("deleted and given children at once: %v, gone %v", got, gone)
	}
}

func TestFederationIsOfOneProject(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.makeProject("pay")
	n.key = n.makeKey(auth.Reviewer, "pay")
	id := n.makeNode("org", "organization", "")
	if got := into[wire.NodeTree](n.call("GET", federationPath, nil).want(http.StatusOK)); len(got.Nodes) != 1 || got.Nodes[0].ProjectID != "pay" {
		t.Errorf("nodes of pay %+v", got)
	}
	n.key = n.makeKey(auth.Admin, rule.DefaultProject)
	n.call("GET", federationPath+"/"+id, nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	if got := into[wire.NodeTree](n.call("GET", federationPath, nil).want(http.StatusOK)); len(got.Nodes) != 0 {
		t.Errorf("nodes of default %+v", got)
	}
}

// auditBodies returns the records of a kind in project default, newest first, and how many there are.
func (n *node) auditBodies(kind string) ([]string, int) {
	n.t.Helper()
	entries, total, err := n.store.Audit.Find(n.t.Context(), store.AuditFilter{ProjectID: rule.DefaultProject, Kind: kind, Limit: 100})
	if err != nil {
		n.t.Fatal(err)
	}
	bodies := make([]string, len(entries))
	for i, e := range entries {
		b, err := audit.Body(e)
		if err != nil {
			n.t.Fatal(err)
		}
		bodies[i] = string(b)
	}
	return bodies, total
}
