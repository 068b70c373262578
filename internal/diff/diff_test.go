package diff

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// show writes files line by line: old number, new number, what the diff does with the line, its text.
func show(files []File) string {
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "%s %s", f.Change, f.Path)
		if f.OldPath != "" {
			fmt.Fprintf(&b, " from %s", f.OldPath)
		}
		if f.Binary {
			b.WriteString(" (binary)")
		}
		if f.Missing {
			b.WriteString(" (missing)")
		}
		b.WriteByte('\n')
		for _, told := range [][2]string{{"unseen: ", f.Unseen}, {"media: ", f.Media}, {"others: ", strings.Join(f.Others, ", ")}} {
			if told[1] != "" {
				b.WriteString("  " + told[0] + told[1] + "\n")
			}
		}
		if f.OldMode != f.NewMode {
			fmt.Fprintf(&b, "  mode: %s to %s\n", f.OldMode, f.NewMode)
		}
		for _, h := range f.Hunks {
			fmt.Fprintf(&b, "  -%d,%d +%d,%d %s\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines, h.Section)
			for _, l := range h.Lines {
				fmt.Fprintf(&b, "  %3d %3d %c|%s\n", l.Old, l.New, l.Op, l.Text)
			}
		}
	}
	return b.String()
}

// TestShapes parses a diff of every shape that tools write. The .want files were checked against the new versions of
// the files by hand.
func TestShapes(t *testing.T) {
	diffs, err := filepath.Glob("testdata/*.diff")
	if err != nil || len(diffs) < 20 {
		t.Fatalf("found %d diffs: %v", len(diffs), err)
	}
	for _, name := range diffs {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".diff"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(strings.TrimSuffix(name, ".diff") + ".want")
			if err != nil {
				t.Fatal(err)
			}
			files, err := Parse(string(text))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), show(files)); d != "" {
				t.Errorf("files differ (-want +got):\n%s", d)
			}
		})
	}
}

func TestNewLinesStops(t *testing.T) {
	f := File{Hunks: []Hunk{{Lines: []Line{{Op: OpAdd, New: 1, Text: "a"}, {Op: OpDelete, Text: "-"}, {Op: OpContext, New: 2, Text: "b"}, {Op: OpAdd, New: 3, Text: "c"}}}}}
	var got string
	for h, l := range f.NewLines {
		if h != &f.Hunks[0] {
			t.Error("the hunk is another one")
		}
		if got += l.Text; l.New == 2 {
			break
		}
	}
	if got != "ab" {
		t.Errorf("lines are %q", got)
	}
}
