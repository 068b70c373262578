package console_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"tenet/internal/client"
	"tenet/internal/console/browsertest"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// inReview makes n rules that wait for a person.
func (n *node) inReview(count int) {
	n.t.Helper()
	for i := range count {
		_, err := client.Call(n.t.Context(), n.api, op.CreateRule, wire.CreateRule{RuleInput: wire.RuleInput{Statement: fmt.Sprintf("Rule number %d must be kept.", i), Severity: rule.Critical, Status: rule.Review}})
		if err != nil {
			n.t.Fatal(err)
		}
	}
}

var (
	itemValue   = regexp.MustCompile(`name="item" value="([^"]+)"`)
	buttonValue = regexp.MustCompile(`name="one" value="(approve [^"]+)"`)
)

// TestQueueWithoutScripts decides by the forms alone.
func TestQueueWithoutScripts(t *testing.T) {
	n := newNode(t, nil)
	n.inReview(3)
	v := n.visitor()
	page := v.get("/queue").body
	items := itemValue.FindAllStringSubmatch(page, -1)
	if len(items) != 4 { // one is of the rules that the node starts with
		t.Fatalf("%d items in %s", len(items), page)
	}
	after := func(pairs ...string) string {
		t.Helper()
		a := v.post("/queue", append(pairs, "next", "/queue?order=age")...)
		if to := a.header.Get("Location"); a.status != http.StatusSeeOther || !strings.HasPrefix(to, "/queue?order=age") {
			t.Fatalf("%v: status %d to %q: %s", pairs, a.status, to, a.body)
		}
		return v.get("/queue?order=age").body
	}
	shows := func(page string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(page, w) {
				t.Errorf("the page does not show %q: %s", w, page)
			}
		}
	}
	shows(after("do", "approve"), "No item is selected")
	shows(after("do", "reject", "item", items[0][1]), "the reason is missing", "1 to 4 of 4")
	shows(after("do", "reject", "reason", "Two in <b>one</b>", "item", items[0][1], "item", items[1][1]),
		"2 done.", "1 to 2 of 2", `value="Two in &lt;b&gt;one&lt;/b&gt;"`, "Take back", "2 decisions")
	if a := v.post("/queue/undo", "next", "/queue"); a.status != http.StatusSeeOther {
		t.Fatalf("take back: %d %s", a.status, a.body)
	}
	shows(v.get("/queue").body, "2 done.", "1 to 4 of 4")
	shows(after("do", "take", "item", items[2][1]), "1 done.", "local")
	shows(after("do", "assign", "assignee", "ann", "item", items[2][1]), "1 done.", "ann")
	shows(after("do", "aside", "until", time.Now().AddDate(0, 0, 3).Format(time.DateOnly), "item", items[2][1]), "1 done.", "1 to 3 of 3")
	shows(v.get("/queue?snoozed=true&assignee=me").body, "Nothing that waits matches")
	shows(v.get("/queue?snoozed=true").body, "put aside until", "1 to 4 of 4")
	shows(after("do", "back", "item", items[2][1]), "1 to 4 of 4")
	one := buttonValue.FindStringSubmatch(v.get("/queue").body)
	if a := v.post("/queue", "one", one[1], "next", "/queue"); a.header.Get("Location") != "/queue#row-0" {
		t.Errorf("a button of a row leads to %q", a.header.Get("Location"))
	}
	shows(v.get("/queue").body, "1 to 3 of 3")

	// What a form cannot have.
	for _, item := range []string{"rule", "song/default/x", "rule/default/x", "rule/elsewhere/01a204f7-e50c-75aa-8d3c-faed7a3bc691", "///"} {
		a := v.post("/queue", "do", "approve", "item", item, "next", "//evil.example/")
		if to := a.header.Get("Location"); a.status == http.StatusSeeOther && to != "/" {
			t.Errorf("%q leads to %q", item, to)
		}
		if body := v.get("/queue").body; !strings.Contains(body, "1 to 3 of 3") {
			t.Errorf("%q has changed something: %s", item, body)
		}
	}
	if a := v.post("/queue", "do", "fly", "item", items[3][1]); a.status != http.StatusUnprocessableEntity {
		t.Errorf("an unknown action: %d", a.status)
	}
}

// TestQueueRoles offers nothing that the API would refuse, and forged forms are refused.
func TestQueueRoles(t *testing.T) {
	n := newNode(t, nil)
	n.inReview(1)
	if _, err := client.Call(t.Context(), n.api, op.CreateProject, wire.CreateProject{ID: "hr"}); err != nil {
		t.Fatal(err)
	}
	viewer, other := n.signedIn(n.key("vi", "viewer", "*")), n.signedIn(n.key("hr", "reviewer", "hr"))
	page := viewer.get("/queue").body
	if !strings.Contains(page, "Rule number 0") || strings.Contains(page, `action="/queue"`) && strings.Contains(page, "<button name=") {
		t.Errorf("a viewer is offered a decision: %s", page)
	}
	reviewer := n.signedIn(n.key("re", "reviewer", "*"))
	item := itemValue.FindStringSubmatch(reviewer.get("/queue").body)[1]
	if a := viewer.post("/queue", "do", "approve", "item", item); a.status != http.StatusForbidden {
		t.Errorf("a viewer's forged form: %d", a.status)
	}
	if body := other.get("/queue").body; strings.Contains(body, "Rule number 0") || !strings.Contains(body, "Nothing waits for a person.") {
		t.Errorf("the queue of another project: %s", body)
	}
	if body := other.get("/queue?project=default").body; strings.Contains(body, "Rule number 0") {
		t.Errorf("another project, asked for: %s", body)
	}
	other.post("/queue", "do", "approve", "item", item, "next", "/queue")
	if body := reviewer.get("/queue").body; !strings.Contains(body, "Rule number 0") {
		t.Error("a person of another project has decided")
	}
	a := reviewer.do(http.MethodPost, "/queue", map[string][]string{"do": {"approve"}, "item": {item}}, http.Header{"Origin": {"https://evil.example"}, "Sec-Fetch-Site": {"cross-site"}})
	if a.status != http.StatusForbidden {
		t.Errorf("a form of another site: %d", a.status)
	}
}

// TestRevisionsInTheQueue leads to the rule, lets the author withdraw and others approve.
func TestRevisionsInTheQueue(t *testing.T) {
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
	id := n.ruleID("SEC-001")
	const path = "/queue?kind=revision"
	if body := n.signedIn(first).get(path).body; !strings.Contains(body, `aria-label="Withdraw Code must`) || strings.Contains(body, `aria-label="Approve `) {
		t.Errorf("what the author is offered: %s", body)
	}
	other := n.signedIn(n.key("re", "reviewer", "*"))
	body := other.get(path).body
	for _, want := range []string{`href="/p/default/rules/` + id + `#revision-1"`, "changes statement", "proposed by key:first", `aria-label="Reject Code must`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not show %q: %s", want, body)
		}
	}
	a := other.post("/queue", "do", "approve", "item", itemValue.FindStringSubmatch(body)[1], "next", path)
	if body = other.get(path).body; a.status != http.StatusSeeOther || !strings.Contains(body, "1 done.") || strings.Contains(body, "Take back") || strings.Contains(body, "data-item") {
		t.Errorf("after the approval: %d %s", a.status, body)
	}
}

// TestHostileQueue shows what others have written as text.
func TestHostileQueue(t *testing.T) {
	n := newNode(t, nil)
	hostile := "<script>alert(1)</script> \u202eevil\u2066 " + strings.Repeat("x", 3000)
	if _, err := client.Call(t.Context(), n.api, op.CreateRule, wire.CreateRule{RuleInput: wire.RuleInput{Statement: hostile, Status: rule.Review}}); err != nil {
		t.Fatal(err)
	}
	page := n.visitor().get("/queue").body
	if strings.Contains(page, "<script>alert") || strings.ContainsAny(page, "\u202e\u2066") || !strings.Contains(page, "&lt;script&gt;alert(1)") {
		t.Errorf("the page has %s", page)
	}
}

// TestHundredItemsByKeyboard decides a hundred items without a mouse: most in bulk, and some one by one.
func TestHundredItemsByKeyboard(t *testing.T) {
	n := newNode(t, nil)
	n.inReview(99) // and one of the rules that the node starts with
	tab := browsertest.Open(t, n.url)
	tab.Open("/queue")
	waits := func(want int) {
		t.Helper()
		tab.Wait("document.querySelector('.pages span')?.textContent.endsWith(' of " + fmt.Sprint(want) + "')")
	}
	waits(100)
	tab.Press("j")
	for i := range 5 { // the current row is decided, and the next takes its place
		tab.PressTo("a")
		waits(99 - i)
	}
	tab.Press("e")
	tab.Press("not now\r") // Enter decides nothing
	waits(95)
	tab.Press("\t\t")
	if got := browsertest.Eval[string](tab, "document.activeElement.textContent"); got != "Reject selected" {
		t.Fatalf("the focus is on %q", got)
	}
	tab.PressTo("\r") // nothing is selected
	tab.Wait("document.querySelector('[role=status]').textContent.includes('No item is selected')")
	for left := 95; left > 0; left -= 50 {
		tab.Press("X")
		tab.Press("e")
		tab.Press("not now\t\t")
		tab.PressTo("\r")
		if left > 50 {
			waits(left - 50)
		}
	}
	tab.Wait("document.querySelector('.empty')?.textContent.includes('Nothing waits')")
	tab.PressTo("u")
	waits(45)
	tab.Press("jjx")
	if got := tab.Count("[data-item] input:checked"); got != 1 {
		t.Errorf("%d rows are selected, want 1", got)
	}
	tab.Press("?")
	tab.Wait("document.getElementById('keys').open")
	for _, p := range tab.Problems() {
		t.Error(p)
	}
}
