package console_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tenet/internal/client"
	"tenet/internal/console/browsertest"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// answering starts a server with a model that answers questions from SEC-001, and judges that code breaks it.
func answering(t *testing.T, wait time.Duration) *node {
	t.Helper()
	vendor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		asked, reply := string(body), ""
		switch {
		case strings.Contains(asked, "You answer questions"):
			reply = `{"sentences":[{"citations":[{"rule_ref":"R1","quote":"Code must not call eval."}],"text":"No: <b>eval</b> is forbidden."}],"clarification":""}`
		case strings.Contains(asked, "You check an answer"):
			reply = `{"verdicts":[{"sentence":1,"reasoning":"It says so.","supported":true}]}`
		default:
			time.Sleep(wait)
			reply = "{}"
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{
			"message": map[string]string{"role": "assistant", "content": reply}, "finish_reason": "stop",
		}}})
	}))
	t.Cleanup(vendor.Close)
	return newNodeIn(t, func(name string) string {
		return map[string]string{"OPENAI_BASE_URL": vendor.URL, "OPENAI_API_KEY": "k"}[name]
	}, map[string]string{"judge_model": "openai:tiny", "console_session_age": "1h"}, nil)
}

// A person asks the rules and the model in a browser, runs the tests of a rule, and goes on after the session has ended.
func TestModelsInABrowser(t *testing.T) {
	n := answering(t, time.Second)
	barriers := func(tab *browsertest.Tab, about string) {
		t.Helper()
		tab.Width(360)
		for _, list := range [][]string{tab.Axe(), tab.Overflows(), tab.Problems()} {
			for _, one := range list {
				t.Errorf("%s: %s", about, one)
			}
		}
		tab.Width(1280)
	}
	if _, err := client.Call(t.Context(), n.api, op.CreateTestCase.At(n.ruleID("SEC-001")), wire.CreateTestCase{
		Name: "<b>calls</b> eval", SampleInput: "x = eval(y)", ExpectedVerdict: rule.Deny,
	}); err != nil {
		t.Fatal(err)
	}
	secret := n.key("re", "reviewer", "*")
	tab := browsertest.Open(t, n.url)
	tab.Open("/signin")
	tab.Type("input[name=key]", secret)
	tab.PressTo("\r")

	tab.Open("/p/default/search")
	tab.Type("#f-q", "May code call eval?")
	tab.Follow("button[formaction$='/search/ask']")
	if got := tab.Text("#answer-title") + " " + tab.Text(".card .statement"); got != "Answer No: <b>eval</b> is forbidden. SEC-001" {
		t.Errorf("the answer is %q", got)
	}
	barriers(tab, "an answer")

	tab.Open("/p/default/rules/SEC-001")
	tab.Follow("form[action$='/tests'] button")
	tab.Wait("document.querySelector('main').textContent.includes('The test case passes.')")
	barriers(tab, "a test run")

	tab.Open("/p/default/rules/OPS-001/edit")
	tab.Type("#e-sample_code", "deploy()")
	browsertest.Eval[bool](tab, `(new MutationObserver(() => {
		const line = document.querySelector(".waits");
		if (line && line.querySelector("progress")) sessionStorage.waits = line.textContent;
	}).observe(document.body, {childList: true, subtree: true}), true)`)
	tab.Follow("[value=ask]")
	if got := browsertest.Eval[string](tab, "sessionStorage.waits || ''"); !strings.HasPrefix(got, "Asking the model…") {
		t.Errorf("while the model is asked, the page shows %q", got)
	}
	if got := tab.Text("#findings"); !strings.Contains(got, "NEEDS CONFIRMATION") {
		t.Errorf("the findings are %q", got)
	}

	tab.Open("/p/default/rules/OPS-001/edit")
	browsertest.Eval[bool](tab, "fetch('/signout', {method: 'POST'}).then(() => true)")
	tab.Type("#e-statement", "Deployments must be announced a day before.")
	tab.Click("#e-rationale")
	tab.Wait("document.querySelector('#ended').textContent.includes('Your session has ended')")
	if browsertest.Eval[string](tab, "document.querySelector('#e-statement').value") != "Deployments must be announced a day before." || tab.Count("#findings") != 1 {
		t.Error("what was typed is lost, or the sign-in page is inside the findings")
	}
}
