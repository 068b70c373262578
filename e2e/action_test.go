package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// released makes the archive of a release with the program under test.
func released(t *testing.T, version string) (name string, archive []byte) {
	t.Helper()
	path, err := exec.LookPath("tenet")
	if program := os.Getenv("TENET_TEST_PROGRAM"); program != "" {
		path, err = program, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	folder := "tenet-" + version + "-" + runtime.GOOS + "-" + runtime.GOARCH
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	files := tar.NewWriter(z)
	if err := files.WriteHeader(&tar.Header{Name: folder + "/tenet", Mode: 0o755, Size: int64(len(program))}); err != nil {
		t.Fatal(err)
	}
	if _, err := files.Write(program); err != nil {
		t.Fatal(err)
	}
	for _, close := range []func() error{files.Close, z.Close} {
		if err := close(); err != nil {
			t.Fatal(err)
		}
	}
	return folder + ".tar.gz", packed.Bytes()
}

// releases serves an archive under several addresses, each with its own checksums.txt.
func releases(t *testing.T, version, name string, archive []byte, sums map[string]string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		release, file, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/download/v"+version+"/")
		switch {
		case file == name && sums[release] != "":
			_, _ = w.Write(archive)
		case file == "checksums.txt":
			_, _ = w.Write([]byte(sums[release]))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// action carries out the steps of action.yml as a runner does, and returns the exit code of the one that fails and what they print.
func action(t *testing.T, repository string, inputs map[string]string, environ ...string) (code int, printed string) {
	t.Helper()
	text, err := os.ReadFile("../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var a struct {
		Inputs map[string]struct{ Default string }
		Runs   struct {
			Using string
			Steps []struct {
				Shell, Run string
				Env        map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	for name := range inputs {
		if _, ok := a.Inputs[name]; !ok {
			t.Fatalf("the action has no input %s", name)
		}
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	expression := regexp.MustCompile(`\$\{\{ ([^}]*) \}\}`)
	value := func(in string) string {
		return expression.ReplaceAllStringFunc(in, func(e string) string {
			name := expression.FindStringSubmatch(e)[1]
			if input, ok := strings.CutPrefix(name, "inputs."); ok {
				if v, ok := inputs[input]; ok {
					return v
				}
				return a.Inputs[input].Default
			}
			return map[string]string{"github.action_path": root}[name]
		})
	}
	for _, step := range a.Runs.Steps {
		command := exec.CommandContext(t.Context(), step.Shell, "-e", "-c", value(step.Run))
		command.Dir = repository
		// No Go, and no program that is installed.
		command.Env = append([]string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + t.TempDir(), "RUNNER_TEMP=" + t.TempDir()}, environ...)
		for name, v := range step.Env {
			command.Env = append(command.Env, name+"="+value(v))
		}
		out, err := command.CombinedOutput()
		printed += string(out)
		if err != nil {
			return command.ProcessState.ExitCode(), printed
		}
	}
	return 0, printed
}

// The action downloads a release and runs it only if it is the one that the workflow, or the release, names.
func TestActionWithARelease(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the sums of this machine's runner are those of Linux")
	}
	text, err := os.ReadFile("../VERSION")
	if err != nil {
		t.Fatal(err)
	}
	version := strings.TrimSpace(string(text))
	name, archive := released(t, version)
	sum := sha256.Sum256(archive)
	pin := hex.EncodeToString(sum[:])
	wrong := strings.Repeat("0", 64)
	sums := map[string]string{"good": pin + "  " + name + "\n", "replaced": wrong + "  " + name + "\n", "empty": "\n"}
	server := releases(t, version, name, archive, sums)

	repository := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=Dev", "-c", "user.email=dev@example.com"}, args...)...)
		command.Dir = repository
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(repository, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "--quiet", "--initial-branch=main")
	write("rules.yaml", "rules:\n  - {slug: SEC-1, statement: No eval., severity: HIGH, status: EFFECTIVE, check: {pattern: {regex: '\\beval\\('}}}\n")
	write("app.py", "import os\n")
	git("add", ".")
	git("commit", "--quiet", "--message=one")
	git("checkout", "--quiet", "-b", "topic")
	write("app.py", "import os\na = eval(x)\n")
	git("commit", "--quiet", "--all", "--message=two")

	for test, with := range map[string]struct {
		inputs map[string]string
		code   int
		says   string
	}{
		"the version of the action": {map[string]string{"download": server.URL + "/good"}, 1, "::error file=app.py"},
		"pinned":                    {map[string]string{"download": server.URL + "/replaced", "version": "v" + version, "sha256": strings.ToUpper(pin)}, 1, "::error file=app.py"},
		"another than pinned":       {map[string]string{"download": server.URL + "/good", "sha256": wrong}, 2, "is not the expected one"},
		"replaced":                  {map[string]string{"download": server.URL + "/replaced"}, 2, "is not the expected one"},
		"without a sum":             {map[string]string{"download": server.URL + "/empty"}, 2, "no SHA-256 is known"},
		"half a sum":                {map[string]string{"download": server.URL + "/good", "sha256": "abc"}, 2, "has 3 digits"},
		"not there":                 {map[string]string{"download": server.URL + "/good", "version": "v9.9.9"}, 2, "cannot be downloaded"},
		"not a version":             {map[string]string{"download": server.URL + "/good", "version": "../../x"}, 2, "is not a version"},
		"from source, without Go":   {map[string]string{"version": "source"}, 2, "set Go up before this step"},
	} {
		inputs := map[string]string{"base": "main", "rules": "rules.yaml"}
		maps.Copy(inputs, with.inputs)
		code, printed := action(t, repository, inputs)
		if code != with.code || !strings.Contains(printed, with.says) {
			t.Errorf("%s: exit code %d, want %d and %q in\n%s", test, code, with.code, with.says, printed)
		}
	}

	// With review, the finding is a comment beside its line. What the forge answers does not change the verdict.
	var commented []string
	forge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer of the workflow":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/repos/acme/pay/pulls/7":
			_, _ = w.Write([]byte(`{"head": {"sha": "` + strings.Repeat("0a", 20) + `"}}`))
		case r.Method == http.MethodGet:
			_, _ = w.Write([]byte(`[]`))
		default:
			body, _ := io.ReadAll(r.Body)
			commented = append(commented, r.URL.Path+" "+string(body))
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte(`{}`))
		}
	}))
	defer forge.Close()
	inputs := map[string]string{"base": "main", "rules": "rules.yaml", "download": server.URL + "/good", "review": "true", "token": "of the workflow"}
	environ := []string{"GITHUB_API_URL=" + forge.URL, "GITHUB_REPOSITORY=acme/pay", "GITHUB_REF=refs/pull/7/merge"}
	code, printed := action(t, repository, inputs, environ...)
	if code != 1 || !strings.Contains(printed, "comments: 1 new") || len(commented) != 1 ||
		!strings.HasPrefix(commented[0], "/repos/acme/pay/pulls/7/comments ") || !strings.Contains(commented[0], `"path":"app.py"`) || !strings.Contains(commented[0], `"line":2`) {
		t.Errorf("exit code %d, comments %q, printed\n%s", code, commented, printed)
	}
	inputs["token"] = "of a fork"
	if code, printed := action(t, repository, inputs, environ...); code != 1 || !strings.Contains(printed, "::warning title=Tenet::No comments: ") {
		t.Errorf("without the permission: exit code %d and\n%s", code, printed)
	}
}

// VERSION is the only place that a release changes by hand after these, which name the same version.
func TestOneVersion(t *testing.T) {
	text, err := os.ReadFile("../VERSION")
	if err != nil {
		t.Fatal(err)
	}
	version := strings.TrimSpace(string(text))
	for path, lines := range map[string][]string{
		"deploy/helm/tenet/Chart.yaml":      {"version: " + version, "appVersion: " + version},
		"deploy/gitlab/tenet.gitlab-ci.yml": {"TENET_VERSION: " + version + "}", "/v" + version + "/tenet.gitlab-ci.yml"},
		"deploy/compose.yaml":               {"tenet:" + version + "}"},
		"pyproject.toml":                    {`version = "` + version + `"`, `"tenet-rules==` + version + `"`},
	} {
		content, err := os.ReadFile("../" + path)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			if !strings.Contains(string(content), line) {
				t.Errorf("%s lacks %q", path, line)
			}
		}
	}
}
