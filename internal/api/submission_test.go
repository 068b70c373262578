package api

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"tenet/internal/evaluate"
	"tenet/internal/judge/judgetest"
	"tenet/internal/llm"
	"tenet/internal/llm/llmtest"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// kindRules are rules of which each speaks of one kind of subject, and reads a named field of it.
func (n *node) kindRules() {
	n.t.Helper()
	for slug, r := range map[string]struct{ kind, cel string }{
		"CODE": {"code_change", "!subject.text.contains('eval(')"},
		"EVT":  {"business_event", "facts.event_type != 'export' || facts.actor == 'dpo' || facts.occurred_at < '2026'"},
		"DOC":  {"document", "!subject.text.contains('unlimited liability') || facts.document_type == 'draft' || facts.title == 'Sample'"},
		"TX":   {"transaction", "facts.transaction_type != 'payment' || facts.currency != 'EUR' || facts.amount <= 100.0 || facts.approved"},
		"COM":  {"communication", "facts.channel != 'email' || facts.sender == 'press' || !facts.content.contains('secret') || size(facts.recipients) == 1"},
		"DEC":  {"decision_request", "facts.decision_type != 'hire' || facts.question.contains('?') || size(facts.options) > 1 || has(facts.context.quorum)"},
		"TOOL": {"tool_call", "facts.server != 'files' || facts.tool != 'write_file' || facts.arguments.path.startsWith('/srv/')"},
	} {
		n.call("POST", rulesPath, fields{
			"slug": slug, "statement": "Rule " + slug + ".", "status": "EFFECTIVE", "severity": "HIGH",
			"applies_to": fields{"kinds": []string{r.kind}}, "check": fields{"cel": r.cel},
		}).want(http.StatusCreated)
	}
}

func TestSubmitEachKind(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.kindRules()
	for _, test := range []struct {
		name    string
		subject fields
		rule    string
		want    rule.Verdict
	}{
		{"code", fields{"kind": "code_change", "diff": badDiff, "repository": "a/b", "intent": "x"}, "CODE", rule.Deny},
		{"code in files", fields{"kind": "code_change", "files": []fields{{"path": "a.py", "content": "eval(x)"}}}, "CODE", rule.Deny},
		{"good code", fields{"kind": "code_change", "diff": strings.ReplaceAll(goodDiff, "eval(", "run(")}, "CODE", rule.Allow},
		{"event", fields{"kind": "business_event", "event_type": "export", "actor": "bob", "occurred_at": "2026-03-01T10:00:00Z"}, "EVT", rule.Deny},
		{"event of another actor", fields{"kind": "business_event", "event_type": "export", "actor": "dpo"}, "EVT", rule.Allow},
		{"event of another time", fields{"kind": "business_event", "event_type": "export", "actor": "bob", "occurred_at": "2025-03-01T10:00:00Z"}, "EVT", rule.Allow},
		{"document", fields{"kind": "document", "content": "We accept unlimited liability.", "document_type": "contract", "title": "Master agreement"}, "DOC", rule.Deny},
		{"document of another type", fields{"kind": "document", "content": "unlimited liability", "document_type": "draft", "title": "A"}, "DOC", rule.Allow},
		{"document of another title", fields{"kind": "document", "content": "unlimited liability", "document_type": "contract", "title": "Sample"}, "DOC", rule.Allow},
		{"transaction", fields{"kind": "transaction", "transaction_type": "payment", "amount": 250.5, "currency": "EUR", "facts": fields{"approved": false}}, "TX", rule.Deny},
		{"transaction approved", fields{"kind": "TRANSACTION", "transaction_type": "payment", "amount": 250.5, "currency": "EUR", "facts": fields{"approved": true}}, "TX", rule.Allow},
		{"transaction of nothing", fields{"kind": "transaction", "transaction_type": "payment", "amount": 0, "currency": "EUR", "facts": fields{"approved": false}}, "TX", rule.Allow},
		{"message", fields{"kind": "communication", "channel": "email", "content": "a secret", "sender": "bob", "recipients": []string{"a", "b"}}, "COM", rule.Deny},
		{"message of another sender", fields{"kind": "communication", "channel": "email", "content": "a secret", "sender": "press", "recipients": []string{"a", "b"}}, "COM", rule.Allow},
		{"message to one", fields{"kind": "communication", "channel": "email", "content": "a secret", "sender": "bob", "recipients": []string{"a"}}, "COM", rule.Allow},
		{"decision", fields{"kind": "decision_request", "decision_type": "hire", "question": "Hire.", "context": fields{"x": 1}, "options": []any{"yes"}}, "DEC", rule.Deny},
		{"decision with options", fields{"kind": "decision_request", "decision_type": "hire", "question": "Hire.", "context": fields{"x": 1}, "options": []any{"yes", fields{"name": "no"}}}, "DEC", rule.Allow},
		{"decision with context", fields{"kind": "decision_request", "decision_type": "hire", "question": "Hire.", "context": fields{"quorum": 3}, "options": []any{"yes"}}, "DEC", rule.Allow},
		{"tool call", fields{"kind": "tool_call", "server": "files", "tool": "write_file", "arguments": fields{"path": "/etc/passwd"}}, "TOOL", rule.Deny},
		{"tool call within", fields{"kind": "tool_call", "server": "files", "tool": "write_file", "arguments": fields{"path": "/srv/a"}}, "TOOL", rule.Allow},
		{"resource", fields{"kind": "tool_call", "server": "files", "method": "resources/read", "arguments": fields{"uri": "file:///a"}}, "TOOL", rule.Allow},
	} {
		t.Run(test.name, func(t *testing.T) {
			n.t = t
			got := n.call("POST", submissionsPath, fields{"subject": test.subject}).want(http.StatusOK)
			a := into[wire.SubmissionAnswer](got)
			if diff := gocmp.Diff(map[string]rule.Verdict{test.rule: test.want}, verdicts(a.Evaluation)); diff != "" {
				t.Errorf("verdicts, the rules of other kinds not among them (-want +got):\n%s%s", diff, got.body)
			}
			if a.SubjectKind != strings.ToLower(test.subject["kind"].(string)) || a.SubmissionID == "" {
				t.Errorf("kind %q, submission %q", a.SubjectKind, a.SubmissionID)
			}
			state := into[wire.SubmissionState](n.call("GET", submissionsPath+"/"+a.SubmissionID, nil).want(http.StatusOK))
			if diff := gocmp.Diff(&a.Evaluation, state.Evaluation); diff != "" || state.Status != wire.Completed || state.SubjectKind != a.SubjectKind {
				t.Errorf("the submission read again is %s %s (-want +got):\n%s", state.Status, state.SubjectKind, diff)
			}
		})
	}
}

func TestSubmitDocumentIsFoundByLine(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.call("POST", rulesPath, fields{
		"slug": "D-1", "statement": "No unlimited liability.", "modality": "MUST_NOT", "status": "EFFECTIVE",
		"check": fields{"pattern": fields{"regex": "unlimited liability"}},
	}).want(http.StatusCreated)
	a := into[wire.SubmissionAnswer](n.call("POST", submissionsPath, fields{"subject": fields{
		"kind": "document", "title": "Master agreement", "content": "1. Parties\n\n2. We accept unlimited liability.\n",
	}}).want(http.StatusOK))
	if len(a.Violations) != 1 || len(a.Violations[0].Locations) != 1 || a.Violations[0].Locations[0].FilePath != "Master agreement" ||
		a.Violations[0].Locations[0].StartLine != 3 {
		t.Errorf("violations %+v, want one in line 3 of the document", a.Violations)
	}
}

func TestSubmitRefuses(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	tx := func(more fields) fields {
		s := fields{"kind": "transaction", "transaction_type": "payment", "amount": 1}
		maps.Copy(s, more)
		return s
	}
	kinds := "code_change, business_event, document, transaction, communication, decision_request, tool_call"
	for _, test := range []struct {
		name   string
		body   any
		status int
		code   rule.Code
		fields []string
		says   string
	}{
		{"an unknown kind", fields{"subject": fields{"kind": "poem"}}, 422, rule.CodeInvalid, []string{"subject.kind"}, kinds},
		{"no kind", fields{"subject": fields{"amount": 1}}, 422, rule.CodeInvalid, []string{"subject.kind"}, kinds},
		{"a kind that is no string", fields{"subject": fields{"kind": 7}}, 422, rule.CodeInvalid, []string{"subject.kind"}, kinds},
		{"no subject", fields{}, 422, rule.CodeInvalid, []string{"subject"}, ""},
		{"a subject that is no object", fields{"subject": "x"}, 422, rule.CodeInvalid, []string{"subject"}, ""},
		{"a field of another kind", fields{"subject": tx(fields{"diff": "x"})}, 422, rule.CodeInvalid, []string{"subject.diff"}, "transaction_type"},
		{"a wrong type", fields{"subject": tx(fields{"amount": "1"})}, 422, rule.CodeInvalid, []string{"subject.amount"}, ""},
		{"a kind named twice", `{"subject":{"kind":"transaction","kind":"document"}}`, 400, rule.CodeInvalid, nil, ""},
		{"an unknown field", fields{"subject": tx(nil), "mod": "x"}, 422, rule.CodeInvalid, []string{"mod"}, ""},
		{"facts that contradict", fields{"subject": tx(fields{"facts": fields{"amount": 2}})}, 422, rule.CodeInvalid, []string{"subject.facts.amount"}, ""},
		{"two texts", fields{"subject": fields{"kind": "document", "content": "x", "document_id": "d"}}, 404, rule.CodeNotFound, nil, ""},
		{"no text", fields{"subject": fields{"kind": "document", "title": "x"}}, 422, rule.CodeInvalid, []string{"subject.content"}, ""},
		{"an unknown document", fields{"subject": fields{"kind": "document", "document_id": "d"}}, 404, rule.CodeNotFound, nil, `document "d"`},
		{"a broken diff", fields{"subject": fields{"kind": "code_change", "diff": "@@ -1 +1 @@\n-a\n"}}, 422, rule.CodeInvalid, []string{"subject.diff"}, ""},
		{"an unknown environment", fields{"subject": tx(nil), "environment": "moon"}, 422, rule.CodeInvalid, []string{"environment"}, "staging"},
		{"nothing deployed", fields{"subject": tx(nil), "environment": "production"}, 409, rule.CodeConflict, nil, "production"},
		{"an unknown node", fields{"subject": tx(nil), "node_id": "11111111-1111-7111-8111-111111111111"}, 404, rule.CodeNotFound, nil, "node"},
		{"a bad submission_id", fields{"subject": tx(nil), "submission_id": "a b"}, 422, rule.CodeInvalid, []string{"submission_id"}, ""},
		{"the submission_id of an event", fields{"subject": tx(nil), "submission_id": "GitHub:7b1f"}, 422, rule.CodeInvalid, []string{"submission_id"}, "github:"},
		{"an unknown project", fields{"subject": tx(nil), "project_id": "nowhere"}, 404, rule.CodeNotFound, nil, ""},
		{"too deep", `{"subject":{"kind":"transaction","facts":` + strings.Repeat(`{"a":`, 100) + `1` + strings.Repeat(`}`, 100) + `}}`, 400, rule.CodeInvalid, nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			n.t = t
			p := n.call("POST", submissionsPath, test.body).wantProblem(test.status, test.code, test.fields...)
			if text := fmt.Sprint(p.Detail, p.Errors); !strings.Contains(text, test.says) {
				t.Errorf("%s, want it to say %q", text, test.says)
			}
		})
	}
	if p := n.call("POST", submissionsPath, fields{"subject": tx(fields{"facts": fields{"amount": 1}})}); p.status != http.StatusOK {
		t.Errorf("facts that say the same are refused: %s", p.body)
	}
}

func TestSubmitOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, testSubmitOnce)
}

func testSubmitOnce(t *testing.T, n *node) {
	n.call("POST", rulesPath, fields{"slug": "J-1", "statement": "Be kind.", "status": "EFFECTIVE"}).want(http.StatusCreated)
	var mu sync.Mutex
	calls := 0
	release := make(chan struct{})
	model := judgetest.Model(func(judgetest.Rule, string) judgetest.Entry {
		mu.Lock()
		calls++
		mu.Unlock()
		<-release
		return judgetest.Allow()
	})
	n.judging(model)
	body := fields{"subject": fields{"kind": "communication", "content": "Dear Ann", "recipients": []string{"ann"}}, "submission_id": "letter-1"}
	const parallel = 16
	bodies := make([]string, parallel)
	var wg sync.WaitGroup
	for i := range parallel {
		wg.Go(func() {
			got := n.call("POST", submissionsPath, body, "Idempotency-Key", "key-1")
			bodies[i] = fmt.Sprint(got.status, string(got.body))
		})
	}
	waitFor(t, func() bool { mu.Lock(); defer mu.Unlock(); return calls > 0 })
	close(release)
	wg.Wait()
	for _, b := range bodies {
		if b != bodies[0] || !strings.HasPrefix(b, "200") {
			t.Fatalf("answers differ:\n%s\n%s", bodies[0], b)
		}
	}
	if calls != 1 {
		t.Errorf("%d evaluations, want 1", calls)
	}
	again := n.call("POST", submissionsPath, body, "Idempotency-Key", "key-1").want(http.StatusOK)
	if fmt.Sprint(200, string(again.body)) != bodies[0] {
		t.Errorf("later, the answer is\n%s\nand was\n%s", again.body, bodies[0])
	}
	if list := into[wire.Page[wire.EvaluationSummary]](n.call("GET", evaluationsPath, nil)); list.Total != 1 {
		t.Errorf("%d records, want 1", list.Total)
	}
	// White space and the order of fields do not make another request; anything else does.
	same := `{"submission_id":"letter-1", "subject":{"recipients":["ann"],"content":"Dear Ann","kind":"communication"}}`
	n.call("POST", submissionsPath, same, "Idempotency-Key", "key-1").want(http.StatusOK)
	body["max_rules"] = 5
	n.call("POST", submissionsPath, body).wantProblem(http.StatusConflict, rule.CodeConflict)
	n.call("POST", submissionsPath, same, "Idempotency-Key", "key-2").wantProblem(http.StatusConflict, rule.CodeConflict)
	delete(body, "submission_id")
	n.call("POST", submissionsPath, body, "Idempotency-Key", "key-1").wantProblem(http.StatusConflict, rule.CodeConflict)
	n.call("POST", evaluatePath, fields{"facts": fields{"a": 1}}, "Idempotency-Key", "key-1").wantProblem(http.StatusConflict, rule.CodeConflict)
	first := n.call("POST", evaluatePath, fields{"facts": fields{"a": 1}}, "Idempotency-Key", "key-3").want(http.StatusOK)
	second := n.call("POST", evaluatePath, fields{"facts": fields{"a": 1}}, "Idempotency-Key", "key-3").want(http.StatusOK)
	if string(first.body) != string(second.body) {
		t.Errorf("evaluate answers\n%s\nand then\n%s", first.body, second.body)
	}
}

// TestASubmissionTakesNoIdOfAnEvaluation holds that the answer to a request without a name cannot be replaced under its id.
func TestASubmissionTakesNoIdOfAnEvaluation(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.call("POST", rulesPath, fields{"slug": "P-1", "statement": "Pay little.", "status": "EFFECTIVE", "check": fields{"cel": "facts.amount <= 10"}}).want(http.StatusCreated)
	pay := func(amount int, id string) any {
		body := fields{"subject": fields{"kind": "transaction", "amount": amount}}
		if id != "" {
			body["submission_id"] = id
		}
		return body
	}
	denied := into[wire.SubmissionAnswer](n.call("POST", submissionsPath, pay(1000, "")).want(http.StatusOK))
	for _, id := range []string{denied.SubmissionID, strings.ToUpper(denied.SubmissionID)} {
		n.call("POST", submissionsPath, pay(1, id)).wantProblem(http.StatusConflict, rule.CodeConflict)
		n.call("POST", submissionsPath, pay(1, id), "Prefer", "respond-async").wantProblem(http.StatusConflict, rule.CodeConflict)
	}
	state := into[wire.SubmissionState](n.call("GET", submissionsPath+"/"+denied.SubmissionID, nil).want(http.StatusOK))
	if state.Evaluation == nil || state.Evaluation.OverallVerdict != rule.Deny {
		t.Errorf("the submission read again is %+v", state.Evaluation)
	}
	n.call("POST", submissionsPath, pay(1, "01a204e5-aa06-7a7c-943e-2d4e9d8de826")).want(http.StatusOK)
}

// hashes records the hashes of the bodies that it is asked to evaluate.
type hashes struct {
	evaluator
	got map[string]string // by submission id or key
}

func (h hashes) Submit(_ context.Context, n evaluate.Named, _ evaluate.Request) (*evaluate.Answer, error) {
	h.got[cmp.Or(n.SubmissionID, n.Key)] = n.BodyHash
	return nil, rule.Errorf(rule.CodeUnavailable, "not today")
}

// The database holds the hashes of named requests. A change of a hash would make a conflict of a request that an earlier
// version has answered, when its caller sends it again.
func TestHashesOfNamedRequestsStay(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	h := hashes{n.cfg.answering, map[string]string{}}
	n.evaluateWith(h)
	options := fields{"node_id": "n", "environment": "staging", "scope": "s"}
	with := func(more fields) fields {
		body := maps.Clone(options)
		maps.Copy(body, more)
		return body
	}
	all := fields{"mode": "posthoc", "max_rules": 3, "severity_min": "LOW"}
	maps.Copy(all, options)
	n.call("POST", op.EvaluateQuick.Path, with(fields{"action": "a"}), "Idempotency-Key", "quick")
	maps.Copy(options, all)
	n.call("POST", evaluatePath, with(fields{"diff": "d", "facts": fields{"b": 1, "a": "<"}, "intent": "i", "repository": "r"}), "Idempotency-Key", "evaluate")
	n.call("POST", submissionsPath, with(fields{
		"submission_id": "id", "project_id": "default",
		"subject": fields{"kind": "transaction", "transaction_type": "payment", "amount": 5, "facts": fields{"z": 1, "y": []bool{true}}},
	}))
	for name, want := range map[string]string{
		"quick":    "282cdcc52d57bf21aa51d3e88c6b38aa2a620aabd241b7201a75a9792e58a1b2",
		"evaluate": "f6ce427ff0f435a0d9d456019d71d69d757604eddb0589e70359abac19d22f68",
		"id":       "34769f0d8b1df75a44fdd248ef417f9708152ca26ef2e6c2f475f2e030329693",
	} {
		if h.got[name] != want {
			t.Errorf("%s has the hash %q, want %s", name, h.got[name], want)
		}
	}
}

func TestARequestThatFailsLeavesItsNameFree(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.judging(nil)
	body := fields{"subject": fields{"kind": "document", "document_id": "d"}, "submission_id": "s"}
	n.call("POST", submissionsPath, body).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	n.call("GET", submissionsPath+"/s", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	body["subject"] = fields{"kind": "document", "content": "x"}
	n.call("POST", submissionsPath, body).want(http.StatusOK)
}

func TestAClientThatGoesLeavesItsNameFree(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.call("POST", rulesPath, fields{"slug": "J-1", "statement": "Be kind.", "status": "EFFECTIVE"}).want(http.StatusCreated)
	asked := make(chan struct{}, 1)
	n.judging(&llmtest.Fake{Respond: func(ctx context.Context, _ llm.Request) (llm.Response, error) {
		asked <- struct{}{}
		<-ctx.Done()
		return llm.Response{}, ctx.Err()
	}})
	ctx, leave := context.WithCancel(t.Context())
	go func() { <-asked; leave() }()
	r := httptest.NewRequestWithContext(ctx, "POST", submissionsPath, strings.NewReader(`{"subject":{"kind":"transaction","amount":1},"submission_id":"s"}`))
	n.send(r)
	n.call("GET", submissionsPath+"/s", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	if list := into[wire.Page[wire.EvaluationSummary]](n.call("GET", evaluationsPath, nil)); list.Total != 0 {
		t.Errorf("%d records of an evaluation that nobody waited for", list.Total)
	}
}

func TestSubmitLater(t *testing.T) {
	t.Parallel()
	onBoth(t, testSubmitLater)
}

func testSubmitLater(t *testing.T, n *node) {
	seedEvaluation(n)
	e := n.judging(nil)
	body := fields{"subject": fields{"kind": "transaction", "amount": 20000, "facts": fields{"second_approver": ""}}, "submission_id": "pay-1"}
	accepted := n.call("POST", submissionsPath, body, "Prefer", "respond-async").want(http.StatusAccepted)
	if accepted.header.Get("Location") != submissionsPath+"/pay-1" || accepted.header.Get("Preference-Applied") != "respond-async" {
		t.Errorf("headers %v", accepted.header)
	}
	if s := into[wire.SubmissionState](accepted); s.Status != wire.Pending || s.SubmissionID != "pay-1" || s.SubjectKind != "transaction" || s.Evaluation != nil {
		t.Errorf("accepted: %s", accepted.body)
	}
	n.call("POST", submissionsPath, body, "Prefer", "respond-async").want(http.StatusAccepted)
	n.call("POST", submissionsPath, fields{"subject": fields{"kind": "document", "title": "x"}}, "Prefer", "respond-async").
		wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "subject.content")
	// Whoever carries it out may have started after it was accepted: nothing but the database knows of it.
	other := newNodeAt(n)
	other.working(other.judging(nil))
	_ = e
	var state wire.SubmissionState
	waitFor(t, func() bool {
		state = into[wire.SubmissionState](n.call("GET", submissionsPath+"/pay-1", nil).want(http.StatusOK))
		return state.Status == wire.Completed
	})
	if verdicts(*state.Evaluation)["PAY-1"] != rule.Deny {
		t.Errorf("evaluation %+v", state.Evaluation)
	}
	// Asking at once under the same name gives what was found out in the background.
	a := into[wire.SubmissionAnswer](n.call("POST", submissionsPath, body).want(http.StatusOK))
	if diff := gocmp.Diff(*state.Evaluation, a.Evaluation); diff != "" {
		t.Errorf("asked at once (-want +got):\n%s", diff)
	}
	if list := into[wire.Page[wire.EvaluationSummary]](n.call("GET", evaluationsPath, nil)); list.Total != 1 {
		t.Errorf("%d records, want 1", list.Total)
	}
}

// The address of something made in a named project leads to it, also for a key for all projects.
func TestLocationsNameTheProject(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.judging(nil)
	n.makeProject("pay")
	for name, made := range map[string]*reply{
		"a submission, by its body": n.call("POST", submissionsPath, fields{
			"subject": fields{"kind": "transaction"}, "project_id": "pay", "submission_id": "s:1",
		}, "Prefer", "respond-async").want(http.StatusAccepted),
		"a submission, by its query": n.call("POST", submissionsPath+"?project_id=pay", fields{
			"subject": fields{"kind": "transaction"},
		}, "Prefer", "respond-async").want(http.StatusAccepted),
		"a node":     n.call("POST", federationPath+"?project_id=pay", fields{"name": "o", "level": "organization"}).want(http.StatusCreated),
		"a test run": n.call("POST", testRunsPath+"?project_id=pay", fields{}).want(http.StatusAccepted),
	} {
		if got := n.call("GET", made.header.Get("Location"), nil); got.status != http.StatusOK {
			t.Errorf("%s: %s leads to %d", name, made.header.Get("Location"), got.status)
		}
	}
}

// waitFor waits until something is so.
func waitFor(t *testing.T, so func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited for a minute")
		}
	}
}

// event is one server-sent event.
type event struct{ name, data string }

func readEvents(t *testing.T, r io.Reader, each func(event)) []event {
	t.Helper()
	var all []event
	var e event
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 10<<20)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case name == "event":
			e.name = value
		case name == "data":
			e.data = value
		case lines.Text() == "" && e.name != "":
			all = append(all, e)
			if each != nil {
				each(e)
			}
			e = event{}
		}
	}
	return all
}

func TestStream(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	seedEvaluation(n)
	n.call("POST", rulesPath, fields{"slug": "J-1", "statement": "Be kind.", "status": "EFFECTIVE", "severity": "CRITICAL"}).want(http.StatusCreated)
	checked := make(chan struct{})
	n.judging(judgetest.Model(func(judgetest.Rule, string) judgetest.Entry {
		<-checked // the model answers once the client has seen what checks have decided
		return judgetest.Allow()
	}))
	server := httptest.NewServer(n)
	defer server.Close()
	for _, target := range []struct{ path, body string }{
		{evaluatePath, `{"facts":{"amount":20000,"second_approver":""}}`},
		{submissionsPath, `{"subject":{"kind":"transaction","amount":20000,"facts":{"second_approver":""}}}`},
	} {
		checked = make(chan struct{})
		r, err := http.NewRequestWithContext(t.Context(), "POST", server.URL+target.path, strings.NewReader(target.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "text/event-stream")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Header.Get("Content-Type"); got != eventType || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: status %d, %s", target.path, res.StatusCode, got)
		}
		told := map[string]rule.Verdict{}
		all := readEvents(t, res.Body, func(e event) {
			if e.name != "verdict" {
				return
			}
			var v rule.RuleVerdict
			if err := json.Unmarshal([]byte(e.data), &v); err != nil {
				t.Fatal(err)
			}
			if _, twice := told[v.RuleSlug]; twice {
				t.Errorf("%s is told twice", v.RuleSlug)
			}
			told[v.RuleSlug] = v.Verdict
			if len(told) == 2 {
				close(checked)
			}
		})
		_ = res.Body.Close()
		last := all[len(all)-1]
		var done wire.SubmissionAnswer
		if err := json.Unmarshal([]byte(last.data), &done); err != nil || last.name != "done" {
			t.Fatalf("the last event is %s %s: %v", last.name, last.data, err)
		}
		if diff := gocmp.Diff(verdicts(done.Evaluation), told); diff != "" || len(told) != 3 {
			t.Errorf("verdicts told one by one differ from the answer's (-answer +told):\n%s", diff)
		}
		n.call("GET", evaluationsPath+"/"+done.EvaluationID, nil).want(http.StatusOK)
	}
}

func TestStreamRefusesLikeAnyRequest(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.call("POST", submissionsPath, fields{"subject": fields{"kind": "poem"}}, "Accept", eventType).wantProblem(422, rule.CodeInvalid, "subject.kind")
	n.call("POST", submissionsPath, fields{"subject": fields{"kind": "document", "title": "x"}}, "Accept", eventType).wantProblem(422, rule.CodeInvalid, "subject.content")
}

func TestStreamEndsInAnErrorIfNothingIsRecorded(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	seedEvaluation(n)
	var ended atomic.Int64
	n.cfg.Config.Ended = func(status int) { ended.Store(int64(status)) }
	n.serve()
	n.writer.Close() // as if the server were shutting down
	got := n.call("POST", evaluatePath, fields{"facts": fields{"amount": 1}}, "Accept", eventType).want(http.StatusOK)
	all := readEvents(t, strings.NewReader(string(got.body)), nil)
	last := all[len(all)-1]
	if last.name != "error" || !strings.Contains(last.data, `"unavailable"`) {
		t.Errorf("the last event is %s %s", last.name, last.data)
	}
	if got := ended.Load(); got != http.StatusServiceUnavailable {
		t.Errorf("the request is counted with status %d", got)
	}
	for _, e := range all {
		if e.name == "done" {
			t.Error("done was told though nothing is recorded")
		}
	}
}

func TestStreamOfAnAnswerThatIsThere(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	seedEvaluation(n)
	body := fields{"facts": fields{"amount": 1}}
	first := into[rule.Evaluation](n.call("POST", evaluatePath, body, "Idempotency-Key", "k").want(http.StatusOK))
	got := n.call("POST", evaluatePath, body, "Idempotency-Key", "k", "Accept", eventType).want(http.StatusOK)
	all := readEvents(t, strings.NewReader(string(got.body)), nil)
	if len(all) != len(first.RuleVerdicts)+1 || all[len(all)-1].name != "done" || !strings.Contains(all[len(all)-1].data, first.EvaluationID) {
		t.Errorf("events %v", all)
	}
}
