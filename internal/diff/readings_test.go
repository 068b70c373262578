package diff

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const replacing = "@@ -1 +1 @@\n-a\n+b\n"

// TestReadingsOfTools gives headers with two readings to git apply and patch, in a tree that has a file for each reading, and
// expects every file that one of them changes among the readings of ours.
func TestReadingsOfTools(t *testing.T) {
	tree := []string{
		"a/src/a.py", "b/src/a.py", "src/a.py", "a.py", "src/b.py", "b.py", "old/src/a.py", "new/src/a.py", "src/a.py.orig", "src/a.py ", "src/a.py .txt",
		"a/src/a.py.orig", "w/src/a.py", "i/src/a.py", "src/a b.py", "a b.py", "src/a", "src/x y/a.py",
	}
	for i, header := range []string{
		"diff --git a/src/a.py b/src/a.py\n--- a/src/a.py\n+++ b/src/a.py\n",
		"diff --git a/src/a.py a/src/a.py\n--- a/src/a.py\n+++ a/src/a.py\n",
		"diff --git b/src/a.py b/src/a.py\n--- b/src/a.py\n+++ b/src/a.py\n",
		"diff --git src/a.py src/a.py\n--- src/a.py\n+++ src/a.py\n",
		"diff --git a/src/b.py b/src/b.py\n--- a/src/a.py\n+++ b/src/a.py\n",
		"diff --git a/src/a.py b/src/b.py\n--- a/src/a.py\n+++ b/src/b.py\n",
		"diff --git old/src/a.py new/src/a.py\n--- old/src/a.py\n+++ new/src/a.py\n",
		"diff --git i/src/a.py w/src/a.py\n--- i/src/a.py\n+++ w/src/a.py\n",
		"--- a/src/a.py\n+++ a/src/a.py\n",
		"--- src/a.py\n+++ src/a.py\n",
		"--- src/a.py.orig\n+++ src/a.py\n",
		"--- src/a.py\n+++ src/a.py.orig\n",
		"--- src/b.py\n+++ src/a.py\n",
		"--- a.py\n+++ src/a.py\n",
		"--- a/src/a.py \n+++ b/src/a.py \n",
		"--- a/src/a.py .txt\n+++ b/src/a.py .txt\n",
		"--- a/src/a b.py\n+++ b/src/a b.py\n",
		"--- a/src/a b.py\t\n+++ b/src/a b.py\t\n",
		"--- a//src/a.py\n+++ b//src/a.py\n",
		"--- a/./src/a.py\n+++ b/./src/a.py\n",
		"--- ./src/a.py\n+++ ./src/a.py\n",
		"--- ./a/src/a.py\n+++ ./a/src/a.py\n",
		"--- w/src/a.py\n+++ i/src/a.py\n",
		"--- \"a/src/a.py\"\n+++ \"a/src/a.py\"\n",
		"Index: src/a.py\n===================================================================\n--- a.py\n+++ a.py\n",
		"Index: src/b.py\n===================================================================\n--- src/a.py\n+++ src/a.py\n",
		"diff --git a/src/x y/a.py b/src/x y/a.py\n--- a/src/x y/a.py\n+++ b/src/x y/a.py\n",
	} {
		text := header + replacing
		files, err := Parse(text)
		if err != nil {
			t.Errorf("%q: %v", header, err)
			continue
		}
		read := append(files[0].Paths(), files[0].OldPath)
		changed := 0
		for _, tool := range [][]string{{"git", "apply"}, {"patch", "-p1", "-f", "--no-backup-if-mismatch"}, {"patch", "-p0", "-f", "--no-backup-if-mismatch"}} {
			if tool[1] == "-p0" && strings.Contains(text, "+++ b/") && !strings.Contains(text, "--- b/") {
				continue // the pair of prefixes of git has one reading
			}
			dir := filepath.Join(t.TempDir(), fmt.Sprint(i))
			r := &repository{t, dir}
			for _, name := range tree {
				r.write(name, "a\n")
			}
			_, _ = r.try(text, tool[0], tool[1:]...) // a tool may refuse; what it changes counts
			for _, name := range tree {
				if content, err := os.ReadFile(filepath.Join(dir, name)); err == nil && string(content) == "a\n" {
					continue
				}
				changed++
				if !slices.Contains(read, name) {
					t.Errorf("%q: %v changes %s, which is none of %q", header, tool, name, read)
				}
			}
		}
		if changed == 0 {
			t.Errorf("%q: no tool changes anything", header)
		}
	}
}

func TestReadings(t *testing.T) {
	for raw, want := range map[string]string{
		"src/a.py":             "",
		"SRC/a.py":             "", // folding is up to the globs
		`src\a.py`:             `src/a.py`,
		"src/a.py.":            "src/a.py",
		"src/a.py ..":          "src/a.py",
		"src /a.py":            "src/a.py",
		"src/a.py::$DATA":      "src/a.py",
		"src/a\u200d.py":       "src/a.py",
		"src/\ta.py":           "src/a.py",
		`docs\..\src/a.py`:     "src/a.py",
		"docs/.. /src/a.py":    "src/a.py",
		`..\..\etc/passwd`:     "etc/passwd",
		"caf\xe9/a.py":         "café/a.py",
		"...":                  "",
		strings.Repeat("x", 9): "",
	} {
		files, err := Parse("diff --git a/" + raw + " b/" + raw + "\nold mode 100644\nnew mode 100755\n")
		if err != nil {
			t.Errorf("%q: %v", raw, err)
			continue
		}
		if want != "" && !slices.Contains(files[0].Others, want) || want == "" && len(files[0].Others) > 0 {
			t.Errorf("%q: other readings of %q are %q, want %q", raw, files[0].Path, files[0].Others, want)
		}
	}
	if got := Readings(`win\x.cs`, "win/x.cs"); !slices.Equal(got, []string{`win\x.cs`}) {
		t.Errorf("readings are %q", got)
	}
}

// Lines that only name files have the readings of headers.
func TestReadingsOfNames(t *testing.T) {
	for diff, want := range map[string]string{
		"Binary files a/src/a.py and a/src/a.py differ\n":                  "src/a.py",
		"Files a/src/a.py and a/src/a.py differ\n":                         "src/a.py",
		"Binary files old/src/a.py and new/src/a.py differ\n":              "new/src/a.py",
		"* Unmerged path src\\a.py\n":                                      "src/a.py",
		"diff --cc src/a.py.\nindex 1111111,2222222..3333333\n":            "src/a.py",
		"diff --git a/x b/src/a.py.\nrename from x\nrename to src/a.py.\n": "src/a.py",
	} {
		files, err := Parse(diff)
		if err != nil || !slices.Contains(files[0].Others, want) {
			t.Errorf("%q: files are %s (%v), want the reading %s", diff, show(files), err, want)
		}
	}
}

// The short cut for usual headers must not leave a reading out.
func TestOneReading(t *testing.T) {
	for path, want := range map[string]bool{
		"src/a.py": true, "A-b_c/@x+y.z": true, ".github/x": true, "a": true, "src/a.py.": false, "src./a": false, "a b": false, `a\b`: false,
		"a/../b": false, "a//b": false, "a/": false, "": false, "é": false, "a::$DATA": false, "a\x00": false, "~a": false,
	} {
		if got := isPlainPath(path); got != want {
			t.Errorf("%q: %v", path, got)
		}
		if got := Readings(path, path); want && len(got) > 0 {
			t.Errorf("%q has the readings %q", path, got)
		}
	}
}

func TestAnyPath(t *testing.T) {
	f := File{Path: "a", Others: []string{"b", "c"}, OldPath: "d"}
	if got := f.Paths(); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("paths are %q", got)
	}
	for _, path := range []string{"a", "b", "c", "d"} {
		if got := f.AnyPath(func(p string) bool { return p == path }); got != (path != "d") {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func TestReadingsRefused(t *testing.T) {
	many := strings.Repeat("a\\ /.", 4) + "\xe9"
	for _, c := range []struct{ diff, says string }{
		{"--- a/x\x00y\n+++ b/x\x00y\n" + replacing, "NUL"},
		{"diff --git a/x\x00y b/x\x00y\nold mode 100644\nnew mode 100755\n", "NUL"},
		{
			"diff --git p\\1./\u200b" + many + "x q\\2./\u200b" + many + "y\n--- r\\3 ./\u200b" + many + " t\n+++ s\\4 ./\u200b" + many + " u\n" + replacing,
			"more than 16 ways",
		},
	} {
		if got := diffProblem(t, c.diff); !strings.Contains(got, c.says) {
			t.Errorf("%q: message is %q, want %q in it", c.diff, got, c.says)
		}
	}
}
