package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"tenet/internal/client"
	"tenet/internal/rule"
)

// vector is a case of sdk/vectors, which says how every client behaves; the README there explains the fields.
type vector struct {
	Name   string   `yaml:"name"`
	Not    []string `yaml:"not"`
	Client struct {
		Key       string `yaml:"key"`
		Project   string `yaml:"project"`
		TimeoutMS int    `yaml:"timeout_ms"`
	} `yaml:"client"`
	Call    string         `yaml:"call"`
	Key     string         `yaml:"idempotency_key"`
	Input   map[string]any `yaml:"input"`
	Answers []answer       `yaml:"answers"`
	Expect  struct {
		Requests  int               `yaml:"requests"`
		WithinMS  int               `yaml:"within_ms"`
		Same      []string          `yaml:"same"`
		Sent      []sent            `yaml:"sent"`
		Verdict   string            `yaml:"verdict"`
		Slug      string            `yaml:"slug"`
		Error     string            `yaml:"error"`
		Message   string            `yaml:"message"`
		Status    int               `yaml:"status"`
		RequestID string            `yaml:"request_id"`
		Fields    map[string]string `yaml:"fields"`
	} `yaml:"expect"`
}

type answer struct {
	Status     int               `yaml:"status"`
	Headers    map[string]string `yaml:"headers"`
	Body       string            `yaml:"body"`
	JSON       any               `yaml:"json"`
	Evaluation map[string]any    `yaml:"evaluation"`
	Rules      []map[string]any  `yaml:"rules"`
	Fill       int               `yaml:"fill"`
	RetryAfter *int              `yaml:"retry_after_date"`
	DelayMS    int               `yaml:"delay_ms"`
	Cut        int               `yaml:"cut"`
	Drop       bool              `yaml:"drop"`
	DripMS     int               `yaml:"drip_ms"`
	DripBodyMS int               `yaml:"drip_body_ms"`
}

type sent struct {
	Method  string             `yaml:"method"`
	Path    string             `yaml:"path"`
	Query   map[string]string  `yaml:"query"`
	Headers map[string]*string `yaml:"headers"`
	Body    map[string]any     `yaml:"body"`
}

const vectors = "../../sdk/vectors"

func TestVectors(t *testing.T) {
	t.Parallel()
	base, err := os.ReadFile(filepath.Join(vectors, "evaluation.json"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(vectors, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var all []vector
		if err := yaml.Unmarshal(text, &all); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, v := range all {
			if slices.Contains(v.Not, "go") {
				continue
			}
			ran++
			t.Run(v.Name, func(t *testing.T) {
				t.Parallel()
				v.run(t, base)
			})
		}
	}
	if ran < 40 {
		t.Errorf("only %d vectors ran", ran)
	}
}

// received is a request that the fake server got.
type received struct {
	request *http.Request
	body    []byte
}

func (v *vector) run(t *testing.T, base []byte) {
	var mu sync.Mutex
	var got []received
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		got = append(got, received{r, body})
		a := v.Answers[min(len(got), len(v.Answers))-1]
		mu.Unlock()
		a.write(w, r, base)
	}))
	defer server.Close()
	c, err := client.New(server.URL, v.Client.Key, nil)
	if err != nil {
		t.Fatal(err)
	}
	if v.Client.TimeoutMS == 0 {
		v.Client.TimeoutMS = 20_000
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(v.Client.TimeoutMS)*time.Millisecond)
	defer cancel()
	started := time.Now()
	verdict, slug, err := v.call(ctx, c.InProject(v.Client.Project))
	if took := time.Since(started); v.Expect.WithinMS > 0 && took > time.Duration(v.Expect.WithinMS)*time.Millisecond {
		t.Errorf("the call took %s, more than %d ms", took, v.Expect.WithinMS)
	}
	if verdict != v.Expect.Verdict || slug != v.Expect.Slug {
		t.Errorf("verdict %q and slug %q, want %q and %q", verdict, slug, v.Expect.Verdict, v.Expect.Slug)
	}
	v.checkError(t, err)
	mu.Lock()
	defer mu.Unlock()
	if v.Expect.Requests != 0 && len(got) != v.Expect.Requests {
		t.Errorf("%d requests, want %d", len(got), v.Expect.Requests)
	}
	for _, name := range v.Expect.Same {
		for _, r := range got {
			if value := r.request.Header.Get(name); value == "" || value != got[0].request.Header.Get(name) {
				t.Errorf("%s is %q, and %q in the first request", name, value, got[0].request.Header.Get(name))
			}
		}
	}
	for i, want := range v.Expect.Sent {
		if i >= len(got) {
			t.Fatalf("%d requests, want at least %d", len(got), len(v.Expect.Sent))
		}
		want.check(t, got[i])
	}
}

// call makes the call of a vector.
func (v *vector) call(ctx context.Context, c *client.Client) (verdict, slug string, err error) {
	input, err := json.Marshal(v.Input)
	if err != nil {
		return "", "", err
	}
	var e *rule.Evaluation
	switch v.Call {
	case "evaluate":
		body := client.Evaluate{Key: v.Key}
		err = json.Unmarshal(input, &body)
		if err == nil {
			e, err = c.Evaluate(ctx, body)
		}
	case "quick":
		body := client.Quick{Key: v.Key}
		err = json.Unmarshal(input, &body)
		if err == nil {
			e, err = c.EvaluateQuick(ctx, body)
		}
	case "submit":
		body := client.Submit{Key: v.Key}
		err = json.Unmarshal(input, &body)
		if err == nil {
			a, failure := c.Submit(ctx, body)
			if err = failure; err == nil {
				e = &a.Evaluation
			}
		}
	case "rule":
		r, err := c.Rule(ctx, v.Input["id"].(string))
		if err != nil {
			return "", "", err
		}
		return "", r.Slug, nil
	default:
		panic("vector " + v.Name + ": no such call: " + v.Call)
	}
	if err != nil {
		return "", "", err
	}
	return string(e.OverallVerdict), "", nil
}

func (v *vector) checkError(t *testing.T, err error) {
	t.Helper()
	if code := codeOf(err); code != v.Expect.Error {
		t.Fatalf("error %v with code %q, want %q", err, code, v.Expect.Error)
	}
	if err == nil {
		return
	}
	if !strings.Contains(err.Error(), v.Expect.Message) {
		t.Errorf("error %q does not say %q", err, v.Expect.Message)
	}
	e := &client.Error{}
	errors.As(err, &e)
	if v.Expect.Status != 0 && e.Status != v.Expect.Status {
		t.Errorf("status %d, want %d", e.Status, v.Expect.Status)
	}
	if v.Expect.RequestID != "" && e.RequestID != v.Expect.RequestID {
		t.Errorf("request id %q, want %q", e.RequestID, v.Expect.RequestID)
	}
	if len(v.Expect.Fields) > 0 {
		fields := map[string]string{}
		for _, f := range e.Err.Fields {
			fields[f.Field] = f.Message
		}
		if !maps.Equal(fields, v.Expect.Fields) {
			t.Errorf("fields %v, want %v", fields, v.Expect.Fields)
		}
	}
}

// codeOf is the code of an error in the words of the vectors.
func codeOf(err error) string {
	var answered *client.Error
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.As(err, &answered):
		return string(rule.CodeOf(err))
	case rule.CodeOf(err) == rule.CodeInternal:
		return "answer"
	}
	return string(rule.CodeOf(err))
}

// write answers as the vector says.
func (a *answer) write(w http.ResponseWriter, r *http.Request, base []byte) {
	if a.Drop {
		panic(http.ErrAbortHandler)
	}
	select {
	case <-time.After(time.Duration(a.DelayMS) * time.Millisecond):
	case <-r.Context().Done():
		return
	}
	body := a.body(base)
	for name, value := range a.Headers {
		w.Header().Set(name, value)
	}
	if a.RetryAfter != nil {
		w.Header().Set("Retry-After", time.Now().Add(time.Duration(*a.RetryAfter)*time.Second).UTC().Format(http.TimeFormat))
	}
	if a.Cut > 0 {
		w.Header().Set("Content-Length", "100000")
		body = body[:a.Cut]
	}
	if a.Status == 0 {
		a.Status = http.StatusOK
	}
	if a.DripMS > 0 {
		a.drip(w, r, body)
		return
	}
	w.WriteHeader(a.Status)
	if a.DripBodyMS > 0 {
		flush := func() { _ = http.NewResponseController(w).Flush() }
		flush()
		slowly(r.Context(), a.DripBodyMS, body, func(b []byte) { _, _ = w.Write(b); flush() })
		return
	}
	_, _ = w.Write(bytes.Repeat([]byte(" "), a.Fill))
	_, _ = w.Write(body)
	if a.Cut > 0 {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// drip sends an answer, its head included, a byte at a time.
func (a *answer) drip(w http.ResponseWriter, r *http.Request, body []byte) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithCancel(r.Context())
	go func() {
		_, _ = conn.Read(make([]byte, 1)) // ends when the client leaves
		cancel()
	}()
	head := fmt.Sprintf("HTTP/1.1 %d -\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", a.Status, len(body))
	slowly(ctx, a.DripMS, append([]byte(head), body...), func(b []byte) { _, _ = conn.Write(b) })
}

// slowly writes a byte at a time, with a pause before each, until the client leaves.
func slowly(ctx context.Context, pauseMS int, data []byte, write func([]byte)) {
	for i := range data {
		select {
		case <-time.After(time.Duration(pauseMS) * time.Millisecond):
			write(data[i : i+1])
		case <-ctx.Done():
			return
		}
	}
}

func (a *answer) body(base []byte) []byte {
	var value any
	switch {
	case a.Evaluation != nil:
		e := map[string]any{}
		if err := json.Unmarshal(base, &e); err != nil {
			panic(err)
		}
		coverage := e["coverage"].(map[string]any)
		rule := e["rule_verdicts"].([]any)[0].(map[string]any)
		maps.Copy(e, a.Evaluation)
		if changed, ok := a.Evaluation["coverage"].(map[string]any); ok {
			maps.Copy(coverage, changed)
			e["coverage"] = coverage
		}
		if len(a.Rules) > 0 {
			var rules []any
			for _, fields := range a.Rules {
				r := maps.Clone(rule)
				maps.Copy(r, fields)
				rules = append(rules, r)
			}
			e["rule_verdicts"] = rules
		}
		value = e
	case a.JSON != nil:
		value = a.JSON
	default:
		return []byte(a.Body)
	}
	if a.Headers["Content-Type"] == "" {
		if a.Headers == nil {
			a.Headers = map[string]string{}
		}
		a.Headers = maps.Clone(a.Headers)
		a.Headers["Content-Type"] = "application/json"
	}
	out, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return out
}

// check compares a request with what the vector expects.
func (s *sent) check(t *testing.T, got received) {
	t.Helper()
	r := got.request
	if s.Method != "" && r.Method != s.Method {
		t.Errorf("method %s, want %s", r.Method, s.Method)
	}
	if s.Path != "" && r.URL.EscapedPath() != s.Path {
		t.Errorf("path %s, want %s", r.URL.EscapedPath(), s.Path)
	}
	if s.Query != nil {
		query := map[string]string{}
		for name := range r.URL.Query() {
			query[name] = r.URL.Query().Get(name)
		}
		if !maps.Equal(query, s.Query) {
			t.Errorf("query %v, want %v", query, s.Query)
		}
	}
	for name, value := range s.Headers {
		if given := r.Header.Values(name); (value == nil && len(given) > 0) || (value != nil && !slices.Equal(given, []string{*value})) {
			t.Errorf("header %s is %q, not as expected", name, given)
		}
	}
	if s.Body != nil {
		expected, err := json.Marshal(s.Body)
		if err != nil {
			t.Fatal(err)
		}
		var want, body any
		if err := errors.Join(json.Unmarshal(expected, &want), json.Unmarshal(got.body, &body)); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(want, body) {
			t.Errorf("body %s, want %s", got.body, expected)
		}
	}
}
