package console_test

import (
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

// clash makes pairs of rules that contradict each other, in a project of their own, and returns their conflicts once the server has found them,
// by the slug of one rule.
func (n *node) clash(project string) map[string]wire.Conflict {
	n.t.Helper()
	if _, err := client.Call(n.t.Context(), n.api, op.CreateProject, wire.CreateProject{ID: project}); err != nil {
		n.t.Fatal(err)
	}
	api := n.api.InProject(project)
	for _, r := range []wire.RuleInput{
		{Slug: new("PAY-1"), Statement: "Invoices must be paid within 14 days.", Severity: rule.High, Scope: []string{"finance"}},
		{Slug: new("PAY-2"), Statement: "Invoices must be paid in at most 30 days.", Severity: rule.Low},
		{Slug: new("LOG-1"), Statement: "Secrets must be logged."},
		{Slug: new("LOG-2"), Statement: "Secrets must not be logged (<script>alert(1)</script>\u202e)."},
		{Slug: new("TAB-1"), Statement: "Indent Python code with tabs."},
		{Slug: new("TAB-2"), Statement: "Indent Python code with spaces."},
	} {
		r.Status = rule.Effective
		if _, err := client.Call(n.t.Context(), api, op.CreateRule, wire.CreateRule{RuleInput: r}); err != nil {
			n.t.Fatal(err)
		}
	}
	found := map[string]wire.Conflict{}
	for end := time.Now().Add(time.Minute); len(found) < 6; time.Sleep(50 * time.Millisecond) {
		list, err := client.Get(n.t.Context(), api, op.ListConflicts)
		if err != nil {
			n.t.Fatal(err)
		}
		for _, c := range list.Items {
			found[c.Rule.Slug], found[c.Other.Slug] = c, c
		}
		if time.Now().After(end) {
			n.t.Fatalf("found %d conflicts", len(found)/2)
		}
	}
	return found
}

// conflictScreens are rows of the table of screens.
func conflictScreens(n *node) []screen {
	found := n.clash("clash")
	pay := "/p/clash/conflicts/" + found["PAY-1"].ID
	heading := found["PAY-1"].Rule.Slug + " and " + found["PAY-1"].Other.Slug + "\nsuggested"
	return []screen{
		{"conflicts", "/p/clash/conflicts", "Conflicts", []string{"within 14 days", "at most 30 days", "set different limits", "Confirm selected", "Mend", "1 to 3 of 3", "U+202E"}},
		{"conflicts, filtered", "/p/clash/conflicts?state=confirmed&q=x", "Conflicts", []string{"No conflict matches these filters."}},
		{"conflicts, a wrong filter", "/p/clash/conflicts?found_by=luck", "Conflicts", []string{"found_by"}},
		{"conflicts of no rule", "/p/clash/conflicts?rule_id=NONE", "Conflicts", []string{"There is no rule NONE"}},
		{"a project without conflicts", "/p/default/conflicts", "Conflicts", []string{"No conflict waits for a decision.", "Compare all rules again"}},
		{"a conflict", pay, heading, []string{"within 14 days", "at most 30 days", "80 % sure", "Let one override the other", "weaker than the other", "Add an exception", "Change PAY-1"}},
		{"a conflict, one rule changed in place", pay + "?change=" + found["PAY-1"].Rule.ID, heading, []string{"Statement", "Try it", "Store the change", "within 14 days"}},
	}
}

var clashMark = regexp.MustCompile(`<mark class="clash">([^<]*)</mark>`)

// TestConflictsWithoutScripts decides and mends by the forms alone.
func TestConflictsWithoutScripts(t *testing.T) {
	n := newNode(t, nil)
	found := n.clash("clash")
	v := n.visitor()
	const list = "/p/clash/conflicts"
	shows := func(body string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(body, w) {
				t.Errorf("the page does not show %q: %s", w, body)
			}
		}
	}
	page := v.get(list).body
	marks := clashMark.FindAllStringSubmatch(page, -1)
	if len(marks) != 6 || strings.Contains(page, "<script>alert") {
		t.Errorf("marks %v in %s", marks, page)
	}

	// Reject needs a reason; it can be taken back.
	item := "conflict/clash/" + found["LOG-1"].ID
	v.post("/queue", "one", "reject 0 "+item, "next", list)
	shows(v.get(list).body, "the reason is missing", "1 to 3 of 3")
	v.post("/queue", "do", "reject", "item", item, "reason", "the one is about tests", "next", list)
	shows(v.get(list).body, "1 done.", "1 to 2 of 2", "Take back")
	shows(v.get(list+"?state=rejected").body, "the one is about tests", "Was rejected by")
	v.post("/queue/undo", "next", list)
	shows(v.get(list).body, "1 to 3 of 3")
	v.post("/queue", "do", "approve", "item", item, "next", list)
	log := list + "/" + found["LOG-1"].ID
	shows(v.get(log).body, "confirmed", "Add the override")

	// An edit is tried, found wanting, and made.
	pay := list + "/" + found["PAY-1"].ID
	shows(v.get("/queue").body, `href="`+pay+`"`)
	two := n.in("clash", "PAY-2")
	form := func(statement, do string) []string {
		return []string{
			"way", "change", "rule", two.ID, "version", "1", "statement", statement, "modality", "MUST", "scope", "", "exceptions", "", "reason", "as PAY-1", "do", do,
		}
	}
	shows(v.post(pay+"/mend", form("Invoices must be paid in at most 21 days.", "try")...).body, "would still contradict each other", "at most 21 days")
	shows(v.post(pay+"/mend", form("Invoices must be paid in at most 14 days.", "try")...).body, "contradict each other no more", "Nothing is stored yet.")
	if a := v.post(pay+"/mend", form("", "mend")...); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "Some fields need another look") {
		t.Errorf("an empty statement: %d %s", a.status, a.body)
	}
	if r := n.in("clash", "PAY-2"); r.Version != 1 {
		t.Fatalf("trying has stored version %d", r.Version)
	}
	if a := v.post(pay+"/mend", form("Invoices must be paid in at most 14 days.", "mend")...); a.status != http.StatusSeeOther {
		t.Fatalf("%d %s", a.status, a.body)
	}
	shows(v.get(pay).body, "The conflict is mended and closed.", "changed PAY-2: as PAY-1", "Nothing is left to do here.")
	if a := v.post(pay+"/mend", form("Invoices must be paid in at most 7 days.", "mend")...); a.status != http.StatusPreconditionFailed {
		t.Errorf("a form of an older version: %d", a.status)
	}

	// An override of a stronger rule needs permission and a reason.
	one := n.in("clash", "LOG-1")
	if a := v.post(log+"/mend", "way", "override", "rule", one.ID, "do", "mend"); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "must say why") {
		t.Errorf("an override without a reason: %d %s", a.status, a.body)
	}
	v.post(log+"/mend", "way", "override", "rule", one.ID, "do", "mend", "reason", "the newer one")
	shows(v.get(log).body, "LOG-1 overrides LOG-2: the newer one")

	// An exception.
	tab := list + "/" + found["TAB-1"].ID
	shows(v.post(tab+"/mend", "way", "exception", "rule", found["TAB-1"].Rule.ID, "exception", "Makefiles.", "do", "try").body, "would still contradict", "Makefiles.")
	v.post(tab+"/mend", "way", "exception", "rule", found["TAB-1"].Rule.ID, "exception", "What "+found["TAB-1"].Other.Slug+" is about.", "do", "mend")
	shows(v.get(tab).body, "mended and closed")
	shows(v.get(list).body, "No conflict waits for a decision.")
	v.post(list + "/scan")
	shows(v.get(list).body, "The server compares all rules now.")
}

// in returns a rule of a project.
func (n *node) in(project, slug string) rule.Rule {
	n.t.Helper()
	r, err := client.Get(n.t.Context(), n.api.InProject(project), op.GetRule.At(slug))
	if err != nil {
		n.t.Fatal(err)
	}
	return r
}

// TestConflictRoles offers viewers nothing to decide, and says why what two people must agree to is not offered.
func TestConflictRoles(t *testing.T) {
	n := newNode(t, nil)
	pay := "/p/clash/conflicts/" + n.clash("clash")["PAY-1"].ID
	if err := n.api.Do(t.Context(), http.MethodPatch, "/api/v1/projects/clash", map[string]any{"two_person_approval": true}, nil); err != nil {
		t.Fatal(err)
	}
	viewer, reviewer := n.signedIn(n.key("vi", "viewer", "clash")), n.signedIn(n.key("re", "reviewer", "clash"))
	for _, path := range []string{"/p/clash/conflicts", pay, pay + "?change=" + n.in("clash", "PAY-1").ID} {
		body := viewer.get(path).body
		if !strings.Contains(body, "within 14 days") || strings.Contains(body, `value="approve`) || strings.Contains(body, "/mend") || !strings.Contains(body, "your role is viewer") {
			t.Errorf("%s: what a viewer sees: %s", path, body)
		}
	}
	if a := viewer.post(pay+"/mend", "way", "override", "rule", n.in("clash", "PAY-1").ID, "reason", "x"); a.status != http.StatusForbidden {
		t.Errorf("a viewer's forged form: %d", a.status)
	}
	if body := reviewer.get(pay).body; !strings.Contains(body, "Not possible: this project demands two people") {
		t.Errorf("an override in a project of two people: %s", body)
	}
	reviewer.post(pay+"/mend", "way", "exception", "rule", n.in("clash", "PAY-1").ID, "exception", "What PAY-2 is about.", "do", "mend")
	if body := reviewer.get(pay).body; !strings.Contains(body, "waits for a second person") || !strings.Contains(body, "suggested") {
		t.Errorf("a change that waits: %s", body)
	}
}

// TestConflictsByKeyboard decides on pairs as in the queue.
func TestConflictsByKeyboard(t *testing.T) {
	n := newNode(t, nil)
	n.clash("clash")
	tab := browsertest.Open(t, n.url)
	tab.Open("/p/clash/conflicts")
	pairs := func(want int) {
		t.Helper()
		if got := tab.Count(".pairs > li"); got != want {
			t.Fatalf("%d pairs, want %d", got, want)
		}
	}
	tab.Press("j")
	tab.PressTo("a")
	pairs(2)
	tab.PressTo("d") // without a reason
	tab.Wait("document.querySelector('[role=status]').textContent.includes('the reason is missing')")
	browsertest.Eval[bool](tab, "(document.getElementById('reason').value = 'one is for staging', true)")
	tab.Press("j")
	tab.PressTo("d")
	pairs(1)
	tab.PressTo("u")
	pairs(2)
	tab.Press("j")
	tab.PressTo("e")
	tab.Wait("document.querySelector('h1').textContent.includes(' and ') && document.querySelector('h3')")
	for _, p := range tab.Problems() {
		t.Error(p)
	}
}
