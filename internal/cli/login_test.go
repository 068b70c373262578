package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tenet/internal/porttest"

	"tenet/internal/app"
	"tenet/internal/config"
	"tenet/internal/sso/dextest"
	"tenet/internal/store/litetest"
)

// dexServer starts a server at which the people of dex sign in, and returns its address and dex.
func dexServer(t *testing.T, tokenSeconds int) (string, *dextest.Provider) {
	t.Helper()
	listen := porttest.Address(t)
	idp := dextest.Start(t, "http://"+listen, tokenSeconds, map[string][]string{"ann": {"staff", "editors"}, "bob": {"staff"}, "eve": nil})
	file := filepath.Join(t.TempDir(), "sso.yaml")
	text := fmt.Sprintf(`providers:
- name: corp
  issuer: %s
  client_id: tenet
  client_secret: s3cret
  cli_client_id: tenet-cli
  scopes: [openid, profile, email, groups]
  roles:
  - {group: staff, project: "*", role: viewer}
  - {group: editors, project: default, role: reviewer}
`, idp.Issuer)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load("", func(string) string { return "" }, map[string]string{"listen": listen, "data": litetest.Dir(t), "sso_file": file})
	if err != nil {
		t.Fatal(err)
	}
	node, err := app.New(t.Context(), cfg, slog.New(slog.DiscardHandler), app.Options{Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := node.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	if err := node.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return "http://" + listen, idp
}

var (
	promptedAddress = regexp.MustCompile(`(?m)^    (http\S+)$`)
	promptedCode    = regexp.MustCompile(`type the code (\S+):`)
)

// signInAs runs tenet login, and does in a browser what it asks for.
func signInAs(t *testing.T, home, server string, flags []string, act func(address, code string)) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	read, write := io.Pipe()
	done := make(chan int, 1)
	go func() {
		args := append([]string{"login", "--server", server}, flags...)
		done <- Main(t.Context(), args, strings.NewReader(""), &out, write, []string{"HOME=" + home, "TENET_NO_KEYRING=1"})
		_ = write.Close()
	}()
	buf := make([]byte, 4096)
	acted := false
	for {
		n, err := read.Read(buf)
		errs.Write(buf[:n])
		if at := promptedAddress.FindStringSubmatch(errs.String()); at != nil && !acted {
			acted = true
			typed := ""
			if c := promptedCode.FindStringSubmatch(errs.String()); c != nil {
				typed = c[1]
			}
			go act(at[1], typed)
		}
		if err != nil {
			return <-done, out.String(), errs.String()
		}
	}
}

func TestLogin(t *testing.T) {
	t.Parallel()
	server, _ := dexServer(t, 3600)
	home := t.TempDir()
	do := func(args ...string) (int, string, string) {
		t.Helper()
		var out, errs bytes.Buffer
		code := Main(t.Context(), append(args, "--server", server), strings.NewReader(""), &out, &errs, []string{"HOME=" + home, "TENET_NO_KEYRING=1"})
		return code, out.String(), errs.String()
	}
	if code, _, errs := do("rules", "list"); code != exitFailed || !strings.Contains(errs, "key") {
		t.Errorf("before the sign-in: %d %s", code, errs)
	}
	code, out, errs := signInAs(t, home, server, []string{"--no-browser"}, func(address, _ string) {
		if p := dextest.NewBrowser(t).SignIn(address, "ann", dextest.Password); p.Status != http.StatusOK || !strings.Contains(p.Body, "You are signed in") {
			t.Errorf("the browser shows %d %s at %s", p.Status, p.Body, p.URL)
		}
	})
	if code != exitOK || !strings.Contains(out, "corp:ann@example.com") || !strings.Contains(out, "reviewer in project default") || !strings.Contains(out, "viewer in every project") {
		t.Fatalf("tenet login: %d %s%s", code, out, errs)
	}
	files, err := filepath.Glob(filepath.Join(home, ".config", "tenet", "signin-*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the stored sign-ins %v, %v", files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the stored sign-in can be read by others: %v, %v", info.Mode(), err)
	}
	if code, out, errs := do("whoami"); code != exitOK || !strings.HasPrefix(out, "corp:ann@example.com\n") {
		t.Errorf("tenet whoami: %d %s%s", code, out, errs)
	}
	if code, out, errs := do("rules", "list"); code != exitOK || !strings.Contains(out, "AGT-001") {
		t.Errorf("tenet rules list: %d %s%s", code, out, errs)
	}
	if code, _, errs := do("keys", "list", "--project", "default"); code != exitFailed || !strings.Contains(errs, "admin") {
		t.Errorf("a reviewer lists keys: %d %s", code, errs)
	}

	// Another person takes the first one's place, on another device.
	code, out, errs = signInAs(t, home, server, []string{"--device"}, func(address, typed string) {
		if p := dextest.NewBrowser(t).SignInOnDevice(address, typed, "bob", dextest.Password); p.Status != http.StatusOK {
			t.Errorf("the other device shows %d %s", p.Status, p.Body)
		}
	})
	if code != exitOK || !strings.Contains(out, "corp:bob@example.com") || strings.Contains(out, "reviewer") {
		t.Errorf("tenet login --device: %d %s%s", code, out, errs)
	}
	if code, _, errs := do("logout"); code != exitOK {
		t.Errorf("tenet logout: %d %s", code, errs)
	}
	if code, _, _ := do("whoami"); code != exitFailed {
		t.Errorf("tenet whoami afterwards: %d", code)
	}
	code, _, errs = signInAs(t, home, server, []string{"--no-browser"}, func(address, _ string) {
		dextest.NewBrowser(t).SignIn(address, "eve", dextest.Password)
	})
	if code != exitFailed || !strings.Contains(errs, "no group of yours has a role") {
		t.Errorf("a person without groups: %d %s", code, errs)
	}
}

func TestLoginIsRenewed(t *testing.T) {
	t.Parallel()
	server, _ := dexServer(t, 20) // shorter than the time before its end at which a token is renewed
	home := t.TempDir()
	if code, _, errs := signInAs(t, home, server, []string{"--no-browser"}, func(address, _ string) {
		dextest.NewBrowser(t).SignIn(address, "ann", dextest.Password)
	}); code != exitOK {
		t.Fatal(errs)
	}
	files, err := filepath.Glob(filepath.Join(home, ".config", "tenet", "signin-*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	before, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(1100 * time.Millisecond) // tokens count in seconds
	var out, errs bytes.Buffer
	if code := Main(t.Context(), []string{"whoami", "--server", server}, strings.NewReader(""), &out, &errs, []string{"HOME=" + home, "TENET_NO_KEYRING=1"}); code != exitOK || !strings.Contains(out.String(), "ann") {
		t.Errorf("%d %s%s", code, out.String(), errs.String())
	}
	after, err := os.ReadFile(files[0])
	if err != nil || bytes.Equal(before, after) {
		t.Errorf("the token was not renewed, %v", err)
	}
}

func TestConsoleWithDex(t *testing.T) {
	t.Parallel()
	server, _ := dexServer(t, 3600)
	b := dextest.NewBrowser(t)
	if p := b.SignIn(server+"/signin/corp?next=%2Fp%2Fdefault%2Frules", "ann", "wrong"); strings.Contains(p.URL.String(), "/p/default/rules") {
		t.Errorf("a wrong password leads to %s", p.URL)
	}
	p := b.SignIn(server+"/signin/corp?next=%2Fp%2Fdefault%2Frules", "ann", dextest.Password)
	if p.Status != http.StatusOK || p.URL.Path != "/p/default/rules" || !strings.Contains(p.Body, "corp:ann@example.com") {
		t.Errorf("%d at %s: %.300s", p.Status, p.URL, p.Body)
	}
	if p = dextest.NewBrowser(t).SignIn(server+"/signin/corp", "eve", dextest.Password); p.Status != http.StatusForbidden {
		t.Errorf("a person without groups: %d at %s", p.Status, p.URL)
	}
}
