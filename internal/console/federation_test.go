package console_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"tenet/internal/client"
	"tenet/internal/console/browsertest"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// nodes are the ids of the nodes that [node.federate] makes.
type nodes struct{ acme, payments, ledger, web string }

// federate makes an organization with two teams in a project. Payments overrides a CRITICAL rule by a weaker one.
func (n *node) federate(project string) nodes {
	n.t.Helper()
	api := n.api.InProject(project)
	for _, r := range []wire.RuleInput{
		{Slug: new("CON-001"), Statement: "Contracts above 10,000 EUR must have two signatures.", Severity: rule.Critical},
		{Slug: new("PAY-001"), Statement: "Contracts of payments must have two signatures.", Severity: rule.High},
		{Slug: new("WEB-001"), Statement: "Letters to customers must name a person.", Severity: rule.Medium},
	} {
		r.Status, r.AppliesTo = rule.Effective, &rule.AppliesTo{Kinds: []string{"document"}}
		if _, err := client.Call(n.t.Context(), api, op.CreateRule, wire.CreateRule{RuleInput: r}); err != nil {
			n.t.Fatal(err)
		}
	}
	create := func(body wire.CreateNode) string {
		n.t.Helper()
		made, err := client.Call(n.t.Context(), api, op.CreateNode, body)
		if err != nil {
			n.t.Fatal(err)
		}
		return made.ID
	}
	attach := func(id string, body wire.AttachRule) {
		n.t.Helper()
		if _, err := client.Call(n.t.Context(), api, op.AttachRule.At(id), body); err != nil {
			n.t.Fatal(err)
		}
	}
	var out nodes
	out.acme = create(wire.CreateNode{Name: "example", Level: rule.LevelOrganization, Repositories: []string{"example/**"}, Description: "All that the company writes."})
	out.payments = create(wire.CreateNode{Name: "payments", Level: rule.LevelTeam, ParentID: out.acme, Repositories: []string{"example/pay-*"}})
	out.ledger = create(wire.CreateNode{Name: "ledger", Level: rule.LevelProject, ParentID: out.payments, Repositories: []string{"example/pay-ledger"}})
	out.web = create(wire.CreateNode{Name: "web <b>", Level: rule.LevelTeam, ParentID: out.acme})
	attach(out.acme, wire.AttachRule{RuleID: "CON-001"})
	attach(out.payments, wire.AttachRule{RuleID: "PAY-001", OverrideID: "CON-001", AllowWeakening: true, Reason: "The treasury signs them."})
	attach(out.web, wire.AttachRule{RuleID: "WEB-001"})
	return out
}

func TestTheFederationIsReadInPages(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	v := n.signedIn(n.key("vera", "viewer", "default"))
	if a := v.get("/p/default/federation"); !strings.Contains(a.body, "This project has no nodes") || strings.Contains(a.body, "New node") {
		t.Errorf("an empty federation: %d", a.status)
	}
	ids := n.federate("default")
	shows := func(path string, want ...string) string {
		t.Helper()
		a := v.get("/p/default/federation" + path)
		if a.status != http.StatusOK {
			t.Errorf("%s: %d", path, a.status)
		}
		for _, w := range want {
			if !strings.Contains(a.body, w) {
				t.Errorf("%s lacks %q", path, w)
			}
		}
		return a.body
	}
	// The only root is open; the branch below loads on demand, and is a link without a script.
	body := shows("", ">payments</bdi>", "web &lt;b&gt;", "1 override", "1 weaker", `hx-get="/p/default/federation/`+ids.payments+`/branch"`, "?view=below")
	if strings.Contains(body, "ledger</bdi>") {
		t.Error("a closed branch is on the page")
	}
	for _, forbidden := range []string{"Attach a rule", "New node", "Detach", ">Override<"} {
		if strings.Contains(shows("/"+ids.payments), forbidden) {
			t.Errorf("a viewer is offered %q", forbidden)
		}
	}
	a := v.do(http.MethodGet, "/p/default/federation/"+ids.payments+"/branch", nil, http.Header{"Hx-Request": {"true"}})
	if a.status != http.StatusOK || !strings.Contains(a.body, "ledger</bdi>") || strings.Contains(a.body, "<html") {
		t.Errorf("a branch for the script: %d %s", a.status, a.body)
	}
	if a = v.get("/p/default/federation/" + ids.payments + "/branch"); a.status != http.StatusSeeOther || !strings.HasSuffix(a.header.Get("Location"), "?view=below") {
		t.Errorf("a branch without one: %d %v", a.status, a.header)
	}
	shows("/"+ids.payments+"?view=below", "ledger</bdi>")
	shows("?q=PAY", "example/payments</bdi>", "Whole tree")
	shows("?q=nothing", "No node has these words")
	shows("/"+ids.payments, "Instead of ", "CON-001", "Weaker:", "severity HIGH instead of CRITICAL", "The treasury signs them. (local)", "of no node", "FIN-001")
	shows("/"+ids.ledger+"?origin=inherited", "PAY-001", "example/payments</bdi>")
	shows("/"+ids.ledger+"?weakened=true", "PAY-001")
	shows("/"+ids.ledger+"?origin=added", "No rule here matches")
	shows("/"+ids.ledger+"?severity=song", "severity")
	shows("/"+ids.payments+"?view=diff", "allowed by", "<del><bdi>CRITICAL</bdi></del>", "Every rule of the parent holds here")
	shows("/resolve", "Where a repository belongs")
	shows("/resolve?repository=git@github.com:example/pay-ledger.git", "github.com/example/pay-ledger", "it names the repository in full", "example/pay-*", "no, another says more")
	shows("/resolve?repository=exampel/pay-ledger", "belongs to no node", "Nearest globs", "example/pay-ledger")
	if a := v.get("/p/default/federation/resolve?repository="); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, `class="bad-text"><bdi>repository `) {
		t.Errorf("no repository: %d", a.status)
	}
	if a := v.get("/p/default/federation/0199c2b4-0000-7000-8000-00000000000a"); a.status != http.StatusNotFound {
		t.Errorf("no such node: %d", a.status)
	}
	for _, path := range []string{"/new", "/" + ids.web + "/edit", "/" + ids.web + "/attach", "/" + ids.web + "/delete"} {
		if a := v.get("/p/default/federation" + path); a.status != http.StatusForbidden {
			t.Errorf("a viewer at %s: %d", path, a.status)
		}
		if a := v.post("/p/default/federation"+path, "do", "apply"); a.status != http.StatusForbidden {
			t.Errorf("a viewer's form to %s: %d", path, a.status)
		}
	}
}

func TestBranchesOfThousandsAreReadPageByPage(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	file := &wire.RuleFile{Federation: []wire.FileNode{{Name: "big", Level: rule.LevelOrganization}}}
	for i := range 120 {
		file.Federation[0].Children = append(file.Federation[0].Children, wire.FileNode{Name: fmt.Sprintf("team-%03d", i), Level: rule.LevelTeam})
	}
	if _, err := client.Call(t.Context(), n.api, op.ImportRules, file); err != nil {
		t.Fatal(err)
	}
	v := n.visitor()
	body := v.get("/p/default/federation").body
	if strings.Count(body, "team-") == 0 || !strings.Contains(body, "team-049") || strings.Contains(body, "team-050") || !strings.Contains(body, "50 more of 70") {
		t.Error("the first page is not the first 50")
	}
	next := regexp.MustCompile(`hx-get="([^"]*page=2)"`).FindStringSubmatch(body)
	if next == nil {
		t.Fatal("no next page for the script")
	}
	body = v.do(http.MethodGet, next[1], nil, http.Header{"Hx-Request": {"true"}}).body
	if !strings.Contains(body, "team-050") || strings.Contains(body, "team-100") || !strings.Contains(body, "20 more of 20") {
		t.Error("the second page is not the next 50")
	}
}

// seenOf is what the form of a page has previewed.
func seenOf(t *testing.T, body string) string {
	t.Helper()
	m := regexp.MustCompile(`name="seen" value="([0-9a-f]*)"`).FindStringSubmatch(body)
	if m == nil {
		t.Fatalf("no form in %s", body)
	}
	return m[1]
}

func TestChangesOfNodesArePreviewed(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	ids := n.federate("default")
	v := n.signedIn(n.key("rosa", "reviewer", "default"))
	at := func(id string, more ...string) string {
		return "/p/default/federation/" + strings.Join(append([]string{id}, more...), "/")
	}
	// send previews a form, expects the preview to show something, and makes the change with further fields.
	send := func(path string, form, shows, more []string) answer {
		t.Helper()
		a := v.post(path, append([]string{"do", "preview"}, form...)...)
		if a.status != http.StatusOK {
			t.Fatalf("the preview of %s: %d %s", path, a.status, a.body)
		}
		for _, want := range shows {
			if !strings.Contains(a.body, want) {
				t.Errorf("the preview of %s lacks %q", path, want)
			}
		}
		return v.post(path, append(append([]string{"do", "apply", "seen", seenOf(t, a.body)}, form...), more...)...)
	}
	made := func(a answer, says string) string {
		t.Helper()
		if a.status != http.StatusSeeOther {
			t.Fatalf("%s: %d %s", says, a.status, a.body)
		}
		to := a.header.Get("Location")
		if page := v.get(to); !strings.Contains(page.body, says) {
			t.Errorf("the next page does not say %q", says)
		}
		return to
	}

	// A node is made. Nothing is, before the preview was seen.
	form := []string{"name", "lab", "level", "team", "parent", "example", "repositories", "example/lab-*\r\nexample/try-*"}
	if a := v.post(at("new"), append([]string{"do", "apply"}, form...)...); a.status != http.StatusOK || !strings.Contains(a.body, "not the one that was previewed") {
		t.Errorf("without a preview: %d", a.status)
	}
	lab := strings.TrimPrefix(made(send(at("new"), form, []string{"Starts to hold", "CON-001", "example/lab"}, nil), "lab is a node now."), at(""))
	got, err := client.Get(t.Context(), n.api, op.GetNode.At(lab))
	if err != nil || got.Path != "example/lab" || len(got.Repositories) != 2 {
		t.Errorf("made %+v, %v", got, err)
	}
	for name, bad := range map[string][]string{
		"id=\"i-parent-wrong\"":       {"name", "x", "level", "team", "parent", "nowhere"},
		"id=\"i-name-wrong\"":         {"name", " ", "level", "team", "parent", "example"},
		"id=\"i-repositories-wrong\"": {"name", "x", "level", "team", "parent", "example", "repositories", "a/{b"},
	} {
		if a := v.post(at("new"), append([]string{"do", "preview"}, bad...)...); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, name) {
			t.Errorf("%s: %d, not at its field", name, a.status)
		}
	}

	// It moves, and what it inherits changes with it.
	body := v.get(at(lab, "edit")).body
	if !strings.Contains(body, `value="lab"`) || !strings.Contains(body, "example/lab-*\nexample/try-*") {
		t.Error("the form does not have what the node is")
	}
	form = []string{"name", "lab", "level", "project", "parent", "example/payments", "repositories", "example/lab-*\nexample/try-*"}
	made(send(at(lab, "edit"), form, []string{"Stops to hold", "CON-001", "Starts to hold", "PAY-001", "instead of"}, nil), "lab is changed.")

	// An override that loosens needs the permission for its preview, too.
	form = []string{"rule", "PAY-001", "overrides", "CON-001"}
	if a := v.post(at(ids.web, "attach"), append([]string{"do", "preview"}, form...)...); a.status != http.StatusConflict || !strings.Contains(a.body, "loosens a CRITICAL rule") {
		t.Errorf("a weaker override: %d %s", a.status, a.body)
	}
	if a := v.post(at(ids.web, "attach"), "do", "preview"); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "i-rule-wrong") {
		t.Errorf("no rule: %d", a.status)
	}
	made(send(at(ids.web, "attach"), []string{"rule", "SEC-001"}, []string{"Stops to hold", "SEC-001", "example, example/payments"}, []string{"allow_weakening", "true", "reason", "Only the web."}), "SEC-001 is attached")

	// A rule is detached, a node deleted: there the preview comes first.
	page := v.get(at(ids.web, "detach") + "?rule=WEB-001")
	if page.status != http.StatusOK || !strings.Contains(page.body, "Stops to hold") || !strings.Contains(page.body, "Detach the rule") {
		t.Errorf("the form that detaches: %d", page.status)
	}
	made(v.post(at(ids.web, "detach"), "do", "apply", "rule", n.ruleID("WEB-001"), "seen", seenOf(t, v.post(at(ids.web, "detach"), "do", "preview", "rule", n.ruleID("WEB-001")).body)), "WEB-001 is detached")
	if page = v.get(at(ids.payments, "delete")); !strings.Contains(page.body, "move or delete them first") {
		t.Errorf("deleting a node with others below: %d %s", page.status, page.body)
	}
	page = v.get(at(lab, "delete"))
	made(v.post(at(lab, "delete"), "do", "apply", "seen", seenOf(t, page.body)), "lab is deleted.")

	// Only its own rules hold at a node: with a reason, which its page shows.
	form = []string{"name", "ledger", "level", "project", "parent", "example/payments", "repositories", "example/pay-ledger", "own_rules_only", "true"}
	a := send(at(ids.ledger, "edit"), form, nil, nil)
	if a.status != http.StatusConflict || !strings.Contains(a.body, "allow_weakening") || !strings.Contains(a.body, "Stops to hold") {
		t.Errorf("CRITICAL rules end without a reason: %d %s", a.status, a.body)
	}
	if a = send(at(ids.ledger, "edit"), form, nil, []string{"allow_weakening", "true"}); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "i-reason-wrong") {
		t.Errorf("permission without a reason: %d", a.status)
	}
	made(send(at(ids.ledger, "edit"), form, []string{"FIN-001"}, []string{"allow_weakening", "true", "reason", "Synthetic keys."}), "ledger is changed.")
	if page = v.get(at(ids.ledger)); !strings.Contains(page.body, "own rules only") || !strings.Contains(page.body, "Synthetic keys.") || !strings.Contains(page.body, "rosa") {
		t.Error("the page does not say why only its own rules hold")
	}
	if page = v.get(at(ids.ledger) + "?view=diff"); !strings.Contains(page.body, "FIN-001") || !strings.Contains(page.body, "the node has only its own rules") {
		t.Error("the difference lacks what is silenced")
	}
}

// The tree opens branch by branch, with the keyboard alone.
func TestTheTreeInABrowser(t *testing.T) {
	n := newNode(t, nil)
	n.federate("default")
	tab := browsertest.Open(t, n.url)
	tab.Open("/p/default/rules")
	if status := tab.PressTo("gf"); status != http.StatusOK || tab.Text("h1") != "Federation" {
		t.Fatalf("g f leads to %q, %d", tab.Text("h1"), status)
	}
	tab.Press("jj") // the organization, then payments
	if got := browsertest.Eval[string](tab, "document.activeElement.textContent.trim()"); got != "payments" {
		t.Errorf("j leads to %q", got)
	}
	tab.Press("o")
	tab.Wait("[...document.querySelectorAll('.tree a')].some(a => a.textContent.trim() == 'ledger')")
	tab.Press("j")
	if got := browsertest.Eval[string](tab, "document.activeElement.textContent.trim()"); got != "ledger" {
		t.Errorf("j in the open branch leads to %q", got)
	}
	for _, one := range tab.Axe() {
		t.Error(one)
	}
	tab.Press("ko") // closes the branch again, and passes over what it hides
	tab.Press("j")
	if got := browsertest.Eval[string](tab, "document.activeElement.textContent.trim()"); got != "web <b>" {
		t.Errorf("j after a closed branch leads to %q", got)
	}
	if status := tab.PressTo("o"); status != http.StatusOK || !strings.HasPrefix(tab.Text("h1"), "web <b>") {
		t.Errorf("o on a node without a branch leads to %q, %d", tab.Text("h1"), status)
	}
	for _, one := range tab.Problems() {
		t.Error(one)
	}
}
