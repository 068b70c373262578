package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"tenet/internal/client"
	"tenet/internal/console/browsertest"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

func TestJudgingAndWaivingAVerdict(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	id := n.evaluate("default", badDiff)
	rec, err := client.Get(t.Context(), n.api, op.GetEvaluation.At(id))
	if err != nil {
		t.Fatal(err)
	}
	denied := rec.Evaluation.Violations[0]
	path := "/p/default/evaluations/" + id
	reviewer, viewer := n.signedIn(n.key("rosa", "reviewer", "default")), n.signedIn(n.key("vera", "viewer", "default"))

	// A viewer is offered neither form, and forged ones are refused.
	page := viewer.get(path)
	if page.status != http.StatusOK || strings.Contains(page.body, "/feedback") || strings.Contains(page.body, "/waivers") || strings.Contains(page.body, "/replay") {
		t.Errorf("what a viewer is offered: %d", page.status)
	}
	for _, action := range []string{"/feedback", "/waivers", "/replay"} {
		if a := viewer.post(path+action, "rule", denied.RuleID, "correct", "no", "fingerprint", denied.Fingerprint, "reason", "x", "until", "2099-01-01"); a.status != http.StatusForbidden {
			t.Errorf("a viewer's %s: %d", action, a.status)
		}
	}

	a := reviewer.post(path+"/feedback", "rule", denied.RuleID, "correct", "no", "note", "It is <b>a test</b>.", "at", "v0")
	if a.status != http.StatusSeeOther || a.header.Get("Location") != path+"#v0" {
		t.Fatalf("feedback: %d to %s", a.status, a.header.Get("Location"))
	}
	page = reviewer.get(path)
	if !strings.Contains(page.body, "Your judgement is recorded") || !strings.Contains(page.body, "says this was wrong") || !strings.Contains(page.body, "It is &lt;b&gt;a test&lt;/b&gt;.") {
		t.Error("the page does not show the feedback")
	}
	if again := reviewer.get(path); strings.Contains(again.body, "Your judgement is recorded") {
		t.Error("the page says it twice")
	}

	if a := reviewer.post(path+"/waivers", "rule", denied.RuleID, "fingerprint", denied.Fingerprint, "repository", "acme/payments", "reason", "x", "until", "soon"); a.status != http.StatusUnprocessableEntity {
		t.Errorf("a waiver without a day: %d", a.status)
	}
	until := time.Now().AddDate(0, 0, 10).Format(time.DateOnly)
	a = reviewer.post(path+"/waivers", "rule", denied.RuleID, "fingerprint", denied.Fingerprint, "repository", "acme/payments", "reason", "A test.", "until", until, "at", "//evil.example")
	if a.status != http.StatusSeeOther || a.header.Get("Location") != path+"#main" {
		t.Fatalf("a waiver: %d to %s %s", a.status, a.header.Get("Location"), a.body)
	}
	waived := n.evaluate("default", badDiff)
	if page = viewer.get("/p/default/evaluations/" + waived); !strings.Contains(page.body, "Waived (1)") || !strings.Contains(page.body, "A test.") {
		t.Errorf("the next evaluation does not show the waiver")
	}

	if a = reviewer.post(path + "/replay"); a.status != http.StatusOK || !strings.Contains(a.body, "comes out the same") {
		t.Errorf("replay: %d", a.status)
	}
	a = viewer.get(path + "/json")
	var got wire.EvaluationRecord
	if err := json.Unmarshal([]byte(a.body), &got); err != nil || got.Evaluation.EvaluationID != id || !strings.HasPrefix(a.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("as JSON: %v, %v", err, a.header)
	}
	if a = viewer.get("/p/default/evaluations/00000000-0000-0000-0000-000000000000"); a.status != http.StatusNotFound {
		t.Errorf("no such evaluation: %d", a.status)
	}
	if err := n.api.Do(t.Context(), http.MethodPost, "/api/v1/projects", map[string]string{"id": "other", "name": "Other"}, nil); err != nil {
		t.Fatal(err)
	}
	if a = n.signedIn(n.key("otto", "admin", "other")).get("/p/other/evaluations/" + id); a.status != http.StatusNotFound {
		t.Errorf("another project's evaluation: %d", a.status)
	}
}

// hostile is text that would do harm if it were shown as it is.
const hostile = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'`--> ${7*7} {{7*7}} javascript:alert(3) \u202etxt.exe\u2066 \u200b\ufeff\u00ad \u001b[31m"

func TestHostileContentIsHarmless(t *testing.T) {
	n := newNode(t, nil)
	tab := browsertest.Open(t, n.url)
	bare := strings.ReplaceAll(hostile, "\u001b", "") // what the API takes in a rule
	long := strings.Repeat("x", 100_000)
	text, err := json.Marshal("--- a/app.py\n+++ b/app.py\n@@ -1 +1,3 @@\n # one\n+eval( " + hostile + "\n+" + long + "\n")
	if err != nil {
		t.Fatal(err)
	}
	quoted, err := json.Marshal(bare)
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Call(t.Context(), n.api, op.CreateRule, wire.CreateRule{RuleInput: wire.RuleInput{
		Rationale: new(bare), Tags: []string{"<b>tag"}, Owner: new("<img src=x onerror=alert(4)>\u202e"), Exceptions: []string{bare},
		Examples:   []rule.Example{{Input: bare, Verdict: rule.Deny, Note: bare}},
		SourceRefs: []rule.SourceRef{{Kind: "url", URI: "javascript:alert(5)", Section: bare, Quote: bare}},
		Slug:       new("BAD-1"), Statement: "Never " + bare, Status: rule.Effective, Modality: rule.MustNot, Severity: rule.High,
		Check: &rule.Check{Pattern: &rule.Pattern{Regex: `eval\(`}, Message: "No. " + bare},
	}})
	if err != nil {
		t.Fatal(err)
	}
	id := n.evaluate("default", `{"diff": `+string(text)+`, "facts": {"<b>": `+string(quoted)+`}, "intent": `+string(quoted)+`, "repository": "acme/payments"}`)
	for _, path := range []string{"/p/default/evaluations", "/p/default/evaluations/" + id, "/p/default/evaluations/" + id + "?view=sides", "/p/default/rules", "/p/default/rules/BAD-1", "/p/default/rules/BAD-1/versions", "/p/default/rules?q=%3Cscript%3Ealert(1)%3C/script%3E%E2%80%AE"} {
		tab.Open(path)
		if n := tab.Count("main script, main img, main b, [href^=javascript]"); n > 0 {
			t.Errorf("%s: %d elements come from the text", path, n)
		}
		if p := tab.Problems(); len(p) > 0 {
			t.Errorf("%s: %v", path, p)
		}
		if shown := tab.Text("main"); strings.ContainsAny(shown, "\u202e\u2066\u200b\ufeff\u001b\u00ad") {
			t.Errorf("%s shows invisible characters as they are", path)
		}
		tab.Width(360)
		if list := tab.Overflows(); len(list) > 0 {
			t.Errorf("%s at 360 pixels: %v", path, list)
		}
		tab.Width(1280)
	}
	tab.Open("/p/default/evaluations/" + id)
	shown := browsertest.Eval[string](tab, "document.querySelector('main').textContent")
	for _, want := range []string{"U+202E", "U+2066", "U+200B", "U+FEFF", "U+00AD", "99,500 more bytes in this line", "<script>alert(1)</script>"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
}

// largeChange is a change of 10,000 lines with one violation, as JSON.
func largeChange(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("--- /dev/null\n+++ b/app.py\n@@ -0,0 +1,10000 @@\n")
	for i := range 10_000 {
		if i == 6500 {
			b.WriteString("+result = eval(text)\n")
			continue
		}
		fmt.Fprintf(&b, "+value_%d = compute(\"some text\", %d)\n", i, i)
	}
	text, err := json.Marshal(b.String())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestALargeChangeIsUsable opens a change of 10,000 lines: the page with the first violation comes first, and the others are loaded in place. The
// time to the first paint, which BenchmarkFirstPaint measures, grows with the bytes and the elements of a page, so the test bounds these.
func TestALargeChangeIsUsable(t *testing.T) {
	n := newNode(t, nil)
	path := "/p/default/evaluations/" + n.evaluate("default", `{"diff": `+largeChange(t)+`}`)
	tab := browsertest.Open(t, n.url)
	for query, most := range map[string]struct{ kilobytes, elements int }{"?view=sides": {220, 8000}, "": {220, 8000}} {
		body := n.visitor().get(path + query).body
		tab.Open(path + query)
		elements := tab.Count("*")
		t.Logf("%q: %d bytes, %d elements", query, len(body), elements)
		if len(body) > most.kilobytes<<10 || elements > most.elements {
			t.Errorf("the page %q has %d bytes and %d elements, more than %v", query, len(body), elements, most)
		}
	}
	tab.Open(path)
	if !strings.Contains(tab.Text("#diff"), "result = eval(text)") || !strings.Contains(tab.Text("#diff"), "of 10,002") {
		t.Errorf("the first page does not show the violation")
	}
	if rows := tab.Count("#diff tr"); rows > 1100 {
		t.Errorf("%d rows", rows)
	}
	tab.Click("#diff [hx-get*='from=7000']")
	tab.Wait("document.querySelector('#diff').innerText.includes('value_7500 ')")
	if strings.Contains(tab.Text("#diff"), "eval(text)") {
		t.Error("the rows before are still there")
	}
	if p := tab.Problems(); len(p) > 0 {
		t.Error(p)
	}
	tab.Scripts(false)
	tab.Open(path + "?from=9000")
	tab.Scripts(true)
	if !strings.Contains(tab.Text("#diff"), "value_9500 ") {
		t.Error("without JavaScript the address does not show its rows")
	}
}
