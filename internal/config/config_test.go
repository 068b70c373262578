package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenet/internal/config"
)

func none(string) string { return "" }

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tenet.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFlagsWinOverEnvironmentOverFileOverDefault(t *testing.T) {
	path := write(t, "listen: 127.0.0.1:1\ndata: /file\njudge_timeout: 5s\nno_seed: true\nrate_limit: 2.5\n")
	env := func(name string) string {
		return map[string]string{"TENET_LISTEN": "127.0.0.1:2", "TENET_DATA": "/env"}[name]
	}
	c, err := config.Load(path, env, map[string]string{"listen": "127.0.0.1:3"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != "127.0.0.1:3" || c.Data != "/env" || c.JudgeTimeout != 5*time.Second || !c.NoSeed || c.RateLimit != 2.5 || c.RateBurst != 50 {
		t.Errorf("%+v", c)
	}
}

func TestBadSettingsAreRefusedAndNamed(t *testing.T) {
	for _, tt := range []struct{ file, want string }{
		{"listn: x", "listn"},
		{"no_seed: maybe", "no_seed"},
		{"judge_timeout: soon", "judge_timeout"},
		{"judge_parallel: -1", "judge_parallel"},
		{"judge_timeout: 2m\njudge_total_timeout: 90s", "judge_total_timeout: must be at least judge_timeout"},
		{"judge_timeout: 2h", "at most 1h"},
		{"judge_timeout: \"\"", "judge_timeout"},
		{"rate_limit: fast", "rate_limit"},
		{"log_level: loud", "log_level"},
		{"log_format: xml", "log_format"},
		{"database_url: mysql://x", "database_url"},
		{"max_body: 1", "max_body"},
		{"job_lease: 100ms", "job_lease"},
		{"job_workers: 0", "job_workers"},
		{"session_count: 0", "session_count"},
		{"rest_prefix: rest", "rest_prefix"},
		{"rest_prefix: /rest/", "rest_prefix"},
		{"rest_prefix: /api/v1", "rest_prefix"},
		{"mcp: perhaps", "mcp"},
		{"listen: [a]", "listen"},
		{"listen: a\nlisten: b", "listen"},
		{"# one\nlistn: x\njob_workers: many", ":2: unknown setting \"listn\"; did you mean listen?"},
		{"# one\nlistn: x\njob_workers: many", ":3: job_workers: \"many\" is not a whole number"},
		{"job_workers: 0\nlog_level: loud", ":1: job_workers: must be between"},
		{"job_workers: 0\nlog_level: loud", ":2: log_level: \"loud\""},
		{"listen: nowhere", ":1: listen: \"nowhere\" is not an address"},
		{"listen: 127.0.0.1:99999", ":1: listen: \"127.0.0.1:99999\" is not an address"},
		{"grpc_listen: '[::1'", ":1: grpc_listen: "},
		{"# one\ntls_cert: a.pem", ":2: tls_cert and tls_key: set both"},
		{"seeds: {a: b}\nlog_level: loud", ":1: seeds must be a plain value"},
	} {
		if _, err := config.Load(write(t, tt.file), none, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: error %v, want one that names %s", tt.file, err, tt.want)
		}
	}
	if _, err := config.Load(filepath.Join(t.TempDir(), "none.yaml"), none, nil); err == nil {
		t.Error("a settings file that is not there is no error")
	}
	if _, err := config.Load("", func(name string) string {
		if name == "TENET_MAX_BODY" {
			return "lots"
		}
		return ""
	}, nil); err == nil || !strings.Contains(err.Error(), "TENET_MAX_BODY") {
		t.Errorf("a malformed variable: %v", err)
	}
}

// One run lists all that is wrong: what cannot be read, what is no setting, and what is out of bounds, each once.
func TestAllErrorsComeAtOnce(t *testing.T) {
	file := write(t, "log_level: loud\njudge_timeout: soon\ncolour: red\nlisten: [a]\nalert_deny_min: 0\n")
	_, err := config.Load(file, none, nil)
	if err == nil {
		t.Fatal("no error")
	}
	lines := strings.Split(err.Error(), "\n")
	for i, want := range []string{":4: listen must be", ":2: judge_timeout: ", ":3: unknown setting", ":1: log_level: ", ":5: alert_deny_min: "} {
		if i >= len(lines) || !strings.Contains(lines[i], want) {
			t.Errorf("line %d is not %q in\n%s", i+1, want, err)
		}
	}
	if len(lines) != 5 {
		t.Errorf("%d lines", len(lines))
	}
}

func TestJudgingTakesThreeCallsAtLeast(t *testing.T) {
	for file, want := range map[string]time.Duration{
		"mcp: true":          90 * time.Second,
		"judge_timeout: 10s": 90 * time.Second,
		"judge_timeout: 5m":  15 * time.Minute,
		"judge_timeout: 2m\njudge_total_timeout: 3m": 3 * time.Minute,
	} {
		c, err := config.Load(write(t, file), none, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Judging(); got != want {
			t.Errorf("%q: %v, want %v", file, got, want)
		}
	}
}

func TestTheGuideListsEverySetting(t *testing.T) {
	guide, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range config.Settings() {
		def := ""
		if s.Default != "" {
			def = "`" + s.Default + "`"
		}
		row := fmt.Sprintf("| `%s` | `%s` | %s | %s |", s.Key, s.Env, def, s.Doc)
		if !strings.Contains(string(guide), row) {
			t.Errorf("docs/operations.md lacks this row:\n%s", row)
		}
		if n := strings.Count(string(guide), "| `"+s.Env+"` |"); n != 1 {
			t.Errorf("docs/operations.md has %d rows of %s", n, s.Env)
		}
	}
}

func TestProfilesAreByModel(t *testing.T) {
	for setting, want := range map[string]string{
		"large": "large large", "small": "small small", "ollama:qwen3:1.7b=small,large": "small large", "small,openai:gpt-5-mini=large": "small large",
	} {
		c, err := config.Load(write(t, "judge_profile: "+setting), none, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Profile("ollama:qwen3:1.7b") + " " + c.Profile("openai:gpt-5-mini"); got != want {
			t.Errorf("%s gives %s, want %s", setting, got, want)
		}
	}
	for _, setting := range []string{"tiny", "large,", "=small", "a=b"} {
		if _, err := config.Load(write(t, "judge_profile: "+setting), none, nil); err == nil || !strings.Contains(err.Error(), "judge_profile") {
			t.Errorf("%q gives %v", setting, err)
		}
	}
}
