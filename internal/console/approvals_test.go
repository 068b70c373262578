package console_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"tenet/internal/client"
	"tenet/internal/console/browsertest"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// hiddenAction is an action that no rule covers, with a character that turns the text after it.
const hiddenAction = "Pay 900 EUR to \u202eECALA <b>Ltd</b>"

// asks has a subject evaluated by a caller, with an approval asked for.
func (n *node) asks(c *client.Client, subject map[string]any) (rule.Evaluation, rule.Approval) {
	n.t.Helper()
	subject["request_approval"], subject["approval"] = true, map[string]any{"reason": "The supplier waits."}
	e, err := client.Call(n.t.Context(), c, op.Evaluate, any(subject))
	if err != nil || e.Approval == nil {
		n.t.Fatalf("no approval was asked for: %v %+v", err, e)
	}
	a, err := client.Get(n.t.Context(), c, op.GetApproval.At(e.Approval.ID))
	if err != nil {
		n.t.Fatal(err)
	}
	return e, a.Approval
}

func approvalScreens(n *node) []screen {
	e, a := n.asks(n.api, map[string]any{"action": hiddenAction, "facts": map[string]any{"amount_eur": 900}})
	return []screen{
		{"approvals", "/p/default/approvals", "Approvals", []string{"pending", "Pay 900 EUR to", "no rule covers it", "1 to 1 of 1"}},
		{"approvals, none found", "/p/default/approvals?state=used&agent=x", "Approvals", []string{"No approval matches these filters."}},
		{"approvals, a wrong filter", "/p/default/approvals?severity_min=huge", "Approvals", []string{"severity_min"}},
		{"an approval", "/p/default/approvals/" + a.ID, "Pending", []string{
			"What is to be done", "1 character is invisible or deceives", "Pay 900 EUR to U+202EECALA <b>Ltd</b>", "amount_eur", "What would follow", "No rule covers this action", "Requester",
			"local", "The supplier waits.", a.SubjectHash, "Withdraw",
		}},
		{"the evaluation of an approval", "/p/default/evaluations/" + e.EvaluationID, "NEEDS CONFIRMATION", []string{"pending", "Approval", "0 of 1 approved"}},
		{"approvals in the queue", "/queue?kind=approval", "Queue", []string{"Pay 900 EUR to", "no rule covers it", "The supplier waits."}},
	}
}

// TestAnApprovalIsDecidedByForms goes through an approval without scripts: who is asked, who may decide, and what each decision leads to.
func TestAnApprovalIsDecidedByForms(t *testing.T) {
	n := newNode(t, nil)
	if _, err := client.Call(t.Context(), n.api, op.CreateRule, wire.CreateRule{RuleInput: wire.RuleInput{
		Slug: new("PAY-9"), Statement: "Payments to new suppliers are confirmed.", Severity: rule.Critical, Status: rule.Effective,
		AppliesTo: &rule.AppliesTo{Kinds: []string{"action"}}, Enforcement: rule.Enforce,
	}}); err != nil {
		t.Fatal(err)
	}
	ann, bob, cyd := n.key("ann", "reviewer", "*"), n.key("bob", "reviewer", "*"), n.key("cyd", "viewer", "*")
	robot, err := client.New(n.url, n.key("robot", "evaluator", "*"), nil)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("every word counts ", 12_000) + "THE END"
	subject := map[string]any{"action": hiddenAction, "facts": map[string]any{"note": long}}
	e, a := n.asks(robot, subject)
	path := "/p/default/approvals/" + a.ID
	shows := func(page string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(page, w) {
				t.Errorf("the page does not show %q: %.3000s", w, page)
			}
		}
	}

	first, second, viewer := n.signedIn(ann), n.signedIn(bob), n.signedIn(cyd)
	page := first.get(path).body
	shows(page, "THE END", `<span class="cp">U+202E</span>`, "&lt;b&gt;Ltd", "PAY-9", "Payments to new suppliers are confirmed.", "key:robot", "The supplier waits.", ">Approve<", ">Reject<", "2 people must approve it")
	if strings.ContainsRune(page, '\u202e') || strings.Contains(page, "not shown here") || strings.Contains(page, "more bytes") {
		t.Error("the action is shortened, or turns the text of the page")
	}
	if page := viewer.get(path).body; strings.Contains(page, ">Approve<") || !strings.Contains(page, "You cannot decide on it") {
		t.Errorf("what a viewer is offered: %.2000s", page)
	}
	if b := viewer.post(path, "do", "approve", "reason", "me too"); b.status != http.StatusForbidden {
		t.Errorf("a viewer's forged form: %d", b.status)
	}

	// The signed link opens the page; a forged one does not.
	link, err := url.Parse(a.URL)
	if err != nil || !strings.HasPrefix(link.Path, path) {
		t.Fatalf("the link is %q: %v", a.URL, err)
	}
	if b := first.get(link.RequestURI()); b.status != http.StatusOK {
		t.Errorf("by the link: %d", b.status)
	}
	if b := first.get(strings.Replace(link.RequestURI(), "signature=", "signature=A", 1)); b.status != http.StatusForbidden {
		t.Errorf("by a forged link: %d", b.status)
	}
	if b := n.visitor().get(link.RequestURI()); b.status != http.StatusSeeOther || !strings.HasPrefix(b.header.Get("Location"), "/signin?next=") {
		t.Errorf("by the link, not signed in: %d %v", b.status, b.header)
	}

	// The queue leads there, and does not approve what it has shortened.
	queue := second.get("/queue").body
	shows(queue, `href="`+path+`"`, "0 of 2 people have approved it", ">Look<")
	if strings.Contains(queue, "evaluation/default/"+e.EvaluationID) {
		t.Error("the queue has the evaluation beside its approval")
	}
	item := "approval/default/" + a.ID
	second.post("/queue", "do", "approve", "item", item, "reason", "fine", "next", "/queue")
	shows(second.get("/queue").body, "0 of 2 people have approved it", "on its own page")

	if b := first.post(path, "do", "approve", "reason", " "); b.status != http.StatusUnprocessableEntity || !strings.Contains(b.body, "say why") {
		t.Errorf("an approval without a reason: %d %.2000s", b.status, b.body)
	}
	if b := first.post(path, "do", "fly", "reason", "x"); b.status != http.StatusUnprocessableEntity {
		t.Errorf("a decision that there is not: %d", b.status)
	}
	if b := first.post(path, "do", "approve", "reason", "I know them."); b.header.Get("Location") != path {
		t.Fatalf("an approval: %d %.2000s", b.status, b.body)
	}
	shows(first.get(path).body, "1 of 2 people have approved it", "I know them.", "key:ann")
	if b := first.post(path, "do", "approve", "reason", "Once more, <i>please</i>"); b.status != http.StatusConflict || !strings.Contains(b.body, "Once more, &lt;i&gt;please") {
		t.Errorf("a second approval of the same person: %d %.2000s", b.status, b.body)
	}
	second.post(path, "do", "approve", "reason", "So do I.")
	shows(second.get(path).body, "<h1>Approved</h1>", "So do I.", "key:bob")
	shows(second.get("/p/default/evaluations/"+e.EvaluationID).body, "approved", path)
	if again, err := client.Call(t.Context(), robot, op.Evaluate, any(subject)); err != nil || again.OverallVerdict != rule.Allow {
		t.Errorf("the approved action: %v %+v", err, again.OverallVerdict)
	}
	shows(first.get(path).body, "<h1>Used</h1>", "this evaluation")

	// Asked on the page of an evaluation, rejected in the queue.
	other := n.evaluateBy(robot, map[string]any{"action": "Pay somebody else"})
	at := "/p/default/evaluations/" + other
	shows(first.get(at).body, "Ask for approval", "only key:robot can use it")
	if page := viewer.get(at).body; strings.Contains(page, "Ask for approval") {
		t.Error("a viewer is offered to ask")
	}
	asked := first.post(at+"/approval", "reason", "Why not?").header.Get("Location")
	if !strings.HasPrefix(asked, "/p/default/approvals/") {
		t.Fatalf("asking leads to %q", asked)
	}
	if page := first.get(at).body; strings.Contains(page, "Ask for approval") {
		t.Error("it is offered to ask twice")
	}
	item = "approval/default/" + strings.TrimPrefix(asked, "/p/default/approvals/")
	second.post("/queue", "do", "reject", "item", item, "next", "/queue")
	shows(second.get("/queue").body, "the reason is missing")
	second.post("/queue", "do", "reject", "item", item, "reason", "Too much", "next", "/queue")
	shows(second.get(asked).body, "<h1>Rejected</h1>", "Too much")
}

// evaluateBy has a subject evaluated by a caller and returns the id of the evaluation.
func (n *node) evaluateBy(c *client.Client, subject map[string]any) string {
	n.t.Helper()
	body, err := json.Marshal(subject)
	if err != nil {
		n.t.Fatal(err)
	}
	e, err := client.Call(n.t.Context(), c, op.Evaluate, any(json.RawMessage(body)))
	if err != nil {
		n.t.Fatal(err)
	}
	return e.EvaluationID
}

// TestADecisionShowsOnAnOpenPage follows an approval in a browser while somebody else decides.
func TestADecisionShowsOnAnOpenPage(t *testing.T) {
	n := newNode(t, nil)
	ann, bob := n.key("ann", "reviewer", "*"), n.key("bob", "reviewer", "*")
	robot, err := client.New(n.url, n.key("robot", "evaluator", "*"), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, a := n.asks(robot, map[string]any{"action": "Restart the billing service"})
	tab := browsertest.Open(t, n.url)
	tab.Open("/signin?" + url.Values{"next": {"/p/default/approvals/" + a.ID}}.Encode())
	tab.Type("#key", ann)
	tab.PressTo("\r")
	if got := tab.Text("h1"); got != "Pending" {
		t.Fatalf("the heading is %q", got)
	}
	second, err := client.New(n.url, bob, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Call(t.Context(), second, op.RejectApproval.At(a.ID), wire.DecideApproval{Reason: "Not now."}); err != nil {
		t.Fatal(err)
	}
	tab.Wait("document.querySelector('main [role=status]')?.textContent.includes('It is now rejected')")
	tab.Follow("main [role=status] a")
	if got := tab.Text("h1"); got != "Rejected" || tab.Count("main form") != 0 {
		t.Errorf("the heading is %q, with %d forms", got, tab.Count("main form"))
	}
	for _, p := range tab.Problems() {
		t.Error(p)
	}
}
