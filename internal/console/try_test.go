package console_test

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// upload sends a form with files: names and values, then names of files and their contents.
func (v *visitor) upload(path string, fields, files []string) answer {
	v.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for i := 0; i+1 < len(fields); i += 2 {
		if err := w.WriteField(fields[i], fields[i+1]); err != nil {
			v.t.Fatal(err)
		}
	}
	for i := 0; i+1 < len(files); i += 2 {
		f, err := w.CreateFormFile("files", files[i])
		if err != nil {
			v.t.Fatal(err)
		}
		if _, err := io.WriteString(f, files[i+1]); err != nil {
			v.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		v.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, v.base+path, &body)
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {w.FormDataContentType()}, "Origin": {v.base}, "Sec-Fetch-Site": {"same-origin"}, "Accept": {"text/html"}}
	res, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	page, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(page)}
}

// recorded is the evaluation that an answer leads to.
func (n *node) recorded(a answer) wire.EvaluationRecord {
	n.t.Helper()
	to := a.header.Get("Location")
	if a.status != http.StatusSeeOther || !strings.HasPrefix(to, "/p/default/evaluations/") {
		n.t.Fatalf("status %d to %q: %s", a.status, to, a.body)
	}
	rec, err := client.Get(n.t.Context(), n.api, op.GetEvaluation.At(to[strings.LastIndex(to, "/")+1:]))
	if err != nil {
		n.t.Fatal(err)
	}
	return rec
}

// wants asserts parts of a page.
func wants(t *testing.T, a answer, status int, want ...string) {
	t.Helper()
	if a.status != status {
		t.Errorf("status %d, want %d", a.status, status)
	}
	for _, w := range want {
		if !strings.Contains(a.body, w) {
			t.Errorf("the page does not show %q: %s", w, a.body)
		}
	}
}

// nestedRule makes a rule in force that reads facts of all types.
func (n *node) nestedRule() {
	n.t.Helper()
	_, err := client.Call(n.t.Context(), n.api, op.CreateRule, wire.CreateRule{RuleInput: wire.RuleInput{
		Slug: new("FIN-002"), Statement: "Suppliers must be checked.", Severity: rule.High, Status: rule.Effective, Scope: []string{"finance/suppliers"},
		AppliesTo: &rule.AppliesTo{Kinds: []string{"transaction", "facts", "decision_request"}},
		Check: &rule.Check{
			When: "has(facts.supplier.country)",
			CEL:  "facts.supplier.country in ['FR', 'DE'] && facts.supplier.checked && facts.amount < 99999999999999999999.5 && 'legal' in facts.approvals",
		},
	}})
	if err != nil {
		n.t.Fatal(err)
	}
}

func TestTryWithoutScripts(t *testing.T) {
	n := newNode(t, nil)
	n.nestedRule()
	v := n.visitor()
	page := v.get("/p/default/try?scope=finance/suppliers&kind=transaction")
	wants(t, page, http.StatusOK, `name="f:supplier.country"`, `<option value="FR">`, `name="f:supplier.checked"`, `name="f:amount"`, "Such as FR, DE. Read by FIN-002.", `name="f:approvals"`, "1 rule applies")
	if strings.Contains(page.body, `name="f:approvers"`) {
		t.Error("a fact of another scope is asked for")
	}

	place := []string{"kind", "transaction", "scope", "finance/suppliers"}
	post := func(pairs ...string) answer { return v.post("/p/default/try", append(place, pairs...)...) }
	rec := n.recorded(post("f:amount", "12345678901234567890.25", "f:supplier.country", "FR", "f:supplier.checked", "true", "f:approvals", "legal, tax", "other", "payment_id=PMT-7\r\nweight=1.50"))
	if rec.Evaluation.OverallVerdict != rule.Allow || rec.Evaluation.RuleVerdicts[0].RuleSlug != "FIN-002" {
		t.Errorf("the verdict is %s: %+v", rec.Evaluation.OverallVerdict, rec.Evaluation.RuleVerdicts)
	}
	shown := v.get("/p/default/evaluations/" + rec.Evaluation.EvaluationID + "/json").body
	for _, want := range []string{`"payment_id": "PMT-7"`, `"country": "FR"`, `"checked": true`, `"legal"`, `"weight": 1.5`, `"kind": "transaction"`} {
		if !strings.Contains(shown, want) {
			t.Errorf("the record lacks %s: %s", want, shown)
		}
	}
	if rec := n.recorded(post("f:amount", "10", "f:supplier.country", "US", "f:supplier.checked", "false")); rec.Evaluation.OverallVerdict != rule.Deny {
		t.Errorf("a bad supplier: %s", rec.Evaluation.OverallVerdict)
	}

	// The other kinds.
	decision := n.recorded(v.post("/p/default/try", "kind", "decision_request", "f:question", "Which\r\nvendor?", "other", "context.budget=10"))
	if decision.Subject.Facts["question"] != "Which\nvendor?" {
		t.Errorf("the decision is %+v", decision.Subject)
	}
	if act := n.recorded(v.post("/p/default/try", "kind", "action", "action", "Send the list")); act.Subject.Action != "Send the list" {
		t.Errorf("the action is %+v", act.Subject)
	}
	if said := n.recorded(v.post("/p/default/try", "kind", "facts", "intent", "Pay", "other", "amount=5", "repository", "acme/x")); said.Subject.Intent != "Pay" || said.Subject.Repository != "acme/x" {
		t.Errorf("the facts are %+v", said.Subject)
	}

	// What is wrong stays on the page with what was typed.
	wants(t, post("f:amount", "1,000 <b>", "f:currency", "EUR"), http.StatusUnprocessableEntity, "This is not a number.", `value="1,000 &lt;b&gt;"`, `value="EUR"`, `aria-invalid="true"`)
	wants(t, post(), http.StatusUnprocessableEntity, "Nothing is filled in.")
	wants(t, post("other", "no value here"), http.StatusUnprocessableEntity, "is not a name and a value", "no value here")
	wants(t, post("f:supplier.country", "FR", "other", "supplier.country=DE"), http.StatusUnprocessableEntity, "supplier.country is given twice.")
	wants(t, post("f:amount", "1", "other", "amount.net=1"), http.StatusUnprocessableEntity, "amount has a value already.")
	wants(t, post("other", `x={"a":`), http.StatusUnprocessableEntity, "begins like JSON and is none")
	wants(t, v.post("/p/default/try", "kind", "decision_request", "other", "budget=1"), http.StatusUnprocessableEntity, "Write context.budget=1.")
	wants(t, v.post("/p/default/try", "kind", "action"), http.StatusUnprocessableEntity, "Say what is to be done.")
	wants(t, v.post("/p/default/try", "kind", "facts", "node_id", "01a204f7-e50c-75aa-8d3c-faed7a3bc691", "other", "a=1"), http.StatusNotFound, "01a204f7-e50c-75aa-8d3c-faed7a3bc691", "a=1")
	wants(t, v.get("/p/default/try?scope=a//..%00b&node_id=x"), http.StatusUnprocessableEntity, "Try a decision")
}

func TestTryFiles(t *testing.T) {
	n := newNode(t, map[string]string{"max_body": "40000"})
	v := n.visitor()
	const address = "/p/default/try/files"
	diff := "diff --git a/app.py b/app.py\n--- a/app.py\n+++ b/app.py\n@@ -1,2 +1,3 @@\n import os\n+x = eval(input())\n y = 1\n"
	for name, send := range map[string]func() answer{
		"a patch":        func() answer { return v.upload(address, []string{"repository", "acme/x"}, []string{"fix.patch", diff}) },
		"text of a diff": func() answer { return v.upload(address, nil, []string{"change.txt", diff}) },
		"a pasted diff": func() answer {
			return v.upload(address, []string{"pasted", strings.ReplaceAll(diff, "\n", "\r\n")}, []string{"", ""})
		},
		"a file": func() answer {
			return v.upload(address, []string{"folder", "src/"}, []string{"app.py", "x = eval(y)\n", "logo.bin", "\xff\xfe\x00"})
		},
	} {
		rec := n.recorded(send())
		if rec.Evaluation.OverallVerdict != rule.Deny || rec.Subject.Kind != wire.CodeChange {
			t.Errorf("%s: %s, %+v", name, rec.Evaluation.OverallVerdict, rec.Subject)
		}
		if name == "a file" && rec.Subject.Files[0].Path != "src/app.py" {
			t.Errorf("the file is %q", rec.Subject.Files[0].Path)
		}
	}
	doc := n.recorded(v.upload(address, nil, []string{"policy.md", "# Policy\n\nPay in time.\n"}))
	if doc.Subject.Kind != wire.DocumentKind || doc.Subject.Files[0].Path != "policy.md" {
		t.Errorf("the document is %+v", doc.Subject)
	}
	for range 2 { // the second time the project has it already
		page := n.recorded(v.upload(address, nil, []string{"policy.html", "<h1>Policy</h1><p>Pay in <script>x</script> time."}))
		if page.Subject.Kind != wire.DocumentKind || !strings.Contains(*page.Subject.Files[0].Content, "Pay in") {
			t.Errorf("the page is %+v", page.Subject)
		}
	}
	if md := n.recorded(v.upload(address, []string{"as", "change"}, []string{"README.md", "eval(x)"})); md.Subject.Kind != wire.CodeChange {
		t.Errorf("a file of the repository: %+v", md.Subject)
	}

	wants(t, v.upload(address, []string{"repository", "acme/\"<x>"}, nil), http.StatusUnprocessableEntity, "No file is chosen", `value="acme/&#34;&lt;x&gt;"`)
	wants(t, v.upload(address, []string{"pasted", "hello"}, nil), http.StatusUnprocessableEntity, "What is pasted is not a diff")
	wants(t, v.upload(address, []string{"as", "document"}, []string{"a.md", "x", "b.md", "y"}), http.StatusUnprocessableEntity, "these are 2 files")
	wants(t, v.upload(address, nil, []string{"big.txt", strings.Repeat("x", 50_000)}), http.StatusRequestEntityTooLarge, "more than 40,000 bytes together")
	wants(t, v.post(address, "pasted", diff), http.StatusUnprocessableEntity, "cannot be read")
	evaluator := n.signedIn(n.key("ev", "evaluator", "*"))
	wants(t, evaluator.upload(address, nil, []string{"a.pdf", "%PDF-1.4"}), http.StatusUnprocessableEntity, "needs the role reviewer")
	n.recorded(evaluator.upload(address, nil, []string{"fix.patch", diff}))
}

// TestTryRoles offers the screen to those whom the API lets evaluate.
func TestTryRoles(t *testing.T) {
	n := newNode(t, nil)
	viewer := n.signedIn(n.key("vi", "viewer", "*"))
	if page := viewer.get("/p/default/rules").body; strings.Contains(page, "/p/default/try") {
		t.Error("a viewer is offered to try a decision")
	}
	wants(t, viewer.get("/p/default/try"), http.StatusForbidden)
	wants(t, viewer.post("/p/default/try", "kind", "facts", "other", "a=1"), http.StatusForbidden)
	wants(t, viewer.upload("/p/default/try/files", nil, []string{"a.py", "x"}), http.StatusForbidden)
	evaluator := n.signedIn(n.key("ev", "evaluator", "default"))
	wants(t, evaluator.get("/p/default/rules"), http.StatusOK, `href="/p/default/try"`)
	wants(t, evaluator.get("/p/elsewhere/try"), http.StatusNotFound)
	forged := http.Header{"Origin": {"https://evil.example"}, "Sec-Fetch-Site": {"cross-site"}}
	wants(t, evaluator.do(http.MethodPost, "/p/default/try", map[string][]string{"kind": {"facts"}, "other": {"a=1"}}, forged), http.StatusForbidden)
}

// TestHostileTry has facts with names and constants that mean harm.
func TestHostileTry(t *testing.T) {
	n := newNode(t, nil)
	_, err := client.Call(t.Context(), n.api, op.CreateRule, wire.CreateRule{RuleInput: wire.RuleInput{
		Statement: "Names must be good.", Status: rule.Effective,
		Check: &rule.Check{CEL: "facts['<img src=x>\u202e'] == '\"><script>alert(1)</script>' && facts.ok == 'a\u202eb'"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	page := n.visitor().get("/p/default/try")
	wants(t, page, http.StatusOK, "&lt;img src=x&gt;", `\u202e`)
	if strings.Contains(page.body, "<script>alert") || strings.Contains(page.body, "<img") || strings.ContainsRune(page.body, '\u202e') {
		t.Errorf("the page has %s", page.body)
	}
	field := regexp.MustCompile(`name="(f:%5B[^"]+)"`).FindStringSubmatch(page.body)
	if field == nil {
		t.Fatal("the fact has no field")
	}
	rec := n.recorded(n.visitor().post("/p/default/try", "kind", "transaction", field[1], `"><script>alert(1)</script>`, "f:ok", "a\u202eb"))
	if rec.Subject.Facts["<img src=x>\u202e"] == nil {
		t.Errorf("the facts are %+v", rec.Subject.Facts)
	}
}
