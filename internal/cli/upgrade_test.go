package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestUpgradeCheck(t *testing.T) {
	answers := map[string]string{
		"/good/latest/download/release.json":     `{"version": "1.10.0", "files": []}`,
		"/page/latest/download/release.json":     `<html>`,
		"/hostile/latest/download/release.json":  `{"version": "1.0.0\u001b[31m"}`,
		"/unlisted/latest/download/release.json": `{}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answers[r.URL.Path] == "" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(answers[r.URL.Path]))
	}))
	defer server.Close()
	before := Version
	defer func() { Version = before }()
	for name, test := range map[string]struct {
		own, from string
		code      int
		says      string
	}{
		"older":           {"1.9.0", server.URL + "/good", 1, "tenet 1.10.0 is out, and this is 1.9.0\n  " + server.URL + "/good/tag/v1.10.0"},
		"slash":           {"1.9.0", server.URL + "/good/", 1, "1.10.0 is out"},
		"candidate":       {"1.10.0-rc.1", server.URL + "/good", 1, "1.10.0 is out"},
		"the same":        {"1.10.0", server.URL + "/good", 0, "is up to date"},
		"ahead":           {"1.11.0-dev.abc", server.URL + "/good", 0, "is up to date"},
		"from source":     {"9c50873b-dirty", server.URL + "/good", 1, "1.10.0 is out"},
		"none":            {"1.0.0", server.URL + "/none", 2, "404 Not Found"},
		"a page":          {"1.0.0", server.URL + "/page", 2, "not the description of a release"},
		"hostile":         {"1.0.0", server.URL + "/hostile", 2, "not the description of a release"},
		"without version": {"1.0.0", server.URL + "/unlisted", 2, "not the description of a release"},
		"not an address":  {"1.0.0", "file:///etc", 2, "is not the address of releases"},
	} {
		Version = test.own
		code, out, errs := run(t, "", "upgrade", "--check", "--from", test.from)
		if code != test.code || !strings.Contains(out+errs, test.says) {
			t.Errorf("%s: exit code %d, %q, want %d and %q", name, code, out+errs, test.code, test.says)
		}
	}
	Version = "1.9.0"
	if code, out, _ := run(t, "", "upgrade", "--check", "--json", "--from", server.URL+"/good"); code != 1 || !strings.Contains(out, `"newer": true`) {
		t.Errorf("as JSON: exit code %d, %s", code, out)
	}
	if code, _, errs := run(t, "", "upgrade", "--check"); code != 2 || !strings.Contains(errs, "--from") {
		t.Errorf("without an address: exit code %d, %s", code, errs)
	}
	if code, _, errs := run(t, "", "upgrade"); code != 2 || !strings.Contains(errs, "--check") {
		t.Errorf("without --check: exit code %d, %s", code, errs)
	}
}

func TestTheCommandThatUpgrades(t *testing.T) {
	for program, want := range map[string]string{
		"/usr/lib/node_modules/tenet-rules-linux-x64/bin/tenet": "npm install -g tenet-rules@2.0.0",
		"/home/a/.local/share/uv/tools/tenet-rules/bin/tenet":   "uv tool upgrade tenet-rules",
		"/home/a/.local/pipx/venvs/tenet-rules/bin/tenet":       "pipx upgrade tenet-rules",
		`C:\work\.venv\Scripts\tenet.exe`:                       "pip install --upgrade tenet-rules==2.0.0",
		"/opt/tenet":                                            "",
	} {
		if got := upgradeWith(program, "2.0.0"); got != want {
			t.Errorf("%s: %q, want %q", program, got, want)
		}
	}
}
