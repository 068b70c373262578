package app_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"tenet/internal/app"
	"tenet/internal/auth"
	"tenet/internal/llm"
	"tenet/internal/llm/llmtest"
	"tenet/internal/rule"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/wire"
)

// agentRules are rules that agents answer from.
func agentRules() []*wire.RuleFile {
	return []*wire.RuleFile{{Rules: []wire.RuleInput{
		{Slug: new("DATA-001"), Statement: "Contractors must not read production data without a ticket.", Modality: rule.MustNot, Severity: rule.High, Status: rule.Effective},
		{
			Slug: new("PY-001"), Statement: "Code must not call eval.", Modality: rule.MustNot, Severity: rule.High, Status: rule.Effective,
			Check:     &rule.Check{Pattern: &rule.Pattern{Regex: `\beval\(`}, Message: "eval runs text as code.", Fix: "Parse the text."},
			AppliesTo: &rule.AppliesTo{Kinds: []string{"code_change"}},
		},
		{Slug: new("OLD-001"), Statement: "Contractors may read all production data.", Modality: rule.May, Status: rule.Draft},
	}}}
}

// forAgents is a model that the background job which compares rules cannot reach: it would take an answer meant for an agent.
type forAgents struct{ llm.Model }

func (m forAgents) Complete(ctx context.Context, r llm.Request) (llm.Response, error) {
	if strings.HasPrefix(r.System, "You compare rules") {
		return llm.Response{}, rule.Errorf(rule.CodeUnavailable, "this model is for agents")
	}
	return m.Model.Complete(ctx, r)
}

// servedAgents is a started node with its address.
func servedAgents(t *testing.T, model llm.Model, settings map[string]string) (*app.App, string) {
	t.Helper()
	if model != nil {
		model = forAgents{model}
	}
	a := node(t, app.Options{Model: model, Rules: agentRules()}, settings)
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return a, "http://" + a.Addr()
}

// fetchAgent sends a request over the network.
func fetchAgent(t *testing.T, method, address, key, body string, headers ...string) (int, http.Header, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, data
}

// envelope is an answer as a caller reads it.
type envelope struct {
	Result     json.RawMessage    `json:"result"`
	Status     string             `json:"status"`
	Confidence *float64           `json:"confidence"`
	Reasoning  string             `json:"reasoning"`
	FollowUps  []string           `json:"follow_up_suggestions"`
	Error      *wire.AgentFailure `json:"error"`
	TraceID    string             `json:"execution_trace_id"`
	SessionID  string             `json:"session_id"`
}

func open[T any](t *testing.T, data []byte) T {
	t.Helper()
	var v T
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return v
}

func keyFor(t *testing.T, a *app.App, role auth.Role, project string) string {
	t.Helper()
	var made struct{ Secret string }
	if code := ask(t, a, http.MethodPost, "/api/v1/keys?project_id="+project, `{"name": "`+string(role)+`", "role": "`+string(role)+`"}`, &made); code != http.StatusCreated || made.Secret == "" {
		t.Fatalf("making a key: status %d", code)
	}
	return made.Secret
}

func TestAgentsAnswerOverBothRoutesOnBothDatabases(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]map[string]string{"sqlite": {"data": litetest.Dir(t)}, "postgres": {"database_url": pgtest.DSN(t)}} {
		t.Run(name, func(t *testing.T) {
			a, at := servedAgents(t, nil, settings)
			diff := encode(t, map[string]any{"intent": "Review this", "diff": "--- a/x.py\n+++ b/x.py\n@@ -1 +1,2 @@\n a = 1\n+eval(a)\n"})
			for _, path := range []string{"/agent/review", "/rest/review"} {
				code, _, data := fetchAgent(t, http.MethodPost, at+path, "", diff)
				e := open[envelope](t, data)
				r := open[wire.AgentReviewResult](t, e.Result)
				if code != http.StatusOK || len(r.Comments) != 2 || r.Verdict != rule.Deny || r.Comments[1].File != "x.py" || r.Comments[1].StartLine != 2 || r.Comments[1].RuleSlug != "PY-001" {
					t.Errorf("%s: %d %s", path, code, data)
				}
				if code := ask(t, a, http.MethodGet, "/api/v1/evaluations/"+e.TraceID, "", nil); code != http.StatusOK {
					t.Errorf("%s: the trace is not on record: %d", path, code)
				}
			}
			code, _, data := fetchAgent(t, http.MethodGet, at+"/rest/ask?query="+url.QueryEscape("May contractors read production data?"), "", "")
			e := open[envelope](t, data)
			r := open[wire.AgentAskResult](t, e.Result)
			if code != http.StatusOK || r.Answered || len(r.Rules) == 0 || r.Rules[0].RuleSlug != "DATA-001" {
				t.Errorf("GET: %d %s", code, data)
			}
			for _, x := range r.Rules {
				if x.RuleSlug == "OLD-001" {
					t.Error("a draft is taken for a rule in force")
				}
			}
			code, _, data = fetchAgent(t, http.MethodPost, at+"/agent/author", "", `{"intent": "payments above 10000 EUR must have a second approver", "scope": "finance", "store": true}`)
			e = open[envelope](t, data)
			made := open[wire.AgentAuthorResult](t, e.Result)
			var stored rule.Rule
			if got := ask(t, a, http.MethodGet, "/api/v1/rules/"+made.RuleID, "", &stored); code != http.StatusOK || e.Status != "pending_approval" || got != http.StatusOK ||
				stored.Status != rule.Draft || stored.Scope[0] != "finance" {
				t.Errorf("author: %d %s stored as %+v", code, data, stored)
			}
			code, _, data = fetchAgent(t, http.MethodPost, at+"/agent/check", "", `{"intent": "Give a contractor access to production data"}`)
			e = open[envelope](t, data)
			c := open[wire.AgentCheckResult](t, e.Result)
			if code != http.StatusOK || e.Status != "pending_approval" || c.Allowed || c.Evaluation.EvaluationID != e.TraceID {
				t.Errorf("check: %d %s", code, data)
			}
			if code := ask(t, a, http.MethodGet, "/api/v1/audit/verify", "", nil); code != http.StatusOK {
				t.Errorf("the chain does not verify: %d", code)
			}
		})
	}
}

func TestAgentsRestOnTheRulesThatApply(t *testing.T) {
	t.Parallel()
	a := node(t, app.Options{Rules: []*wire.RuleFile{{Rules: []wire.RuleInput{
		{Slug: new("OLD-001"), Statement: "Production data must not be copied.", Modality: rule.MustNot, Status: rule.Effective},
		{
			Slug: new("NEW-001"), Statement: "Production data must not be copied with names.", Modality: rule.MustNot, Status: rule.Effective,
			Relationships: []wire.RelationshipInput{{Kind: rule.Overrides, To: "OLD-001", Reason: "It was too strict."}},
		},
		{Slug: new("HR-001"), Statement: "Production data of employees must not be copied.", Modality: rule.MustNot, Status: rule.Effective, Scope: []string{"hr"}},
	}}}}, map[string]string{"data": litetest.Dir(t)})
	for scope, want := range map[string]string{"": "HR-001 NEW-001", "*": "HR-001 NEW-001", "finance": "NEW-001", "hr/payroll/": "HR-001 NEW-001"} {
		var e envelope
		code := ask(t, a, http.MethodPost, "/agent/ask", encode(t, map[string]any{"intent": "May production data be copied?", "scope": scope}), &e)
		var got []string
		for _, r := range open[wire.AgentAskResult](t, e.Result).Rules {
			got = append(got, r.RuleSlug)
		}
		slices.Sort(got)
		if code != http.StatusOK || strings.Join(got, " ") != want {
			t.Errorf("%q: %d %v, want %s", scope, code, got, want)
		}
	}
	if code := ask(t, a, http.MethodPost, "/agent/ask", `{"intent": "May production data be copied?", "scope": "hr/*/payroll"}`, nil); code != http.StatusUnprocessableEntity {
		t.Errorf("a scope that no rule can have: %d", code)
	}
}

func TestBadRequestsToAgents(t *testing.T) {
	t.Parallel()
	_, at := servedAgents(t, nil, map[string]string{"data": litetest.Dir(t)})
	long := strings.Repeat("é", 10_001)
	for name, tt := range map[string]struct {
		method, path, body string
		status             int
	}{
		"10,001 characters":      {"POST", "/agent/check", `{"intent": "` + long + `"}`, 422},
		"10,001 in the query":    {"GET", "/rest/ask?query=" + long[:20_002], "", 422},
		"an empty intent":        {"POST", "/agent/check", `{"intent": ""}`, 422},
		"a blank intent":         {"POST", "/agent/check", `{"intent": " "}`, 422},
		"no intent":              {"POST", "/agent/check", `{}`, 422},
		"no query":               {"GET", "/rest/ask", "", 422},
		"a field of another":     {"POST", "/agent/ask", `{"intent": "What?", "diff": "x"}`, 422},
		"an unknown agent":       {"POST", "/agent/nobody", `{"intent": "What?"}`, 404},
		"a GET of the native":    {"GET", "/agent/ask?query=What", "", 405},
		"an environment":         {"POST", "/agent/ask", `{"intent": "Which rules are there?", "environment": "production"}`, 409},
		"a session of no agent":  {"POST", "/agent/ask", `{"intent": "Which rules are there?", "session_id": "mine"}`, 422},
		"a broken diff":          {"POST", "/agent/review", `{"intent": "x", "diff": "--- a/x\n+++ b/x\n@@ -1,5 +1,5 @@\n a\n"}`, 422},
		"another media type":     {"POST", "/agent/ask", `<xml/>`, 400},
		"a page of another site": {"GET", "/rest/ask?query=What", "", 403},
	} {
		var headers []string
		if tt.status == 403 {
			headers = []string{"Sec-Fetch-Site", "cross-site"}
		}
		code, h, data := fetchAgent(t, tt.method, at+tt.path, "", tt.body, headers...)
		if code != tt.status || h.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d, want %d: %.300s", name, code, tt.status, data)
		}
	}
	code, _, _ := fetchAgent(t, http.MethodPost, at+"/agent/check", "", `{"intent": "`+strings.Repeat("é ", 5_000)+`"}`)
	if code != http.StatusOK {
		t.Errorf("10,000 characters: %d", code)
	}
}

func TestAgentsAskForTheRolesThatTheirEffectsNeed(t *testing.T) {
	t.Parallel()
	a, at := servedAgents(t, nil, map[string]string{"data": litetest.Dir(t)})
	if code := ask(t, a, http.MethodPost, "/api/v1/projects", `{"id": "pay"}`, nil); code != http.StatusCreated {
		t.Fatal(code)
	}
	keyFor(t, a, auth.Admin, "*")
	viewer, evaluator, reviewer := keyFor(t, a, auth.Viewer, "pay"), keyFor(t, a, auth.Evaluator, "pay"), keyFor(t, a, auth.Reviewer, "pay")
	const draft = `{"intent": "payments above 10000 EUR must have a second approver", "store": true}`
	for _, tt := range []struct {
		key, path, body string
		status          int
	}{
		{"", "/rest/ask", `{"intent": "Which rules are there?"}`, 401},
		{viewer, "/rest/ask", `{"intent": "Which rules are there?"}`, 403},
		{evaluator, "/rest/ask", `{"intent": "Which rules are there?"}`, 200},
		{evaluator, "/rest/ask?project_id=default", `{"intent": "Which rules are there?"}`, 403},
		{evaluator, "/agent/author", draft, 403},
		{reviewer, "/agent/author", draft, 200},
	} {
		if code, _, data := fetchAgent(t, http.MethodPost, at+tt.path, tt.key, tt.body); code != tt.status {
			t.Errorf("%s %s: %d, want %d: %s", tt.path, tt.body, code, tt.status, data)
		}
	}
	if n := count(t, a); n != 3 {
		t.Errorf("%d rules in the project default: something was stored across projects", n)
	}
}

func TestAnAgentThatCanDoNothingAnswers503WithItsEnvelope(t *testing.T) {
	t.Parallel()
	model := &llmtest.Fake{}
	dir := t.TempDir()
	file := filepath.Join(dir, "agents.yaml")
	if err := os.WriteFile(file, []byte("agents:\n  - {name: triage, description: Sorts., prompt: Sort., result: {type: object, required: [team], properties: {team: {type: string}}}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, at := servedAgents(t, model, map[string]string{"data": litetest.Dir(t), "agents_file": file, "rest_prefix": "/v2/ask-me"})
	model.Push("nonsense", "nonsense")
	code, h, data := fetchAgent(t, http.MethodPost, at+"/v2/ask-me/triage", "", `{"intent": "The server is down"}`)
	e := open[envelope](t, data)
	if code != http.StatusServiceUnavailable || e.Status != "error" || e.Error == nil || e.Error.Code != rule.CodeUnavailable || string(e.Result) != "null" || h.Get("Retry-After") == "" {
		t.Errorf("%d %s", code, data)
	}
	model.Push(`{"result": {"team": "ops"}, "reasoning": "Down is down.", "clarification": ""}`)
	if code, _, data := fetchAgent(t, http.MethodGet, at+"/v2/ask-me/triage?query=The+server+is+down", "", ""); code != http.StatusOK || !strings.Contains(string(data), `"team":"ops"`) {
		t.Errorf("%d %s", code, data)
	}
	if code, _, _ := fetchAgent(t, http.MethodPost, at+"/rest/ask", "", `{"intent": "Which rules?"}`); code != http.StatusNotFound {
		t.Errorf("the default prefix is still served: %d", code)
	}
	_, _, data = fetchAgent(t, http.MethodGet, at+"/openapi.json", "", "")
	for _, want := range []string{`"AgentTriageResult"`, `"AgentAskResult"`, `"/v2/ask-me/triage"`, `"/agent/triage"`} {
		if !bytes.Contains(data, []byte(want)) {
			t.Errorf("the description lacks %s", want)
		}
	}
	cfg := map[string]string{"data": litetest.Dir(t), "rest_prefix": "off"}
	_, at = servedAgents(t, nil, cfg)
	if code, _, _ := fetchAgent(t, http.MethodPost, at+"/rest/ask", "", `{"intent": "Which rules?"}`); code != http.StatusNotFound {
		t.Errorf("switched off, the routes answer %d", code)
	}
}

func TestAgentsStream(t *testing.T) {
	t.Parallel()
	_, at := servedAgents(t, nil, map[string]string{"data": litetest.Dir(t)})
	body := encode(t, map[string]any{"intent": "Review this", "diff": "--- a/x.py\n+++ b/x.py\n@@ -1 +1,2 @@\n a = 1\n+eval(a)\n"})
	code, h, data := fetchAgent(t, http.MethodPost, at+"/agent/review", "", body, "Accept", "text/event-stream")
	if code != http.StatusOK || h.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%d %s", code, data)
	}
	var events []string
	var last string
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			events = append(events, name)
		}
		if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			last = text
		}
	}
	if got := strings.Join(events, " "); got != "step verdict verdict done" {
		t.Errorf("events are %s", got)
	}
	if e := open[envelope](t, []byte(last)); e.Status != "completed" || e.TraceID == "" {
		t.Errorf("done is %s", last)
	}
	if code, h, _ := fetchAgent(t, http.MethodPost, at+"/agent/check", "", `{"intent": " "}`, "Accept", "text/event-stream"); code != 422 || h.Get("Content-Type") != "application/problem+json" {
		t.Errorf("a bad request as a stream: %d", code)
	}
}

func TestAnswersOfAgentsAreWhatTheDescriptionSays(t *testing.T) {
	t.Parallel()
	model := &llmtest.Fake{}
	file := filepath.Join(t.TempDir(), "agents.yaml")
	if err := os.WriteFile(file, []byte("agents:\n  - {name: triage, description: Sorts., prompt: Sort., result: {type: object, required: [team], additionalProperties: false, properties: {team: {type: string}}}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := node(t, app.Options{Model: model, Rules: agentRules()}, map[string]string{"data": litetest.Dir(t), "agents_file": file})
	var description any
	if code := ask(t, a, http.MethodGet, "/openapi.json", "", &description); code != http.StatusOK {
		t.Fatal(code)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("tenet:openapi", description); err != nil {
		t.Fatal(err)
	}
	const diff = `"--- a/x.py\n+++ b/x.py\n@@ -1 +1,2 @@\n a = 1\n+eval(a)\n"`
	for _, tt := range []struct {
		name, path, body string
		says             []string
		status           string
	}{
		{"Ask", "/agent/ask", `{"intent": "May contractors read production data?"}`, []string{
			`{"sentences":[{"citations":[{"rule_ref":"R1","quote":"must not read production data"}],"text":"Not without a ticket."}],"clarification":""}`,
			`{"verdicts":[{"sentence":1,"reasoning":"","supported":true}]}`,
		}, "completed"},
		{"Ask", "/rest/ask", `{"intent": "May contractors read production data?"}`, []string{`{"sentences":[],"clarification":""}`}, "completed"},
		{"Ask", "/agent/ask", `{"intent": "???"}`, nil, "clarification_needed"},
		{"Ask", "/agent/ask", `{"intent": "May contractors read production data?"}`, []string{"no", "no"}, "error"},
		{"Check", "/agent/check", `{"intent": "Commit to billing", "diff": ` + diff + `}`, nil, "completed"},
		{"Check", "/agent/check", `{"intent": "Pay a bill", "facts": {"amount": 7}}`, nil, "pending_approval"},
		{"Check", "/agent/check", `{"intent": "do it"}`, nil, "clarification_needed"},
		{"Review", "/agent/review", `{"intent": "Commit to billing", "diff": ` + diff + `}`, nil, "completed"},
		{"Author", "/agent/author", `{"intent": "large payments need two people", "store": true}`, []string{
			`{"rule":{"statement":"Payments above 10000 EUR must have a second approver.","modality":"MUST","severity":"HIGH","scope":[],"tags":[],"rationale":"","exceptions":[]},` +
				`"test_cases":[{"name":"one","input_type":"facts","sample_input":"One approver.","expected_verdict":"DENY"}],"clarification":""}`,
		}, "pending_approval"},
		{"Triage", "/agent/triage", `{"intent": "the server is down"}`, []string{`{"result":{"team":"ops"},"reasoning":"","clarification":""}`}, "completed"},
	} {
		model.Push(tt.says...)
		var answer any
		ask(t, a, http.MethodPost, tt.path, tt.body, &answer)
		schema, err := c.Compile("tenet:openapi#/components/schemas/Agent" + tt.name + "Answer")
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(answer); err != nil {
			t.Errorf("%s %s: %v", tt.path, tt.body, err)
		}
		if got, _ := answer.(map[string]any); got["status"] != tt.status {
			t.Errorf("%s %s: %v", tt.path, tt.body, answer)
		}
	}
}

// An agent asks people for an approval of what it has checked, and uses it when it asks again.
func TestAgentsAskForApprovals(t *testing.T) {
	t.Parallel()
	a, address := servedAgents(t, nil, map[string]string{"data": litetest.Dir(t)})
	keyFor(t, a, auth.Admin, "*")
	ann, bot := keyFor(t, a, auth.Reviewer, rule.DefaultProject), keyFor(t, a, auth.Evaluator, rule.DefaultProject)
	const body = `{"intent": "Delete the table customers_copy in the staging database", "request_approval": true}`
	check := func() (out wire.AgentAnswerOf[wire.AgentCheckResult]) {
		t.Helper()
		status, _, raw := fetchAgent(t, http.MethodPost, address+"/agent/check", bot, body)
		if err := json.Unmarshal(raw, &out); err != nil || status != http.StatusOK || out.Result == nil {
			t.Fatalf("%d %s", status, raw)
		}
		return out
	}
	asked := check()
	approval := asked.Result.Evaluation.Approval
	if asked.Status != wire.AgentPendingApproval || approval == nil || approval.State != rule.ApprovalPending || !strings.Contains(strings.Join(asked.FollowUps, " "), approval.URL) {
		t.Fatalf("asked: %+v, %+v", asked, approval)
	}
	if status, _, raw := fetchAgent(t, http.MethodPost, address+"/api/v1/approvals/"+approval.ID+"/approve", ann, `{"reason": "a copy"}`); status != http.StatusOK {
		t.Fatalf("approving: %d %s", status, raw)
	}
	if got := check(); !got.Result.Allowed || got.Status != wire.AgentCompleted {
		t.Errorf("after the approval: %+v", got)
	}
	if got := check(); got.Result.Allowed {
		t.Error("the approval was used twice")
	}
}
