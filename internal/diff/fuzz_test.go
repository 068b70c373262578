package diff

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

func FuzzParse(f *testing.F) {
	seeds, err := filepath.Glob("testdata/*.diff")
	if err != nil || len(seeds) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, name := range seeds {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("diff --git a/x b/x\nnew file mode 120000\nindex 0000000..1111111\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+y\x00\xff\n")
	f.Add(gitHeader + "@@ -1,3 +1,2 @@\n a\n-b\n\n\\ No newline at end of file\n")
	f.Fuzz(func(t *testing.T, diff string) {
		files, err := Parse(diff)
		if err != nil {
			return
		}
		for i := range files {
			checkFile(t, &files[i], strings.Contains(diff, "@@@"))
		}
		if !strings.Contains(diff, "\x00") && utf8.ValidString(diff) { // other text is decoded
			nothingLost(t, strings.TrimPrefix(diff, "\ufeff"), files)
		}
	})
}

// checkFile holds the laws of a parsed file: a clean path, hunks in order, counts and numbers that agree with one another.
func checkFile(t *testing.T, f *File, combined bool) {
	if _, err := CleanPath(strings.ReplaceAll(f.Path, `\`, "_")); err != nil && len(f.Path) > 2 && f.Path[1] != ':' {
		t.Errorf("path %q %v", f.Path, err)
	}
	if len(f.Others) > MaxOthers || slices.Contains(f.Others, f.Path) {
		t.Errorf("readings of %q are %q", f.Path, f.Others)
	}
	for _, path := range f.Others {
		if clean, err := inside(path); err != nil || clean != path || strings.HasPrefix(path, "/") {
			t.Errorf("reading %q is not clean: %v", path, err)
		}
	}
	if open := f.Missing || f.Binary && f.Media == ""; open && f.Unseen == "" && f.Change != Deleted || f.Media != "" && f.Unseen != "" {
		t.Errorf("%s %s: missing %v, binary %v, media %q, but unseen is %q", f.Change, f.Path, f.Missing, f.Binary, f.Media, f.Unseen)
	}
	last := 0
	for _, h := range f.Hunks {
		old, newer := 0, 0
		for _, l := range h.Lines {
			if !utf8.ValidString(l.Text) || strings.ContainsAny(l.Text, "\n\x00") {
				t.Errorf("text is %q", l.Text)
			}
			if l.Op != OpDelete {
				newer++
				if l.New <= last || newer == 1 && l.New != h.NewStart {
					t.Errorf("line %d follows %d in hunk %d", l.New, last, h.NewStart)
				}
				last = l.New
			} else if l.New != 0 {
				t.Errorf("deleted line has new number %d", l.New)
			}
			if l.Op != OpAdd {
				old++
				if !combined && l.Old != h.OldStart+old-1 {
					t.Errorf("old number is %d in hunk %d", l.Old, h.OldStart)
				}
			} else if l.Old != 0 {
				t.Errorf("added line has old number %d", l.Old)
			}
		}
		if newer != h.NewLines || old != h.OldLines && !combined {
			t.Errorf("hunk has %d old and %d new lines, its header says %d and %d", old, newer, h.OldLines, h.NewLines)
		}
	}
}

// nothingLost checks that every line that another parser sees added is added here too, at the same number.
func nothingLost(t *testing.T, diff string, files []File) {
	theirs, _, err := gitdiff.Parse(strings.NewReader(diff))
	if err != nil {
		return
	}
	type place struct {
		line int
		text string
	}
	ours := map[place]int{}
	for i := range files {
		for _, l := range files[i].NewLines {
			if l.Op == OpAdd {
				ours[place{l.New, l.Text}]++
			}
		}
	}
	for _, f := range theirs {
		for _, h := range f.TextFragments {
			no := int(h.NewPosition)
			for _, l := range h.Lines {
				if l.Op == gitdiff.OpDelete {
					continue
				}
				at := place{no, LineText(strings.TrimSuffix(l.Line, "\n"))}
				if l.Op == gitdiff.OpAdd {
					if ours[at]--; ours[at] < 0 {
						t.Errorf("the result has no added line %d %q", at.line, at.text)
					}
				}
				no++
			}
		}
	}
}
