package cli

import (
	"strings"
	"testing"
)

// Links to lines come from the variables of a pipeline, if these are in order.
func TestFilesOfAPipeline(t *testing.T) {
	commit := strings.Repeat("0a", 20)
	for want, environ := range map[string]map[string]string{
		"https://github.com/acme/pay/blob/" + commit:      {"GITHUB_ACTIONS": "true", "GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "acme/pay", "GITHUB_SHA": commit},
		"https://gitlab.test:8443/a/b/c/-/blob/" + commit: {"GITLAB_CI": "true", "CI_PROJECT_URL": "https://gitlab.test:8443/a/b/c", "CI_COMMIT_SHA": commit},
	} {
		if got := filesOf(&session{env: func(name string) string { return environ[name] }}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, environ := range []map[string]string{
		{},
		{"GITLAB_CI": "true", "CI_PROJECT_URL": "javascript:alert(1)", "CI_COMMIT_SHA": commit},
		{"GITLAB_CI": "true", "CI_PROJECT_URL": "https://x/a>)", "CI_COMMIT_SHA": commit},
		{"GITHUB_ACTIONS": "true", "GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "acme/pay", "GITHUB_SHA": "main"},
	} {
		if got := filesOf(&session{env: func(name string) string { return environ[name] }}); got != "" {
			t.Errorf("%v gives %q", environ, got)
		}
	}
}
