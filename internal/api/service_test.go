package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"tenet/internal/rule"
)

func TestDescription(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	got := n.call("GET", "/openapi.json", nil).want(http.StatusOK)
	golden(t, "openapi.json", got.body)
	if *update { // the clients in other languages are written from it
		if out, err := exec.CommandContext(t.Context(), "go", "generate", "tenet/sdk/generate").CombinedOutput(); err != nil {
			t.Errorf("go generate ./sdk/generate: %v\n%s", err, out)
		}
	}
	var doc struct {
		OpenAPI    string `json:"openapi"`
		Components struct {
			Schemas map[string]any `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(got.body, &doc); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1") {
		t.Errorf("openapi %s", doc.OpenAPI)
	}
	for _, name := range []string{"Rule", "Evaluation", "RuleVerdict", "Location", "EvaluateRequest", "Problem"} {
		if doc.Components.Schemas[name] == nil {
			t.Errorf("components/schemas has no %s", name)
		}
	}
	refs := regexp.MustCompile(`"#/components/schemas/([^"]+)"`).FindAllStringSubmatch(string(got.body), -1)
	used := map[string]bool{}
	for _, ref := range refs {
		used[ref[1]] = true
		if doc.Components.Schemas[ref[1]] == nil {
			t.Errorf("the description refers to %s, which is not there", ref[1])
		}
	}
	for name := range doc.Components.Schemas {
		if !used[name] {
			t.Errorf("the schema %s is not used", name)
		}
	}
	if bytes.Contains(got.body, []byte("$schema")) {
		t.Error("the description has $schema fields")
	}
}

func TestProblemGolden(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	got := n.call("POST", evaluatePath, `{"max_rules":101,"mode":"later","facts":{"amount":1e400},"files":[{"content":3}],"colour":"red"}`,
		"X-Request-Id", "golden-1").want(http.StatusUnprocessableEntity)
	var indented bytes.Buffer
	if err := json.Indent(&indented, got.body, "", "  "); err != nil {
		t.Fatal(err)
	}
	golden(t, "problem.json", indented.Bytes())
}

func TestUnknownRoutes(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, path := range []string{"/api/v1/nothing", "/api/v1/rules/", "/api", "/docs/nothing.js", "/docs/../secret", "/favicon.ico", "/api/v2/rules"} {
		n.call("GET", path, nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	}
	for method, path := range map[string]string{"PUT": rulesPath, "OPTIONS": evaluatePath, "TRACE": "/health", "GET": evaluatePath, "FROB": rulesPath + "/x"} {
		got := n.call(method, path, nil)
		got.wantProblem(http.StatusMethodNotAllowed, rule.CodeInvalid)
		if got.header.Get("Allow") == "" {
			t.Errorf("%s %s: 405 without Allow", method, path)
		}
	}
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for id, kept := range map[string]bool{
		"abc-123": true, "00-4bf92f3577b34da6a3ce929d0e0e4736-01": true, "": false, "two words": false,
		strings.Repeat("x", 65): false, "<script>": false, "a\"b": false,
		"Root=1-67891233-abcdef012345678912345678": true, "0ujtsYcgvSTl8PAuAdqWYSMnLOv": true, "0198c5f2-7c3d-7e4f-8a5b-6c7d8e9f0a1b": true,
		"Checkout-550e8400-e29b-41d4-a716-446655440000": true, "checkoutService-550e8400-e29b-41d4-a716-446655440000": true, "Web/4bf92f3577b34da6a3ce929d0e0e4736": true, "a+b/c": true, "/a": false,
		// What may be a secret is neither answered nor logged.
		"tnt_3q2Fbb8rT1": false, "TNT_ABC": false, "whsec_abc": false, "sk-proj-abcdef": false, "ghp_abcdefghij": false, "AKIAIOSFODNN7EXAMPLE": false,
		"eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl": false, "abcdefgh1.ijklmnop2.qrstuvwx3": false, "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY": false,
		"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY": false, "q3Jb8Xk-0Rt7Yv2Lm9Wz5-Hc4Nd6Pf1Gs8Qa3": false,
	} {
		got := n.call("GET", "/health", nil, "X-Request-Id", id).header.Get("X-Request-Id")
		if (got == id) != kept || got == "" {
			t.Errorf("%q becomes %q", id, got)
		}
	}
}

func TestHealthAndReady(t *testing.T) {
	t.Parallel()
	var err error
	n := newNode(t, func(c *config) { c.Ready = func(context.Context) error { return err } })
	if got := into[map[string]string](n.call("GET", "/health", nil).want(http.StatusOK)); got["status"] != "ok" || got["version"] != "1.2.3" {
		t.Errorf("health %v", got)
	}
	if got := n.call("GET", "/ready", nil).want(http.StatusOK); strings.Contains(string(got.body), "judge") {
		t.Errorf("ready says %s of a judge that nobody told it of", got.body)
	}
	err = rule.Errorf(rule.CodeUnavailable, "the rules are still being loaded")
	if p := n.call("GET", "/ready", nil).wantProblem(http.StatusServiceUnavailable, rule.CodeUnavailable); p.Detail != "the rules are still being loaded" {
		t.Errorf("detail %q", p.Detail)
	}
	err = errors.New("dial tcp 10.0.0.7: refused")
	if p := n.call("GET", "/ready", nil).wantProblem(http.StatusServiceUnavailable, rule.CodeUnavailable); strings.Contains(p.Detail, "10.0.0.7") {
		t.Errorf("detail %q", p.Detail)
	}
}

func TestRootLeadsToWhatThereIs(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	root := into[struct {
		Name, Version string
		Links         map[string]string
	}](n.call("GET", "/", nil).want(http.StatusOK))
	for name, path := range root.Links {
		if got := n.call("GET", path, nil); got.status != http.StatusOK && got.status != http.StatusMethodNotAllowed {
			t.Errorf("%s leads to %d", name, got.status)
		}
	}
}

// The documentation works without the internet: all it loads comes from this server.
func TestDocs(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, path := range []string{"/docs", "/docs/"} {
		page := n.call("GET", path, nil).want(http.StatusOK)
		if !strings.Contains(page.header.Get("Content-Type"), "text/html") || page.header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %v", path, page.header)
		}
		loads := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(string(page.body), -1)
		if len(loads) < 4 {
			t.Errorf("%s loads %v", path, loads)
		}
		for _, l := range loads {
			n.call("GET", l[1], nil).want(http.StatusOK)
		}
		if start := n.call("GET", "/docs/start.js", nil).want(http.StatusOK); !strings.Contains(string(start.body), `"/openapi.json"`) {
			t.Errorf("%s does not show the description", path)
		}
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	seedEvaluation(n)
	n.call("POST", evaluatePath, fields{"diff": badDiff}).want(http.StatusOK)
	n.call("POST", evaluatePath, fields{"diff": goodDiff}).want(http.StatusOK)
	n.call("POST", evaluatePath+"/quick", fields{"action": "restart", "scope": "nowhere"}).want(http.StatusOK)
	n.call("GET", rulesPath+"/no-such", nil).want(http.StatusNotFound)
	n.call("GET", "/secret/"+strings.Repeat("x", 50), nil).want(http.StatusNotFound)
	n.call("FROB", rulesPath, nil)
	n.call("GET", rulesPath+"?project_id=nowhere", nil).want(http.StatusNotFound)
	n.call("GET", keysPath+"?project_id=*", nil).want(http.StatusOK)
	text := string(n.call("GET", "/metrics", nil).want(http.StatusOK).body)
	for _, want := range []string{
		`tenet_evaluations_total{verdict="DENY"} 1`, `tenet_evaluations_total{verdict="ALLOW"} 1`,
		`tenet_evaluations_total{verdict="NEEDS_CONFIRMATION"} 1`, `tenet_evaluations_undecided_total{reason="uncovered"} 1`, `tenet_rule_verdicts_total{decided_by="check",verdict="DENY"} 1`,
		`tenet_rules_not_asked_total 0`, `tenet_model_calls_saved_total 0`,
		`tenet_http_request_duration_seconds_count{code="200",method="POST",route="/api/v1/evaluate"} 2`,
		`tenet_http_request_duration_seconds_count{code="404",method="GET",route="/api/v1/rules/{id}"} 1`,
		`tenet_http_request_duration_seconds_count{code="404",method="other",route="none"} 1`,
		`tenet_rules{project="default"} 4`, `go_goroutines`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	for _, bad := range []string{"secret", "FROB", "nowhere"} {
		if strings.Contains(text, bad) {
			t.Errorf("a request has made the label %s", bad)
		}
	}
}

func TestPanicIsAProblem(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	stub := &stubEvaluator{panics: "secret of the evaluator"}
	n.evaluateWith(stub)
	got := n.call("POST", evaluatePath, "{}")
	p := got.wantProblem(http.StatusInternalServerError, rule.CodeInternal)
	if strings.Contains(string(got.body), "secret") {
		t.Errorf("the answer tells of the panic: %s", got.body)
	}
	if log := n.log.String(); !strings.Contains(log, "secret of the evaluator") || !strings.Contains(log, p.RequestID) || !strings.Contains(log, "evaluate_test.go") {
		t.Errorf("the log does not tell of panic, request id and place: %s", log)
	}
	stub.panics = http.ErrAbortHandler
	func() {
		defer func() {
			if err, ok := recover().(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
				t.Error("http.ErrAbortHandler does not reach the server")
			}
		}()
		n.call("POST", evaluatePath, "{}")
	}()
}

func TestErrorTable(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	stub := &stubEvaluator{}
	n.evaluateWith(stub)
	for code, status := range map[rule.Code]int{
		rule.CodeInvalid: 422, rule.CodeNotFound: 404, rule.CodeConflict: 409, rule.CodePrecondition: 412, rule.CodeUnauthenticated: 401,
		rule.CodeForbidden: 403, rule.CodeUnavailable: 503, rule.CodeTooLarge: 413, rule.CodeRateLimited: 429, rule.CodeInternal: 500,
	} {
		stub.err = rule.Errorf(code, "what went wrong: %w", errors.New("the deeper cause"))
		p := n.call("POST", evaluatePath, "{}").wantProblem(status, code)
		if code == rule.CodeInternal && p.Detail != "internal error" {
			t.Errorf("internal errors show %q", p.Detail)
		}
		if code == rule.CodeUnavailable && p.Detail != "what went wrong" {
			t.Errorf("unavailable shows its cause: %q", p.Detail)
		}
	}
	for _, unknown := range []error{errors.New("pq: secret"), &rule.Error{Code: "new", Message: "secret"}} {
		stub.err = unknown
		got := n.call("POST", evaluatePath, "{}")
		got.wantProblem(http.StatusInternalServerError, rule.CodeInternal)
		if strings.Contains(string(got.body), "secret") {
			t.Errorf("%v is shown: %s", unknown, got.body)
		}
	}
	stub.err = context.DeadlineExceeded
	got := n.call("POST", evaluatePath, "{}")
	got.wantProblem(http.StatusServiceUnavailable, rule.CodeUnavailable)
	if got.header.Get("Retry-After") == "" {
		t.Error("503 without Retry-After")
	}
}

// A client that goes away is nobody's fault.
func TestClientGone(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.evaluateWith(&stubEvaluator{err: context.Canceled})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	n.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "POST", evaluatePath, strings.NewReader("{}")))
	if log := n.log.String(); log != "" {
		t.Errorf("logged as a fault: %s", log)
	}
}

func TestAnswersCarryTheirLength(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.evaluateWith(&stubEvaluator{answer: stubAnswer()})
	srv := httptest.NewServer(n)
	defer srv.Close()
	res, err := srv.Client().Post(srv.URL+evaluatePath, jsonType, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.ContentLength < 5000 || len(res.TransferEncoding) > 0 {
		t.Errorf("length %d, transfer encoding %v", res.ContentLength, res.TransferEncoding)
	}
}
