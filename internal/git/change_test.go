package git_test

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tenet/internal/diff"
	"tenet/internal/git"
)

// newRepository makes a repository in a new current folder, with one commit of files.
func newRepository(t *testing.T, files map[string]string) func(args ...string) string {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("init", "--quiet", "--initial-branch=main")
	run("config", "user.email", "dev@example.com")
	run("config", "user.name", "Dev")
	put(t, files)
	run("add", ".")
	run("commit", "--quiet", "--allow-empty", "--message=one")
	return run
}

func put(t *testing.T, files map[string]string) {
	t.Helper()
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// changed returns the change for revisions, and its contents by path. The diff must be one that Tenet reads.
func changed(t *testing.T, revisions ...string) (*git.Change, map[string]string) {
	t.Helper()
	c, err := git.Repository{}.Diff(t.Context(), revisions, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := diff.Parse(c.Diff); err != nil {
		t.Fatalf("%v in\n%s", err, c.Diff)
	}
	contents := map[string]string{}
	for _, f := range c.Files {
		contents[f.Path] = string(f.Content)
		h := sha1.New()
		fmt.Fprintf(h, "blob %d\x00%s", len(f.Content), f.Content)
		if f.Blob != hex.EncodeToString(h.Sum(nil)) {
			t.Errorf("the content of %s is not that of %s", f.Path, f.Blob)
		}
	}
	return c, contents
}

func TestWhatGitHidesIsShownOrFetched(t *testing.T) {
	base := strings.Repeat("line\n", 20)
	wide := "e\x00v\x00a\x00l\x00(\x00x\x00)\x00"
	late := strings.Repeat("# padding\n", 1000) + "eval(x) # \x00\n"
	run := newRepository(t, map[string]string{"old.py": base, "kept.py": base, "late.py": strings.Repeat("# padding\n", 1000), "copy.py": base + "more\n"})
	put(t, map[string]string{
		".gitattributes": "*.py -diff\n*.c diff=none\n", "a.py": "x\ny = eval(x)\n", "b.js": "eval(x) // \x00\n", "wide.txt": wide,
		"kept.py": base + "y = eval(x)\n", "late.py": late, "latin.c": "int caf\xe9;\n", "sub/deep/with \"quotes\"\t.js": "eval(x) // \x00\n",
	})
	run("mv", "old.py", "new.txt")
	for _, where := range []string{"staged", "worktree", "committed"} {
		revisions := []string{"--cached"}
		switch where {
		case "staged":
			run("add", ".")
		case "worktree":
			run("reset", "--quiet")
			run("add", "--intent-to-add", ".")
			revisions = []string{"HEAD"}
		case "committed":
			run("add", ".")
			run("commit", "--quiet", "--message=two")
			revisions = []string{"HEAD~1..HEAD"}
		}
		c, contents := changed(t, revisions...)
		for _, want := range []string{"+y = eval(x)\n", "+int café;\n", "\n@@ -18,3 +18,4 @@", "Binary files a/late.py and b/late.py differ\n"} {
			if !strings.Contains(c.Diff, want) {
				t.Errorf("%s: %q is not in the diff:\n%s", where, want, c.Diff)
			}
		}
		for path, want := range map[string]string{"b.js": "eval(x) // \x00\n", "wide.txt": wide, "late.py": late, "new.txt": base} {
			if contents[path] != want {
				t.Errorf("%s: the content of %s is %.100q, want %.100q", where, path, contents[path], want)
			}
		}
		if len(c.Files) != 4 || len(c.Unread) != 1 || !strings.Contains(c.Unread[0].Path, "quotes") {
			t.Errorf("%s: %d contents, unread %v", where, len(c.Files), c.Unread)
		}
		if strings.Contains(c.Diff, "\x00") {
			t.Errorf("%s: the diff holds a NUL character", where)
		}
	}
}

func TestTheWorkingTreeIsReadAsGitWouldStoreIt(t *testing.T) {
	run := newRepository(t, map[string]string{".gitattributes": "*.txt text\n*.u16 working-tree-encoding=UTF-16LE\n*.bin -diff filter=upper\n", "a.txt": "a\n\x00", "c.bin": "one\x00"})
	run("config", "filter.upper.clean", "tr a-z A-Z")
	before := run("count-objects")
	put(t, map[string]string{"a.txt": "a\r\nb\r\n\x00", "c.bin": "two\x00"})
	_, contents := changed(t, "HEAD")
	if contents["a.txt"] != "a\nb\n\x00" || contents["c.bin"] != "TWO\x00" {
		t.Errorf("the contents are %q", contents)
	}
	if after := run("count-objects"); after != before {
		t.Errorf("the repository had %s and has %s", before, after)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "tenet-git-*")); len(left) > 0 {
		t.Errorf("%v is left behind", left)
	}
}

func TestSettingsAndEnvironmentHideNothing(t *testing.T) {
	run := newRepository(t, map[string]string{"é.txt": "one\n\ntwo\n", "src/a.py": "a\n", "moved.py": strings.Repeat("x\n", 9)})
	put(t, map[string]string{"é.txt": "one\n\ntwo\nthree\n", "src/a.py": "a\nb\n", ".gitattributes": "*.py diff=fake\n"})
	run("mv", "moved.py", "gone.py")
	run("add", ".")
	want, _ := changed(t, "--cached")
	for _, s := range [][2]string{
		{"diff.noprefix", "true"},
		{"diff.mnemonicPrefix", "true"},
		{"color.ui", "always"},
		{"color.diff", "always"},
		{"diff.external", "false"},
		{"diff.context", "0"},
		{"diff.interHunkContext", "9"},
		{"diff.suppressBlankEmpty", "true"},
		{"core.pager", "false"},
		{"diff.renames", "false"},
		{"diff.renames", "copies"},
		{"diff.renameLimit", "0"},
		{"diff.orderFile", "/no/such/file"},
		{"diff.relative", "true"},
		{"diff.algorithm", "patience"},
		{"diff.ignoreSubmodules", "all"},
		{"diff.submodule", "log"},
		{"core.quotePath", "true"},
		{"diff.fake.textconv", "true"},
		{"diff.fake.command", "true"},
		{"diff.fake.binary", "true"},
		{"diff.autoRefreshIndex", "false"},
		{"core.fsmonitor", "false"},
		{"diff.wsErrorHighlight", "all"},
	} {
		run("config", s[0], s[1])
		if got, _ := changed(t, "--cached"); got.Diff != want.Diff {
			t.Errorf("with %s=%s the diff is\n%s\nwant\n%s", s[0], s[1], got.Diff, want.Diff)
		}
		run("config", "--unset", s[0])
	}
	for _, v := range [][2]string{
		{"GIT_EXTERNAL_DIFF", "true"}, {"GIT_DIFF_OPTS", "--unified=0"}, {"GIT_LITERAL_PATHSPECS", "1"}, {"GIT_ICASE_PATHSPECS", "1"}, {"GIT_PAGER", "false"},
	} {
		t.Run(v[0], func(t *testing.T) {
			t.Setenv(v[0], v[1])
			if got, _ := changed(t, "--cached"); got.Diff != want.Diff {
				t.Errorf("with %s=%s the diff is\n%s", v[0], v[1], got.Diff)
			}
		})
	}
}

func TestAReplacedObjectIsNotShown(t *testing.T) {
	run := newRepository(t, map[string]string{"a.py": "a\n"})
	put(t, map[string]string{"a.py": "eval(x)\n"})
	run("commit", "--quiet", "--all", "--message=two")
	put(t, map[string]string{"harmless": "a = 1\n"})
	run("replace", run("rev-parse", "HEAD:a.py"), run("hash-object", "-w", "harmless"))
	if c, _ := changed(t, "HEAD~1..HEAD"); !strings.Contains(c.Diff, "+eval(x)\n") {
		t.Errorf("the diff is\n%s", c.Diff)
	}
}

// TestGraftsAreNoHistory has the base of a branch taken for a child of it, so that both would have parted at the branch itself.
func TestGraftsAreNoHistory(t *testing.T) {
	run := newRepository(t, map[string]string{"a.py": "a\n"})
	base := run("rev-parse", "HEAD")
	put(t, map[string]string{"a.py": "eval(x)\n"})
	run("commit", "--quiet", "--all", "--message=two")
	put(t, map[string]string{".git/info/grafts": base + " " + run("rev-parse", "HEAD") + "\n"})
	if c, _ := changed(t, base+"...HEAD"); !strings.Contains(c.Diff, "+eval(x)\n") {
		t.Errorf("the diff is\n%s", c.Diff)
	}
	if at, err := (git.Repository{}).MergeBase(t.Context(), base, "HEAD"); err != nil || at != base {
		t.Errorf("the branch parts at %s, %v; want %s", at, err, base)
	}
}

func TestSubmodulesLinksAndKindsAreShownAsTheyAre(t *testing.T) {
	run := newRepository(t, map[string]string{"file": "text\n", "bin": "a\x00b"})
	if err := os.Remove("file"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("bin", "file"); err != nil {
		t.Fatal(err)
	}
	put(t, map[string]string{".gitmodules": "[submodule \"sub\"]\n\tpath = sub\n\turl = ./x\n\tignore = all\n", "bin": "c\x00d"})
	run("add", ".")
	run("update-index", "--add", "--cacheinfo", "160000,"+run("rev-parse", "HEAD")+",sub")
	c, contents := changed(t, "--cached")
	for _, want := range []string{"deleted file mode 100644", "new file mode 120000", "+bin\n", "+Subproject commit "} {
		if !strings.Contains(c.Diff, want) {
			t.Errorf("%q is not in the diff:\n%s", want, c.Diff)
		}
	}
	if len(contents) != 1 || contents["bin"] != "c\x00d" || len(c.Unread) != 0 {
		t.Errorf("the contents are %q, unread is %v", contents, c.Unread)
	}
}

func TestWhatIsTooLargeIsNamed(t *testing.T) {
	run := newRepository(t, nil)
	put(t, map[string]string{"large.bin": strings.Repeat("\x00", git.MaxContent+1), "a.bin": strings.Repeat("\x00", git.MaxContent), "b.bin": strings.Repeat("\x00\x01", git.MaxContent/2)})
	run("add", ".")
	c, contents := changed(t, "--cached")
	if len(contents) != 1 || len(c.Unread) != 2 || !strings.Contains(c.Unread[0].Reason, "together") || !strings.Contains(c.Unread[1].Reason, "too large") {
		t.Errorf("%d contents, unread is %v", len(contents), c.Unread)
	}
}

func TestAMergeUnderWay(t *testing.T) {
	run := newRepository(t, map[string]string{"a": "1\n"})
	run("checkout", "--quiet", "-b", "topic")
	put(t, map[string]string{"a": "2\n"})
	run("commit", "--quiet", "--all", "--message=two")
	run("checkout", "--quiet", "main")
	put(t, map[string]string{"a": "3\n"})
	run("commit", "--quiet", "--all", "--message=three")
	if err := exec.CommandContext(t.Context(), "git", "merge", "topic").Run(); err == nil {
		t.Fatal("the merge has no conflict")
	}
	if c, err := (git.Repository{}).Diff(t.Context(), []string{"--cached"}, nil); err == nil || !strings.Contains(err.Error(), `"a" is not merged`) {
		t.Errorf("staged changes with a conflict: %+v, %v", c, err)
	}
	c, _ := changed(t, "HEAD")
	if !strings.Contains(c.Diff, "+>>>>>>> topic") {
		t.Errorf("the working tree is shown as\n%s", c.Diff)
	}
}

func TestADiffFromElsewhereTakesOnlyTheContentsThatItNames(t *testing.T) {
	run := newRepository(t, map[string]string{"a.bin": "a\x00", "b.bin": "b\x00"})
	put(t, map[string]string{"a.bin": "eval\x00", "b.bin": "not this\x00"})
	run("add", "a.bin")
	blob := run("rev-parse", ":a.bin")
	head := func(path, blob string) string {
		return fmt.Sprintf("diff --git a/%s b/%[1]s\nindex 1111111..%s 100644\nBinary files a/%[1]s and b/%[1]s differ\n", path, blob)
	}
	text := head("a.bin", blob) + head("short.bin", blob[:7]) + head("b.bin", "2222222222222222222222222222222222222222") + head("c.bin", "-p") +
		head("d.bin", blob[:6])
	c, err := git.Repository{}.Contents(t.Context(), []byte(text))
	if err != nil || len(c.Files) != 2 || string(c.Files[0].Content) != "eval\x00" || c.Files[1].Path != "short.bin" || c.Diff != text {
		t.Errorf("the contents are %+v, %v", c, err)
	}
	if len(c.Unread) != 1 || c.Unread[0].Path != "b.bin" {
		t.Errorf("unread is %v", c.Unread)
	}
	t.Chdir(t.TempDir())
	if c, err := (git.Repository{}).Contents(t.Context(), []byte(text)); err != nil || len(c.Files) != 0 || c.Diff != text {
		t.Errorf("outside a repository it is %+v, %v", c, err)
	}
}

func TestLinesOfADiffFromElsewhereAreDecodedOrLeftOutAsAWhole(t *testing.T) {
	t.Chdir(t.TempDir())
	const odd = "+\x83\x81\x83C\x8d\x9d eval(x)\n" // Shift JIS, which no single-byte encoding reads
	git1 := "diff --git a/a.c b/a.c\nindex 1111111..2222222 100644\n--- a/a.c\n+++ b/a.c\n@@ -1 +1,2 @@\n x\n"
	for _, c := range []struct{ name, in, want string }{
		{"Latin-1", git1 + "+caf\xe9\n", git1 + "+café\n"},
		{"a mail", "From: caf\xe9 \x81\x8d\x9d\n\n" + git1 + "+x\n", ""},
		{"unknown", git1 + odd, "diff --git a/a.c b/a.c\nindex 1111111..2222222 100644\nBinary files a/a.c and b/a.c differ\n"},
		{"wide", git1 + "+e\x00v\x00a\x00l\x00\xe9\x00\n", "diff --git a/a.c b/a.c\nindex 1111111..2222222 100644\nBinary files a/a.c and b/a.c differ\n"},
		{"not of git", "--- a.c\n+++ a.c\n@@ -1 +1,2 @@\n x\n" + odd, "error"},
	} {
		got, err := git.Repository{}.Contents(t.Context(), []byte(c.in))
		switch {
		case c.want == "error":
			if err == nil || !strings.Contains(err.Error(), "encoding") {
				t.Errorf("%s: %+v, %v", c.name, got, err)
			}
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && got.Diff != c.want, !strings.Contains(got.Diff, "diff --git"):
			t.Errorf("%s: the diff is %q, want %q", c.name, got.Diff, c.want)
		}
	}
}

func TestABareRepositoryHasNothingStaged(t *testing.T) {
	run := newRepository(t, map[string]string{"a.go": "package a\n"})
	run("rm", "--quiet", "a.go")
	if c, _ := changed(t, "--cached"); !strings.Contains(c.Diff, "-package a") {
		t.Errorf("the deletion of all files is staged, and the change is %q", c.Diff)
	}
	bare := t.TempDir()
	run("clone", "--quiet", "--bare", ".", bare)
	for _, dir := range []string{bare, filepath.Join(bare, "objects")} {
		for _, revisions := range [][]string{{"--cached"}, {"--cached", "main"}} {
			_, err := git.Repository{Dir: dir}.Diff(t.Context(), revisions, nil)
			if err == nil || !strings.Contains(err.Error(), "bare repository") {
				t.Errorf("%v in %s: got %v, want an error", revisions, dir, err)
			}
		}
	}
	if _, err := (git.Repository{Dir: bare}).Diff(t.Context(), []string{"main"}, nil); err == nil {
		t.Error("the working tree of a bare repository has a diff")
	}
	// A program that makes commits in a bare repository has an index of its own.
	index := filepath.Join(t.TempDir(), "index")
	t.Setenv("GIT_INDEX_FILE", index)
	run("--git-dir", bare, "read-tree", "--empty")
	if c, err := (git.Repository{Dir: bare}).Diff(t.Context(), []string{"--cached"}, nil); err != nil || !strings.Contains(c.Diff, "-package a") {
		t.Errorf("with an index of its own: %v", err)
	}
}

// Git's own complaints do not say what to do in these two.
func TestComplaintsSayWhatToDo(t *testing.T) {
	run := newRepository(t, map[string]string{"a": "1\n"})
	run("commit", "--quiet", "--allow-empty", "--message=two")
	whole, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	complaint := func(revisions ...string) string {
		t.Helper()
		_, err := git.Repository{}.Diff(t.Context(), revisions, nil)
		return fmt.Sprint(err)
	}
	if got := complaint("HEAD~5..HEAD"); strings.Contains(got, "shallow") {
		t.Errorf("in a whole clone: %s", got)
	}
	t.Chdir(t.TempDir())
	for _, revisions := range []string{"--cached", "main"} {
		if got := complaint(revisions); !strings.Contains(got, "in no git repository") {
			t.Errorf("%s outside a repository: %s", revisions, got)
		}
	}
	run("clone", "--quiet", "--depth=1", "file://"+whole, "clone")
	t.Chdir("clone")
	for _, revisions := range []string{"HEAD~1...HEAD", "HEAD~1..HEAD", "nothing"} {
		if got := complaint(revisions); !strings.Contains(got, "--unshallow") {
			t.Errorf("%s in a shallow clone: %s", revisions, got)
		}
	}
}
