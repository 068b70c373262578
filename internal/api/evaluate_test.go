package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/evaluate"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

const badDiff = `diff --git a/app/run.py b/app/run.py
index 1111111..2222222 100644
--- a/app/run.py
+++ b/app/run.py
@@ -10,3 +10,5 @@ def run(text):
     text = text.strip()
+    # quick and dirty
+    return eval(text)
     log(text)
     return None
`

var goodDiff = strings.Replace(badDiff, "eval(text)", "literal_eval(text)", 1)

// seedEvaluation makes the rules of the evaluation tests.
func seedEvaluation(n *node) {
	n.t.Helper()
	for _, r := range []fields{
		{
			"slug": "SEC-1", "statement": "Do not call eval.", "modality": "MUST_NOT", "severity": "HIGH", "status": "EFFECTIVE",
			"check": fields{"pattern": fields{"regex": `\beval\(`}, "message": "eval runs text as code.", "fix": "Use ast.literal_eval."},
		},
		{
			"slug": "PAY-1", "statement": "Payments above 10000 need a second approver.", "status": "EFFECTIVE", "severity": "CRITICAL",
			"check": fields{"cel": "double(facts.amount) <= 10000.0 || facts.second_approver != ''", "when": "has(facts.amount)"},
		},
		{"slug": "HR-1", "statement": "Letters to applicants are kind.", "status": "EFFECTIVE", "severity": "LOW", "scope": []string{"hr"}},
		{"slug": "HR-2", "statement": "Letters may be short.", "status": "EFFECTIVE", "modality": "MAY", "scope": []string{"hr/letters"}},
	} {
		n.call("POST", rulesPath, r).want(http.StatusCreated)
	}
}

// verdicts gives the verdicts by slug.
func verdicts(e rule.Evaluation) map[string]rule.Verdict {
	out := map[string]rule.Verdict{}
	for _, v := range e.RuleVerdicts {
		out[v.RuleSlug] = v.Verdict
	}
	return out
}

func TestEvaluate(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	seedEvaluation(n)
	tests := []struct {
		name    string
		body    fields
		overall rule.Verdict
		want    map[string]rule.Verdict
	}{
		{"a diff that breaks a rule", fields{"diff": badDiff}, rule.Deny, map[string]rule.Verdict{"SEC-1": rule.Deny, "PAY-1": rule.Allow}},
		{"the same mended", fields{"diff": goodDiff}, rule.Allow, map[string]rule.Verdict{"SEC-1": rule.Allow, "PAY-1": rule.Allow}},
		{"facts that keep the rules", fields{"facts": fields{"amount": 9000}, "mode": "posthoc"}, rule.Allow, map[string]rule.Verdict{"SEC-1": rule.Allow, "PAY-1": rule.Allow}},
		{"a fact is missing", fields{"facts": fields{"amount": 20000}}, rule.NeedsConfirmation, map[string]rule.Verdict{"SEC-1": rule.Allow, "PAY-1": rule.NeedsConfirmation}},
		{"facts that break a rule", fields{"facts": fields{"amount": 20000, "second_approver": ""}}, rule.Deny, map[string]rule.Verdict{"SEC-1": rule.Allow, "PAY-1": rule.Deny}},
		{
			"a rule that only a model could decide",
			fields{"facts": fields{"x": 1}, "severity_min": "low", "scope": "hr"},
			rule.NeedsConfirmation,
			map[string]rule.Verdict{"SEC-1": rule.Allow, "PAY-1": rule.Allow, "HR-1": rule.NeedsConfirmation},
		},
		{"max_rules", fields{"diff": badDiff, "max_rules": 1}, rule.Deny, map[string]rule.Verdict{"SEC-1": rule.Deny}},
		{"severity_min", fields{"diff": badDiff, "severity_min": "CRITICAL"}, rule.Allow, map[string]rule.Verdict{"PAY-1": rule.Allow}},
		{"whole files", fields{"files": []fields{{"path": "a.py", "content": "x = 1\ny = eval(x)\n"}}}, rule.Deny, map[string]rule.Verdict{"SEC-1": rule.Deny, "PAY-1": rule.Allow}},
		{"nothing at all", fields{}, rule.NeedsConfirmation, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			n.t = t
			got := n.call("POST", evaluatePath, test.body).want(http.StatusOK)
			e := into[rule.Evaluation](got)
			if e.OverallVerdict != test.overall {
				t.Errorf("overall %s, want %s: %s", e.OverallVerdict, test.overall, got.body)
			}
			if test.want != nil {
				if diff := cmp.Diff(test.want, verdicts(e)); diff != "" {
					t.Errorf("verdicts (-want +got):\n%s", diff)
				}
			}
			if e.RulesEvaluated != e.RulesPassed+e.RulesViolated+e.RulesUncertain || e.RulesViolated != len(e.Violations) || e.RulesUncertain != len(e.Warnings) {
				t.Errorf("the counts do not add up: %s", got.body)
			}
		})
	}
}

func TestEvaluateLines(t *testing.T) {
	t.Parallel()
	onBoth(t, testEvaluateLines)
}

func testEvaluateLines(t *testing.T, n *node) {
	seedEvaluation(n)
	got := n.call("POST", evaluatePath, fields{"diff": badDiff, "repository": "acme/app", "intent": "speed things up"}).want(http.StatusOK)
	e := into[rule.Evaluation](got)
	if len(e.Violations) != 1 {
		t.Fatalf("violations %+v", e.Violations)
	}
	v := e.Violations[0]
	if len(v.Locations) != 1 || v.Locations[0].FilePath != "app/run.py" || v.Locations[0].StartLine != 12 || v.Locations[0].EndLine != 12 ||
		v.Locations[0].FunctionName == "" || !strings.Contains(v.Locations[0].Snippet, "return eval(text)") {
		t.Errorf("locations %+v", v.Locations)
	}
	if v.IssueDescription != "eval runs text as code." || v.FixSuggestion != "Use ast.literal_eval." || v.DecidedBy != rule.ByCheck || v.Confidence != 1 {
		t.Errorf("violation %+v", v)
	}
	// The names of the spec, each one of them and nothing renamed.
	var raw map[string]any
	if err := json.Unmarshal(got.body, &raw); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"evaluation_id", "overall_verdict", "rule_verdicts", "violations", "warnings", "rules_evaluated", "rules_passed", "rules_violated",
		"rules_uncertain", "fix_summary", "model_ids_used", "total_latency_ms", "timestamp",
	} {
		if value, ok := raw[name]; !ok || value == nil {
			t.Errorf("%s is %v", name, value)
		}
	}
	verdict := raw["violations"].([]any)[0].(map[string]any)
	for _, name := range []string{"rule_id", "rule_statement", "verdict", "confidence", "reasoning", "issue_description", "fix_suggestion", "locations"} {
		if _, ok := verdict[name]; !ok {
			t.Errorf("%s is missing in a verdict", name)
		}
	}
	place := verdict["locations"].([]any)[0].(map[string]any)
	for _, name := range []string{"file_path", "start_line", "end_line", "function_name", "snippet"} {
		if _, ok := place[name]; !ok {
			t.Errorf("%s is missing in a location", name)
		}
	}
}

func TestAnswersAreNotEscapedForHTML(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	got := n.call("POST", rulesPath, fields{"statement": "a < b && c > d"}).want(http.StatusCreated)
	if !strings.Contains(string(got.body), `"a < b && c > d"`) || strings.Contains(string(got.body), "$schema") {
		t.Errorf("%s", got.body)
	}
}

func TestEvaluateQuick(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	seedEvaluation(n)
	e := into[rule.Evaluation](n.call("POST", evaluatePath+"/quick", fields{"action": "Send the letter", "scope": "hr"}).want(http.StatusOK))
	if e.OverallVerdict == "" || e.Mode != rule.Preflight || e.EvaluationID == "" {
		t.Errorf("%+v", e)
	}
	record := into[wire.EvaluationRecord](n.call("GET", evaluationsPath+"/"+e.EvaluationID, nil).want(http.StatusOK))
	if record.Subject.Action != "Send the letter" || record.Subject.Scope != "hr" {
		t.Errorf("recorded subject %+v", record.Subject)
	}
}

// The answer is joined from texts of rules; to callers it is the JSON that any list of rules is.
func TestApplicableRulesAreTheJSONOfTheRules(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for i := range 300 { // more than are written at a time
		n.call("POST", rulesPath, fields{
			"slug": fmt.Sprintf("T-%03d", i), "statement": `Text with <b>, "quotes", \u2028 and a line` + "\n" + "of it.", "rationale": strings.Repeat("Because. ", 40), "status": "EFFECTIVE",
		}).want(http.StatusCreated)
	}
	ask := func() []rule.Rule {
		t.Helper()
		got := n.call("POST", evaluatePath+"/applicable-rules", fields{}).want(http.StatusOK)
		list := into[[]rule.Rule](got)
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(list); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.body, want.Bytes()) {
			t.Errorf("the answer is not the JSON of its %d rules", len(list))
		}
		return list
	}
	ask()
	if list := ask(); len(list) != 300 {
		t.Errorf("%d rules apply, want 300", len(list))
	}
	n.call("PATCH", rulesPath+"/T-007", fields{"rationale": "Another one."}).want(http.StatusOK)
	for _, r := range ask() {
		if r.Slug == "T-007" && (r.Rationale != "Another one." || r.Version != 2) {
			t.Errorf("after its change rule %s has version %d and the rationale %q", r.Slug, r.Version, r.Rationale)
		}
	}
}

func TestApplicableRules(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	got := n.call("POST", evaluatePath+"/applicable-rules", fields{}).want(http.StatusOK)
	if strings.TrimSpace(string(got.body)) != "[]" {
		t.Errorf("no rules give %s, want a bare empty list", got.body)
	}
	seedEvaluation(n)
	slugs := func(body fields) string {
		t.Helper()
		var list []string
		for _, r := range into[[]rule.Rule](n.call("POST", evaluatePath+"/applicable-rules", body).want(http.StatusOK)) {
			list = append(list, r.Slug)
		}
		return strings.Join(list, " ")
	}
	for want, body := range map[string]fields{
		"HR-1 HR-2 PAY-1 SEC-1": {"scope": "hr/letters/applicants"},
		"HR-1 PAY-1 SEC-1":      {"scope": "hr"},
		"PAY-1 SEC-1":           {"scope": "finance", "file_paths": []string{"a.py"}, "repository": "acme/app"},
	} {
		got := strings.Fields(slugs(body))
		if len(got) != len(strings.Fields(want)) {
			t.Errorf("%v gives %v, want %s", body, got, want)
		}
		for slug := range strings.FieldsSeq(want) {
			if !strings.Contains(strings.Join(got, " "), slug) {
				t.Errorf("%v gives %v, want %s", body, got, want)
			}
		}
	}
	if total := into[wire.Page[wire.EvaluationSummary]](n.call("GET", evaluationsPath, nil).want(http.StatusOK)).Total; total != 0 {
		t.Errorf("asking which rules apply recorded %d evaluations", total)
	}
}

func TestExplainRules(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	path := evaluatePath + "/applicable-rules/explain"
	seedEvaluation(n)
	n.call("POST", rulesPath, fields{"slug": "SEC-2", "statement": "Do not call eval or exec.", "modality": "MUST_NOT", "severity": "HIGH", "status": "EFFECTIVE"}).want(http.StatusCreated)
	n.call("POST", rulesPath+"/SEC-2/relationships", fields{"to": "SEC-1", "kind": "OVERRIDES", "reason": "It names both."}).want(http.StatusCreated)
	explain := func(body fields) (string, wire.ExplainedRules) {
		t.Helper()
		got := into[wire.ExplainedRules](n.call("POST", path, body).want(http.StatusOK))
		var list []string
		for _, r := range got.Items {
			list = append(list, r.RuleSlug+" "+string(r.Part))
		}
		return strings.Join(list, ", "), got
	}
	text, _ := explain(fields{"scope": "hr/letters", "file_paths": []string{"a.py"}})
	for _, want := range []string{"HR-1 applies", "SEC-2 applies", "HR-2 context", "SEC-1 overridden"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s; want %s", text, want)
		}
	}
	text, got := explain(fields{"rule": "SEC-1", "part": "Overridden"})
	if text != "SEC-1 overridden" || got.Items[0].ByRuleSlug != "SEC-2" || got.Items[0].Reasons[0].Text != "SEC-2 overrides it: It names both." || got.Counts.Overridden != 1 {
		t.Errorf("%s: %+v", text, got)
	}
	text, _ = explain(fields{"subject_kind": "transaction", "facts": fields{"supplier": "S"}, "part": "not_concerned"})
	if text != "PAY-1 not_concerned" {
		t.Errorf("a payment without an amount: %s", text)
	}
	if _, got = explain(fields{"severity_min": "high", "part": "left_out", "page": 2, "page_size": 1}); got.Total != 2 || len(got.Items) != 1 || got.Items[0].Reasons[0].About != "severity" {
		t.Errorf("left out by severity: %+v", got)
	}
	for field, body := range map[string]fields{
		"part": {"part": "some"}, "subject_kind": {"subject_kind": "song"}, "severity_min": {"severity_min": "bad"}, "page_size": {"page_size": 101},
		"file_paths": {"file_paths": []string{"a"}, "subject_kind": "transaction"},
	} {
		p := n.call("POST", path, body).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid)
		if len(p.Errors) != 1 || p.Errors[0].Field != field {
			t.Errorf("%s: %+v", field, p)
		}
	}
	n.call("POST", path, fields{"rule": "NO-1"}).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	n.call("POST", path, fields{"environment": "production"}).wantProblem(http.StatusConflict, rule.CodeConflict)
}

func TestEvaluations(t *testing.T) {
	t.Parallel()
	onBoth(t, testEvaluations)
}

func testEvaluations(t *testing.T, n *node) {
	seedEvaluation(n)
	root := n.makeKey(auth.Admin, store.AllProjects)
	n.key = n.makeKey(auth.Evaluator, "default")
	denied := into[rule.Evaluation](n.call("POST", evaluatePath, fields{"diff": badDiff, "repository": "acme/app"}).want(http.StatusOK))
	n.key = root
	allowed := into[rule.Evaluation](n.call("POST", evaluatePath, fields{"diff": goodDiff, "mode": "posthoc"}).want(http.StatusOK))

	for query, want := range map[string]string{
		"":                            allowed.EvaluationID + " " + denied.EvaluationID,
		"verdict=deny":                denied.EvaluationID,
		"mode=POSTHOC":                allowed.EvaluationID,
		"actor=key:evaluator@default": denied.EvaluationID,
		"verdict=NEEDS_CONFIRMATION":  "",
		"since=2999-01-01T00:00:00Z":  "",
		"until=2999-01-01T00:00:00Z":  allowed.EvaluationID + " " + denied.EvaluationID,
		"page_size=1&page=2":          denied.EvaluationID,
		"since=" + allowed.Timestamp.Truncate(time.Microsecond).Format("2006-01-02T15:04:05.000000Z"): allowed.EvaluationID,
	} {
		page := into[wire.Page[wire.EvaluationSummary]](n.call("GET", evaluationsPath+"?"+query, nil).want(http.StatusOK))
		var got []string
		for _, e := range page.Items {
			got = append(got, e.EvaluationID)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("?%s gives %q, want %q", query, got, want)
		}
	}
	for query, field := range map[string]string{
		"verdict=MAYBE": "verdict", "mode=never": "mode", "since=yesterday": "since", "until=2026-01-01": "until",
		"since=0001-01-01T00:00:00%2B23:59": "since",
	} {
		n.call("GET", evaluationsPath+"?"+query, nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, field)
	}
	record := into[wire.EvaluationRecord](n.call("GET", evaluationsPath+"/"+denied.EvaluationID, nil).want(http.StatusOK))
	if diff := cmp.Diff(denied, *record.Evaluation); diff != "" {
		t.Errorf("the record differs from the answer (-answer +record):\n%s", diff)
	}
	if record.Subject.Diff != badDiff || record.Audit == nil || record.Audit.Actor != "key:evaluator@default" || len(record.Rules) != 2 {
		t.Errorf("record %+v", record)
	}
	for _, id := range []string{"x", "00000000-0000-0000-0000-000000000000"} {
		n.call("GET", evaluationsPath+"/"+id, nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	}
}

func TestAudit(t *testing.T) {
	t.Parallel()
	onBoth(t, testAudit)
}

func testAudit(t *testing.T, n *node) {
	seedEvaluation(n)
	n.call("POST", evaluatePath, fields{"diff": badDiff}).want(http.StatusOK)
	head := into[wire.AuditHead](n.call("GET", "/api/v1/audit/head", nil).want(http.StatusOK))
	if head.Seq < 6 || len(head.Hash) != 64 {
		t.Errorf("head %+v", head)
	}
	report := into[wire.AuditReport](n.call("GET", "/api/v1/audit/verify", nil).want(http.StatusOK))
	if !report.OK() || report.Entries != head.Seq || report.Head != head {
		t.Errorf("report %+v", report)
	}
	n.call("POST", evaluatePath, fields{"diff": goodDiff}).want(http.StatusOK)
	noted := "/api/v1/audit/verify?expect_seq=" + itoa(head.Seq) + "&expect_hash="
	if report := into[wire.AuditReport](n.call("GET", noted+head.Hash, nil).want(http.StatusOK)); !report.OK() {
		t.Errorf("with the head noted before: %+v", report)
	}
	if report := into[wire.AuditReport](n.call("GET", noted+strings.Repeat("0", 64), nil).want(http.StatusOK)); report.OK() {
		t.Errorf("a head that never was is found: %+v", report)
	}
	n.call("GET", "/api/v1/audit/verify?expect_seq=3", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "expect_seq")
	n.call("GET", "/api/v1/audit/verify?project_id=nowhere", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	n.call("GET", "/api/v1/audit/head?project_id=nowhere", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
}

func itoa(n int64) string {
	b, _ := json.Marshal(n)
	return string(b)
}

func TestProjects(t *testing.T) {
	t.Parallel()
	onBoth(t, testProjects)
}

func testProjects(t *testing.T, n *node) {
	made := n.call("POST", projectsPath, fields{"id": "pay", "description": "Payments", "two_person_approval": true}).want(http.StatusCreated)
	p := into[rule.Project](made)
	if p.ID != "pay" || p.Name != "pay" || !p.TwoPerson || made.header.Get("Location") != projectsPath+"/pay" {
		t.Errorf("made %+v at %s", p, made.header.Get("Location"))
	}
	n.call("POST", projectsPath, fields{"id": "pay"}).wantProblem(http.StatusConflict, rule.CodeConflict)
	n.call("POST", projectsPath, fields{"id": "No Such"}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "id")
	n.call("POST", projectsPath, fields{"name": "x"}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "id")
	changed := into[rule.Project](n.call("PATCH", projectsPath+"/pay", `{"name":"Pay","description":null}`).want(http.StatusOK))
	if changed.Name != "Pay" || changed.Description != "" || !changed.TwoPerson {
		t.Errorf("changed %+v", changed)
	}
	n.call("PATCH", projectsPath+"/pay", `{"name":null,"two_person_approval":null}`).
		wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "name", "two_person_approval")
	for _, id := range []string{"nowhere", "No%20Such", "*"} {
		n.call("GET", projectsPath+"/"+id, nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
		n.call("PATCH", projectsPath+"/"+id, `{"name":"x"}`).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	}
	list := into[wire.Page[rule.Project]](n.call("GET", projectsPath+"?page_size=1&page=2", nil).want(http.StatusOK))
	if list.Total != 2 || len(list.Items) != 1 || list.Items[0].ID != "pay" {
		t.Errorf("list %+v", list)
	}
	// Two people: the author cannot approve.
	n.call("POST", rulesPath+"?project_id=pay", fields{"slug": "P-1", "statement": "x", "status": "REVIEW"}).want(http.StatusCreated)
	n.call("POST", rulesPath+"/P-1/transitions?project_id=pay", fields{"to": "APPROVED"}).wantProblem(http.StatusConflict, rule.CodeConflict)
}

// stubEvaluator answers at once, to see the API alone.
type stubEvaluator struct {
	evaluator
	answer *rule.Evaluation
	err    error
	panics any
	takes  time.Duration
}

func (s *stubEvaluator) Submit(ctx context.Context, _ evaluate.Named, _ evaluate.Request) (*evaluate.Answer, error) {
	if s.panics != nil {
		panic(s.panics)
	}
	if err := s.work(ctx); err != nil {
		return nil, err
	}
	return &evaluate.Answer{Evaluation: s.answer}, nil
}

func (s *stubEvaluator) List(ctx context.Context, _ string, _ wire.EvaluationQuery) (wire.EvaluationPage, error) {
	return wire.EvaluationPage{}, s.work(ctx)
}

// work takes its time, unless the context ends.
func (s *stubEvaluator) work(ctx context.Context) error {
	if s.takes > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(s.takes):
		}
	}
	return s.err
}

// stubAnswer is an evaluation of 20 rules, two of them broken.
func stubAnswer() *rule.Evaluation {
	e := &rule.Evaluation{EvaluationID: audit.NewID(), ProjectID: "default", Timestamp: time.Now().UTC(), ModelIDsUsed: []string{}, Overridden: []rule.Overridden{}}
	for i := range 20 {
		v := rule.RuleVerdict{
			RuleID: audit.NewID(), RuleStatement: strings.Repeat("Secrets must not be committed. ", 4), Verdict: rule.Allow,
			DecidedBy: rule.ByCheck, Confidence: 1, Reasoning: "No line matches the pattern.", Locations: []rule.Location{}, Evidence: []rule.Evidence{},
		}
		if i < 2 {
			v.Verdict, v.Locations = rule.Deny, []rule.Location{{FilePath: "a.go", StartLine: 3, EndLine: 3, Snippet: "x := 1"}}
		}
		e.RuleVerdicts = append(e.RuleVerdicts, v)
	}
	e.Tally()
	return e
}

// BenchmarkEvaluateOverhead measures all that the API adds to an evaluation: routing, authentication, reading and checking
// a body of 2 KB, and writing an answer of 20 verdicts.
func BenchmarkEvaluateOverhead(b *testing.B) {
	n := newNode(b)
	n.key = n.makeKey(auth.Evaluator, "default")
	n.evaluateWith(&stubEvaluator{answer: stubAnswer()})
	body, err := json.Marshal(fields{
		"diff": badDiff + strings.Repeat("+\tx := \"quoted\"\n", 80), "facts": fields{"amount": 12, "currency": "EUR"}, "max_rules": 20, "repository": "acme/app",
	})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest("POST", evaluatePath, strings.NewReader(string(body)))
		r.Header.Set("Authorization", "Bearer "+n.key)
		r.Header.Set("Content-Type", jsonType)
		w := httptest.NewRecorder()
		n.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			b.Fatal(w.Code, w.Body.String())
		}
	}
}

// BenchmarkEvaluateServed measures evaluations over real connections, decided by checks and recorded durably, with all that
// clients and server take on the same machine.
func BenchmarkEvaluateServed(b *testing.B) {
	n := newNode(b)
	seedEvaluation(n)
	srv := httptest.NewServer(n)
	defer srv.Close()
	client := srv.Client()
	client.Transport.(*http.Transport).MaxIdleConnsPerHost = 64
	body, err := json.Marshal(fields{"diff": badDiff})
	if err != nil {
		b.Fatal(err)
	}
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			res, err := client.Post(srv.URL+evaluatePath, jsonType, bytes.NewReader(body))
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
			if res.StatusCode != http.StatusOK {
				b.Errorf("status %d", res.StatusCode)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}
