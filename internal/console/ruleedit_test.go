package console_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"tenet/internal/client"
	"tenet/internal/console/browsertest"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

var (
	inputTag    = regexp.MustCompile(`<input ([^>]*)>`)
	textareaTag = regexp.MustCompile(`(?s)<textarea [^>]*name="([^"]+)"[^>]*>\n?(.*?)</textarea>`)
	selectTag   = regexp.MustCompile(`(?s)<select id="e-[^"]*" name="([^"]+)">(.*?)</select>`)
	chosen      = regexp.MustCompile(`value="([^"]*)" selected`)
	attribute   = regexp.MustCompile(`(name|value|type)="([^"]*)"`)
)

// editForm reads the fields of the form that changes a rule, as a browser sends them.
func editForm(t *testing.T, page string) url.Values {
	t.Helper()
	start := strings.Index(page, `class="edit"`)
	if start < 0 {
		t.Fatalf("the page has no form: %s", page)
	}
	page = page[start:]
	form := url.Values{}
	for _, m := range inputTag.FindAllStringSubmatch(page, -1) {
		at := map[string]string{}
		for _, a := range attribute.FindAllStringSubmatch(m[1], -1) {
			at[a[1]] = html.UnescapeString(a[2])
		}
		if at["name"] != "" && at["name"] != "next" && (at["type"] != "checkbox" || strings.Contains(m[1], " checked")) {
			form.Add(at["name"], at["value"])
		}
	}
	for _, m := range textareaTag.FindAllStringSubmatch(page, -1) {
		form.Set(m[1], html.UnescapeString(m[2]))
	}
	for _, m := range selectTag.FindAllStringSubmatch(page, -1) {
		if value := chosen.FindStringSubmatch(m[2]); value != nil {
			form.Set(m[1], value[1])
		}
	}
	return form
}

// edits posts the form of an address with inputs changed, by name and value.
func (v *visitor) edits(path string, pairs ...string) answer {
	v.t.Helper()
	a := v.get(path)
	if a.status != http.StatusOK {
		v.t.Fatalf("%s: %d %s", path, a.status, a.body)
	}
	form := editForm(v.t.(*testing.T), a.body)
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	path, _, _ = strings.Cut(path, "?")
	return v.do(http.MethodPost, path, form, http.Header{"Origin": {v.base}, "Sec-Fetch-Site": {"same-origin"}})
}

func shows(t *testing.T, a answer, status int, want ...string) {
	t.Helper()
	if a.status != status {
		t.Errorf("status %d, want %d: %s", a.status, status, a.body)
	}
	for _, w := range want {
		if !strings.Contains(a.body, w) {
			t.Errorf("the page does not show %q: %s", w, a.body)
		}
	}
}

func (n *node) rule(ref string) rule.Rule {
	n.t.Helper()
	r, err := client.Get(n.t.Context(), n.api, op.GetRule.At(ref))
	if err != nil {
		n.t.Fatal(err)
	}
	return r
}

const editFIN = "/p/default/rules/FIN-001/edit"

// TestChangingARuleWithoutScripts stores a change by the form alone, and nothing by the other buttons.
func TestChangingARuleWithoutScripts(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	v := n.visitor()
	before := n.rule("SEC-001")
	path := "/p/default/rules/SEC-001/edit"
	shows(t, v.edits(path, "do", "check"), http.StatusOK, "0 fields change")
	shows(t, v.edits(path, "do", "save"), http.StatusUnprocessableEntity, "Nothing has changed")
	shows(t, v.edits(path, "do", "check", "statement", "Code must not call <b>exec</b>, as appropriate."), http.StatusOK, "1 field changes", "&lt;b&gt;exec&lt;/b&gt;", "appropriate")
	if r := n.rule("SEC-001"); r.Version != before.Version {
		t.Fatal("Check has stored something")
	}
	a := v.edits(path, "do", "save", "statement", "Code must not call eval or exec.", "tags", "python\nnew tag\n", "check.pattern.regex", `\b(eval|exec)\(`, "change_note", "exec too",
		"effective_period.until", "2030-01-31", "applies_to.kinds", "code_change", "exceptions", "Notebooks.\nTests.", "owner", "")
	shows(t, a, http.StatusSeeOther)
	shows(t, v.get(a.header.Get("Location")), http.StatusOK, "SEC-001 is at version 2 now.", "eval or exec", "exec too")
	r := n.rule("SEC-001")
	if r.Statement != "Code must not call eval or exec." || strings.Join(r.Tags, "|") != "python|new tag" || r.Check.Pattern.Regex != `\b(eval|exec)\(` || r.Check.Message != before.Check.Message ||
		r.EffectivePeriod.Until == nil || r.EffectivePeriod.Until.Year() != 2030 || len(r.Exceptions) != 2 || r.Owner != "" || len(r.SourceRefs) != 1 || r.Slug != "SEC-001" {
		t.Errorf("stored: %+v", r)
	}
	shows(t, v.edits(path, "do", "save", "effective_period.from", "tomorrow"), http.StatusUnprocessableEntity, "is no day and no time", `value="tomorrow"`)
	if a := v.get(path + "?version=x"); a.status != http.StatusUnprocessableEntity {
		t.Errorf("a version that is no number: %d", a.status)
	}
	if a := v.get(path + "?version=99"); a.status != http.StatusNotFound {
		t.Errorf("no such version: %d", a.status)
	}
}

// TestErrorsAreShownAtTheirPlace marks what is wrong in a check.
func TestErrorsAreShownAtTheirPlace(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	v := n.visitor()
	a := v.edits(editFIN, "do", "check", "check.cel", "facts.amount <= 10000 ||\n  facts.approvers >< 2")
	shows(t, a, http.StatusUnprocessableEntity, "Line 2, column 20: ", "<mark>", "facts.approvers &gt;&lt; 2</textarea>", `href="#e-check.cel"`)
	a = v.edits("/p/default/rules/SEC-001/edit", "do", "check", "check.pattern.regex", `x[z-a]`)
	shows(t, a, http.StatusUnprocessableEntity, "Line 1, column 3: ", "<bdi>z-a</bdi>", `href="#e-check.pattern.regex"`)
	shows(t, v.edits(editFIN, "do", "check", "check", "pattern"), http.StatusUnprocessableEntity, "must not be empty")
	shows(t, v.edits(editFIN, "do", "check", "applies_to.paths", "[a"), http.StatusUnprocessableEntity, `href="#e-applies_to.paths"`)
}

// TestFindingsAlone answers a script with the findings, also where something is wrong.
func TestFindingsAlone(t *testing.T) {
	t.Parallel()
	v := newNode(t, nil).visitor()
	form := editForm(t, v.get(editFIN).body)
	ask := func() answer {
		t.Helper()
		return v.do(http.MethodPost, editFIN, form, http.Header{"Origin": {v.base}, "Sec-Fetch-Site": {"same-origin"}, "Hx-Request": {"true"}})
	}
	form.Set("check.cel", "facts.amount <")
	shows(t, ask(), http.StatusOK, `id="findings"`, "Line 1, column")
	form.Set("base", "99")
	a := ask()
	shows(t, a, http.StatusOK, `id="findings"`, "notice bad", "99")
	if strings.Contains(a.body, "<html") {
		t.Errorf("the answer to a script is a page: %s", a.body)
	}
}

// TestTryingTheChangedRule tries what is typed, and replays it on recorded evaluations, before it is stored.
func TestTryingTheChangedRule(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	large, small := n.evaluate("default", badPayment), n.evaluate("default", `{"facts": {"amount": 50, "approvers": 1}, "scope": "finance/payments"}`)
	v := n.visitor()
	cel := []string{"check.cel", "facts.amount <= 30000"}
	with := func(pairs ...string) []string { return append(pairs, cel...) }
	shows(t, v.edits(editFIN, with("do", "try", "sample_facts", "amount=25000\napprovers = 1\nsupplier.name=A \"B\"")...), http.StatusOK, `<span class="badge good">ALLOW`, "by checks only")
	shows(t, v.edits(editFIN, with("do", "try", "sample_facts", `{"amount": 40000}`)...), http.StatusOK, `<span class="badge bad">DENY`)
	shows(t, v.edits(editFIN, with("do", "try", "sample_facts", `{"amount": `)...), http.StatusUnprocessableEntity, "begins like JSON and is none")
	shows(t, v.edits(editFIN, with("do", "try", "sample_facts", "amount=1\namount=2")...), http.StatusUnprocessableEntity, "in line 2", "amount is given twice")
	shows(t, v.edits(editFIN, "do", "ask"), http.StatusUnprocessableEntity, "paste one of them")
	code := v.edits("/p/default/rules/SEC-001/edit", "do", "try", "check.pattern.regex", `\bexec\(`, "sample_code", "a = 1\nexec(b)\n", "sample_path", "app.py")
	shows(t, code, http.StatusOK, `<span class="badge bad">DENY`, "app.py:2")
	shows(t, v.edits("/p/default/rules/SEC-001/edit", "do", "ask", "check", "none", "sample_code", "exec(b)\n"), http.StatusOK, "NEEDS CONFIRMATION", "No model is configured")
	shows(t, v.edits("/p/default/rules/SEC-001/edit", "do", "try", "check", "none", "sample_code", "exec(b)\n"), http.StatusOK, "no model was asked")

	a := v.edits(editFIN, with("do", "replay20")...)
	shows(t, a, http.StatusOK, "2 of 2 recorded evaluations replayed: ", "1 of them changes.", "/p/default/evaluations/"+large)
	if strings.Contains(a.body, "/p/default/evaluations/"+small) {
		t.Error("an evaluation that does not change is listed")
	}
	shows(t, v.edits(editFIN, "do", "replay100"), http.StatusOK, "0 of them change.")
	if r := n.rule("FIN-001"); r.Version != 1 {
		t.Error("trying has stored something")
	}
}

// TestAStaleFormKeepsWhatWasTyped says who has changed what meanwhile, and then stores the person's own fields only.
func TestAStaleFormKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	v := n.visitor()
	form := editForm(t, v.get("/p/default/rules/DOC-001/edit").body)
	if _, err := client.Call(t.Context(), n.api, op.ReviseRule.At("DOC-001"), map[string]any{"severity": "HIGH", "change_note": "Outages."}); err != nil {
		t.Fatal(err)
	}
	form.Set("do", "save")
	form.Set("statement", "Every service should have a page and an owner.")
	own := http.Header{"Origin": {v.base}, "Sec-Fetch-Site": {"same-origin"}}
	a := v.do(http.MethodPost, "/p/default/rules/DOC-001/edit", form, own)
	shows(t, a, http.StatusPreconditionFailed, "The rule has changed meanwhile", "Outages.", "<ins><bdi>HIGH</bdi></ins>", "a page and an owner.</textarea>", "local")
	if n.rule("DOC-001").Version != 2 {
		t.Fatal("a stale form was stored")
	}
	form = editForm(t, a.body)
	form.Set("do", "save")
	shows(t, v.do(http.MethodPost, "/p/default/rules/DOC-001/edit", form, own), http.StatusSeeOther)
	if r := n.rule("DOC-001"); r.Version != 3 || r.Severity != rule.High || r.Statement != "Every service should have a page and an owner." {
		t.Errorf("stored: %+v", r)
	}
}

// TestWeakeningIsConfirmed asks for a reason and a tick before a severe rule in force demands less.
func TestWeakeningIsConfirmed(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	v := n.visitor()
	shows(t, v.edits(editFIN, "do", "save", "severity", "LOW", "change_note", "It annoys."), http.StatusConflict, "severity LOW instead of CRITICAL", `name="allow_weakening"`)
	shows(t, v.edits(editFIN, "do", "save", "severity", "LOW", "allow_weakening", "true"), http.StatusConflict, "say why the rule is to demand less")
	if n.rule("FIN-001").Severity != rule.Critical {
		t.Fatal("an unconfirmed change was stored")
	}
	shows(t, v.edits(editFIN, "do", "save", "severity", "LOW", "change_note", "It annoys.", "allow_weakening", "true"), http.StatusSeeOther)
	if n.rule("FIN-001").Severity != rule.Low {
		t.Error("the confirmed change was not stored")
	}
}

// TestAChangeThatWaits says that a second person must approve it.
func TestAChangeThatWaits(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	if err := n.api.Do(t.Context(), http.MethodPatch, "/api/v1/projects/default", map[string]any{"two_person_approval": true}, nil); err != nil {
		t.Fatal(err)
	}
	v := n.visitor()
	shows(t, v.edits("/p/default/rules/SEC-001/edit", "do", "check", "severity", "CRITICAL"), http.StatusOK, "until another person approves it")
	a := v.edits("/p/default/rules/SEC-001/edit", "do", "save", "severity", "CRITICAL", "change_note", "An incident.")
	shows(t, a, http.StatusSeeOther)
	shows(t, v.get(a.header.Get("Location")), http.StatusOK, "another person must approve it", "waits for approval", "An incident.")
}

// TestRestoringAVersion fills the form with what the rule said once.
func TestRestoringAVersion(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	_, err := client.Call(t.Context(), n.api, op.ReviseRule.At("SEC-001"), map[string]any{"statement": "Nothing.", "source_refs": []rule.SourceRef{}, "tags": []string{}})
	if err != nil {
		t.Fatal(err)
	}
	v := n.visitor()
	shows(t, v.get("/p/default/rules/SEC-001/versions"), http.StatusOK, `/edit?version=1">Restore</a>`)
	path := "/p/default/rules/SEC-001/edit?version=1"
	shows(t, v.get(path), http.StatusOK, "The form holds version 1", "Code must not call eval.</textarea>")
	shows(t, v.edits(path, "do", "save"), http.StatusSeeOther)
	if r := n.rule("SEC-001"); r.Version != 3 || r.Statement != "Code must not call eval." || len(r.SourceRefs) != 1 || len(r.Tags) != 2 || r.ChangeNote != "Restores version 1." {
		t.Errorf("restored: %+v", r)
	}
}

// TestWhoMayChangeARule offers the form to reviewers only, and refuses forged ones.
func TestWhoMayChangeARule(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	viewer, reviewer := n.signedIn(n.key("vera", "viewer", "default")), n.signedIn(n.key("rosa", "reviewer", "default"))
	if a := viewer.get("/p/default/rules/FIN-001"); strings.Contains(a.body, "/edit") {
		t.Error("a viewer is offered the form")
	}
	if a := viewer.get(editFIN); a.status != http.StatusForbidden {
		t.Errorf("a viewer's form: %d", a.status)
	}
	if a := viewer.post(editFIN, "do", "save", "statement", "x"); a.status != http.StatusForbidden {
		t.Errorf("a viewer's forged change: %d", a.status)
	}
	shows(t, reviewer.get("/p/default/rules/FIN-001"), http.StatusOK, `/edit" data-key="e">Change the rule</a>`)
	shows(t, reviewer.edits(editFIN, "do", "replay20", "sample_facts", "amount=5"), http.StatusOK, `<span class="badge good">ALLOW`, "0 of 0 recorded evaluations")
	shows(t, reviewer.get("/p/elsewhere/rules/FIN-001/edit"), http.StatusNotFound)
	form := editForm(t, reviewer.get(editFIN).body)
	form.Set("do", "save")
	form.Set("severity", "HIGH")
	a := reviewer.do(http.MethodPost, editFIN, form, http.Header{"Origin": {"https://evil.example"}, "Sec-Fetch-Site": {"cross-site"}})
	if a.status != http.StatusForbidden || n.rule("FIN-001").Severity != rule.Critical {
		t.Errorf("a form of another site: %d", a.status)
	}
}

// TestAHostileRuleInTheForm keeps markup as text and reports characters that nobody sees.
func TestAHostileRuleInTheForm(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	hostile := "</textarea><script>alert(1)</script> must be \u202ekept."
	_, err := client.Call(t.Context(), n.api, op.CreateRule, wire.CreateRule{RuleInput: wire.RuleInput{Slug: new("BAD-1"), Statement: hostile, Owner: new(`"><img src=x>`)}})
	if err != nil {
		t.Fatal(err)
	}
	v := n.visitor()
	a := v.edits("/p/default/rules/BAD-1/edit", "do", "check", "sample_facts", "</textarea><script>alert(2)</script>")
	if strings.Contains(a.body, "<script>alert") || strings.Contains(a.body, "<img") {
		t.Errorf("the page has %s", a.body)
	}
	shows(t, a, http.StatusUnprocessableEntity, "Has characters that nobody sees", "U+202E")
	if got := editForm(t, a.body).Get("statement"); got != hostile {
		t.Errorf("the form has %q", got)
	}
}

// TestLiveValidation shows errors and verdicts as the fields change.
func TestLiveValidation(t *testing.T) {
	n := newNode(t, nil)
	n.evaluate("default", badPayment)
	tab := browsertest.Open(t, n.url)
	tab.Open(editFIN)
	findings := func(want string) {
		t.Helper()
		tab.Wait("document.getElementById('findings').textContent.includes(" + `"` + want + `"` + ")")
	}
	tab.Type("[name='check.cel']", "facts.amount <= 10000 ||")
	tab.Press("\t")
	findings("Line 1, column")
	tab.Type("[name='check.cel']", "facts.amount <= 30000")
	tab.Press("\t")
	findings("1 field changes")
	tab.Type("[name='sample_facts']", "amount=25000")
	tab.Press("\t")
	findings("by checks only")
	if got := tab.Text("#tried .badge"); got != "ALLOW" {
		t.Errorf("the verdict is %q", got)
	}
	if got := browsertest.Eval[string](tab, "document.querySelector(\"[name='check.cel']\").value"); got != "facts.amount <= 30000" {
		t.Errorf("the field has %q", got)
	}
	for _, one := range append(append(tab.Axe(), tab.Overflows()...), tab.Problems()...) {
		t.Error(one)
	}
	tab.Follow("button[value=replay20]")
	findings("1 of them changes.")
	if n.rule("FIN-001").Version != 1 {
		t.Error("the page has stored something")
	}
	for _, one := range append(tab.Axe(), tab.Problems()...) {
		t.Error(one)
	}
	tab.Width(360)
	for _, one := range tab.Overflows() {
		t.Error(one)
	}
	if status := tab.Follow("button[value=save]"); status != http.StatusOK {
		t.Errorf("storing: %d", status)
	}
	if got := tab.Text(".notice[role=status]"); got != "FIN-001 is at version 2 now." {
		t.Errorf("the page says %q", got)
	}
}

// TestReplayWithoutSubjects says why records cannot be replayed.
func TestReplayWithoutSubjects(t *testing.T) {
	t.Parallel()
	n := newNode(t, map[string]string{"record_subjects": "none"})
	n.evaluate("default", badPayment)
	shows(t, n.visitor().edits(editFIN, "do", "replay20", "check.cel", "true"), http.StatusOK, "0 of 1 recorded evaluations replayed", "could not be replayed", "does not hold the subject")
}
