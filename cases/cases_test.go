package cases

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"tenet/internal/app"
	"tenet/internal/cli"
	"tenet/internal/config"
	"tenet/internal/rule"
	"tenet/internal/store/litetest"
	"tenet/internal/wire"
)

// file is a case as it is written.
type file struct {
	Name    string           `yaml:"name"`
	Rules   []wire.RuleInput `yaml:"rules"`
	Request map[string]any   `yaml:"request"`
	Expect  expectation      `yaml:"expect"`
}

// expectation is what the answer must hold.
type expectation struct {
	Overall    rule.Verdict            `yaml:"overall"`
	Verdicts   map[string]rule.Verdict `yaml:"verdicts"`
	Lines      map[string][]string     `yaml:"lines"` // by rule, as path:start-end
	Overridden []string                `yaml:"overridden"`
	Exit       int                     `yaml:"exit"` // exit code of tenet check
}

func TestCases(t *testing.T) {
	paths, err := filepath.Glob("*.yaml")
	if err != nil || len(paths) < 8 {
		t.Fatalf("found %d cases, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(path, ".yaml"), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var c file
			if err := yaml.UnmarshalWithOptions(data, &c, yaml.Strict()); err != nil {
				t.Fatal(err)
			}
			for i := range c.Rules {
				c.Rules[i].Status = rule.Effective
			}
			node := start(t, &wire.RuleFile{Rules: c.Rules})
			t.Run("in process", func(t *testing.T) { c.Expect.check(t, c.Rules, call(t, node, c.Request)) })
			t.Run("over HTTP", func(t *testing.T) {
				server := httptest.NewServer(node)
				defer server.Close()
				c.Expect.check(t, c.Rules, overHTTP(t, server.URL, c.Request))
			})
			t.Run("command line", func(t *testing.T) { c.Expect.check(t, c.Rules, c.commandLine(t)) })
		})
	}
}

func start(t *testing.T, rules *wire.RuleFile) http.Handler {
	t.Helper()
	none := func(string) string { return "" }
	cfg, err := config.Load("", none, map[string]string{"data": litetest.Dir(t)})
	if err != nil {
		t.Fatal(err)
	}
	node, err := app.New(t.Context(), cfg, slog.New(slog.DiscardHandler), app.Options{Env: none, Rules: []*wire.RuleFile{rules}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return node.Handler()
}

func call(t *testing.T, h http.Handler, request map[string]any) *rule.Evaluation {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/api/v1/evaluate", bytes.NewReader(encode(t, request)))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return decode(t, w.Body.Bytes())
}

func overHTTP(t *testing.T, url string, request map[string]any) *rule.Evaluation {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/api/v1/evaluate", bytes.NewReader(encode(t, request)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v: %s", answer.StatusCode, err, body)
	}
	return decode(t, body)
}

// commandLine writes the case's rules and subject to files and runs tenet check on them.
func (c *file) commandLine(t *testing.T) *rule.Evaluation {
	t.Helper()
	dir := t.TempDir()
	put := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	args := []string{"check", "--format", "json", "--rules", put("rules.json", encode(t, map[string]any{"rules": c.Rules}))}
	stdin := ""
	for key, value := range c.Request {
		switch key {
		case "diff":
			stdin = fmt.Sprint(value)
			args = append(args, "-")
		case "facts":
			args = append(args, "--facts", put("facts.json", encode(t, value)))
		case "scope", "repository", "intent", "mode":
			args = append(args, "--"+key, fmt.Sprint(value))
		case "severity_min", "max_rules":
			args = append(args, "--"+strings.ReplaceAll(key, "_", "-"), fmt.Sprint(value))
		default:
			t.Fatalf("tenet check has no way to give %s", key)
		}
	}
	var out, errs bytes.Buffer
	code := cli.Main(t.Context(), args, strings.NewReader(stdin), &out, &errs, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")})
	if code != c.Expect.Exit {
		t.Errorf("exit code %d, want %d; %s", code, c.Expect.Exit, errs.String())
	}
	return decode(t, out.Bytes())
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decode(t *testing.T, body []byte) *rule.Evaluation {
	t.Helper()
	e := &rule.Evaluation{}
	if err := json.Unmarshal(body, e); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return e
}

func (x *expectation) check(t *testing.T, rules []wire.RuleInput, e *rule.Evaluation) {
	t.Helper()
	if e.OverallVerdict != x.Overall {
		t.Errorf("overall %s, want %s", e.OverallVerdict, x.Overall)
	}
	verdicts, lines, slugs := map[string]rule.Verdict{}, map[string][]string{}, map[string]string{}
	for _, v := range e.RuleVerdicts {
		verdicts[v.RuleSlug] = v.Verdict
		slugs[v.RuleID] = v.RuleSlug
		for _, l := range v.Locations {
			lines[v.RuleSlug] = append(lines[v.RuleSlug], fmt.Sprintf("%s:%d-%d", l.FilePath, l.StartLine, l.EndLine))
		}
	}
	if diff := cmp.Diff(x.Verdicts, verdicts); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	if x.Lines == nil {
		x.Lines = map[string][]string{}
	}
	if diff := cmp.Diff(x.Lines, lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if len(e.Overridden) != len(x.Overridden) || len(rules) < len(e.RuleVerdicts)+len(e.Overridden) {
		t.Errorf("overridden %v, want %v", e.Overridden, x.Overridden)
	}
}
