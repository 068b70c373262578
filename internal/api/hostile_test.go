package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"tenet/internal/rule"
	"tenet/internal/signature"
	"tenet/internal/wire"
)

// An integer may be written as 53.0 or 5.3e1, as JSON Schema says; a fraction may not.
func TestWholeNumbersAreIntegers(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, ok := range []string{"53", "53.0", "5.3e1", "530e-1", "53.000e0", "0.53E+2"} {
		n.call("POST", evaluatePath, `{"max_rules":`+ok+`,"facts":{"a":1.50}}`).want(http.StatusOK)
		// within an object that is one of several kinds
		n.call("POST", submissionsPath, `{"subject":{"kind":"tool_call","server":"s","method":"tools/call","tool":"t"},"max_rules":`+ok+`}`).want(http.StatusOK)
	}
	for _, bad := range []string{"53.5", "5.35e1", "1e-1", "0.1", "101.0", "1e3", "1e400", "-1.0", "0.0", "1e99999999999999999999", "1e-99999999999999999999"} {
		n.call("POST", evaluatePath, `{"max_rules":`+bad+`}`).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "max_rules")
	}
}

// 405 lists the methods of the path itself, not those of a path with a parameter in its place.
func TestAllowNamesTheMethodsOfThePath(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for target, want := range map[string]string{
		"PUT " + rulesPath:                                "GET, HEAD, POST",
		"PUT " + rulesPath + "/import":                    "POST",
		"GET " + rulesPath + "/import":                    "POST",
		"DELETE " + rulesPath + "/export":                 "GET, HEAD",
		"PUT " + rulesPath + "/X-1":                       "DELETE, GET, HEAD, PATCH",
		"POST /api/v1/snapshots/deployments":              "GET, HEAD",
		"DELETE /api/v1/snapshots/deployments/production": "GET, HEAD",
		"DELETE " + evaluatePath:                          "POST",
		"POST /health":                                    "GET, HEAD",
		"POST /docs/swagger-ui.css":                       "GET, HEAD",
		"POST /":                                          "GET, HEAD",
	} {
		method, path, _ := strings.Cut(target, " ")
		got := n.call(method, path, nil)
		got.wantProblem(http.StatusMethodNotAllowed, rule.CodeInvalid)
		if allow := got.header.Get("Allow"); allow != want {
			t.Errorf("%s: Allow: %s, want %s", target, allow, want)
		}
	}
	n.call("DELETE", rulesPath+"/X-1", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
}

// What the description calls null may be null, and nothing else: each optional field of each body of a request.
func TestNullsAreAsDescribed(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	var d struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct {
					Enum  []any `json:"enum"`
					Type  any   `json:"type"`
					AnyOf []any `json:"anyOf"`
				} `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(n.call("GET", "/openapi.json", nil).want(http.StatusOK).body, &d); err != nil {
		t.Fatal(err)
	}
	nullable := func(schema, field string) bool {
		p := d.Components.Schemas[schema].Properties[field]
		types, _ := p.Type.([]any)
		return slices.Contains(types, any("null")) || len(p.AnyOf) == 2
	}
	for _, c := range []struct{ schema, field, target, body string }{
		{"CreateRule", "slug", "POST " + rulesPath, `{"statement":"x","slug":null}`},
		{"CreateRule", "check", "POST " + rulesPath, `{"statement":"x","check":null}`},
		{"CreateRule", "severity", "POST " + rulesPath, `{"statement":"x","severity":null}`},
		{"CreateRule", "statement", "POST " + rulesPath, `{"statement":null}`},
		{"Check", "cel", "POST " + rulesPath, `{"statement":"x","check":{"cel":null,"pattern":{"regex":"a"}}}`},
		{"Pattern", "regex", "POST " + rulesPath, `{"statement":"x","check":{"pattern":{"regex":null}}}`},
		{"EvaluateRequest", "mode", "POST " + evaluatePath, `{"mode":null}`},
		{"EvaluateRequest", "request_approval", "POST " + evaluatePath, `{"request_approval":null}`},
		{"ChangeProject", "name", "PATCH " + projectsPath + "/default", `{"name":null}`},
	} {
		method, path, _ := strings.Cut(c.target, " ")
		got := n.call(method, path, c.body)
		if taken := got.status < 300; taken != nullable(c.schema, c.field) {
			t.Errorf("%s.%s: %d for null, the description allows null: %t; %s", c.schema, c.field, got.status, !taken, got.body)
		}
	}
	if values := d.Components.Schemas["EvaluateRequest"].Properties["mode"].Enum; !slices.Contains(values, any(nil)) {
		t.Errorf("null is no value of mode: %v", values)
	}
	// An environment without a deployment.
	state := n.call("GET", "/api/v1/snapshots/deployments/production", nil).want(http.StatusOK)
	if !bytes.Contains(state.body, []byte(`"active":null`)) || !nullable("EnvironmentState", "active") {
		t.Errorf("%s, and the description allows null: %t", state.body, nullable("EnvironmentState", "active"))
	}
}

// Nothing in the page of the documentation needs a policy that lets scripts or styles of others run.
func TestDocsRunNothingInline(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	page := n.call("GET", "/docs", nil).want(http.StatusOK)
	if policy := page.header.Get("Content-Security-Policy"); strings.Contains(policy, "unsafe") || !strings.Contains(policy, "script-src 'self'") {
		t.Errorf("policy %s", policy)
	}
	for _, inline := range []string{"<style", "style=", "<script>", "onload", "javascript:"} {
		if strings.Contains(string(page.body), inline) {
			t.Errorf("the page has %s", inline)
		}
	}
}

// A key that a caller has put into a path is not in the log.
func TestKeysInPathsAreNotLogged(t *testing.T) {
	t.Parallel()
	log := &lockedBuffer{}
	n := newNode(t, func(c *config) {
		c.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	secret := "tnt_" + strings.Repeat("s3cretKey", 5)
	n.call("GET", "/api/v1/keys/"+secret, nil)
	n.call("GET", rulesPath+"/x%2F"+secret, nil)
	n.call("GET", rulesPath+"/"+signature.NewSecret(), nil)
	for _, word := range []string{"s3cret", "whsec_"} {
		if text := strings.ReplaceAll(log.String(), "whsec_[redacted]", ""); strings.Contains(text, word) {
			t.Errorf("the log has %s: %s", word, text)
		}
	}
	if !strings.Contains(log.String(), "/api/v1/keys/tnt_[redacted]") {
		t.Errorf("log: %s", log)
	}
}

// What a caller says of the length of a body that is not verified yet takes no memory, and only so many callers may send one at once.
func TestUnverifiedBodiesAreBounded(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.call("POST", ingestPath+"/generic", "{}", "Webhook-Id", "a", "Webhook-Timestamp", "1", "Webhook-Signature", "v1,AAAA").
		wantProblem(http.StatusUnauthorized, rule.CodeUnauthenticated)
	srv := httptest.NewServer(n)
	defer srv.Close()
	began := make(chan struct{})
	var open []*io.PipeWriter
	answers := make(chan int, 40)
	send := func() {
		r, w := io.Pipe()
		open = append(open, w)
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+ingestPath+"/github", r)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("X-Hub-Signature-256", hubSignature("not the secret", "{}"))
		go func() {
			res, err := srv.Client().Do(q)
			if err != nil {
				answers <- 0
				return
			}
			_ = res.Body.Close()
			answers <- res.StatusCode
		}()
		go func() {
			_, _ = w.Write([]byte("{"))
			began <- struct{}{}
		}()
		<-began
	}
	for range 20 {
		send()
	}
	// Of 20 that send slowly from one address, some are sent away at once.
	for range 4 {
		if status := <-answers; status != http.StatusServiceUnavailable {
			t.Errorf("one too many gets %d", status)
		}
	}
	for _, w := range open {
		_, _ = w.Write([]byte("}"))
		_ = w.Close()
	}
	for range 16 {
		if status := <-answers; status != http.StatusUnauthorized {
			t.Errorf("a wrong signature gets %d", status)
		}
	}
	// Their places are free again, and a whole body of a known sender is read to its end.
	long := fmt.Sprintf(`{"zen":%q}`, strings.Repeat("z", 300<<10))
	if r := into[wire.Receipt](n.fromGitHub("ping", "d-1", long).want(http.StatusAccepted)); r.Status != "ignored" {
		t.Errorf("%+v", r)
	}
}

// A file of more rules than an import takes is refused before it is read: reading it takes half a minute.
func TestLargeImportsAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	var b strings.Builder
	b.WriteString("rules:\n")
	for i := range 20_001 {
		fmt.Fprintf(&b, "  - slug: P-%d\n    statement: Payment %d must be approved.\n", i, i)
	}
	began := time.Now()
	p := n.call("POST", rulesPath+"/import", b.String(), "Content-Type", "application/yaml").wantProblem(http.StatusRequestEntityTooLarge, rule.CodeTooLarge)
	if took := time.Since(began); took > 15*time.Second || !strings.Contains(p.Detail, "in parts") {
		t.Errorf("refused after %s: %s", took, p.Detail)
	}
}
