package api

import (
	"net/http"
	"strings"
	"testing"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

func TestRuleNodes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		org := n.makeNode("acme", "organization", "")
		pay := n.makeNode("pay", "team", org, "acme/pay-*")
		app := n.makeNode("app", "project", pay, "acme/pay-app")
		ops := n.makeNode("ops", "team", org)
		for _, slug := range []string{"A", "B", "C", "S", "N", "X"} {
			n.makeRule(slug)
		}
		n.makeRule("D", "status", "DRAFT")
		n.makeRule("E", "severity", "HIGH", "modality", "MUST")
		n.attach(org, "A", "S")
		n.attach(pay, "B>A", "D")
		n.attach(ops, "N")
		n.call("POST", rulesPath+"/N/relationships", fields{"kind": "OVERRIDES", "to": "S", "allow_weakening": true, "reason": "ops has its own"}).want(http.StatusCreated)
		_ = app
		list := func(target string) wire.RuleNodes {
			t.Helper()
			return into[wire.RuleNodes](n.call("GET", rulesPath+"/"+target, nil).want(http.StatusOK))
		}
		for slug, want := range map[string]string{
			"A":                                  "acme=attached acme/pay=overridden:B@acme/pay acme/pay/app=overridden:B@acme/pay acme/ops=inherited<acme",
			"A/nodes?state=overridden":           "acme/pay=overridden:B@acme/pay acme/pay/app=overridden:B@acme/pay",
			"A/nodes?page=2&page_size=3":         "acme/ops=inherited<acme",
			"B":                                  "acme/pay=attached acme/pay/app=inherited<acme/pay",
			"D":                                  "acme/pay=idle",
			"S":                                  "acme=attached acme/pay=inherited<acme acme/pay/app=inherited<acme acme/ops=silenced:N",
			"X":                                  "",
			"E":                                  "acme=everywhere acme/pay=everywhere acme/pay/app=everywhere acme/ops=everywhere",
			"E/nodes?page_size=1&state=ATTACHED": "",
		} {
			target := slug
			if !strings.Contains(slug, "/") {
				target += "/nodes"
			}
			found := list(target)
			var got []string
			for _, i := range found.Items {
				s := i.Path + "=" + string(i.State)
				if i.SourcePath != "" {
					s += "<" + i.SourcePath
				}
				if i.ByRuleSlug != "" {
					s += ":" + i.ByRuleSlug
				}
				if i.ByPath != "" {
					s += "@" + i.ByPath
				}
				got = append(got, s)
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s is at\n%s\nwant\n%s", slug, strings.Join(got, " "), want)
			}
		}
		a := list("A/nodes?page_size=1")
		if a.Counts != (wire.RuleNodeCounts{Attached: 1, Inherited: 1, Overridden: 2}) || a.Total != 4 || len(a.Items) != 1 || !a.InForce || a.Unattached {
			t.Errorf("A: %+v", a)
		}
		if d := list("D/nodes"); d.InForce || d.Unattached || d.Counts.Idle != 1 {
			t.Errorf("D: %+v", d)
		}
		if x := list("X/nodes"); !x.Unattached || !x.InForce || x.Total != 0 {
			t.Errorf("X: %+v", x)
		}
		if repos := list("B/nodes").Items[0].Node.Repositories; len(repos) != 1 || repos[0] != "acme/pay-*" {
			t.Errorf("the repositories of pay: %v", repos)
		}
		n.call("GET", rulesPath+"/none/nodes", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
		n.call("GET", rulesPath+"/A/nodes?state=asleep", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "state")
	})
}
