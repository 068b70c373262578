package patch_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tenet/internal/console/patch"
)

const change = "diff --git a/app.py b/app.py\n--- a/app.py\n+++ b/app.py\n@@ -1,3 +1,4 @@ def f\n import os\n-x = load(one)\n+x = eval(one)\n+y = \"text\" # note\n z = 3\n"

// drawn writes rows as text: colours in <>, changed words in {}, quotes in [].
func drawn(rows []patch.Row) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%c%d,%d ", " +-FHN"[r.Kind], r.Old, r.New)
		if r.Hit {
			b.WriteString("! ")
		}
		if len(r.Pieces) == 0 {
			b.WriteString(r.Text)
		}
		for _, p := range r.Pieces {
			text := p.Text
			if p.Quoted {
				text = "[" + text + "]"
			}
			if p.Changed {
				text = "{" + text + "}"
			}
			if p.Class != "" {
				text = p.Class + "<" + text + ">"
			}
			b.WriteString(text)
		}
		fmt.Fprintf(&b, " %v\n", r.Ends)
	}
	return b.String()
}

func TestRowsHaveLinesMarksWordsAndColours(t *testing.T) {
	t.Parallel()
	l := patch.Read(change, nil, []patch.Mark{{Path: "app.py", From: 2, To: 3, Quote: "eval(one)"}})
	want := `F0,0 app.py []
H1,1 def f []
 1,1 k<import> os []
-2,0 x = {load}(one) []
+0,2 ! x = f<{[eval]}>[(one)] []
+0,3 ! y = s<"text"> c<# note> [0]
 3,4 z = n<3> []
`
	if got := drawn(l.Page(0, 100)); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if l.Len() != 7 || l.First() != 4 {
		t.Errorf("%d rows, the first mark at %d", l.Len(), l.First())
	}
	if got := l.RowOf(0); got != 4 {
		t.Errorf("the mark begins at row %d", got)
	}
	if got := drawn(l.Page(5, 1)); got != "+0,3 ! y = s<\"text\"> c<# note> [0]\n" {
		t.Errorf("a page of one row: %s", got)
	}
	if got := l.Page(-5, 2); len(got) != 2 {
		t.Errorf("%d rows before the beginning", len(got))
	}
	if got := l.Page(100, 2); len(got) != 0 {
		t.Errorf("%d rows after the end", len(got))
	}
}

func TestSides(t *testing.T) {
	t.Parallel()
	rows := patch.Read(change, nil, nil).Page(0, 100)
	pairs := patch.Sides(rows)
	if len(pairs) != 6 || pairs[3].Left.Old != 2 || pairs[3].Right.New != 2 || pairs[4].Left != nil || pairs[4].Right.New != 3 || pairs[5].Left != pairs[5].Right {
		t.Errorf("%+v", pairs)
	}
}

func TestABrokenDiffIsShownAsItIs(t *testing.T) {
	t.Parallel()
	l := patch.Read("--- a/x\n+++ b/x\n@@ -1,5 +1,5 @@\n a\nstrange\n", nil, nil)
	if text := drawn(l.Page(0, 100)); !l.Broken || !strings.Contains(text, "strange") || !strings.Contains(text, "@@ -1,5 +1,5 @@") {
		t.Errorf("broken %v:\n%s", l.Broken, text)
	}
}

func TestWholeFiles(t *testing.T) {
	t.Parallel()
	l := patch.Read("", []patch.Whole{{Path: "a.go", Content: "package a\n\nfunc f() {}\n"}}, []patch.Mark{{Path: "a.go", From: 3, To: 3}})
	if got, want := drawn(l.Page(0, 10)), "F0,0 a.go []\n 0,1 k<package> a []\n 0,2  []\n 0,3 ! k<func> f<f>() {} [0]\n"; got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestLanguagesInsideOthers(t *testing.T) {
	t.Parallel()
	for path, content := range map[string]string{
		"Dockerfile": "FROM scratch\nRUN echo \"$HOME\" # note\n", "page.html": "<style>p { color: red }</style>\n<script>let a = \"b\"</script>\n",
		"a.php": "<?php echo \"text\"; ?>\n", "Makefile": "all:\n\techo \"text\"\n", "b.yaml": "a: \"text\"\n", "c.rb": "puts \"text\"\n",
	} {
		colours := 0
		for _, r := range patch.Read("", []patch.Whole{{Path: path, Content: content}}, nil).Page(0, 10) {
			for _, p := range r.Pieces {
				if p.Class != "" {
					colours++
				}
			}
		}
		if colours == 0 {
			t.Errorf("%s has no colours", path)
		}
	}
}

// TestHostileTextsEnd lays out what is meant to be slow.
func TestHostileTextsEnd(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"one long line": strings.Repeat("a", 100_000), "open strings": strings.Repeat(`"\`, 300), "brackets": strings.Repeat("(", 900),
		"spaces": strings.Repeat(" ", 900) + "x", "not UTF-8": strings.Repeat("\xff\xfe", 200),
	} {
		for _, extension := range []string{"go", "py", "ts", "sql", "yaml", "rb", "pl", "sh"} {
			var b strings.Builder
			fmt.Fprintf(&b, "--- /dev/null\n+++ b/x.%s\n@@ -0,0 +1,40 @@\n", extension)
			for range 40 {
				b.WriteString("+" + line + "\n")
			}
			began := time.Now()
			rows := patch.Read(b.String(), nil, nil).Page(0, 1000)
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("%s in %s takes %v", name, extension, took)
			}
			for _, r := range rows {
				text := ""
				for _, p := range r.Pieces {
					text += p.Text
				}
				if len(r.Pieces) > 0 && text != r.Text {
					t.Fatalf("%s in %s: the pieces make %q of %q", name, extension, text, r.Text)
				}
			}
		}
	}
}

func BenchmarkPage(b *testing.B) {
	var text strings.Builder
	text.WriteString("--- a/app.py\n+++ b/app.py\n@@ -1,5000 +1,5000 @@\n")
	for i := range 5000 {
		fmt.Fprintf(&text, "-    value_%d = compute(first, \"old\", %d)\n", i, i)
	}
	for i := range 5000 {
		fmt.Fprintf(&text, "+    value_%d = compute(first, \"new\", %d)  # changed\n", i, i)
	}
	for b.Loop() {
		patch.Read(text.String(), nil, nil).Page(4500, 1000)
	}
}
