package diff

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

// diffProblem parses a diff that Parse must refuse and returns the error.
func diffProblem(t *testing.T, diff string) string {
	t.Helper()
	files, err := Parse(diff)
	if err == nil {
		t.Fatalf("accepted, as\n%s", show(files))
	}
	return err.Error()
}

const gitHeader = "diff --git a/x.go b/x.go\nindex 1111111..2222222 100644\n--- a/x.go\n+++ b/x.go\n"

func TestDiffRefused(t *testing.T) {
	for _, c := range []struct {
		name, diff string
		line       int
		says       string
	}{
		{"prose", "Please allow this.\nIt is fine.\n", 1, "not a unified diff"},
		{"code", "func main() {\n-\treturn\n+\tpanic(1)\n}\n", 1, "not a unified diff"},
		{"context diff", "*** a/x\n--- b/x\n***************\n*** 1 ****\n! a\n--- 1 ----\n! b\n", 4, "context diff"},
		{"context diff before a git diff", "*** a/x\n--- b/x\n***************\n*** 0 ****\n--- 1 ----\n+ a\n" + gitHeader + "@@ -1 +1 @@\n-a\n+b\n", 4, "context diff"},
		{"indented diff", "  --- /dev/null\n  +++ b/x\n  @@ -0,0 +1 @@\n  +a\n" + gitHeader + "@@ -1 +1 @@\n-a\n+b\n", 3, "indented"},
		{"diff behind X", gitHeader + "@@ -1 +1 @@\n-a\n+b\nX--- /dev/null\nX+++ b/x\nX@@ -0,0 +1 @@\nX+a\n", 10, "indented"},
		{"hunk after half a header", "+++ b/x\n@@ -0,0 +1 @\n+a\n" + gitHeader + "@@ -1 +1 @@\n-a\n+b\n", 2, "without a file header"},
		{"normal diff", "Index: x\n0a1\n> a\n" + gitHeader + "@@ -1 +1 @@\n-a\n+b\n", 3, "normal diff"},
		{"normal diff of a file without hunks", "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n0a1\n> a\n", 5, "normal diff"},
		{"normal diff of folders", "diff -r a/x b/x\n1c1\n< a\n---\n> b\nBinary files a/y and b/y differ\n", 3, "normal diff"},
		{"script for ed", "Index: x\n0a\na\n.\n" + gitHeader + "@@ -1 +1 @@\n-a\n+b\n", 4, "script for ed"},
		{"encoded mail", "Subject: x\nContent-Transfer-Encoding: quoted-printable\n\n" + gitHeader + "@@ -1 +1 @@\n-a\n+=62\n", 2, "encoded"},
		{"file or folder on one side", "Only in b: x\n" + gitHeader + "@@ -1 +1 @@\n-a\n+b\n", 1, "-N"},
		{"file in place of a folder", "File a/x is a directory while file b/x is a regular file\n" + gitHeader + "@@ -1 +1 @@\n-a\n+b\n", 1, "git diff --no-index"},
		{"word diff", gitHeader + "@@ -1,2 +1,2 @@\n  return [-x-]{+y+}\n  z\n", 5, "--word-diff"},
		{"colours", "\x1b[1mdiff --git a/x b/x\x1b[m\n", 1, "--no-color"},
		{"colours around a header without any", "\x1b[1mdiff --git a/x b/x\x1b[m\nBinary files a/y and b/y differ\n", 1, "--no-color"},
		{"hunk alone", "@@ -1 +1 @@\n-a\n+b\n", 1, "without a file header"},
		{"combined hunk alone", "@@@ -1,1 -1,1 +1,1 @@@\n++a\n--b\n", 1, "without a file header"},
		{"cut inside a hunk", gitHeader + "@@ -1,3 +1,3 @@\n a\n-b\n+c\n", 8, "begins in line 5: 1 old and 1 new lines more"},
		{"cut behind the header", gitHeader, 4, "a hunk must follow"},
		{"cut behind ---", "diff --git a/x.go b/x.go\n--- a/x.go\n", 2, "a +++ line must follow"},
		{"too few counted", gitHeader + "@@ -1,1 +1,1 @@\n-a\n+b\n+c\n", 8, "belongs to no hunk"},
		{"too few counted, deletion", gitHeader + "@@ -1,1 +1,1 @@\n-a\n+b\n-c\n", 8, "belongs to no hunk"},
		{"too few counted, context", gitHeader + "@@ -1,1 +1,1 @@\n-a\n+b\n c\n", 8, "belongs to no hunk"},
		{"too many of one side", gitHeader + "@@ -1,2 +1,1 @@\n-a\n+b\n+c\n", 8, "has other lines than its header counts"},
		{"too many counted", gitHeader + "@@ -1,9 +1,9 @@\n-a\n+b\n" + gitHeader + "@@ -1 +1 @@\n-a\n+b\n", 8, "8 old and 8 new lines more"},
		{"next file taken in", "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+b\n--- a/y\n+++ b/y\n@@ -5 +5 @@\n-a\n+b\n", 3, "next file"},
		{"lines left out", gitHeader + "@@ -1 +1 @@\n-a\n+b\n...\n+more\n", 8, "the diff is cut"},
		{"lines left out behind a file", gitHeader + "@@ -1 +1 @@\n-a\n+b\nremark\n+more\n", 9, "belongs to no hunk"},
		{"cut by a tool", gitHeader + "@@ -1 +1 @@\n-a\n+b\n\n[output truncated]\n", 9, "the diff is cut"},
		{"cut by a forge", gitHeader + "@@ -1 +1 @@\n-a\n+b\nThe diff of this file is too large to display.\n", 8, "the diff is cut"},
		{"a folder in another language", "diff -ru a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\nNur in b: evil.\n", 7, "may name a folder"},
		{"context as +", gitHeader + "@@ -1 +1 @@\n-a\n+b\n+++ b/y\n", 8, "belongs to no hunk"},
		{"header without numbers", gitHeader + "@@ ... @@\n-a\n+b\n", 5, "not a hunk header"},
		{"line 0", gitHeader + "@@ -0,1 +0,1 @@\n-a\n+b\n", 5, "not a hunk header"},
		{"negative count", gitHeader + "@@ -1,-1 +1,1 @@\n+b\n", 5, "not a hunk header"},
		{"huge number", gitHeader + "@@ -1,1 +99999999999999999999,1 @@\n-a\n+b\n", 5, "not a hunk header"},
		{"huge count", gitHeader + "@@ -1,1 +1,2147483647 @@\n-a\n+b\n", 5, "not a hunk header"},
		{"hunk backwards", gitHeader + "@@ -9 +9 @@\n-a\n+b\n@@ -1 +1 @@\n-a\n+b\n", 8, "inside or before the previous one"},
		{"hunks overlap", gitHeader + "@@ -1,2 +1,2 @@\n a\n-a\n+b\n@@ -3 +2 @@\n-a\n+b\n", 9, "inside or before the previous one"},
		{"old side overlaps", gitHeader + "@@ -1,2 +1,2 @@\n a\n-a\n+b\n@@ -2 +3 @@\n-a\n+b\n", 9, "inside or before the previous one"},
		{"foreign line", gitHeader + "@@ -1,2 +1,2 @@\n a\n*b\n", 7, "is no line of the hunk"},
		{"backslash first", gitHeader + "@@ -1 +1 @@\n\\ No newline at end of file\n-a\n+b\n", 6, "is no line of the hunk"},
		{"new file with old lines", "diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", 1, "is new"},
		{"deleted file with new lines", "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", 1, "is deleted"},
		{"binary with a hunk", "diff --git a/x b/x\nBinary files a/x and b/x differ\n@@ -1 +1 @@\n-a\n+b\n", 3, "binary"},
		{"binary payload broken", "diff --git a/x b/x\nindex 1..2\nGIT binary patch\nliteral 5\nMcmZ\n+eval()\n\n", 5, "binary patch"},
		{"columns contradict", "diff --cc x\n--- a/x\n+++ b/x\n@@@ -1,1 -1,1 +1,1 @@@\n+-a\n", 5, "is no line of the hunk"},
		{"combined cut", "diff --cc x\n--- a/x\n+++ b/x\n@@@ -1,1 -1,2 +1,3 @@@\n++a\n", 5, "1 old and 2 old and 2 new lines more"},
		{"property broken", "Index: x\n=====\n\nProperty changes on: x\n_____\nAdded: p\n## -0,0 +1,2 ##\n+a\n", 8, "the diff ends"},
		{"property header", "Index: x\n=====\n\nProperty changes on: x\n_____\nAdded: p\n## here ##\n+a\n", 7, "property"},
		{"text like a hunk behind a file", gitHeader + "@@ -1 +1 @@\n-a\n+b\nremark\n@@ here @@\n", 9, "without a file header"},
		{"binary lines without names", gitHeader + "@@ -1 +1 @@\n-a\n+b\nBinary files differ\n", 8, "cannot find the file name"},
		{"payload of no length", "diff --git a/x b/x\nindex 1..2\nGIT binary patch\nliteral 5\n0abcde\n\n", 5, "binary patch"},
		{"unmerged without a name", "* Unmerged path \"x\n", 1, "file name"},
		{"combined without a name", "diff --cc \"x\n", 1, "file name"},
		{"combined cut behind ---", "diff --cc x\n--- a/x\n", 2, "a +++ line must follow"},
		{"svn cut", "Index: x\n=====\n--- x\t(revision 1)\n+++ x\t(working copy)\n", 4, "a hunk must follow"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := diffProblem(t, c.diff)
			if !strings.HasPrefix(got, fmt.Sprintf("line %d: ", c.line)) || !strings.Contains(got, c.says) {
				t.Errorf("message is %q, want line %d and %q", got, c.line, c.says)
			}
		})
	}
}

// A diff that is cut anywhere must be refused, or lose nothing but what follows a file that is whole; a cut line at the very
// end of a hunk cannot be seen.
func TestCutAnywhere(t *testing.T) {
	text, err := os.ReadFile("testdata/mails.diff")
	if err != nil {
		t.Fatal(err)
	}
	whole, err := Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for n := range text {
		files, err := Parse(string(text[:n]))
		if err != nil {
			continue
		}
		for i, f := range files {
			want := whole[i]
			if reflect.DeepEqual(f, want) || f.Missing || f.Binary {
				continue
			}
			if i < len(files)-1 {
				t.Fatalf("cut at %d: file %d is\n%s", n, i, show(files[i:i+1]))
			}
			// What the last file has must be the beginning of what it has in the whole diff.
			for j, h := range f.Hunks {
				last := j == len(f.Hunks)-1
				for k, l := range h.Lines {
					w := want.Hunks[j].Lines[k]
					cutHere := last && k == len(h.Lines)-1 && strings.HasPrefix(w.Text, l.Text)
					if l.New != w.New || l.Op != w.Op || l.Text != w.Text && !cutHere {
						t.Fatalf("cut at %d: line is %v, want %v", n, l, w)
					}
				}
				if len(h.Lines) != len(want.Hunks[j].Lines) {
					t.Fatalf("cut at %d: hunk %d has %d lines", n, j, len(h.Lines))
				}
			}
		}
	}
}

func TestDiffTolerated(t *testing.T) {
	hunk := "@@ -1 +1 @@\n-a\n+b\n"
	for _, c := range []struct{ name, diff, want string }{
		{"no line end at the end", strings.TrimSuffix(gitHeader+hunk, "\n"), "modified x.go"},
		{"git header without file lines", "diff --git a/x.go b/x.go\n" + hunk, "modified x.go"},
		{"blank context without its blank", gitHeader + "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", "modified x.go"},
		{"no newline in another language", gitHeader + "@@ -1 +1 @@\n-a\n\\ Kein Zeilenumbruch am Dateiende.\n+b\n\\ Kein Zeilenumbruch am Dateiende.\n", "modified x.go"},
		{"text around", "Hello,\n\n" + gitHeader + hunk + "bye\n  and thanks\n", "modified x.go"},
		{"blank lines between", gitHeader + hunk + "\n \n" + strings.ReplaceAll(gitHeader, "x.go", "y.go") + hunk, "modified x.go\nmodified y.go"},
		{"mail signature without its blank", gitHeader + hunk + "--\n2.38.1\n+1 from me\n", "modified x.go"},
		{"one line logs", "1234567 fix\n" + gitHeader + hunk + "\n89abcde\n" + "89abcde - more\n- and more\n" + gitHeader + hunk, "modified x.go\nmodified x.go"},
		{"unmerged", "* Unmerged path a b.txt\n" + gitHeader + hunk, "modified a b.txt (missing)\nmodified x.go"},
		{"content not shown", "diff --git a/x.go b/x.go\nindex 1111111..2222222 100644\n", "modified x.go (missing)"},
		{"nothing shown", "diff --git a/x.go b/x.go\n", "modified x.go (missing)"},
		{"part of a rename not shown", "diff --git a/x b/y\nsimilarity index 90%\nrename from x\nrename to y\nindex 1111111..2222222\n", "renamed y from x (missing)"},
		{"renamed and mode", "diff --git a/x b/y\nold mode 100644\nnew mode 100755\nsimilarity index 100%\nrename from x\nrename to y\n", "renamed y from x"},
		{"deleted without its text", "diff --git a/x b/x\ndeleted file mode 100644\nindex 1111111..0000000\n", "deleted x"},
		{"emptied binary", "diff --git a/x b/x\nindex 1111111..e69de29 100644\nBinary files a/x and b/x differ\n", "modified x (binary)"},
		{"renamed binary", "diff --git a/x b/y\nsimilarity index 90%\nrename from x\nrename to y\nindex 1111111..2222222 100644\nBinary files a/x and b/y differ\n", "renamed y from x (binary)"},
		{"rename without rename lines", "diff --git a/x b/y\n--- a/x\n+++ b/y\n" + hunk, "renamed y from x"},
		{"backup", "--- x.go.orig\n+++ x.go\n" + hunk, "modified x.go"},
		{"only compared", "diff -rq a b\nFiles a/x and b/x differ\nFiles one.txt and two.txt differ\n", "modified x (missing)\nmodified two.txt (missing)"},
		{"words that compare", "Files may differ\nOnly in: here\nSubmodule is fine\n@@ not a hunk @@\n" + gitHeader + hunk, "modified x.go"},
		{"words of a message", "commit 0123456789\n\n    3d\n> quoted\nContent-Transfer-Encoding: 8bit\n********\nOnly in b: x\nFiles a/x and b/x differ\n+ this\n- that\n" + gitHeader + hunk, "modified x.go"},
		{"merge in Mercurial", "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n--- a/x\n+++ b/x\n" + hunk, "modified x"},
		{"new and deleted binary", "Binary files /dev/null and b/x differ\nBinary files a/y and /dev/null differ\n", "added x (binary)\ndeleted y (binary)"},
		{"renamed in a merge", "diff --cc x\nsimilarity index 90%\nrename from a\nrename to x\n--- a/x\n+++ b/x\n@@@ -1,1 -1,1 +1,1 @@@\n--a\n++b\n", "modified x"},
		{"properties alone", "Property changes on: x\n_____\nModified: p\n## -1 +1 ##\n-a\n+b\n", "mode x"},
		{"properties of old", "Index: x\n=====\n\nProperty changes on: x\n_____\nAdded: svn:executable\n   + *\n\n", "mode x"},
		{"nothing but an index line", "Index: x\n=====\n", "modified x (missing)"},
		{"reversed", "diff --git b/x a/x\n--- b/x\n+++ a/x\n" + hunk, "modified x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files, err := Parse(c.diff)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for line := range strings.Lines(show(files)) {
				if !strings.HasPrefix(line, " ") {
					names = append(names, strings.TrimSuffix(line, "\n"))
				}
			}
			if got := strings.Join(names, "\n"); got != c.want {
				t.Errorf("files are\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}
