package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestRepositoryName(t *testing.T) {
	for remote, want := range map[string]string{
		"git@github.com:acme/payments.git":                     "acme/payments",
		"https://github.com/acme/payments.git":                 "acme/payments",
		"https://github.com/acme/payments":                     "acme/payments",
		"https://bot:ghp_secret@github.com/acme/payments.git/": "acme/payments",
		"ssh://git@git.example.com:2222/team/sub/payments.git": "team/sub/payments",
		"ssh://git@git.example.com/~me/payments.git":           "~me/payments",
		"file:///srv/git/payments.git":                         "payments",
		"/srv/git/payments.git":                                "payments",
		"../payments":                                          "payments",
		`C:\git\payments`:                                      "payments",
		"git.example.com:payments":                             "payments",
		"":                                                     "",
		".":                                                    "",
		"..":                                                   "",
		"/":                                                    "",
		"https://oauth2:tok%en@git.example.com/acme/payments":   "acme/payments",
		"https://oauth2:tok:en@git.example.com/acme/pay.ments/": "acme/pay.ments",
	} {
		if got := repositoryName(remote); got != want {
			t.Errorf("repositoryName(%q) = %q, want %q", remote, got, want)
		}
	}
}

func FuzzRepositoryNameShowsNoPassword(f *testing.F) {
	f.Add("https", "bot", "ghp_hunter2", "github.com", "acme/payments.git")
	f.Add("ssh", "git", "%zz", "host:22", "~a/b")
	f.Add("https", "a", "b@c/d", "h", "p")
	f.Fuzz(func(t *testing.T, scheme, user, password, host, path string) {
		password = "hunter2" + password
		if strings.ContainsAny(scheme+host, ":/@ ") || strings.Contains(host+path+user, "hunter2") {
			return
		}
		remote := scheme + "://" + user + ":" + password + "@" + host + "/" + path
		if got := repositoryName(remote); strings.Contains(got, "hunter2") {
			t.Errorf("repositoryName(%q) = %q", remote, got)
		}
	})
}

func TestRangeThatIsAFlagIsRefused(t *testing.T) {
	for _, hostile := range []string{"--output=/tmp/x", "-O/tmp/x", "--ext-diff", "-", "a\x00b", "a\n--output=x"} {
		if _, err := rangeChange(t.Context(), hostile); err == nil || !strings.Contains(err.Error(), "is not a git range") {
			t.Errorf("rangeChange(%q) gives %v", hostile, err)
		}
	}
}

// newRepository makes a git repository in the current folder of the test.
func newRepository(t *testing.T) func(args ...string) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(dir, ".gitconfig-none"))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	run := func(args ...string) {
		t.Helper()
		out, err := exec.Command("git", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	run("init", "--quiet", "--initial-branch=main")
	run("config", "user.email", "dev@example.com")
	run("config", "user.name", "Dev")
	return run
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDiffIsTheSameWhateverGitIsConfiguredTo(t *testing.T) {
	run := newRepository(t)
	put(t, "é.txt", "one\n\ntwo\n")
	run("add", ".")
	run("commit", "--quiet", "--message=one")
	put(t, "é.txt", "one\n\ntwo\nthree\n")
	run("add", ".")
	first, err := stagedChange(t.Context())
	if err != nil || !strings.Contains(first.diff, "+three") || !strings.Contains(first.diff, "diff --git a/é.txt b/é.txt") {
		t.Fatalf("staged change is %+v, %v", first, err)
	}
	plain := first.diff
	for _, setting := range [][2]string{
		{"diff.noprefix", "true"},
		{"diff.mnemonicPrefix", "true"},
		{"color.ui", "always"},
		{"color.diff", "always"},
		{"diff.external", "false"},
		{"diff.context", "0"},
		{"diff.suppressBlankEmpty", "true"},
		{"core.pager", "false"},
	} {
		run("config", setting[0], setting[1])
		got, err := stagedChange(t.Context())
		if err != nil || got.diff != plain {
			t.Errorf("with %s=%s the change is %+v, %v; want the diff %q", setting[0], setting[1], got, err, plain)
		}
		run("config", "--unset", setting[0])
	}
}

func TestRangeIsNeverTakenForAFile(t *testing.T) {
	run := newRepository(t)
	put(t, "a", "1\n")
	run("add", ".")
	run("commit", "--quiet", "--message=one")
	put(t, "a", "2\n")
	if c, err := rangeChange(t.Context(), "a"); err == nil {
		t.Errorf("the file a was diffed as a range: %+v", c)
	}
	if c, err := rangeChange(t.Context(), "HEAD"); err != nil || !strings.Contains(c.diff, "+2") {
		t.Errorf("the change since HEAD is %+v, %v", c, err)
	}
}

// What git does not track is in no diff, and so a check against the working tree says that it leaves something out.
func TestUntrackedFilesAreNoted(t *testing.T) {
	run := newRepository(t)
	put(t, "a", "1\n")
	put(t, ".gitignore", "*.log\n")
	run("add", ".")
	run("commit", "--quiet", "--message=one")
	noted := func(ranges string) string {
		t.Helper()
		var out, err bytes.Buffer
		k := checkCommand{Range: ranges}
		if _, failed := k.diff(t.Context(), &session{out: &out, err: &err}); failed != nil {
			t.Fatal(failed)
		}
		return out.String() + err.String()
	}
	put(t, "a", "2\n")
	put(t, "b.log", "ignored\n")
	if got := noted("HEAD"); got != "" {
		t.Errorf("without untracked files: %q", got)
	}
	for _, dir := range []string{"new/deep", "empty", "sub"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	put(t, "b", "1\n")
	put(t, "new/deep/c", "1\n")
	put(t, "new/deep/d", "1\n")
	t.Chdir("sub") // the whole repository counts
	if got := noted("HEAD"); !strings.Contains(got, "2 paths that git does not track") || strings.Count(got, "\n") != 1 {
		t.Errorf("with untracked files: %q", got)
	}
	for _, commits := range []string{"HEAD..HEAD", "HEAD^{commit}...HEAD"} {
		if got := noted(commits); got != "" {
			t.Errorf("%s has no working tree: %q", commits, got)
		}
	}
}

func TestFilesCountFromTheRootOfTheRepository(t *testing.T) {
	newRepository(t)
	if err := os.MkdirAll("src/deep", 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, "src/deep/a.py", "x\n")
	put(t, "src/b.py", "x\n")
	t.Chdir("src/deep")
	absolute, err := filepath.Abs("a.py")
	if err != nil {
		t.Fatal(err)
	}
	var s checkSubject
	if err := s.read(t.Context(), &session{}, []string{"a.py", "../b.py", "./a.py", absolute}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"src/deep/a.py", "src/b.py", "src/deep/a.py", "src/deep/a.py"} {
		if s.files[i].Path != want {
			t.Errorf("file %d is %q, want %q", i, s.files[i].Path, want)
		}
	}
}
