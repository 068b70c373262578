package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// serve starts a server for a handler, and returns a client whose waits are noted instead of waited.
func serve(t *testing.T, h http.HandlerFunc) (*Client, *[]time.Duration) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	c, err := New(server.URL+"/", "tnt_secret", nil)
	if err != nil {
		t.Fatal(err)
	}
	var waits []time.Duration
	c.wait = func(_ context.Context, d time.Duration) error {
		waits = append(waits, d)
		return nil
	}
	return c, &waits
}

func TestNewRefusesWhatIsNoAddress(t *testing.T) {
	for _, bad := range []string{"", "localhost:8080", "ftp://x", "http://", "::", "/api", "http://a b"} {
		if _, err := New(bad, "", nil); rule.CodeOf(err) != rule.CodeInvalid {
			t.Errorf("New(%q) gives %v, want an invalid error", bad, err)
		}
	}
}

func TestRequestCarriesKeyProjectAndPath(t *testing.T) {
	var got *http.Request
	c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		_, _ = io.WriteString(w, `{"slug":"a/b"}`)
	})
	r, err := c.InProject("payments").Rule(t.Context(), "a/b ?x")
	if err != nil || r.Slug != "a/b" {
		t.Fatalf("Rule gives %+v, %v", r, err)
	}
	if got.URL.EscapedPath() != "/api/v1/rules/a%2Fb%20%3Fx" {
		t.Errorf("path is %q: the reference was not escaped as one segment", got.URL.EscapedPath())
	}
	if p := got.URL.Query().Get("project_id"); p != "payments" {
		t.Errorf("project_id is %q", p)
	}
	if k := got.Header.Get("Authorization"); k != "Bearer tnt_secret" {
		t.Errorf("Authorization is %q", k)
	}
}

func TestDoCarriesOutAnyOperation(t *testing.T) {
	var got string
	c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = r.Method + " " + r.URL.RequestURI() + " " + string(body)
		_, _ = io.WriteString(w, `{"total":3}`)
	})
	var list struct{ Total int }
	if err := c.Do(t.Context(), http.MethodGet, "/api/v1/jobs?state=failed", nil, &list); err != nil || list.Total != 3 || got != "GET /api/v1/jobs?state=failed " {
		t.Errorf("asked %q and got %+v, %v", got, list, err)
	}
	err := c.InProject("pay").Do(t.Context(), http.MethodPost, "/api/v1/federations", map[string]string{"name": "a"}, nil)
	if err != nil || got != `POST /api/v1/federations?project_id=pay {"name":"a"}` {
		t.Errorf("asked %q, %v", got, err)
	}
}

func TestProblemBecomesError(t *testing.T) {
	c, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = io.WriteString(w, `{"title":"The request is invalid","status":422,"detail":"the rule is invalid","code":"invalid",
			"request_id":"r-1","errors":[{"field":"check.cel","message":"column 3: no such field","value":"x"}]}`)
	})
	_, err := c.Rule(t.Context(), "SEC-1")
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Status != 422 || e.RequestID != "r-1" {
		t.Fatalf("error is %#v", err)
	}
	r, ok := errors.AsType[*rule.Error](err)
	if !ok || r.Code != rule.CodeInvalid || len(r.Fields) != 1 || r.Fields[0].Field != "check.cel" {
		t.Fatalf("rule error is %#v", r)
	}
	if want := "the rule is invalid: check.cel: column 3: no such field"; err.Error() != want {
		t.Errorf("message is %q, want %q", err.Error(), want)
	}
}

func TestErrorsWithoutProblemBody(t *testing.T) {
	for status, code := range map[int]rule.Code{
		400: rule.CodeInvalid, 401: rule.CodeUnauthenticated, 403: rule.CodeForbidden, 404: rule.CodeNotFound, 409: rule.CodeConflict,
		412: rule.CodePrecondition, 413: rule.CodeTooLarge, 422: rule.CodeInvalid, 500: rule.CodeInternal, 502: rule.CodeUnavailable, 599: rule.CodeInternal,
	} {
		for _, body := range []string{"", "<html>", "null", "[]", `{"title":5}`, "{"} {
			c, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
				_, _ = io.WriteString(w, body)
			})
			_, err := c.Rule(t.Context(), "x")
			if rule.CodeOf(err) != code || err.Error() == "" {
				t.Errorf("status %d with body %q gives %v (%s), want code %s", status, body, err, rule.CodeOf(err), code)
			}
		}
	}
}

func TestRetry(t *testing.T) {
	read := func(ctx context.Context, c *Client) error { _, err := c.Rule(ctx, "x"); return err }
	write := func(ctx context.Context, c *Client) error {
		_, err := Call(ctx, c, op.TransitionRule.At("x"), wire.Transition{To: rule.Review, Note: ""})
		return err
	}
	for _, test := range []struct {
		name       string
		call       func(context.Context, *Client) error
		status     int
		retryAfter string
		failures   int
		calls      int
		wait       time.Duration // of the first retry; 0 for any
		ok         bool
	}{
		{"a read is repeated after 503", read, 503, "", 2, 3, 0, true},
		{"a read is repeated after 429 as told", read, 429, "7", 1, 2, 7 * time.Second, true},
		{"a write is repeated after 429, which has done nothing", write, 429, "1", 1, 2, time.Second, true},
		{"a write is not repeated after 503", write, 503, "1", 1, 1, 0, false},
		{"other errors are final", read, 500, "", 1, 1, 0, false},
		{"patience ends", read, 503, "", 100, maxAttempts, 0, false},
		{"an hour is too long", read, 429, "3600", 1, 1, 0, false},
		{"an absurd time is too long", read, 429, "99999999999", 1, 1, 0, false},
		{"a date is understood", read, 503, "Mon, 02 Jan 2006 15:04:05 GMT", 1, 2, 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			calls := 0
			c, waits := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if calls++; calls <= test.failures {
					if test.retryAfter != "" {
						w.Header().Set("Retry-After", test.retryAfter)
					}
					w.WriteHeader(test.status)
					return
				}
				_, _ = io.WriteString(w, "{}")
			})
			err := test.call(t.Context(), c)
			if (err == nil) != test.ok || calls != test.calls {
				t.Errorf("%d calls with error %v, want %d calls, success %t", calls, err, test.calls, test.ok)
			}
			if test.wait != 0 && !slices.Equal(*waits, []time.Duration{test.wait}) {
				t.Errorf("waited %v, want %s", *waits, test.wait)
			}
		})
	}
}

func TestRetryStopsAtDeadline(t *testing.T) {
	c, waits := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "20")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := c.Rule(ctx, "x"); rule.CodeOf(err) != rule.CodeUnavailable || len(*waits) != 0 {
		t.Errorf("error %v after waits %v, want unavailable at once: the wait would outlast the deadline", err, *waits)
	}
}

func TestAnswerIsBounded(t *testing.T) {
	c, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		chunk := strings.Repeat(" ", 1<<20)
		for range 80 {
			if _, err := io.WriteString(w, chunk); err != nil {
				return
			}
		}
	})
	if _, err := c.Rule(t.Context(), "x"); rule.CodeOf(err) != rule.CodeTooLarge {
		t.Errorf("80 MiB give %v, want too_large", err)
	}
}

func TestAnswerWithoutVerdictIsNoPass(t *testing.T) {
	for _, body := range []string{
		`{}`, `{"overall_verdict":"OK"}`, `null`, `{"overall_verdict":"ALLOW"}`,
		`{"overall_verdict":"ALLOW","evaluation_id":"e","rules_evaluated":3,"rule_verdicts":[]}`,
		`{"overall_verdict":"ALLOW","evaluation_id":"e","rules_evaluated":1,"rule_verdicts":[{"verdict":"DENY"}]}`,
	} {
		c, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
		if e, err := c.Evaluate(t.Context(), Evaluate{Diff: "x"}); err == nil {
			t.Errorf("%s gives %+v without an error", body, e)
		}
		if e, err := c.Submit(t.Context(), Submit{}); err == nil {
			t.Errorf("a submission: %s gives %+v without an error", body, e)
		}
	}
}

func TestEvaluateSendsWhatIsGiven(t *testing.T) {
	var got map[string]any
	c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&got)
		_, _ = io.WriteString(w, `{"overall_verdict":"ALLOW","evaluation_id":"e"}`)
	})
	_, err := c.Evaluate(t.Context(), Evaluate{Facts: json.RawMessage(`{"amount":12345678901234567890}`), MaxRules: 5})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got["max_rules"] != 5.0 {
		t.Errorf("sent %v, want facts and max_rules only", got)
	}
}

func TestAllRulesReadsEveryPage(t *testing.T) {
	const total = 250
	c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var number, size int
		_, _ = fmt.Sscan(r.URL.Query().Get("page"), &number)
		_, _ = fmt.Sscan(r.URL.Query().Get("page_size"), &size)
		items := []rule.Rule{}
		for i := (number - 1) * size; i < min(number*size, total); i++ {
			items = append(items, rule.Rule{Version: i + 1})
		}
		_ = json.NewEncoder(w).Encode(wire.Page[rule.Rule]{Items: items, Total: total, Page: number, PageSize: size})
	})
	rules, err := c.AllRules(t.Context(), RuleFilter{})
	if err != nil || len(rules) != total || rules[total-1].Version != total {
		t.Errorf("got %d rules, %v", len(rules), err)
	}
}

func TestUnreachableServerIsNamedWithoutPassword(t *testing.T) {
	c, err := New("http://me:hunter2@127.0.0.1:1", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Rule(t.Context(), "x")
	if rule.CodeOf(err) != rule.CodeUnavailable || !strings.Contains(err.Error(), "127.0.0.1:1") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error is %v", err)
	}
}

func TestKeyDoesNotFollowARedirectToAnotherHost(t *testing.T) {
	leaked := false
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		leaked = leaked || r.Header.Get("Authorization") != ""
	}))
	defer other.Close()
	c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	if _, err := c.Rule(t.Context(), "x"); err == nil || leaked {
		t.Errorf("redirect to another host gives %v; key leaked: %t", err, leaked)
	}
}

func TestInProcess(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/rules/panic" {
			panic("oh")
		}
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Method", r.Method)
		w.WriteHeader(http.StatusCreated)
		w.Header().Set("X-Late", "1")
		_, _ = fmt.Fprintf(w, `{"statement":%q}`, r.RequestURI+" "+r.Host+" "+string(body))
	})
	c, err := New("http://localhost", "", &http.Client{Transport: InProcess(h)})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Call(t.Context(), c, op.ReviseRule.At("SEC-1").IfMatch(0), map[string]any{"a": 1})
	if err != nil || r.Statement != `/api/v1/rules/SEC-1 localhost {"a":1}` {
		t.Errorf("answer is %q, %v", r.Statement, err)
	}
	if _, err := c.Rule(t.Context(), "panic"); err == nil || !strings.Contains(err.Error(), "panicked") {
		t.Errorf("a panic gives %v", err)
	}
}

func TestInProcessHeadersAreThoseAtTheFirstByte(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Early", "1")
		_, _ = io.WriteString(w, "x")
		w.Header().Set("X-Late", "1")
	})
	res, err := (&http.Client{Transport: InProcess(h)}).Get("http://localhost/")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK || res.Header.Get("X-Early") != "1" || res.Header.Get("X-Late") != "" {
		t.Errorf("status %d, headers %v", res.StatusCode, res.Header)
	}
}

func FuzzProblem(f *testing.F) {
	f.Add(422, []byte(`{"title":"t","detail":"d","code":"invalid","errors":[{"field":"f","message":"m"}]}`))
	f.Add(500, []byte(`{"errors":[{"location":"body.x","value":{"a":[1]}}],"title":"t"}`))
	f.Add(401, []byte("\x00\xff"))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		e := problem(&answer{status: status, header: http.Header{}, body: body})
		if e.Err.Message == "" || e.Err.Code == "" {
			t.Errorf("status %d with body %q gives %+v: an error must say something", status, body, e.Err)
		}
	})
}

// Copy writes a long answer as it comes, over the network and in process, and returns the error of its writer or of the server.
func TestCopy(t *testing.T) {
	const part = "0123456789"
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Query().Get("format") == "csv":
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = w.Write([]byte(`{"status":422,"code":"invalid","detail":"no such format"}`))
		default:
			for range 1000 {
				if _, err := w.Write([]byte(part)); err != nil {
					panic(http.ErrAbortHandler)
				}
			}
		}
	})
	remote, _ := serve(t, handler)
	local, err := New("http://localhost", "", &http.Client{Transport: InProcess(handler)})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*Client{"remote": remote, "in process": local} {
		var b bytes.Buffer
		if err := Copy(t.Context(), c, op.ExportAudit, &b); err != nil || b.String() != strings.Repeat(part, 1000) {
			t.Errorf("%s: %d bytes, %v", name, b.Len(), err)
		}
		b.Reset()
		err := Copy(t.Context(), c, op.ExportAudit.Where(wire.AuditExportQuery{Format: "csv"}), &b)
		if rule.CodeOf(err) != rule.CodeInvalid || b.Len() > 0 {
			t.Errorf("%s: %v, and %q was written", name, err, b.String())
		}
		if err := Copy(t.Context(), c, op.ExportAudit, full{}); !errors.Is(err, errFull) {
			t.Errorf("%s: %v, want the error of the writer", name, err)
		}
	}
}

var errFull = errors.New("the disk is full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
