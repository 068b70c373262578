package console_test

import (
	"net/http"
	"strings"
	"testing"

	"tenet/internal/client"
	"tenet/internal/console/browsertest"
	"tenet/internal/wire/op"
)

func TestARuleGoesItsWay(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	reviewer, viewer := n.signedIn(n.key("rosa", "reviewer", "default")), n.signedIn(n.key("vera", "viewer", "default"))
	path := "/p/default/rules/DOC-001"
	page := viewer.get(path)
	if page.status != http.StatusOK || strings.Contains(page.body, "Submit for review") {
		t.Errorf("what a viewer is offered: %d", page.status)
	}
	if a := viewer.post(path+"/transitions", "to", "REVIEW"); a.status != http.StatusForbidden {
		t.Errorf("a viewer's transition: %d", a.status)
	}
	if page = reviewer.get(path); !strings.Contains(page.body, "Submit for review") || strings.Contains(page.body, ">Approve<") {
		t.Error("a draft is not offered for review")
	}
	a := reviewer.post(path+"/transitions", "to", "REVIEW", "version", "1", "note", "Ready.")
	if a.status != http.StatusSeeOther {
		t.Fatalf("submitting: %d %s", a.status, a.body)
	}
	if page = reviewer.get(a.header.Get("Location")); !strings.Contains(page.body, "DOC-001 is REVIEW now.") || !strings.Contains(page.body, ">Approve<") {
		t.Error("a rule in review is not offered for approval")
	}
	// The page that somebody else has read is of an old version.
	if a = reviewer.post(path+"/transitions", "to", "APPROVED", "version", "1"); a.status != http.StatusPreconditionFailed || !strings.Contains(a.body, "Something else came first") {
		t.Errorf("approving an old version: %d", a.status)
	}
	if a = reviewer.post(path+"/transitions", "to", "EFFECTIVE"); a.status < 400 || a.status >= 500 {
		t.Errorf("an impossible transition: %d", a.status)
	}
	if a = viewer.get("/p/default/rules/NO-SUCH"); a.status != http.StatusNotFound {
		t.Errorf("no such rule: %d", a.status)
	}
}

func TestVersionsShowTheChangedWords(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	_, err := client.Call(t.Context(), n.api, op.ReviseRule.At("DOC-001"), map[string]any{
		"statement": "Every public service should have a page.", "tags": []string{"docs"}, "change_note": "Only <public> ones.",
	})
	if err != nil {
		t.Fatal(err)
	}
	a := n.visitor().get("/p/default/rules/DOC-001/versions")
	for _, want := range []string{"<bdi>Every </bdi><ins><bdi>public </bdi></ins><bdi>service", "<ins><bdi>docs</bdi></ins>", "Only &lt;public&gt; ones.", "The first version."} {
		if !strings.Contains(a.body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(a.body, "modality") {
		t.Error("the page shows fields that did not change")
	}
}

func TestMovingManyRules(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	v := n.visitor()
	list, err := client.Get(t.Context(), n.api, op.ListRules)
	if err != nil {
		t.Fatal(err)
	}
	form := []string{"to", "RETIRED", "note", "Spring cleaning."}
	for _, r := range list.Items[1:] {
		form = append(form, "id", r.ID)
	}
	form = append(form, "id", "no-such-rule")
	if a := v.post("/p/default/rules/transitions", form...); a.status != http.StatusSeeOther {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := v.get("/p/default/rules?status=RETIRED"); !strings.Contains(a.body, "Moved to RETIRED: 3 of 4 rules. The others:") || !strings.Contains(a.body, "1 to 3 of 3") {
		t.Errorf("the list afterwards: %s", a.body)
	}
	if a := v.post("/p/default/rules/transitions", "to", "RETIRED"); a.status != http.StatusUnprocessableEntity {
		t.Errorf("no rule selected: %d", a.status)
	}
	if a := v.post("/p/default/rules/transitions", "to", "NOWHERE", "id", list.Items[0].ID); a.status != http.StatusSeeOther {
		t.Errorf("an unknown status: %d", a.status)
	}
	if a := v.get("/p/default/rules"); !strings.Contains(a.body, "Moved to NOWHERE: 0 of 1 rule.") {
		t.Error("the page does not say that nothing was moved")
	}
}

func TestTaggingManyRules(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	v := n.visitor()
	one, other := n.ruleID("SEC-001"), n.ruleID("FIN-001")
	if a := v.post("/p/default/rules/tags", "do", "add", "tag", "audit 2026", "note", "The audit.", "id", one, "id", other); a.status != http.StatusSeeOther {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := v.get("/p/default/rules?tags=audit+2026"); !strings.Contains(a.body, "Now with the tag audit 2026: 2 of 2 rules.") || !strings.Contains(a.body, "1 to 2 of 2") {
		t.Error("the rules do not have the tag")
	}
	v.post("/p/default/rules/tags", "do", "add", "tag", "Audit 2026", "id", one)
	if r, err := client.Get(t.Context(), n.api, op.GetRule.At(one)); err != nil || len(r.Tags) != 3 || r.Version != 2 {
		t.Errorf("the same tag again: %v version %d, %v", r.Tags, r.Version, err)
	}
	v.post("/p/default/rules/tags", "do", "remove", "tag", "audit 2026", "id", one)
	if a := v.get("/p/default/rules?tags=audit+2026"); !strings.Contains(a.body, "1 to 1 of 1") {
		t.Error("the tag is not taken away")
	}
	if a := v.post("/p/default/rules/tags", "do", "add", "tag", " ", "id", one); a.status != http.StatusUnprocessableEntity {
		t.Errorf("no tag: %d", a.status)
	}
	if err := n.api.Do(t.Context(), http.MethodPatch, "/api/v1/projects/default", map[string]any{"two_person_approval": true}, nil); err != nil {
		t.Fatal(err)
	}
	v.post("/p/default/rules/tags", "do", "add", "tag", "later", "id", one)
	if a := v.get("/p/default/rules"); !strings.Contains(a.body, "Now with the tag later: 0 of 1 rule. The others: the change of SEC-001 waits for a second person") {
		t.Error("the page does not say that the change waits")
	}
	if a := n.signedIn(n.key("vera", "viewer", "default")).post("/p/default/rules/tags", "do", "add", "tag", "x", "id", one); a.status != http.StatusForbidden {
		t.Errorf("a viewer's tag: %d", a.status)
	}
}

func TestTheListIsSorted(t *testing.T) {
	t.Parallel()
	v := newNode(t, nil).visitor()
	a := v.get("/p/default/rules?sort=-severity&has_check=true")
	if critical, high := strings.Index(a.body, ">FIN-001<"), strings.Index(a.body, ">SEC-001<"); critical < 0 || high < critical {
		t.Errorf("the most severe rule does not come first: %d, %d", critical, high)
	}
	if !strings.Contains(a.body, `aria-sort="descending"`) || !strings.Contains(a.body, `href="/p/default/rules?has_check=true&amp;sort=severity"`) {
		t.Error("the head of the column does not lead to the other order")
	}
	if a = v.get("/p/default/rules?sort=luck"); a.status != http.StatusOK || !strings.Contains(a.body, "is &#34;luck&#34;") {
		t.Errorf("an unknown order: %d", a.status)
	}
}

func TestExport(t *testing.T) {
	t.Parallel()
	a := newNode(t, nil).visitor().get("/p/default/rules/export")
	if a.status != http.StatusOK || !strings.Contains(a.body, "SEC-001") || a.header.Get("Content-Disposition") != "attachment; filename=default-rules.yaml" {
		t.Errorf("%d %v", a.status, a.header)
	}
}

// TestEnterMovesNothing holds that Enter in a field of the bulk form does not press its first button.
func TestEnterMovesNothing(t *testing.T) {
	n := newNode(t, nil)
	tab := browsertest.Open(t, n.url)
	tab.Open("/p/default/rules")
	tab.Click("[data-item] input")
	tab.Type("#tag", "audit")
	tab.Press("\r")
	if got := browsertest.Eval[string](tab, "new Promise(done => setTimeout(() => done(location.pathname + document.querySelectorAll('.notice').length), 200))"); got != "/p/default/rules0" {
		t.Errorf("after Enter: %s", got)
	}
	tab.Follow("button[value=add]")
	if got := tab.Text(".notice[role=status]"); got != "Now with the tag audit: 1 of 1 rule." {
		t.Errorf("after the button: %q", got)
	}
}

// TestApprovingByKeyboard submits and approves a rule without a mouse.
func TestApprovingByKeyboard(t *testing.T) {
	n := newNode(t, nil)
	tab := browsertest.Open(t, n.url)
	tab.Open("/p/default/rules?status=REVIEW")
	tab.Press("j")
	tab.PressTo("\r")
	if got := tab.Text("h1"); !strings.Contains(got, "OPS-001") {
		t.Fatalf("Enter opens %q", got)
	}
	tab.PressTo("a")
	if got := tab.Text(".notice[role=status]"); got != "OPS-001 is APPROVED now." {
		t.Errorf("a leads to %q", got)
	}
	if p := tab.Problems(); len(p) > 0 {
		t.Error(p)
	}
}

func TestARevisionWaitsForASecondPerson(t *testing.T) {
	n := newNode(t, nil)
	if err := n.api.Do(t.Context(), http.MethodPatch, "/api/v1/projects/default", map[string]any{"two_person_approval": true}, nil); err != nil {
		t.Fatal(err)
	}
	first := n.key("first", "admin", "*")
	ann, err := client.New(n.url, first, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = ann.Do(t.Context(), http.MethodPatch, "/api/v1/rules/SEC-001", map[string]any{"statement": "Code must not call eval or exec.", "change_note": "exec too"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	author, viewer := n.signedIn(first), n.signedIn(n.key("vera", "viewer", "default"))
	page := author.get("/p/default/rules/SEC-001")
	if !strings.Contains(page.body, ">Withdraw<") || strings.Contains(page.body, "Approve the revision") {
		t.Error("the author is not offered to withdraw alone")
	}
	if page = viewer.get("/p/default/rules/SEC-001"); !strings.Contains(page.body, "waits for approval") || strings.Contains(page.body, "/pending/") {
		t.Error("a viewer does not see the revision, or is offered to decide")
	}
	id := n.ruleID("SEC-001")
	action := "/p/default/rules/" + id + "/pending/1"
	if a := viewer.post(action, "decision", "approve"); a.status != http.StatusForbidden {
		t.Errorf("a viewer's approval: %d", a.status)
	}
	if a := author.post(action, "decision", "approve"); a.status != http.StatusConflict {
		t.Errorf("the author's approval: %d", a.status)
	}
	reviewer := n.key("rosa", "reviewer", "default")
	tab := browsertest.Open(t, n.url)
	tab.Open("/p/default/rules/SEC-001")
	tab.Press(reviewer)
	tab.PressTo("\r")
	if got := tab.Text("#revision-1 ins"); strings.TrimSpace(got) != "or exec" {
		t.Errorf("the added words are %q", got)
	}
	for _, one := range append(tab.Axe(), tab.Overflows()...) {
		t.Error(one)
	}
	tab.Follow("#revision-1 button[value=approve]")
	if got := tab.Text(".notice[role=status]"); !strings.HasPrefix(got, "The revision is approved.") {
		t.Errorf("the page says %q", got)
	}
	if got := tab.Text(".statement"); got != "Code must not call eval or exec." {
		t.Errorf("the rule says %q", got)
	}
	if p := tab.Problems(); len(p) > 0 {
		t.Error(p)
	}
}
