package console_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

func TestTheTestsOfARuleAreRunFromItsPage(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	id := n.ruleID("SEC-001")
	for _, c := range []wire.CreateTestCase{
		{Name: "calls eval", SampleInput: "x = eval(y)", ExpectedVerdict: rule.Deny},
		{Name: "<b>prints</b>", SampleInput: "print(1)", ExpectedVerdict: rule.Deny},
	} {
		if _, err := client.Call(t.Context(), n.api, op.CreateTestCase.At(id), c); err != nil {
			t.Fatal(err)
		}
	}
	v := n.signedIn(n.key("tester", "evaluator", "*"))
	if a := v.get("/p/default/rules/SEC-001"); !strings.Contains(a.body, "/p/default/rules/"+id+"/tests") {
		t.Error("the page of the rule does not offer to run its tests")
	}
	a := v.post("/p/default/rules/" + id + "/tests")
	if a.status != http.StatusSeeOther {
		t.Fatalf("%d %s", a.status, plain(a.body))
	}
	run := a.header.Get("Location")
	first := v.get(run)
	if first.status != http.StatusOK {
		t.Fatalf("%s: %d", run, first.status)
	}
	if going := strings.Contains(first.body, "/live"); going != strings.Contains(first.body, `http-equiv="refresh"`) {
		t.Errorf("live %v, but the page without JavaScript is otherwise", going)
	}
	text := ""
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if text = plain(v.get(run).body); strings.Contains(text, "do not pass") {
			break
		}
	}
	for _, want := range []string{"1 of 2 test cases do not pass", "calls eval", "&lt;b&gt;prints", "passes", "fails", "Back to the rule"} {
		if !strings.Contains(text, want) {
			t.Errorf("the run does not show %q: %s", want, text)
		}
	}
	live := v.get(run + "/live") // of a run that has ended: one message, then the end
	if live.status != http.StatusOK || !strings.Contains(live.body, "1 of 2 test cases do not pass") || !strings.HasSuffix(live.body, "event: close\ndata: \n\n") {
		t.Errorf("the stream: %d %s", live.status, live.body)
	}
	if a := v.get(strings.Replace(run, id, n.ruleID("FIN-001"), 1)); a.status != http.StatusNotFound {
		t.Errorf("under another rule: %d", a.status)
	}
	viewer := n.signedIn(n.key("reader", "viewer", "*"))
	if a := viewer.post("/p/default/rules/" + id + "/tests"); a.status != http.StatusForbidden {
		t.Errorf("a viewer starts a run: %d", a.status)
	}
	if a := viewer.get("/p/default/rules/SEC-001"); strings.Contains(a.body, id+"/tests\"") {
		t.Error("a viewer is offered to run tests")
	}
}
