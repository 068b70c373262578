package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"tenet/internal/client"
	"tenet/internal/console/browsertest"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

const newRuleAddress = "/p/default/rules/new"

var seenValue = regexp.MustCompile(`name="seen" value="([0-9a-f]{64})"`)

// compared is what the form of an answer says was compared.
func compared(t *testing.T, a answer) string {
	t.Helper()
	m := seenValue.FindStringSubmatch(a.body)
	if m == nil {
		t.Fatalf("nothing was compared: %d %s", a.status, a.body)
	}
	return m[1]
}

// ruleForm is what a person types.
func ruleForm(change ...string) []string {
	fields := map[string]string{
		"statement": "Code must not call exec.", "modality": "MUST_NOT", "severity": "HIGH", "status": "REVIEW", "slug": "SEC-009", "owner": "appsec",
		"scope": "eng, ops/tools", "tags": "python,security", "rationale": "It runs\r\ntext.", "exceptions": "Notebooks.\r\nTests.", "paths": "**/*.py\r\n", "kinds": "code_change",
		"check": "pattern", "regex": `\bexec\(`, "message": "exec runs text.", "sample_type": "code", "bad": "exec(x)\r\n", "good": "run(x)",
	}
	for i := 0; i+1 < len(change); i += 2 {
		fields[change[i]] = change[i+1]
	}
	var out []string
	for name, value := range fields {
		out = append(out, name, value)
	}
	return out
}

func TestNewRuleWithoutScripts(t *testing.T) {
	n := newNode(t, nil)
	v := n.visitor()
	wants(t, v.get("/p/default/rules"), http.StatusOK, `href="/p/default/rules/new"`)
	wants(t, v.get(newRuleAddress), http.StatusOK, "From a sentence", `value="MUST" selected`)

	check := v.post(newRuleAddress, ruleForm("do", "check")...)
	wants(t, check, http.StatusOK, "Before it is stored", "Code must not call eval.", "Bad example: DENY, as it must be.", "Good example: ALLOW, as it must be.", "No rule was found that contradicts it.", ">Create<")
	total := func() int {
		t.Helper()
		list, err := client.Get(t.Context(), n.api, op.ListRules)
		if err != nil {
			t.Fatal(err)
		}
		return list.Total
	}
	if total() != 4 {
		t.Errorf("the check has stored a rule")
	}
	// What was compared must be what is created.
	wants(t, v.post(newRuleAddress, ruleForm("do", "create")...), http.StatusOK, "was not compared")
	wants(t, v.post(newRuleAddress, ruleForm("do", "create", "seen", compared(t, check), "severity", "LOW")...), http.StatusOK, "was not compared", `value="LOW" selected`)
	if total() != 4 {
		t.Errorf("a rule was stored that nobody has compared")
	}
	made := v.post(newRuleAddress, ruleForm("do", "create", "seen", compared(t, check))...)
	to := made.header.Get("Location")
	if made.status != http.StatusSeeOther || !strings.HasPrefix(to, "/p/default/rules/") {
		t.Fatalf("status %d to %q: %s", made.status, to, made.body)
	}
	wants(t, v.get(to), http.StatusOK, "The rule is created with the status REVIEW.", "SEC-009", "Bad example", "Good example")
	r, err := client.Get(t.Context(), n.api, op.GetRule.At("SEC-009"))
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != rule.Review || r.Severity != rule.High || r.Modality != rule.MustNot || r.Owner != "appsec" || len(r.Scope) != 2 || len(r.Tags) != 2 ||
		len(r.Exceptions) != 2 || r.AppliesTo.Paths[0] != "**/*.py" || r.AppliesTo.Kinds[0] != "code_change" || r.Check.Pattern.Regex != `\bexec\(` || r.Check.Message == "" {
		t.Errorf("the rule is %+v, applies to %+v, check %+v", r, r.AppliesTo, r.Check)
	}
	cases, err := client.Get(t.Context(), n.api, op.ListTestCases.At(r.ID))
	if err != nil || len(cases) != 2 {
		t.Errorf("%d test cases, %v", len(cases), err)
	}

	// Its name is taken now.
	again := v.post(newRuleAddress, ruleForm("do", "check")...)
	wants(t, v.post(newRuleAddress, ruleForm("do", "create", "seen", compared(t, again))...), http.StatusConflict, "SEC-009", "Code must not call exec.")
}

func TestNewRuleShowsWhatIsWrong(t *testing.T) {
	n := newNode(t, nil)
	v := n.visitor()
	wrong := func(id, message string, change ...string) {
		t.Helper()
		a := v.post(newRuleAddress, ruleForm(append(change, "do", "check")...)...)
		wants(t, a, http.StatusUnprocessableEntity, `id="i-`+id+`-wrong"`, message, "Nothing was stored.", "exec runs text.")
	}
	wrong("statement", "", "statement", " ")
	wrong("cel", "", "check", "cel", "regex", "", "cel", "facts.amount <=")
	wrong("regex", "", "regex", `\bexec(`)
	wrong("check", "Choose its kind", "check", "")
	wrong("check", "A rule has one check.", "cel", "true")
	wrong("when", "", "when", "1 +")
	wrong("slug", "", "slug", "no spaces here")
	wrong("paths", "", "paths", "a[")
	wants(t, v.post(newRuleAddress, "do", "draft"), http.StatusUnprocessableEntity, "Say what the rule is to demand")
	wants(t, v.post(newRuleAddress, ruleForm("do", "check", "bad", "run(y)")...), http.StatusOK, "Bad example: ALLOW, and it must be DENY.")

	// A rule that contradicts another.
	_, err := client.Call(t.Context(), n.api, op.CreateRule, wire.CreateRule{RuleInput: wire.RuleInput{Slug: new("OPS-9"), Statement: "Access logs must be kept for at least 90 days.", Status: rule.Effective}})
	if err != nil {
		t.Fatal(err)
	}
	wants(t, v.post(newRuleAddress, "do", "check", "statement", "Access logs must be kept for at most 30 days."), http.StatusOK, "Contradicts", "OPS-9", "No test case shows")
}

// TestNewRuleFromASentence drafts without a model: the form has the words, and says so.
func TestNewRuleFromASentence(t *testing.T) {
	n := newNode(t, nil)
	a := n.visitor().post(newRuleAddress, "do", "draft", "wish", "I want a rule that payments above 10000 EUR never go out without a second approver", "scope", "finance")
	wants(t, a, http.StatusOK, "No model is configured", "second approver", `value="HIGH" selected`, `value="finance"`)
	wants(t, n.visitor().post(newRuleAddress, "do", "draft", "wish", "hm"), http.StatusUnprocessableEntity, `id="i-wish-wrong"`)
}

// TestNewRuleByAModel has a model write the draft and its examples.
func TestNewRuleByAModel(t *testing.T) {
	draft := `{"rule": {"statement": "Zebras must wear <b>hats</b>.", "modality": "MUST", "severity": "CRITICAL", "scope": ["zoo"], "tags": ["animals"], "rationale": "Sun.", "exceptions": ["At night."]},
		"test_cases": [{"name": "good", "input_type": "facts", "sample_input": "a hat", "expected_verdict": "ALLOW"}, {"name": "bad", "input_type": "facts", "sample_input": "no hat", "expected_verdict": "DENY"}], "clarification": ""}`
	vendor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": map[string]string{"role": "assistant", "content": draft}, "finish_reason": "stop"}}})
	}))
	defer vendor.Close()
	n := newNodeIn(t, func(name string) string {
		return map[string]string{"OPENAI_BASE_URL": vendor.URL, "OPENAI_API_KEY": "k"}[name]
	}, map[string]string{"judge_model": "openai:tiny"}, nil)
	a := n.visitor().post(newRuleAddress, "do", "draft", "wish", "Zebras need hats against the sun")
	wants(t, a, http.StatusOK, "A model wrote this draft.", "Zebras must wear &lt;b&gt;hats&lt;/b&gt;.", `value="CRITICAL" selected`, `value="zoo"`, "no hat", "a hat", "At night.", `value="facts" selected`)
	draft = "nonsense"
	a = n.visitor().post(newRuleAddress, "do", "draft", "wish", "Lions need sunglasses against the sun", "owner", "keeper")
	wants(t, a, http.StatusServiceUnavailable, `role="alert"`, "Lions need sunglasses", `value="keeper"`)
}

// TestNewRuleRoles offers the screen to reviewers only.
func TestNewRuleRoles(t *testing.T) {
	n := newNode(t, nil)
	viewer := n.signedIn(n.key("vi", "viewer", "*"))
	if strings.Contains(viewer.get("/p/default/rules").body, newRuleAddress) {
		t.Error("a viewer is offered to make a rule")
	}
	wants(t, viewer.get(newRuleAddress), http.StatusForbidden)
	for _, do := range []string{"check", "draft", "create"} {
		wants(t, viewer.post(newRuleAddress, ruleForm("do", do)...), http.StatusForbidden)
	}
	reviewer := n.signedIn(n.key("re", "reviewer", "default"))
	wants(t, reviewer.get(newRuleAddress), http.StatusOK)
	wants(t, reviewer.post("/p/elsewhere/rules/new", ruleForm("do", "check")...), http.StatusNotFound)
	form := map[string][]string{"do": {"create"}, "statement": {"x must be y"}}
	wants(t, reviewer.do(http.MethodPost, newRuleAddress, form, http.Header{"Origin": {"https://evil.example"}, "Sec-Fetch-Site": {"cross-site"}}), http.StatusForbidden)
}

// TestHostileNewRule shows what others have written, and what is typed, as text.
func TestHostileNewRule(t *testing.T) {
	n := newNode(t, nil)
	_, err := client.Call(t.Context(), n.api, op.CreateRule, wire.CreateRule{RuleInput: wire.RuleInput{Statement: "Zebras must wear <script>alert(1)</script> \u202ehats."}})
	if err != nil {
		t.Fatal(err)
	}
	a := n.visitor().post(newRuleAddress, "do", "check", "statement", "Zebras must wear hats.", "rationale", "</textarea><script>alert(2)</script>", "tags", `"><script>alert(3)</script>`)
	wants(t, a, http.StatusOK, "&lt;script&gt;alert(1)", "&lt;/textarea&gt;", "U+202E")
	if strings.Contains(a.body, "<script>alert") || strings.ContainsRune(a.body, '\u202e') {
		t.Errorf("the page has %s", a.body)
	}
	if body := n.visitor().post(newRuleAddress, "do", "check", "statement", "\nZebras", "bad", "\n  x\n").body; !regexp.MustCompile(`name="bad"[^>]*>\n\n  x\n</textarea>`).MatchString(body) {
		t.Errorf("an example does not come back as it was typed: %s", body)
	}
}

// TestNewRuleInABrowser asks the states of the form that a post leads to for barriers.
func TestNewRuleInABrowser(t *testing.T) {
	n := newNode(t, nil)
	tab := browsertest.Open(t, n.url)
	enter := func(id, text string) {
		t.Helper()
		browsertest.Eval[bool](tab, fmt.Sprintf("(document.getElementById(%q).focus(), true)", id))
		tab.Press(text)
	}
	barriers := func(about string) {
		t.Helper()
		for _, list := range [][]string{tab.Axe(), tab.Problems()} {
			for _, one := range list {
				t.Errorf("%s: %s", about, one)
			}
		}
		tab.Width(360)
		for _, one := range tab.Overflows() {
			t.Errorf("%s, at 360 pixels: %s", about, one)
		}
		tab.Width(1280)
	}
	tab.Open(newRuleAddress)
	enter("i-slug", "no spaces here")
	tab.PressTo("\r")
	tab.Wait("document.getElementById('i-slug-wrong')")
	barriers("errors")
	tab.Open(newRuleAddress)
	enter("i-statement", "Code must not call exec.")
	enter("i-slug", "SEC-9")
	tab.PressTo("\r") // Enter checks, and stores nothing
	tab.Wait("document.getElementById('comparison-title')")
	barriers("the comparison")
	browsertest.Eval[bool](tab, "(document.querySelector('[name=do][value=create]').focus(), true)")
	tab.PressTo("\r")
	tab.Wait("document.querySelector('h1').textContent.includes('SEC-9')")

	tab.Open("/p/default/try?scope=finance/payments")
	enter("i-f-amount", "much")
	tab.PressTo("\r")
	tab.Wait("document.getElementById('i-f-amount-wrong')")
	barriers("a payment with errors")
	browsertest.Eval[bool](tab, "(document.getElementById('i-f-amount').select(), true)")
	enter("i-f-amount", "25000")
	enter("i-f-approvers", "1")
	tab.PressTo("\r")
	tab.Wait("document.querySelector('h1').textContent.includes('DENY')")
}
