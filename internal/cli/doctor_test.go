package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestDoctorLooksAtEachPart(t *testing.T) {
	dir := t.TempDir()
	code, out, errs := run(t, "", "doctor", "--data", dir)
	for _, want := range []string{"settings ", "there is none in " + dir + " yet; the first command that judges makes one", "set TENET_JUDGE_MODEL", "hooks "} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in %s%s", want, out, errs)
		}
	}
	if code != 0 && !strings.Contains(out, partWrong) {
		t.Errorf("exit %d without a fault: %s", code, out)
	}
	file := filepath.Join(dir, "t.yaml")
	if err := os.WriteFile(file, []byte("listn: x\njob_workers: many\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, _ = run(t, "", "doctor", "--config", file, "--format", "json")
	if code != exitFound || strings.Count(out, `"state": "wrong"`) < 2 || !strings.Contains(out, "t.yaml:2: job_workers") {
		t.Errorf("exit %d, %s", code, out)
	}
}

func TestDoctorFindsAClockThatIsWrong(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", time.Now().Add(-5*time.Minute).UTC().Format(http.TimeFormat))
		if r.URL.Path == "/api/v1/whoami" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"title":"Unauthorized","detail":"the key is not known","code":"unauthenticated"}`)
		}
	}))
	defer server.Close()
	code, out, errs := run(t, "", "doctor", "--server", server.URL, "--key", "tnt_x")
	if code != exitFound || !strings.Contains(out, "apart from this machine's") || !strings.Contains(out, "the key is not known") {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	server.Close()
	if code, out, _ := run(t, "", "doctor", "--server", server.URL, "--timeout", "2s"); code != exitFound || !strings.Contains(out, "server") {
		t.Errorf("exit %d, %s", code, out)
	}
}

func TestDoctorNamesReplicas(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/whoami":
			_, _ = io.WriteString(w, `{"actor":"root","role":"admin","project_id":"*"}`)
		case "/api/v1/servers":
			_, _ = io.WriteString(w, `{"items":[{"name":"one","replicas":[{"name":"db2:5432","behind_ms":7},{"name":"db3:5432","left_out":"it does not answer"}]}],"total":1,"page":1,"page_size":100}`)
		}
	}))
	defer server.Close()
	code, out, errs := run(t, "", "doctor", "--server", server.URL, "--key", "tnt_x")
	for _, want := range []string{"db2:5432 on one: behind by 7 ms", "db3:5432 is left out on one: it does not answer"} {
		if code != exitFound || !strings.Contains(out, want) {
			t.Errorf("exit %d, %q is missing in %s%s", code, want, out, errs)
		}
	}
}

// The files that settings name are read too, and all that is wrong with them is said with the line of its setting. Files of another machine are no
// fault, but the check says that it has not read them.
func TestConfigCheckReadsTheFilesOfSettings(t *testing.T) {
	dir := t.TempDir()
	settings, key := filepath.Join(dir, "t.yaml"), filepath.Join(dir, "key.pem")
	put(t, settings, "listen: 127.0.0.1:0\ntls_cert: "+filepath.Join(dir, "none.pem")+"\ntls_key: "+key+"\nagents_file: "+filepath.Join(dir, "agents.yaml")+"\n")
	put(t, key, "no key")
	code, out, errs := run(t, "", "config", "check", settings)
	for _, want := range []string{"warning: " + settings + ":2: tls_cert: ", "warning: " + settings + ":4: agents_file: ", "none.pem: no such file"} {
		if code != 0 || !strings.Contains(out, "the settings are right") || !strings.Contains(errs, want) {
			t.Errorf("config check exits with %d and prints %q and %q; want %q", code, out, errs, want)
		}
	}
	if code, out, errs = run(t, "", "config", "check", settings, "--json"); code != 0 || !strings.Contains(out, `"warnings": [`) {
		t.Errorf("config check --json exits with %d and prints %q and %q", code, out, errs)
	}
	_, out, errs = run(t, "", "doctor", "--config", settings, "--data", filepath.Join(dir, "data"), "--json")
	if !strings.Contains(out, `"state": "note",
      "text": "`+settings+":2: tls_cert: ") || strings.Contains(out, `"part": "settings",
      "state": "wrong"`) {
		t.Errorf("doctor prints %s %s", out, errs)
	}
	// Contents that are wrong are errors, also beside a file that is not here.
	put(t, filepath.Join(dir, "agents.yaml"), "agents: none\n")
	if code, out, errs = run(t, "", "config", "check", settings); code != exitFailed || !strings.Contains(errs, "warning: "+settings+":2: ") || strings.Contains(errs, "warning: "+settings+":4: ") {
		t.Errorf("with agents that cannot be read, config check exits with %d and prints %q and %q", code, out, errs)
	}
	put(t, filepath.Join(dir, "none.pem"), "no certificate")
	put(t, filepath.Join(dir, "agents.yaml"), "agents: []\n")
	if code, out, errs = run(t, "", "config", "check", settings); code != exitFailed || !strings.Contains(errs, settings+":2: tls_cert and tls_key: ") {
		t.Errorf("with files that hold no certificate, config check exits with %d and prints %q and %q", code, out, errs)
	}
}
