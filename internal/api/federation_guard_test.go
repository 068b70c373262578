package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

func TestFederationTellsWhatEnds(t *testing.T) {
	t.Parallel()
	onBoth(t, testFederationTellsWhatEnds)
}

// testFederationTellsWhatEnds takes rules out of force in each way that the interface has: guarded ones only with permission and a reason.
func testFederationTellsWhatEnds(t *testing.T, n *node) {
	org := n.makeNode("org", "organization", "", "acme/**")
	team := n.makeNode("team", "team", org)
	n.makeRule("TOP", "severity", "CRITICAL")
	n.makeRule("MED")
	n.makeRule("SLEEPS", "severity", "CRITICAL", "status", "DRAFT")
	everywhere := func(id string) string {
		t.Helper()
		var list []string
		got := into[wire.EffectiveRules](n.call("GET", federationPath+"/"+id+"/effective-rules", nil).want(http.StatusOK))
		for _, r := range got.Everywhere.Rules {
			list = append(list, r.Slug)
		}
		if got.Everywhere.Total != len(list) || got.Total != len(got.Rules) {
			t.Errorf("totals %d of %d, and %d of %d", got.Everywhere.Total, len(list), got.Total, len(got.Rules))
		}
		return strings.Join(list, " ")
	}
	if got := everywhere(org) + ";" + everywhere(team); got != "TOP;TOP" {
		t.Errorf("everywhere %q", got)
	}
	rulesOf := func(id string) string { return federationPath + "/" + id + "/rules" }
	attach := func(id string, body fields) *reply { return n.call("POST", rulesOf(id), body) }
	refused := func(r *reply, texts ...string) {
		t.Helper()
		p := r.wantProblem(http.StatusConflict, rule.CodeConflict)
		for _, text := range append(texts, "say allow_weakening and give a reason") {
			if !strings.Contains(p.Detail, text) {
				t.Errorf("the refusal %q does not have %q", p.Detail, text)
			}
		}
	}

	// Attached to one node, the rule would end at the other.
	preview := func(body fields) wire.PreviewedNodes {
		t.Helper()
		return into[wire.PreviewedNodes](n.call("POST", federationPath+"/preview", body).want(http.StatusOK))
	}
	seen := preview(fields{"action": "attach", "node_id": team, "rule_id": "TOP"})
	if s := seen.Silenced; s == nil || s.Total != 1 || s.Guarded != 1 || s.BySeverity[rule.Critical] != 1 || s.Rules[0].Slug != "TOP" || s.Rules[0].At != "org" ||
		len(s.Nodes) != 1 || s.Nodes[0].Path != "org" || len(seen.Warnings) != 1 {
		t.Errorf("preview %+v, %+v", seen, s)
	}
	refused(attach(team, fields{"rule_id": "TOP"}), "CRITICAL", "TOP", "at org")
	attach(team, fields{"rule_id": "TOP", "allow_weakening": true}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "reason")
	if got := everywhere(org) + ";" + n.effective(team); got != "TOP;" {
		t.Errorf("a refusal or a preview has changed something: %q", got)
	}
	attached := into[wire.Attached](attach(team, fields{"rule_id": "TOP", "allow_weakening": true, "reason": "agreed"}).want(http.StatusCreated))
	if attached.Silenced == nil || attached.Silenced.Guarded != 1 || !strings.HasPrefix(attached.Warnings[0], "1 rule in force no longer applies to node org") {
		t.Errorf("attached %+v", attached)
	}
	if got := everywhere(org) + ";" + n.effective(team); got != ";TOP" {
		t.Errorf("after the attachment: %q", got)
	}
	n.call("DELETE", rulesOf(team)+"/TOP", nil).want(http.StatusNoContent) // holds everywhere again
	plain := into[wire.Attached](attach(org, fields{"rule_id": "TOP"}).want(http.StatusCreated))
	if plain.Silenced != nil || plain.Warnings != nil {
		t.Errorf("attached to the root of the only tree: %+v", plain)
	}
	for _, slug := range []string{"SLEEPS", "MED"} { // not in force, and not guarded
		if got := into[wire.Attached](attach(team, fields{"rule_id": slug}).want(http.StatusCreated)); got.Silenced != nil {
			t.Errorf("%s: %+v", slug, got.Silenced)
		}
	}

	// Repositories.
	n.makeRule("LAST", "severity", "CRITICAL")
	made := into[wire.ChangedNode](n.call("POST", federationPath, fields{"name": "lab", "level": "organization", "repositories": []string{"lab/**"}}).want(http.StatusCreated))
	if s := made.Silenced; s == nil || s.Guarded != 0 || s.Total != 2 || fmt.Sprint(s.Repositories) != "[lab/**]" {
		t.Errorf("a new node: %+v", s)
	}
	change := func(id string, body fields) *reply { return n.call("PATCH", federationPath+"/"+id, body) }
	refused(change(made.ID, fields{"repositories": []string{"lab/**", "acme/x"}}), "TOP", "acme/x")
	changed := into[wire.ChangedNode](change(made.ID, fields{"repositories": []string{"acme/x"}, "allow_weakening": true, "reason": "moved"}).want(http.StatusOK))
	if changed.Silenced == nil || changed.Silenced.Guarded != 1 {
		t.Errorf("changed %+v", changed.Silenced)
	}
	n.call("DELETE", federationPath+"/"+made.ID, nil).want(http.StatusNoContent) // acme/x falls to the organization

	// A node that has only its own rules.
	refused(change(team, fields{"own_rules_only": true}), "team")
	change(team, fields{"own_rules_only": true, "allow_weakening": true}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "reason")
	alone := into[wire.ChangedNode](change(team, fields{"own_rules_only": true, "allow_weakening": true, "reason": "a lab"}).want(http.StatusOK))
	if !alone.OwnRulesOnly || alone.OwnRulesReason != "a lab" || alone.OwnRulesBy != "local" || alone.OwnRulesSince == nil || alone.Silenced.Total != 1 {
		t.Errorf("alone %+v, %+v", alone.Node, alone.Silenced)
	}
	if got := everywhere(org) + ";" + everywhere(team); got != "LAST;" {
		t.Errorf("everywhere %q", got)
	}
	other := n.makeNode("other", "team", org)
	below := n.makeNode("below", "project", other)
	refused(change(below, fields{"parent_id": team}), "below")
	change(below, fields{"parent_id": team, "allow_weakening": true, "reason": "a lab, too"}).want(http.StatusOK)
	if back := into[wire.ChangedNode](change(team, fields{"own_rules_only": false}).want(http.StatusOK)); back.OwnRulesOnly || back.OwnRulesReason != "" || back.OwnRulesSince != nil {
		t.Errorf("back %+v", back.Node)
	}
	if got := everywhere(below); got != "LAST" {
		t.Errorf("everywhere %q", got)
	}
	refused(n.call("POST", federationPath, fields{"name": "x", "level": "organization", "own_rules_only": true}))
	n.call("POST", federationPath+"/preview", fields{"action": "attach", "node_id": "x", "rule_id": "TOP"}).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	n.call("POST", federationPath+"/preview", fields{"action": "explode"}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "action")

	// By import; the chain keeps the reason.
	file := fields{"federation": []fields{{"name": "org", "children": []fields{{"name": "team", "rules": []string{"LAST"}}}}}}
	dry := into[rule.ImportResult](n.call("POST", rulesPath+"/import?dry_run=true", file).want(http.StatusOK))
	if dry.Silenced == nil || dry.Silenced.Guarded != 1 {
		t.Errorf("plan %+v", dry.Silenced)
	}
	refused(n.call("POST", rulesPath+"/import", file), "LAST")
	done := into[rule.ImportResult](n.call("POST", rulesPath+"/import?allow_weakening=true&reason=by+agreement", file).want(http.StatusOK))
	if done.Silenced == nil || n.effective(team) != "+TOP MED LAST" {
		t.Errorf("import %+v, %q", done.Silenced, n.effective(team))
	}
	attach(org, fields{"rule_id": "LAST"}).want(http.StatusCreated)
	n.call("DELETE", rulesOf(org)+"/TOP", nil).want(http.StatusNoContent) // holds everywhere again
	refused(n.call("DELETE", rulesOf(org)+"/LAST", nil), "LAST", "at org")
	n.call("DELETE", rulesOf(org)+"/LAST?allow_weakening=true&reason=no+longer", nil).want(http.StatusNoContent)
	bodies, _ := n.auditBodies(audit.KindFederation)
	chain := strings.Join(bodies, "\n")
	for _, reason := range []string{"agreed", "moved", "a lab", "a lab, too", "no longer"} {
		if !strings.Contains(chain, fmt.Sprintf(`"reason":%q`, reason)) {
			t.Errorf("the audit chain does not have the reason %q", reason)
		}
	}
	if !strings.Contains(chain, `"silenced":{`) {
		t.Error("the audit chain does not have what ended")
	}
}
