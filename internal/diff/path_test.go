package diff

import (
	"strings"
	"testing"
)

// TestDiffPaths builds a header of a git diff or of a plain one and looks at the path that comes out.
func TestDiffPaths(t *testing.T) {
	const hunk, added, gone = "@@ -1 +1 @@\n-a\n+b\n", "@@ -0,0 +1 @@\n+b\n", "@@ -1 +0,0 @@\n-a\n"
	for _, c := range []struct{ diff, path string }{
		{"diff --git a/x b/x\n--- a/x\n+++ b/x\n" + hunk, "x"},
		{"diff --git x/y x/y\n--- x/y\n+++ x/y\n" + hunk, "x/y"},                                                        // no prefix
		{"diff --git a/y a/y\n--- a/y\n+++ a/y\n" + hunk, "a/y"},                                                        // no prefix, folder a
		{"diff --git b/y b/y\nnew file mode 100644\n--- /dev/null\n+++ b/y\n" + added, "b/y"},                           // no prefix, folder b
		{"diff --git b/y b/y\ndeleted file mode 100644\n--- b/y\n+++ /dev/null\n" + gone, "b/y"},                        //
		{"diff --git a/b/y b/b/y\nnew file mode 100644\n--- /dev/null\n+++ b/b/y\n" + added, "b/y"},                     //
		{"diff --git c/y w/y\n--- c/y\n+++ w/y\n" + hunk, "y"},                                                          // mnemonic
		{"diff --git 1/y 2/y\n--- 1/y\n+++ 2/y\n" + hunk, "y"},                                                          // --no-index
		{"diff --git src://a b/c dst://a b/c\nnew file mode 100644\n--- /dev/null\n+++ dst://a b/c\n" + added, "a b/c"}, // custom
		{"diff --git old-y new-y\nnew file mode 100644\n--- /dev/null\n+++ new-y\n" + added, "new-y"},                   // nothing sure to strip
		{"diff --git p/old/y p/new/y\n--- p/old/y\n+++ p/new/y\n" + hunk, "p/new/y"},                                    //
		{"diff --git a/x b/x b/x b/x\nold mode 100644\nnew mode 100755\n", "x b/x"},                                     // blanks
		{"diff --git a/a b b/a b\nold mode 100644\nnew mode 100755\n", "a b"},                                           //
		{"diff --git a b a b\nold mode 100644\nnew mode 100755\n", "a b"},                                               //
		{`diff --git a/x "b/\303\244\tb"` + "\nsimilarity index 100%\nrename from x\nrename to \"\\303\\244\\tb\"\n", "ä\uFFFDb"},
		{`diff --git "a/\"q\\\"" "b/\"q\\\""` + "\nold mode 100644\nnew mode 100755\n", `"q\"`},
		{`diff --git "a/\377" "b/\377"` + "\nold mode 100644\nnew mode 100755\n", "\uFFFD"}, // not UTF-8
		{`diff --git "a/x" b/x` + "\nold mode 100644\nnew mode 100755\n", "x"},
		{"diff --git /dev/null b/x\n" + added, "x"},
		{"diff --git a/x /dev/null\n" + gone, "x"},
		{"diff --git a/x\tb b/x\tb\nold mode 100644\nnew mode 100755\n", "x\uFFFDb"},
		{"diff --git old-y new-y\ndeleted file mode 100644\n--- old-y\n+++ /dev/null\n" + gone, "old-y"},
		{"--- a/x\n+++ b/x\n" + hunk, "x"},
		{"--- x\n+++ x\n" + hunk, "x"},
		{"--- x\n+++ b/x\n" + hunk, "x"},
		{"--- a/x\n+++ x\n" + hunk, "x"},
		{"--- /dev/null\n+++ b/x\n" + added, "x"},
		{"--- /dev/null\n+++ x/y\n" + added, "x/y"},
		{"--- a/x\n+++ /dev/null\n" + gone, "x"},
		{"--- v1/src/x\n+++ v2/src/x\n" + hunk, "src/x"},
		{"--- /etc/passwd\n+++ /etc/passwd\n" + hunk, "etc/passwd"},
		{`--- src\old\x.cs` + "\n" + `+++ src\old\x.cs` + "\n" + hunk, "src/old/x.cs"},
		{"--- a//x/./y\n+++ b//x/./y\n" + hunk, "x/y"},
		{"--- harmless/deploy.yml\n+++ infra/prod/deploy.yml\n" + hunk, "infra/prod/deploy.yml"}, // a real folder is not taken off
	} {
		files, err := Parse(c.diff)
		if err != nil {
			t.Errorf("%q: %v", c.diff, err)
			continue
		}
		if len(files) != 1 || files[0].Path != c.path {
			t.Errorf("%q: files are %q, want %q", c.diff, show(files), c.path)
		}
	}
}

func TestDiffPathsRefused(t *testing.T) {
	const hunk, added, gone = "@@ -1 +1 @@\n-a\n+b\n", "@@ -0,0 +1 @@\n+b\n", "@@ -1 +0,0 @@\n-a\n"
	long := strings.Repeat("x/", MaxPath/2) + "y"
	for _, c := range []struct{ diff, says string }{
		{"--- a/../x\n+++ b/../x\n" + hunk, ".."},
		{"--- a/x\n+++ b/y/../../x\n" + hunk, ".."},
		{"diff --git a/../x b/../x\nold mode 100644\nnew mode 100755\n", ".."},
		{"diff --git a/x b/x\nsimilarity index 100%\nrename from ../x\nrename to x\n", ".."},
		{"diff --git a/x b/x\nsimilarity index 100%\nrename from x\nrename to y/..\n", ".."},
		{`--- a\..\x` + "\n" + `+++ b\..\x` + "\n" + hunk, ".."},
		{"Only in ../../etc: passwd\n", ".."},
		{"Binary files a/../x and b/../x differ\n", ".."},
		{"diff --cc ../x\n--- a/../x\n+++ b/../x\n@@@ -1,1 -1,1 +1,1 @@@\n--a\n++b\n", ".."},
		{"--- a/" + long + "\n+++ b/" + long + "\n" + hunk, "bytes"},
		{"--- a/\n+++ b/\n" + hunk, "a folder"},
		{"--- .\n+++ .\n" + hunk, "empty"},
		{"--- \n+++ \n" + hunk, "file name"},
		{"--- /dev/null\n+++ /dev/null\n" + hunk, "names no file"},
		{`--- "a/x` + "\n" + `+++ "b/x` + "\n" + hunk, "file name"},
		{`--- "a/\q"` + "\n" + `+++ "b/\q"` + "\n" + hunk, "file name"},
		{"diff --git a/x b/y\nold mode 100644\nnew mode 100755\n", "cannot find the file name"},
		{"diff --git a/x b/x\nrename from ../y\nrename to x\n", "old path"},
		{"diff --git a/x b/x\n--- /dev/null\n+++ /dev/null\n", "different files"},
		{"diff --git " + strings.Repeat("a", 2*MaxPath) + " b/x\nold mode 100644\nnew mode 100755\n", "cannot find the file name"},
		{`diff --git "a/x"b/x` + "\nold mode 100644\nnew mode 100755\n", "cannot find the file name"},
		{`diff --git a/x"b/x"` + "\nold mode 100644\nnew mode 100755\n", "cannot find the file name"},
		{"Index: ../x\n=====\n", ".."},
		{"Property changes on: ../x\n_____\n", ".."},
		{"--- a/x\n+++ \"b/x\n" + hunk, "file name"},
		{"diff --git a/x b/y\nrename to y\n", "only one of the names"},
		{"diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/secret/x\n" + added, "different files"},
		{"diff --git a/x b/x\ndeleted file mode 100644\n--- a/y\n+++ /dev/null\n" + gone, "different files"},
		{"diff --git a/x b/y\nrename from x\nrename to y\n--- a/x\n+++ b/secret/y\n" + hunk, "different files"},
		{"diff --git a/x b/y\nrename from x\nrename to y\n--- a/x\n+++ b/zy\n" + hunk, "different files"},
		{"diff --cc x\n--- a/x\n+++ b/secret/x\n@@@ -1,1 -1,1 +1,1 @@@\n--a\n++b\n", "different files"},
		{"diff --git a/x b/x\ndeleted file mode 100644\n--- /dev/null\n+++ b/x\n" + added, "names no file"},
	} {
		if got := diffProblem(t, c.diff); !strings.Contains(got, c.says) {
			t.Errorf("%.60q: message is %q, want %q in it", c.diff, got, c.says)
		}
	}
}
