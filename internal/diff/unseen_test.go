package diff

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestUnseenOfGit makes one change at a time with git and expects what its diff does not show.
func TestUnseenOfGit(t *testing.T) {
	r := newRepository(t)
	lines := strings.Repeat("one line of text\n", 30)
	for _, name := range []string{"a.py", "b.py", "c.py", "mode.sh", "gone.py", "link.py", "plain.py"} {
		r.write(name, name+"\n"+lines)
	}
	r.write(".gitattributes", "hidden.js -diff\n")
	r.diff()
	link := func(to, name string) {
		_ = os.Remove(filepath.Join(r.dir, name))
		if err := os.Symlink(to, filepath.Join(r.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		change func()
		args   []string
		path   string
		unseen string
	}{
		{"modified", func() { r.write("plain.py", "new\n"+lines) }, nil, "plain.py", ""},
		{"added", func() { r.write("added.py", lines) }, nil, "added.py", ""},
		{"added and empty", func() { r.write("empty.py", "") }, nil, "empty.py", ""},
		{"a mode", func() {
			r.git("update-index", "--chmod=+x", "mode.sh")
			_ = os.Chmod(filepath.Join(r.dir, "mode.sh"), 0o755)
		}, nil, "mode.sh", ""},
		{"deleted", func() { r.git("rm", "-q", "gone.py") }, nil, "gone.py", ""},
		{"moved", func() { r.git("mv", "a.py", "moved.py") }, []string{"-M"}, "moved.py", "it comes from a.py"},
		{"moved and changed", func() { r.git("mv", "b.py", "moved2.py"); r.write("moved2.py", "more\n"+lines) }, []string{"-M"}, "moved2.py", "it comes from b.py"},
		{"moved without -M", func() { r.git("mv", "c.py", "zz.py") }, []string{"--no-renames"}, "zz.py", ""},
		{"copied", func() { r.write("copy.py", "plain\nnew\n"+lines) }, []string{"-C", "--find-copies-harder"}, "copy.py", "it comes from"},
		{"hidden", func() { r.write("hidden.js", "eval(x)\n") }, nil, "hidden.js", "binary and not given"},
		{"a link", func() { link("/etc/passwd", "new.link") }, nil, "new.link", "a link to /etc/passwd"},
		{"a changed link", func() { link("/etc/shadow", "new.link") }, nil, "new.link", "a link to /etc/shadow"},
		{"a file becomes a link", func() { link("zz.py", "link.py") }, nil, "link.py", "a link to zz.py"},
		{"a submodule", func() { r.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",lib") }, nil, "lib", "submodule"},
	} {
		if c.change(); c.name == "a submodule" {
			r.git("commit", "-qm", "m")
		}
		var text string
		if c.name == "a submodule" {
			text = r.git("show", "--format=", "HEAD")
		} else {
			text = r.diff(c.args...)
		}
		files, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		f := files[len(files)-1]
		if f.Path != c.path || (c.unseen == "") != (f.Unseen == "") || !strings.Contains(f.Unseen, c.unseen) {
			t.Errorf("%s: %s %s: unseen is %q, want %q\n%s", c.name, f.Change, f.Path, f.Unseen, c.unseen, text)
		}
	}
}

func TestUnseen(t *testing.T) {
	const hunk = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
	const empty1, empty256 = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
	const svn = "Index: x\n=====\n--- x\t(revision 1)\n+++ x\t(working copy)\n@@ -1 +1 @@\n-a\n+b\n\nProperty changes on: x\n____\nAdded: svn:"
	added := func(blob string) string {
		return "diff --git a/x b/x\nnew file mode 100644\nindex 0000000.." + blob + "\n"
	}
	for diff, want := range map[string]string{
		added(empty1):       "",
		added(empty1[:7]):   "",
		added(empty256):     "",
		added(empty1[:6]):   "not given", // too short to mean anything
		added("e"):          "not given",
		added("1111111"):    "not given",
		added("0000000"):    "not given",
		added(empty1 + "1"): "not given",

		"diff --git a/x b/x\nindex 1111111..1111111 100644\n":                                                                          "not given",
		"diff --git a/x b/x\nindex 1111111..0000000 100644\n":                                                                          "not given",
		"diff --git a/x b/x\nindex 1..1 100644\n":                                                                                      "not given",
		"diff --git a/x b/x\nold mode 100644\nnew mode 100755\n":                                                                       "",
		"diff --git a/x b/x\nold mode 100644\nnew mode 100755\nindex 1111111..2222222\n":                                               "not given",
		"diff --git a/x b/x\nold mode 100644\nnew mode 120000\n":                                                                       "a link",
		"diff --git a/x b/x\nold mode 120000\nnew mode 100644\n":                                                                       "becomes a file",
		"diff --git a/x b/x\nold mode 160000\nnew mode 100644\n":                                                                       "becomes a file",
		"diff --git a/x b/x\nold mode 100644\nnew mode 160000\n":                                                                       "submodule",
		"diff --git a/x b/x\nindex 1111111..2222222 120000\n" + hunk:                                                                   "a link to b",
		"diff --git a/x b/x\nindex 1111111..2222222 160000\n" + hunk:                                                                   "submodule",
		"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-Subproject commit 1111111\n+Subproject commit 2222222-dirty\n":                                "submodule",
		"diff --git a/x b/x\nindex 1111111..2222222 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+Subproject commit 2222222\n":           "",
		"diff --git a/x b/x\n" + hunk:                                                                                                  "",
		"diff --git a/y b/x\nsimilarity index 100%\nrename from y\nrename to x\n":                                                      "it comes from y",
		"diff --git a/y b/x\nsimilarity index 100%\nrename from y\nrename to x\nindex 1111111.." + empty1[:7] + "\n":                   "",
		"diff --git a/y b/x\n--- a/y\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n":                                                                  "it comes from y",
		"diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +5 @@\n+a\n":                                        "only a part",
		"diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n@@ -0,0 +5 @@\n+a\n":                     "only a part",
		"Binary files a/x and b/x differ\n":                                                                                            "binary",
		"Binary files a/x and /dev/null differ\n":                                                                                      "",
		"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+# -*- coding: UTF-7 -*-\n":                                            "declares an encoding",
		"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -2 +2 @@\n-a\n+# vim: fileencoding=raw_unicode_escape\n":                             "declares an encoding",
		"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -3 +3 @@\n-a\n+# coding: utf-7\n":                                                    "",
		"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+# coding: iso-2022-jp\n":                                              "declares an encoding",
		"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+# encoding: HZ\n":                                                     "declares an encoding",
		"--- a/x.xml\n+++ b/x.xml\n@@ -1 +1 @@\n-a\n+<?xml version=\"1.0\" encoding=\"UTF-7\"?>\n":                                     "declares an encoding",
		"--- a/x.php\n+++ b/x.php\n@@ -9 +9 @@\n-a\n+<META http-equiv=x content=\"text/html; charset=utf-7\">\n":                       "declares an encoding",
		"--- a/x.html\n+++ b/x.html\n@@ -9 +9 @@\n-a\n+  CHARSET='iso-2022-jp'>\n":                                                     "declares an encoding",
		"--- a/x.css\n+++ b/x.css\n@@ -1 +1 @@\n-a\n+@charset \"utf-7\";\n":                                                            "declares an encoding",
		"--- a/x.php\n+++ b/x.php\n@@ -1 +1 @@\n-a\n+<?php declare(encoding='UTF-7');\n":                                               "declares an encoding",
		"--- a/x.html\n+++ b/x.html\n@@ -1 +1 @@\n-a\n+<meta charset=\"utf-8\">\n":                                                     "",
		"--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+m = MIMEText(s, charset=\"iso-2022-jp\")\n":                                         "",
		"--- a/x.html\n+++ b/x.html\n@@ -1 +1 @@\n-a\n+ev\x1b(Bal(x)\n":                                                                "switches between character sets",
		"--- a/x.html\n+++ b/x.html\n@@ -1 +1 @@\n-a\n+\x1b[31mred\x1b[0m\n":                                                           "",
		"--- a/x.html\n+++ b/x.html\n@@ -1 +1 @@\n-ev\x1b(Bal(x)\n+b\n":                                                                "",
		svn + "externals\n## -0,0 +1 ##\n+^/lib lib\n":                                                                                 "other repositories",
		svn + "keywords\n## -0,0 +1 ##\n+Id\n":                                                                                         "",
		"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+# coding: utf-8\n":                                                    "",
		"diff --git a/x b/x\nold mode 100644\nnew mode 120000\nindex 1111111..2222222 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n": "it is a link to b",
		"diff --git a/x b/x\nnew mode 100755\n":                                                                                        "does not say that it stays a file",
		"Submodule x 1111111..2222222:\n":                                                                                              "submodule",
		"* Unmerged path x\n":                                                                                                          "not given",
	} {
		files, err := Parse(diff)
		if err != nil {
			t.Errorf("%q: %v", diff, err)
			continue
		}
		if got := files[0].Unseen; (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: unseen is %q, want %q", diff, got, want)
		}
	}
}

func TestModesAndBlobs(t *testing.T) {
	files, err := Parse("diff --git a/x b/x\nold mode 100644\nnew mode 100755\nindex 1111111..2222222\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n" +
		"diff --cc y\nindex 1111111,2222222..3333333\nmode 100644,100644..100755\n--- a/y\n+++ b/y\n@@@ -1,1 -1,1 +1,1 @@@\n--a\n++b\n" +
		"diff --git a/z b/z\nindex nothing..2222 999\n--- a/z\n+++ b/z\n@@ -1 +1 @@\n-a\n+b\n")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][4]string{{"100644", "100755", "1111111", "2222222"}, {"100644", "100755", "1111111", "3333333"}, {"", "", "", "2222"}} {
		f := files[i]
		if got := [4]string{f.OldMode, f.NewMode, f.OldBlob, f.NewBlob}; got != want {
			t.Errorf("%s: %q, want %q", f.Path, got, want)
		}
	}
}

func TestModesThatMatter(t *testing.T) {
	for header, want := range map[string]string{
		"old mode 100644\nnew mode 100755\n":                         "100644 to 100755",
		"old mode 100644\nnew mode 100755\nindex 1111111..2222222\n": "100644 to 100755",
		"new file mode 100755\nindex 0000000..2222222\n":             "100755",
		"new file mode 100644\nindex 0000000..2222222\n":             "",
		"index 1111111..2222222 100755\n":                            "",
		"deleted file mode 100755\nindex 1111111..0000000\n":         "",
	} {
		files, err := Parse("diff --git a/x b/x\n" + header)
		if err != nil {
			t.Fatal(err)
		}
		if got := files[0].Modes(); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
}

// A link may bring files below its path, and a document does not.
func TestLinksThatBringFolders(t *testing.T) {
	for _, c := range []struct {
		path, target string
		brings       bool
	}{
		{"CLAUDE.md", "AGENTS.md", false},
		{"docs/a.md", "../README.md", false},
		{"docs/a", "b/settings.yaml", false},
		{"latest", "releases/7", true},
		{"latest", "releases.md/7", true},
		{"conf", "conf.d", true},
		{"docs/a.md", "../../README.md", true},
		{"a.md", "/etc/x.md", true},
		{"a.md", "b.md/", true},
		{"a.md", "b.md\n+c.md", true},
	} {
		files, err := Parse("diff --git a/" + c.path + " b/" + c.path + "\nnew file mode 120000\n--- /dev/null\n+++ b/" + c.path + "\n@@ -0,0 +1," +
			strconv.Itoa(1+strings.Count(c.target, "\n")) + " @@\n+" + c.target + "\n\\ No newline at end of file\n")
		if err != nil || len(files) != 1 || files[0].NamesFolder() != c.brings || !files[0].BringsFolder() {
			t.Errorf("%s to %s: %v, want %v; %v", c.path, c.target, !c.brings, c.brings, err)
		}
	}
}

func TestPointersOfLFS(t *testing.T) {
	const content = "eval(x)\n"
	id := fmt.Sprintf("oid sha256:%x", sha256.Sum256([]byte(content)))
	head := "diff --git a/n.py b/n.py\n--- a/n.py\n+++ b/n.py\n"
	for name, c := range map[string]struct {
		diff   string
		unseen bool
	}{
		"new":              {"diff --git a/n.py b/n.py\nnew file mode 100644\n--- /dev/null\n+++ b/n.py\n@@ -0,0 +1,3 @@\n+version https://git-lfs.github.com/spec/v1\n+" + id + "\n+size 8\n", true},
		"changed":          {head + "@@ -1,3 +1,3 @@\n version https://git-lfs.github.com/spec/v1\n-oid sha256:" + strings.Repeat("0", 64) + "\n+" + id + "\n size 8\n", true},
		"without context":  {head + "@@ -2 +2 @@\n-oid sha256:" + strings.Repeat("0", 64) + "\n+" + id + "\n", true},
		"text about one":   {head + "@@ -1 +1,2 @@\n A pointer has a line such as:\n+" + id + "\n", false},
		"a long text":      {head + "@@ -8 +8,2 @@\n-a\n+" + id + "\n+" + strings.Repeat("long ", 300) + "\n", false},
		"no name":          {head + "@@ -1 +1 @@\n-a\n+version https://git-lfs.github.com/spec/v1\n", false},
		"line ends of DOS": {head + "@@ -2 +2 @@\n-a\n+" + id + "\r\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := Parse(c.diff)
			if err != nil {
				t.Fatal(err)
			}
			if f := &files[0]; (f.Unseen == pointerUnseen) != c.unseen || f.PointsTo([]byte(content)) != c.unseen || f.PointsTo([]byte("other")) {
				t.Errorf("unseen %q, points to its content: %v, to another: %v", f.Unseen, f.PointsTo([]byte(content)), f.PointsTo([]byte("other")))
			}
		})
	}
	var whole File
	if whole.Fill([]byte("version https://git-lfs.github.com/spec/v1\n" + id + "\nsize 8\n")); whole.Unseen != pointerUnseen {
		t.Errorf("a whole pointer is unseen because %q", whole.Unseen)
	}
}

// TestTextBesideFilesIsBounded: a summary before a diff of git may be long; beside a plain diff, each line may name a file.
func TestTextBesideFilesIsBounded(t *testing.T) {
	text := strings.Repeat(" a/x | 1 +\n", maxRemarks+1)
	if _, err := Parse(text + "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"); err != nil {
		t.Errorf("a diff of git: %v", err)
	}
	if _, err := Parse(text + "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"); err == nil {
		t.Error("a plain diff with more lines than can be read is taken")
	}
}

// TestRemarksNameFiles has lines of diff -r in other languages: their paths name files whose changes are not shown.
func TestRemarksNameFiles(t *testing.T) {
	const plain = "diff -ru a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
	for remark, want := range map[string]string{
		"Binärdateien a/y.bin und b/y.bin sind verschieden.":           "y.bin",
		"Les fichiers binaires a/s/y.bin et b/s/y.bin sont différents": "s/y.bin",
		"バイナリーファイル a/y b/y は異なります":                                     "y",
		"Symbolic links a/y and b/y differ":                            "y",
		"Common subdirectories: a/s and b/s":                           "",
		"diff -ru a/y b/y":                                             "",
		"a/x and b/x are above":                                        "",
		"see docs/a.md and docs/b.md":                                  "",
	} {
		files, err := Parse(plain + remark + "\n")
		if err != nil {
			t.Errorf("%q: %v", remark, err)
			continue
		}
		last := files[len(files)-1]
		if want == "" && len(files) != 1 || want != "" && (last.Path != want || last.Unseen == "" || !last.Missing) {
			t.Errorf("%q: %d files, the last is %q, unseen %q", remark, len(files), last.Path, last.Unseen)
		}
		if files, err := Parse(strings.Replace(plain, "diff -ru", "diff --git", 1) + remark + "\n"); err != nil || len(files) != 1 {
			t.Errorf("%q behind a file of git: %d files, %v", remark, len(files), err)
		}
	}
}

// TestPackedFilesBesideADiff holds that a diff does not hide files of other forms beside its own.
func TestPackedFilesBesideADiff(t *testing.T) {
	const shown = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
	for _, packed := range []string{
		"==== //depot/main/y.c#5 - /home/u/y.c ====\n1c1\n< a\n---\n> b\n", "==== //depot/main/y.c#5 (text) ====\n", "# This is a shell archive.\necho x\n",
		"sed 's/^X//' >y.sh <<'END'\nXrm -rf /\nEND\n", "begin 644 y.sh\n#<FT@\n`\nend\n", "begin-base64 755 y.sh\ncm0=\n====\n", "=ybegin line=128 size=3 name=y.sh\n",
	} {
		for _, text := range []string{shown + packed, packed + shown} {
			if files, err := Parse(text); err == nil {
				t.Errorf("%q passes with %d files", text, len(files))
			}
		}
	}
	const perforce = "==== //depot/main/x#5 - /home/u/x ====\n--- //depot/main/x\t2026-01-01\n+++ /home/u/x\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n"
	for _, text := range []string{"We begin 644 times.\n" + shown, shown + "====\n", perforce} {
		if _, err := Parse(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
