package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// acme makes an organization with two teams: payments overrides A by a weaker B, web has rules of its own.
func (n *node) acme() (org, payments, web string) {
	n.t.Helper()
	org = n.makeNode("acme", "organization", "", "acme/**")
	payments, web = n.makeNode("payments", "team", org, "acme/pay-*"), n.makeNode("web", "team", org, "acme/web-shop")
	n.makeRule("A", "severity", "CRITICAL", "statement", "A payment above 10,000 needs two approvers.")
	n.makeRule("B", "severity", "HIGH", "statement", "A payment above 50,000 needs two approvers.")
	n.makeRule("C", "statement", "Every service has an owner.")
	n.makeRule("D", "status", "DRAFT")
	n.makeRule("TOP", "severity", "CRITICAL")
	n.attach(org, "A", "C")
	n.call("POST", federationPath+"/"+payments+"/rules", fields{
		"rule_id": "B", "override_parent_rule_id": "A", "allow_weakening": true, "reason": "The treasury checks them.",
	}).want(http.StatusCreated)
	n.attach(payments, "D")
	return org, payments, web
}

func TestFindNodes(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	org, payments, web := n.acme()
	find := func(query string) string {
		t.Helper()
		page := into[wire.Page[wire.NodeSummary]](n.call("GET", federationPath+"/nodes?"+query, nil).want(http.StatusOK))
		list := []string{fmt.Sprint(page.Total)}
		for _, one := range page.Items {
			list = append(list, one.Path)
		}
		return strings.Join(list, " ")
	}
	for query, want := range map[string]string{
		"":                                      "1 acme",
		"parent=" + org:                         "2 acme/payments acme/web",
		"parent=" + strings.ToUpper(org):        "2 acme/payments acme/web",
		"parent=" + org + "&page_size=1&page=2": "2 acme/web",
		"parent=" + web:                         "0",
		"page=7":                                "1",
		"q=PAY":                                 "1 acme/payments",
		"q=web-shop":                            "1 acme/web",
		"q=acme":                                "3 acme acme/payments acme/web", // by name, then by repositories
		"q=acme/w":                              "1 acme/web",                    // by path; acme/** does not have it
		"q=we&parent=" + payments:               "0",
		"q=nothing":                             "0",
	} {
		if got := find(query); got != want {
			t.Errorf("%s finds %q, want %q", query, got, want)
		}
	}
	n.call("GET", federationPath+"/nodes?parent=0199c2b4-0000-7000-8000-00000000000a", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	n.call("GET", federationPath+"/nodes?q="+strings.Repeat("x", 801), nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid)

	page := into[wire.Page[wire.NodeSummary]](n.call("GET", federationPath+"/nodes?parent="+org, nil).want(http.StatusOK))
	if got, want := page.Items[0].Counts, (rule.NodeCounts{Inherited: 1, Overridden: 1, Weakened: 1, Everywhere: 1}); got != want {
		t.Errorf("payments has %+v, want %+v", got, want)
	}
	detail := into[wire.NodeDetail](n.call("GET", federationPath+"/"+payments+"?brief=true", nil).want(http.StatusOK))
	if detail.Path != "acme/payments" || detail.Attached != 2 || len(detail.Rules) != 0 || len(detail.Ancestors) != 1 || detail.Counts != page.Items[0].Counts {
		t.Errorf("in brief: %+v", detail)
	}
	// The counts follow a change at once: A holds again, and B, which no node has then, everywhere.
	n.call("DELETE", federationPath+"/"+payments+"/rules/B", nil).want(http.StatusNoContent)
	detail = into[wire.NodeDetail](n.call("GET", federationPath+"/"+payments, nil).want(http.StatusOK))
	if got, want := detail.Counts, (rule.NodeCounts{Inherited: 2, Everywhere: 2}); got != want || len(detail.Rules) != 1 {
		t.Errorf("after a change %+v, want %+v, with %d rules", got, want, len(detail.Rules))
	}
}

func TestRulesHeldAtANode(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	org, payments, _ := n.acme()
	held := func(id, query string) []wire.HeldRule {
		t.Helper()
		page := into[wire.Page[wire.HeldRule]](n.call("GET", federationPath+"/"+id+"/rules?"+query, nil).want(http.StatusOK))
		if page.Total < len(page.Items) {
			t.Errorf("%s: %d of %d", query, len(page.Items), page.Total)
		}
		return page.Items
	}
	short := func(list []wire.HeldRule) string {
		var out []string
		for _, one := range list {
			out = append(out, one.Rule.Slug+" "+string(one.Origin)+" "+one.SourcePath)
		}
		return strings.Join(out, "; ")
	}
	for query, want := range map[string]string{
		"":                            "B override acme/payments; C inherited acme; TOP everywhere ",
		"page_size=1&page=2":          "C inherited acme",
		"origin=inherited":            "C inherited acme",
		"origin=everywhere":           "TOP everywhere ",
		"origin=idle":                 "D idle acme/payments",
		"weakened=true":               "B override acme/payments",
		"severity=critical":           "TOP everywhere ",
		"modality=SHOULD":             "",
		"enforcement=enforce&q=OWNER": "C inherited acme",
		"source_node_id=" + org:       "C inherited acme",
		"q=payment&origin=added":      "",
		"q=%C3%A9":                    "",
	} {
		if got := short(held(payments, query)); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	if got := short(held(org, "origin=added")); got != "A added acme; C added acme" {
		t.Errorf("at the root %q", got)
	}
	over := held(payments, "origin=override")[0]
	if o := over.Override; o == nil || o.Slug != "A" || !o.Acts || !o.AllowWeakening || o.Reason != "The treasury checks them." || over.AttachedBy != "local" ||
		len(o.Loosens) != 1 || o.Loosens[0] != "severity HIGH instead of CRITICAL" {
		t.Errorf("the override %+v", over)
	}
	n.call("GET", federationPath+"/"+payments+"/rules?origin=song", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid)
	n.call("GET", federationPath+"/0199c2b4-0000-7000-8000-00000000000a/rules", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)

	// The difference has the fields, the reason and what no longer holds.
	diff := func(id, query string) wire.FederationDiff {
		t.Helper()
		return into[wire.FederationDiff](n.call("GET", federationPath+"/"+id+"/diff?"+query, nil).want(http.StatusOK))
	}
	d := diff(payments, "")
	var fields []string
	for _, c := range d.Overridden[0].Changes {
		fields = append(fields, c.Field)
	}
	if o := d.Overridden[0]; strings.Join(fields, " ") != "statement severity" || o.Reason != "The treasury checks them." || !o.AllowWeakening || len(o.Loosens) != 1 || d.OverriddenTotal != 1 {
		t.Errorf("the difference %+v, of fields %v", d, fields)
	}
	if d := diff(org, "limit=1"); len(d.Added) != 1 || d.AddedTotal != 2 {
		t.Errorf("the first of two: %+v", d)
	}
	n.call("PATCH", federationPath+"/"+payments, map[string]any{"own_rules_only": true, "allow_weakening": true, "reason": "Synthetic."}).want(http.StatusOK)
	if d := diff(payments, ""); d.SilencedTotal != 1 || d.Silenced[0].Slug != "TOP" || d.Silenced[0].ByRuleID != "" {
		t.Errorf("with own rules only: %+v", d)
	}
}

func TestPreviewListsStartsAndStops(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	org, payments, web := n.acme()
	short := func(list wire.ShiftedRules) string {
		var out []string
		for _, one := range list.Rules {
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s at %s %s %s", one.Slug, strings.Join(one.At, ","), strings.Join(one.Repositories, ","), one.OtherSlug)))
		}
		return strings.Join(out, "; ")
	}
	preview := func(body fields) wire.PreviewedNodes {
		t.Helper()
		return into[wire.PreviewedNodes](n.call("POST", federationPath+"/preview", body).want(http.StatusOK))
	}
	for name, c := range map[string]struct {
		body          fields
		starts, stops string
	}{
		"detaching an override": {fields{"action": "detach", "node_id": payments, "rule_id": "B"}, "A at acme/payments; B at acme,acme/web", ""}, // B, of no node, holds everywhere
		"moving nothing":        {fields{"action": "change", "node_id": web, "node": fields{"name": "web"}}, "", ""},
		"renaming":              {fields{"action": "change", "node_id": web, "node": fields{"name": "shop"}}, "", ""},
		"a rule of no node":     {fields{"action": "attach", "node_id": web, "rule_id": "TOP"}, "", "TOP at acme,acme/payments"},
		"a new node":            {fields{"action": "create", "node": fields{"name": "lab", "level": "team", "parent_id": org}}, "A at acme/lab; TOP at acme/lab; C at acme/lab", ""},
		"repositories":          {fields{"action": "change", "node_id": web, "node": fields{"repositories": []string{"acme/pay-web"}}}, "A at  acme/pay-web", "B at  acme/pay-web"},
	} {
		got := preview(c.body)
		if short(got.Starts) != c.starts || short(got.Stops) != c.stops || got.NodesCompared != got.Nodes {
			t.Errorf("%s: starts %q, stops %q; want %q, %q", name, short(got.Starts), short(got.Stops), c.starts, c.stops)
		}
	}
	// What it says comes true.
	n.call("POST", federationPath+"/"+web+"/rules", fields{"rule_id": "TOP", "allow_weakening": true, "reason": "Only the shop."}).want(http.StatusCreated)
	if got := into[wire.NodeDetail](n.call("GET", federationPath+"/"+payments, nil).want(http.StatusOK)).Counts.Everywhere; got != 0 {
		t.Errorf("%d rules hold everywhere", got)
	}
}

func TestResolveARepository(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	org, payments, web := n.acme()
	resolve := func(repository string) wire.ResolvedRepository {
		t.Helper()
		return into[wire.ResolvedRepository](n.call("GET", federationPath+"/resolve?repository="+repository, nil).want(http.StatusOK))
	}
	got := resolve("git%40github.com:acme/pay-api.git")
	if got.Node == nil || got.Node.ID != payments || got.Node.Path != "acme/payments" || len(got.Ancestors) != 1 || got.Ancestors[0].ID != org ||
		len(got.Bindings) != 2 || got.Bindings[0].Glob != "acme/pay-*" || !got.Bindings[0].Decides || got.Bindings[1].Decides || got.Repository != "github.com/acme/pay-api" {
		t.Errorf("resolved %+v", got)
	}
	if got := resolve("acme/web-shop"); got.Node == nil || got.Node.ID != web || !got.Bindings[0].Exact || len(got.Bindings) != 2 {
		t.Errorf("named in full: %+v", got)
	}
	if got := resolve("acne/pay-api"); got.Node != nil || len(got.Bindings) != 0 || len(got.Nearest) == 0 || got.Ambiguous != "" {
		t.Errorf("misspelt: %+v", got)
	}
	if got := resolve("quite/other-thing"); got.Node != nil || len(got.Nearest) != 0 {
		t.Errorf("far from all: %+v", got)
	}
	n.makeNode("lay", "team", org, "*/lay-x")
	n.makeNode("x", "team", org, "acme/*x")
	if got := resolve("acme/lay-x"); got.Node != nil || !strings.Contains(got.Ambiguous, "name one by node_id") || !got.Bindings[1].Decides || got.Bindings[2].Decides {
		t.Errorf("bound to two alike: %+v", got)
	}
	for _, bad := range []string{"", "%20", "/"} {
		n.call("GET", federationPath+"/resolve?repository="+bad, nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid)
	}
}
